"""Collectives of a recording: the k-th call of every member of a communicator is one collective.

Here the calls of all ranks meet. What only the root was told (counts of gatherv) is told to all, time waiting for the
last rank is found, and what not all members recorded (a rank that was killed) is taken out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..schedule.columns import BLOCK, among, blocks
from ..schedule.event import ONE_LIST, OWN_LISTS
from ..schedule.program import NULL, ROOTED, CollectiveKind, EventKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .emission import Details


class Calls(NamedTuple):
    """Calls of collectives: event, call of the Recording, rank in the communicator, whether the call waited for it."""

    event: NDArray[np.int64]
    call: NDArray[np.int64]
    place: NDArray[np.int32]
    blocking: NDArray[np.bool_]


def align(
    events: dict[str, NDArray[Any]],
    comm: NDArray[np.int32],
    size: NDArray[np.int64],
    details: Details,
    calls: Calls,
    first: NDArray[np.int64],
    times: dict[str, NDArray[Any]],
    *,
    split: bool = False,
) -> NDArray[np.int64]:
    """Make the calls of each collective agree.

    Parameters
    ----------
    events : dict
        Columns of the Program, which are changed in place.
    comm : array of int32
        Communicator of each event, negative where its members are not known.
    size : array of int64
        Members of each communicator.
    calls : Calls
        Those of rank after rank.
    first : array of int64, ranks + 1
        First event of each rank, and the number of all.
    times : dict
        ``begin``, ``end`` and ``wait`` of the calls of the Recording; ``wait`` is written.
    split : bool
        Whether blocking calls that have a request, and a wait behind them, keep these; otherwise only where another
        member of the collective went on before it waited.

    Returns
    -------
    cut : array of int64
        Events of collectives that cannot stay: from the first on that some member lacks, or calls differently.
    """
    on = np.concatenate([np.empty(0, np.int32), *(comm[calls.event[part]] for part in blocks(len(calls.event)))])
    cut = [calls.event[on < 0]]
    collective, starts = _collectives(calls.event, on, np.searchsorted(calls.event, first), len(size))
    ends = np.cumsum(np.bincount(collective[on >= 0]))
    limit = np.full(len(size), np.iinfo(np.int64).max)
    there = np.flatnonzero(on >= 0)
    order = there[np.argsort(collective[there], kind="stable")]
    del there
    below = 0
    while below < len(ends):
        # As many whole collectives as fit into a block, at least one; those of one communicator come in their order.
        begin = int(ends[below - 1]) if below else 0
        above = max(int(np.searchsorted(ends, begin + BLOCK, side="right")), below + 1)
        index = np.sort(order[begin : int(ends[above - 1])])
        index = index[np.lexsort((calls.place[index], collective[index]))]
        mine = Calls(calls.event[index], calls.call[index], calls.place[index], calls.blocking[index])
        number = collective[index] - starts[on[index]]
        cut.append(_align(events, on[index].astype(np.int64), number, size, details, mine, limit, times, split))
        below = above
    return np.concatenate(cut)


def _collectives(
    event: NDArray[np.int64], on: NDArray[np.int32], first: NDArray[np.int64], communicators: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A number for each call that it shares with those of other ranks, and the first one of every communicator."""
    number = np.zeros(len(on), np.int64)
    for begin, end in zip(first.tolist(), first[1:].tolist(), strict=False):
        order = begin + np.lexsort((event[begin:end], on[begin:end]))
        sorted_on = on[order]
        new = np.flatnonzero(np.concatenate([[True], sorted_on[1:] != sorted_on[:-1]])[: len(order)])
        number[order] = np.arange(len(order)) - np.repeat(new, np.diff(np.append(new, len(order))))
    many = np.zeros(communicators, np.int64)
    known = on >= 0
    np.maximum.at(many, on[known], number[known] + 1)
    starts = np.cumsum(many) - many
    number[known] += starts[on[known]]
    return number, starts


def _align(
    events: dict[str, NDArray[Any]],
    on: NDArray[np.int64],
    number: NDArray[np.int64],
    size: NDArray[np.int64],
    details: Details,
    calls: Calls,
    limit: NDArray[np.int64],
    times: dict[str, NDArray[Any]],
    split: bool,
) -> NDArray[np.int64]:
    """:func:`align` for whole collectives, sorted by communicator, number and rank.

    ``limit`` has the first number of each communicator that cannot stay, as far as it was found, and is lowered.
    """
    event, call, _, blocking = calls
    first = np.flatnonzero(np.concatenate([[True], (on[1:] != on[:-1]) | (number[1:] != number[:-1])]))
    group = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(on))))
    root = _roots(events, event, first, group)
    alike = np.diff(np.append(first, len(on))) == size[on[first]]
    asks = events["request"][event] != 0
    for column in (events["kind"][event], events["what"][event], asks, root):
        alike &= np.logical_and.reduceat(column == column[first][group], first)
    np.minimum.at(limit, on[first[~alike]], number[first[~alike]])
    good = number < limit[on]
    if not split:
        alone = np.logical_and.reduceat(blocking, first)[group] | ~good
        _make_whole(events, event[asks & blocking & alone])
    kept = event[good]
    called = good & (events["kind"][event] == EventKind.collective)
    rooted = among(events["what"][kept], ROOTED)
    events["peer"][kept[rooted]] = root[good][rooted]
    _same_bytes(events, event, called, first, group, size[on], details.array())
    _list_blocks(events, event, called, first, size[on], details)
    _waits(times, call, blocking & good, first, group)
    return event[~good]


def _make_whole(events: dict[str, NDArray[Any]], event: NDArray[np.int64]) -> None:
    """Let calls that were split wait themselves: the wait behind each does nothing, and goes with what does nothing."""
    if not len(event):
        return
    events["request"][event] = 0
    for name, value in (("kind", EventKind.send), ("peer", NULL), ("request", 0), ("amount", 0)):
        events[name][event + 1] = value


def _roots(
    events: dict[str, NDArray[Any]], event: NDArray[np.int64], first: NDArray[np.int64], group: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Roots, also where those in the root's group of an intercommunicator did not name it; 0 without one."""
    rooted = among(events["what"][event], ROOTED) & (events["kind"][event] == EventKind.collective)
    root = np.where(rooted, events["peer"][event].astype(np.int64), 0)
    named = np.maximum.reduceat(root, first)
    return np.where(root < 0, named[group], root)


def _same_bytes(
    events: dict[str, NDArray[Any]],
    event: NDArray[np.int64],
    called: NDArray[np.bool_],
    first: NDArray[np.int64],
    group: NDArray[np.int64],
    size: NDArray[np.int64],
    details: NDArray[np.int64],
) -> None:
    """Lists that only some members have become those of all, and bytes the same on all."""
    what = events["what"][event]
    detail = np.where(called, events["detail"][event].astype(np.int64), 0)
    length = np.where(detail > 0, details[detail], 0)
    shared = among(what, ONE_LIST)
    fits = np.where(what == CollectiveKind.alltoall, length == 2 * size, shared & (length == size))
    fits |= (what == CollectiveKind.neighbor_alltoall) & (length % 3 == 0)
    detail = np.where(fits, detail, 0)
    most = np.maximum.reduceat(detail, first)[group]
    everywhere = np.minimum.reduceat(detail, first)[group] > 0
    detail = np.where(shared, most, np.where(among(what, OWN_LISTS) & everywhere, detail, 0))
    amount = np.where(called, events["amount"][event].astype(np.int64), 0)
    alike = (detail == 0) & ~among(what, (*ONE_LIST, CollectiveKind.alltoall))
    amount = np.where(alike, np.maximum.reduceat(amount, first)[group], amount)
    for name, new in (("detail", detail), ("amount", amount)):
        # Columns in files are written where they change only.
        changed = called & (events[name][event] != new)
        events[name][event[changed]] = new[changed]


def _list_blocks(
    events: dict[str, NDArray[Any]],
    event: NDArray[np.int64],
    called: NDArray[np.bool_],
    first: NDArray[np.int64],
    size: NDArray[np.int64],
    details: Details,
) -> None:
    """Lists blocks of different sizes from what each member says of its own, where no member lists them all."""
    amount = events["amount"][event].astype(np.int64)
    blocks = called & (events["detail"][event] == 0)
    blocks &= among(events["what"][event], (*ONE_LIST, CollectiveKind.alltoall))
    differ = np.maximum.reduceat(amount, first) != np.minimum.reduceat(amount, first)
    for begin in first[blocks[first] & differ].tolist():
        members = slice(begin, begin + int(size[begin]))
        mine = amount[members]
        if events["what"][event[begin]] == CollectiveKind.alltoall:
            rows = [np.concatenate([np.full(len(mine), each), mine]) for each in mine]
            events["detail"][event[members]] = [details.shared(row) for row in rows]
        else:
            events["detail"][event[members]] = details.shared(mine)


def _waits(
    times: dict[str, NDArray[Any]],
    call: NDArray[np.int64],
    known: NDArray[np.bool_],
    first: NDArray[np.int64],
    group: NDArray[np.int64],
) -> None:
    """Time from each call's begin to that of the last, at most as long as the call took."""
    begin, end = times["begin"][call], times["end"][call]
    last = np.maximum.reduceat(begin, first)[group]
    wait = np.minimum(last - begin, np.maximum(end - begin, 0))
    times["wait"][call[known]] = wait[known]


def take_out(events: dict[str, NDArray[Any]], cut: NDArray[np.int64]) -> None:
    """Make events that cannot stay do nothing, with requests that are complete at once."""
    asynchronous = events["request"][cut] != 0
    for name, value in (("what", 0), ("tag", 0), ("comm", 0), ("amount", 0), ("detail", 0), ("peer", NULL)):
        events[name][cut] = value
    events["kind"][cut] = np.where(asynchronous, EventKind.isend, EventKind.send)
