"""The Fortran module of isthmus_pgas.h."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from library import HERE, INSTALLED, ROOT, flags

MODULE = INSTALLED / "include/isthmus/isthmus_pgas.f90"
needs_fortran = pytest.mark.skipif(shutil.which("gfortran") is None, reason="needs gfortran")


def run(program: Path, ranks: int, *words: str) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "isthmus", "run", "-n", str(ranks), "--", program, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


def compile_fortran(source: Path, program: Path) -> Path:
    """As Fortran 2008, without a warning."""
    strict = ["-std=f2008", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fcheck=all"]
    subprocess.run(
        ["gfortran", *strict, f"-J{program.parent}", "-o", program, MODULE, source, *flags()[1:]], check=True
    )
    return program


@needs_fortran
def test_every_group_of_functions(tmp_path: Path) -> None:
    program = compile_fortran(HERE / "pgas_fortran.f90", tmp_path / "all")
    for ranks in (1, 2, 3):
        assert run(program, ranks) == (0, "all done\n", "")


@needs_fortran
def test_the_example_and_cmake(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(heat Fortran)\nfind_package(isthmus REQUIRED)\n"
        f"add_executable(heat {ROOT}/examples/pgas/heat.f90)\ntarget_link_libraries(heat isthmus::fortran)\n"
    )
    build = tmp_path / "build"
    for words in (["-S", tmp_path, "-B", build, f"-DCMAKE_PREFIX_PATH={INSTALLED}"], ["--build", build]):
        subprocess.run(["cmake", *words], check=True, capture_output=True)
    for ranks in (1, 2, 3, 5):
        said = f"heat of 60 elements on {ranks} ranks: right, the first is "
        status, out, err = run(build / "heat", ranks, "60")
        assert (status, err) == (0, "")
        assert out.startswith(said)


def test_the_module_has_all_functions_of_the_header() -> None:
    header = re.sub(r"/\*.*?\*/", "", (INSTALLED / "include/isthmus/isthmus_pgas.h").read_text(), flags=re.DOTALL)
    declared = set(re.findall(r"\b(isthmus_\w+)\(", header)) - {"isthmus_near"}
    module = MODULE.read_text()
    functions = set(re.findall(r"^ +function (isthmus_\w+)\(", module, re.MULTILINE))
    assert {name.removesuffix("_elsewhere") for name in declared} - functions == set()
    assert set(re.findall(r"name='(isthmus_\w+)'", module)) - declared == {
        "isthmus_group",
        "isthmus_join",
        "isthmus_last_error",
        "isthmus_leave",
        "isthmus_rank",
        "isthmus_ranks",
        "isthmus_split",
        "isthmus_translate",
    }
    values = {name: int(value) for name, value in re.findall(r"(ISTHMUS_ATOMIC_\w+) = (\d+)", header)}
    assert {name: int(v) for name, v in re.findall(r"(ISTHMUS_ATOMIC_\w+) = (\d+)", module)} == values
