"""OTF2 traces, as Score-P and others write them, by the package otf2 of PyPI.

Every outermost MPI region is a call; what it sent, received and completed are the MPI events in it. Bytes of
collectives are understood as Score-P counts them: an allreduce of n bytes among N ranks counts as N n bytes sent and
received, and so on. How MPI_Alltoallv divides its bytes is not in the trace: evenly, here. From one-sided calls,
accesses and fences are taken over; others are named as not modelled.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy as np

from ... import separate
from ...errors import ParseError, Unsupported
from ...recording import raw
from ...recording.assembly import Assembly
from ...recording.clocks import Clock
from ...recording.communicators import SELF, WORLD
from ...schedule.hdf5 import read_noun
from ...schedule.hdf5_columns import open_columns
from ...schedule.program import Program
from .otf2_events import Location, named

# Events that the package reads at once, and between two reports of progress.
_BATCH = 10_000
#: Seconds of processor time between two reports of progress, besides one for each of so many bytes of the trace; bytes
#: of memory and of the copy, besides so many for each.
_SECONDS = 10
_BYTES_PER_SECOND = 1 << 20
_MEMORY = 4 << 30
_EXPANSION = 64
# Ids of communicators begin here.
_FIRST_ID = 1 << 62


def read_otf2(path: str | os.PathLike[str], *, progress: Callable[[int, int], None] | None = None) -> Program:
    """The Program of an OTF2 trace, with its Recording.

    Parameters
    ----------
    path : path
        The anchor file, ``traces.otf2``.
    progress : callable, optional
        Called with the events read and the events of all.

    Raises
    ------
    Unsupported
        If the package otf2 is not installed.
    ParseError
        For a trace that cannot be read, or has no processes.
    """
    if importlib.util.find_spec("otf2") is None:
        raise Unsupported("reading OTF2 traces needs the package otf2, which is missing: pip install 'isthmus[otf2]'")
    name = os.fspath(path)
    what = "cannot be read as an OTF2 trace: it is damaged or lacks definitions"
    with separate.copied(__name__, name, _limits(name), what, progress=progress) as copy:
        try:
            with open_columns(copy) as (noun, version, reader):
                found = read_noun(noun, version, reader)
        except ParseError as error:
            raise ParseError(name, None, None, f"{what} ({error.message})") from None
    assert isinstance(found, Program)
    return found


def _limits(anchor: str) -> separate.Limits:
    """Between two reports of progress are the definitions of all, the events of a batch, or the end."""
    os.stat(anchor)
    folder = os.path.splitext(anchor)[0]
    files = [anchor, folder + ".def", *(entry.path for entry in os.scandir(folder))] if os.path.isdir(folder) else []
    size = sum(os.path.getsize(file) for file in files if os.path.exists(file))
    memory = _MEMORY + _EXPANSION * size
    return separate.Limits(_SECONDS + size // _BYTES_PER_SECOND, memory, memory)


def copy(source: str, target: str, progress: separate.Progress) -> None:
    """Write the Program of an OTF2 trace, as the child process that the package runs in."""
    import _otf2
    import otf2

    try:
        with otf2.reader.open(source, batch_events=_BATCH) as trace:
            program = _Reading(source, trace).run(progress)
    except (_otf2.Error, otf2.error.Error) as error:
        raise ParseError(source, None, None, str(error)) from None
    program.save(target, compression="none")


class _Reading:
    def __init__(self, path: str, trace: Any) -> None:
        self.path = path
        self.trace = trace
        clock = trace.definitions.clock_properties
        self.offset, self.resolution = clock.global_offset, clock.timer_resolution
        self.locations: dict[Any, tuple[int, Location]] = {}
        self.hosts: list[str] = []
        self._find_locations()
        self._groups: dict[Any, tuple[int, tuple[int, ...]]] = {}
        self._used: list[dict[Any, tuple[int, int, int]]] = [{} for _ in self.hosts]

    def _find_locations(self) -> None:
        """Ranks and threads of locations: MPI numbers the first location of each process."""
        definitions = self.trace.definitions
        first: list[Any] = []
        for group in definitions.groups:
            if named(group.group_type) == "COMM_LOCATIONS" and named(group.paradigm) == "MPI":
                first = list(group.members)
        processes = [location.group for location in first] or [
            group for group in definitions.location_groups if named(group.location_group_type) == "PROCESS"
        ]
        if not processes:
            raise ParseError(self.path, None, None, "the trace has no processes")
        rank_of = {process: rank for rank, process in enumerate(processes)}
        self.hosts = [_host(process) for process in processes]
        serials = [itertools.count(1) for _ in processes]
        threads = [itertools.count() for _ in processes]
        for location in sorted(definitions.locations, key=lambda one: one not in first):
            rank = rank_of.get(location.group)
            if rank is not None:
                serial = partial(next, serials[rank])
                made = Location(next(threads[rank]), partial(self._communicator, rank), serial)
                self.locations[location] = (rank, made)

    def _communicator(self, rank: int, comm: Any) -> tuple[int, int, int]:
        """Id of a communicator, the place of a rank in it, and how many ranks it has."""
        used = self._used[rank]
        if comm not in used:
            if comm not in self._groups:
                self._groups[comm] = self._described(comm)
            id, members = self._groups[comm]
            used[comm] = (id, members.index(rank), len(members)) if rank in members else (SELF + rank, 0, 1)
        return used[comm]

    def _described(self, comm: Any) -> tuple[int, tuple[int, ...]]:
        """Id and members of a communicator as ranks of the world; no members for one of every rank alone."""
        if named(comm.group.group_type) == "COMM_SELF":
            return 0, ()
        local = self._ranks(comm.group)
        world = local == tuple(range(len(self.hosts))) and comm.parent is None
        return WORLD if world else _FIRST_ID + comm._ref, local

    def _ranks(self, group: Any) -> tuple[int, ...]:
        return tuple(self.locations[member][0] for member in group.members if member in self.locations)

    def run(self, progress: separate.Progress) -> Program:
        total = len(self.trace.events)
        for count, (location, event) in enumerate(self.trace.events):
            if count % _BATCH == 0:
                progress(count, total)
            if location in self.locations:
                time = round((event.time - self.offset) * 1_000_000_000 / self.resolution)
                self.locations[location][1].take(time, event)
        return self._assembled()

    def _assembled(self) -> Program:
        ranks = len(self.hosts)
        threads: list[list[Location]] = [[] for _ in range(ranks)]
        for rank, location in self.locations.values():
            threads[rank].append(location)
        zero = min((t.first for mine in threads for t in mine if t.first >= 0), default=0)
        assembly = Assembly(ranks, threaded=any(sum(len(t.trace) > 0 for t in mine) > 1 for mine in threads))
        spans = np.array([_span(mine, zero) for mine in threads]) - zero
        for rank, mine in enumerate(threads):
            for comm, (id, place, _) in self._used[rank].items():
                mine[0].trace.comms.append(raw.Communicator(id, 0, place, self._groups[comm][1] or (rank,), ()))
            active = [t.trace.finish(self.path) for i, t in enumerate(mine) if i == 0 or len(t.trace)]
            assembly.add(active, Clock(offset=-zero), *spans[rank].tolist())
        return assembly.finish(self._about(threads, spans))

    def _about(self, threads: list[list[Location]], spans: Any) -> dict[str, Any]:
        hosts = tuple(dict.fromkeys(self.hosts))
        zeros = np.zeros(len(threads), np.uint32)
        # All ones where it is not known.
        start = int(self.trace.definitions.clock_properties.realtime_timestamp)
        known = 0 < start < 1 << 63
        started = datetime.fromtimestamp(start // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if known else ""
        return {
            "command": "", "directory": os.path.dirname(self.path), "library": "", "mpi": (0, 0),
            "started": started,
            "version": "", "hosts": hosts, "host": [hosts.index(name) for name in self.hosts],
            "cpus": zeros, "cpus_online": zeros, "ending": zeros, "wall": (spans[:, 1] - spans[:, 0]) * 1e-9,
            "cpu": np.full(len(threads), np.nan), "init": _lasted([mine[0].init for mine in threads]),
            "finalize": _lasted([mine[0].finalize for mine in threads]), "recorder": zeros * 0.0, "memory": zeros,
            "lost": zeros, "clock_error": zeros * 0.0,
        }  # fmt: skip


def _span(threads: list[Location], zero: int) -> tuple[int, int]:
    """When a rank left MPI_Init and entered MPI_Finalize, or began and ended."""
    first = threads[0] if threads else None
    if first is None or first.first < 0:
        return zero, zero
    begin = first.init[1] if first.init else first.first
    return begin, max(first.finalize[0] if first.finalize else max(t.last for t in threads), begin)


def _lasted(spans: list[tuple[int, int] | None]) -> Any:
    return np.array([np.nan if span is None else (span[1] - span[0]) * 1e-9 for span in spans])


def _host(process: Any) -> str:
    """The name of the node that a process is on."""
    node = process.system_tree_parent
    return str(node.name) if node is not None else "unknown"


if __name__ == "__main__":
    sys.exit(separate.main(copy, sys.argv[1:]))
