"""isthmus record and isthmus run together: the recording shows the program's calls, libisthmus carries them out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import mpi_programs
from isthmus.recording import raw
from mpi_programs import MPIS, collectives, compiled, launcher, messages

ISTHMUS = [sys.executable, "-m", "isthmus"]
PROGRAM = """
#include <mpi.h>
int main(void) {
  int rank, a[100] = {1}, b[100], c[300];
  MPI_Comm half;
  MPI_Request request[2];
  MPI_Init(0, 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  for (int i = 0; i < 20; ++i) {
    MPI_Allreduce(a, b, 100, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Ibcast(a, 50, MPI_INT, 0, half, &request[0]);
    MPI_Irecv(b, 100, MPI_INT, rank ^ 1, 0, MPI_COMM_WORLD, &request[1]);
    MPI_Send(a, 10, MPI_INT, rank ^ 1, 0, MPI_COMM_WORLD);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    MPI_Gather(a, 30, MPI_INT, c, 30, MPI_INT, 1, half);
  }
  MPI_Comm_free(&half);
  MPI_Finalize();
}
"""


@pytest.mark.parametrize("name", MPIS)
def test_either_around_the_other(name: str, tmp_path: Path) -> None:
    source = tmp_path / "both.c"
    source.write_text(PROGRAM)
    command = [*launcher(name, 4), str(compiled(str(source), name, tmp_path))]
    plain = mpi_programs.run(command, name, tmp_path)
    around = mpi_programs.run([*ISTHMUS, "run", "--json", "--no-compare", "--", *command], name, tmp_path)
    kept = tmp_path / "kept"
    kept.mkdir()
    line = [*ISTHMUS, "run", "--json", "--no-compare", "--", *ISTHMUS, "record", "--directory", str(kept)]
    line += ["--keep-raw", "-o", str(tmp_path / "both.h5"), "--", *command]
    within = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False, env=os.environ)
    assert within.returncode == 0, within.stderr[-3000:]
    traces = [raw.read_trace(path) for path in sorted(kept.rglob("*.trace"))]
    assert len(traces) == 4
    assert collectives(plain.traces)[0, "allreduce", "calls"] == 20
    for output, found in ((around.output, around.traces), (within.stdout, traces)):
        assert collectives(found) == collectives(plain.traces)
        assert messages(found) == messages(plain.traces)
        taken = json.loads(output)
        assert taken["share"] == 1
        calls = {row["collective"]: row["taken"] for row in taken["collectives"]}
        assert calls == {"allreduce": 80, "ibcast": 80, "gather": 80}
