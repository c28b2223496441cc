"""isthmus run -- COMMAND: collectives of MPI programs that know nothing of it, carried out by libisthmus."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mpi_programs import MPIS, compiled, installed, launcher

#: Of taken.c: blocking, nonblocking and persistent (where there is MPI 4).
MODES = "012"


def run(name: str, ranks: int, *program: str | Path, options: tuple[str, ...] = (), **more: str) -> Any:
    """The end of `isthmus run --json`, and what it printed."""
    line = [
        sys.executable,
        "-m",
        "isthmus",
        "run",
        "--json",
        *options,
        "--",
        *launcher(name, ranks),
        *map(str, program),
    ]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False, env={**os.environ, **more})
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout), done.stderr


@pytest.fixture(params=MPIS)
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture(scope="module", params=MPIS)
def checked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    name: str = request.param
    return name, compiled("taken.c", name, tmp_path_factory.mktemp("taken"))


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_every_collective(checked: tuple[str, Path], ranks: int) -> None:
    """Types, gaps, blocks, roots, operators, in place, communicators of all kinds: all are right and taken over."""
    name, program = checked
    found, printed = run(name, ranks, program, "1", str(ranks), MODES)
    assert f"{34 * 5 * ranks * len(MODES)} calls checked, 0 wrong" in printed
    assert found["ranks"] == ranks
    assert found["share"] >= 0.95
    kinds = {row["collective"] for row in found["collectives"] if row["taken"]}
    # Persistent ones are nonblocking ones in Open MPI up to 5.0, which has none.
    assert len(kinds) == 22 * (3 if installed(name).mpi.family == "MPICH" else 2)
    assert {"alltoallv", "ialltoallv"} <= kinds
    assert not any(why for row in found["collectives"] for why in row["left"] if why != "compared")


@pytest.mark.parametrize("ranks", [1, 3, 4])
@pytest.mark.sampled(2)
def test_large_counts(name: str, ranks: int, tmp_path: Path) -> None:
    """MPI_Allreduce_c and its like: counts and displacements of 64 bits."""
    if installed(name).mpi.family != "MPICH":
        pytest.skip("Open MPI up to 5.0 has no functions with large counts")
    program = compiled("taken.c", name, tmp_path, "-DLARGE")
    found, printed = run(name, ranks, program, "1", "3", MODES)
    assert f"{34 * 5 * ranks * len(MODES)} calls checked, 0 wrong" in printed
    assert found["share"] >= 0.95
    assert len({row["collective"] for row in found["collectives"] if row["taken"]}) == 22 * 3


def test_calls_as_the_one_before(name: str, tmp_path: Path) -> None:
    """What is kept of a call serves the next one only where nothing but the buffers differs."""
    program = compiled("again.c", name, tmp_path)
    for ranks in (2, 3):
        found, printed = run(name, ranks, program, options=("--no-compare",))
        assert f"{(300 + 500) * 11 * ranks} calls made again, 0 wrong" in printed
        assert found["share"] == 1


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("threads", [[], ["threads"]])
def test_beside_everything_else(name: str, ranks: int, threads: list[str], tmp_path: Path) -> None:
    """Who waits for a message, a communicator or a window goes on with collectives; handles freed early stay good."""
    found, printed = run(name, ranks, compiled("mixed.c", name, tmp_path), *threads)
    assert "\n0 wrong" in f"\n{printed}"
    assert found["share"] >= 0.95


@pytest.mark.parametrize("module", ["MPI", "F08"])
def test_fortran(name: str, module: str, tmp_path: Path) -> None:
    options = ["-ffree-line-length-none", "-fallow-argument-mismatch", f"-D{module}"]
    program = compiled("taken.F90", name, tmp_path, *options)
    for ranks in (1, 3):
        found, printed = run(name, ranks, program)
        assert "\n0 wrong" in f"\n{printed}"
        assert found["share"] == 1


def test_comparison_and_its_table(name: str, tmp_path: Path) -> None:
    """Both sides carry out the same number of calls that are compared; without comparison all are ours."""
    source = tmp_path / "many.c"
    source.write_text(
        "#include <mpi.h>\nint main(void) {\n  double a[4] = {1, 2, 3, 4}, b[4];\n  MPI_Init(0, 0);\n"
        "  for (int i = 0; i < 400; ++i) MPI_Allreduce(a, b, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);\n"
        "  MPI_Finalize();\n}\n"
    )
    program = compiled(str(source), name, tmp_path)
    found, _ = run(name, 2, program)
    (row,) = found["collectives"]
    assert row["collective"] == "allreduce"
    assert row["most_bytes"] == 64
    assert row["taken"] + sum(row["left"].values()) == 800
    # 128 calls after the first 16, half of them on each side, on both ranks; half of them are timed.
    assert row["left"]["compared"] == 2 * 64
    for side in ("isthmus", "library"):
        assert row[side]["calls"] == 32
        assert 0 < row[side]["low"] <= row[side]["median"] <= row[side]["high"]
    for option in ("--no-compare", "--reproducible"):
        found, _ = run(name, 2, program, options=(option,))
        assert found["collectives"][0]["taken"] == 800
        assert found["share"] == 1
    line = [sys.executable, "-m", "isthmus", "run", "--", *launcher(name, 2), str(program)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout == ""
    assert "allreduce" in done.stderr
    assert "went to the MPI library to be compared" in done.stderr


def test_who_does_what_is_said(name: str, tmp_path: Path) -> None:
    """The program's status is the command's; options of schedules and of programs are kept apart."""
    line = [sys.executable, "-m", "isthmus", "run"]
    end = [*line, "--", *launcher(name, 1), "sh", "-c", "exit 3"]
    assert subprocess.run(end, capture_output=True, timeout=100, check=False).returncode == 3
    for words, message in (
        (["--compute", "2", "--", "true"], "--compute is for a schedule"),
        (["--reproducible", "x.goal"], "--reproducible is for a program"),
        (["x.goal", "--", "true"], "give a schedule, or a command after --"),
        (["--"], "no command to run"),
    ):
        done = subprocess.run([*line, *words], capture_output=True, text=True, timeout=100, check=False)
        assert done.returncode == 2
        assert message in done.stderr


def test_mpi4py(tmp_path: Path) -> None:
    """MPI is loaded later and privately, as the extension module of Python has it."""
    python = "/usr/bin/python3"
    if subprocess.run([python, "-c", "import mpi4py"], capture_output=True, check=False).returncode:
        pytest.skip("mpi4py is not installed")
    script = tmp_path / "sums.py"
    script.write_text(
        "from mpi4py import MPI\nworld = MPI.COMM_WORLD\n"
        "assert world.allreduce(world.rank) == sum(range(world.size))\n"
        "assert world.bcast({'from': 0} if world.rank == 0 else None) == {'from': 0}\n"
        "request = world.Ibarrier()\nrequest.Wait()\nassert world.gather(world.rank, 1) in (None, [0, 1, 2])\n"
    )
    found, _ = run("openmpi", 3, python, str(script))
    assert found["ranks"] == 3
    assert found["share"] == 1
    assert {"bcast", "ibarrier"} <= {row["collective"] for row in found["collectives"]}
