"""The programs of examples/overlap compute what is right in all their ways, on any number of ranks and tilings."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import isthmus
from isthmus.cli import main
from isthmus.schedule.program import CollectiveKind, EventKind
from isthmus.skeletons import skeleton
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
#: Programs with their options and numbers of ranks, the skeletons that are like them, and collectives to compare.
SKELETONS = {
    "fft3d --points=16 --tile=2 --window=2": ("fft:ranks=4,points=16,pencils=0,tiles=8,window=2,steps=1", "alltoall"),
    "fft3d --points=16 --pencils=1 --tile=4 --window=1": (
        "fft:ranks=4,points=16,pencils=1,tiles=2,window=1,steps=1",
        "alltoall",
    ),
    "compress --blocks=6 --kilobytes=8 --tile=2 --window=2": (
        "compress:ranks=3,blocks=6,tiles=3,window=2,tests=0",
        "gather",
    ),
    "osem --points=8 --lines=300 --subsets=3 --tile=2 --window=3": (
        "osem:ranks=3,points=8,subsets=3,tiles=4,window=3",
        "allreduce",
    ),
    "summa --points=48 --panel=4 --tile=2 --window=2": ("summa:ranks=4,points=48,panel=4,tiles=6,window=2", "bcast"),
    "cholesky --points=50 --panel=10": ("cholesky:ranks=3,points=50,panel=10", "bcast"),
    "stencil --points=9 --steps=5": ("heat:ranks=4,points=9,steps=5", "neighbor_alltoall"),
    "poisson --points=9 --iterations=7": ("poisson:ranks=6,points=9,steps=7", "neighbor_alltoall"),
    "poisson --points=9 --iterations=7 --pipelined=0 --extents=2": (
        "poisson:ranks=6,points=9,extents=2,pipelined=0,steps=7",
        "neighbor_alltoall",
    ),
}
SCALAPACK = "scalapack is a way of summa and cholesky, and only where it is installed\n"
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


@pytest.mark.parametrize("mpi", MPIS)
def test_persistent_collectives_that_end_in_a_test(tmp_path: Path, mpi: str) -> None:
    """MPI_Testall of MPICH 4.0 fails on persistent collectives, which pipelines therefore do not call."""
    compiler = installed(mpi).tool("mpicxx") or pytest.skip(f"{mpi} has no mpicxx")
    words = ["make", "-s", "-C", str(EXAMPLES), f"MPICXX={compiler}", f"OUT={tmp_path}", f"ISTHMUS={INSTALLED}"]
    subprocess.run([*words, "PROGRAMS=stencil", "CXXFLAGS=-O1"], check=True)
    command = [*launcher(mpi, 2), str(tmp_path / "stencil"), *RUNS["stencil"].split(), "--ways=none,mpi:9,ours:9"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=dict(os.environ))
    expect_right(done, "stencil", 3, 2)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_scalapack_beside_ours(build: Build, ranks: int) -> None:
    """Of the programs that have it as a way; the others, and all where it is not installed, say so."""
    done = run(build("stencil"), 1, "--ways=scalapack")
    assert done.returncode == 2
    assert done.stderr.startswith(SCALAPACK)
    for name in ("summa", "cholesky"):
        done = run(build(name), ranks, *RUNS[name].split(), "--ways=none,scalapack,ours", "--runs=2")
        if done.stderr.startswith(SCALAPACK):
            pytest.skip("ScaLAPACK is not installed")
        expect_right(done, name, 3, ranks)


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


def calls(program: isthmus.Program, rank: int, kind: str) -> list[tuple[tuple[int, ...], int]]:
    """Nonblocking calls of a collective on a rank: bytes or counts, and how many others were under way."""
    under_way: set[int] = set()
    out = []
    for at in range(int(program.first[rank]), int(program.first[rank + 1])):
        event, request = EventKind(program.kind[at]), int(program.request[at])
        where = int(program.detail[at])
        listed = tuple(program.details[where + 1 : where + 1 + int(program.details[where])].tolist()) if where else ()
        if event == EventKind.wait:
            under_way.discard(request)
        elif event == EventKind.waitall:
            under_way = under_way - set(listed) if listed else set()
        elif event == EventKind.collective and request and CollectiveKind(program.what[at]).name == kind:
            if kind == "neighbor_alltoall":  # in any order
                listed = tuple(sorted(zip(listed[::3], listed[1::3], listed[2::3], strict=True)))
            out.append((listed or (int(program.amount[at]),), len(under_way)))
            under_way.add(request)
    return out


@pytest.mark.sampled(4, always=["compress --blocks=6 --kilobytes=8 --tile=2 --window=2"])
@pytest.mark.parametrize("words", SKELETONS)
def test_skeletons_make_the_calls_of_the_programs(build: Build, tmp_path: Path, words: str) -> None:
    """The same nonblocking collectives in the same order on every rank, with as many under way at each."""
    text, kind = SKELETONS[words]
    built = skeleton(text)
    name, *options = words.split()
    launch = [*launcher(MPIS[0], built.ranks), str(build(name)), *options, "--runs=1", "--warm=0", "--ways=mpi:0"]
    command = [sys.executable, "-m", "isthmus", "record", "-o", "x.h5", "--", *launch]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False, timeout=120)
    # Iterations that are stopped before the solution is there are an error to the program.
    assert done.returncode == 0 or name == "poisson", done.stderr
    recorded = isthmus.read(tmp_path / "x.h5")
    assert isinstance(recorded, isthmus.Program)
    for rank in range(built.ranks):
        ours, theirs = calls(built, rank, kind), calls(recorded, rank, kind)
        if kind == "gather":  # how long blocks become is the skeleton's own
            ours, theirs = ([(len(counts), under) for counts, under in one] for one in (ours, theirs))
        if "pipelined" not in text and name == "poisson":
            # The program begins with a product, and finds out at the next one that it has ended.
            theirs = theirs[1:-1]
        assert len(theirs) > 0
        assert ours == theirs


def test_the_simulations_of_the_guide_print_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs/howto/overlap.md").read_text()
    found = re.findall(r"^\$ isthmus (simulate .*) \| head -1\n(.*)$", text, re.MULTILINE)
    assert len(found) == 2
    for words, said in found:
        main(shlex.split(words))
        assert capsys.readouterr().out.splitlines()[0] == said
