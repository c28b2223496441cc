"""Samples of long matrices: repeatable, never empty, with their corner cases, and everything without a seed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import samples
from samples import VARIABLE, sampled

MATRIX = """
import pytest
from samples import sampled

@pytest.mark.sampled(5, always=["0-b", "9-a"])
@pytest.mark.parametrize("name", ["a", "b"])
@pytest.mark.parametrize("number", range(10))
def test_matrix(number, name):
    print("ran", number, name)

@pytest.mark.parametrize("number", range(3))
def test_short(number):
    print("short", number)

def test_loop():
    for case in sampled("test_loop", range(1000), 4, always=lambda case: case == 999):
        print("case", case)
"""


def run(folder: Path, seed: str | None, *more: str, matrix: str = MATRIX) -> tuple[int, str]:
    """Runs the tests above as the suite is run, with its hooks."""
    for name in ("conftest.py", "samples.py", "mpi_programs.py"):
        (folder / name).write_text((Path(__file__).parent / name).read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "test_some.py").write_text(matrix, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rP", *more]
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(VARIABLE, raising=False)
        patch.delenv("PYTEST_ADDOPTS", raising=False)
        if seed is not None:
            patch.setenv(VARIABLE, seed)
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def lines(output: str, word: str) -> list[str]:
    return sorted(line for line in output.splitlines() if line.startswith(f"{word} "))


def test_without_a_seed_all_is_run(tmp_path: Path) -> None:
    status, output = run(tmp_path, None)
    assert status == 0, output
    assert [len(lines(output, word)) for word in ("ran", "short", "case")] == [20, 3, 1000]


def test_a_seed_runs_a_sample_that_can_be_repeated(tmp_path: Path) -> None:
    status, output = run(tmp_path, "7")
    assert status == 0, output
    assert f"long matrices: samples of {VARIABLE}=7" in output  # the header
    ran = lines(output, "ran")
    assert len(ran) == 5
    assert {"ran 0 b", "ran 9 a"} <= {*ran}
    assert len(lines(output, "short")) == 3
    looped = lines(output, "case")
    assert len(looped) == 4
    assert "case 999" in looped
    assert f"9 of 1,020 cases of 2 long matrices; {VARIABLE}=7 repeats them" in output
    # The same from two processes, which collect for themselves and leave the terminal to a third.
    pytest.importorskip("xdist")
    status, apart = run(tmp_path, "7", "-n", "2")
    assert status == 0, apart
    assert [lines(apart, word) for word in ("ran", "case")] == [ran, looped]
    assert f"9 of 1,020 cases of 2 long matrices; {VARIABLE}=7 repeats them" in apart


def test_other_seeds_take_others_and_all_are_taken_sometime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "taken", [])
    seen: set[int] = set()
    for seed in range(60):
        monkeypatch.setenv(VARIABLE, str(seed))
        chosen = sampled("numbers", range(20), 3, always=lambda case: case == 0)
        assert len(chosen) == 3
        assert chosen == sorted(chosen)
        assert chosen[0] == 0
        assert chosen == sampled("numbers", range(20), 3, always=lambda case: case == 0)
        seen |= {*chosen}
    assert seen == {*range(20)}
    # Matrices do not take the same places.
    assert len({tuple(sampled(f"matrix {k}", range(100), 3)) for k in range(10)}) > 1


def test_samples_are_never_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "taken", [])
    monkeypatch.setenv(VARIABLE, "1")
    assert len(sampled("one", range(50), 1)) == 1
    assert sampled("corners", range(50), 1, always=lambda case: case >= 47) == [47, 48, 49]
    assert sampled("few", range(2), 5) == [0, 1]
    with pytest.raises(ValueError, match="says nothing"):
        sampled("none", range(50), 0)
    monkeypatch.setenv(VARIABLE, "seven")
    with pytest.raises(ValueError, match="whole number"):
        sampled("bad seed", range(50), 1)


def test_a_case_that_is_named_is_run(tmp_path: Path) -> None:
    status, output = run(tmp_path, "7", *(f"test_some.py::test_matrix[{number}-a]" for number in range(10)))
    assert status == 0, output
    assert lines(output, "ran") == [f"ran {number} a" for number in range(10)]


def test_words_that_choose_tests_choose_among_the_sample(tmp_path: Path) -> None:
    status, output = run(tmp_path, "7", "-k", "0-b or 9-a or 3")
    assert status == 0, output
    assert {"ran 0 b", "ran 9 a"} <= {*lines(output, "ran")}


def test_corner_cases_that_are_gone_are_an_error(tmp_path: Path) -> None:
    status, output = run(tmp_path, "7", matrix=MATRIX.replace('"9-a"', '"10-a"'))
    assert status == 4, output
    assert "has no case '10-a', which is always to be run" in output
