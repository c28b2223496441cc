"""isthmus run --placement mapped -- COMMAND: ranks started by what they exchange, where that is better."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import emulated_hosts
import isthmus
from isthmus.errors import InvalidInput, ParseError
from isthmus.mapping import launch
from isthmus.mapping.launch.starting import contradicting, starting
from isthmus.running.mapped import mapped
from isthmus.running.taken import Taken, Used
from mpi_programs import compiled, launcher
from test_run_machine import RUN, ended

HERE = emulated_hosts.obstacle("mpirun.openmpi", "mpicc.openmpi", "mpiexec.mpich", "mpicc.mpich")
needs_hosts = pytest.mark.skipif(bool(HERE), reason=f"hosts of namespaces: {HERE}")
#: Every rank says where it is and with how many it shares a node. MPICH over UCX does not come back from MPI_Finalize
#: on such hosts.
TELL = """#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(void) {
  int rank, there;
  char host[99];
  MPI_Comm node;
  MPI_Init(0, 0);
  gethostname(host, 99);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &there);
  printf("at %d %s %d\\n", rank, host, there);
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
#ifdef MPICH_VERSION
  _exit(0);
#endif
  MPI_Finalize();
}
"""


def graph(path: Path, ranks: int, edges: Iterable[tuple[int, int]]) -> Path:
    """What ranks exchange, as a METIS graph: 100 bytes along each edge."""
    near: list[list[int]] = [[] for _ in range(ranks)]
    for a, b in edges:
        near[a].append(b)
        near[b].append(a)
    lines = [" ".join(f"{other + 1} 100" for other in own) for own in near]
    path.write_text(f"{ranks} {sum(map(len, near)) // 2} 001\n" + "\n".join(lines) + "\n")
    return path


def told(printed: str) -> tuple[list[str], list[int]]:
    """Of every rank the host, and with how many it shares a node."""
    found = {int(w[1]): (w[2], int(w[3])) for w in map(str.split, printed.splitlines()) if w[:1] == ["at"]}
    return [found[r][0] for r in range(len(found))], [found[r][1] for r in range(len(found))]


@needs_hosts
@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("name", "per_host", "edges", "line"),
    [
        ("openmpi", 2, [(0, 2), (1, 3)], ((0, 2), (1, 3))),
        ("openmpi", 1, [(0, 3), (3, 1), (1, 2)], (0, 3, 1, 2)),
        ("mpich", 1, [(0, 3), (3, 1), (1, 2)], (0, 3, 1, 2)),
        ("mpich", 2, [(0, 5), (1, 4), (5, 2), (4, 3)], ((0, 1), (4, 5), (2, 3))),
    ],
)
def test_over_hosts(
    name: str, per_host: int, edges: list[tuple[int, int]], line: Sequence[int | tuple[int, ...]], tmp_path: Path
) -> None:
    """Hosts on a line, whose ranks exchange along another one: those that do are then neighbours, or on one host."""
    tmp_path.chmod(0o755)
    (tmp_path / "tell.c").write_text(TELL)
    program = compiled(str(tmp_path / "tell.c"), name, tmp_path)
    ranks = per_host * len(line)
    file = graph(tmp_path / "ranks.graph", ranks, edges)
    with emulated_hosts.hosts(len(line), "1gbit") as hosts:
        there = hosts.openmpi(per_host) if name == "openmpi" else hosts.mpich(per_host)
        machine = f"mesh:{len(line)} cores=2 hosts={','.join(hosts.names)}"
        words = ["--machine", machine, "--placement", "mapped", "--recording", str(file), "--directory", str(tmp_path)]
        found, printed = ended([*hosts.inside(), *RUN, *words, "--", *there, str(program)])
        where, sharing = told(printed)
        places = [hosts.names.index(host) for host in where]
    assert sharing == [per_host] * ranks
    blocks = [set(np.atleast_1d(block).tolist()) for block in line]
    on_hosts = [{r for r in range(ranks) if places[r] == host} for host in range(len(line))]
    assert on_hosts in (blocks, blocks[::-1])
    hops = sum(100 * abs(places[a] - places[b]) for a, b in edges)
    usual = sum(100 * abs(a // per_host - b // per_host) for a, b in edges)
    assert (found["placement"]["hop_bytes"], found["placement"]["usual"]) == (hops, usual)
    assert hops < usual
    assert not found["placement"]["kept"]


def test_one_node_stays_as_usual(tmp_path: Path) -> None:
    """Where nothing is to be gained; the recording of an earlier run of the command is found by itself."""
    (tmp_path / "ring.c").write_text(
        "#include <mpi.h>\nint main(void) {\n  int a = 1;\n  MPI_Init(0, 0);\n"
        "  MPI_Allreduce(MPI_IN_PLACE, &a, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);\n  MPI_Finalize();\n}\n"
    )
    program = compiled(str(tmp_path / "ring.c"), "openmpi", tmp_path)
    command = ["--", *launcher("openmpi", 2), str(program)]
    words = [sys.executable, "-m", "isthmus"]
    run = [*words, "run", "--machine", "mesh:1 cores=4", "--placement", "mapped"]

    def done(line: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=200)

    none = done([*run, *command])
    assert none.returncode == 2
    assert none.stderr.startswith("isthmus: --placement mapped needs a recording of what ranks exchange: give one by")
    assert none.stderr.endswith(f"or make ring.h5 with: isthmus record -- {' '.join(command[1:])}\n")
    assert done([*words, "record", *command]).returncode == 0
    kept = done([*run, *command])
    assert kept.returncode == 0, kept.stderr
    said = "ranks started in the usual order (0 B hop-bytes): no order was found that has fewer hop-bytes"
    assert kept.stderr.splitlines()[-1] == said
    other = done([*run, *command, "another"])
    assert other.returncode == 2
    assert other.stderr.startswith("isthmus: --placement mapped: ring.h5 is the recording of ")
    three = done([*run, "--recording", "ring.h5", "--", *launcher("openmpi", 3), str(program)])
    assert three.returncode == 2
    assert "the recording has 2 ranks, and 3 are started: record a run with 3\n" in three.stderr
    for options, why in (
        (["--placement", "mapped"], "--placement mapped needs --machine"),
        (["--recording", "ring.h5"], "--recording needs --machine"),
        (["--machine", "mesh:1", "--recording", "ring.h5"], "--recording is for --placement"),
        (["--machine", "mesh:1", "--placement", "mapped", "--recording", "none.h5"], "none.h5"),
    ):
        bad = done([*words, "run", *options, *command])
        assert (bad.returncode, bad.stderr.count("\n")) == (2, 1), bad.stderr
        assert why in bad.stderr


def pattern(ranks: int, edges: Iterable[tuple[int, int]]) -> isthmus.Pattern:
    pairs = np.array(list(edges))
    return isthmus.Pattern.of(ranks, source=pairs[:, 0], target=pairs[:, 1], bytes=1000)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("any_order", [True, False])
def test_never_worse_and_on_the_same_places(seed: int, any_order: bool) -> None:
    """Patterns and places of all kinds: a node keeps its ranks' number and its cores, and nothing gets worse."""
    random = np.random.default_rng(seed)
    machine = isthmus.load(
        ("torus:4x3 cores=4 sockets=2", "dragonfly:a=2,p=2,h=1,g=3 cores=4", "mesh:5 cores=4")[seed % 3]
    )
    nodes = random.permutation(machine.nodes)[:4]
    node = np.repeat(nodes, 3) if seed < 4 else np.tile(nodes, 3)
    core = np.tile([0, 2, 3], 4) if seed < 4 else np.repeat([1, 0, 3], 4)
    usual = isthmus.Placement(machine, node, core)
    exchanged = pattern(12, random.integers(0, 12, (20, 2)))
    found = mapped(exchanged, usual, any_order=any_order)
    new = found.placement
    assert sorted(zip(new.node, new.core, strict=True)) == sorted(zip(usual.node, usual.core, strict=True))
    before, after = (isthmus.evaluate(exchanged, p) for p in (usual, new))
    assert (found.hop_bytes, found.usual) == (after.hop_bytes, before.hop_bytes)
    assert after.hop_bytes <= before.hop_bytes
    assert after.maximum_congestion <= before.maximum_congestion * 1.000001
    assert bool(found.kept) == (new == usual)
    if not any_order and seed >= 4:
        assert found.kept == "this launcher starts ranks of a host one after the other, and they are not so"
    if not any_order and not found.kept:
        assert (np.diff(new.node) != 0).sum() == 3


def test_cores_of_one_node() -> None:
    """Ranks that exchange much share a socket; no hop-bytes are to be had."""
    machine = isthmus.load("mesh:1 cores=4 sockets=2")
    usual = isthmus.Placement(machine, [0] * 4, [0, 1, 2, 3])
    found = mapped(pattern(4, [(0, 2), (1, 3)]), usual)
    sockets = found.placement.location.socket
    assert sockets[0] == sockets[2] != sockets[1] == sockets[3]
    assert (found.sockets, found.usual_sockets, found.kept) == (0, 2000, "")
    one = launch.text(found.placement, "rankfile")
    assert sorted(line.split("slot=")[1] for line in one.splitlines()) == ["0:0", "0:1", "1:0", "1:1"]


def test_shared_cores_and_uneven_hosts() -> None:
    machine = isthmus.load("mesh:3 cores=1")
    usual = isthmus.Placement(machine, [0, 0, 1, 1])
    assert mapped(pattern(4, [(0, 2), (1, 3)]), usual).hop_bytes == 0
    uneven = mapped(pattern(4, [(0, 3), (1, 3), (2, 3)]), isthmus.Placement(machine, [0, 0, 1, 2]))
    assert np.array_equal(np.sort(uneven.placement.node), [0, 0, 1, 2])
    with pytest.raises(InvalidInput, match="the recording has 3 ranks, and 4 are started"):
        mapped(pattern(3, [(0, 1)]), usual)


def test_host_files_of_mpich(tmp_path: Path) -> None:
    """What MPICH's launcher was seen to read; ranks of a host apart need an option of MPICH 5."""
    machine = isthmus.load("mesh:2 cores=2 hosts=a,b")
    in_a_row = isthmus.Placement(machine, [1, 1, 0, 0], [1, 0, 0, 1])
    apart = isthmus.Placement(machine, [1, 0, 0, 1], [1, 0, 1, 0])
    assert launch.text(in_a_row, "hydra") == "b:2 binding=user:1,0\na:2 binding=user:0,1\n"
    assert launch.text(in_a_row, "hydra", bind=False) == "b:2\na:2\n"
    file = tmp_path / "hosts"
    launch.write(in_a_row, "hydra", file)
    assert starting(file, "mpiexec", "MPICH", "4.0.2") == (["-f", str(file)], {})
    launch.write(apart, "hydra", file)
    assert file.read_text().startswith("# -rankmap (vector,0,1,1,0)\nb:2 binding")
    assert launch.read(file, machine) == apart
    assert starting(file, "mpiexec", "MPICH", "5.0.2")[0] == ["-f", str(file), "-rankmap", "(vector,0,1,1,0)"]
    with pytest.raises(InvalidInput, match=r"which MPICH 4\.0\.2 cannot start: MPICH 5 can"):
        starting(file, "mpiexec", "MPICH", "4.0.2")
    for text, said in (
        ("a:2 binding=user:1\n", "must have a core for each of 2 ranks"),
        ("a:2 binding=user:0,1\nb:1\n", "some hosts have a binding and some have none"),
        ("# -rankmap (vector,0,1)\na:2\n", "does not give every host as many ranks as its line does"),
        ("c:2\n", "c"),
        ("a:x\n", "expected 'HOST:RANKS binding=user:CORE,...'"),
    ):
        file.write_text(text)
        with pytest.raises(ParseError, match=said.replace(".", r"\.")):
            launch.read(file, machine, "hydra")


def test_options_that_would_contradict(tmp_path: Path) -> None:
    machine = isthmus.load("mesh:2 cores=2 hosts=a,b")
    where = isthmus.Placement(machine, [1, 0])
    for format in ("rankfile", "hostfile", "hydra"):
        launch.write(where, format, tmp_path / format)
    assert "--bind-to" in contradicting("mpirun", "Open MPI", "4.1.4", tmp_path / "rankfile")
    assert "--bind-to" not in contradicting("mpirun", "Open MPI", "4.1.4", tmp_path / "hostfile")
    assert "--host" in contradicting("mpirun", "Open MPI", "4.1.4", tmp_path / "hostfile")
    assert "--host" not in contradicting("mpirun", "Open MPI", "5.0.11", tmp_path / "hostfile")
    assert {"-hosts", "-bind-to"} <= set(contradicting("mpiexec", "MPICH", "4.0.2", tmp_path / "hydra"))


@pytest.mark.skipif({0, 1} - os.sched_getaffinity(0) != set(), reason="ranks are bound to cores 0 and 1")
@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_a_file_beside_the_usual_order(name: str, tmp_path: Path) -> None:
    """Any format, both MPIs: the ranks are there, and what it is worth is said."""
    machine = isthmus.load("mesh:1 cores=2 hosts=localhost")
    launch.write(isthmus.Placement(machine, [0, 0], [1, 0]), "table", tmp_path / "ranks")
    file = graph(tmp_path / "ranks.graph", 2, [(0, 1)])
    words = ["--machine", machine.spec, "--placement", str(tmp_path / "ranks"), "--recording", str(file), "--"]
    told = "echo ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} $(grep Cpus_allowed_list /proc/self/status)"
    found, printed = ended([*RUN, *words, *launcher(name, 2), "sh", "-c", told])
    assert {"0 Cpus_allowed_list: 1", "1 Cpus_allowed_list: 0"} <= set(printed.splitlines())
    assert (found["placement"]["hop_bytes"], found["placement"]["usual"]) == (0, 0)
    assert found["placement"]["name"] == str(tmp_path / "ranks")


def test_words() -> None:
    used = Used("mapped", 3000, 7000)
    assert str(replace(used, name="ranks.txt")).startswith(
        "ranks were placed by ranks.txt: 3 kB hop-bytes, 7 kB in the"
    )
    assert str(Taken(0, 2, 2, (), (), used)).splitlines()[1:] == [
        "ranks were placed by what they exchange: 3 kB hop-bytes, 7 kB in the usual order"
    ]
    assert str(Used("mapped", 0, 0, 1000, 2000)).endswith("; 1 kB between sockets, 2 kB in the usual order")
