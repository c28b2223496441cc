"""How vectors of a level come to fewer ranks, and back: as collectives of a program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .operators import ELEMENT
from .products import Copies

if TYPE_CHECKING:
    from ..schedule.builder import ProgramBuilder


@dataclass(frozen=True, slots=True)
class Group:
    """Ranks whose parts of a vector come to the first of them, or to all.

    Attributes
    ----------
    members : array, ranks
    gives, gets : array of int64, ranks
        Bytes that each gives, 0 where another member has the same, and that each gets back.
    """

    members: NDArray[Any]
    gives: NDArray[np.int64]
    gets: NDArray[np.int64]


def groups(rows: NDArray[np.uint64], root: NDArray[np.uint32], copies: Copies, *, redundant: bool) -> list[Group]:
    """Return the groups of ranks that give their rows to the same root, where several parts do.

    Parameters
    ----------
    rows : array of uint64, parts
        Before they are given away.
    root : array of uint32, parts
        To whom each part gives them.
    copies : mapping from int to array
        Of parts that several ranks hold.
    redundant : bool
        All ranks of a group get the whole: one with a copy of each part is enough, so there are as many groups.
    """
    found = []
    for parts in _together(rows, root):
        if len(parts) == 1:
            continue
        held = [copies.get(part, np.array([part], np.uint32)) for part in parts.tolist()]
        count = min(map(len, held)) if redundant else 1
        for number in range(count):
            found.append(_group(rows[parts].astype(np.int64), [one[number::count] for one in held]))
    return found


def _together(rows: NDArray[np.uint64], root: NDArray[np.uint32]) -> list[NDArray[np.int64]]:
    """Parts with rows, those of one root after the other."""
    owner = np.flatnonzero(rows)
    owner = owner[np.argsort(root[owner], kind="stable")]
    return np.split(owner, np.flatnonzero(np.diff(root[owner])) + 1)


def _group(rows: NDArray[np.int64], held: list[NDArray[np.uint32]]) -> Group:
    sizes = np.array([len(one) for one in held])
    gets = np.repeat(rows * ELEMENT, sizes)
    gives = np.zeros_like(gets)
    first = np.cumsum(sizes) - sizes
    gives[first] = gets[first]
    return Group(np.concatenate(held), gives, gets)


def all_copies(rows: NDArray[np.uint64], root: NDArray[np.uint32], copies: Copies) -> Copies:
    """Return the copies of roots where all ranks that give them rows compute what they do."""
    out = {}
    for parts in _together(rows, root):
        held = [copies.get(part, np.array([part], np.uint32)) for part in parts.tolist()]
        if sum(map(len, held)) > 1:
            out[int(parts[0])] = np.concatenate(held)
    return out


@dataclass(frozen=True, slots=True)
class Gathering:
    """Groups with their communicators in a program.

    Attributes
    ----------
    groups : list of Group
    comms : list of int
    redundant : bool
        All members get the whole, and nothing has to come back.
    """

    groups: list[Group]
    comms: list[int]
    redundant: bool

    @classmethod
    def of(cls, b: ProgramBuilder, found: list[Group], *, redundant: bool) -> Gathering:
        """Make the communicators."""
        return cls(found, [b.communicator(one.members) for one in found], redundant)

    def there(self, b: ProgramBuilder) -> None:
        """Add the way to the roots."""
        for one, comm in zip(self.groups, self.comms, strict=True):
            b.collective("allgather" if self.redundant else "gather", one.members, comm=comm, counts=one.gives)

    def back(self, b: ProgramBuilder) -> None:
        """Add the way back from the roots."""
        if not self.redundant:
            for one, comm in zip(self.groups, self.comms, strict=True):
                b.collective("scatter", one.members, comm=comm, counts=one.gets)
