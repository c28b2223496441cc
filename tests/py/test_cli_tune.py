"""isthmus tune COLLECTIVE: what it prints, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from isthmus import InvalidInput
from isthmus.cli import main
from isthmus.cli.tune_search import parse_sizes
from isthmus.tuning.choice import Choice
from isthmus.tuning.table import DecisionTable, Point, Row

HERE = ["--machine", "loggops:L=2us,o=1us,g=1us,G=1ns", "--ranks", "8,16", "--sizes", "8..1KiB"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_sizes() -> None:
    assert parse_sizes("8..64") == [8, 16, 32, 64]
    assert parse_sizes("0..5") == [0, 1, 2, 4, 5]
    assert parse_sizes("100..1KiB") == [100, 128, 256, 512, 1024]
    assert parse_sizes("1kB, 8,8") == [8, 1000]
    assert parse_sizes("7..7") == [7]
    for wrong in ("9..8", "8..", "x", "1.5", "8..9..10", "-1"):
        with pytest.raises(InvalidInput):
            parse_sizes(wrong)


def test_it_prints_and_writes_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    main(["tune", "allreduce", *HERE, "-o", "t.toml", "--plot", "times.png", "--plot-map", "map.svg"])
    out = capsys.readouterr().out
    assert "allreduce on 16 ranks" in out
    assert "bound" in out
    table = DecisionTable.load("t.toml")
    assert [row.ranks for row in table.rows["allreduce"]] == [8, 16]
    assert Path("times.png").read_bytes().startswith(b"\x89PNG")
    assert b"allreduce" not in Path("map.svg").read_bytes()[:4]
    assert Path("map.svg").stat().st_size > 1000


def test_json_says_what_was_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    main(["tune", "bcast", "barrier", *HERE, "--algorithm", "binomial", "--algorithm", "linear", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert {(s["collective"], s["ranks"]) for s in found["search"]} == {
        (kind, ranks) for kind in ("bcast", "barrier") for ranks in (8, 16)
    }
    assert all(s["candidates"] == 2 for s in found["search"])
    assert all(s.keys() == {"collective", "ranks", "candidates", "simulations", "left_out"} for s in found["search"])
    assert all(s["simulations"] > 0 for s in found["search"] if s["collective"] == "bcast")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["bogus", *HERE], "'bogus': must be one of all"),
        (["bcast", *HERE[:2], "--ranks", "x"], "--ranks x: 'x'; must be whole numbers"),
        (["bcast", *HERE, "-o", "t.csv"], "-o t.csv: must end in .toml, .json, .txt"),
        (["bcast", *HERE, "--try", "radix"], "--try 'radix': expected OPTION=VALUE"),
        (["bcast", *HERE, "--placement", "block"], "need a machine"),
    ],
)
def test_errors_are_sentences(words: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["tune", *words])
    assert stop.value.code == 2
    assert reason in capsys.readouterr().err


def test_what_the_library_decides_no_worse_is_left_to_it(capsys: pytest.CaptureFixture[str]) -> None:
    points = [Point(size, Choice("linear")) for size in (8, 64, 512)]
    DecisionTable({"allreduce": [Row(16, tuple(points))]}).save("t.toml")
    main(["tune", "export", "t.toml", "--for", "openmpi-4.1.4", "-o", "a.conf"])
    assert "rules were not compared with what the library decides by itself" in capsys.readouterr().out
    main(["tune", "export", "t.toml", "--for", "openmpi-4.1.4", "-o", "b.conf", "--machine", "eos"])
    out = capsys.readouterr().out
    assert "slower than what the library decides by itself; the library decides" in out
    assert "not compared" not in out
    assert "basic_linear" in Path("a.conf").read_text()
    lines = Path("b.conf").read_text().splitlines()
    assert lines[-1].endswith("# ignore")
    main(["tune", "export", "t.toml", "--for", "openmpi-4.1.4", "-o", "b.conf", "--machine", "eos", "--json"])
    (loss,) = json.loads(capsys.readouterr().out)["losses"]
    assert loss["own"] > 0
    main(["tune", "export", "t.toml", "--for", "ucc", "-o", "u.env", "--machine", "eos"])
    assert "not compared" in capsys.readouterr().out
