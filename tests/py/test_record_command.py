"""Command lines taken apart and put together again; regions and markers in words; prototypes of mpi.h."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import isthmus
from isthmus.mpi.command import take_apart
from isthmus.mpi.launch import run, with_variables
from isthmus.recording.build import sources
from isthmus.recording.region import lines, marking, region


@pytest.fixture
def launchers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Launchers that say what they are, and a program, in PATH."""
    for name, says in (
        ("mpirun", "mpirun (Open MPI) 5.0.1"),
        ("mpiexec", "HYDRA build details:"),
        ("srun", "slurm 23.02"),
    ):
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\necho '{says}'\n")
        path.chmod(0o755)
    (tmp_path / "app").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "app").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("command", "launcher", "programs"),
    [
        ("app 1 2", None, ["app"]),
        ("mpirun -n 4 app mpirun", "mpirun", ["app"]),
        ("mpirun --map-by node -x A=1 --mca btl self app", "mpirun", ["app"]),
        ("mpirun -n 1 app : -n 2 -wdir / app x", "mpirun", ["app", "app"]),
        ("timeout 5 mpirun --oversubscribe app", "mpirun", ["app"]),
        ("env A=1 app", None, ["env"]),
        ("mpirun -n 4 no-such-file", "mpirun", []),
    ],
)
def test_taken_apart(launchers: Path, command: str, launcher: str | None, programs: list[str]) -> None:
    found = take_apart(command.split())
    assert (None if found.launcher is None else found.words[found.launcher]) == launcher
    assert [found.words[i] for i in found.programs] == programs


def put_together(command: str) -> tuple[str, dict[str, str]]:
    words, environment = with_variables(take_apart(command.split()), {"ISTHMUS_A": "b"}, Path("/lib/r.so"))
    return " ".join(words), environment


def test_put_together(launchers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line, environment = put_together("mpirun -n 1 app : -n 2 app")
    assert line == (
        "mpirun -x LD_PRELOAD=/lib/r.so -x ISTHMUS_A -n 1 app : -x LD_PRELOAD=/lib/r.so -x ISTHMUS_A -n 2 app"
    )
    assert environment["ISTHMUS_A"] == "b"
    assert "LD_PRELOAD" not in environment
    line, environment = put_together("mpiexec -n 1 app")
    assert line == "mpiexec -genv LD_PRELOAD /lib/r.so -genv ISTHMUS_A b -n 1 app"
    assert "LD_PRELOAD" not in environment
    line, environment = put_together("srun -n 1 app")
    assert line == "srun --export=ALL,LD_PRELOAD=/lib/r.so -n 1 app"
    assert environment["ISTHMUS_A"] == "b"
    line, _ = put_together("srun --export=HOME -n 1 app")
    assert line == "srun --export=HOME,LD_PRELOAD=/lib/r.so,ISTHMUS_A=b -n 1 app"
    # One verb around another: the recorder is before what is behind it, whichever is the outer one.
    for command in ("mpirun -n 1 app : -n 2 app", "mpiexec -n 1 app", "srun -n 1 app"):
        outer, _ = with_variables(take_apart(command.split()), {"B": "1"}, Path("/lib/run.so"), last=True)
        within, _ = with_variables(take_apart(outer), {"ISTHMUS_A": "b"}, Path("/lib/r.so"))
        other, _ = with_variables(take_apart(command.split()), {"ISTHMUS_A": "b"}, Path("/lib/r.so"))
        around, _ = with_variables(take_apart(other), {"B": "1"}, Path("/lib/run.so"), last=True)
        for words in (within, around):
            lists = [word for word in words if "/lib/r" in word]
            assert len(lists) == command.count("app")
            assert all("/lib/r.so /lib/run.so" in word for word in lists)
    # What is loaded already stays.
    monkeypatch.setenv("LD_PRELOAD", "/lib/other.so")
    line, environment = put_together("app 1")
    assert line == "app 1"
    assert environment["LD_PRELOAD"] == "/lib/r.so /lib/other.so"


def test_status(launchers: Path) -> None:
    assert run(["app"], os.environ) == 3
    assert run(["sh", "-c", "kill -9 $$"], os.environ) == 128 + 9


@pytest.mark.parametrize(
    ("begin", "end", "marker", "words"),
    [
        (None, None, None, None),
        (3, "8", "MPI_Barrier", "iteration 3 8"),
        (None, 8, "MPI_Barrier", "iteration 1 8"),
        ("1.5s", None, None, "seconds 1.5 inf"),
        (None, "200 ms", 5, "seconds 0 0.2"),
    ],
)
def test_region(begin: str | int | None, end: str | int | None, marker: str | int | None, words: str | None) -> None:
    assert region(begin, end, marker) == words


@pytest.mark.parametrize(("begin", "end"), [(1, "2s"), ("2s", "1s"), ("-1s", None), (5, 5), ("one", None)])
def test_region_refused(begin: str | int, end: str | int | None) -> None:
    with pytest.raises(isthmus.InvalidInput):
        region(begin, end, "MPI_Barrier")


def test_lines(tmp_path: Path) -> None:
    """Address ranges of a line hold the calls of that line and of no other."""
    source = tmp_path / "two.c"
    source.write_text("void f(int);\nvoid f(int i) { (void)i; }\nint main(void) {\n  f(1);\n  f(2);\n  return 0;\n}\n")
    program = tmp_path / "two"
    subprocess.run(["gcc", "-g", "-O0", str(source), "-o", str(program)], check=True)
    four, five = lines(str(program), "two.c", 4), lines(str(program), "src/two.c", 5)
    assert four
    assert five
    assert four[-1][1] <= five[0][0]
    assert lines(str(program), "two.c", 400) == []
    assert marking("MPI_Send@two.c:4", [str(program)]) == f"MPI_Send;two;{four[0][0]:x}-{four[0][1]:x}"
    with pytest.raises(isthmus.InvalidInput, match="no code for this line"):
        marking("MPI_Send@two.c:400", [str(program)])


def test_generated() -> None:
    """Wrappers of what a header declares, whatever its spelling; what is unknown is timed."""
    header = """
    typedef int MPI_Comm; typedef int MPI_Datatype; extern int __attribute__((visibility("default"))) MPI_Send(
       const void *buf, int count, MPI_Datatype t, int dest, int tag, MPI_Comm comm) __attribute__((x(1, 3)));
    int MPI_Future(int, char *name, void (*f)(int, char *), MPI_Comm *c[]);
    int MPI_Unprofiled(void); double MPI_Wtime(void);
    int PMPI_Send(const void *buf, int count, MPI_Datatype t, int dest, int tag, MPI_Comm comm);
    int PMPI_Future(int, char *name, void (*f)(int, char *), MPI_Comm *c[]); double PMPI_Wtime(void);
    """
    done = subprocess.run(
        [sys.executable, "-B", str(sources() / "generate.py")], input=header, capture_output=True, text=True, check=True
    )
    # After the functions of MPI those of libisthmus.
    assert '{NULL,\n    "MPI_Future",\n    "MPI_Send",\n    "MPI_Wtime" PGAS_FUNCTIONS(NAME)}' in done.stdout
    assert "record_send(&call, STANDARD, count, t, dest, tag, comm);" in done.stdout
    assert "EXPORT void mpi_send_f08ts_(void *buf, MPI_Fint *count," in done.stdout
    assert "EXPORT int MPI_Future(int a0, char *name, void (*f)(int, char *), MPI_Comm *c[])" in done.stdout
    # The length of a string follows the error code.
    assert (
        "mpi_future_(MPI_Fint *a0, void *name, void *f, MPI_Fint *c, MPI_Fint *ierror, size_t length1)" in done.stdout
    )
    assert "Unprofiled" not in done.stdout
    empty = subprocess.run(
        [sys.executable, "-B", str(sources() / "generate.py")], input="", capture_output=True, text=True, check=False
    )
    assert empty.returncode != 0
    assert "declares no MPI function" in empty.stderr
