"""Scans over a binomial tree of ranges of ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .cost import Cost, Work
from .forms import form

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .parameters import Parameters


@form(("scan", "binomial"))
def _scan(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str) -> Cost:
    """2 ⌊log₂ P⌋ - 1 or so messages and reductions one after the other, at most two of them on most ranks: P. Sanders,
    J. L. Träff, Parallel prefix (scan) algorithms for MPI, EuroPVM/MPI 2006. A recurrence over levels; where sends wait
    for their receivers it is more."""
    return _levels(p, ranks, sizes, False)


@form(("exscan", "binomial"))
def _exscan(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str) -> Cost:
    """The scan with two sums, the first of which begins as a copy of the own vector."""
    return _levels(p, ranks, sizes, True)


def _levels(p: Parameters, ranks: int, sizes: NDArray[np.int64], exclusive: bool) -> Cost:
    clocks = _Clocks(p, ranks, sizes, exclusive)
    after = np.arange(1, ranks + 1)
    group = 1
    while group < ranks:
        clocks.hand_on(np.flatnonzero(after % (2 * group) == 0) - group, group)
        group *= 2
    while group > 1:
        group //= 2
        # From the ends of groups of twice as many, to the middle of the next.
        to = np.flatnonzero((after % (2 * group) == group) & (after > group))
        clocks.hand_on(to - group, group)
    m = p.message(sizes)
    right = (sizes <= p.S) | (ranks <= 2) if not exclusive else (sizes <= p.S) | (ranks == 1)
    right = right & (m.gap <= m.way + m.recv)
    return Cost(clocks.cpu.max(axis=0), Work(clocks.moved.max(axis=0)), right)


class _Clocks:
    """When every rank is through with what it has to do, shape (P, N)."""

    def __init__(self, p: Parameters, ranks: int, sizes: NDArray[np.int64], exclusive: bool) -> None:
        self.m, self.reduced, self.copied = p.message(sizes), p.reduced(sizes), p.copied(sizes)
        self.exclusive = exclusive
        self.cpu, self.sending, self.moved = (np.zeros((ranks, len(sizes)), np.int64) for _ in range(3))
        self.taken = np.zeros(ranks, np.int64)

    def hand_on(self, senders: NDArray[np.int64], steps: int) -> None:
        """A message from each of some ranks, added to what the one so many ranks further on has."""
        m, takers = self.m, senders + steps
        begin = np.maximum(self.cpu[senders], self.sending[senders])
        self.cpu[senders] = begin + m.send
        self.sending[senders] = begin + m.gap
        self.moved[senders] += m.send
        sums = np.full(len(takers), 1)
        if self.exclusive:
            first = takers[self.taken[takers] == 0]
            self.cpu[first] += self.copied
            self.moved[first] += self.copied
            sums = np.where(self.taken[takers] == 0, 1, 2)
        added = sums[:, None] * self.reduced
        self.cpu[takers] = np.maximum(begin + m.way + m.ahead, self.cpu[takers]) + m.recv_cpu + added
        self.moved[takers] += m.recv_cpu + added
        self.taken[takers] += 1
