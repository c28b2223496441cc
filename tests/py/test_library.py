"""libisthmus as it is installed: C programs compiled against it, ranks as processes, with and beside MPI."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from library import HERE, INSTALLED, ROOT, compile_c, in_processes, new_job


def is_left_behind(job: str) -> bool:
    return Path(f"/dev/shm/isthmus-{job}").exists()


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_c(HERE / "library_calls.c", tmp_path_factory.mktemp("library") / "calls")


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_calls_of_the_interface(calls: Path, ranks: int) -> None:
    job = new_job()
    said = in_processes([[calls, job, str(rank), str(ranks)] for rank in range(ranks)])
    assert said == [(0, "", "")] * ranks
    assert not is_left_behind(job)


def test_ranks_that_share_processors_give_them_up_early(tmp_path: Path) -> None:
    """Counted of the masks of all ranks, whichever of them is asked."""
    program = compile_c(HERE / "library_looks.c", tmp_path / "looks")
    first, *more = sorted(os.sched_getaffinity(0))

    def looks(masks: list[str]) -> list[tuple[int, str, str]]:
        job, ranks = new_job(), str(len(masks))
        return in_processes([["taskset", "-c", mask, program, job, str(r), ranks] for r, mask in enumerate(masks)])

    assert looks([f"{first}"] * 2) == [(0, "1\n", "")] * 2
    if not more:
        pytest.skip("one processor")
    assert looks([f"{first},{more[0]}"] * 3) == [(0, "1\n", "")] * 3
    assert looks([f"{first}", f"{first}", f"{more[0]}"]) == [(0, "1\n", "")] * 3
    assert looks([f"{first}", f"{more[0]}"]) == [(0, "2000\n", "")] * 2


def test_a_rank_that_dies_is_an_error_of_the_others(calls: Path) -> None:
    job = new_job()
    said = in_processes([[calls, job, str(rank), "3", "dies"] for rank in range(3)])
    assert [status for status, _, _ in said] == [0, -6, 0]
    for rank in (0, 2):
        assert re.fullmatch(r"-4 rank 1 died \(process \d+\)\n", said[rank][1])
    assert not is_left_behind(job)


def test_the_example_takes_its_rank_from_the_environment(tmp_path: Path) -> None:
    program = compile_c(ROOT / "examples/library/sum.c", tmp_path / "sum")
    env = {"ISTHMUS_JOB": new_job(), "ISTHMUS_RANK": "{rank}", "ISTHMUS_RANKS": "3"}
    said = in_processes([[program]] * 3, env)
    assert said == [(0, "3 ranks, last element: 300000\n", ""), (0, "", ""), (0, "", "")]


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({}, "ISTHMUS_JOB is not set: the name of the job, the same on all ranks\n"),
        ({"ISTHMUS_JOB": "a"}, "ISTHMUS_RANK is not set, and no launcher has said it either\n"),
        ({"ISTHMUS_JOB": "a", "ISTHMUS_RANK": "x"}, "ISTHMUS_RANK=x: must be a whole number from 0\n"),
        ({"ISTHMUS_JOB": "a", "ISTHMUS_RANK": "4", "ISTHMUS_RANKS": "2"}, "isthmus_job.rank = 4: there are 2 ranks\n"),
        (
            {"ISTHMUS_JOB": "/", "ISTHMUS_RANK": "0", "ISTHMUS_RANKS": "1"},
            "job '/': must be up to 200 letters, digits, ",
        ),
    ],
)
def test_a_wrong_environment_is_one_line(tmp_path: Path, env: dict[str, str], words: str) -> None:
    program = compile_c(ROOT / "examples/library/sum.c", tmp_path / "sum")
    ((status, out, err),) = in_processes([[program]], env)
    assert (status, out) == (1, "")
    assert err.startswith(words)
    assert err.count("\n") == 1


def test_the_header_is_c_and_cpp(tmp_path: Path) -> None:
    source = tmp_path / "header.cpp"
    source.write_text("#include <isthmus/isthmus.h>\nint main() { return isthmus_version() - ISTHMUS_VERSION; }\n")
    subprocess.run([compile_c(source, tmp_path / "header", "c++", "-std=c++11")], check=True)


def test_the_library_shows_what_its_header_declares_and_nothing_else() -> None:
    declared, inline = set(), set()
    for header in ("isthmus.h", "isthmus_pgas.h", "isthmus_access.h", "isthmus_pipeline.h"):
        text = re.sub(r"/\*.*?\*/", "", (INSTALLED / "include/isthmus" / header).read_text(), flags=re.DOTALL)
        inline |= set(re.findall(r"^static (?:inline|__inline).*?\b(isthmus_\w+)\(", text, re.MULTILINE))
        text = re.sub(r"^static inline .*?^}$", "", text, flags=re.DOTALL | re.MULTILINE)
        declared |= set(re.findall(r"\b(isthmus_\w+)\(", text))
    declared -= inline
    shown = subprocess.run(
        ["nm", "-D", "--defined-only", INSTALLED / "lib/libisthmus.so"], capture_output=True, text=True, check=True
    ).stdout
    assert set(re.findall(r" T (\S+)@@ISTHMUS_1$", shown, re.MULTILINE)) == declared
    assert set(re.findall(r" [A-Z] (\S+)", shown)) == {"ISTHMUS_1", *(f"{name}@@ISTHMUS_1" for name in declared)}


def test_cmake_finds_the_library(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(sum C)\nfind_package(isthmus REQUIRED)\n"
        f"add_executable(sum {ROOT}/examples/library/sum.c)\ntarget_link_libraries(sum isthmus::isthmus)\n"
    )
    build = tmp_path / "build"
    quiet = {"check": True, "capture_output": True}
    subprocess.run(["cmake", "-S", tmp_path, "-B", build, f"-DCMAKE_PREFIX_PATH={INSTALLED}"], **quiet)  # type: ignore[call-overload]
    subprocess.run(["cmake", "--build", build], **quiet)  # type: ignore[call-overload]
    env = {"ISTHMUS_JOB": new_job(), "ISTHMUS_RANK": "0", "ISTHMUS_RANKS": "1"}
    assert in_processes([[build / "sum"]], env) == [(0, "1 ranks, last element: 99999\n", "")]


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_a_team_of_mpi_computes_what_mpi_does(tmp_path: Path, flavour: str) -> None:
    program = compile_c(HERE / "library_mpi.c", tmp_path / "both", f"mpicc.{flavour}", "-std=c11")
    launch = [f"mpirun.{flavour}", *(["--oversubscribe"] if flavour == "openmpi" else []), "-n", "3"]
    done = subprocess.run([*launch, program], capture_output=True, text=True, timeout=400, check=False)
    assert (done.returncode, done.stdout) == (0, "98 compared, 0 wrong\n"), done.stderr
