"""The checking mode of libisthmus: calls that do not match are named on all ranks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from test_library import calls, compile_c, in_processes, new_job

__all__ = ["calls"]

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def mismatch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_c(HERE / "library_mismatch.c", tmp_path_factory.mktemp("check") / "mismatch")


PLACE = r"\(mismatch\+0x[0-9a-f]+( in main)?\)"


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (
            "kind",
            "rank 0 calls alltoall of 40 bytes PLACE, rank 2 calls allreduce of 5 elements of i64 with sum PLACE",
        ),
        (
            "count",
            "rank 0 calls allreduce of 5 elements of i64 with sum PLACE, "
            "rank 2 calls allreduce of 6 elements of i64 with sum PLACE",
        ),
        (
            "type",
            "rank 0 calls allreduce of 5 elements of i64 with sum PLACE, "
            "rank 2 calls allreduce of 5 elements of f64 with sum PLACE",
        ),
        (
            "operator",
            "rank 0 calls allreduce of 5 elements of i64 with min PLACE, "
            "rank 2 calls allreduce of 5 elements of i64 with max PLACE",
        ),
        (
            "algorithm",
            "rank 0 calls allreduce of 5 elements of i64 with sum PLACE, "
            "rank 2 calls allreduce of 5 elements of i64 with sum, algorithm given PLACE",
        ),
        ("root", "rank 0 calls bcast of 40 bytes with root 0 PLACE, rank 2 calls bcast of 40 bytes with root 1 PLACE"),
        ("block", "allgather: rank 2 counts 56 bytes for rank 1 PLACE, which counts 24 PLACE"),
        ("amount", "alltoall: rank 2 sends 32 bytes to rank 0 PLACE, which expects 24 PLACE"),
        ("neighbour", "neighbor_alltoall: rank 1 sends 16 bytes to rank 2 PLACE, which expects 0 PLACE"),
    ],
)
def test_calls_that_do_not_match_are_named_on_all_ranks(mismatch: Path, what: str, words: str) -> None:
    job = new_job()
    said = in_processes([[mismatch, job, str(rank), "3", what] for rank in range(3)])
    assert [(status, errors) for status, _, errors in said] == [(0, "")] * 3
    (line,) = {out for _, out, _ in said}
    assert re.fullmatch("call 2 of this team: " + words.replace("PLACE", PLACE) + "\n", line), line


def test_calls_in_another_order(mismatch: Path) -> None:
    job = new_job()
    said = in_processes([[mismatch, job, str(rank), "2", "order"] for rank in range(2)])
    assert [(status, errors) for status, _, errors in said] == [(0, "")] * 2
    (text,) = {out for _, out, _ in said}
    third, second = text.splitlines()
    assert second.startswith("call 2 of this team: rank 0 calls barrier (")
    assert third.startswith("call 3 of this team: rank 0 calls allreduce of 5 elements of i64 with sum (")


def test_other_types_of_the_same_bytes_match(mismatch: Path) -> None:
    job = new_job()
    said = in_processes([[mismatch, job, str(rank), "3", "bytes"] for rank in range(3)])
    assert said == [(0, "", "")] * 3


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_right_calls_pass(calls: Path, ranks: int) -> None:
    job = new_job()
    said = in_processes([[calls, job, str(rank), str(ranks)] for rank in range(ranks)], {"ISTHMUS_CHECK": "1"})
    assert said == [(0, "", "")] * ranks
