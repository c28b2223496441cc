"""Communicators of a recording: ids that all members share become communicators of the Program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from .raw import Communicator

#: Ids of MPI_COMM_WORLD, and of MPI_COMM_SELF of rank 0.
WORLD, SELF = 1, 2
#: Stands for a communicator whose members are not known.
UNKNOWN = -1


@dataclass(frozen=True)
class Local:
    """The communicators that one rank used, in the order of its own list.

    Attributes
    ----------
    index : array of int64
        Communicator of the Program, or ``UNKNOWN``.
    place : array of int64
        The rank's own rank there.
    shift : array of int64
        What to add to ranks of partners: the Program takes an intercommunicator as one of both its groups.
    inter : array of bool
    """

    index: NDArray[np.int64]
    place: NDArray[np.int64]
    shift: NDArray[np.int64]
    inter: NDArray[np.bool_]


class Communicators:
    """Collects what ranks say about communicators."""

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        self._groups: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}
        self._own: list[dict[int, int]] = [{} for _ in range(ranks)]
        self._alias: dict[int, int] = {}
        self._sides: dict[frozenset[tuple[int, ...]], dict[tuple[int, ...], list[int]]] = {}

    def add(self, rank: int, said: Iterable[Communicator]) -> None:
        """Reads the records of one rank."""
        for c in said:
            self._own[rank][c.id] = c.rank
            if c.local and c.id != WORLD:
                self._groups.setdefault(c.id, (c.local, c.remote))
            if c.local and c.remote:
                sides = self._sides.setdefault(frozenset((c.local, c.remote)), {})
                ids = sides.setdefault(c.local, [])
                if c.id not in ids:
                    ids.append(c.id)

    def finish(
        self, used: list[tuple[int, NDArray[np.uint64]]]
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint32], list[Local]]:
        """Tables of the Program, and what each list of used ids means.

        Parameters
        ----------
        used : list of (int, array of uint64)
            Ranks and ids that they used; a rank may have several lists.
        """
        for sides in self._sides.values():
            # Where the groups of an intercommunicator call it differently, they made them in the same order.
            first, *others = sides.values()
            for other in others:
                self._alias.update(zip(other, first, strict=False))
        index: dict[int, int] = {WORLD: 0}
        members: list[tuple[int, ...]] = []
        locals_ = []
        for rank, ids in used:
            table = np.array([self._local(rank, id, index, members) for id in ids.tolist()], np.int64).reshape(-1, 4)
            locals_.append(Local(table[:, 0], table[:, 1], table[:, 2], table[:, 3] != 0))
        lengths = [self.ranks, *map(len, members)]
        ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint64)
        everyone = [np.arange(self.ranks, dtype=np.uint32), *(np.array(m, np.uint32) for m in members)]
        return ends, np.concatenate(everyone), locals_

    def _local(
        self, rank: int, id: int, index: dict[int, int], members: list[tuple[int, ...]]
    ) -> tuple[int, int, int, int]:
        if id == WORLD:
            return 0, rank, 0, 0
        if id == SELF + rank and id not in self._groups:
            self._groups[id] = ((rank,), ())
        known = self._groups.get(self._alias.get(id, id)) or self._groups.get(id)
        if known is None:
            return UNKNOWN, 0, 0, 0
        first, second = sorted(known) if known[1] else known
        union = first + second
        if len(set(union)) < len(union) or min(union) < 0 or max(union) >= self.ranks or rank not in union:
            return UNKNOWN, 0, 0, 0
        id = self._alias.get(id, id)
        if id not in index:
            index[id] = len(index)
            members.append(union)
        mine_first = rank in first
        shift = len(first) if second and mine_first else 0
        return index[id], union.index(rank), shift, int(bool(second))


def worlds(comm_first: NDArray[np.uint64], comm_ranks: NDArray[np.uint32], comm: Any, place: Any) -> NDArray[np.int64]:
    """World ranks of places in communicators.

    Raises
    ------
    InvalidInput
        Where a communicator has fewer ranks.
    """
    first, place = comm_first.astype(np.int64), np.asarray(place)
    wrong = place >= (first[1:] - first[:-1])[comm]
    if wrong.any():
        at = int(wrong.argmax())
        size = int((first[1:] - first[:-1])[np.broadcast_to(comm, wrong.shape)[at]])
        raise InvalidInput(f"the trace names rank {place[at]} of a communicator that has {size}: it is damaged")
    found: NDArray[np.int64] = comm_ranks[comm_first[comm].astype(np.int64) + place].astype(np.int64)
    return found
