"""Activities of CPU streams: the bars in a picture of a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InvalidInput
from ..schedule.columns import lengths
from ..schedule.schedule import OpKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .timeline import Timeline

#: Begin and end in seconds.
Window = tuple[float, float]


@dataclass(frozen=True)
class Activities:
    """Bars of CPU streams, one element per bar; bars of one stream do not overlap.

    Attributes
    ----------
    op : ndarray of int64
        Operation, as index into ``schedule.ops``; -1 for a message that nobody received. The bar of a receive is the
        handling of its message.
    rank, cpu : ndarray of int64
        Where: the CPU stream. A message is handled on the stream that its send names.
    kind : ndarray of uint8
        See OpKind.
    begin, end : ndarray of int64
        Picoseconds.
    send : ndarray of int64
        The send of the message that is handled; -1 for bars that are no handling.
    """

    op: NDArray[np.int64]
    rank: NDArray[np.int64]
    cpu: NDArray[np.int64]
    kind: NDArray[np.uint8]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    send: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.op)

    def pick(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> Activities:
        """Return the bars selected by a mask or by indices."""
        return Activities(*(getattr(self, field.name)[which] for field in fields(self)))


def chosen_ranks(timeline: Timeline, ranks: Sequence[int] | NDArray[np.integer] | None) -> NDArray[np.int64]:
    """Return the ranks as an ascending array without duplicates; None: all."""
    if ranks is None:
        return np.arange(timeline.ranks)
    given = np.atleast_1d(np.asarray(ranks))
    if given.dtype.kind not in "iu" and given.size:
        raise InvalidInput(f"ranks have type {given.dtype}: must be whole numbers")
    if given.size and not 0 <= given.min() <= given.max() < timeline.ranks:
        wrong = given.min() if given.min() < 0 else given.max()
        raise InvalidInput(f"rank {wrong} does not exist: ranks are 0 to {timeline.ranks - 1}")
    return np.unique(given.astype(np.int64))


def window_ps(timeline: Timeline, window: Window | None) -> tuple[int, int]:
    """Return begin and end in picoseconds; None: everything."""
    if window is None:
        # What waits forever may have begun after the last operation that was done.
        return 0, max(timeline.makespan_ps, int(timeline.start_ps.max(initial=0)))
    try:
        begin, end = (float(time) for time in window)
    except (TypeError, ValueError):
        raise InvalidInput(f"window is {window!r}: must be a begin and an end in seconds") from None
    if not 0 <= begin < end < 4.6e6:
        raise InvalidInput(f"window is {begin:g} to {end:g} s: must begin at 0 or later and end after that")
    return round(begin * 1e12), round(end * 1e12)


def ops_of(timeline: Timeline, ranks: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the operations of these ranks, and the rank of each."""
    first = timeline.schedule.op_first.view(np.int64)
    if len(ranks) == timeline.ranks:
        return np.arange(first[-1]), np.repeat(ranks, lengths(first))
    count = first[ranks + 1] - first[ranks]
    ends = np.cumsum(count)
    op = np.arange(ends[-1] if len(ends) else 0)
    op += np.repeat(first[ranks] - (ends - count), count)
    return op, np.repeat(ranks, count)


def need_ops(timeline: Timeline, what: str) -> None:
    """Raise InvalidInput unless begin and end of operations were recorded."""
    if timeline.record != "ops":
        raise InvalidInput(f"{what} needs a simulation with record='ops'; this one has record={timeline.record!r}")


def activities(timeline: Timeline, ranks: NDArray[np.int64], begin: int, end: int) -> Activities:
    """Return the bars of these ranks that overlap begin to end (picoseconds), in the order of the schedule."""
    op, rank = ops_of(timeline, ranks)
    ops = timeline.schedule.ops
    kind = ops["kind"][op]
    # A receive that never got its message has no bar, a message that was never received has one.
    send = np.where(kind == OpKind.recv, timeline.partner[op], -1)
    start = np.where(kind == OpKind.recv, np.where(send < 0, -1, timeline.handled_ps[send]), timeline.start_ps[op])
    stop = start + timeline.busy_ps[op]
    receiver, source, number, handled = timeline._orphans
    if len(receiver):
        here = np.isin(receiver, ranks)
        lost = timeline.schedule.op_first.view(np.int64)[source[here]] + number[here]
        op, rank = np.append(op, np.full(len(lost), -1)), np.append(rank, receiver[here].astype(np.int64))
        kind = np.append(kind, np.full(len(lost), OpKind.recv, np.uint8))
        send = np.append(send, lost)
        start, stop = np.append(start, timeline.handled_ps[lost]), np.append(stop, handled[here])
    drawn = (start >= 0) & (start <= end) & (stop >= begin)
    op, rank, kind, send = op[drawn], rank[drawn], kind[drawn], send[drawn]
    cpu = ops["cpu"][np.where(send < 0, op, send)].astype(np.int64)
    return Activities(op, rank, cpu, kind, start[drawn], stop[drawn], send)


def waits(timeline: Timeline, ranks: NDArray[np.int64], begin: int, end: int) -> Activities:
    """From when an operation no longer needs the CPU until what it waits for has come.

    A receive from being posted until its message is handled, a send by rendezvous until its receiver has it, a put or
    get until it is done; what never came until the end of the simulation. A send that stood aside began to wait then.
    """
    op, rank = ops_of(timeline, ranks)
    ops = timeline.schedule.ops
    kind = ops["kind"][op]
    waiting = np.isin(kind, (OpKind.send, OpKind.recv, OpKind.put, OpKind.get)) & (timeline.start_ps[op] >= 0)
    op, rank, kind = op[waiting], rank[waiting], kind[waiting]
    receives = kind == OpKind.recv
    partner = timeline.partner[op]
    start = timeline.start_ps[op] + np.where(receives, 0, timeline.busy_ps[op])
    if len(timeline.parked_ps):
        parked = timeline.parked_ps[op]
        start = np.where(parked > 0, timeline.start_ps[op] - parked, start)
    stop = np.where(receives & (partner >= 0), timeline.handled_ps[partner], timeline.end_ps[op])
    stuck_rank, stuck_op, _ = timeline._stuck
    if len(stuck_op):
        never = np.isin(op, timeline.schedule.op_first.view(np.int64)[stuck_rank] + stuck_op)
        stop = np.where(never, timeline.makespan_ps, stop)
    drawn = (stop > start) & (start <= end) & (stop >= begin)
    op = op[drawn]
    cpu = ops["cpu"][op].astype(np.int64)
    return Activities(op, rank[drawn], cpu, kind[drawn], start[drawn], stop[drawn], np.full(len(op), -1))
