"""What ranks do for one product with an operator of a hierarchy: whom they send what, and how long they compute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .cycle import FLOPS
from .operators import Operator

if TYPE_CHECKING:
    from ..schedule.builder import ProgramBuilder

#: Of every rank whose rows others compute, too, all ranks that do.
Copies = Mapping[int, NDArray[np.uint32]]


@dataclass(frozen=True, slots=True)
class Product:
    """A product as events of a program.

    Attributes
    ----------
    source, target, bytes : array, messages
    seconds : array of float64, ranks
        Computation of each rank in ``computing``.
    waiting, computing : array, ranks
        Ranks that send or receive; ranks that compute.
    first : bool
        Ranks compute before they send: what others get are parts of their sums.
    """

    source: NDArray[Any]
    target: NDArray[Any]
    bytes: NDArray[np.uint64]
    waiting: NDArray[Any]
    computing: NDArray[Any]
    seconds: NDArray[np.float64]
    first: bool = False

    @classmethod
    def of(cls, operator: Operator, flop: float, copies: Copies, *, transposed: bool = False) -> Product:
        """Take the product with an operator, or with its transpose, at ``flop`` seconds for each of two operations."""
        e = operator.exchange
        source, target, bytes = _by_copies(e.sources(), e.peer, e.bytes, copies)
        if transposed:
            source, target = target, source
        owner = np.flatnonzero(operator.nonzeros)
        # Parts that others compute for have no nonzeros, so a rank stands here once.
        computing = np.concatenate([copies.get(int(one), np.array([one])) for one in owner]) if copies else owner
        work = operator.nonzeros[owner]
        if copies:
            work = np.repeat(work, [len(copies.get(int(one), (one,))) for one in owner])
        waiting = np.unique(np.concatenate([source, target]))
        seconds = (FLOPS * flop) * work.astype(np.float64)
        return cls(source, target, bytes, waiting, computing, seconds, transposed)

    @property
    def events(self) -> int:
        """Events of one such product."""
        return 2 * len(self.source) + len(self.waiting) + (len(self.computing) if self.seconds.any() else 0)

    def add(self, b: ProgramBuilder) -> None:
        """Add one such product to a program."""
        if self.first:
            self._compute(b)
        if len(self.source):
            b.irecv(self.target, self.source, self.bytes)
            b.isend(self.source, self.target, self.bytes)
            b.waitall(self.waiting)
        if not self.first:
            self._compute(b)

    def _compute(self, b: ProgramBuilder) -> None:
        if len(self.computing) and self.seconds.any():
            b.compute(self.computing, self.seconds)


def _by_copies(
    source: NDArray[Any], target: NDArray[Any], bytes: NDArray[np.uint64], copies: Copies
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.uint64]]:
    """Messages to all copies of a target: each from one copy of the source, in turn."""
    if not copies:
        return source, target, bytes
    found: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
    for s, t, size in zip(source.tolist(), target.tolist(), bytes.tolist(), strict=True):
        to, by = copies.get(t, np.array([t])), copies.get(s, np.array([s]))
        found[0].append(by[np.arange(len(to)) % len(by)])
        found[1].append(to)
        found[2].append(np.full(len(to), size, np.uint64))
    if not found[0]:
        return source, target, bytes
    one, other, sizes = (np.concatenate(column) for column in found)
    return one, other, sizes
