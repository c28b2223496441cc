"""Events of one OTF2 location as calls: what is between entering and leaving an MPI region belongs to one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...recording import raw
from ...recording.trace_builder import TraceBuilder

#: Collectives of OTF2, as those of a Program; what is missing here makes or frees something.
KINDS = {
    "BARRIER": 1, "BCAST": 2, "REDUCE": 3, "ALLREDUCE": 4, "GATHER": 5, "GATHERV": 5, "ALLGATHER": 6, "ALLGATHERV": 6,
    "SCATTER": 7, "SCATTERV": 7, "ALLTOALL": 8, "ALLTOALLV": 8, "ALLTOALLW": 8, "REDUCE_SCATTER": 9,
    "REDUCE_SCATTER_BLOCK": 9, "SCAN": 10, "EXSCAN": 11,
}  # fmt: skip
#: Collectives that do not synchronise.
_LOCAL = ("DESTROY_HANDLE", "DEALLOCATE", "DESTROY_HANDLE_AND_DEALLOCATE")
#: Calls that return at once; without an event in them they found nothing.
_POLLS = ("MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome", "MPI_Iprobe", "MPI_Improbe")
#: OTF2 has no number for a rank that does not exist but this one, as 32 bits.
_NOBODY = 0xFFFFFFFF


class Location:
    """The events of one location.

    Parameters
    ----------
    thread : int
    communicator : callable
        For a communicator of OTF2 its id, the rank's place in it, and its size.
    serial : callable
        A number for another request of the process.
    """

    def __init__(
        self, thread: int, communicator: Callable[[Any], tuple[int, int, int]], serial: Callable[[], int]
    ) -> None:
        self.trace = TraceBuilder(thread)
        self.first = self.last = -1
        self.init: tuple[int, int] | None = None
        self.finalize: tuple[int, int] | None = None
        self._communicator = communicator
        self._serial = serial
        self._regions: list[str] = []
        self._mpi: dict[Any, bool] = {}
        #: The open MPI region: how deep it is nested, its name, begin, place and records.
        self._depth = 0
        self._name, self._begin, self._site = "", 0, ""
        self._steps: list[int] = []
        self._opened: dict[int, dict[str, int]] = {}

    def take(self, time: int, event: Any) -> None:
        """The next event; those that mean nothing here are passed over."""
        self.first = time if self.first < 0 else self.first
        self.last = time
        handler = getattr(self, f"_{type(event).__name__}", None)
        if handler is not None:
            handler(time, event)

    # Regions.

    def _Enter(self, time: int, event: Any) -> None:
        region = event.region
        name = region.name
        if region not in self._mpi:
            self._mpi[region] = name.startswith("MPI_") or named(region.paradigm) == "MPI"
        if self._depth == 0 and self._mpi[region]:
            self._depth = len(self._regions) + 1
            self._name, self._begin, self._site = name, time, self._regions[-1] if self._regions else ""
            self._steps = [self.trace.call(name, raw.PLAIN, time, time, site=self._site)]
        self._regions.append(name)

    def _Leave(self, time: int, event: Any) -> None:
        if len(self._regions) == self._depth:
            self._depth = 0
            for step in self._steps:
                self.trace.end(step, time)
            if self._name.startswith("MPI_Init"):
                self.init = (self._begin, time)
            elif self._name == "MPI_Finalize":
                self.finalize = (self._begin, time)
            elif self._name in _POLLS and self.trace.form(self._steps[0]) == raw.PLAIN:
                self.trace.unsuccessful(self._steps[0])
        if self._regions:
            self._regions.pop()

    def _step(self, form: int, time: int, name: str) -> int:
        """The record of this form of the call that is open; events outside of any region are calls of their own."""
        if self._depth == 0:
            return self.trace.call(name, form, time, time)
        for step in self._steps:
            if self.trace.form(step) in (form, raw.PLAIN) and form != raw.COLLECTIVE:
                self.trace.form(step, form)
                return step
        if self.trace.form(self._steps[0]) == raw.PLAIN:
            self.trace.form(self._steps[0], form)
            return self._steps[0]
        self._steps.append(self.trace.call(self._name, form, self._begin, time, site=self._site))
        return self._steps[-1]

    # Messages.

    def _message(self, time: int, name: str, event: Any, peer: int, **more: int) -> dict[str, int]:
        id, _, _ = self._communicator(event.communicator)
        step = self._step(raw.MESSAGE, time, name)
        return self.trace.message(
            step, peer=_rank(peer), world=0, tag=event.msg_tag, comm=id, bytes=event.msg_length, **more
        )

    def _MpiSend(self, time: int, event: Any) -> None:
        self._message(time, "MPI_Send", event, event.receiver)

    def _MpiRecv(self, time: int, event: Any) -> None:
        self._message(time, "MPI_Recv", event, event.sender, direction=1)

    def _MpiIsend(self, time: int, event: Any) -> None:
        message = self._message(time, "MPI_Isend", event, event.receiver, request=self._serial())
        self._opened[event.request_id] = message

    def _MpiIrecvRequest(self, time: int, event: Any) -> None:
        # Whom it is from is said when it is complete.
        step = self._step(raw.MESSAGE, time, "MPI_Irecv")
        self._opened[event.request_id] = self.trace.message(step, peer=raw.NULL, direction=1, request=self._serial())

    def _MpiIsendComplete(self, time: int, event: Any) -> None:
        message = self._opened.pop(event.request_id, None)
        if message is not None:
            self.trace.done(self._step(raw.DONE, time, "MPI_Wait"), message["request"])

    def _MpiIrecv(self, time: int, event: Any) -> None:
        message = self._opened.pop(event.request_id, None)
        if message is None:
            self._message(time, "MPI_Recv", event, event.sender, direction=1)
            return
        id, _, _ = self._communicator(event.communicator)
        peer, tag, size = _rank(event.sender), event.msg_tag, event.msg_length
        message.update(peer=peer, asked_peer=peer, tag=tag, asked_tag=tag, bytes=size, comm=id)
        self.trace.done(self._step(raw.DONE, time, "MPI_Wait"), message["request"], raw.RECEIVED, peer, tag, size)

    def _MpiRequestCancelled(self, time: int, event: Any) -> None:
        message = self._opened.pop(event.request_id, None)
        if message is not None:
            self.trace.done(self._step(raw.DONE, time, "MPI_Wait"), message["request"], raw.CANCELLED)

    # Collectives.

    def _MpiCollectiveEnd(self, time: int, event: Any) -> None:
        if named(event.collective_op) not in _LOCAL:
            self.trace.collective(self._step(raw.COLLECTIVE, time, "MPI_Collective"), **self._called(event))

    def _NonBlockingCollectiveRequest(self, time: int, event: Any) -> None:
        step = self._step(raw.COLLECTIVE, time, "MPI_Icollective")
        # What is not complete at the end was not called by all; it must not stand for a collective.
        self._opened[event.request_id] = self.trace.collective(
            step, request=self._serial(), flags=raw.CREATED_ONLY, kind=raw.OTHER_COLLECTIVE
        )

    def _NonBlockingCollectiveComplete(self, time: int, event: Any) -> None:
        collective = self._opened.pop(event.request_id, None)
        if collective is None:
            return
        collective.update(self._called(event), flags=0)
        self.trace.done(self._step(raw.DONE, time, "MPI_Wait"), collective["request"])

    def _called(self, event: Any) -> dict[str, Any]:
        """Fields of a collective, from the bytes as Score-P counts them."""
        id, place, size = self._communicator(event.communicator)
        op, sent, received = named(event.collective_op), event.size_sent, event.size_received
        root = _rank(event.root)
        # At the root of MPI_Reduce and MPI_Gather with MPI_IN_PLACE nothing is sent.
        bytes = {
            "BCAST": received,
            "ALLREDUCE": _each(sent, size),
            "ALLGATHER": _each(sent, size),
            "ALLGATHERV": _each(sent, size),
            "ALLTOALL": _each(sent, size),
            "ALLTOALLV": sent // size,
            "ALLTOALLW": sent // size,
            "SCATTER": received,
            "SCATTERV": received,
            "REDUCE_SCATTER": received // size,
            "REDUCE_SCATTER_BLOCK": _each(received, size),
            "SCAN": received // (place + 1),
            "EXSCAN": received // place if place else sent // max(size - 1, 1),
        }.get(op, sent)
        kind = KINDS.get(op, raw.OTHER_COLLECTIVE)
        return {
            "kind": kind, "root": root if kind in (2, 3, 5, 7) else raw.NO_RANK, "comm": id,
            "bytes": 0 if kind in (1, raw.OTHER_COLLECTIVE) else bytes, "sent": sent, "received": received,
        }  # fmt: skip

    # One-sided.

    def _access(self, time: int, name: str, kind: int, event: Any, bytes: int, fetched: int) -> None:
        id, _, _ = self._communicator(event.win.comm)
        step = self._step(raw.RMA, time, name)
        self.trace.access(step, kind=kind, peer=event.remote, comm=id, bytes=bytes, fetched=fetched)

    def _RmaPut(self, time: int, event: Any) -> None:
        self._access(time, "MPI_Put", raw.PUT, event, event.bytes, 0)

    def _RmaGet(self, time: int, event: Any) -> None:
        self._access(time, "MPI_Get", raw.GET, event, 0, event.bytes)

    def _RmaAtomic(self, time: int, event: Any) -> None:
        kind = raw.GET_ACCUMULATE if event.bytes_received else raw.ACCUMULATE
        self._access(time, "MPI_Accumulate", kind, event, event.bytes_sent, event.bytes_received)

    def _RmaCollectiveEnd(self, time: int, event: Any) -> None:
        if named(event.collective_op) in _LOCAL:
            return
        id, _, _ = self._communicator(event.win.comm)
        if self._name == "MPI_Win_fence" or self._depth == 0:
            self.trace.access(self._step(raw.RMA, time, "MPI_Win_fence"), kind=raw.FENCE, comm=id)
        else:
            step = self._step(raw.COLLECTIVE, time, self._name)
            self.trace.collective(step, kind=raw.OTHER_COLLECTIVE, comm=id)


def named(value: Any) -> str:
    """The name of a value of an enumeration of the package, which writes it as "Paradigm.MPI"."""
    return str(value).rpartition(".")[2]


def _rank(number: int) -> int:
    return raw.NULL if number >= _NOBODY or number < 0 else number


def _each(total: int, ranks: int) -> int:
    """One of ``ranks`` equal parts; with MPI_IN_PLACE a rank does not count its own."""
    return total // ranks if total % ranks == 0 or ranks == 1 else total // (ranks - 1)
