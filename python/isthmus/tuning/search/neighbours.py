"""Times of small schedules whose messages meet: from those at the sizes on both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .result import Source

if TYPE_CHECKING:
    from .search import Search

#: How many times as large the larger of two sizes may be that tell those between them.
_APART = 64
#: How far two times over their bounds may differ that tell those between them, relative to them.
_STEADY = 0.01


class Neighbours:
    """What a search with contention knows of a small schedule before it simulates.

    Messages that meet take so much longer than alone, or than the busiest link needs, and this ratio changes little
    with the size while the protocol stays. What is told so is simulated in the end where it comes near the best.
    """

    def __init__(self, search: Search) -> None:
        self.search = search
        self._told = np.zeros(search.seconds.shape, bool)
        self._eager = search.sizes <= search.scenario.typical.S
        self._columns = np.zeros(len(search.sizes), bool)  # decided, those that others are told from

    def add(self, columns: list[int]) -> None:
        """All candidates are decided at these sizes: times may be told from there."""
        self._columns[columns] = True

    def tell(self, c: int, i: int, best: float) -> bool:
        """Set the time of a candidate at a size, or leave it out, if that can be told."""
        s = self.search
        simulated = s.source[c] == Source.simulated
        known = np.flatnonzero((simulated | (s.source[c] == Source.stopped)) & self._columns & (s.work[c] > 0))
        at = int(np.searchsorted(known, i))
        if not 0 < at < len(known) or not s.work[c, i] > 0:
            return False
        two = known[at - 1 : at + 1]
        first, last = (int(size) for size in s.sizes[two])
        if self._eager[two[0]] != self._eager[two[1]] or last > _APART * first:
            return False
        above = [s.at_least(c, int(k)) / float(s.work[c, k]) for k in two]
        if s.work[c, i] * min(above) * (1 - _STEADY) > best * (1 + s.margins[c]):
            s.source[c, i] = Source.size
            return True
        if not simulated[two].all() or max(above) > min(above) * (1 + _STEADY):
            return False
        s.seconds[c, i] = max(s.work[c, i] * float(np.mean(above)), s.low[c, i])
        s.source[c, i] = Source.between
        self._told[c, i] = True
        return True

    def confirm(self) -> None:
        """Simulate what was told where it comes near the best."""
        s = self.search

        def confirm(i: int) -> None:
            while True:
                near = self._told[:, i] & (s.seconds[:, i] <= s.best(i) * (1 + s.margin))
                near &= s.source[:, i] == Source.between
                if not near.any():
                    return
                c = int(np.argmin(np.where(near, s.seconds[:, i], np.inf)))
                if not s.in_time(s.operations(c, int(s.sizes[i]))):
                    return
                s.simulate(c, i)

        s.each(confirm, range(len(s.sizes)))
