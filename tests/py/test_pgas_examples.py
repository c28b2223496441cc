"""The programs of the guide in examples/pgas run, check themselves, and compute what their versions with MPI do."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from library import ROOT, compile_c
from mpi_programs import MPIS, installed
from test_library_nodes import launch

EXAMPLES = ROOT / "examples/pgas"
NUMBER = r"[0-9.]+"
#: By name: words for a small run, and what it says; {n} ranks.
PROGRAMS = {
    "hello": ("", r"(rank \d+: hello from rank \d+ of {n}\n){{{n}}}"),
    "pi": ("5000", r"pi on {n} ranks: 3\.1415\d+, right\n"),
    "ring": ("30", rf"30 rounds of {{n}} ranks: \d+, right, {NUMBER} s\n"),
    "stencil": ("40 7", rf"40 x 40, 7 iterations on {{n}} ranks: norm 14\.000000, right, bits \w+, {NUMBER} s\n"),
    "transpose": ("61", rf"61 x 61 on {{n}} ranks: 0 elements are wrong, bits \w+, {NUMBER} s\n"),
    "gups": ("10 3000", rf"1024 words on {{n}} ranks: 0 wrong, bits \w+, {NUMBER} s, {NUMBER} GUPS\n"),
    "spmv": ("301 5", rf"301 rows on {{n}} ranks, 5 times: right, bits \w+, {NUMBER} s\n"),
    "sample_sort": ("3000", r"\d+ keys on {n} ranks: sorted, at most \d+ on one\n"),
    "hash_table": ("700", r"700 words of each of {n} ranks: all are counted\n"),
    "synch_p2p": ("31 20 3", rf"31 x 20, 3 iterations on {{n}} ranks: right, bits \w+, {NUMBER} s\n"),
    "work_queue": ("", r"sum of 1000 squares: 332833500\n"),
}
COMPARED = ["gups", "spmv", "stencil", "synch_p2p", "transpose"]
Build = Callable[[str, str | None], Path]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """A program of examples/pgas by name, without MPI or over that of a flavour."""
    folder = tmp_path_factory.mktemp("examples")

    def make(name: str, flavour: str | None) -> Path:
        program = folder / f"{name}-{flavour}"
        if program.exists():
            return program
        source = next(EXAMPLES / f"{name}{end}" for end in (".cpp", ".c") if (EXAMPLES / f"{name}{end}").exists())
        is_c = source.suffix == ".c"
        compiler = "cc" if is_c else "c++"
        words = ["-std=c99" if is_c else "-std=c++20"]
        if flavour is not None:
            tool = "mpicc" if is_c else "mpicxx"
            compiler = installed(flavour).tool(tool) or pytest.skip(f"{flavour} has no {tool}")
            words += ["-DWITH_MPI", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]
        return compile_c(source, program, compiler, *words)

    return make


def bits(said: str) -> str:
    return re.search(r"bits (\w+)", said)[1]  # type: ignore[index]


def run(program: Path, ranks: int, words: str) -> str:
    command = [sys.executable, "-m", "isthmus", "run", "-n", str(ranks), "--", program, *words.split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return done.stdout


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_the_guide_runs(build: Build, name: str) -> None:
    words, says = PROGRAMS[name]
    program = build(name, None)
    found = {ranks: run(program, ranks, words) for ranks in (1, 2, 3, 5)}
    for ranks, said in found.items():
        assert re.fullmatch(says.format(n=ranks), said), said
    if name in COMPARED and name != "gups":  # what is computed does not depend on who computes it
        assert len({bits(said) for said in found.values()}) == 1


@pytest.mark.sampled(3, always=["transpose"])
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "work_queue"])
def test_a_program_of_the_guide_over_mpi(build: Build, name: str) -> None:
    """Over shared memory and messages of MPI."""
    words, says = PROGRAMS[name]
    flavour = MPIS[0]
    done = launch((flavour, build(name, flavour)), 3, *words.split(), ISTHMUS_RANKS_PER_NODE="2")
    assert done.returncode == 0, done.stderr[-2000:]
    assert re.fullmatch(says.format(n=3), done.stdout), done.stdout


@pytest.mark.parametrize("name", COMPARED)
def test_the_version_with_mpi_computes_the_same_bits(build: Build, name: str) -> None:
    flavour, words = MPIS[0], PROGRAMS[name][0]
    done = launch((flavour, build(f"{name}_mpi", flavour)), 3, *words.split())
    assert done.returncode == 0, done.stderr[-2000:]
    assert bits(done.stdout) == bits(run(build(name, None), 3, words))


def test_the_guide_shows_all_programs() -> None:
    text = (ROOT / "docs/howto/pgas-programs.md").read_text()
    shown = re.findall(r"\{literalinclude\} \.\./\.\./examples/pgas/(\w+)\.\w+", text)
    assert sorted(shown) == sorted([*PROGRAMS.keys() - {"synch_p2p"}, "example"])
