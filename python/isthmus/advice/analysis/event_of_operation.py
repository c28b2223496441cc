"""Events of a program from which operations of its schedule come, and those that complete them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...lowering.lower import lower
from ...schedule.details import ranges
from ...schedule.program import NULL, EventKind, Program
from ...schedule.schedule import OpKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...lowering.rules import Collectives
    from ...schedule.schedule import Schedule

#: Events that become as many operations as their collective's algorithm makes.
_TOGETHER = (EventKind.collective, EventKind.fence, EventKind.comm_create)
#: Events of one operation, if their partner exists.
_SINGLE = (EventKind.send, EventKind.recv, EventKind.isend, EventKind.irecv, EventKind.put, EventKind.get)
_OPENING = (EventKind.isend, EventKind.irecv)


def events_of_operations(
    program: Program, schedule: Schedule, collectives: Collectives | None = None
) -> NDArray[np.integer[Any]]:
    """The event of every operation, as an index into the program's columns, shape (operations,).

    Operations stand in the order of their events. How many a point-to-point event makes is known; how many a collective
    makes is counted in a schedule of the collectives alone, with a computation of 1 ps after each. Joins (computations
    of 0 ps that save dependencies) belong to the event before them.

    Parameters
    ----------
    program : Program
    schedule : Schedule
        Schedule of the program, by :func:`isthmus.lower` with these ``collectives``.
    """
    number = _operations_per_event(program, collectives)
    # In large programs, half of the memory is half of the time here.
    small: Any = np.int32 if max(len(program), len(schedule)) < 2**31 else np.int64
    event = np.repeat(np.arange(len(program), dtype=small), number)
    join = (schedule.ops["kind"] == OpKind.calc) & (schedule.ops["amount"] == 0)
    place = np.cumsum(~join, dtype=small)
    place -= 1
    if len(place) and place[-1] + 1 != len(event):
        raise AssertionError(f"{place[-1] + 1} operations, but the events make {len(event)}")
    return event[np.maximum(place, 0, out=place)] if len(event) else np.zeros(len(place), small)


def _operations_per_event(program: Program, collectives: Collectives | None) -> NDArray[np.int64]:
    p = program
    number = np.zeros(len(p), np.int64)
    number[(p.kind == EventKind.compute) & (p.amount > 0)] = 1
    number[np.isin(p.kind, _SINGLE) & (p.peer != NULL)] = 1
    number[(p.kind == EventKind.lock) & (p.peer >= 0)] = 1
    both = np.flatnonzero(p.kind == EventKind.sendrecv)
    source = p.details[p.detail[both].astype(np.int64) + 1]
    number[both] = (p.peer[both] != NULL).astype(np.int64) + (source != NULL)
    together = np.flatnonzero(np.isin(p.kind, _TOGETHER))
    number[together] = _operations_of_collectives(p, together, collectives)
    return number


def _operations_of_collectives(
    program: Program, event: NDArray[np.int64], collectives: Collectives | None
) -> NDArray[np.int64]:
    """The number of operations of each of these events."""
    if not len(event):
        return np.zeros(0, np.int64)
    # Each collective is followed by a computation, which ends it.
    picked = np.repeat(event, 2)
    marks = np.arange(len(picked)) % 2 == 1
    columns: dict[str, Any] = {}
    for name in ("kind", "what", "peer", "tag", "comm", "amount", "request", "detail"):
        columns[name] = getattr(program, name)[picked]
    columns["kind"][marks] = EventKind.compute
    columns["amount"][marks] = 1
    columns["detail"][marks] = 0
    # Blocking: their requests are never waited for.
    columns["request"][:] = 0
    first = 2 * np.searchsorted(event, program.first.astype(np.int64))
    alone = replace(
        program, first=first.astype(np.uint64), location=np.empty(0, np.uint32), phase=np.empty(0, np.uint32),
        recording=None, **columns,
    )  # fmt: skip
    ops = lower(alone, collectives=collectives).ops
    calc = ops["kind"] == OpKind.calc
    done = np.cumsum(~calc)[calc & (ops["amount"] == 1)]
    out: NDArray[np.int64] = np.diff(done, prepend=0).astype(np.int64)
    return out


def completions(program: Program) -> NDArray[np.int64]:
    """The event in which what an event begins is done, shape (events,): its wait, or itself where it blocks.

    The program is in a wait while what it waits for is on its way; that is where time passes for a nonblocking receive.
    """
    p = program
    out = np.arange(len(p))
    begun = opening(p)
    if not len(begun):
        return out
    closing, request = _closings(p)
    rank = np.searchsorted(p.first, np.arange(len(p)), side="right").astype(np.int64) - 1
    # The next close of the same request on the same rank, by one search in the sorted closes.
    event = np.concatenate([begun, closing])
    number = np.concatenate([p.request[begun].astype(np.int64), request])
    _, group = np.unique(rank[event] << 32 | number, return_inverse=True)
    span = np.int64(len(p) + 1)
    key = group * span + event
    opened, closed = key[: len(begun)], np.sort(key[len(begun) :])
    at = np.minimum(np.searchsorted(closed, opened), max(len(closed) - 1, 0))
    found = np.zeros(len(begun), np.bool_)
    if len(closed):
        found = (closed[at] > opened) & (closed[at] // span == opened // span)
        out[begun[found]] = closed[at[found]] % span
    # A waitall of whatever is open, where it comes first.
    every = np.flatnonzero((p.kind == EventKind.waitall) & (p.detail == 0))
    if len(every):
        at = np.minimum(np.searchsorted(every, begun), len(every) - 1)
        after = (every[at] > begun) & (rank[every[at]] == rank[begun])
        sooner = after & (~found | (every[at] < out[begun]))
        out[begun[sooner]] = every[at[sooner]]
    return out


def opening(program: Program) -> NDArray[np.intp]:
    """Events that begin what another one completes."""
    p = program
    return np.flatnonzero(np.isin(p.kind, _OPENING) | ((p.kind == EventKind.collective) & (p.request != 0)))


def _closings(p: Program) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Events that complete requests, and the request; one element each."""
    done = (p.kind == EventKind.wait) | ((p.kind == EventKind.test) & (p.amount != 0))
    one = np.flatnonzero(done)
    many = np.flatnonzero(((p.kind == EventKind.waitall) | (p.kind == EventKind.waitany)) & (p.detail != 0))
    values, length = p.expanded(many)
    owner = np.repeat(many, length)
    offset = ranges(np.zeros(len(many)), length)
    kept = (p.kind[owner] == EventKind.waitall) | (offset == p.amount[owner])
    return (
        np.concatenate([one, owner[kept]]),
        np.concatenate([p.request[one].astype(np.int64), values[kept]]),
    )
