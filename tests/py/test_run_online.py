"""isthmus run --online: a program's calls are tuned while it runs, and later runs start from that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from isthmus.tuning.table import DecisionTable
from mpi_programs import MPIS, compiled
from test_run_program import run

PROGRAM = """
#include <mpi.h>
#include <stdio.h>
int main(void) {
  static double a[1000], b[1000];
  int rank, size, wrong = 0;
  MPI_Comm half;
  MPI_Init(0, 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Comm_size(half, &size);
  for (int i = 0; i < 1000; ++i) a[i] = i;
  for (int i = 0; i < 30; ++i) {
    MPI_Allreduce(a, b, 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int k = 0; k < 1000; ++k) wrong += b[k] != 3.0 * k;
    MPI_Allreduce(a, b, 4, MPI_DOUBLE, MPI_SUM, half);
    for (int k = 0; k < 4; ++k) wrong += b[k] != (double)size * k;
    MPI_Bcast(b, 1, MPI_DOUBLE, 0, half);
  }
  fprintf(stderr, "%d wrong\\n", wrong);
  MPI_Comm_free(&half);
  MPI_Finalize();
}
"""


@pytest.mark.parametrize("name", MPIS)
@pytest.mark.parametrize("more", [{}, {"ISTHMUS_CHECK": "1", "ISTHMUS_PROGRESS": "timer"}])
def test_calls_that_come_often_are_tuned_once(name: str, more: dict[str, str], tmp_path: Path) -> None:
    """On the world and on groups of it, which add their decisions at once; with everything else that is asked for."""
    source = tmp_path / "often.c"
    source.write_text(PROGRAM)
    file = tmp_path / "kept" / "decisions.txt"
    file.parent.mkdir()
    program = compiled(str(source), name, tmp_path)
    found, printed = run(name, 3, program, options=("--online", str(file)), **more)
    assert printed.count("0 wrong\n") == 3
    assert found["share"] == 1
    table = DecisionTable.load(file)
    assert table.provenance.source == "online"
    timed = {
        (kind, ranks, point.bytes)
        for kind in ("allreduce", "bcast")
        for ranks in (1, 2, 3)
        for point in table.row(kind, ranks).points
        if point.seconds is not None
    }
    assert {("allreduce", 3, 4096), ("allreduce", 2, 32), ("bcast", 2, 8), ("allreduce", 1, 32)} <= timed
    before = file.read_bytes()
    _, printed = run(name, 3, program, options=("--online", str(file)), **more)
    assert printed.count("0 wrong\n") == 3
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == ["decisions.txt"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--online", "{}/none/d.txt"], "decisions cannot be written there"),
        (["--online", "{}/d.txt", "--reproducible"], "which --reproducible excludes"),
    ],
)
def test_what_cannot_be_kept_is_refused(options: list[str], words: str, tmp_path: Path) -> None:
    given = [option.format(tmp_path) for option in options]
    line = [sys.executable, "-m", "isthmus", "run", *given, "--", "mpirun.openmpi", "-n", "1", "true"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 2
    assert words in done.stderr


def test_too_few_calls_are_said(tmp_path: Path) -> None:
    source = tmp_path / "few.c"
    source.write_text(PROGRAM.replace("i < 30", "i < 1"))
    file = tmp_path / "decisions.txt"
    program = compiled(str(source), MPIS[0], tmp_path)
    _, printed = run(MPIS[0], 3, program, options=("--online", str(file)))
    assert "decisions.txt is not written: no collective came often enough" in printed
    assert not file.exists()
