"""isthmus run -- COMMAND: neighbour collectives of ranks that have a neighbour twice, as MPI 4.1 says."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpi_programs import compiled
from test_run_program import MPIS, run


@pytest.fixture(scope="module", params=MPIS)
def twice(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    name: str = request.param
    return name, compiled("twice.c", name, tmp_path_factory.mktemp("twice"))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_a_neighbour_twice(twice: tuple[str, Path], ranks: int) -> None:
    """Grids of 1, 2 and 3 dimensions and graphs with edges that repeat: in all forms what the standard says, which is
    also what the blocking calls of Open MPI give (of MPICH 4.0.2 they do not for graphs)."""
    name, program = twice
    beside = ["mpi"] if name == "openmpi" else []
    found, printed = run(name, ranks, program, "12", str(ranks), *beside, options=("--no-compare",))
    assert f"{12 * 5 * 3 * 2 * ranks} calls checked, 0 wrong, 0 wrong by the MPI library" in printed
    assert found["share"] == 1


def test_what_libraries_differ_in_is_not_compared(twice: tuple[str, Path]) -> None:
    """A result may not change from call to call; blocks of allgather are the same whichever comes first."""
    name, program = twice
    found, printed = run(name, 2, program, "60", "1")
    assert ", 0 wrong" in printed
    assert found["share"] == 1
    assert not any(row["left"] for row in found["collectives"] if "alltoall" in row["collective"])


def test_checked(twice: tuple[str, Path]) -> None:
    """The checking mode knows blocks that lie apart."""
    name, program = twice
    _, printed = run(name, 2, program, "4", "5", ISTHMUS_CHECK="1")
    assert ", 0 wrong" in printed
