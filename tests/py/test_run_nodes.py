"""isthmus run -- COMMAND over several nodes: shared memory inside, MPI between; emulated hosts, and one host that takes
some of its ranks for a node."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import emulated_hosts
from mpi_programs import MPIS, compiled
from test_run_program import run

OBSTACLE = emulated_hosts.obstacle("mpirun.openmpi", "mpicc.openmpi")
MANY = """
#include <mpi.h>
int main(void) {
  double a[4] = {1, 2, 3, 4}, b[4];
  MPI_Init(0, 0);
  for (int i = 0; i < 200; ++i) MPI_Allreduce(a, b, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
}
"""
AWAY = "does not wait, on several nodes without MPI_THREAD_MULTIPLE"


@pytest.fixture(scope="module", params=MPIS)
def checked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    name: str = request.param
    return name, compiled("taken.c", name, tmp_path_factory.mktemp("taken"))


def reasons(found: Any) -> set[str]:
    return {why for row in found["collectives"] for why in row["left"]}


def on_hosts(hosts: int, *program: str) -> tuple[Any, str]:
    """The end of `isthmus run --json`, launched on the first of some hosts with two ranks each, and what it printed.

    MPICH 4.0.2 over UCX loses messages of its own collectives on such hosts.
    """
    with emulated_hosts.hosts(hosts, "1gbit", "64k") as there:
        line = [*there.inside(), sys.executable, "-m", "isthmus", "run", "--json", "--", *there.openmpi(2), *program]
        done = subprocess.run(line, capture_output=True, text=True, timeout=400, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout), done.stderr


@pytest.mark.skipif(bool(OBSTACLE), reason=f"hosts of namespaces: {OBSTACLE}")
@pytest.mark.parametrize("threads", [[], ["threads"]])
def test_hosts_with_two_ranks_each(tmp_path: Path, threads: list[str]) -> None:
    """All collectives, on communicators of all kinds: those that wait are taken over; with threads all of them."""
    tmp_path.chmod(0o755)
    found, printed = on_hosts(3, str(compiled("taken.c", "openmpi", tmp_path)), "1", "6", "01", *threads)
    assert " 0 wrong" in printed
    assert found["ranks"] == 6
    assert reasons(found) <= {"compared", "the MPI library's own is faster", AWAY}
    assert (AWAY in reasons(found)) == (not threads)


@pytest.mark.skipif(bool(OBSTACLE), reason=f"hosts of namespaces: {OBSTACLE}")
def test_what_is_faster_between_hosts_is_measured(tmp_path: Path) -> None:
    """Both sides are timed on all ranks, and where one is faster the calls that follow are its own."""
    tmp_path.chmod(0o755)
    source = tmp_path / "many.c"
    source.write_text(MANY)
    found, _ = on_hosts(2, str(compiled(str(source), "openmpi", tmp_path)))
    (row,) = found["collectives"]
    assert row["taken"] + sum(row["left"].values()) == 4 * 200
    assert row["left"]["compared"] == 4 * 64
    assert row["isthmus"]["calls"] == row["library"]["calls"] == 32
    lost = row["isthmus"]["low"] > 1.02 * row["library"]["high"]
    assert ("the MPI library's own is faster" in row["left"]) or not lost


@pytest.mark.parametrize("ranks", [3, 4])
def test_a_node_that_takes_two_ranks(checked: tuple[str, Path], ranks: int) -> None:
    name, program = checked
    found, printed = run(name, ranks, program, "1", str(ranks), "0", ISTHMUS_RANKS_PER_NODE="2")
    assert f"{34 * 5 * ranks} calls checked, 0 wrong" in printed
    assert found["share"] == 1
    assert reasons(found) <= {"compared"}
