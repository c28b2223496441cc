"""Teams of libisthmus over MPI, and over shared memory and MPI at once: what they compute, and how they fail."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

import samples
from isthmus.collectives import registry
from mpi_programs import MPIS, installed, launcher
from test_library import HERE, compile_c

KINDS = ["barrier", "bcast", "reduce", "allreduce", "gather", "allgather", "scatter", "alltoall"]
KINDS += ["reduce_scatter", "scan", "exscan"]


@pytest.fixture(scope="module", params=MPIS)
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("nodes")
    return request.param, compile_c(
        HERE / "library_nodes.c", folder / "nodes", installed(request.param).mpi.mpicc, "-std=c11"
    )


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All algorithms, so that all of them are under way at once in the end; but those that other tests have added."""
    path = tmp_path_factory.mktemp("plan") / "plan"
    every = [(kind, algorithm) for kind in KINDS for algorithm in registry.algorithms(kind)]
    lines = [f"{kind} {algorithm}\n" for kind, algorithm in every if (kind, algorithm) not in registry._functions]
    random.Random(5).shuffle(lines)
    path.write_text("".join(lines))
    return path


def launch(program: tuple[str, Path], ranks: int, *words: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    flavour, path = program
    command = [*launcher(flavour, ranks), path]
    return subprocess.run(
        [*command, *words], capture_output=True, text=True, timeout=400, check=False, env={**os.environ, **env}
    )


WAYS = {
    "shm": {},
    "mpi": {"ISTHMUS_TRANSPORT": "mpi"},
    "ofi": {"ISTHMUS_TRANSPORT": "ofi"},
    "nodes of 2 over ofi": {"ISTHMUS_TRANSPORT": "shm+ofi", "ISTHMUS_RANKS_PER_NODE": "2"},
    "nodes of 2": {"ISTHMUS_RANKS_PER_NODE": "2"},
    "nodes of 3": {"ISTHMUS_RANKS_PER_NODE": "3"},
}
#: Ranks and way.
MATRIX = [(ranks, way) for ranks in (1, 2, 3, 4, 8) for way in WAYS]


@pytest.mark.sampled(6, always=["openmpi-3-mpi", "mpich-4-nodes of 2", "openmpi-3-ofi"])
@pytest.mark.parametrize(("ranks", "way"), MATRIX)
def test_every_algorithm_gives_what_mpi_says(program: tuple[str, Path], plan: Path, ranks: int, way: str) -> None:
    """Random counts, roots and types, 64 of them under way at once, ended in another order on each rank."""
    for seed in range(5 if samples.seed() is None else 1):
        done = launch(program, ranks, plan, str(seed), **WAYS[way])
        carried = len(plan.read_text().splitlines())
        assert (done.returncode, done.stdout) == (0, f"{carried} carried out\n"), done.stderr[-2000:]


def test_the_sum_of_mpi_over_two_nodes(tmp_path: Path, program: tuple[str, Path]) -> None:
    """All types and operators, beside MPI's own."""
    flavour, _ = program
    both = compile_c(HERE / "library_mpi.c", tmp_path / "both", installed(flavour).mpi.mpicc, "-std=c11")
    done = launch((flavour, both), 3, ISTHMUS_RANKS_PER_NODE="2")
    assert (done.returncode, done.stdout) == (0, "98 compared, 0 wrong\n"), done.stderr


def test_without_shared_memory_a_node_takes_mpi_and_says_so(program: tuple[str, Path], plan: Path) -> None:
    done = launch(program, 3, plan, "1", ISTHMUS_TEST="full")
    lines = sorted(done.stdout.splitlines())
    assert done.returncode == 0, done.stderr
    assert lines[0] == f"{len(plan.read_text().splitlines())} carried out"
    told = [f"rank {rank} is told: cannot make shared memory of " for rank in range(3)]
    assert len(lines) == 4
    for line, words in zip(lines[1:], told, strict=True):
        assert line.startswith(words)
        assert line.endswith("File too large: messages of this node go over MPI")


@pytest.mark.parametrize(
    ("env", "words"),
    [
        (
            {"ISTHMUS_TRANSPORT": "tcp"},
            "-1 ISTHMUS_TRANSPORT=tcp: must be shm, mpi, ofi, shm+mpi or shm+ofi, or not be given",
        ),
        ({"ISTHMUS_SILENCE": "soon"}, "-1 ISTHMUS_SILENCE=soon: must be a whole number from 0 to 1000000"),
        (
            {"ISTHMUS_TRANSPORT": "shm", "ISTHMUS_RANKS_PER_NODE": "1"},
            "-2 rank 1 shares no memory with rank 0: transport shm is for one node, without it MPI takes the rest",
        ),
    ],
)
def test_what_cannot_be_is_said_by_all(program: tuple[str, Path], env: dict[str, str], words: str) -> None:
    done = launch(program, 2, "none", **env)
    assert sorted(done.stdout.splitlines()) == [f"rank {rank}: {words}" for rank in range(2)]
