"""Call paths: real programs whose paths are known, and which place of a path is called the program's own."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import mpi_programs
from isthmus.recording import raw
from isthmus.recording.merge import merge
from isthmus.recording.own import own
from isthmus.recording.paths import Paths, Tree
from isthmus.recording.sites import Frame
from isthmus.schedule.recording import NONE, Recording
from raw_traces import RawTrace

LIBRARIES = ["openmpi", "mpich"]


def recording_of(command: list[str], name: str, folder: Path, **settings: str) -> tuple[str, Recording]:
    """What a program prints, and its recording."""
    run = mpi_programs.run(command, name, folder, **settings)
    assert run.status == 0, run.errors
    recording = merge(folder / "raw").recording
    assert recording is not None
    return run.output, recording


def functions(recording: Recording, path: int) -> list[str]:
    """Names of functions of a path, innermost first."""
    names = []
    while path != NONE:
        names.append(recording.site_function[recording.path_site[path]])
        path = int(recording.path_parent[path])
    return names


def own_places(recording: Recording) -> dict[str, set[str]]:
    """Where each function of MPI is called from."""
    found: dict[str, set[str]] = {}
    for function, site in zip(recording.function.tolist(), recording.site.tolist(), strict=True):
        if site != NONE:
            found.setdefault(recording.functions[function], set()).add(recording.sites[site])
    return found


@pytest.mark.parametrize("options", [["-O0"], ["-O2", "-fomit-frame-pointer"]], ids=lambda o: o[0])
@pytest.mark.parametrize("name", LIBRARIES)
def test_paths_of_frames_of_all_kinds(tmp_path: Path, name: str, options: list[str]) -> None:
    program = mpi_programs.compiled("paths.c", name, tmp_path, *options, "-fno-optimize-sibling-calls")
    output, recording = recording_of([str(program)], name, tmp_path)
    expected = Counter(line.removeprefix("path ") for line in output.splitlines() if line.startswith("path "))
    assert len(expected) >= 7
    barrier = recording.functions.index("MPI_Barrier")
    found = Counter(" ".join(functions(recording, int(path))) for path in recording.path[recording.function == barrier])
    assert found == expected
    # Every path is there once.
    nodes = list(zip(recording.path_parent.tolist(), recording.path_site.tolist(), strict=True))
    assert len(set(nodes)) == len(nodes)


def test_paths_switched_off(tmp_path: Path) -> None:
    program = mpi_programs.compiled("paths.c", "openmpi", tmp_path)
    recording = recording_of([str(program)], "openmpi", tmp_path, ISTHMUS_PATHS="0")[1]
    assert (recording.path_parent == NONE).all()
    lines = (mpi_programs.SOURCES / "paths.c").read_text().splitlines()
    assert own_places(recording)["MPI_Barrier"] == {
        f"paths.c:{i}" for i, x in enumerate(lines, 1) if "MPI_Barrier" in x
    }


WRAPPERS = {
    "comm.h": "#pragma once\n"
    "namespace comm {\nvoid send(double *x, int n, int to);\nvoid recv(double *x, int n, int from);\n"
    "double sum(double x);\n}\n",
    "comm.cpp": "#include <mpi.h>\n#include \"comm.h\"\n"
    "namespace comm {\n"
    "void send(double *x, int n, int to) { MPI_Send(x, n, MPI_DOUBLE, to, 0, MPI_COMM_WORLD); }\n"
    "void recv(double *x, int n, int from) {\n"
    "  MPI_Recv(x, n, MPI_DOUBLE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n}\n"
    "double sum(double x) {\n"
    "  double y;\n  MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);\n  return y;\n}\n}\n",
    "main.cpp": "#include <mpi.h>\n#include \"comm.h\"\n"
    "static double x[8];\n"
    "int main(int argc, char **argv) {\n"
    "  int rank;\n  MPI_Init(&argc, &argv);\n  MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n"
    "  if (rank == 0) comm::send(x, 8, 1);\n"  # line 8
    "  else comm::recv(x, 8, 0);\n"  # line 9
    "  double first = comm::sum(1);\n"  # line 10
    "  double second = comm::sum(first);\n"  # line 11
    "  if (rank == 1) comm::send(x, 4, 0);\n"  # line 12
    "  else comm::recv(x, 4, 1);\n"  # line 13
    "  MPI_Finalize();\n  return second < 0;\n}\n",
}  # fmt: skip


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_wrapper_library_is_not_the_program(tmp_path: Path, name: str) -> None:
    for file, text in WRAPPERS.items():
        (tmp_path / file).write_text(text)
    compiler = mpi_programs.installed(name).tool("mpicxx")
    if compiler is None:
        pytest.skip(f"no C++ compiler of {name}")
    shared = ["-w", "-g", "-O2", "-fno-optimize-sibling-calls"]
    subprocess.run([compiler, *shared, "-shared", "-fPIC", "comm.cpp", "-o", "libcomm.so"], cwd=tmp_path, check=True)
    link = ["-L.", "-lcomm", "-Wl,-rpath,$ORIGIN", "-o", "main"]
    subprocess.run([compiler, *shared, "main.cpp", *link], cwd=tmp_path, check=True)
    command = [*mpi_programs.launcher(name, 2), str(tmp_path / "main")]
    recording = recording_of(command, name, tmp_path)[1]
    found = own_places(recording)
    assert found["MPI_Allreduce"] == {"main.cpp:10", "main.cpp:11"}
    assert found["MPI_Send"] == {"main.cpp:8", "main.cpp:12"}
    assert found["MPI_Recv"] == {"main.cpp:9", "main.cpp:13"}
    reduce = recording.functions.index("MPI_Allreduce")
    path = int(recording.path[recording.function == reduce][0])
    assert functions(recording, path) == ["comm::sum", "main"]


FORTRAN = """module message_passing
  use mpi
contains
  subroutine mp_sum(x)
    double precision, intent(inout) :: x
    integer :: error
    call MPI_Allreduce(MPI_IN_PLACE, x, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  end subroutine
end module
module solver
  use message_passing
contains
  subroutine residual(x)
    double precision, intent(inout) :: x
    call mp_sum(x)
    x = x + 1
  end subroutine
end module
program app
  use solver
  integer :: error
  double precision :: x
  x = 1
  call MPI_Init(error)
  call mp_sum(x)
  call residual(x)
  print *, x > 0
  call MPI_Finalize(error)
end program
"""


@pytest.mark.parametrize("debug", ["-g", "-g0"])
@pytest.mark.parametrize("name", LIBRARIES)
def test_a_fortran_module_that_wraps(tmp_path: Path, name: str, debug: str) -> None:
    compiler = mpi_programs.installed(name).tool("mpifort")
    if compiler is None:
        pytest.skip(f"no Fortran compiler of {name}")
    (tmp_path / "app.f90").write_text(FORTRAN)
    words = [compiler, "-w", debug, "-O1", "-fno-inline", "-fno-optimize-sibling-calls", "app.f90", "-o", "app"]
    subprocess.run(words, cwd=tmp_path, check=True)
    recording = recording_of([str(tmp_path / "app")], name, tmp_path)[1]
    reduce = recording.functions.index("MPI_Allreduce")
    paths = [functions(recording, int(path)) for path in recording.path[recording.function == reduce]]
    if debug == "-g":
        assert own_places(recording)["MPI_Allreduce"] == {"app.f90:25", "app.f90:15"}
        assert [path[-1] for path in paths] == ["main", "main"]
    else:
        # Only the table of symbols is left.
        assert [path[:2] for path in paths] == [
            ["message_passing::mp_sum", "main program"],
            ["message_passing::mp_sum", "solver::residual"],
        ]


# CPython through ctypes, which releases the interpreter's lock as mpi4py does: no package is needed.
PYTHON = """import ctypes, functools, threading
mpi = ctypes.CDLL(None)
mpi.MPI_Init(None, None)
if hasattr(mpi, "ompi_mpi_comm_self"):
    comm = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_self")))
else:
    comm = ctypes.c_int(0x44000001)
def barrier():
    mpi.MPI_Barrier(comm)  # line 9
class Grün:
    def halo(self, n):
        if n:
            return self.halo(n - 1)  # line 13
        barrier()  # line 14
def generator():
    yield barrier()  # line 16
def work():
    for i in range(2):
        Grün().halo(2)  # line 19
    list(generator())  # line 20
    sorted([1, 2], key=lambda x: barrier() or 0)  # line 21
for i in range(30):  # code that goes and code that comes to its place
    scope = {"barrier": barrier}
    exec("\\n" * i + "def made():\\n  barrier()\\n", scope)
    scope["made"]()  # line 25
    del scope
work()  # line 27
def busy(stop):
    while not stop.is_set():
        sum(range(100))
stop = threading.Event()
thread = threading.Thread(target=busy, args=(stop,))
thread.start()
for i in range(20): work()  # line 34
stop.set()
thread.join()
mpi.MPI_Finalize()
"""


def pythons() -> list[str]:
    """Interpreters of this machine, one a version."""
    found: dict[str, str] = {}
    candidates = [
        sys.executable,
        "/usr/bin/python3",
        *sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))),
    ]
    for path in candidates:
        if os.access(path, os.X_OK):
            done = subprocess.run(
                [path, "-c", "import sys; print('3.%d' % sys.version_info[1])"], capture_output=True, text=True
            )
            if done.returncode == 0:
                found.setdefault(done.stdout.strip(), os.path.realpath(path))
    return [path for version, path in found.items() if int(version.split(".")[1]) >= 8]


@pytest.mark.parametrize("python", pythons())
def test_lines_of_python(tmp_path: Path, python: str) -> None:
    name = "openmpi" if shutil.which("mpicc.openmpi") else "mpich"
    script = tmp_path / "skript.py"
    script.write_text(PYTHON, encoding="utf-8")
    recording = recording_of([python, str(script)], name, tmp_path)[1]
    barrier = recording.functions.index("MPI_Barrier")
    calls = np.flatnonzero(recording.function == barrier)
    assert len(calls) == 30 + 21 * 5
    found: Counter[tuple[str, ...]] = Counter()
    for call in calls:
        path, lines = int(recording.path[call]), []
        while path != NONE:
            text = recording.sites[recording.path_site[path]]
            if re.match(r"skript\.py:|<string>:", text):
                lines.append(text.removeprefix("skript.py:"))
            path = int(recording.path_parent[path])
        found[tuple(lines)] += 1
    made = {("9", f"<string>:{i + 2}", "25"): 1 for i in range(30)}
    expected = Counter(made)
    for outer, times in (("27", 1), ("34", 20)):
        expected["9", "14", "13", "13", "19", outer] += 2 * times
        expected["9", "16", "20", outer] += times
        expected["9", "21", "21", outer] += 2 * times
    assert found == expected
    assert {"Grün.halo", "halo"} & set(recording.site_function)


def test_lines_of_mpi4py(tmp_path: Path) -> None:
    python = "/usr/bin/python3"
    done = (
        subprocess.run([python, "-c", "import mpi4py"], capture_output=True, check=False)
        if os.path.exists(python)
        else None
    )
    if done is None or done.returncode or not shutil.which("mpicc.openmpi"):
        pytest.skip("mpi4py of Debian is not installed")
    example = Path(__file__).parents[2] / "examples" / "pi.py"
    command = [*mpi_programs.launcher("openmpi", 2), python, str(example), "1000", "3"]
    recording = recording_of(command, "openmpi", tmp_path)[1]
    found = own_places(recording)
    line = next(i for i, text in enumerate(example.read_text().splitlines(), 1) if "world.Allreduce(" in text)
    assert found["MPI_Allreduce"] >= {f"pi.py:{line}"}
    assert all(place.startswith("pi.py:") for place in found["MPI_Bcast"])


# What is the program's own, without programs.


def tree_of(*paths: str) -> tuple[Tree, dict[str, int]]:
    """Paths such as ``"app:main:3 lib.so:solve:7"`` (module, function, line; outermost first) as a tree."""
    nodes: dict[tuple[int, int], int] = {}
    frames: dict[Frame, int] = {}
    leaf = {}
    for path in paths:
        at = NONE
        for word in path.split():
            module, function, line = word.split(":")
            source = os.path.basename(module) if module.endswith(".py") else f"{function}.c"
            frame = Frame(f"{source}:{line}", function, module)
            at = nodes.setdefault((at, frames.setdefault(frame, len(frames))), len(nodes))
        leaf[path] = at
    columns = np.array(list(nodes), np.uint32).reshape(-1, 2)
    return Tree(columns[:, 0], columns[:, 1], tuple(frames)), leaf


def own_of(*paths: str, patterns: tuple[str, ...] = ()) -> list[str]:
    tree, leaf = tree_of(*paths)
    found = own(tree, np.array(list(leaf.values()), np.uint32), patterns)
    return [tree.frames[tree.place[found[at]]].text for at in leaf.values()]


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        # One caller: the function is the program's own, and so is one with many calls in it.
        (["app:main:1 app:halo:5", "app:main:1 app:halo:6"], ["halo.c:5", "halo.c:6"]),
        (
            [f"app:main:{i} app:halo:{k}" for i in (1, 2, 3, 4) for k in (5, 6, 7)],
            [f"halo.c:{k}" for i in (1, 2, 3, 4) for k in (5, 6, 7)],
        ),
        # One call in it, several callers: a wrapper; and a wrapper of that.
        (["app:main:1 app:sum:5", "app:main:2 app:sum:5"], ["main.c:1", "main.c:2"]),
        (
            ["app:main:1 app:vec:9 app:sum:5", "app:main:2 app:vec:9 app:sum:5", "app:main:3 app:sum:5"],
            ["main.c:1", "main.c:2", "main.c:3"],
        ),
        # A program of several functions: no library is its own.
        (["app:main:1 app:f:2 lib.so:s:3", "app:main:2 app:g:4 lib.so:s:4"], ["f.c:2", "g.c:4"]),
        # A main that hands over: the library is the program.
        (
            ["app:main:1 lib.so:run:3", "app:main:1 lib.so:run:4", "app:main:2 lib.so:end:8"],
            ["run.c:3", "run.c:4", "end.c:8"],
        ),
        # A library of wrappers, each called once.
        (["app:main:1 lib.so:s:3", "app:main:2 lib.so:r:4"], ["main.c:1", "main.c:2"]),
        # Python: lines, but for those of packages.
        (
            ["/x/a.py:f:1 /usr/lib/python3/dist-packages/p/q.py:g:2 M.so:s:3", "/usr/lib/python3.11/r.py:f:1 M.so:s:3"],
            ["a.py:1", "r.py:1"],
        ),
        # Nothing but MPI itself.
        (["libmpi.so.40:f:1"], ["f.c:1"]),
    ],
)  # fmt: skip
def test_what_is_the_programs_own(paths: list[str], expected: list[str]) -> None:
    assert own_of(*paths) == expected


def test_own_by_name() -> None:
    paths = ["/b/app:main:1 /b/liba.so:solve:3 /b/libc.so:send:4", "/b/app:main:2"]
    assert own_of(*paths, patterns=("liba*",)) == ["solve.c:3", "main.c:2"]
    assert own_of(*paths, patterns=("s[eo]*",)) == ["send.c:4", "main.c:2"]
    assert own_of(*paths, patterns=("main.c",)) == ["main.c:1", "main.c:2"]


def test_paths_of_several_ranks_are_one_tree() -> None:
    paths = Paths()
    for _ in range(2):
        trace = raw.nothing()
        trace.sites = {i: raw.Place(0, 10 * i, "a.py", "f") for i in (1, 2, 3)}
        # The place of path 4 was lost: calls count for its caller.
        trace.paths = {1: (0, 1), 2: (1, 2), 3: (2, 3), 4: (3, 9)}
        assert paths.numbers(trace) == {1: 0, 2: 1, 3: 2, 4: 2}
    tree, became = paths.finish()
    assert tree.parent.tolist() == [NONE, 0, 1]
    assert [tree.frames[i].text for i in tree.place] == ["a.py:10", "a.py:20", "a.py:30"]
    assert became.tolist() == [0, 1, 2, NONE]


def test_traces_of_version_1_have_places_instead(tmp_path: Path) -> None:
    trace = RawTrace(0, 1, version=1)
    trace.call("MPI_Comm_split_type", raw.PLAIN, site="halo")
    trace.call("MPI_Comm_split_type", raw.PLAIN, site="solve")
    trace.write(tmp_path)
    recording = merge(tmp_path).recording
    assert recording is not None
    assert [functions(recording, int(path)) for path in recording.path] == [["halo"], ["solve"]]
    assert [recording.sites[i].split()[1] for i in recording.site] == ["(halo)", "(solve)"]
