"""Times without contention that need no simulation of their own: from smaller messages, or from sizes on both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .result import Source

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .search import Search

#: Segments of the simulations that tell those of more segments, as soon as four in turn lie on a line.
_SEGMENTS = (4, 8, 16, 32, 64)
#: How far each may be from the line through the two before, relative to its distance from the last.
_STRAIGHT = 2e-3
#: By which part a time that is told from few segments may be too long, on such a line and on others.
_OF_SEGMENTS, _UNSTEADY = 0.1, 0.2
#: How far apart what a time is at least and at most may be, relative to it.
_NARROW = 0.1
#: By which part a time that is told from both sides may be too long where these say less.
_LEAST_DOUBT = 0.03


class _Line(NamedTuple):
    """A size, its time, seconds per byte beyond it, and by which part they may be too long."""

    begin: float
    seconds: float
    slope: float
    doubt: float


class Told:
    """What a search without contention knows before it simulates.

    Once a pipeline has filled up, every further segment takes as long as the one before. Without segments, a time is
    the largest of sums that grow with the size in proportion or not at all, while the protocol stays: between
    two sizes it is not above the line through both, and not below the smaller, nor the larger one's part.

    Attributes
    ----------
    doubt : array of float, shape (C, N)
        By which part what was told may be too long; 0 for what was not told.
    """

    def __init__(self, search: Search) -> None:
        self.search = search
        self.doubt = np.zeros(search.seconds.shape)
        self._eager = search.sizes <= search.scenario.typical.S
        self._columns = np.zeros(len(search.sizes), bool)  # decided, those that others are told from
        self._lines: dict[int, _Line | None] = {}

    def add(self, columns: list[int]) -> None:
        """All candidates are decided at these sizes: times may be told from there."""
        self._columns[columns] = True

    def tell(self, c: int, i: int) -> bool:
        """Set the time of a candidate at a size if it is known well enough."""
        for tell in (self._flowing, self._between):
            if (found := tell(c, i)) is not None:
                (self.search.seconds[c, i], self.doubt[c, i]), self.search.source[c, i] = found, Source.between
                return True
        return False

    def least(self, c: int) -> NDArray[np.float64]:
        """What times of a candidate are at least where they are known, 0 elsewhere."""
        s = self.search
        told = np.where(self.doubt[c] > 0, s.seconds[c] * (1 - self.doubt[c]), 0.0)
        known = np.where(s.source[c] == Source.simulated, s.seconds[c], told)
        return np.where(s.source[c] == Source.stopped, s.low[c], known)

    def _flowing(self, c: int, i: int) -> tuple[float, float] | None:
        segment = self.search.segment(self.search.choices[c])
        size = int(self.search.sizes[i])
        if segment == 0 or size <= _SEGMENTS[3] * segment:
            return None
        if c not in self._lines:
            self._lines[c] = self._line(c, [count * segment for count in _SEGMENTS])
        if (line := self._lines[c]) is None or size < line.begin:
            return None
        return line.seconds + line.slope * (size - line.begin), line.doubt

    def _line(self, c: int, sizes: list[int]) -> _Line | None:
        s, times = self.search, []
        for at, size in enumerate(sizes):
            count = s.operations(c, size)
            if size > s.sizes[-1] or count > s.heavy or not s.in_time(count):
                return None
            times.append(s.seconds_of(c, size))
            if len(times) < 4:
                continue
            step = np.diff(times[-4:]) / [1, 2, 4]
            straight = np.ptp(step[:2]) <= _STRAIGHT * step[1] and np.ptp(step[1:]) <= _STRAIGHT * step[2]
            if straight or size == sizes[-1]:
                slope = (times[-1] - times[-3]) / (sizes[at] - sizes[at - 2])
                return _Line(float(size), times[-1], slope, _OF_SEGMENTS if straight else _UNSTEADY)
        return None

    def _between(self, c: int, i: int) -> tuple[float, float] | None:
        s = self.search
        if s.segment(s.choices[c]) != 0:
            return None
        known = np.flatnonzero((s.source[c] == Source.simulated) & self._columns)
        at = int(np.searchsorted(known, i))
        if not 0 < at < len(known):
            return None
        a, b = int(known[at - 1]), int(known[at])
        if self._eager[a] != self._eager[b]:
            return None
        (x, size, y), (low, high) = s.sizes[[a, i, b]].astype(float), s.seconds[c, [a, b]]
        most, least = low + (high - low) * (size - x) / (y - x), max(low, high * size / y)
        if most > least * (1 + _NARROW):
            return None
        return float((most + least) / 2), max(1 - least / float((most + least) / 2), _LEAST_DOUBT)
