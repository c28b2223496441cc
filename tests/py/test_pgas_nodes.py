"""The partitioned global address space of libisthmus between nodes: over MPI, and over shared memory and MPI."""

from __future__ import annotations

from pathlib import Path

import pytest

import samples
from library import HERE, compile_c
from test_library_nodes import launch

#: By name: the environment, and ranks of a node.
WAYS = {
    "one node": ({}, 0),
    "mpi": ({"ISTHMUS_TRANSPORT": "mpi"}, 1),
    "ofi": ({"ISTHMUS_TRANSPORT": "ofi"}, 1),
    "nodes of 2 over ofi": ({"ISTHMUS_TRANSPORT": "shm+ofi", "ISTHMUS_RANKS_PER_NODE": "2"}, 2),
    "nodes of 2": ({"ISTHMUS_RANKS_PER_NODE": "2"}, 2),
    "nodes of 3": ({"ISTHMUS_RANKS_PER_NODE": "3"}, 3),
}
#: Ranks and way.
MATRIX = [(ranks, way) for ranks in (1, 2, 3, 4, 5, 8) for way in WAYS]


@pytest.fixture(scope="module", params=["openmpi", "mpich"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("nodes")
    return request.param, compile_c(HERE / "pgas_nodes.c", folder / "nodes", f"mpicc.{request.param}", "-std=c11")


@pytest.mark.sampled(
    6, always=["openmpi-2-mpi", "mpich-2-mpi", "openmpi-3-nodes of 2", "mpich-4-nodes of 3", "mpich-3-ofi"]
)
@pytest.mark.parametrize(("ranks", "way"), MATRIX)
def test_every_operation(program: tuple[str, Path], ranks: int, way: str) -> None:
    """Random sizes and places, messages by the thousand, with messages of MPI under way in the same program."""
    env, of_a_node = WAYS[way]
    for seed in range(3 if samples.seed() is None else 1):
        done = launch(program, ranks, str(seed), "calls", str(of_a_node), **env)
        assert (done.returncode, done.stdout) == (0, "all done\n"), done.stderr[-2000:]


@pytest.mark.parametrize("longest", ["1", "64", "1000000"])
def test_pieces_that_go_alone_and_packed_are_the_same(program: tuple[str, Path], longest: str) -> None:
    done = launch(program, 3, "1", "calls", "1", ISTHMUS_TRANSPORT="mpi", ISTHMUS_PACKED=longest)
    assert (done.returncode, done.stdout) == (0, "all done\n"), done.stderr[-2000:]


def test_a_wrong_longest_piece_is_refused(program: tuple[str, Path]) -> None:
    done = launch(program, 2, "1", "calls", "1", ISTHMUS_TRANSPORT="mpi", ISTHMUS_PACKED="4 KiB")
    assert done.returncode != 0
    assert "ISTHMUS_PACKED=4 KiB: must be a whole number of bytes above 0" in done.stderr


@pytest.mark.sampled(1, always=["openmpi-thread"])
@pytest.mark.parametrize("progress", ["thread", "timer"])
def test_another_thread_handles_what_comes(program: tuple[str, Path], progress: str) -> None:
    done = launch(program, 3, "1", "calls", "2", ISTHMUS_RANKS_PER_NODE="2", ISTHMUS_PROGRESS=progress)
    assert (done.returncode, done.stdout) == (0, "all done\n"), done.stderr[-2000:]
