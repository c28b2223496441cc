"""Checks of a program: columns that fit each other, and events that make sense."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from . import columns
from .event import (
    ANY,
    EVENT_COLUMNS,
    NO_COMMUNICATOR,
    NONE,
    NULL,
    OPTIONAL_COLUMNS,
    PEERED,
    ROOTED,
    SENDS,
    VECTORS,
    CollectiveKind,
    EventKind,
)
from .event_names import name_of, place_of
from .program_order import check_collectives, check_requests

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .program import Program
    from .recording import Recording

_TAGGED = (EventKind.send, EventKind.isend, EventKind.sendrecv, EventKind.recv, EventKind.irecv)
_SIZED = (*SENDS, EventKind.recv, EventKind.irecv, EventKind.collective, EventKind.compute)
#: Collectives of the same bytes on all ranks, which may have no detail.
_VECTORS = (CollectiveKind.barrier, *VECTORS)
_LARGEST = 2**63 - 1


def check_columns(p: Program) -> None:
    """Columns have the right lengths and point to what exists: whoever walks through them stays inside.

    Raises
    ------
    InvalidInput
    """
    events = len(p.kind)
    for name in EVENT_COLUMNS:
        _check(len(getattr(p, name)) == events, f"{name} has {len(getattr(p, name))} elements instead of {events}")
    for name in OPTIONAL_COLUMNS:
        size = len(getattr(p, name))
        _check(size in (0, events), f"{name} has {size} elements: must have {events} or none")
    _check(2 <= len(p.first) <= NONE, f"first has {len(p.first)} elements: expected one more than there are ranks")
    _check_offsets("first", p.first, events)
    _check(2 <= len(p.comm_first) <= NONE, "comm_first is too short or too long: there is at least the world")
    _check_offsets("comm_first", p.comm_first, len(p.comm_ranks))
    _check(1 <= len(p.details) <= NONE, f"details has {len(p.details)} elements: must be 1 to {NONE}")
    for name, limit in (
        ("kind", len(EventKind) + 1),
        ("what", len(CollectiveKind) + 1),
        ("comm", p.communicators),
        ("detail", len(p.details)),
    ):
        column = getattr(p, name)
        if events and column.max() >= limit:
            _fail(p, int(np.argmax(column >= limit)), f"{name} {column.max()} does not exist, there are {limit}")
        columns.drop(column)
    for name, names in (("location", p.locations), ("phase", p.phases)):
        column = getattr(p, name)
        for part in columns.blocks(len(column)):
            wrong = (column[part] >= len(names)) & (column[part] != NONE)
            if wrong.any():
                at = part.start + int(np.argmax(wrong))
                _fail(p, at, f"{name} {column[at]} does not exist, there are {len(names)}")
        columns.drop(column)
    for part in columns.blocks(events):
        used = part.start + np.flatnonzero(p.detail[part])
        length = p.details[p.detail[used]]
        room = len(p.details) - 1 - p.detail[used].astype(np.int64)
        if (wrong := (length < 0) | (length > room)).any():
            at = int(np.argmax(wrong))
            _fail(p, int(used[at]), f"detail of {length[at]} numbers, but only {room[at]} follow")
    columns.drop(p.detail)
    columns.drop(p.details)


def check_recording(p: Program, recording: Recording) -> None:
    """A recording is of this program: of its ranks, events and communicators.

    Raises
    ------
    InvalidInput
    """
    _check(recording.ranks == p.ranks, f"the recording has {recording.ranks} ranks, the program {p.ranks}")
    for name, limit in (("event", len(p)), ("comm", p.communicators)):
        column = getattr(recording, name)
        if len(column) and column.max() >= limit:
            raise InvalidInput(f"the recording has {name} {column.max()}, which does not exist: there are {limit}")
        columns.drop(column)


def check_meaning(p: Program) -> None:
    """Events make sense; see :meth:`Program.validate`."""
    _check_communicators(p)
    _check_kinds(p)
    _check_members(p)
    size = columns.lengths(p.comm_first)[p.comm]
    _check_peers(p, size)
    _check_amounts(p)
    _check_details(p, size)
    check_requests(p)
    check_collectives(p)


def first_wrong(p: Program, wrong: NDArray[np.bool_], *reason: Any) -> None:
    """InvalidInput for the first event that is wrong; arrays in the reason give their element."""
    if not wrong.any():
        return
    at = int(np.argmax(wrong))
    _fail(p, at, " ".join(str(part[at]) if isinstance(part, np.ndarray) else str(part) for part in reason))


def _fail(p: Program, event: int, reason: str) -> None:
    raise InvalidInput(f"{place_of(p, event)} ({name_of(p, event)}): {reason}")


def _check(holds: bool, reason: str) -> None:
    if not holds:
        raise InvalidInput(reason)


def _check_offsets(name: str, offsets: NDArray[np.uint64], end: int) -> None:
    ends = (int(offsets[0]), int(offsets[-1]))
    _check(ends == (0, end), f"{name} goes from {ends[0]} to {ends[1]} instead of from 0 to {end}")
    down = offsets[1:] < offsets[:-1]
    _check(not down.any(), f"{name} decreases after element {int(np.argmax(down))}")


def _check_communicators(p: Program) -> None:
    if not np.array_equal(p.members(0), np.arange(p.ranks)):
        raise InvalidInput(f"communicator 0 is the world: its members must be the {p.ranks} ranks in order")
    owner = np.repeat(np.arange(p.communicators), columns.lengths(p.comm_first))
    wrong = p.comm_ranks >= p.ranks
    if wrong.any():
        at = int(np.argmax(wrong))
        raise InvalidInput(f"communicator {owner[at]} has rank {p.comm_ranks[at]}: ranks are 0 to {p.ranks - 1}")
    order = np.lexsort((p.comm_ranks, owner))
    ranks, owner = p.comm_ranks[order], owner[order]
    twice = (ranks[1:] == ranks[:-1]) & (owner[1:] == owner[:-1])
    if twice.any():
        at = int(np.argmax(twice))
        raise InvalidInput(f"communicator {owner[at]} has rank {ranks[at]} twice")


def _check_kinds(p: Program) -> None:
    first_wrong(p, p.kind == 0, "kind 0 is unknown, kinds are 1 to", len(EventKind))
    called = p.kind == EventKind.collective
    first_wrong(p, called & (p.what == 0), "collective 0 is unknown, collectives are 1 to", len(CollectiveKind))
    first_wrong(p, ~called & (p.what != 0), "what is", p.what, "but only collectives have it")


def _check_members(p: Program) -> None:
    """Ranks use communicators that they belong to."""
    used = np.flatnonzero(p.comm)
    if not len(used):
        return
    keys = np.sort(_keys(p))
    rank = np.searchsorted(p.first, used, side="right") - 1
    wanted = p.comm[used] * np.uint64(p.ranks) + rank.astype(np.uint64)
    at = np.searchsorted(keys, wanted)
    missing = keys[np.minimum(at, len(keys) - 1)] != wanted
    if missing.any():
        event = int(used[np.argmax(missing)])
        _fail(p, event, f"the rank is not in communicator {p.comm[event]}")


def _keys(p: Program) -> NDArray[np.uint64]:
    """A number for each member of each communicator."""
    owner = np.repeat(np.arange(p.communicators, dtype=np.uint64), columns.lengths(p.comm_first))
    return owner * np.uint64(p.ranks) + p.comm_ranks


def _check_peers(p: Program, size: NDArray[np.int64]) -> None:
    kind = p.kind
    named = columns.among(kind, PEERED)
    may_be_any = columns.among(kind, (EventKind.recv, EventKind.irecv, EventKind.flush, EventKind.unlock))
    allowed = (p.peer >= 0) & (p.peer < size) | (p.peer == NULL) | (may_be_any & (p.peer == ANY))
    first_wrong(p, named & ~allowed, "peer", p.peer, "in communicator", p.comm, "of size", size)
    rooted = (kind == EventKind.collective) & columns.among(p.what, ROOTED)
    outside = (p.peer < 0) | (p.peer >= size)
    first_wrong(p, rooted & outside, "root", p.peer, "in communicator", p.comm, "of size", size)
    wild = columns.among(kind, (EventKind.recv, EventKind.irecv))
    first_wrong(p, columns.among(kind, _TAGGED) & (p.tag < np.where(wild, ANY, 0)), "tag", p.tag)


def _check_amounts(p: Program) -> None:
    kind, amount = p.kind, p.amount
    what = "picoseconds or bytes"
    negative = columns.among(kind, _SIZED) & (amount > _LARGEST)
    first_wrong(p, negative, what, amount.view(np.int64), "must not be negative")
    first_wrong(p, (kind == EventKind.test) & (amount > 1), "completed", amount, "but must be 0 or 1")
    made = (kind == EventKind.comm_create) & (amount != NO_COMMUNICATOR)
    first_wrong(p, made & (amount >= p.communicators), "communicator", amount, "but there are", p.communicators)
    index = np.flatnonzero(made)
    rank = np.searchsorted(p.first, index, side="right") - 1
    in_it = np.isin(amount[index] * np.uint64(p.ranks) + rank.astype(np.uint64), _keys(p))
    if not in_it.all():
        event = int(index[np.argmin(in_it)])
        _fail(p, event, f"the rank is not in communicator {amount[event]}")


def _check_details(p: Program, size: NDArray[np.int64]) -> None:
    """Details have the lengths that their events ask for, and elements in range."""
    used = np.flatnonzero(p.detail)
    values, lengths = p.expanded(used)
    owner = np.repeat(used, lengths)
    offset = np.arange(len(values)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    length = np.zeros(len(p), np.int64)
    length[used] = lengths
    kind, given = p.kind, p.detail != 0
    called = kind == EventKind.collective
    lists = (EventKind.sendrecv, EventKind.waitall, EventKind.waitany, EventKind.collective)
    first_wrong(p, given & ~columns.among(kind, lists), "has no detail")
    both = kind == EventKind.sendrecv
    first_wrong(p, both & (length != 3), "detail of", length, "numbers instead of source, receive tag, receive bytes")
    some = kind == EventKind.waitany
    first_wrong(p, some & (p.amount >= length.view(np.uint64)), "completed", p.amount, "of", length, "requests")
    first_wrong(p, called & given & columns.among(p.what, _VECTORS), "has no bytes per rank")
    everyone = called & (p.what == CollectiveKind.alltoall)
    near = called & (p.what == CollectiveKind.neighbor_alltoall)
    first_wrong(p, near & ~given, "needs a detail of neighbour, bytes to it, bytes from it")
    first_wrong(p, near & (length % 3 != 0), "detail of", length, "numbers, which are no triples")
    wrong = called & given & ~near & (length != np.where(everyone, 2 * size, size))
    first_wrong(p, wrong, "detail of", length, "numbers for a communicator of size", size)
    # Elements: of all numbers only ranks and tags have lower limits other than 0.
    element = _Element(p, owner)
    source = both[owner] & (offset == 0)
    outside = (values >= size[owner]) | (values < NULL)
    element.wrong(source & outside, "source", values, "in communicator of size", size[owner])
    element.wrong(both[owner] & (offset == 1) & (values < ANY), "receive tag", values)
    neighbor = near[owner] & (offset % 3 == 0)
    element.wrong(neighbor & ((values < 0) | (values >= size[owner])), "neighbour", values, "of", size[owner])
    sized = (called[owner] & ~neighbor) | (both[owner] & (offset == 2))
    element.wrong(sized & (values < 0), "bytes", values, "must not be negative")
    waits = columns.among(kind, (EventKind.waitall, EventKind.waitany))[owner]
    element.wrong(waits & ((values < 1) | (values > NONE)), "request", values, "is unknown")


class _Element:
    """Reports elements of details as part of their events."""

    def __init__(self, p: Program, owner: NDArray[np.int64]) -> None:
        self.p = p
        self.owner = owner

    def wrong(self, wrong: NDArray[np.bool_], *reason: Any) -> None:
        if not wrong.any():
            return
        at = int(np.argmax(wrong))
        words = [str(part[at]) if isinstance(part, np.ndarray) else str(part) for part in reason]
        _fail(self.p, int(self.owner[at]), " ".join(words))
