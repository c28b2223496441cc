"""The command that the advice names for better collectives is one that works."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import isthmus
from mpi_programs import compiled, launcher

ISTHMUS = [sys.executable, "-m", "isthmus"]
SOURCE = """
#include <mpi.h>
static double mine[25000], all[25000];
int main(void) {
  MPI_Init(0, 0);
  for (int i = 0; i < 40; ++i) MPI_Allreduce(mine, all, 25000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
}
"""


def test_what_the_advice_says_is_done(tmp_path: Path) -> None:
    (tmp_path / "sums.c").write_text(SOURCE)
    program = compiled(str(tmp_path / "sums.c"), "openmpi", tmp_path)
    command = [*launcher("openmpi", 3), str(program)]

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*ISTHMUS, *words], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True)

    run("record", "-o", "app.h5", "--", *command)
    run("advise", "app.h5", "--machine", "torus:4 link=5GB/s hop=50ns", "--collectives", "allreduce=linear",
        "--export-collectives", "table.toml")  # fmt: skip
    advice = isthmus.advise(
        isthmus.read(tmp_path / "app.h5"), "torus:4 link=5GB/s hop=50ns", collectives={"allreduce": "linear"}
    )
    (sentence,) = [s.text for s in advice.sentences if s.topic == "collectives"]
    found = re.search(r"isthmus run --collectives TABLE -- (.*)$", sentence)
    assert found is not None, sentence
    assert shlex.split(found[1]) == command
    done = run("run", "--json", "--collectives", "table.toml", "--", *shlex.split(found[1]))
    (row,) = json.loads(done.stdout)["collectives"]
    assert row["collective"] == "allreduce"
    assert row["taken"] > 0
