"""Litmus programs of the memory model of a space, on processes of a node and over MPI."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

import pytest

import samples
from library import HERE, flags, in_processes, new_job
from test_library_nodes import launch

#: Turns of each program, and seconds for them: where all are run, and in a sample.
TURNS = (10**6, 3600.0) if samples.seed() is None else (20_000, 0.3)
#: Names of the programs for so many ranks.
PROGRAMS = {2: 26, 3: 2, 4: 4}


def read(text: str) -> dict[str, tuple[int, int]]:
    """By program: outcomes that the model forbids, and those that no order of the accesses gives, but it allows."""
    found = {}
    for line in text.splitlines():
        name, forbidden, weak = line.split()
        found[name] = int(forbidden), int(weak)
    return found


def on_processes(program: Path, ranks: int, times: int, seconds: float) -> dict[str, tuple[int, int]]:
    job = new_job()
    said = in_processes([[program, str(times), str(seconds), job, str(rank), str(ranks)] for rank in range(ranks)])
    assert [(status, errors) for status, _, errors in said] == [(0, "")] * ranks
    return read(said[0][1])


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return optimised(tmp_path_factory.mktemp("litmus") / "litmus")


def optimised(program: Path, *words: str, compiler: str = "cc") -> Path:
    command = [compiler, "-std=c11", "-O2", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", *words]
    subprocess.run([*command, "-o", program, HERE / "litmus.c", *flags()], check=True)
    return program


@pytest.mark.parametrize("ranks", PROGRAMS)
def test_processes_see_nothing_that_the_model_forbids(program: Path, ranks: int) -> None:
    found = on_processes(program, ranks, *TURNS)
    assert len(found) == PROGRAMS[ranks]
    assert {name: counts for name, counts in found.items() if counts[0] > 0} == {}


@pytest.mark.skipif(platform.machine() != "x86_64" or os.cpu_count() == 1, reason="stores are not delayed")
def test_a_library_without_fences_is_found(tmp_path: Path) -> None:
    """The same programs, compiled with fences and exchanges that are none: store buffering shows it on x86."""
    weakened = optimised(
        tmp_path / "weakened",
        "-D__atomic_thread_fence(order)=((void)0)",
        "-D__atomic_exchange_n(at,value,order)=__atomic_store_n(at,value,__ATOMIC_RELAXED)",
        "-Wno-unused-value",
    )
    wrong: set[str] = set()
    # How many of the three show it in this time depends on what else the machine does.
    for _ in range(60):
        wrong |= {name for name, (forbidden, _) in on_processes(weakened, 2, 50_000, 0.3).items() if forbidden > 0}
        if wrong:
            break
    assert wrong
    assert all(name.startswith("store-buffering") for name in wrong)


@pytest.mark.sampled(2, always=["openmpi-2-mpi"])
@pytest.mark.parametrize("way", ["mpi", "nodes of 2"])
@pytest.mark.parametrize("ranks", PROGRAMS)
@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_over_mpi(tmp_path: Path, flavour: str, ranks: int, way: str) -> None:
    """Nodes of one rank, and of two, whose ranks reach each other both by memory and by messages."""
    env = {"mpi": {"ISTHMUS_TRANSPORT": "mpi"}, "nodes of 2": {"ISTHMUS_RANKS_PER_NODE": "2"}}[way]
    program = optimised(tmp_path / "litmus", "-DWITH_MPI", compiler=f"mpicc.{flavour}")
    done = launch(
        (flavour, program), ranks, *(("500", "0.3") if samples.seed() is not None else ("10000", "60")), **env
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = read(done.stdout)
    assert len(found) == PROGRAMS[ranks]
    assert {name: counts for name, counts in found.items() if counts[0] > 0} == {}
