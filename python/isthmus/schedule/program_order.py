"""Checks of a program over time: requests are open when waited for, members call the same collectives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import InvalidInput
from . import columns
from .details import ranges
from .event import ONE_LIST, REDUCTIONS, ROOTED, VECTORS, EventKind
from .event_names import name_of, place_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .program import Program

#: Kinds that every member of the communicator calls.
_TOGETHER = (EventKind.collective, EventKind.comm_create, EventKind.fence)
#: What an event does to a request.
_OPEN, _PROBE, _CLOSE = range(3)


def check_requests(p: Program) -> None:
    """Requests are opened once at a time, and waited for only while they are open.

    Raises
    ------
    InvalidInput
    """
    event, request, use = _uses(p)
    if not len(event):
        return
    rank = np.searchsorted(p.first, event, side="right") - 1
    order = np.lexsort((event, request, rank))
    event, request, use, rank = event[order], request[order], use[order], rank[order]
    # A waitall of whatever is open closes all requests of its rank.
    closing = np.cumsum((p.kind == EventKind.waitall) & (p.detail == 0))[event]
    was_open = np.zeros(len(event), np.bool_)
    was_open[1:] = (request[1:] == request[:-1]) & (rank[1:] == rank[:-1])
    was_open[1:] &= (use[:-1] != _CLOSE) & (closing[1:] == closing[:-1])
    # Also after a mistake the next use is judged by the one before it: the first mistake is what is reported.
    wrong = was_open == (use == _OPEN)
    if not wrong.any():
        return
    at = int(np.flatnonzero(wrong)[np.argmin(event[wrong])])
    where = f"{place_of(p, int(event[at]))} ({name_of(p, int(event[at]))})"
    if use[at] == _OPEN:
        raise InvalidInput(f"{where}: opens request {request[at]}, which is open already")
    raise InvalidInput(f"{where}: request {request[at]} is not open: it was never opened, or was already waited for")


def _uses(p: Program) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int8]]:
    """Event, request and use of every mention of a request."""
    kind = p.kind
    opening = columns.among(kind, (EventKind.isend, EventKind.irecv))
    missing = opening & (p.request == 0)
    if missing.any():
        event = int(np.argmax(missing))
        raise InvalidInput(f"{place_of(p, event)} ({name_of(p, event)}): its request must be 1 or more")
    opening |= (kind == EventKind.collective) & (p.request != 0)
    single = columns.among(kind, (EventKind.wait, EventKind.test))
    use = np.where(opening, _OPEN, np.where((kind == EventKind.test) & (p.amount == 0), _PROBE, _CLOSE))
    ones = np.flatnonzero(opening | single)
    many = np.flatnonzero(columns.among(kind, (EventKind.waitall, EventKind.waitany)))
    values, length = p.expanded(many)
    owner = np.repeat(many, length)
    offset = ranges(np.zeros(len(many)), length)
    spared = (kind[owner] == EventKind.waitany) & (offset != p.amount[owner])
    return (
        np.concatenate([ones, owner]),
        np.concatenate([p.request[ones].astype(np.int64), values]),
        np.concatenate([use[ones], np.where(spared, _PROBE, _CLOSE)]).astype(np.int8),
    )


def check_collectives(p: Program) -> None:
    """All members of a communicator call the same collectives, of the same root and bytes, in the same order.

    Raises
    ------
    InvalidInput
        Naming the first rank, of the first communicator, that differs from the communicator's first rank.
    """
    called = np.flatnonzero(columns.among(p.kind, _TOGETHER))
    rank = np.searchsorted(p.first, called, side="right") - 1
    # Members are numbered as in comm_ranks: calls are sorted by member, and keep their order.
    owner = np.repeat(np.arange(p.communicators), columns.lengths(p.comm_first))
    key = owner * p.ranks + p.comm_ranks.astype(np.int64)
    by_key = np.argsort(key)
    member = by_key[np.searchsorted(key[by_key], p.comm[called].astype(np.int64) * p.ranks + rank)]
    order = np.argsort(member, kind="stable")
    called, member = called[order], member[order]
    calls = np.bincount(member, minlength=len(key))
    begin = np.cumsum(calls) - calls
    leader = p.comm_first[:-1].astype(np.int64)[owner]  # only of members, so that no communicator is empty
    number = np.arange(len(called)) - begin[member]
    compared = number < calls[leader[member]]
    mine = called[compared]
    theirs = called[(begin[leader[member]] + number)[compared]]
    reason = np.full(len(mine), "", dtype=object)
    for name, differs in _differences(p, mine, theirs):
        reason[differs & (reason == "")] = name
    wrong = np.flatnonzero(reason != "")
    shorter = np.flatnonzero(calls != calls[leader])
    # The smallest communicator and member comes first, and for it what differs before what is missing.
    at = int(member[compared][wrong[0]]) if len(wrong) else len(key)
    if len(shorter) and shorter[0] < at:
        m = int(shorter[0])
        raise InvalidInput(
            f"rank {p.comm_ranks[m]} calls {calls[m]} collectives on communicator {owner[m]}, "
            f"but rank {p.comm_ranks[leader[m]]} calls {calls[leader[m]]}"
        )
    if len(wrong):
        a, b = int(mine[wrong[0]]), int(theirs[wrong[0]])
        raise InvalidInput(
            f"{place_of(p, a)} ({name_of(p, a)}): differs in {reason[wrong[0]]} from {place_of(p, b)} "
            f"({name_of(p, b)}), the same collective of communicator {p.comm[a]}"
        )


def _differences(p: Program, a: NDArray[np.int64], b: NDArray[np.int64]) -> list[tuple[str, NDArray[np.bool_]]]:
    """The arguments in which the calls of two members differ."""
    kind, what = p.kind[a], p.what[a]
    vector = columns.among(what, VECTORS) | ((p.detail[a] == 0) & (kind == EventKind.collective))
    blocking = (p.request[a] == 0) != (p.request[b] == 0)
    return [
        ("kind", (kind != p.kind[b]) | (what != p.what[b])),
        ("whether the operator commutes", columns.among(what, REDUCTIONS) & (p.tag[a] != p.tag[b])),
        ("root", columns.among(what, ROOTED) & (p.peer[a] != p.peer[b])),
        ("blocking", (kind == EventKind.collective) & blocking),
        ("whether there are bytes per rank", (p.detail[a] == 0) != (p.detail[b] == 0)),
        ("bytes", vector & (p.amount[a] != p.amount[b])),
        ("bytes per rank", _lists_differ(p, a, b, columns.among(what, ONE_LIST))),
    ]


def _lists_differ(p: Program, a: NDArray[np.int64], b: NDArray[np.int64], same: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The pairs whose details differ but should be equal."""
    differ = np.zeros(len(a), np.bool_)
    # Builders share lists: most need not be looked at.
    index = np.flatnonzero(same & (p.detail[a] != p.detail[b]))
    values, length = p.expanded(a[index])
    others, their_length = p.expanded(b[index])
    equal = length == their_length
    differ[index[~equal]] = True
    mine = values[np.repeat(equal, length)] != others[np.repeat(equal, their_length)]
    differ[np.repeat(index[equal], length[equal])[mine]] = True
    return differ
