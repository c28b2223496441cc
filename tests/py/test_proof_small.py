"""A small part of tests/proof: recordings of examples have the matrices that Open MPI's monitoring counted."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import matrices
import mpi4py_suite
from cases import EXAMPLES, Case

CASES = {case.name: case for case in EXAMPLES}


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    missing = [tool for tool in ("mpicc.openmpi", "mpifort.openmpi", "mpirun.openmpi") if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not found")
    if not Path("/usr/include/fftw3.h").exists():
        pytest.skip("FFTW is not installed")
    return matrices.build_examples(tmp_path_factory.mktemp("examples"))


@pytest.mark.parametrize("name", ["cg", "master_worker", "ring", "heat"])
def test_matrices_equal_those_of_open_mpi(name: str, examples: Path, tmp_path: Path) -> None:
    result = matrices.prove(CASES[name], examples, tmp_path / "run")
    assert result.messages > 0
    assert result.differences == ()


def test_persistent_requests_have_the_known_matrix(examples: Path, tmp_path: Path) -> None:
    """Open MPI does not count them; 2 x 2 ranks with half a side of the square each can be counted by hand."""
    import isthmus
    import recorded

    points, iterations = 20, 12
    case = Case("halo2d", "C", (str(examples / "halo2d"), str(points), str(iterations)))
    assert matrices.prove(case, examples, tmp_path / "run").persistent == 8 * iterations
    neighbours = np.array([[0, 1, 1, 0], [1, 0, 0, 1], [1, 0, 0, 1], [0, 1, 1, 0]])
    expected = neighbours * iterations * np.array([points // 2 * 8, 1])[:, None, None]
    found = recorded.of_program(isthmus.read(tmp_path / "run/app.h5"))["E"]
    np.testing.assert_array_equal(found, expected)


def test_a_single_difference_is_noticed() -> None:
    def some() -> dict[str, np.ndarray]:
        return {letter: np.ones((2, 3, 3), np.int64) for letter in "ESRwp"}

    assert matrices.compare(some(), some(), some()).differences == ()
    for which in range(3):
        for letter in "E" if which == 2 else "ESR":
            for row in range(2):
                parts = [some(), some(), some()]
                parts[which][letter][row, 2, 1] += 1
                assert "from 2 to 1" in matrices.compare(*parts).differences[0]
    parts = [some(), some(), some()]
    parts[1]["w"][0, 0, 1] += 1
    assert "messages from 0 to 1" in matrices.compare(*parts).differences[0]


def test_outcomes_of_a_suite_are_read() -> None:
    text = "testA (m.C.testA) ... ok\ntestB (m.C.testB) ... noise of MPI\nFAIL\ntestC (m.C.testC) ... skipped 'why'\n"
    assert mpi4py_suite.outcomes(text + "testD (m.C.testD) ... ") == {
        "testA (m.C.testA)": "ok",
        "testB (m.C.testB)": "FAIL",
        "testC (m.C.testC)": "skipped",
        "testD (m.C.testD)": "did not end",
    }
