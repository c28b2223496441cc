"""Which calls and messages matter: the critical path and the ranks' time by call, by pair of ranks and by size."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ...recording.by_function import functions_around
from ...schedule import columns
from ...schedule.program import NONE, CollectiveKind, EventKind, Program
from ...schedule.schedule import OpKind
from .path_shares import PATH_CLASSES, PathSteps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...simulation.timeline import Timeline

#: Events in which a rank may wait.
_BLOCKING = tuple(
    kind for kind in EventKind if kind not in (EventKind.compute, EventKind.isend, EventKind.irecv, EventKind.put,
                                               EventKind.get, EventKind.iteration)
)  # fmt: skip
#: Operations whose bars are looked at together, about.
_AT_ONCE = 250_000
#: What computation is called.
COMPUTATION = "computation"
_SENDING = (OpKind.send, OpKind.put, OpKind.get)


@dataclass(frozen=True)
class Call:
    """Calls of one function at one place in the program.

    Attributes
    ----------
    name, location : str
        Location is empty where it is not known.
    calls, messages, bytes : int
        Sums over all ranks; messages and bytes are those that these calls send.
    path : float
        Seconds of the critical path; a message on its way and at its receiver belongs to the call that completes it.
    path_shares : dict of str to float
        The same by PATH_CLASSES.
    busy, waiting : float
        Seconds of the mean rank: at work in these calls, and idle in them.
    """

    name: str
    location: str
    calls: int
    messages: int
    bytes: int
    path: float
    path_shares: dict[str, float]
    busy: float
    waiting: float

    @property
    def computes(self) -> bool:
        """Whether this is computation rather than a call."""
        return self.name.split()[0] == COMPUTATION


@dataclass(frozen=True)
class Pair:
    """Messages from one rank to another that lie on the critical path."""

    sender: int
    receiver: int
    messages: int
    bytes: int
    path: float


@dataclass(frozen=True)
class SizeClass:
    """Messages of one class (between powers of two): all of them, the smallest and largest size that occurs (``low``,
    ``high``), and the seconds of the critical path that they take."""

    low: int
    high: int
    messages: int
    bytes: int
    path: float


@dataclass(frozen=True, eq=False)
class Waits:
    """Activities of CPU streams, and the causes of their waiting; see :func:`waits_by_event`.

    Attributes
    ----------
    busy, waiting : array of float64, shape (events,)
        Seconds at work in an event, and idle in it.
    synchronisation : array of float64, shape (ranks,)
        Seconds for which a rank waits for messages of collectives that have not been sent yet.
    earlier : array of float64, shape (ranks,)
        Seconds of a piece of a program for which a rank is idle in what comes before it.
    """

    busy: NDArray[np.float64]
    waiting: NDArray[np.float64]
    synchronisation: NDArray[np.float64]
    earlier: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rows:
    """The row of every event in the table of calls.

    Attributes
    ----------
    row : array of integers, shape (events,)
    names, locations : list of str
        Name and location of every row; an unknown location is empty.
    calls : array of int64
        Calls, or computations, of every row.
    """

    row: NDArray[np.integer[Any]]
    names: list[str]
    locations: list[str]
    calls: NDArray[np.int64]


def rows_of_events(program: Program, around: tuple[NDArray[np.int32], list[str]] | None = None) -> Rows:
    """Rows of functions and locations; ``around``: what is known of functions around computations otherwise.

    A recorded program knows the functions themselves; otherwise they are called as the events. Computation without a
    location is told by the function around it where call paths were recorded, else by the call that it comes before.
    """
    p = program
    name, names = _functions(p)
    location = p.location.astype(np.int64) if len(p.location) else np.full(len(p), NONE)
    computing = p.kind == EventKind.compute
    # The next event of the rank that is a call; a computation at its very end has none.
    event = np.arange(len(p))
    call = np.where(computing | (p.kind == EventKind.iteration), len(p), event)
    following = np.minimum.accumulate(call[::-1])[::-1] if len(p) else call
    end = np.repeat(p.first[1:].astype(np.int64), columns.lengths(p.first))
    before = np.flatnonzero(computing & (location == NONE) & (following < end))
    around = around or functions_around(p)
    if around is not None:
        known = computing & (location == NONE) & (around[0] >= 0)
        before = before[~known[before]]
    name[before] = len(names) + name[following[before]]
    location[before] = location[following[before]]
    names += [f"{COMPUTATION} before {one}" for one in names]
    if around is not None:
        name[known] = len(names) + around[0][known]
        names += [f"{COMPUTATION} in {one}" for one in around[1]]
    name <<= 32
    name |= location
    del location
    keys = np.unique(name)
    row = np.searchsorted(keys, name).astype(np.int32)
    calls = _calls(p, row, len(keys))
    places = ["" if key & NONE == NONE else p.locations[key & NONE] for key in keys.tolist()]
    return Rows(row, [names[key >> 32] for key in keys.tolist()], places, calls)


def _calls(program: Program, row: NDArray[np.integer[Any]], rows: int) -> NDArray[np.int64]:
    """Calls of every row: events, unless several come of one call that was recorded."""
    recording = program.recording
    if recording is None or not (recording.event >= 0).any():
        return np.bincount(row, minlength=rows)
    computing = np.bincount(row[program.kind == EventKind.compute], minlength=rows)
    return computing + np.bincount(row[recording.event[recording.event >= 0]], minlength=rows)


def _functions(program: Program) -> tuple[NDArray[np.int64], list[str]]:
    """The function of every event, as an index into names."""
    nonblocking = (program.kind == EventKind.collective) & (program.request != 0)
    kinds, place = np.unique(
        program.kind.astype(np.int64) << 16 | program.what.astype(np.int64) << 1 | nonblocking, return_inverse=True
    )
    names = [_event_name(int(k) >> 16, int(k) >> 1 & 0x7FFF, bool(k & 1)) for k in kinds]
    out = place.astype(np.int64)
    recording = program.recording
    if recording is None or not (recording.event >= 0).any():
        return out, names
    # A call's events stand together: those from its first up to the first of the next call.
    calls = np.flatnonzero(recording.event >= 0)
    calls = calls[np.argsort(recording.event[calls], kind="stable")]
    at = np.searchsorted(recording.event[calls], np.arange(len(program)), side="right") - 1
    known = (at >= 0) & (program.kind != EventKind.compute)
    out[known] = len(names) + recording.function[calls[at[known]]]
    return out, [*names, *recording.functions]


def _event_name(kind: int, what: int, nonblocking: bool) -> str:
    if kind == EventKind.collective:
        return ("i" if nonblocking else "") + CollectiveKind(what).name
    return COMPUTATION if kind == EventKind.compute else EventKind(kind).name


def blocked_event(program: Program, piece: bool = False) -> NDArray[np.int64]:
    """For every event the last one before it in which its rank may have waited; itself if there is none.

    ``piece``: where there is none it is in what comes before: the number of events, and that of the rank beyond it.
    """
    event = np.arange(len(program))
    last = np.maximum.accumulate(np.where(np.isin(program.kind, _BLOCKING), event, -1))
    before = np.concatenate([[-1], last[:-1]]) if len(event) else last
    first = np.repeat(program.first[:-1].astype(np.int64), columns.lengths(program.first))
    if piece:
        event = len(program) + program.rank_of_events().astype(np.int64)
    return np.where(before >= first, before, event)


def waits_by_event(
    timeline: Timeline,
    program: Program,
    event: NDArray[np.integer[Any]],
    completing: NDArray[np.integer[Any]],
    begin: NDArray[np.int64] | None = None,
) -> Waits:
    """Work and idle time of CPU streams by event; ``begin``: of a piece of a program, when every rank begins (ps).

    A stream that is idle before it handles a message waits in the call that completes the receive; one that is idle
    before an operation of its own waits in the collective that the operation belongs to, or in the last call before it
    that may wait.
    """
    size = len(program)
    before = blocked_event(program, begin is not None).astype(event.dtype)
    idle = np.zeros(size + timeline.ranks)
    waits = Waits(np.zeros(size), idle, np.zeros(timeline.ranks), idle[size:])
    # Some ranks at a time, as every operation takes a few hundred bytes while it is looked at.
    first = timeline.schedule.op_first.astype(np.int64)
    cut = np.searchsorted(first, np.arange(0, first[-1], _AT_ONCE), side="right") - 1
    since = np.zeros(timeline.ranks, np.int64) if begin is None else begin
    for low, high in pairwise(np.unique(np.append(cut, timeline.ranks)).tolist()):
        _add_waits(waits, timeline, program, event, completing, before, since, np.arange(low, high))
    return replace(waits, waiting=idle[:size])


def _add_waits(
    waits: Waits,
    timeline: Timeline,
    program: Program,
    event: NDArray[np.integer[Any]],
    completing: NDArray[np.integer[Any]],
    before: NDArray[np.integer[Any]],
    since: NDArray[np.int64],
    ranks: NDArray[np.int64],
) -> None:
    """Fill in the elements of these ranks."""
    bars = timeline.activities(ranks)
    order = np.lexsort((bars.end, bars.begin, bars.cpu, bars.rank))
    bars = bars.pick(order)
    stream = bars.rank * 256 + bars.cpu
    free = since[bars.rank]
    same = stream[1:] == stream[:-1]
    free[1:][same] = bars.end[:-1][same]
    idle = np.maximum(bars.begin - free, 0)
    handled, own = bars.send >= 0, bars.op >= 0
    at = np.zeros(len(bars), np.int64)
    at[own] = event[bars.op[own]]
    at[handled & own] = completing[at[handled & own]]
    blocked = np.where(handled | (program.kind[at] == EventKind.collective), at, before[at])
    np.add.at(waits.busy, at[own], (bars.end - bars.begin)[own] / 1e12)
    np.add.at(waits.waiting, blocked[own], idle[own] / 1e12)
    sent = timeline.start_ps[bars.send[handled]]
    late = np.clip(sent, free[handled], bars.begin[handled]) - free[handled]
    collective = timeline.schedule.ops["comm"][bars.send[handled]] % 2 == 1
    np.add.at(waits.synchronisation, bars.rank[handled], np.where(collective, late, 0) / 1e12)


def call_table(
    timeline: Timeline,
    program: Program,
    rows: Rows,
    event: NDArray[np.integer[Any]],
    completing: NDArray[np.integer[Any]],
    steps: PathSteps,
    waits: Waits,
    every: bool = False,
) -> tuple[Call, ...]:
    """A row for every function and location; the most of the critical path first.

    ``every``: also for those that take no time and send nothing.
    """
    total = len(rows.names)

    def summed(which: NDArray[np.integer[Any]], weights: NDArray[Any] | None = None) -> NDArray[Any]:
        return np.bincount(rows.row[which], weights=weights, minlength=total)

    ops = timeline.schedule.ops
    sending = np.flatnonzero(np.isin(ops["kind"], _SENDING))
    messages, sizes = summed(event[sending]), summed(event[sending], ops["amount"][sending].astype(np.float64))
    on_path = event[steps.op]
    receive = timeline.partner[steps.op]
    arriving = steps.arriving & (receive >= 0)
    on_path[arriving] = completing[event[receive[arriving]]]
    shares = np.stack([summed(on_path, steps.time[:, i]) for i in range(len(PATH_CLASSES))], axis=1)
    path = shares.sum(axis=1)
    events = np.arange(len(program))
    busy, waiting = summed(events, waits.busy), summed(events, waits.waiting)
    out = []
    for i in np.argsort(-(path + 1e-9 * (busy + waiting)), kind="stable"):
        if path[i] + busy[i] + waiting[i] == 0 and not messages[i] and not every:
            continue
        out.append(
            Call(
                rows.names[i],
                rows.locations[i],
                int(rows.calls[i]),
                int(messages[i]),
                int(sizes[i]),
                float(path[i]),
                {share: float(shares[i, k]) for k, share in enumerate(PATH_CLASSES)},
                float(busy[i]) / program.ranks,
                float(waiting[i]) / program.ranks,
            )
        )
    return tuple(out)


def pair_table(timeline: Timeline, steps: PathSteps) -> tuple[Pair, ...]:
    """Pairs of ranks whose messages are on the critical path; the most of it first."""
    on = np.flatnonzero(steps.sender >= 0)
    if not len(on):
        return ()
    keys = steps.sender[on] * timeline.ranks + steps.receiver[on]
    pairs, place = np.unique(keys, return_inverse=True)
    path = np.bincount(place, weights=steps.time[on].sum(axis=1))
    # A message may have several steps.
    message, first = np.unique(steps.op[on], return_index=True)
    count = np.bincount(place[first], minlength=len(pairs))
    size = np.bincount(place[first], weights=timeline.schedule.ops["amount"][message], minlength=len(pairs))
    return tuple(
        Pair(
            int(pairs[i]) // timeline.ranks, int(pairs[i]) % timeline.ranks, int(count[i]), int(size[i]), float(path[i])
        )
        for i in np.argsort(-path, kind="stable")
    )


def size_table(timeline: Timeline, steps: PathSteps) -> tuple[SizeClass, ...]:
    """All messages by size, in classes of powers of two, ascending."""
    ops = timeline.schedule.ops
    amount = ops["amount"][np.isin(ops["kind"], _SENDING)].astype(np.int64)
    if not len(amount):
        return ()
    number = _class_of(amount)
    messages, sizes = np.bincount(number), np.bincount(number, weights=amount)
    on = steps.sender >= 0
    path = np.bincount(_class_of(steps.bytes[on]), weights=steps.time[on].sum(axis=1), minlength=len(messages))
    low, high = np.full(len(messages), np.iinfo(np.int64).max), np.zeros(len(messages), np.int64)
    np.minimum.at(low, number, amount)
    np.maximum.at(high, number, amount)
    return tuple(
        SizeClass(int(low[i]), int(high[i]), int(messages[i]), int(sizes[i]), float(path[i]))
        for i in np.flatnonzero(messages)
    )


def _class_of(size: NDArray[np.int64]) -> NDArray[np.int64]:
    """0 for no bytes, otherwise the number of binary digits."""
    # frexp is exact for powers of two, log2 need not be.
    return np.frexp(size.astype(np.float64))[1].astype(np.int64)
