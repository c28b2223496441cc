"""What skeletons are made of: boxes of ranks, their neighbours, exchanges with them, and uneven computation."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from .steps import Steps


class Messages(NamedTuple):
    """A message of ``bytes`` from each ``source`` to its ``target``; all are arrays of one length."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    bytes: NDArray[np.int64]


@dataclass(frozen=True)
class Box:
    """Ranks in a box, the last dimension fastest, as MPI_Cart_create counts them."""

    sides: tuple[int, ...]
    periodic: bool = False

    @property
    def ranks(self) -> int:
        """How many ranks the box holds."""
        return int(np.prod(self.sides))

    def neighbours(self, *step: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Ranks that have a neighbour this step away, other than themselves, and the neighbours."""
        rank = np.arange(self.ranks)
        place = np.stack(np.unravel_index(rank, self.sides))
        there = place + np.array(step)[:, None]
        sides = np.array(self.sides)[:, None]
        if self.periodic:
            there %= sides
        inside = ((there >= 0) & (there < sides)).all(0)
        to = np.ravel_multi_index(tuple(there[:, inside]), self.sides)
        other = to != rank[inside]
        return rank[inside][other], to[other]

    def halo(self, bytes: Callable[[tuple[int, ...]], int], most: int | None = None) -> Messages:
        """A message to each neighbour, of as many bytes as ``bytes`` says for the step to it.

        By default to neighbours at faces, edges and corners; ``most`` bounds in how many dimensions a step goes: with
        1, neighbours at faces only.
        """
        found = []
        for step in product((-1, 0, 1), repeat=len(self.sides)):
            if any(step) and (most is None or np.count_nonzero(step) <= most):
                source, target = self.neighbours(*step)
                found.append((source, target, np.full(len(source), bytes(step))))
        return Messages(*(np.concatenate(column) for column in zip(*found, strict=True)))

    def lines(self, *axes: int) -> NDArray[np.int64]:
        """For each rank, the number of the line (plane) along these dimensions that it is on."""
        place = np.unravel_index(np.arange(self.ranks), self.sides)
        others = [axis for axis in range(len(self.sides)) if axis not in axes]
        line = np.zeros(self.ranks, np.int64)
        for axis in others:
            line = line * self.sides[axis] + place[axis]
        return line


def cells_of_halo(cells: float) -> Callable[[tuple[int, ...]], int]:
    """Of a cube with so many cells along an edge, those next to the neighbour a step away."""
    return lambda step: round(cells ** (len(step) - np.count_nonzero(step)))


def exchange(b: Steps, messages: Messages, tag: int = 0, wait: bool = True) -> None:
    """All receives, then all sends, and all ranks wait for theirs."""
    b.irecv(messages.target, messages.source, messages.bytes, tag=tag)
    b.isend(messages.source, messages.target, messages.bytes, tag=tag)
    if wait:
        b.waitall(None)


def work(ranks: int, seconds: float, spread: float, seed: int) -> NDArray[np.float64]:
    """Computation of each rank: a mean, and the standard deviation of the ranks over it; the same in all steps."""
    return seconds * np.maximum(0.0, 1 + spread * np.random.default_rng(seed).standard_normal(ranks))


def parted(total: int, parts: int) -> Iterator[int]:
    """So many things over so many parts, as evenly as can be."""
    return (total * (i + 1) // parts - total * i // parts for i in range(parts))


def shared_out(b: Steps, parts: int, what: str, alike: bool = False) -> None:
    """The problem has so many parts: say how many ranks have none, if there are more ranks.

    ``alike``: the skeleton lets these compute and communicate as the others nevertheless.
    """
    if parts < b.ranks:
        more = ", but are taken to compute and communicate as the others" * alike
        b.origin = f"{parts:,} {what} for {b.ranks:,} ranks: {b.ranks - parts:,} have none{more}"


def split(b: Steps, color: NDArray[np.int64]) -> NDArray[np.int64]:
    """Communicators of ranks of one color; the events of making them are not in the program."""
    order = np.argsort(color, kind="stable")
    different, start = np.unique(color[order], return_index=True)
    made = np.array([b.communicator(part) for part in np.split(order, start[1:])])
    return made[np.searchsorted(different, color)]


def rows_and_columns(b: Steps, grid: Box) -> list[tuple[NDArray[np.int64], int]]:
    """For each rank the communicators of its row and its column, and how many ranks they have."""
    return [(split(b, grid.lines(axis)), grid.sides[axis]) for axis in (1, 0)]
