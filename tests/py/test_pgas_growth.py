"""Memory of spaces that grows while programs run: beyond any reserve, until shared memory ends, within given limits."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from library import HERE, compile_c
from test_library_nodes import launch

#: Above the 4 GiB that a space had addresses for at first.
LARGE = (4 << 30) + (64 << 20)


def free_memory() -> int:
    """Bytes of shared memory that may be taken without trouble for others."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    available = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    return min(available, shutil.disk_usage("/dev/shm").free)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_c(HERE / "pgas_growth.c", tmp_path_factory.mktemp("growth") / "alone", "cc", "-std=c11")


@pytest.fixture(scope="module", params=["openmpi", "mpich"])
def with_mpi(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    program = tmp_path_factory.mktemp("growth") / "with_mpi"
    compile_c(HERE / "pgas_growth.c", program, f"mpicc.{request.param}", "-std=c11", "-DWITH_MPI")
    return request.param, program


def run(program: Path, *words: str, within: tuple[str, ...] = (), **env: str) -> subprocess.CompletedProcess[str]:
    command = [*within, sys.executable, "-m", "isthmus", "run", "-n", "2", "--", str(program), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=400, check=False, env={**os.environ, **env})


WAYS = [{}, {"ISTHMUS_TRANSPORT": "mpi"}, {"ISTHMUS_TRANSPORT": "ofi"}, {"ISTHMUS_RANKS_PER_NODE": "2"}]


@pytest.mark.sampled(2, always=["openmpi-way1", "mpich-way2"])
@pytest.mark.parametrize("way", WAYS)
def test_memory_grows_beyond_the_first_reserve(with_mpi: tuple[str, Path], way: dict[str, str]) -> None:
    last = LARGE if free_memory() > 3 * LARGE else 256 << 20
    done = launch(with_mpi, 3, "grow", str(last), **way)
    assert (done.returncode, done.stdout) == (0, f"grown to {last} bytes\n"), done.stderr[-2000:]


def test_memory_grows_without_mpi(alone: Path) -> None:
    last = LARGE if free_memory() > 3 * LARGE else 256 << 20
    done = run(alone, "grow", str(last))
    assert (done.returncode, done.stdout) == (0, f"grown to {last} bytes\n"), done.stderr[-2000:]


def test_a_limit_of_addresses_leaves_a_smaller_space(alone: Path) -> None:
    done = run(alone, "grow", str(32 << 20), within=("prlimit", f"--as={4 << 30}"))
    assert (done.returncode, done.stdout) == (0, f"grown to {32 << 20} bytes\n"), done.stderr[-2000:]


def test_a_space_that_is_asked_for_is_not_made_smaller(alone: Path) -> None:
    within = ("prlimit", f"--as={4 << 30}")
    done = run(alone, "grow", str(32 << 20), within=within, ISTHMUS_SEGMENT=str(8 << 30))
    assert done.returncode != 0
    assert "cannot map shared memory of 171" in done.stderr
    assert "Cannot allocate memory" in done.stderr


WORDS = (
    "{3}: no room for {0} bytes for rank 0: a rank may have {1} bytes of {2} memory, see ISTHMUS_SEGMENT and "
    "isthmus_space_options.{2}"
)


@pytest.mark.parametrize("way", WAYS)
def test_a_limit_that_was_given_is_named(with_mpi: tuple[str, Path], way: dict[str, str]) -> None:
    done = launch(with_mpi, 2, "end", ISTHMUS_SEGMENT=str(32 << 20), **way)
    assert done.returncode == 0, done.stderr[-2000:]
    said = done.stdout.splitlines()
    assert [line.split(" ", 1)[1] for line in said[:2]] == [
        WORDS.format(5 << 20, 32 << 20, kind, call)
        for kind, call in (("symmetric", "isthmus_allocate_all"), ("local", "isthmus_allocate"))
    ]
    assert said[2:] == ["goes on"]


@pytest.mark.parametrize("transport", ["shm", "ofi"])
def test_the_end_of_shared_memory_is_said(alone: Path, transport: str) -> None:
    small = (
        "unshare",
        "--mount",
        "--map-root-user",
        "sh",
        "-c",
        'mount -t tmpfs -o size=96m tmpfs /dev/shm && exec "$@"',
        "sh",
    )
    if subprocess.run([*small, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no mounts here")
    done = run(alone, "end", within=small, ISTHMUS_TRANSPORT=transport)
    assert done.returncode == 0, done.stderr[-2000:]
    said = done.stdout.splitlines()
    assert "no memory of 5242880 bytes for rank " in said[0]
    assert "no memory of 5242880 bytes for rank 0" in said[1]
    assert all("No space left on device (/dev/shm)" in line for line in said[:2])
    assert said[2:] == ["goes on"]
