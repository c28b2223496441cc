"""Programs that end as they should not, children, full disks, regions: what is recorded then."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import isthmus
import mpi_programs as programs
from isthmus.schedule.recording import ABORTED, EXITED, FINALIZED, FULL, SIGNALLED
from processes import hear


def program(source: str, name: str, folder: Path) -> str:
    found = folder / f"{Path(source).stem}.{name}"
    return str(found if found.exists() else programs.compiled(source, name, folder))


def record(*arguments: str, expect: int = 0, timeout: float = 100) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "isthmus", "record", *arguments],
        capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip
    assert done.returncode == expect, done.stderr
    return done


@pytest.mark.sampled(5, always=["openmpi-kill-0", "mpich-abort-2"])
@pytest.mark.parametrize(
    ("how", "flags"),
    [
        ("", FINALIZED),
        ("abort", ABORTED),
        ("kill", 0),
        ("crash", SIGNALLED),
        ("terminate", SIGNALLED),
        ("exit", EXITED),
    ],
)
def test_ending(name: str, how: str, flags: int, folder: Path, tmp_path: Path) -> None:
    run = programs.run([*programs.launcher(name, 2), program("endings.c", name, folder), how], name, tmp_path)
    assert (run.status == 0) == (how == "")
    by_rank = {int(trace.header["rank"]): trace for trace in run.traces}
    assert sorted(by_rank) == [0, 1]
    # MPI_Abort ends the process by exit or by a signal.
    allowed = EXITED | SIGNALLED if how == "abort" else 0
    assert int(by_rank[0].header["flags"]) & ~allowed == flags
    if flags == SIGNALLED:
        assert by_rank[0].header["signal"] == (signal.SIGSEGV if how == "crash" else signal.SIGTERM)
    # All that happened before is there, of every rank.
    for trace in run.traces:
        assert programs.calls([trace])["MPI_Sendrecv_replace"] == 100


def test_signal_that_is_handled(name: str, folder: Path, tmp_path: Path) -> None:
    run = programs.run([*programs.launcher(name, 2), program("endings.c", name, folder), "handled"], name, tmp_path)
    assert run.status == 0, run.errors
    assert [int(trace.header["flags"]) for trace in run.traces] == [FINALIZED] * 2


def test_children(name: str, folder: Path, tmp_path: Path) -> None:
    run = programs.run([*programs.launcher(name, 2), program("endings.c", name, folder), "children"], name, tmp_path)
    assert run.status == 0, run.errors
    assert [int(trace.header["flags"]) for trace in run.traces] == [FINALIZED] * 2
    assert len(run.traces) == 2


def test_limit(name: str, folder: Path, tmp_path: Path) -> None:
    command = [*programs.launcher(name, 2), program("threads.c", name, folder)]
    run = programs.run(command, name, tmp_path, ISTHMUS_LIMIT="500000")
    assert run.status == 0, run.errors
    assert sum(path.stat().st_size for path in (tmp_path / "raw").glob("0.*")) < 1_000_000
    full = [trace for trace in run.traces if trace.header["flags"] & FULL]
    assert full
    assert all(trace.header["lost"] > 0 for trace in full)


def test_clocks(name: str, folder: Path, tmp_path: Path) -> None:
    """On one host clocks agree: what is measured is as small as the error that it claims."""
    command = [*programs.launcher(name, 4), program("endings.c", name, folder)]
    run = programs.run(command, name, tmp_path, ISTHMUS_SYNCHRONISE="1")
    assert run.status == 0, run.errors
    for trace in run.traces:
        for sync in trace.header["sync"]:
            assert abs(int(sync["offset_ns"])) <= int(sync["error_ns"])
            assert (int(sync["error_ns"]) > 0) == (int(trace.header["rank"]) > 0)
        assert trace.header["sync"][1]["local_ns"] > trace.header["sync"][0]["local_ns"]
        assert trace.header["world_local"] == 4


def iterations(path: Path) -> tuple[list[int], int]:
    """Numbers of the iterations of rank 0, and how many allreduces were recorded."""
    p = isthmus.read(path)
    kinds = isthmus.schedule.program.EventKind
    numbers = [int(a) for kind, a in zip(p.kind, p.amount, strict=True) if kind == kinds.iteration]
    recording = p.recording
    assert recording is not None
    index = recording.functions.index("MPI_Allreduce")
    return numbers, int((recording.function == index).sum())


def test_regions(name: str, folder: Path, tmp_path: Path) -> None:
    command = ["--", *programs.launcher(name, 1), program("polling.c", name, folder), "5"]
    out = tmp_path / "part.h5"
    source = (programs.SOURCES / "polling.c").read_text().splitlines()
    line = next(i for i, text in enumerate(source, 1) if "begins an iteration" in text)
    for marker in ("MPI_Allreduce", f"MPI_Allreduce@polling.c:{line}"):
        record("--force", "-o", str(out), "--marker", marker, "--from", "3", "--to", "6", *command)
        assert iterations(out) == ([3, 4, 5, 6], 3)
    record("--force", "-o", str(out), "--marker", "MPI_Allreduce", *command)
    assert iterations(out) == (list(range(1, 11)), 10)
    record("--force", "-o", str(out), "--marker", "17", *command)
    assert iterations(out) == ([1], 10)
    record("--force", "-o", str(out), "--from", "100s", *command)
    recording = isthmus.read(out).recording
    assert recording is not None
    assert "MPI_Allreduce" not in recording.functions


def test_command_line(name: str, folder: Path, tmp_path: Path) -> None:
    """Exit status and output of the program are its own; what failed is named in one sentence."""
    ending, out = program("endings.c", name, folder), str(tmp_path / "app.h5")
    launcher = programs.launcher(name, 2)
    done = record("--force", "-o", out, "--", *launcher, ending, "status", expect=3)
    assert done.stdout == "" or "status" in done.stderr
    assert isthmus.read(out).ranks == 2
    # Several parts, and none of the launcher: one rank.
    record("--force", "-o", out, "--", *launcher, ending, ":", "-n", "1", ending)
    assert isthmus.read(out).ranks == 3
    record("--force", "-o", out, "--", program("polling.c", name, folder), "3")
    assert isthmus.read(out).ranks == 1
    done = record("--force", "-o", out, "--", *launcher, ending, "never")
    assert "never called MPI_Init: nothing was recorded" in done.stderr
    for last in (False, False, True):  # mpirun of MPICH dies by SIGPIPE at times when a program ends before it has read
        try:
            done = record("--force", "-o", out, "--", *launcher, ending, "fails", expect=7)
            break
        except AssertionError as error:
            if last or "status 141" not in str(error):
                raise
    assert "ended with status 7 and never called MPI_Init" in done.stderr
    assert list(tmp_path.iterdir()) == [Path(out)]


def test_interrupted(name: str, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "app.h5"
    command = [*programs.launcher(name, 2), program("endings.c", name, folder), "wait"]
    process = subprocess.Popen(
        [sys.executable, "-m", "isthmus", "record", "-o", str(out), "--", *command],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=hear,
    )  # fmt: skip
    assert process.stdout is not None
    while "waiting" not in process.stdout.readline():
        pass
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0, errors
    recording = isthmus.read(out).recording
    assert recording is not None
    assert int((recording.function == recording.functions.index("MPI_Sendrecv_replace")).sum()) == 200


def test_wrong_mpi(folder: Path, tmp_path: Path) -> None:
    programs.installed("mpich")
    ending = program("endings.c", "mpich", folder)
    out = str(tmp_path / "x.h5")
    done = record("-o", out, "--", *programs.launcher("openmpi", 2), ending, expect=2)
    assert "is linked to MPICH" in done.stderr
    assert "of Open MPI" in done.stderr
    assert done.stderr.count("\n") == 1
    done = record("-o", out, "--mpicc", "mpicc.openmpi", "--", ending, expect=2)
    assert "but" in done.stderr
    assert done.stderr.count("\n") == 1


def test_static(folder: Path, tmp_path: Path) -> None:
    """Recognised by what is in the file: nothing can be put between."""
    source = tmp_path / "static.c"
    source.write_text('const char *name = "ompi_mpi_comm_world"; int main(void) { return name[0] == 0; }\n')
    subprocess.run(["gcc", "-static", str(source), "-o", str(tmp_path / "static")], check=True)
    done = record("-o", str(tmp_path / "x.h5"), "--", str(tmp_path / "static"), expect=2)
    assert "is linked statically" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no command to record"),
        (["--merge", "."], "-o FILE.h5 is missing"),
        (["-o", "x.txt", "--", "true"], "must end in .h5 or .hdf5"),
        (["-o", "x.h5", "--", "no-such-program"], "there is no such program"),
        (["-o", "x.h5", "--from", "3", "--", "true"], "iterations need a marker"),
        (["-o", "x.h5", "--marker", "Barrier", "--", "true"], "must be MPI_Function"),
        (
            ["-o", "x.h5", "--marker", "MPI_Barrier", "--from", "4", "--to", "4", "--", "true"],
            "the end must come after",
        ),
        (["-o", "x.h5", "--marker", "1", "--", "true"], "switch recording off and on"),
        (["-o", "x.h5", "--limit", "1kB", "--", "true"], "at least 100 kB"),
    ],
)
def test_bad_arguments(arguments: list[str], message: str) -> None:
    done = record(*arguments, expect=2)
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
