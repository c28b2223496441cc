"""The programs of examples/overlap compute what is right in all their ways, on any number of ranks and tilings."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from library import INSTALLED, ROOT, compile_c
from mpi_programs import MPIS, installed, launcher

EXAMPLES = ROOT / "examples/overlap"
#: Small runs by name, with numbers of ranks.
RUNS = {
    "fft3d": "--points=24",
    "fft3d-pencils": "--points=24 --pencils=1",
    "compress": "--blocks=6 --kilobytes=8",
    "poisson": "--points=9",
    "poisson-plain": "--points=9 --pipelined=0 --extents=2",
    "stencil": "--points=9 --steps=5",
    "osem": "--points=8 --lines=300",
    "summa": "--points=48 --panel=4",
    "cholesky": "--points=48 --panel=4",
}
NUMBER = r"[0-9.e+-]+"
Build = Callable[[str], Path]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """A program by name; skips the test where its library is not installed."""
    folder = tmp_path_factory.mktemp("overlap")
    compiler = installed(MPIS[0]).tool("mpicxx") or pytest.skip(f"{MPIS[0]} has no mpicxx")

    def make(name: str) -> Path:
        words = ["make", "-s", "-C", str(EXAMPLES), f"MPICXX={compiler}", f"OUT={folder}", f"ISTHMUS={INSTALLED}"]
        said = subprocess.run(
            [*words, f"PROGRAMS={name}", "CXXFLAGS=-O1 -Werror"], capture_output=True, text=True, check=False
        )
        assert said.returncode == 0, said.stderr
        if "is left out" in said.stdout:
            pytest.skip(said.stdout.strip())
        return folder / name

    return make


def run(program: Path, ranks: int, *words: str) -> subprocess.CompletedProcess[str]:
    command = [*launcher(MPIS[0], ranks), str(program), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=dict(os.environ))


def expect_right(done: subprocess.CompletedProcess[str], name: str, ways: int, ranks: int) -> None:
    """All ways are; the computation without its exchanges is not, which shows that the check sees it."""
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert len(lines) == ways, done.stdout
    for line in lines:
        verdict = "not meant to be right" if " none: " in line else "right"
        times = rf"{NUMBER} s \({NUMBER} to {NUMBER}\)"
        found = re.match(rf"{name} [a-z0-9:-]+: {times}, error ({NUMBER}|inf), {verdict}", line)
        assert found, line
        assert " none: " not in line or ranks == 1 or float(found[1]) > 1e-6, line


@pytest.mark.sampled(8, always=["fft3d-pencils-4", "compress-3", "summa-2"])
@pytest.mark.parametrize(("name", "ranks"), [(name, ranks) for name in RUNS for ranks in (1, 2, 3, 4)])
def test_all_ways_are_right(build: Build, name: str, ranks: int) -> None:
    """With the tiling that the loop chooses, run after run, and with one that is given."""
    program = build(name.split("-")[0])
    ways = 4 if name == "osem" else 5
    expect_right(run(program, ranks, *RUNS[name].split(), "--runs=4"), program.name, ways, ranks)
    given = [*RUNS[name].split(), "--runs=1", "--tile=2", "--window=2", "--ways=blocking,mpi:0,ours:0,timer:7"]
    expect_right(run(program, ranks, *given), program.name, 4, ranks)


def test_options_that_are_none_are_refused_in_a_line(build: Build) -> None:
    program = build("fft3d")
    for word, said in {
        "--planes=3": "fft3d: cannot use '--planes=3'; options and their defaults: --ways=none,blocking,mpi,ours",
        "--points=two": "fft3d: cannot use '--points=two'; options",
        "--tile=3": "--tile and --window: give both or none",
        "--ways=magic": "'magic' is no way: none, blocking, mpi, ours, timer, one-sided",
    }.items():
        done = run(program, 1, word)
        assert done.returncode == 2
        assert done.stderr.startswith(said), done.stderr


def test_the_listings_of_the_guide_run(tmp_path: Path) -> None:
    """In C++ over MPI, in C without."""
    compiler = installed(MPIS[0]).tool("mpicxx")
    assert compiler is not None
    words = ["-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]
    program = compile_c(EXAMPLES / "pipeline.cpp", tmp_path / "pipeline", compiler, "-std=c++20", *words)
    said = run(program, 3)
    assert said.returncode == 0, said.stderr
    assert re.fullmatch(r"right, tile \d+, window \d\n", said.stdout)
    program = compile_c(EXAMPLES / "pipeline.c", tmp_path / "pipeline_c", "cc", "-std=c11")
    command = [sys.executable, "-m", "isthmus", "run", "-n", "3", "--", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"right, tile \d+, window \d\n", done.stdout)


def test_the_guide_shows_all_programs() -> None:
    text = (ROOT / "docs/howto/overlap.md").read_text()
    listed = set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
    assert listed == {name.split("-")[0] for name in RUNS}
    assert set(re.findall(r"literalinclude} \.\./\.\./examples/overlap/(\S+)", text)) == {"pipeline.cpp", "pipeline.c"}
