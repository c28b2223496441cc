"""Open MPI starts programs where rankfiles and hostfiles say: on several nodes, if host names can be made up here."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from isthmus.machine import Machine
from isthmus.machine.placement import Placement
from isthmus.mapping import launch

# Instead of ssh: the daemon of a node runs here, under the name of that node.
_AGENT = """#!/bin/sh
host=$1
shift
exec unshare --uts --map-root-user sh -c "hostname $host && $*"
"""
# Of every rank: number, node, and processors that it may run on.
_PROGRAM = "echo rank $OMPI_COMM_WORLD_RANK $(hostname) $(grep Cpus_allowed_list /proc/self/status | cut -f 2)"
_BOUND = re.compile(r"^\[(\S+):\d+\] MCW rank (\d+) bound to socket (\d+)\[core (\d+)\[", re.MULTILINE)
_RANK = re.compile(r"^rank (\d+) (\S+) (\S+)$", re.MULTILINE)
_VERSION = re.compile(r"\(Open MPI\) 4\.|\(OpenRTE\) 4\.")


@dataclass(frozen=True)
class Cluster:
    machine: Machine
    options: list[str]

    def run(self, placement: Placement, options: list[str]) -> tuple[str, str]:
        """Output and errors of the program with a rank at every place."""
        run = shutil.which("mpirun.openmpi")
        assert run is not None
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        words = [run, *self.options, *options, "-np", str(placement.ranks), "sh", "-c", _PROGRAM]
        done = subprocess.run(words, env=os.environ | root, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout, done.stderr


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    run = shutil.which("mpirun.openmpi")
    if run is None:
        pytest.skip("Open MPI is not installed")
    if not _VERSION.search(subprocess.run([run, "--version"], capture_output=True, text=True, check=True).stdout):
        pytest.skip("it is not Open MPI 4")
    if len(os.sched_getaffinity(0)) < (os.cpu_count() or 1):
        pytest.skip("only some of the processors may be used here")
    rows = subprocess.run(["lscpu", "-p=SOCKET,CORE"], capture_output=True, text=True, check=True).stdout.splitlines()
    cores = {row for row in rows if not row.startswith("#")}
    sockets = {row.split(",")[0] for row in cores}
    hosts, options = [socket.gethostname()], []
    if (
        subprocess.run(["unshare", "--uts", "--map-root-user", "true"], capture_output=True, check=False).returncode
        == 0
    ):
        agent = tmp_path_factory.mktemp("cluster") / "agent"
        agent.write_text(_AGENT)
        agent.chmod(0o755)
        hosts, options = ["isthmus-a", "isthmus-b", "isthmus-c"], ["--mca", "plm_rsh_agent", str(agent)]
    topology = {"kind": "mesh", "dims": [len(hosts)]}
    node = {"cores": len(cores), "sockets": len(sockets), "numa": len(sockets)}
    machine = Machine.from_dict({"format": 1, "topology": topology, "node": node, "hostnames": ",".join(hosts)})
    return Cluster(machine, options)


@pytest.mark.parametrize("seed", [0, 1])
def test_ranks_are_bound_to_the_cores_of_the_rankfile(cluster: Cluster, seed: int, tmp_path: Path) -> None:
    machine = cluster.machine
    placement = Placement.of(machine, min(machine.cores, 12), "random", seed=seed)
    path = tmp_path / "rankfile"
    launch.write(placement, "rankfile", path)
    out, err = cluster.run(placement, ["--report-bindings", "--rankfile", str(path)])
    # What Open MPI says that it did, which counts cores over all sockets.
    bound = {int(rank): (host, int(core)) for host, rank, _, core in _BOUND.findall(err)}
    assert bound == {r: (h, int(placement.core[r])) for r, h in enumerate(placement.hosts())}
    # What the ranks say: where they are, and that different cores are different processors.
    told = {int(rank): (host, cpus) for rank, host, cpus in _RANK.findall(out)}
    assert [told[r][0] for r in range(placement.ranks)] == placement.hosts()
    processors = {(int(placement.core[r]), told[r][1]) for r in range(placement.ranks)}
    assert len(processors) == len({core for core, _ in processors}) == len({cpus for _, cpus in processors})
    assert launch.read(path, machine) == placement


def test_ranks_are_on_the_nodes_of_the_hostfile(cluster: Cluster, tmp_path: Path) -> None:
    machine = cluster.machine
    placement = Placement(machine, np.random.default_rng(2).permutation(np.arange(6) % machine.nodes))
    path = tmp_path / "hostfile"
    launch.write(placement, "hostfile", path)
    out, _ = cluster.run(placement, ["--oversubscribe", "--map-by", "seq", "--hostfile", str(path)])
    told = {int(rank): host for rank, host, _ in _RANK.findall(out)}
    assert [told[r] for r in range(placement.ranks)] == placement.hosts()
