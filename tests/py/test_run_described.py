"""What the library carries out is what is proved and simulated: it tells its schedules, which are those of the
generators."""

from __future__ import annotations

from pathlib import Path

import pytest

import isthmus
from isthmus.errors import ParseError
from isthmus.running.parts import read_parts
from isthmus.schedule.program import CollectiveKind
from test_library import compile_c, in_processes, new_job

HERE = Path(__file__).parent
#: Collective, algorithm, root, and whether bytes are those of the vector.
CASES = [
    ("barrier", "dissemination", 0),
    ("bcast", "binomial", 2),
    ("bcast", "chain", 0),
    ("reduce", "binomial", 1),
    ("allreduce", "ring", 0),
    ("allreduce", "recursive_doubling", 0),
    ("allreduce", "rabenseifner", 0),
    ("allgather", "bruck", 0),
    ("gather", "binomial", 0),
    ("scatter", "binomial", 1),
    ("alltoall", "bruck", 0),
    ("alltoall", "pairwise", 0),
    ("reduce_scatter", "ring", 0),
    ("scan", "recursive_doubling", 0),
]


@pytest.fixture(scope="module")
def describe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_c(HERE / "library_describe.c", tmp_path_factory.mktemp("describe") / "describe")


def described(
    program: Path, folder: Path, kind: str, algorithm: str, ranks: int, elements: int, root: int
) -> list[bytes]:
    """The parts that the ranks of a running library tell."""
    job = new_job()
    of_call = [str(int(CollectiveKind[kind])), str(elements), str(root), algorithm]
    said = in_processes([[program, job, str(r), str(ranks), *of_call, folder / str(r)] for r in range(ranks)])
    assert said == [(0, "", "")] * ranks
    return [(folder / str(r)).read_bytes() for r in range(ranks)]


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("kind", "algorithm", "root"), CASES)
@pytest.mark.parametrize("ranks", [3, 4, 6])
def test_the_schedule_of_a_running_library(
    kind: str, algorithm: str, root: int, ranks: int, describe: Path, tmp_path: Path
) -> None:
    elements = 0 if kind == "barrier" else 24
    schedule = read_parts(described(describe, tmp_path, kind, algorithm, ranks, elements, root))
    rooted = {"root": root} if kind in ("bcast", "reduce", "gather", "scatter") else {}
    # All pieces are whole elements here, so that what is written for bytes is the same.
    written = isthmus.collective(kind, ranks=ranks, bytes=8 * elements, algorithm=algorithm, buffers=True,
                                 in_place=False, **rooted)  # fmt: skip
    assert [str(schedule.rank(r)) for r in range(ranks)] == [str(written.rank(r)) for r in range(ranks)]
    words = "".join(f",{key}={value}" for key, value in rooted.items())
    assert isthmus.prove(schedule, as_=f"{kind}:ranks={ranks},bytes={8 * elements},in_place=no{words}")
    machine = isthmus.load("torus:4x4")
    assert (isthmus.simulate(schedule, machine).finish_ps == isthmus.simulate(written, machine).finish_ps).all()


def test_as_goal(describe: Path, tmp_path: Path) -> None:
    schedule = read_parts(described(describe, tmp_path, "alltoall", "pairwise", 4, 100, 0))
    schedule.save(tmp_path / "told.goal", seconds_per_byte=1e-10)
    isthmus.collective("alltoall", ranks=4, bytes=800, algorithm="pairwise", buffers=True, in_place=False).save(
        tmp_path / "written.goal", seconds_per_byte=1e-10
    )
    assert (tmp_path / "told.goal").read_text() == (tmp_path / "written.goal").read_text()
    told = isthmus.read(tmp_path / "told.goal")
    assert isinstance(told, isthmus.Schedule)
    told.validate()


def test_parts_that_are_damaged(describe: Path, tmp_path: Path) -> None:
    parts = described(describe, tmp_path, "bcast", "binomial", 3, 24, 0)
    for wrong, words in (
        ([parts[0], parts[1]], "must be those of one schedule"),
        ([parts[0], parts[1], parts[1]], "must be those of one schedule"),
        ([parts[0], parts[1], parts[2][:-1]], "part 2: it has .* ends before its"),
        ([parts[0], parts[1], parts[2][:20]], "part 2: it has 20 bytes: its header alone has 40"),
        ([parts[0], b"x" * 100, parts[2]], "part 1: it is no part of a schedule in version 1"),
        ([parts[0], parts[1], parts[2][:-1] + b"\xff"], "part 2: it is damaged: its checksum is wrong"),
    ):
        with pytest.raises(ParseError, match=words):
            read_parts(wrong)
