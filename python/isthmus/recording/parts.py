"""What the ranks did, put together: columns of all ranks, with communicators and ranks of the Program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..schedule.program import NO_COMMUNICATOR, NULL, PEERED, EventKind
from . import raw
from .communicators import UNKNOWN, Local, worlds
from .spill import Group, Spill, blocks
from .translate import Part

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Messages of all ranks; see :class:`isthmus.recording.translate.Halves`.
_HALVES: dict[str, Any] = {
    "event": np.int64, "at": np.uint32, "receives": np.bool_, "comm": np.int32, "peer": np.int32, "tag": np.int32,
    "any_peer": np.bool_, "any_tag": np.bool_, "begin": np.int64, "end": np.int64,
}  # fmt: skip


class Columns(NamedTuple):
    """Columns of events, of calls, of messages, and of calls of collectives."""

    events: dict[str, NDArray[Any]]
    calls: dict[str, NDArray[Any]]
    halves: dict[str, NDArray[Any]]
    together: dict[str, NDArray[Any]]


class Parts:
    """Pieces of ranks, one after another."""

    def __init__(self, spill: Spill) -> None:
        self._groups = (Group(spill), Group(spill), Group(spill), Group(spill))
        #: Where each piece begins, and the end: events, calls, messages, calls of collectives.
        self._first = [(0, 0, 0, 0)]
        #: Whose each piece is, and the ids of the communicators that it uses.
        self.used: list[tuple[int, NDArray[np.uint64]]] = []

    def add(self, rank: int, part: Part) -> None:
        """Append what a rank did next."""
        events, calls, *_ = self._first[-1]
        of_calls, place = part.calls, np.zeros(len(part.together), np.int32)
        of_calls["event"][of_calls["event"] >= 0] += events
        # What becomes of paths stands in columns of their own.
        of_calls["site"] = of_calls["path"].copy()
        halves = {name: getattr(part.halves, name).astype(kind, copy=False) for name, kind in _HALVES.items()}
        halves["event"] += events
        self._groups[0].add(part.events)
        self._groups[1].add(of_calls)
        self._groups[2].add({**halves, "place": np.zeros(len(halves["at"]), np.int32)})
        event, call = part.together + events, part.together_call + calls
        self._groups[3].add({"event": event, "call": call, "place": place, "blocking": part.together_blocking})
        self._first.append(tuple(group.size for group in self._groups))  # type: ignore[arg-type]
        self.used.append((rank, part.comms))

    def sizes(self, ranks: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First event and first call of every rank, and the number of all."""
        of_rank = np.zeros((ranks + 1, 2), np.int64)
        np.add.at(of_rank[1:], [rank for rank, _ in self.used], np.diff(np.array(self._first)[:, :2], axis=0))
        first, call_first = np.cumsum(of_rank, axis=0).T
        return first, call_first

    def finish(self, locals_: Sequence[Local]) -> Columns:
        """Whole columns, with communicators and ranks of the Program."""
        columns = Columns(*(group.arrays() for group in self._groups))
        for begin, end, local in zip(self._first[:-1], self._first[1:], locals_, strict=True):
            mine = (
                {name: column[a:b] for name, column in group.items()}
                for a, b, group in zip(begin, end, columns, strict=True)
            )
            _localise(Columns(*mine), local, begin[0])
        return columns


def _localise(part: Columns, local: Local, first_event: int) -> None:
    """Communicators and ranks of the Program in place of those of one rank's trace."""
    # The last element is for -1: no communicator.
    index = np.append(local.index, 0).astype(np.int32)
    shift = np.append(local.shift, 0).astype(np.int32)
    place = np.append(local.place, 0).astype(np.int32)
    inter = np.append(local.inter, False)
    events, calls, halves, together = part
    comm, peer = events["comm"].copy(), events["peer"]
    together["place"][:] = place[comm[together["event"] - first_event]]
    collective = events["kind"] == EventKind.collective
    if shift.any():
        _shift(peer, np.where(collective | (events["kind"] >= EventKind.put), shift[comm], np.int32(0)))
    if inter.any():
        here = collective & inter[comm] & (peer == raw.ROOT)
        peer[here] = place[comm[here]]
    made = np.flatnonzero((events["kind"] == EventKind.comm_create) & (events["amount"] != NO_COMMUNICATOR))
    new = index[events["amount"][made].astype(np.int64)]
    events["amount"][made] = np.where(new == UNKNOWN, np.uint64(NO_COMMUNICATOR), new.astype(np.uint64))
    events["comm"][:] = index[comm]
    if (index == UNKNOWN).any():
        peer[(events["comm"] == UNKNOWN) & np.isin(events["kind"], PEERED)] = NULL
    if shift.any():
        _shift(calls["peer"], shift[calls["comm"]])
        _shift(halves["peer"], shift[halves["comm"]])
    calls["comm"][:] = index[calls["comm"]]
    halves["place"][:] = place[halves["comm"]]
    halves["comm"][:] = index[halves["comm"]]
    halves["peer"][halves["comm"] == UNKNOWN] = NULL


def _shift(peer: NDArray[np.int32], by: NDArray[np.int32]) -> None:
    peer += np.where(peer >= 0, by, np.int32(0))


def world_peers(calls: dict[str, NDArray[Any]], comm_first: NDArray[np.uint64], comm_ranks: NDArray[np.uint32]) -> None:
    """Make partners of calls world ranks; -1: there is none, or it is not known."""
    for part in blocks(len(calls["peer"])):
        peer, comm = calls["peer"][part], calls["comm"][part]
        known = (peer >= 0) & (comm >= 0)
        world = worlds(comm_first, comm_ranks, np.maximum(comm, 0), np.where(known, peer, 0))
        calls["peer"][part] = np.where(known, world, -1)
