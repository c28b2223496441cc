"""compare dispatches by what it is given; show shows anything."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

import isthmus
from isthmus.cli import main
from isthmus.errors import InvalidInput


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    ring = isthmus.collective("allgather", ranks=8, bytes=100_000, algorithm="ring")
    isthmus.simulate(ring, "torus:4x4").save("t.h5")
    isthmus.simulate(ring, "torus:4x4,L=9us").save("slow.h5")
    ring.save("ring.goal")
    isthmus.tune("bcast", "torus:4x4", ranks=[8], sizes=[8, 1 << 20], workers=1).table.save("a.toml")
    Path("mesh.graph").write_text("3 2\n2\n1 3\n2\n")
    Path("nodes.txt").write_text("0\n5\n3\n")
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    main([*words, "--json"])
    return json.loads(capsys.readouterr().out)


def test_machines() -> None:
    first, second = isthmus.load("torus:4x4 cores=2"), isthmus.load("torus:4x4,cores=4,L=3us")
    found = isthmus.compare(first, second, names=["a", "b"])
    values = {row["value of"]: (row["a"], row["b"]) for row in found.rows}
    assert set(values) == {"cores", "node.cores", "level.network.L"}
    assert values["cores"] == ("32", "64")
    assert not isthmus.compare(first, first).rows
    assert "no differences" in str(isthmus.compare(first, first))


def test_tables_say_what_tune_compare_said(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["tune", "compare", "a.toml", "openmpi", "--json"])
    before = capsys.readouterr()
    assert "isthmus tune compare is now isthmus compare" in before.err
    rows = [tuple(row.values()) for row in said(capsys, "compare", "a.toml", "openmpi")["rows"]]
    assert rows
    assert rows == [tuple(row.values()) for row in json.loads(before.out)]


def test_timelines() -> None:
    """The figures are those of the timelines, and the change is that of L on the path of a ring."""
    ring = isthmus.collective("allreduce", ranks=8, bytes=100_000, algorithm="ring")
    slow, fast = (isthmus.simulate(ring, f"torus:4x4,cores=1,L={latency}") for latency in ("9us", "1us"))
    found = isthmus.compare(fast, slow, names=["fast", "slow"])
    rows = {row["mean over ranks"]: row for row in found.rows}
    assert rows["time"]["fast"] == fast.makespan
    assert rows["time"]["slow"] == slow.makespan
    assert rows["time"]["slow to fast"] == pytest.approx(slow.makespan / fast.makespan - 1)
    for name, timeline in (("fast", fast), ("slow", slow)):
        assert rows["compute"][name] + rows["communication"][name] == pytest.approx(timeline.finish.mean())
        assert rows["  latency"][name] == pytest.approx(timeline.breakdown["latency"].mean())
    assert slow.makespan - fast.makespan == pytest.approx(14 * 8e-6)


def test_timelines_by_rank_and_operation(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every figure is that of the timelines; the page has a picture of each, and nothing from elsewhere."""
    bcast = isthmus.collective("bcast", ranks=20, bytes=1000, algorithm="binomial")
    fast, slow = (isthmus.simulate(bcast, f"torus:5x5,cores=1,L={time}", record="ops") for time in ("1us", "9us"))
    fast.save("fast.h5")
    slow.save("slow.h5")
    found = said(capsys, "compare", "fast.h5", "slow.h5", "-o", "both.html")
    assert [row["fast.h5"] for row in found["ranks"]] == fast.finish.tolist()
    assert [row["slow.h5"] for row in found["ranks"]] == slow.finish.tolist()
    receives = bcast.ops["kind"] == 2
    (row,) = [row for row in found["kinds"] if row["mean of operations"] == "recv (19)"]
    mean = [float((one.end_ps - one.start_ps)[receives].mean()) * 1e-12 for one in (fast, slow)]
    assert (row["fast.h5"], row["slow.h5"]) == pytest.approx(mean)
    assert row["slow.h5 to fast.h5"] == pytest.approx(mean[1] / mean[0] - 1)
    apart = [abs(row["slow.h5"] - row["fast.h5"]) for row in found["operations"]]
    took = [(one.end_ps - one.start_ps) * 1e-12 for one in (fast, slow)]
    assert apart == pytest.approx(sorted(abs(took[1] - took[0]), reverse=True)[: len(apart)])
    assert found["operations"][0]["operation"].startswith("rank ")
    main(["compare", "fast.h5", "slow.h5"])
    assert "\n... and 8 more, which a page (-o FILE.html) and --json have\n" in capsys.readouterr().out
    assert "... and 8 more" in str(isthmus.compare(fast, slow))
    pytest.importorskip("matplotlib")
    page = Path("both.html").read_text()
    assert page.count("<svg") == 2
    assert '<td class="w">19</td>' in page
    assert not re.search(r"(src|href)=[\"'](?!#)", page)


def test_timelines_whose_operations_are_not_known(files: Path) -> None:
    slow = isthmus.read("slow.h5")
    assert isinstance(slow, isthmus.Timeline)
    found = isthmus.compare(slow, slow, names=["a", "b"])
    assert found.notes[-1] == ("a, b: without times of operations, which isthmus simulate --record ops -o FILE writes")
    assert [part.key for part in found.parts] == ["ranks"]
    others = [isthmus.collective("allgather", ranks=8, bytes=size, algorithm="ring") for size in (8, 16)]
    first, second = (isthmus.simulate(other, "torus:4x4", record="ops") for other in others)
    assert isthmus.compare(first, second).notes[-1] == "operations are not compared: the schedules differ"


def test_a_recording_is_a_measured_timeline() -> None:
    program = isthmus.example("lammps")
    predicted = isthmus.simulate(program, "eos")
    found = isthmus.compare(program, predicted, names=["measured", "predicted"])
    rows = {row["mean over ranks"]: row for row in found.rows}
    assert program.recording is not None
    assert rows["time"]["measured"] == program.recording.wall.max()
    assert rows["time"]["predicted"] == predicted.makespan
    computed = predicted.breakdown["compute"].mean()
    assert rows["compute"]["measured"] == pytest.approx(computed, rel=1e-3)
    assert "measured was measured" in found.notes


def test_a_program_on_machines(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = said(capsys, "compare", "ring.goal", "torus:4x4", "torus:4x4,L=9us", "loggops:L=1us", "--model", "loggops")
    assert found["names"] == ["torus:4x4", "torus:4x4,L=9us", "loggops:L=1us"]
    time = found["rows"][0]
    ring = isthmus.read("ring.goal")
    assert time["torus:4x4,L=9us"] == isthmus.simulate(ring, "torus:4x4,L=9us").makespan
    spread = said(capsys, "compare", "ring.goal", "torus:4x4 cores=2", "torus:4x4 cores=8", "--ranks-per-node", "1")
    assert spread["rows"][0]["torus:4x4 cores=2"] == spread["rows"][0]["torus:4x4 cores=8"]
    measured = said(capsys, "compare", "lammps", "eos")
    assert measured["names"] == ["lammps", "eos"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("cielo", "at least two"),
        ("cielo t.h5", "Machine, Timeline: can compare"),
        ("a.toml cielo", "can compare"),
        ("t.h5 lammps", "8, lammps has 64"),
        ("ring.goal nothere.toml", "No such file"),
        ("cielo edison --placement block", "apply only to a program"),
        ("cielo edison --ranks 3", "decision tables"),
        ("cielo edison -o a.txt", "must end in .html"),
    ],
)
def test_errors(words: str, message: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["compare", *words.split()])
    captured = capsys.readouterr()
    assert (stop.value.code, captured.out) == (2, "")
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert not Path("a.png").exists()


def test_pictures_and_pages(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    for name in ("a.png", "a.svg", "a.html"):
        main(["compare", "t.h5", "slow.h5", "-o", name])
        assert f"wrote {name}" in capsys.readouterr().out
        assert Path(name).stat().st_size > 500
    assert '<td class="w">communication</td>' in Path("a.html").read_text()
    main(["compare", "cielo", "cielo:title=<b>", "-o", "m.html"])
    assert "<b>" not in Path("m.html").read_text()


def test_names_are_unique() -> None:
    machine = isthmus.load("ring-16")
    assert isthmus.compare(machine, machine).names == ("ring-16", "ring-16 (2)")
    with pytest.raises(InvalidInput, match="expected one for each"):
        isthmus.compare(machine, machine, names=["a"])


def test_measured_times_need_a_recording() -> None:
    b = isthmus.ProgramBuilder(2)
    b.compute(None, 1.0)
    program = b.build()
    with pytest.raises(InvalidInput, match="was not recorded"):
        isthmus.compare(program, program)


# show


@pytest.mark.parametrize(
    ("words", "shows"),
    [
        ("cielo", "Cielo"),
        ("torus:4x4,cores=3", "torus"),
        ("loggops:L=2us", "2 us"),
        ("a.toml", "bcast"),
        ("openmpi --ranks 8", "bcast"),
        ("t.h5", "Timeline"),
        ("ring.goal", "Schedule"),
        ("ring.goal:unit=us", "Schedule"),
        ("allreduce:ranks=4,bytes=8", "Schedule"),
        ("lammps", "64 ranks"),
        ("mesh.graph", "3 ranks"),
        ("nodes.txt --machine torus:4x4", "3 ranks"),
    ],
)
def test_show_shows_anything(words: str, shows: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["show", *words.split()])
    assert shows in capsys.readouterr().out
    assert said(capsys, "show", *words.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("nothing", "neither a machine"),
        ("nothing.h5", "No such file"),
        ("nodes.txt", "the format is not known"),
        ("cielo --ranks 8", "not a decision table"),
        ("t.h5 --nodes 3", "need --machine"),
        ("nothere.txt --machine cielo", "no such file"),
    ],
)
def test_show_refuses(words: str, message: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["show", *words.split()])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_long_values_fold_into_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    """No line is wider than its columns at 60 letters, and no letter is lost."""
    main(["compare", "cielo", "eos"])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 3 * 60 + 2 * 3
    main(["compare", "cielo", "eos", "--json"])
    rows = json.loads(capsys.readouterr().out)["rows"]
    long = [value for row in rows for value in row.values() if value is not None and len(value) > 60]
    assert long
    columns = [lines[0].index("cielo"), lines[0].index("eos"), 10_000]
    text = ["".join("".join(line[a:b].split()) for line in lines) for a, b in itertools.pairwise(columns)]
    assert all(any("".join(value.split()) in column for column in text) for value in long)


def test_long_cells_fold_in_print() -> None:
    """The matrix of memory bandwidths is a long text: no column of a printed comparison is wider than 60 letters."""
    lines = str(isthmus.compare(isthmus.load("cielo"), isthmus.load("eos"))).splitlines()
    assert max(map(len, lines)) < 140
    at = next(i for i, line in enumerate(lines) if line.startswith("node.stream"))
    assert "13.43 GB/s" in lines[at]
    assert lines[at + 1].startswith(" " * 20)
