"""Counters of the processor: known numbers of page faults by function, made-up traces and pages, and what show says."""

from __future__ import annotations

import errno
import json
import pickle
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isthmus
import mpi_programs
from isthmus import InvalidInput, Program
from isthmus.cli import main
from isthmus.recording import raw
from isthmus.recording.build import sources
from isthmus.recording.counters import asked
from isthmus.recording.merge import merge
from isthmus.recording.profile import profile
from isthmus.recording.profile_text import report
from isthmus.schedule.program import CollectiveKind
from isthmus.schedule.recording import NONE
from raw_traces import RawTrace

LIBRARIES = ["openmpi", "mpich"]
# Page faults of the run itself: pages of code, tables that grow.
STRAY = 40


def own_sums(program: Program, counter: str) -> dict[str, int]:
    """What was counted in the functions themselves."""
    recording = program.recording
    assert recording is not None
    tree = profile(program).tree
    assert tree is not None
    own = tree.counters[counter].astype(np.int64)
    for node in range(1, len(tree)):
        own[tree.parent[node]] -= tree.counters[counter].astype(np.int64)[node]
    sums: dict[str, int] = {}
    for name, number in zip(tree.name, own.tolist(), strict=True):
        sums[name or "main"] = sums.get(name or "main", 0) + number
    return sums


@pytest.mark.parametrize("threads", [False, True], ids=["one thread", "two threads"])
@pytest.mark.parametrize("name", LIBRARIES)
def test_page_faults_are_those_of_the_function_around(tmp_path: Path, name: str, threads: bool) -> None:
    program = mpi_programs.compiled("counted.c", name, tmp_path)
    command = [*mpi_programs.launcher(name, 2), str(program), *["threads"] * threads]
    run = mpi_programs.run(command, name, tmp_path, ISTHMUS_COUNTERS=asked("page-faults,task-clock"))
    assert run.status == 0, run.errors
    known = {words[1]: int(words[2]) for line in run.output.splitlines() if (words := line.split())[0] == "pages"}
    assert len(known) == 8 + threads
    merged = merge(tmp_path / "raw")
    recording = merged.recording
    assert recording is not None
    assert recording.counters is not None, recording.uncounted
    assert recording.uncounted == ()
    found = own_sums(merged, "page-faults")
    for function, pages in known.items():
        assert 2 * pages <= found[function] <= 2 * pages + STRAY, function
    # The kernel's own clock of the thread ran as long as what was counted lasted; all but short computations was.
    tree = profile(merged).tree
    assert tree is not None
    assert tree.counted is not None
    assert tree.counters["task-clock"][0] * 1e-9 == pytest.approx(tree.counted[0], rel=0.2)
    if not threads:
        assert tree.counted[0] > 0.8 * (tree.computing[0] - tree.own[tree.name.index("fine")])
    # Where calls follow each other, reading would cost more than it tells.
    fine = (
        np.array([i for i, f in enumerate(recording.site_function) if f == "fine"])[:, None] == recording.path_site
    ).any(axis=0)
    within = [(b != NONE and fine[b]) and (a != NONE and fine[a])
              for b, a in zip(recording.counters.before, recording.counters.after, strict=True)]  # fmt: skip
    assert recording.counters.intervals[within].sum() < 0.05 * 2 * 5000


def test_hardware_counters_or_the_reason_why_not(tmp_path: Path) -> None:
    program = mpi_programs.compiled("counted.c", "openmpi", tmp_path)
    run = mpi_programs.run([str(program)], "openmpi", tmp_path, ISTHMUS_COUNTERS=asked(None))
    assert run.status == 0, run.errors
    merged = merge(tmp_path / "raw")
    recording = merged.recording
    assert recording is not None
    if recording.counters is None:
        assert len(recording.uncounted) == 1
        assert recording.uncounted[0].startswith("no instructions and cycles: ")
        assert report(profile(merged)).count("no instructions and cycles") == 1
        return
    tree = profile(merged).tree
    assert tree is not None
    assert recording.uncounted == ()
    assert 0.01 < float(tree.counters["instructions"][0]) / float(tree.counters["cycles"][0]) < 16
    assert "per cycle" in report(profile(merged), width=None)


def test_counters_that_do_not_exist_leave_the_program_alone(tmp_path: Path) -> None:
    program = mpi_programs.compiled("counted.c", "openmpi", tmp_path)
    run = mpi_programs.run([str(program)], "openmpi", tmp_path, ISTHMUS_COUNTERS="nonsense:0:99;page-faults:1:2")
    assert run.status == 0, run.errors
    recording = merge(tmp_path / "raw").recording
    assert recording is not None
    assert recording.counters is None
    assert [words.split(":")[0] for words in recording.uncounted] == ["no nonsense and page-faults"]
    assert all(trace.header["counter_error"] for trace in run.traces)


def test_counters_are_read_from_the_page_as_the_kernel_documents(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    program = tmp_path / "page"
    source = Path(__file__).with_name("counters_page.c")
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined", "-fno-sanitize-recover"]
    subprocess.run([compiler, *flags, f"-I{sources()}", str(source), "-o", str(program)], check=True)
    assert subprocess.run([str(program)], check=False).returncode == 0


# Made-up traces


NAMES = np.array([b"instructions", b"cycles", b"", b""])


def trace_of(rank: int, ranks: int, **header: Any) -> RawTrace:
    """Two calls in `solve`, then one in `halo`, with what was counted between them."""
    trace = RawTrace(rank, ranks, counters=NAMES, **header)
    solve, halo = trace.site("solve"), trace.site("halo")
    counted(trace, 0, solve, 1, 1000, 10, 20)
    trace.collective("MPI_Barrier", CollectiveKind.barrier, site="solve", gap=1000)
    for times in (1, 2):
        counted(trace, solve, solve, times, 500_000, 1000 * times + rank, 400 * times)
        trace.collective("MPI_Barrier", CollectiveKind.barrier, site="solve", gap=500_000)
    counted(trace, solve, halo, 1, 7000, 30, 60)
    trace.collective("MPI_Barrier", CollectiveKind.barrier, site="halo", gap=7000)
    counted(trace, halo, 0, 1, 1000, 5, 5)
    return trace


def counted(trace: RawTrace, before: int, after: int, intervals: int, ns: int, *values: int) -> None:
    trace._record(raw.COUNTED, struct.pack("=IIQq4q", before, after, intervals, ns, *values, *[0] * (4 - len(values))))


def test_counts_are_summed_by_the_calls_around_and_kept(tmp_path: Path) -> None:
    for rank in range(2):
        trace_of(rank, 2).write(tmp_path)
    program = merge(tmp_path)
    recording = program.recording
    assert recording is not None
    c = recording.counters
    assert c is not None
    assert c.names == ("instructions", "cycles")
    path = {recording.site_function[site]: i for i, site in enumerate(recording.path_site.tolist())}
    solve, halo = path["solve"], path["halo"]
    rows = list(zip(c.rank, c.before, c.after, c.intervals, *c.values, strict=True))
    expected = [
        row
        for r in range(2)
        for row in [
            (r, NONE, solve, 1, 10, 20),
            (r, solve, solve, 3, 3000 + 2 * r, 1200),
            (r, solve, halo, 1, 30, 60),
            (r, halo, NONE, 1, 5, 5),
        ]
    ]
    assert [tuple(map(int, row)) for row in rows] == expected
    assert c.seconds.tolist() == pytest.approx([1e-6, 1e-3, 7e-6, 1e-6] * 2)
    program.save(tmp_path / "x.h5")
    read = isthmus.read(tmp_path / "x.h5").recording
    assert read is not None
    assert read.differences(recording) == []
    assert pickle.loads(pickle.dumps(program)).recording.counters == c
    swapped = program.relabel([1, 0]).recording
    assert swapped is not None
    assert swapped.counters is not None
    assert swapped.counters.rank.tolist() == [1] * 4 + [0] * 4
    assert swapped.counters.values.tolist() == c.values.tolist()
    one = profile(program, rank=1).tree
    assert one is not None
    assert one.counters["instructions"][0] == 3002 + 45
    node = one.name.index("solve")
    # Before the first call: as all computation before it, it is in the outermost function that is known.
    assert one.counters["instructions"][node] == 3002 + 10


def test_pieces_of_a_trace_count_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = RawTrace(0, 1, counters=NAMES)
    place = trace.site("solve")
    for i in range(400):
        counted(trace, place, place, 1, 20_000, i, 1)
        trace.collective("MPI_Barrier", CollectiveKind.barrier, site="solve", gap=20_000)
    path = trace.write(tmp_path)
    whole = merge(tmp_path).recording
    assert len(raw.pieces(path, 50, raw.read_header(path))[0]) > 5
    monkeypatch.setattr("isthmus.recording.merge.PIECE", 50)
    parts = merge(tmp_path).recording
    assert whole is not None
    assert parts is not None
    assert whole.counters is not None
    assert whole.counters.values.tolist() == [[399 * 200], [400]]
    assert parts.counters == whole.counters


@pytest.mark.parametrize(
    ("error", "paranoid", "words"),
    [
        (errno.EACCES, 4, "no instructions and cycles: the kernel allows none, kernel.perf_event_paranoid=4"),
        (errno.EPERM, 2, "the system does not allow perf_event_open, as in many containers"),
        (errno.ENOENT, 2, "this machine has none that the kernel can read, as many virtual machines"),
        (errno.ENOSYS, 0x7FFFFFFF, "the kernel has none"),
    ],
)
def test_show_says_once_why_there_are_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], error: int, paranoid: int, words: str
) -> None:
    for rank in range(3):
        trace = RawTrace(rank, 3, counters=NAMES, counter_error=error * (rank != 1), counter_paranoid=paranoid)
        place = trace.site("solve")
        if rank == 1:
            counted(trace, place, place, 1, 1000, 3, 2)
        trace.collective("MPI_Barrier", CollectiveKind.barrier, site="solve")
        trace.write(tmp_path)
    program = merge(tmp_path)
    assert program.recording is not None
    assert len(program.recording.uncounted) == 1
    assert "of 2 of 3 ranks: " in program.recording.uncounted[0]
    assert words.split(": ")[-1] in program.recording.uncounted[0]
    program.save(tmp_path / "x.h5")
    main(["show", str(tmp_path / "x.h5")])
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.count(words.split(": ")[-1]) == 1
    main(["show", "--json", str(tmp_path / "x.h5")])
    out = json.loads(capsys.readouterr().out)
    assert out["counters"] == {"names": ["instructions", "cycles"], "missing": list(program.recording.uncounted)}


def test_show_has_columns_of_what_was_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace_of(0, 1).write(tmp_path)
    program = merge(tmp_path)
    lines = report(profile(program), width=None).splitlines()
    head = next(line for line in lines if line.startswith("function"))
    (solve,) = (line for line in lines if line.strip().startswith("solve"))
    assert head.split()[-4:] == ["instructions", "cycles", "per", "cycle"]
    assert solve.split()[-5:] == ["3.01", "k", "1.22", "k", "2.47"]
    program.save(tmp_path / "x.h5")
    main(["show", "--json", str(tmp_path / "x.h5")])
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["functions"]}
    assert (rows["solve"]["instructions"], rows["solve"]["cycles"]) == (3010, 1220)
    assert rows["solve"]["counted"] == pytest.approx(1.001e-3)


def test_traces_of_version_2_have_no_counters_and_no_note(tmp_path: Path) -> None:
    trace = RawTrace(0, 1, version=2)
    trace.collective("MPI_Barrier", CollectiveKind.barrier, site="solve")
    trace.write(tmp_path)
    program = merge(tmp_path)
    assert program.recording is not None
    assert (program.recording.counters, program.recording.uncounted) == (None, ())
    program.save(tmp_path / "x.h5")
    assert "counters" not in report(profile(isthmus.read(tmp_path / "x.h5")))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("cycles,bytes", "'bytes' is unknown: must be one of off, cycles, instructions,"),
        ("cycles,cycles", "'cycles' is given twice"),
        ("", "'' is unknown"),
        ("cycles,instructions,branches,page-faults,cpu-clock", "at most 4 can be counted at a time"),
    ],
)
def test_counters_that_nobody_has_are_refused(tmp_path: Path, given: str, words: str) -> None:
    with pytest.raises(InvalidInput, match="counters ") as error:
        isthmus.record(["true"], tmp_path / "x.h5", counters=given)
    assert words in str(error.value)
    assert asked("off") == asked(" OFF ") == ""
    assert asked(None) == "instructions:0:1;cycles:0:0"
