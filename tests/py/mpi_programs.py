"""Building the programs of tests/mpi, running them with the recorder, and what is in their raw traces."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from isthmus.mpi.command import take_apart
from isthmus.mpi.detection import Mpi, probe
from isthmus.mpi.launch import with_variables
from isthmus.recording import raw
from isthmus.recording.build import build

SOURCES = Path(__file__).parents[1] / "mpi"
#: MPIs that programs run with: those of Debian, or others by the folders of their tools, with colons between.
MPIS = os.environ.get("ISTHMUS_TEST_MPIS", "openmpi:mpich").split(":")
# Several ranks on few processors, by root as in containers: Open MPI 4, and 5 by its launcher.
for _prefix in ("OMPI", "PRTE"):
    os.environ.setdefault(f"{_prefix}_ALLOW_RUN_AS_ROOT", "1")
    os.environ.setdefault(f"{_prefix}_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
os.environ.setdefault("OMPI_MCA_rmaps_base_oversubscribe", "1")
os.environ.setdefault("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe")
_KINDS = {
    1: "barrier", 2: "bcast", 3: "reduce", 4: "allreduce", 5: "gather", 6: "allgather", 7: "scatter", 8: "alltoall",
    9: "reduce_scatter", 10: "scan", 11: "exscan", 12: "neighbor",
}  # fmt: skip


@dataclass(frozen=True)
class Installed:
    """An MPI of this machine."""

    mpi: Mpi
    suffix: str

    def tool(self, name: str) -> str | None:
        path = os.path.join(os.path.dirname(self.mpi.mpicc), name + self.suffix)
        return path if os.access(path, os.X_OK) else None


@functools.cache
def installed(name: str) -> Installed:
    """``"openmpi"``, ``"mpich"`` (as Debian names them), the folder of its tools, or ``"mpi4"``: any that has MPI 4.

    Skips the test where it is not there.
    """
    if name != "mpi4":
        tool, suffix = (f"{name}/mpicc", "") if "/" in name else (f"mpicc.{name}", f".{name}")
        path = shutil.which(tool)
        found = probe(path) if path else None
        if found is None:
            pytest.skip(f"{tool} is not installed")
        return Installed(found, suffix)
    # The wheel "mpich" of PyPI, in this environment or named.
    for path in (os.environ.get("ISTHMUS_TEST_MPICC"), os.path.join(sys.prefix, "bin", "mpicc"), "mpicc.mpich"):
        where = shutil.which(path) if path else None
        if where and (found := probe(where)) and found.family == "MPICH" and int(found.version.split(".")[0]) >= 4:
            return Installed(found, ".mpich" if where.endswith(".mpich") else "")
    pytest.skip("no MPI of version 4 is installed (such as the wheel mpich)")


def compiled(source: str, name: str, folder: Path, *options: str) -> Path:
    """The program, compiled with this MPI; skips the test where there is no compiler for its language."""
    there = installed(name)
    target = folder / f"{Path(source).stem}.{name.replace('/', '-')}"
    compiler = there.mpi.mpicc if source.endswith(".c") else there.tool("mpifort")
    if compiler is None:
        pytest.skip(f"{there.mpi} has no Fortran compiler")
    # Headers of MPI make compilers warn of correct programs.
    flags = ["-w", "-g", "-O1", "-pthread", f"-I{SOURCES}", *options]
    subprocess.run([compiler, *flags, str(SOURCES / source), "-o", str(target)], check=True, cwd=folder)
    return target


def launcher(name: str, ranks: int) -> list[str]:
    """``mpirun -n ranks`` of this MPI."""
    run = installed(name).tool("mpirun")
    assert run is not None
    return [run, "-n", str(ranks)]


@dataclass
class Run:
    """What a program printed, how it ended, and what is in its traces."""

    status: int
    output: str
    errors: str
    traces: list[raw.Trace]

    def known(self) -> tuple[Counter[tuple[object, ...]], Counter[tuple[object, ...]]]:
        """What the program expects: of messages, of collectives."""
        messages: Counter[tuple[object, ...]] = Counter()
        collectives: Counter[tuple[object, ...]] = Counter()
        for line in self.output.splitlines():
            words = line.split()
            if words and words[0] in ("sent", "received"):
                what, rank, peer, count, size = words[0], *map(int, words[1:])
                messages[what, rank, peer, "messages"] += count
                messages[what, rank, peer, "bytes"] += size
            elif words and words[0] == "collective":
                rank, kind = int(words[1]), words[2]
                for name, value in zip(("calls", "sent", "received"), map(int, words[3:]), strict=True):
                    collectives[rank, kind, name] += value
        return +messages, +collectives


def run(command: list[str], name: str, folder: Path, **settings: str) -> Run:
    """Run a command with the recorder and read the raw traces."""
    traces = folder / "raw"
    shutil.rmtree(traces, ignore_errors=True)
    traces.mkdir()
    library = build(installed(name).mpi)
    line, environment = with_variables(take_apart(command), {"ISTHMUS_DIRECTORY": str(traces), **settings}, library)
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=120, check=False)
    files = sorted(traces.glob("*.trace"))
    return Run(done.returncode, done.stdout, done.stderr, [raw.read_trace(path) for path in files])


def calls(traces: list[raw.Trace]) -> Counter[str]:
    """How often each function was called, folded polls and counted calls included."""
    out: Counter[str] = Counter()
    for trace in traces:
        for step in trace.steps[trace.steps["kind"] != raw.MARK]:
            out[trace.functions[int(step["function"])]] += max(int(step["count"]), 1)
        out.update({trace.functions[function]: count for function, count in trace.untimed.items()})
    return out


def messages(traces: list[raw.Trace]) -> Counter[tuple[object, ...]]:
    """Messages and bytes between ranks of the world, put in as sent and got out as received."""
    out: Counter[tuple[object, ...]] = Counter()
    groups = _groups(traces)
    open_receives: dict[tuple[int, int], Any] = {}

    def add(what: str, rank: int, peer: int, size: int) -> None:
        out[what, rank, peer, "messages"] += 1
        out[what, rank, peer, "bytes"] += size

    for trace in traces:
        rank = int(trace.header["rank"])
        for item in trace.items[raw.MESSAGE].item:
            if item["direction"] == 0:
                if item["world"] >= 0:
                    add("sent", rank, int(item["world"]), int(item["bytes"]))
            elif item["request"]:
                open_receives[rank, int(item["request"])] = item
            elif item["world"] >= 0:
                add("received", rank, int(item["world"]), int(item["bytes"]))
    for trace in traces:
        rank = int(trace.header["rank"])
        for item in trace.items[raw.DONE].item:
            started = open_receives.get((rank, int(item["request"])))
            if item["flags"] & raw.RECEIVED and item["peer"] >= 0:
                group = groups[rank, int(started["comm"])]
                add("received", rank, group[int(item["peer"])], int(item["bytes"]))
            elif item["flags"] == 0 and started is not None:
                # The library did not say: as it was asked for.
                add("received", rank, int(started["world"]), int(started["bytes"]))
        for item in trace.items[raw.RMA].item:
            world = int(item["world"])
            if world >= 0 and item["kind"] in (raw.PUT, raw.ACCUMULATE, raw.GET_ACCUMULATE):
                add("sent", rank, world, int(item["bytes"]))
            if world >= 0 and item["kind"] in (raw.GET, raw.GET_ACCUMULATE):
                add("received", rank, world, int(item["fetched"]))
    return +out


def _groups(traces: list[raw.Trace]) -> dict[tuple[int, int], tuple[int, ...]]:
    """For every rank and communicator: the world ranks that peers are numbers of."""
    groups = {}
    for trace in traces:
        for comm in trace.comms:
            for local, remote in ((comm.local, comm.remote), (comm.remote, comm.local)):
                for rank in local:
                    groups[rank, comm.id] = remote or local
    return groups


def collectives(traces: list[raw.Trace]) -> Counter[tuple[object, ...]]:
    """Calls of each kind, bytes put in and got out."""
    out: Counter[tuple[object, ...]] = Counter()
    for trace in traces:
        rank = int(trace.header["rank"])
        for item in trace.items[raw.COLLECTIVE].item:
            if item["flags"] & raw.CREATED_ONLY:
                continue
            kind = _KINDS[int(item["kind"])]
            out[rank, kind, "calls"] += 1
            out[rank, kind, "sent"] += int(item["sent"])
            out[rank, kind, "received"] += int(item["received"])
    return +out
