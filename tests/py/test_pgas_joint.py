"""Collectives on the memory of a space between processes, on one node and over MPI, with random delays."""

from __future__ import annotations

from pathlib import Path

import pytest

from library import HERE, compile_c, in_processes, new_job
from test_library_nodes import launch
from test_pgas_nodes import WAYS

#: Ranks and way.
MATRIX = [(ranks, way) for ranks in (2, 3, 5, 8) for way in WAYS if way != "one node"]


@pytest.fixture(scope="module")
def of_one_node(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_c(HERE / "pgas_joint.c", tmp_path_factory.mktemp("joint") / "joint")


@pytest.fixture(scope="module", params=["openmpi", "mpich"])
def over_mpi(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    source = tmp_path_factory.mktemp("joint") / "joint.c"
    source.write_text("#define OVER_MPI\n" + (HERE / "pgas_joint.c").read_text())
    return request.param, compile_c(source, source.with_suffix(""), f"mpicc.{request.param}", "-std=c11")


@pytest.mark.sampled(3, always=["2", "5"])
@pytest.mark.parametrize("ranks", range(1, 17))
def test_all_collectives_in_all_modes(of_one_node: Path, ranks: int) -> None:
    env = {"ISTHMUS_JOB": new_job(), "ISTHMUS_RANK": "{rank}", "ISTHMUS_RANKS": str(ranks)}
    said = in_processes([[of_one_node, str(ranks), "20" if ranks < 6 else "5"]] * ranks, env)
    assert said == [(0, "all done\n" if rank == 0 else "", "") for rank in range(ranks)]


@pytest.mark.sampled(1, always=["check"])
@pytest.mark.parametrize("mode", ["check", "thread", "timer"])
def test_another_thread_and_the_checking_mode_change_nothing(of_one_node: Path, mode: str) -> None:
    env = {"ISTHMUS_JOB": new_job(), "ISTHMUS_RANK": "{rank}", "ISTHMUS_RANKS": "3"}
    env |= {"ISTHMUS_CHECK": "1"} if mode == "check" else {"ISTHMUS_PROGRESS": mode}
    said = in_processes([[of_one_node, "7", "10"]] * 3, env)
    assert said == [(0, "all done\n" if rank == 0 else "", "") for rank in range(3)]


@pytest.mark.sampled(3, always=["openmpi-3-mpi", "mpich-5-nodes of 2"])
@pytest.mark.parametrize(("ranks", "way"), MATRIX)
def test_between_nodes(over_mpi: tuple[str, Path], ranks: int, way: str) -> None:
    done = launch(over_mpi, ranks, str(ranks), "8", **WAYS[way][0])
    assert (done.returncode, done.stdout) == (0, "all done\n"), done.stderr[-2000:]
