"""Concatenation of all ranks' columns, with communicators and ranks of the Program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..schedule.columns import among
from ..schedule.program import NO_COMMUNICATOR, NULL, PEERED, EventKind
from . import raw
from .communicators import UNKNOWN, Local, worlds
from .part import Part
from .spill import Group, Spill

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Messages of all ranks; see :class:`isthmus.recording.part.Halves`.
_HALVES: dict[str, Any] = {
    "event": np.int64, "at": np.uint32, "receives": np.bool_, "comm": np.int32, "peer": np.int32, "tag": np.int32,
    "any_peer": np.bool_, "any_tag": np.bool_, "begin": np.int64, "end": np.int64,
}  # fmt: skip


#: Columns of events, calls, messages, and calls of collectives that stay as they are, or that others take the place of.
_FIXED = (
    ("comm", "phase"),
    ("function", "count", "thread", "sent", "received", "peer", "comm", "path"),
    ("at", "comm", "peer", "tag", "any_peer", "any_tag"),
    ("blocking",),
)
#: Those with communicators and ranks of the Program that do not change any more.
_FIXED_AFTER = ((), ("peer", "comm"), ("comm", "peer"), ())
#: Pieces after which what was mapped is taken off the memory of the process.
_RELEASE = 64


class Columns(NamedTuple):
    """Columns of events, of calls, of messages, and of calls of collectives."""

    events: dict[str, NDArray[Any]]
    calls: dict[str, NDArray[Any]]
    halves: dict[str, NDArray[Any]]
    together: dict[str, NDArray[Any]]


class Parts:
    """Pieces of ranks, one after another."""

    def __init__(self, spill: Spill) -> None:
        self._spill = spill
        self._groups = tuple(Group(spill, fixed) for fixed in _FIXED)
        #: Where each piece begins, and the end: events, calls, messages, calls of collectives.
        self._first = [(0, 0, 0, 0)]
        #: Whose each piece is, and the ids of the communicators that it uses.
        self.used: list[tuple[int, NDArray[np.uint64]]] = []

    def add(self, rank: int, part: Part) -> None:
        """Append what a rank did next."""
        events, calls, *_ = self._first[-1]
        of_calls = part.calls
        of_calls["event"][of_calls["event"] >= 0] += events
        halves = {name: getattr(part.halves, name).astype(kind, copy=False) for name, kind in _HALVES.items()}
        halves["event"] += events
        self._groups[0].add(part.events)
        self._groups[1].add(of_calls)
        self._groups[2].add(halves)
        event, call = part.together + events, part.together_call + calls
        self._groups[3].add({"event": event, "call": call, "blocking": part.together_blocking})
        self._first.append(tuple(group.size for group in self._groups))  # type: ignore[arg-type]
        self.used.append((rank, part.comms))

    def sizes(self, ranks: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First event and first call of every rank, and the number of all."""
        of_rank = np.zeros((ranks + 1, 2), np.int64)
        np.add.at(of_rank[1:], [rank for rank, _ in self.used], np.diff(np.array(self._first)[:, :2], axis=0))
        first, call_first = np.cumsum(of_rank, axis=0).T
        return first, call_first

    def finish(
        self, locals_: Sequence[Local], comm_first: NDArray[np.uint64], comm_ranks: NDArray[np.uint32]
    ) -> Columns:
        """Whole columns, with communicators and ranks of the Program; partners of calls are ranks of the world.

        Communicators whose members are not known have negative numbers in events and messages.
        """
        columns = Columns(*(group.arrays() for group in self._groups))
        made = tuple(Group(self._spill, fixed) for fixed in _FIXED_AFTER)
        for number, (begin, end, local) in enumerate(zip(self._first[:-1], self._first[1:], locals_, strict=True)):
            mine = (
                {name: column[a:b] for name, column in group.items()}
                for a, b, group in zip(begin, end, columns, strict=True)
            )
            for group, new in zip(
                made, _localised(Columns(*mine), local, begin[0], comm_first, comm_ranks), strict=True
            ):
                group.add(new)
            if number % _RELEASE == 0:
                self._spill.release()
        for group, new_group in zip(self._groups, made, strict=True):
            group.replace(new_group)
        return Columns(*(group.arrays() for group in self._groups))


def _localised(
    part: Columns, local: Local, first_event: int, comm_first: NDArray[np.uint64], comm_ranks: NDArray[np.uint32]
) -> Columns:
    """Columns with communicators and ranks of the Program in place of those of one rank's trace.

    Peers and amounts of events are changed in place where they have to be.
    """
    # The last element is for -1: no communicator.
    index = np.append(local.index, 0).astype(np.int32)
    shift = np.append(local.shift, 0).astype(np.int32)
    place = np.append(local.place, 0).astype(np.int32)
    inter = np.append(local.inter, False)
    events, calls, halves, together = part
    comm, peer = events["comm"], events["peer"]
    new_comm = index[comm]
    collective = events["kind"] == EventKind.collective
    if shift.any():
        with_rank = collective | (events["kind"] >= EventKind.put) | among(events["kind"], PEERED)
        _shift(peer, np.where(with_rank, shift[comm], np.int32(0)))
    if inter.any():
        here = collective & inter[comm] & (peer == raw.ROOT)
        peer[here] = place[comm[here]]
    made = np.flatnonzero((events["kind"] == EventKind.comm_create) & (events["amount"] != NO_COMMUNICATOR))
    if len(made):
        new = index[events["amount"][made].astype(np.int64)]
        events["amount"][made] = np.where(new == UNKNOWN, np.uint64(NO_COMMUNICATOR), new.astype(np.uint64))
    if (index == UNKNOWN).any():
        peer[(new_comm == UNKNOWN) & among(events["kind"], PEERED)] = NULL
    with_ranks = []
    for column in (calls, halves):
        ranks = column["peer"]
        if shift.any():
            ranks = ranks.copy()
            _shift(ranks, shift[column["comm"]])
        with_ranks.append(ranks)
    call_comm, half_comm = index[calls["comm"]], index[halves["comm"]]
    known = (with_ranks[0] >= 0) & (call_comm >= 0)
    call_comm = np.maximum(call_comm, 0)
    world = worlds(comm_first, comm_ranks, call_comm, np.where(known, with_ranks[0], 0))
    return Columns(
        {"comm": new_comm},
        {"comm": call_comm, "peer": np.where(known, world, -1).astype(np.int32)},
        {
            "comm": half_comm,
            "place": place[halves["comm"]],
            "peer": np.where(half_comm == UNKNOWN, np.int32(NULL), with_ranks[1]),
        },
        {"place": place[comm[together["event"] - first_event]]},
    )


def _shift(peer: NDArray[np.int32], by: NDArray[np.int32]) -> None:
    peer += np.where(peer >= 0, by, np.int32(0))
