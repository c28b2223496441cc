"""Writes OTF2 traces of programs with the package otf2, bytes of collectives counted as Score-P does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import otf2
from otf2.enums import CollectiveOp, GroupType, LocationType, Paradigm

from isthmus import Program
from isthmus.schedule.program import CollectiveKind, EventKind

#: Ticks of 0.5 ns.
RESOLUTION = 2_000_000_000
NOBODY = 0xFFFFFFFF


class Otf2Trace:
    """An archive with a location for every rank; ``leave`` advances the clock of a rank."""

    def __init__(self, folder: Path, ranks: int) -> None:
        self.writer = otf2.writer.Writer(str(folder), timer_resolution=RESOLUTION)
        d = self.writer.definitions
        node = d.system_tree_node("node7")
        self.locations = []
        for rank in range(ranks):
            process = d.location_group(f"MPI Rank {rank}", system_tree_parent=node)
            self.locations.append(d.location("Master thread", type=LocationType.CPU_THREAD, group=process))
        d.group("locations", group_type=GroupType.COMM_LOCATIONS, paradigm=Paradigm.MPI, members=self.locations)
        self.world = self.comm(list(range(ranks)))
        self.events = [self.writer.event_writer_from_location(location) for location in self.locations]
        self.now = [1000] * ranks
        self._regions: dict[str, Any] = {}

    def comm(self, members: list[int], parent: Any = None) -> Any:
        group = self.writer.definitions.group(
            "", group_type=GroupType.COMM_GROUP, paradigm=Paradigm.MPI, members=[self.locations[m] for m in members]
        )
        return self.writer.definitions.comm(f"comm {len(members)}", group=group, parent=parent)

    def enter(self, rank: int, name: str, gap: int = 0) -> Any:
        """Enters a region ``gap`` ticks later; gives what writes events, and the time."""
        if name not in self._regions:
            paradigm = Paradigm.MPI if name.startswith("MPI_") else Paradigm.COMPILER
            self._regions[name] = self.writer.definitions.region(name, paradigm=paradigm)
        self.now[rank] += gap
        self.events[rank].enter(self.now[rank], self._regions[name])
        return self.events[rank]

    def leave(self, rank: int, name: str, lasts: int = 2000) -> None:
        self.now[rank] += lasts
        self.events[rank].leave(self.now[rank], self._regions[name])

    def close(self) -> None:
        self.writer.close()


class ProgramWriter:
    """A program as a trace; receives and nonblocking collectives say what they are when they are complete."""

    def __init__(self, program: Program, folder: Path) -> None:
        self.program = program
        self.trace = Otf2Trace(folder, program.ranks)
        members = [program.members(c).tolist() for c in range(program.communicators)]
        self.comms = [self.trace.world, *(self.trace.comm(m, self.trace.world) for m in members[1:])]
        for rank in range(program.ranks):
            self.rank, self.gap = rank, 0
            self.open: dict[int, Any] = {}
            self._region("MPI_Init")
            self.trace.enter(rank, "main")
            for event in program.events(rank):
                if event.kind == EventKind.compute:
                    self.gap += event.amount // 500
                else:
                    getattr(self, f"_{event.kind.name}")(event)
            self.trace.now[rank] += self.gap
            self.trace.leave(rank, "main", 0)
            self._region("MPI_Finalize")
        self.trace.close()

    def _region(self, name: str, *writes: Any) -> None:
        out = self.trace.enter(self.rank, name, self.gap)
        self.gap = 0
        for method, *arguments in writes:
            getattr(out, method)(self.trace.now[self.rank] + 1, *arguments)
        self.trace.leave(self.rank, name)

    def _send(self, e: Any) -> None:
        self._region("MPI_Send", ("mpi_send", e.peer, self.comms[e.comm], e.tag, e.amount))

    def _isend(self, e: Any) -> None:
        self._region("MPI_Isend", ("mpi_isend", e.peer, self.comms[e.comm], e.tag, e.amount, e.request))
        self.open[e.request] = ("mpi_isend_complete", e.request)

    def _irecv(self, e: Any) -> None:
        self._region("MPI_Irecv", ("mpi_irecv_request", e.request))
        self.open[e.request] = ("mpi_irecv", e.peer, self.comms[e.comm], e.tag, e.amount, e.request)

    def _sendrecv(self, e: Any) -> None:
        source, tag, size = e.detail
        comm = self.comms[e.comm]
        sent = ("mpi_send", e.peer, comm, e.tag, e.amount)
        self._region("MPI_Sendrecv", sent, ("mpi_recv", source, comm, tag, size))

    def _wait(self, e: Any) -> None:
        self._region("MPI_Wait", self.open.pop(e.request))

    def _test(self, e: Any) -> None:
        self._region("MPI_Test", self.open.pop(e.request))

    def _waitall(self, e: Any) -> None:
        self._region("MPI_Waitall", *(self.open.pop(request) for request in e.detail))

    def _comm_create(self, e: Any) -> None:
        self._collected("MPI_Comm_split", (CollectiveOp.CREATE_HANDLE, self.comms[e.comm], NOBODY, 0, 0))

    def _collected(self, name: str, what: tuple[Any, ...]) -> None:
        self._region(name, ("mpi_collective_begin",), ("mpi_collective_end", *what))

    def _collective(self, e: Any) -> None:
        members = self.program.members(e.comm).tolist()
        me, n = members.index(self.rank), len(members)
        sent, received = as_score_p_counts(e.what.name, e.amount, me, n, e.peer)
        root = e.peer if e.what.name in ("bcast", "reduce", "gather", "scatter") else NOBODY
        what = (getattr(CollectiveOp, e.what.name.upper()), self.comms[e.comm], root, sent, received)
        if e.request:
            self._region(f"MPI_I{e.what.name}", ("non_blocking_collective_request", e.request))
            self.open[e.request] = ("non_blocking_collective_complete", *what, e.request)
        else:
            self._collected(f"MPI_{e.what.name.capitalize()}", what)


def as_score_p_counts(kind: str, bytes: int, me: int, n: int, root: int) -> tuple[int, int]:
    """Bytes sent and received of SCOREP_Mpi_Coll.c, without MPI_IN_PLACE."""
    at_root = me == root
    return {
        "barrier": (0, 0),
        "bcast": (n * bytes if at_root else 0, bytes),
        "reduce": (bytes, n * bytes if at_root else 0),
        "gather": (bytes, n * bytes if at_root else 0),
        "scatter": (n * bytes if at_root else 0, bytes),
        "scan": ((n - me) * bytes, (me + 1) * bytes),
        "exscan": ((n - me - 1) * bytes, me * bytes),
    }.get(kind, (n * bytes, n * bytes))


assert set(CollectiveKind.__members__) > {"reduce_scatter", "alltoall"}
