"""Decisions that libisthmus makes while a program runs: the same on all ranks, and kept for the next run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from isthmus.collectives import algorithms
from isthmus.tuning.choice import LIBRARY
from isthmus.tuning.table import DecisionTable
from library import HERE, compile_c, in_processes, new_job

KINDS = {4: "allreduce", 2: "bcast", 6: "allgather"}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_c(HERE / "library_online.c", tmp_path_factory.mktemp("online") / "online")


def ran(program: Path, ranks: int, file: Path, what: str, status: int = 0) -> list[list[str]]:
    """What each rank printed."""
    job = new_job()
    said = in_processes([[program, job, str(rank), str(ranks), file, what] for rank in range(ranks)])
    assert [(code, errors) for code, _, errors in said] == [(status, "")] * ranks, said
    return [out.splitlines() for _, out, _ in said]


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_calls_are_tuned_once_and_kept(program: Path, tmp_path: Path, ranks: int) -> None:
    file = tmp_path / "online.txt"
    first, *others = ran(program, ranks, file, "run")
    said = [line for line in first if line.startswith("said: ")]
    chosen = [line for line in first if not line.startswith("said: ")]
    assert len(said) == len(chosen) == 9
    assert all(
        re.fullmatch(rf"said: online: \w+ of \d+ elements on {ranks} ranks by .* in .* us; .* ms", s) for s in said
    )
    assert others == [chosen] * (ranks - 1)
    table = DecisionTable.load(file)
    assert table.provenance.source == "online"
    for line in chosen:
        kind, count, algorithm = line.split()
        name = KINDS[int(kind)]
        size = 8 * int(count)
        point = next(
            p for p in table.row(name, ranks).points if p.bytes <= size < 2 * p.bytes and p.seconds is not None
        )
        assert str(point.choice) == algorithm == str(table.lookup(name, ranks, size))
        low, high = point.interval or (0, 0)
        assert 0 < low <= point.seconds <= high
        assert point.choice.name in algorithms(name)
    before = file.read_bytes()
    assert ran(program, ranks, file, "run") == [chosen] * ranks
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["online.txt"]


@pytest.mark.parametrize("what", ["latency", "throughput", "exposed", "slow", "broken", "quick"])
def test_objectives_and_the_other_library(program: Path, tmp_path: Path, what: str) -> None:
    first, second = ran(program, 2, tmp_path / "t.txt", what)
    assert first[1:] == second
    (choice,) = second
    if what == "quick":
        assert choice == LIBRARY.name
        assert DecisionTable.load(tmp_path / "t.txt").lookup("allreduce", 2, 800) == LIBRARY
    else:
        assert choice in algorithms("allreduce")


def test_what_cannot_be_tuned_or_kept(program: Path, tmp_path: Path) -> None:
    assert ran(program, 1, tmp_path / "t.txt", "no-work", 1) == [["work is NULL: must be given for ISTHMUS_EXPOSED"]]
    (tmp_path / "t.txt").write_text("isthmus decisions 3\n")
    known = "'isthmus decisions 1' and 'isthmus decisions 2'"
    words = f"{tmp_path}/t.txt:1: is 'isthmus decisions 3': this library reads {known}"
    assert ran(program, 2, tmp_path / "t.txt", "latency", 1) == [[words]] * 2
