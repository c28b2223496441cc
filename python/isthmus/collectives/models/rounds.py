"""Rounds in which every rank does the same: one rank's clock stands for all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .cost import Cost, Work

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from .parameters import Parameters


@dataclass(frozen=True)
class Round:
    """A message sent and one received by every rank, then reductions and a copy; ``count`` times after each other.

    Attributes
    ----------
    sizes, reduced, again, copied : array of int64
        Bytes, one entry for each size of the collective; None for nothing.
    """

    sizes: NDArray[np.int64] | None
    reduced: NDArray[np.int64] | None = None
    again: NDArray[np.int64] | None = None
    copied: NDArray[np.int64] | None = None
    count: int = 1


class Clock:
    """When processor and interface of a rank are free, in picoseconds, one entry for each size."""

    def __init__(self, p: Parameters, sizes: int) -> None:
        self.p = p
        self.cpu = np.zeros(sizes, np.int64)
        self.sending = np.zeros(sizes, np.int64)
        self.receiving = np.zeros(sizes, np.int64)
        self.work = Work.none(sizes)

    def rounds(self, r: Round) -> None:
        """All of a Round."""
        done = 0
        before = None
        while done < r.count:
            start = self.cpu.copy()
            self._one(r)
            done += 1
            # From the second round on, interfaces stand to the processor as the round before left them, sooner or
            # later; from then on every round takes the same.
            state = (np.maximum(self.sending - self.cpu, 0), np.maximum(self.receiving - self.cpu, 0))
            if before is not None and all((a == b).all() for a, b in zip(state, before, strict=True)):
                rest = (self.cpu - start) * (r.count - done)
                self.cpu, self.sending, self.receiving = (t + rest for t in (self.cpu, self.sending, self.receiving))
                break
            before = state
        self.work = self.work + self._work(r).times(r.count)

    def _one(self, r: Round) -> None:
        if r.sizes is not None:
            m = self.p.message(r.sizes)
            start = np.maximum(self.cpu, self.sending)
            handled = np.maximum(np.maximum(start + m.way, start + m.send), self.receiving)
            self.cpu = handled + m.recv
            self.sending = start + m.gap
            # The send by rendezvous is done when its message is met, which is when ours is.
            self.sending = np.where(r.sizes > self.p.S, np.maximum(self.sending, handled), self.sending)
            self.receiving = handled + m.gap
        self.cpu = self.cpu + self._computed(r)

    def _computed(self, r: Round) -> NDArray[np.int64]:
        total = np.zeros_like(self.cpu)
        for reduced in (r.reduced, r.again):
            if reduced is not None:
                total += self.p.reduced(reduced)
        if r.copied is not None:
            total += self.p.copied(r.copied)
        return total

    def _work(self, r: Round) -> Work:
        work = Work.of(self._computed(r))
        if r.sizes is not None:
            m = self.p.message(r.sizes)
            work = work + Work.send(m) + Work.recv(m)
        return work


def symmetric(p: Parameters, rounds: Iterable[Round], sizes: int, exact: bool | NDArray[np.bool_] = True) -> Cost:
    """Cost of rounds, one after the other, of ranks that all begin at once."""
    clock = Clock(p, sizes)
    for r in rounds:
        clock.rounds(r)
    return Cost(clock.cpu, clock.work, np.broadcast_to(np.asarray(exact), clock.cpu.shape))
