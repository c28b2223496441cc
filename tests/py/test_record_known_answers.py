"""Programs that know what they communicate, against their raw traces; both MPIs of Debian."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import mpi_programs as programs


def check(run: programs.Run) -> None:
    """The program ended well, and its traces say what it says."""
    assert run.status == 0, run.errors
    messages, collectives = run.known()
    assert messages or collectives, run.output
    assert programs.messages(run.traces) == messages
    assert programs.collectives(run.traces) == collectives
    assert all(trace.header["flags"] == 1 for trace in run.traces)


@pytest.mark.parametrize("source", ["messages.c", "communicators.c", "collectives.c", "one_sided.c"])
def test_c(name: str, source: str, tmp_path: Path) -> None:
    program = programs.compiled(source, name, tmp_path)
    plain = programs.subprocess.run(
        [*programs.launcher(name, 3), str(program)], capture_output=True, text=True, check=True
    )
    run = programs.run([*programs.launcher(name, 3), str(program)], name, tmp_path)
    check(run)
    assert sorted(run.output.splitlines()) == sorted(plain.stdout.splitlines())


@pytest.mark.parametrize("interface", ["H", "MPI", "F08"])
def test_fortran(name: str, interface: str, tmp_path: Path) -> None:
    options = ["-ffree-line-length-none", "-fallow-argument-mismatch", f"-DINTERFACE_{interface}"]
    program = programs.compiled("fortran.F90", name, tmp_path, *options)
    check(programs.run([*programs.launcher(name, 3), str(program)], name, tmp_path))


def test_threads(name: str, tmp_path: Path) -> None:
    program = programs.compiled("threads.c", name, tmp_path)
    run = programs.run([*programs.launcher(name, 2), str(program)], name, tmp_path)
    if "no threads" in run.output:
        pytest.skip("this MPI was built without MPI_THREAD_MULTIPLE")
    check(run)
    files = [int(trace.header["rank"]) for trace in run.traces]
    # Four threads that live at once and the main one; those that come after others have ended go on in their files.
    assert 5 <= files.count(0) <= 6
    assert run.traces[0].header["threads_given"] == 3


def test_threads_that_get_one_handle(name: str, tmp_path: Path) -> None:
    """A handle may come again before the thread that waited for it has looked its request up."""
    recorder = Path(__file__).parents[2] / "recorder"
    program = programs.compiled("requests_of_threads.c", name, tmp_path, f"-I{recorder}", str(recorder / "requests.c"))
    done = subprocess.run([program], check=True, capture_output=True, text=True)
    assert done.stdout == "3 3 4 4 1 2 6 5 1\n"


def test_many_communicators(name: str, tmp_path: Path) -> None:
    program = programs.compiled("communicators.c", name, tmp_path)
    check(run := programs.run([*programs.launcher(name, 2), str(program), "10000"], name, tmp_path))
    first, second = (sorted(comm.id for comm in trace.comms if comm.id > 2 + 2) for trace in run.traces)
    assert len(first) == len(set(first)) > 10_000
    # Both name those that they have in common alike: all but the halves.
    assert len(set(first) & set(second)) > 10_000
    assert run.traces[0].header["recorder_bytes"] < 4e6


def test_polling(name: str, tmp_path: Path) -> None:
    program = programs.compiled("polling.c", name, tmp_path)
    check(run := programs.run([*programs.launcher(name, 1), str(program), "1000000"], name, tmp_path))
    called = programs.calls(run.traces)
    assert called["MPI_Test"] == called["MPI_Iprobe"] == 1_000_000
    assert run.traces[0].header["used"] < 20_000
    (trace,) = run.traces
    failed = trace.steps[trace.steps["error"] != 0]
    assert [trace.functions[int(step["function"])] for step in failed] == ["MPI_Send"]
    marks = trace.steps[trace.steps["kind"] == programs.raw.MARK]
    assert [(int(mark["form"]), int(mark["value"])) for mark in marks] == [(2, 0), (3, 0), (4, 17)]
    # The barrier between MPI_Pcontrol(0) and MPI_Pcontrol(1).
    assert called["MPI_Barrier"] == 0


@pytest.mark.parametrize("how", ["world", "sessions"])
def test_mpi_4(how: str, tmp_path: Path) -> None:
    """Partitioned messages, large counts, persistent collectives; sessions that come again."""
    program = programs.compiled("mpi4.c", "mpi4", tmp_path)
    # MPICH 4.0 crashes in a session after the last one was finalised.
    times = 2 if how == "sessions" and int(programs.installed("mpi4").mpi.version.split(".")[0]) > 4 else 1
    check(run := programs.run([*programs.launcher("mpi4", 3), str(program), how, str(times)], "mpi4", tmp_path))
    assert len(run.traces) == 3
    called = programs.calls(run.traces)
    assert called["MPI_Parrived"] >= 9
    assert called["MPI_Pready"] == 36 * times
