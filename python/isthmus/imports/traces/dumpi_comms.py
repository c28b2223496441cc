"""Communicators of dumpi traces: every rank has numbers of its own for them.

All members of a communicator make new ones from it in the same order: the first that they make are the same, the second
too, and so on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from ...recording.communicators import SELF, WORLD
from ...recording.raw import Communicator

#: Handles of dumpi.
NULL_HANDLE, WORLD_HANDLE, SELF_HANDLE = 1, 2, 3
#: Ids of communicators that were found out, and of those that could not be.
_FOUND, _LOST = 1 << 62, 1 << 61
#: Ranks that no job has.
_MOST_RANKS = 1 << 24


@dataclass
class Creation:
    """One call that made a communicator: ``new`` is its number for the rank, None if the rank is not in it."""

    how: str
    new: int | None
    numbers: dict[str, Any] = field(default_factory=dict)


@dataclass
class Made:
    """Communicators that one rank made, by the number of the parent."""

    of: dict[int, list[Creation]] = field(default_factory=dict)


class Handles:
    """Numbers for the communicators of one rank: handles may be used again."""

    def __init__(self) -> None:
        self.made = Made()
        self.groups: dict[int, Any] = {}
        self._current = {WORLD_HANDLE: 0, SELF_HANDLE: 1}
        self._next = 2

    def number(self, handle: int) -> int:
        """The communicator that a handle stands for now."""
        if handle not in self._current:
            self._current[handle] = self._next
            self._next += 1
        return self._current[handle]

    def make(self, how: str, parent: int, new: int, **numbers: Any) -> int | None:
        """A communicator is made from another; returns its number."""
        over = self.number(parent)
        self._current.pop(new, None)
        made = None if new <= NULL_HANDLE else self.number(new)
        self.made.of.setdefault(over, []).append(Creation(how, made, numbers))
        return made


class Resolution:
    """Members and ids of all communicators, as far as they follow from the calls that made them.

    Parameters
    ----------
    handles : sequence of Handles
        Handles of every rank.
    """

    def __init__(self, handles: Sequence[Handles]) -> None:
        self.handles = handles
        self.ranks = len(handles)
        self.members: dict[int, tuple[int, ...]] = {WORLD: tuple(range(self.ranks))}
        self._extents: dict[int, list[int]] = {}
        self._id: list[dict[int, int]] = [{0: WORLD, 1: SELF + rank} for rank in range(self.ranks)]
        self._run()

    def id(self, rank: int, number: int) -> int:
        """Id of a rank's communicator."""
        return self._id[rank].get(number, _LOST + number)

    def said(self, rank: int) -> list[Communicator]:
        """The records of communicators that a rank would write."""
        return [
            Communicator(id, 0, self.members[id].index(rank), self.members[id], ())
            for id in self._id[rank].values()
            if id in self.members and id != WORLD
        ]

    def _run(self) -> None:
        for rank in range(self.ranks):
            self.members[SELF + rank] = (rank,)
        waiting = deque(self.members)
        while waiting:
            id = waiting.popleft()
            members = self.members[id]
            calls = [self._calls(rank, id) for rank in members]
            for step in range(min(map(len, calls), default=0)):
                for group, extents in self._groups(id, members, [mine[step] for mine in calls]):
                    new = _FOUND + len(self.members)
                    self.members[new] = group
                    self._extents[new] = extents
                    waiting.append(new)
                    for rank in group:
                        number = calls[members.index(rank)][step].new
                        if number is not None:
                            self._id[rank][number] = new

    def _calls(self, rank: int, id: int) -> list[Creation]:
        number = next(number for number, known in self._id[rank].items() if known == id)
        return self.handles[rank].made.of.get(number, [])

    def _groups(
        self, id: int, members: tuple[int, ...], calls: list[Creation]
    ) -> list[tuple[tuple[int, ...], list[int]]]:
        """Members of the communicators that one call of all members makes, and the extents of a Cartesian one."""
        inside = [rank for rank, call in zip(members, calls, strict=True) if call.new is not None]
        if not inside:
            return []
        first = calls[members.index(inside[0])]
        numbers = first.numbers
        if first.how == "dup":
            return [(members, self._extents.get(id, []))]
        if first.how == "split":
            parts: dict[int, list[tuple[int, int, int]]] = {}
            for place, (rank, call) in enumerate(zip(members, calls, strict=True)):
                if call.new is not None:
                    parts.setdefault(call.numbers["color"], []).append((call.numbers["key"], place, rank))
            return [(tuple(rank for _, _, rank in sorted(part)), []) for part in parts.values()]
        if first.how == "create":
            group = self._evaluated(inside[0], numbers["group"])
            return [(group, [])] if set(group) == set(inside) else []
        if first.how == "cart":
            return [(tuple(inside), list(numbers["dims"]))]
        if first.how == "sub":
            return self._slices(self._extents.get(id, []), members, numbers["remain"])
        return [(tuple(inside), [])] if first.how == "graph" else []

    def _slices(
        self, extents: list[int], members: tuple[int, ...], remain: list[int]
    ) -> list[tuple[tuple[int, ...], list[int]]]:
        """Slices of a Cartesian communicator along the dimensions that remain."""
        parts: dict[tuple[int, ...], list[int]] = {}
        for rank, place in zip(members, product(*(range(n) for n in extents)), strict=False):
            fixed = tuple(x for x, kept in zip(place, remain, strict=False) if not kept)
            parts.setdefault(fixed, []).append(rank)
        kept = [n for n, is_kept in zip(extents, remain, strict=False) if is_kept]
        return [(tuple(part), kept) for part in parts.values()] if extents else []

    def _evaluated(self, rank: int, group: Any) -> tuple[int, ...]:
        """Members of a group, which is described by the calls that made it."""
        match group:
            case ("comm", number):
                return self.members.get(self.id(rank, number), ())
            case ("incl", of, places):
                old = self._evaluated(rank, of)
                return tuple(old[place] for place in places if 0 <= place < len(old))
            case ("excl", of, places):
                without = set(places)
                return tuple(r for place, r in enumerate(self._evaluated(rank, of)) if place not in without)
            case ("union" | "intersection" | "difference" as how, a, b):
                mine, other = self._evaluated(rank, a), self._evaluated(rank, b)
                if how == "union":
                    return mine + tuple(r for r in other if r not in mine)
                return tuple(r for r in mine if (r in other) == (how == "intersection"))
        return ()


def places_of(triples: Sequence[int]) -> list[int]:
    """Places that first, last and stride name, three by three."""
    places: list[int] = []
    for i in range(0, len(triples) - 2, 3):
        first, last, stride = triples[i : i + 3]
        if stride:
            # Places that no job has are left out by whoever asks for their ranks.
            first, last = (min(max(place, -1), _MOST_RANKS) for place in (first, last))
            places += range(first, last + (1 if stride > 0 else -1), stride)
    return places
