"""Machines and programs with something changed: what what-ifs simulate."""

from __future__ import annotations

import copy
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...machine import Levels
from ...machine.kinds import KINDS
from ...schedule import columns
from ...schedule.program import CollectiveKind, EventKind, Program

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ...machine import Machine

#: What scales together, and what it is called.
COSTS = {
    "latency": ("L", "per_hop"),
    "bandwidth": ("g", "G"),
    "overhead": ("o_send", "o_recv", "O", "O_recv"),
}
#: Turns in which computation is balanced among some ranks and among all.
_TURNS = 100
#: Collectives after which no rank is before any other's call.
_SYNCHRONISING = (
    CollectiveKind.barrier, CollectiveKind.allreduce, CollectiveKind.allgather, CollectiveKind.alltoall,
    CollectiveKind.reduce_scatter,
)  # fmt: skip


def changed(machine: Machine, factors: Mapping[str, float]) -> Machine:
    """The machine with costs of messages multiplied by a factor, at all levels.

    Nodes, cables and description stay those of the machine, so that its allocations fit; bandwidth and latency of the
    links change with those of the levels, for models in which messages meet.

    Parameters
    ----------
    factors : mapping of str to float
        By the names of COSTS. A bandwidth twice as large is a factor of 1/2: it is the time that is scaled. Where it is
        0 the links stay as they are, as no model in which messages meet knows infinite ones.
    """
    by_field = {cost: factor for name, factor in factors.items() for cost in COSTS[name]}

    def scaled_costs(what: Any) -> Any:
        given = {name: getattr(what, name, None) for name in by_field}
        return replace(what, **{name: value * by_field[name] for name, value in given.items() if value is not None})

    levels = {}
    for field in fields(Levels):
        level = getattr(machine.level, field.name)
        levels[field.name] = replace(scaled_costs(level), pieces=tuple(map(scaled_costs, level.pieces)))
    out = copy.copy(machine)
    out.level = Levels(**levels)
    slower, longer = factors.get("bandwidth", 1.0), factors.get("latency", 1.0)
    if slower > 0 and (slower, longer) != (1.0, 1.0):
        values = machine.description.values["topology"]
        links = [
            (name, bandwidth / slower, latency * longer) for name, bandwidth, latency in machine.topology.link_classes
        ]
        out.topology = KINDS[values["kind"]].build(values, links)
    return out


def balanced(program: Program) -> Program:
    """The program with computation even between synchronisations.

    A synchronisation is a blocking collective after which no member of its communicator is before any other's call
    (barrier, allreduce, allgather, alltoall, reduce_scatter, fence, new communicators). Those of any communicator of
    all ranks and the ends of the program divide it into sections: in each, every rank that computes at all computes for
    the mean of those. Within a section, a synchronisation of some ranks balances these alone: what they compute since
    the synchronisation before, whose ever it was, becomes the mean of those that compute. Both are done in turns until
    they agree. Between two synchronisations, the computations of a rank keep their proportions.
    """
    p = program
    # Columns of 32 bits where that is enough: of large programs there are many at a time.
    small: Any = np.int32 if len(p) < 2**31 else np.int64
    computing = np.flatnonzero((p.kind == EventKind.compute) & (p.amount > 0)).astype(small)
    if not len(computing):
        return p
    meets = (p.kind == EventKind.collective) & (p.request == 0) & np.isin(p.what, _SYNCHRONISING)
    meets |= np.isin(p.kind, (EventKind.fence, EventKind.comm_create))
    members = np.diff(p.comm_first.astype(np.int64))
    event = np.flatnonzero(meets)
    comm = p.comm[event].astype(np.int64)
    first = p.first.astype(np.int64)
    rank = np.searchsorted(first, event, side="right") - 1
    parts = (members[comm] > 1) & (members[comm] < p.ranks)
    owner = np.repeat(np.arange(p.ranks, dtype=small), np.diff(np.searchsorted(computing, first)))
    section = _passed(event[members[comm] == p.ranks], computing, first[:-1], owner)
    one, place = _runs(owner, section)
    _, group = np.unique(section[one], return_inverse=True)
    del section
    segment, segment_of, meeting = _segments(event, rank, comm, parts, computing, owner)
    del owner
    within = place[segment]
    del place
    time = p.amount[computing].astype(np.float64)
    before = np.bincount(segment_of, weights=time).astype(np.float64)
    now: NDArray[np.float64] = before.copy()
    for _ in range(_TURNS if len(meeting) else 1):
        last = now.copy()
        if len(meeting):
            at, which = meeting.T
            now[at] = (np.bincount(which, weights=now[at]) / np.bincount(which))[which]
        of_rank = np.bincount(within, weights=now)
        mean = np.bincount(group, weights=of_rank) / np.bincount(group)
        now = now * (mean[group] / of_rank)[within]
        if np.abs(now - last).max() <= 3e-4 * now.max():
            break
    time *= (now / before)[segment_of]
    np.maximum(np.rint(time, out=time), 1, out=time)
    amount: NDArray[np.uint64] = columns.large(len(p), np.uint64)
    amount[:] = p.amount
    amount[computing] = time.astype(np.uint64)
    columns.drop(amount)
    return replace(p, amount=amount)


def _passed(
    event: NDArray[np.int64], of: NDArray[Any], begin: NDArray[np.int64], owner: NDArray[Any]
) -> NDArray[np.integer[Any]]:
    """Numbers of some events of a rank before each of others; ``begin``: the first event of every rank."""
    out = np.searchsorted(event, of).astype(of.dtype)
    out -= np.searchsorted(event, begin).astype(of.dtype)[owner]
    return out


def _runs(*columns: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int64], NDArray[np.integer[Any]]]:
    """Begins of runs of elements that are equal in all columns, and the run of every element."""
    new = np.zeros(len(columns[0]), np.bool_)
    new[0] = True
    for column in columns:
        new[1:] |= column[1:] != column[:-1]
    number = np.cumsum(new, dtype=columns[0].dtype)
    number -= 1
    return np.flatnonzero(new), number


def _segments(
    event: NDArray[np.int64],
    rank: NDArray[np.int64],
    comm: NDArray[np.int64],
    parts: NDArray[np.bool_],
    computing: NDArray[np.integer[Any]],
    owner: NDArray[np.integer[Any]],
) -> tuple[NDArray[np.int64], NDArray[np.integer[Any]], NDArray[np.int64]]:
    """Computation of ranks between two synchronisations of any communicator.

    Parameters
    ----------
    event, rank, comm : array of int64
        Synchronisations, ascending.
    parts : array of bool
        Whether only some of the ranks take part.
    computing, owner : array of integers
        Computations, ascending, and their ranks.

    Returns
    -------
    segments : array of int64
        The first computation of each, an index into ``computing``.
    segment_of : array of integers
        Segment of every computation, an index.
    meeting : array of int64, shape (n, 2)
        Segments that end in a synchronisation of some ranks, and the number of that.
    """
    # The next synchronisation of the rank, or its end.
    ends = np.searchsorted(rank, np.arange(int(owner[-1]) + 1), side="right")
    after = np.searchsorted(event, computing).astype(computing.dtype)
    np.minimum(after, ends.astype(computing.dtype)[owner], out=after)
    one, segment_of = _runs(owner, after)
    closing = after[one].astype(np.int64)
    open_end = closing == ends[owner[one]]
    partial = np.flatnonzero(~open_end & parts[np.minimum(closing, max(len(parts) - 1, 0))]) if len(parts) else one[:0]
    if not len(partial):
        return one, segment_of, np.zeros((0, 2), np.int64)
    # The n-th synchronisation of a communicator on each of its members is one and the same.
    order = np.lexsort((event, rank, comm))
    begins = np.flatnonzero(np.diff(comm[order], prepend=-1) | np.diff(rank[order], prepend=-1))
    number = np.empty(len(event), np.int64)
    number[order] = np.arange(len(event)) - np.repeat(begins, np.diff(np.append(begins, len(event))))
    at = closing[partial]
    _, which = np.unique(comm[at] * (number.max() + 1) + number[at], return_inverse=True)
    return one, segment_of, np.stack([partial, which], axis=1)
