"""The programs of examples/ build with the MPI libraries that are there, are right, and notice when they are not."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
# Arguments that take little time, also where the ranks wait for each other by spinning.
ARGUMENTS = {
    "halo2d": "40 30",
    "halo3d": "12 10",
    "fft3d": "12 2",
    "cg": "16 200",
    "master_worker": "3000 100",
    "ring": "61 2",
    "heat": "40 30",
}
LIBRARIES = ("openmpi", "mpich")


@pytest.fixture(scope="module", params=LIBRARIES)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Name of an MPI library and the folder of the examples built with it."""
    library = request.param
    tools = [f"{tool}.{library}" for tool in ("mpicc", "mpifort", "mpirun")]
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not found")
    if not Path("/usr/include/fftw3.h").exists():
        pytest.skip("FFTW is not installed")
    folder = tmp_path_factory.mktemp(library)
    done = subprocess.run(
        ["make", "-s", "-C", EXAMPLES, f"MPICC={tools[0]}", f"MPIFC={tools[1]}", f"OUT={folder}", "CFLAGS=-O1 -Werror"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return library, folder


def alone(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command, without a launcher."""
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


def run(library: str, ranks: int, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command on this many ranks."""
    oversubscribe = ["--oversubscribe"] if library == "openmpi" else []
    return alone(f"mpirun.{library}", *oversubscribe, "-n", str(ranks), *command)


@pytest.mark.sampled(12, always=["openmpi-halo3d-4", "mpich-cg-4", "openmpi-ring-1", "mpich-master_worker-2"])
@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("name", ARGUMENTS)
def test_is_correct(built: tuple[str, Path], name: str, ranks: int) -> None:
    library, folder = built
    done = run(library, ranks, folder / name, *ARGUMENTS[name].split())
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^correct: .*, error .*, \d+\.\d+ s$", done.stdout, re.MULTILINE), done.stdout


@pytest.mark.parametrize("ranks", [1, 3])
def test_mpi4py(ranks: int) -> None:
    python = "/usr/bin/python3"
    if subprocess.run([python, "-c", "import mpi4py"], capture_output=True).returncode:
        pytest.skip("mpi4py is not installed for the system's Python")
    library = "openmpi"
    if shutil.which(f"mpirun.{library}") is None:
        pytest.skip("Open MPI is not installed")
    done = run(library, ranks, python, EXAMPLES / "pi.py", "1000", "2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("correct: 3.14159")


def test_wrong_results_and_arguments_are_noticed(built: tuple[str, Path]) -> None:
    library, folder = built
    done = run(library, 2, folder / "cg", "64", "3")
    assert done.returncode == 1
    assert "wrong: 64 x 64 points on 2 ranks, 3 iterations and not converged" in done.stderr
    assert "correct" not in done.stdout
    for name in ARGUMENTS:
        assert alone(folder / name, "nonsense").returncode == 2
        helped = alone(folder / name, "--help")
        assert helped.returncode == 0
        assert "usage:" in helped.stdout
    refused = run(library, 2, folder / "fft3d", "3")
    assert refused.returncode == 2
    assert "must be a multiple" in refused.stderr


def test_examples_are_short_and_listed() -> None:
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for path in EXAMPLES.iterdir():
        if path.suffix in (".c", ".f90", ".py", ".h"):
            assert len(path.read_text(encoding="utf-8").splitlines()) < 200, path.name
            assert f"`{path.name}`" in listed or path.suffix == ".h", path.name
