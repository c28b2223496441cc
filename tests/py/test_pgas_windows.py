"""Windows of MPI behind the partitioned global address space of libisthmus."""

from __future__ import annotations

from pathlib import Path

import pytest

from library import HERE, compile_c
from test_library_nodes import launch
from test_pgas_nodes import program as calls

__all__ = ["calls"]  # a fixture

#: By name: the environment, and ranks of a node.
WAYS = {
    "mpi": ({"ISTHMUS_TRANSPORT": "mpi"}, 1),
    "nodes of 2": ({"ISTHMUS_RANKS_PER_NODE": "2"}, 2),
}


@pytest.fixture(scope="module", params=["openmpi", "mpich"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("windows")
    return request.param, compile_c(HERE / "pgas_windows.c", folder / "windows", f"mpicc.{request.param}", "-std=c11")


@pytest.mark.sampled(
    3, always=["openmpi-atomics-mpi-always-4", "mpich-atomics-mpi-always-3", "mpich-several-nodes of 2-always-5"]
)
@pytest.mark.parametrize("ranks", [2, 3, 4, 5])
@pytest.mark.parametrize("how", ["always", "auto", "never"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mode", ["atomics", "several"])
def test_through_windows_and_without(program: tuple[str, Path], mode: str, way: str, how: str, ranks: int) -> None:
    """All atomic operations of all ranks on the same elements; spaces of parts of a team beside one of all."""
    done = launch(program, ranks, mode, ISTHMUS_WINDOWS=how, **WAYS[way][0])
    assert (done.returncode, done.stdout) == (0, "all done\n"), done.stderr[-2000:]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("how", ["always", "never"])
@pytest.mark.parametrize("way", WAYS)
def test_every_operation(calls: tuple[str, Path], way: str, how: str) -> None:
    environment, of_a_node = WAYS[way]
    done = launch(calls, 3, "5", "calls", str(of_a_node), ISTHMUS_WINDOWS=how, **environment)
    assert (done.returncode, done.stdout) == (0, "all done\n"), done.stderr[-2000:]


def test_nobody_waits_for_a_rank_that_computes(program: tuple[str, Path]) -> None:
    """Open MPI copies between the memory of processes; MPICH asks the other one, in either way."""
    done = launch(program, 2, "computes", ISTHMUS_TRANSPORT="mpi", ISTHMUS_WINDOWS="always")
    if program[0] == "mpich":
        assert "a get waits for a rank that computes" in done.stderr
        return
    assert (done.returncode, done.stdout) == (0, "atomics with help\nall done\n"), done.stderr[-2000:]


def test_a_rank_that_sets_memory_handles_what_others_ask_for(program: tuple[str, Path]) -> None:
    done = launch(program, 2, "sets", ISTHMUS_TRANSPORT="mpi", ISTHMUS_WINDOWS="always")
    assert (done.returncode, done.stdout) == (0, "all done\n"), done.stderr[-2000:]


def test_another_thread_goes_on_beside_windows(program: tuple[str, Path]) -> None:
    environment = {"ISTHMUS_TRANSPORT": "mpi", "ISTHMUS_WINDOWS": "always", "ISTHMUS_PROGRESS": "thread"}
    done = launch(program, 2, "atomics", **environment)
    assert (done.returncode, done.stdout) == (0, "all done\n"), done.stderr[-2000:]


def test_windows_that_take_more_memory_than_there_is_are_refused(tmp_path: Path) -> None:
    pins = compile_c(HERE / "pgas_windows.c", tmp_path / "pins", "mpicc.openmpi", "-std=c11", "-DPINS")
    always = {"ISTHMUS_TRANSPORT": "mpi", "ISTHMUS_WINDOWS": "always"}
    done = launch(("openmpi", pins), 2, "several", **always)
    assert done.returncode != 0
    assert "ISTHMUS_WINDOWS=always: the MPI library takes all memory of a window when it is made, " in done.stderr
    assert " has less: set ISTHMUS_SEGMENT to what the program needs" in done.stderr
    done = launch(("openmpi", pins), 2, "several", ISTHMUS_SEGMENT=str(16 << 20), **always)
    assert (done.returncode, done.stdout) == (0, "all done\n"), done.stderr[-2000:]


def test_a_wrong_choice_is_refused_by_all(program: tuple[str, Path]) -> None:
    done = launch(program, 2, "several", ISTHMUS_TRANSPORT="mpi", ISTHMUS_WINDOWS="yes")
    assert done.returncode != 0
    assert "ISTHMUS_WINDOWS of rank 0: must be auto, always or never" in done.stderr
