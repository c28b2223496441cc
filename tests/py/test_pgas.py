"""The partitioned global address space of libisthmus between processes of a node."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from library import HERE, compile_c, in_processes, new_job


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_c(HERE / "pgas_calls.c", tmp_path_factory.mktemp("pgas") / "calls")


def left_behind() -> set[Path]:
    return set(Path("/dev/shm").glob("isthmus-space-*"))


@pytest.mark.parametrize("progress", ["none", "thread", "timer"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_calls_of_the_interface(calls: Path, ranks: int, progress: str) -> None:
    """Also where another thread handles messages between the calls of the program."""
    job, before = new_job(), left_behind()
    said = in_processes([[calls, job, str(rank), str(ranks)] for rank in range(ranks)], {"ISTHMUS_PROGRESS": progress})
    assert said == [(0, "", "")] * ranks
    assert left_behind() <= before


@pytest.mark.parametrize("progress", ["thread", "timer"])
def test_a_thread_handles_messages_while_the_program_calls(calls: Path, progress: str) -> None:
    job = new_job()
    said = in_processes([[calls, job, str(rank), "2", "beside"] for rank in range(2)], {"ISTHMUS_PROGRESS": progress})
    assert said == [(0, "", "")] * 2


@pytest.mark.parametrize("mode", ["dies", "dies-locked", "dies-strict", "dies-event"])
def test_a_rank_that_dies_is_an_error_of_whoever_waits(calls: Path, mode: str) -> None:
    job = new_job()
    said = in_processes([[calls, job, str(rank), "3", mode] for rank in range(3)])
    assert said[1][0] == -6
    for rank in (0, 2):
        assert re.fullmatch(r"-4 isthmus_\w+: rank 1 died \(process \d+\)\n", said[rank][1]), said[rank]


def test_ranks_that_want_different_memory_are_told_so(calls: Path) -> None:
    job = new_job()
    said = in_processes([[calls, job, str(rank), "3", "differs"] for rank in range(3)])
    words = "-1 isthmus_space_options: those of rank 1 are not those of rank 0\n"
    assert said == [(0, words, "")] * 3


def test_the_header_is_cpp_too(tmp_path: Path) -> None:
    source = tmp_path / "header.cpp"
    source.write_text(
        "#include <isthmus/isthmus_pgas.h>\n"
        "int main() { return isthmus_put_elsewhere(nullptr, 0, 0, nullptr, 0) - ISTHMUS_INVALID; }\n"
    )
    program = compile_c(source, tmp_path / "header", "c++", "-std=c++11")
    assert in_processes([[program]]) == [(0, "", "")]
