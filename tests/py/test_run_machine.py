"""isthmus run --machine M -- COMMAND: the places of ranks, as the launcher starts them or a file places them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import emulated_hosts
import isthmus
from isthmus.errors import InvalidInput
from isthmus.mapping import launch
from isthmus.mpi.command import take_apart, with_programs
from isthmus.mpi.launcher import captured
from isthmus.running.started import Started, started
from library import compile_c
from mpi_programs import MPIS, compiled, launcher

HERE = emulated_hosts.obstacle("mpirun.openmpi", "mpicc.openmpi")
needs_hosts = pytest.mark.skipif(bool(HERE), reason=f"hosts of namespaces: {HERE}")
RUN = [sys.executable, "-m", "isthmus", "run", "--json"]
#: A line of ranks, and who has which number in it.
LINE = """#include <mpi.h>
#include <stdio.h>
int main(void) {
  int rank, ranks, whole = 0, old[64];
  MPI_Comm line;
  MPI_Init(0, 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &whole, 1, &line);
  MPI_Gather(&rank, 1, MPI_INT, old, 1, MPI_INT, 0, line);
  MPI_Comm_rank(line, &rank);
  for (int i = 0; rank == 0 && i < ranks; ++i) printf("order %d %d\\n", i, old[i]);
  MPI_Comm_free(&line);
  MPI_Finalize();
}
"""
#: An order of four hosts in which neighbours on a line are apart.
SHUFFLED = (2, 0, 3, 1)


def ended(command: list[str], limit: float = 200) -> tuple[dict[str, Any], str]:
    """The end of `isthmus run --json`, and what it and the program printed."""
    done = captured(command, os.environ, limit=limit)
    assert done.status == 0, done.last_words(8)
    return json.loads(done.output), done.errors


@pytest.mark.parametrize("name", MPIS)
def test_a_program_asks_for_its_places(name: str, tmp_path: Path) -> None:
    """On a machine of one node, whatever the host is called; the launcher is asked how many ranks there are."""
    reader = compile_c(Path(__file__).with_name("library_places.c"), tmp_path / "reader")
    found, printed = ended([*RUN, "--machine", "mesh:1 cores=4", "--", *launcher(name, 3), str(reader)])
    assert found["status"] == 0
    lines = [line for line in printed.splitlines() if ":" in line and "isthmus" not in line]
    assert sorted(line.partition(":")[2] for line in lines) == [" 0 1 2: 0 0 0"] * 9
    assert {line.split()[0] for line in lines} == {"0"}


@needs_hosts
def test_the_launcher_says_where_it_starts_ranks(tmp_path: Path) -> None:
    """Hosts in another order than the nodes of a line: communicators are reordered by where ranks really are."""
    tmp_path.chmod(0o755)
    (tmp_path / "line.c").write_text(LINE)
    program = compiled(str(tmp_path / "line.c"), "openmpi", tmp_path)
    with emulated_hosts.hosts(4, "1gbit") as hosts:
        there = replace(hosts, names=tuple(hosts.names[i] for i in SHUFFLED))
        where = f"mesh:4 cores=1 hosts={','.join(hosts.names)}"
        command = [*there.inside(), *RUN, "--machine", where, "--directory", str(tmp_path), "--no-compare", "--"]
        found, printed = ended([*command, *there.openmpi(), "--mca", "mpi_yield_when_idle", "1", str(program)])
    (made,) = found["reordered"]
    assert (made["kind"], made["done"], made["hop_bytes_before"], made["hop_bytes"]) == ("cart", 1, 7, 3)
    ordered = [SHUFFLED[int(line.split()[-1])] for line in printed.splitlines() if line.startswith("order")]
    assert ordered in ([0, 1, 2, 3], [3, 2, 1, 0])
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("isthmus-run")]


@pytest.mark.skipif({0, 1} - os.sched_getaffinity(0) != set(), reason="ranks are bound to cores 0 and 1")
def test_a_file_of_any_format(tmp_path: Path) -> None:
    """What the launcher does not read becomes what it reads, with the machine between."""
    machine = isthmus.load("mesh:1 cores=2 hosts=localhost")
    placement = isthmus.Placement(machine, [0, 0], [1, 0])
    told = "echo $OMPI_COMM_WORLD_RANK $(grep Cpus_allowed_list /proc/self/status); grep ^rank $ISTHMUS_PLACES"
    for format in ("table", "places", "rankfile"):
        launch.write(placement, format, tmp_path / format)
        command = [*RUN, "--machine", "mesh:1 cores=2 hosts=localhost", "--placement", str(tmp_path / format)]
        _, printed = ended([*command, "--", *launcher("openmpi", 2), "sh", "-c", told])
        assert {"0 Cpus_allowed_list: 1", "1 Cpus_allowed_list: 0"} <= set(printed.splitlines())
        assert printed.count("rank 0 node 0 localhost core 1 at 0\n") == 2


def test_what_is_asked() -> None:
    """Each program of the command becomes the shell; wrappers of the launcher stay, other verbs do not."""
    shell = ["sh", "-c", "x"]
    for given, asked in (
        ("env A=b mpirun -n 2 true x : -n 1 true", "env A=b mpirun -n 2 sh -c x : -n 1 sh -c x"),
        ("isthmus record -o x.h5 -- mpirun -n 2 true", "mpirun -n 2 sh -c x"),
        ("mpirun -n 2 nice -n 5 true", "mpirun -n 2 sh -c x"),
        ("true x", "sh -c x"),
    ):
        assert with_programs(take_apart(given.split()), shell) == asked.split()
    alone = started(take_apart(["true"]))
    assert alone.hosts == (os.uname().nodename,)
    assert alone.cpus == (tuple(sorted(os.sched_getaffinity(0))),)


def test_hosts_as_nodes() -> None:
    machine = isthmus.load("mesh:2 cores=2 hosts=a,b")
    bound = Started(("b", "a.lan", "b"), ((1,), (0,), (0,)))
    assert bound.on(machine) == isthmus.Placement(machine, [1, 0, 1], [1, 0, 0])
    # Of a system that numbers other processors, or where ranks may run on several: the order within the node.
    for cpus in (((7,), (6,), (5,)), ((0, 1), (0, 1), (0, 1)), ((0,), (0,), (0,))):
        assert Started(("b", "a", "b"), cpus).on(machine) == isthmus.Placement(machine, [1, 0, 1], [0, 0, 1])
    one = isthmus.load("mesh:1 cores=2")
    found = Started(("x", "x"), ((0,), (1,))).on(one)
    assert (found.node.tolist(), found.core.tolist()) == ([0, 0], [0, 1])
    # Launchers need the name of the host.
    assert list(found.machine.hostnames) == ["x"]
    with pytest.raises(InvalidInput, match="ranks start on x, which is no node of"):
        Started(("x", "y"), ((0,), (0,))).on(one)


def test_bad_input(tmp_path: Path) -> None:
    (tmp_path / "three").write_text("".join(f"rank {r}=node{r} slot=0:0\n" for r in range(3)))
    program = ["--", *launcher("openmpi", 2), "true"]
    host = os.uname().nodename
    for words, said in (
        (["--machine", "torus:2x2", *program], f"--machine: ranks start on {host}, which is no node of"),
        (["--machine", "nowhere.toml", *program], "nowhere.toml"),
        (["--machine", "torus:2x2", "--placement", "three", *program], "the file places 3 ranks, and 2 are started"),
        (["--machine", "mesh:2", "--placement", "three", *program], "names are node0 to node1"),
        (["--machine", "mesh:1", "--directory", "none", *program], "--directory none: there is no such folder"),
        (["--machine", "mesh:1", "-n", "2", "--", "true"], "--machine is for a program that uses MPI"),
        (["--machine", "mesh:1", "barrier:ranks=2"], "--machine is for a program: give it after --"),
        (["--machine", "mesh:1", "--", "mpirun.openmpi", "-n", "x", "true"], "cannot tell where it starts ranks"),
    ):
        done = subprocess.run([*RUN, *words], cwd=tmp_path, capture_output=True, text=True, timeout=200)
        assert done.returncode == 2, (words, done.stderr)
        assert said in done.stderr
        assert done.stderr.startswith("isthmus: ")
        assert done.stderr.count("\n") == 1, done.stderr
