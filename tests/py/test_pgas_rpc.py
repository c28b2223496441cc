"""Remote procedure calls between processes: of a node, and of several."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from library import HERE, compile_c, flags, in_processes, new_job
from mpi_programs import MPIS, installed
from test_library_nodes import launch

#: By name: the environment.
WAYS = {"shm": {}, "mpi": {"ISTHMUS_TRANSPORT": "mpi"}, "nodes of 2": {"ISTHMUS_RANKS_PER_NODE": "2"}}


def ranks_of(program: Path, ranks: int, *words: str, **env: str) -> list[tuple[int, str, str]]:
    job = {"ISTHMUS_JOB": new_job(), "ISTHMUS_RANK": "{rank}", "ISTHMUS_RANKS": str(ranks)}
    return in_processes([[program, *words]] * ranks, job | env)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_c(HERE / "pgas_rpc.cpp", tmp_path_factory.mktemp("rpc") / "rpc", "c++", "-std=c++20")


@pytest.mark.parametrize("progress", ["none", "thread"])
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_calls_between_processes(program: Path, ranks: int, progress: str) -> None:
    said = ranks_of(program, ranks, str(ranks), ISTHMUS_PROGRESS=progress)
    assert said == [(0, "all done\n", "")] + [(0, "", "")] * (ranks - 1)


def test_a_job_without_mpi_and_functions_at_different_places(program: Path) -> None:
    command = [sys.executable, "-m", "isthmus", "run", "-n", "4", "--", program]
    done = subprocess.run([*command, "9"], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "all done\n", "")
    # The kernel puts the program somewhere else each time; where it does not, there is nothing to see.
    if Path("/proc/sys/kernel/randomize_va_space").read_text().strip() == "2":
        assert ranks_of(program, 2, "where")[0] == (0, "elsewhere\n", "")


def test_a_rank_that_dies_is_an_error_of_whoever_waits_for_its_answer(program: Path) -> None:
    said = ranks_of(program, 3, "dies")
    assert said[1][0] == -9
    for rank in (0, 2):
        assert said[rank][0] == 1
        assert re.fullmatch(r"isthmus_\w+: rank 1 died \(process \d+\)\n", said[rank][2]), said[rank]


def test_another_program_is_refused(program: Path, tmp_path: Path) -> None:
    source = tmp_path / "other.cpp"
    source.write_text(
        "#include <isthmus/rpc.hpp>\n#include <cstdio>\n"
        "int main() {\n  isthmus::pgas::world world;\n  try {\n    isthmus::pgas::remote_calls on(world);\n"
        '  } catch (const std::exception& error) {\n    std::fprintf(stderr, "%s\\n", error.what());\n  }\n}\n'
    )
    other = compile_c(source, tmp_path / "other", "c++", "-std=c++20")
    env = {"ISTHMUS_JOB": new_job(), "ISTHMUS_RANK": "{rank}", "ISTHMUS_RANKS": "2"}
    said = in_processes([[program, "1"], [other]], env)
    words = "remote_calls: ranks have to run the same program: "
    words += r"isthmus_\w+: ranks gave different numbers for the same barrier: rank \d -?\d+, rank \d -?\d+\n"
    assert [(status, out) for status, out, _ in said] == [(1, ""), (0, "")]
    assert all(re.fullmatch(words, errors) for _, _, errors in said), said


@pytest.mark.sampled(1)
@pytest.mark.parametrize("flavour", MPIS)
def test_over_mpi(tmp_path: Path, flavour: str) -> None:
    compiler = installed(flavour).tool("mpicxx")
    if compiler is None:
        pytest.skip(f"{flavour} has no compiler for C++")
    words = ("-DPGAS_RPC_MPI", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX")
    built = compile_c(HERE / "pgas_rpc.cpp", tmp_path / "rpc", compiler, "-std=c++20", *words)
    for ranks, way in ((1, "mpi"), (2, "mpi"), (3, "nodes of 2"), (4, "shm")):
        done = launch((flavour, built), ranks, str(ranks), **WAYS[way])
        assert (done.returncode, done.stdout) == (0, "all done\n"), (way, done.stderr[-2000:])


REFUSED = {
    "a pointer": "static double x; on.rpc(0, [](double* p) { return *p; }, &x);",
    "a view": 'on.rpc(0, [](std::string_view s) { return s.size(); }, std::string_view("a"));',
    "a place in an array": "isthmus::pgas::shared_array<int> a(world, 1); on.rpc(0, [](auto) {}, &a[0]);",
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_means_nothing_elsewhere_does_not_compile(tmp_path: Path, what: str) -> None:
    source = tmp_path / "refused.cpp"
    source.write_text(
        "#include <isthmus/rpc.hpp>\n"
        "int main() {\n  isthmus::pgas::world world;\n  isthmus::pgas::remote_calls on(world);\n"
        f"  {REFUSED[what]}\n}}\n"
    )
    command = ["c++", "-std=c++20", "-fsyntax-only", source, *flags()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "values of this type mean nothing on another rank" in done.stderr
