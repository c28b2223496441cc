"""Events of a Program: their kinds, their columns, and a readable form."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from ..units import mixed, text

#: MPI_ANY_SOURCE and MPI_ANY_TAG.
ANY = -1
#: MPI_PROC_NULL: the call does nothing.
NULL = -2
#: Element of location and phase that stands for none, and amount of a comm_create that leaves the rank out.
NONE = 0xFFFFFFFF
NO_COMMUNICATOR = 0xFFFFFFFFFFFFFFFF


class EventKind(IntEnum):
    """Kinds of events; :class:`Program` says which columns each uses."""

    compute = 1
    send = 2
    recv = 3
    isend = 4
    irecv = 5
    sendrecv = 6
    wait = 7
    waitall = 8
    waitany = 9
    test = 10
    collective = 11
    comm_create = 12
    put = 13
    get = 14
    fence = 15
    flush = 16
    lock = 17
    unlock = 18
    iteration = 19


class CollectiveKind(IntEnum):
    """Collectives as MPI has them."""

    barrier = 1
    bcast = 2
    reduce = 3
    allreduce = 4
    gather = 5
    allgather = 6
    scatter = 7
    alltoall = 8
    reduce_scatter = 9
    scan = 10
    exscan = 11
    neighbor_alltoall = 12


#: Kinds whose columns say what is sent or fetched.
SENDS = (EventKind.send, EventKind.isend, EventKind.sendrecv, EventKind.put, EventKind.get)
#: Kinds whose peer is a rank.
PEERED = (
    *SENDS, EventKind.recv, EventKind.irecv, EventKind.flush, EventKind.lock, EventKind.unlock
)  # fmt: skip
#: Collectives whose peer is the root.
ROOTED = (CollectiveKind.bcast, CollectiveKind.reduce, CollectiveKind.gather, CollectiveKind.scatter)
#: Collectives of a vector that has the same bytes on all ranks.
VECTORS = (
    CollectiveKind.bcast, CollectiveKind.reduce, CollectiveKind.allreduce, CollectiveKind.scan, CollectiveKind.exscan,
)  # fmt: skip
#: Collectives whose bytes of each rank, where they differ, are one list on all ranks, and those of lists of their own.
ONE_LIST = (CollectiveKind.gather, CollectiveKind.allgather, CollectiveKind.scatter, CollectiveKind.reduce_scatter)
OWN_LISTS = (CollectiveKind.alltoall, CollectiveKind.neighbor_alltoall)
#: Collectives by name.
COLLECTIVES = tuple(kind.name for kind in CollectiveKind)
#: Collectives with an operator.
REDUCTIONS = (
    CollectiveKind.reduce, CollectiveKind.allreduce, CollectiveKind.reduce_scatter, CollectiveKind.scan,
    CollectiveKind.exscan,
)  # fmt: skip
#: Columns of one element per event, with their types.
EVENT_COLUMNS: dict[str, Any] = {
    "kind": np.uint8,
    "what": np.uint8,
    "peer": np.int32,
    "tag": np.int32,
    "comm": np.uint32,
    "amount": np.uint64,
    "request": np.uint32,
    "detail": np.uint32,
}
#: Columns of one element per event, or of none where nothing is known.
OPTIONAL_COLUMNS: dict[str, Any] = {"location": np.uint32, "phase": np.uint32}
#: Columns of other lengths.
TABLES: dict[str, Any] = {"first": np.uint64, "details": np.int64, "comm_first": np.uint64, "comm_ranks": np.uint32}


class Event(NamedTuple):
    """One event, for people to read; ``detail`` are its numbers, or None."""

    kind: EventKind
    what: CollectiveKind | None
    peer: int
    tag: int
    comm: int
    amount: int
    request: int
    detail: tuple[int, ...] | None
    location: str | None
    phase: str | None

    def __str__(self) -> str:
        return describe(self)


_TO = (EventKind.send, EventKind.isend, EventKind.sendrecv, EventKind.put)
_FROM = (EventKind.recv, EventKind.irecv, EventKind.get)
_TAGGED = (EventKind.send, EventKind.isend, EventKind.sendrecv, EventKind.recv, EventKind.irecv)


def describe_all(events: Sequence[Event]) -> list[str]:
    """Events as lines, with their sizes in one family of units."""
    sizes = {event.amount for event in events if _sized(event)}
    sizes |= {event.detail[2] for event in events if event.kind == EventKind.sendrecv and event.detail is not None}
    decimal = mixed(sizes)
    return [describe(event, decimal) for event in events]


def _sized(event: Event) -> bool:
    """Whether its amount counts bytes."""
    if event.kind == EventKind.collective:
        return event.what != CollectiveKind.barrier and event.detail is None
    return event.kind in _TO or event.kind in _FROM


def describe(event: Event, decimal: bool = False) -> str:
    """One event as a line, sizes in powers of 1000 only where ``decimal``."""
    kind = event.kind
    words = [event.what.name if event.what else kind.name]
    match kind:
        case EventKind.compute:
            words.append(text(event.amount / 1e12, "s"))
        case EventKind.iteration:
            words.append(str(event.amount))
        case EventKind.comm_create:
            words.append("none" if event.amount == NO_COMMUNICATOR else str(event.amount))
            words.append(f"from {event.comm}")
        case EventKind.wait | EventKind.test:
            words.append(f"request {event.request}")
        case EventKind.waitall | EventKind.waitany:
            words.append("all open" if event.detail is None else "requests " + " ".join(map(str, event.detail)))
        case _ if _sized(event):
            words.append(text(event.amount, "B", decimal=decimal))
        case EventKind.collective if event.detail is not None:
            words.append("bytes " + " ".join(map(str, event.detail)))
    if kind in (EventKind.test, EventKind.waitany):
        words.append(f"completed {event.amount}")
    if kind in _TO or kind in _FROM:
        words.append(f"{'from' if kind in _FROM else 'to'} {_peer(event.peer)}")
    if kind in (EventKind.lock, EventKind.unlock, EventKind.flush):
        words.append("all" if event.peer == ANY else _peer(event.peer))
    if event.what in REDUCTIONS and event.tag == 1:
        words.append("in order")
    if event.what in ROOTED:
        words.append(f"root {event.peer}")
    if kind in _TAGGED:
        words.append(f"tag {_tag(event.tag)}")
    if kind == EventKind.sendrecv and event.detail is not None:
        source, tag, size = event.detail
        words.append(f"and {text(size, 'B', decimal=decimal)} from {_peer(source)} tag {_tag(tag)}")
    if event.comm and kind != EventKind.comm_create:
        words.append(f"comm {event.comm}")
    if event.request and kind not in (EventKind.wait, EventKind.test):
        words.append(f"request {event.request}")
    if event.phase is not None:
        words.append(f"in {event.phase}")
    if event.location is not None:
        words.append(f"at {event.location}")
    return " ".join(words)


def _peer(peer: int) -> str:
    return {ANY: "any", NULL: "none"}.get(peer, str(peer))


def _tag(tag: int) -> str:
    return "any" if tag == ANY else str(tag)
