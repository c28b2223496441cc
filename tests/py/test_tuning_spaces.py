"""Decision tables by mode of synchronisation: tuned by simulation and by runs, in files, and followed by spaces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import isthmus
from isthmus import InvalidInput
from isthmus.cli import main
from isthmus.collectives.flavours import of_mode
from isthmus.errors import ParseError
from isthmus.proof.contract import Contract
from isthmus.tuning.choice import LIBRARY, Choice
from isthmus.tuning.export import export
from isthmus.tuning.measured.spaces import KINDS, SpacesTuning, candidates, tune_spaces
from isthmus.tuning.plain_text import format_plain, parse_plain
from isthmus.tuning.table import MODES, DecisionTable, Point, Row
from isthmus.tuning.tune import tune

LEVEL = isthmus.Level(L=1e-6, o_send=0.3e-6, o_recv=0.4e-6, g=0.5e-6, G=0.1e-9, S=8192)


def from_zero(ranks: int, *rules: tuple[int, str]) -> Row:
    return Row(ranks, tuple(Point(size, Choice.of(choice)) for size, choice in rules), tuned=False)


TABLE = DecisionTable(
    {"bcast": [from_zero(2, (0, "binomial"))]},
    modes={
        "bcast": {
            mode: [
                from_zero(1, (0, "library")),
                from_zero(3, (0, f"knomial,access=put,radix={3 + k}"), (64 + k, "ring")),
            ]
            for k, mode in enumerate(MODES)
        },
        "alltoall": {"none-all": [from_zero(2, (0, "linear,access=get"))]},
    },
)


def status_of(words: list[str]) -> int:
    try:
        main(words)
    except SystemExit as end:
        return int(end.code or 0)
    return 0


@pytest.mark.parametrize("name", ["t.toml", "t.json", "t.txt"])
def test_files_keep_modes(tmp_path: Path, name: str) -> None:
    TABLE.save(tmp_path / name)
    assert DecisionTable.load(tmp_path / name) == TABLE
    assert DecisionTable.load(tmp_path / name).modes == TABLE.modes
    # A reader of the forms before would take such rows for others.
    text = (tmp_path / name).read_text(encoding="utf-8")
    assert {"t.toml": "version = 4", "t.json": '"version": 4', "t.txt": "isthmus decisions 2"}[name] in text
    plain = DecisionTable(TABLE.rows)
    plain.save(tmp_path / name)
    assert ("sync" in (tmp_path / name).read_text(encoding="utf-8")) is False


def test_a_mode_without_rows_has_those_of_none() -> None:
    assert TABLE.of_mode("all").lookup("bcast", 3, 8) == Choice.of("knomial,access=put,radix=11")
    assert TABLE.of_mode("none").lookup("bcast", 3, 64) == Choice("ring")
    assert TABLE.of_mode("none-all").lookup("alltoall", 2, 8) == Choice.of("linear,access=get")
    assert TABLE.of_mode("all").collectives == ("bcast",)
    assert TABLE.lookup("bcast", 3, 8) == Choice("binomial")
    with pytest.raises(InvalidInput, match="sync 'some': must be one of none, none-my"):
        TABLE.of_mode("some")
    with pytest.raises(InvalidInput, match="bcast with sync=my: expected rows of ranks that ascend"):
        DecisionTable({}, modes={"bcast": {"my": [from_zero(3, (0, "ring")), from_zero(2, (0, "ring"))]}})
    assert set(TABLE.frame()["sync"]) == {"", *MODES}


def test_merging_keeps_modes_apart() -> None:
    other = DecisionTable({}, modes={"bcast": {"my": [from_zero(3, (0, "linear")), from_zero(4, (0, "chain"))]}})
    both = TABLE.merge(other)
    assert [row.ranks for row in both.modes["bcast"]["my"]] == [1, 3, 4]
    assert both.of_mode("my").lookup("bcast", 3, 8) == Choice("linear")
    assert both.modes["bcast"]["none"] == TABLE.modes["bcast"]["none"]
    assert both.rows == TABLE.rows
    assert TABLE.only("alltoall").modes == {"alltoall": TABLE.modes["alltoall"]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("isthmus decisions 2\nfor bcast 2 from all-all\nrule 0 ring\n", "mode 'all-all': must be one of none"),
        ("isthmus decisions 2\nfor bcast 2 from \nrule 0 ring\n", "5 words: a line for must have 4"),
        ("isthmus decisions 1\nfor bcast 2 from my\nrule 0 ring\n", "5 words: a line for must have 4"),
    ],
)
def test_bad_modes_in_text(text: str, words: str) -> None:
    with pytest.raises(ParseError, match=words):
        parse_plain(text, "t.txt")


def test_bad_modes_in_toml(tmp_path: Path) -> None:
    TABLE.save(tmp_path / "t.toml")
    text = (tmp_path / "t.toml").read_text(encoding="utf-8").replace('sync = "none-all"', 'sync = "some"', 1)
    (tmp_path / "t.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ParseError, match="is 'some': must be one of none, none-my"):
        DecisionTable.load(tmp_path / "t.toml")


def test_export_for_libisthmus_keeps_modes() -> None:
    row = from_zero(2, (0, "a_new_one"), (8, "ring,access=put,protocol=eager"))
    table = DecisionTable({}, modes={"bcast": {"my": [row]}})
    made = export(table, "isthmus")
    found = parse_plain(made.text, "t").of_mode("my")
    assert [str(rule.choice) for rule in found.rules("bcast", 2)] == ["library", "ring,access=put"]
    assert len(made.losses) == 2
    assert format_plain(parse_plain(made.text, "t")) == made.text


def test_the_model_decides_by_mode() -> None:
    found = tune(["bcast", "scatter"], LEVEL, ranks=[4, 9], sizes=[8, 65536], modes=["none", "all-my", "all"])
    assert found.table.rows == {}
    assert set(found.table.modes["scatter"]) == {"none", "all-my", "all"}
    for kind, by_mode in found.table.modes.items():
        for mode, rows in by_mode.items():
            assert [row.ranks for row in rows] == [4, 9]
            for row in rows:
                for point in row.points:
                    own, flavour = point.choice.parts
                    assert "sync" not in flavour
                    # The time is that of the schedule in this mode.
                    with_mode = next(f for f in of_mode(mode, None) if f["access"] == flavour.get("access", "message"))
                    schedule = isthmus.collective(
                        kind, ranks=row.ranks, bytes=point.bytes, algorithm=(own.name, {**own.options, **with_mode})
                    )
                    assert isthmus.simulate(schedule, LEVEL).makespan == pytest.approx(point.seconds)
                    proved = isthmus.collective(
                        kind, ranks=row.ranks, bytes=8, algorithm=(own.name, {**own.options, **with_mode}), buffers=True
                    )
                    assert isthmus.prove(proved, as_=Contract.collective(kind, ranks=row.ranks, bytes=8, sync=mode)).ok
    loose, strict = (found.table.of_mode(m).row("scatter", 9).points[0].seconds for m in ("none", "all"))
    assert loose is not None
    assert strict is not None
    assert loose < strict
    with pytest.raises(InvalidInput, match="flavour 'my': the mode of synchronisation, all, says it"):
        tune("bcast", LEVEL, ranks=4, sizes=[8], modes=["all"], flavours=["put", "my"])


def test_candidates_differ() -> None:
    near = candidates("bcast", 3, 100_000, True)
    assert len(near) == len(set(near))
    assert {choice.options["access"] for choice in near} == {"message", "put", "get"}
    far = candidates("alltoall", 4, 8, False)
    assert all("access" not in choice.options for choice in far)
    assert len(far) >= 2
    for kind in KINDS:
        made = [isthmus.collective(kind, ranks=4, bytes=8, algorithm=c.argument) for c in candidates(kind, 4, 8, False)]
        assert all(a != b for k, a in enumerate(made) for b in made[:k])


def test_runs_decide_and_add_to_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "spaces.toml"
    words = ["tune", "bcast", "alltoall", "--measured", "--spaces", "--launch", "isthmus run -n 2 --"]
    words += ["--modes", "all,none,my-my", "--sizes", "8,4KiB", "--time", "8s", "-o", str(out), "--json"]
    assert status_of(words) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["ranks"] == 2
    assert first["launches"] >= 1
    assert first["environment"] == {"ISTHMUS_TABLE": str(tmp_path / "spaces.txt")}
    assert {(d["collective"], d["sync"], d["bytes"]) for d in first["decisions"]} == {
        (kind, mode, size) for kind in ("bcast", "alltoall") for mode in ("all", "none", "my") for size in (8, 4096)
    }
    for d in first["decisions"]:
        assert d["default"] > 0
        assert d["algorithm"] == LIBRARY.name or (d["gain"]["high"] < 1 and d["gain"]["launches"] >= 6)
    assert DecisionTable.load(out) == DecisionTable.load(tmp_path / "spaces.txt")
    assert status_of(words) == 0
    second = json.loads(capsys.readouterr().out)
    # What is still open is timed again; every algorithm twice in any case.
    assert second["launches"] >= max(first["launches"], 2)
    assert second["notes"] == []
    journals = sorted((tmp_path / "spaces.journal").glob("launch-*.journal"))
    assert len(journals) == second["launches"]
    # Another search is not mixed with this one.
    assert status_of([*words[:-1], "--sizes", "64"]) == 2
    assert "holds another tuning of spaces: --force starts again" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--modes", "all"], "--modes all: only with --spaces"),
        (["--spaces", "--modes", "loose"], "--modes loose: must be none, none-my"),
        (["--spaces", "--ranks", "2"], "--ranks: not with --spaces"),
        (["--spaces", "allreduce"], "collective 'allreduce': those of spaces that are tuned are bcast"),
        (["--spaces", "--sizes", "0"], "sizes to tune: must be bytes from 1"),
    ],
)
def test_what_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    out = tmp_path / "spaces.toml"
    assert status_of(["tune", "--measured", *words, "--launch", "isthmus run -n 2 --", "-o", str(out)]) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_one_rank_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="1 rank; a collective needs at least two"):
        tune_spaces("bcast", launch="isthmus run -n 1 --", folder=tmp_path / "journal", seconds=1)


def test_only_what_is_sure_is_in_the_table() -> None:
    from isthmus.tuning.measured.gain import gain
    from isthmus.tuning.measured.result import Decision

    sure = gain([1.0] * 9, [2.0] * 9)
    decisions = [
        Decision("bcast", 8, LIBRARY, 2e-6, 2e-6, None),
        Decision("bcast", 64, Choice.of("ring,access=put"), 1e-6, 2e-6, sure),
        Decision("bcast", 512, LIBRARY, 2e-6, 2e-6, None),
    ]
    table = SpacesTuning(4, {"my": decisions, "all": [decisions[0]]}, 9, 1.0).table
    assert set(table.modes["bcast"]) == {"my"}
    mine = table.of_mode("my")
    assert [str(mine.lookup("bcast", 4, size)) for size in (8, 63, 64, 65, 512)] == [
        *("library", "library", "ring,access=put", "library", "library")
    ]
    assert mine.lookup("bcast", 3, 64) == mine.lookup("bcast", 5, 64) == LIBRARY
