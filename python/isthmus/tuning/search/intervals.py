"""The best of large schedules of which is known what each has to do at least: few simulations settle it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scenario import ALIKE, alike
from .result import Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from .search import Search

#: How far a time may be from what it is taken for, in parts of what it is above its bound: between two simulated sizes;
#: half of the second where the protocol changes between them, and beyond them for each time that the size doubles.
_BETWEEN, _BEYOND = 0.5, 2.0
#: How far at most between two sizes with the same ratio, where messages meet: links are as full at one as at the other.
_MEETING = 0.01
#: What is chosen without having been simulated is, where messages meet, sure enough if it is known to this part.
_SURE = 0.05
#: Windows of eager messages, which are out of them at once: where the times of the least and of the greatest differ by
#: less than this, those between are not looked at.
_WINDOWS_ALIKE = 0.02
#: Simulations of a round.
_TOGETHER = 2


class Settling:
    """Simulates large schedules until none that is left can be faster than the best by more than :func:`alike`.

    A schedule takes so much longer than what its busiest rank or interface has to do, and this ratio changes little
    with the size. So simulations at two sizes tell all between them, with a doubt that is a part of what the times are
    above the bound. What is chosen at a size is simulated there where others come as near as the doubt, and elsewhere
    as far as can be afforded.

    Parameters
    ----------
    search : Search
    candidates : set of int
        Those that are settled; their bounds are in ``search.work``.
    simulate : callable
        Simulates pairs of candidate and place of a size as far as can be afforded; were there any?
    """

    def __init__(self, search: Search, candidates: set[int], simulate: Callable[[list[tuple[int, int]]], bool]) -> None:
        self.search, self.candidates, self.simulate = search, frozenset(candidates), simulate
        shape = search.seconds.shape
        #: What times may be, at least and at most.
        self.least, self.most = np.full(shape, np.inf), np.full(shape, np.inf)
        self._eager = search.sizes <= search.scenario.typical.S
        self._alike = alike(search.scenario.model)
        self._steady = _MEETING if search.scenario.meet else np.inf
        self._windows = {c: self._others_by_window(c) for c in self.candidates}

    def run(self) -> None:
        """Settle all sizes, or as many as can be afforded."""
        for c in range(len(self.search.choices)):
            if c in self.candidates:
                self._estimate(c)
            else:
                known = ~np.isnan(self.search.seconds[c])
                self.least[c, known] = self.most[c, known] = self.search.seconds[c, known]
        while tasks := self._next() or self._unsure():
            if not self.simulate(tasks):
                break
            for c in dict.fromkeys(other for task in tasks for other in self._windows[task[0]]):
                if c in self.candidates:
                    self._estimate(c)
        self._leave_out()

    def _estimate(self, c: int) -> None:
        s = self.search
        simulated = s.source[c] == Source.simulated
        waiting = (s.source[c] == Source.large) | (s.source[c] == Source.between)
        self.least[c], self.most[c] = np.where(waiting, s.low[c], np.inf), np.inf
        self.least[c, simulated] = self.most[c, simulated] = s.seconds[c, simulated]
        known = np.flatnonzero(simulated & (s.work[c] > 0))
        for i in np.flatnonzero(waiting):
            if len(known) and s.work[c, i] > 0:
                seconds, doubt = self._between(c, known, int(i))
                s.seconds[c, i], s.source[c, i] = max(seconds, s.low[c, i]), Source.between
                self.most[c, i] = s.seconds[c, i] * (1 + doubt)
                if self._enclosed(known, int(i)):
                    self.least[c, i] = max(seconds * (1 - doubt), s.low[c, i])
            if (ends := self._ends(c, int(i))) is not None:
                self.least[c, i], self.most[c, i] = min(ends), max(ends)
                s.seconds[c, i], s.source[c, i] = max(ends), Source.between

    def _others_by_window(self, c: int) -> list[int]:
        """Candidates that differ from one in the window only, itself among them, in the order of the window."""
        choices = self.search.choices
        window = choices[c].options.get("window")
        if not isinstance(window, int):
            return [c]
        line = [
            (value or np.inf, k)
            for k, other in enumerate(choices)
            if isinstance(value := other.options.get("window"), int) and other.replace(window=window) == choices[c]
        ]
        return [k for _, k in sorted(line)]

    def _ends(self, c: int, i: int) -> tuple[float, float] | None:
        """Times of the least and of the greatest window, if they are nearly the same and messages are eager.

        Where messages meet, eager ones wait for links, not for windows; other windows are then as good.
        """
        s, line = self.search, self._windows[c]
        first, last = line[0], line[-1]
        if not (s.scenario.meet and self._eager[i]) or c in (first, last):
            return None
        if s.source[first, i] != Source.simulated or s.source[last, i] != Source.simulated:
            return None
        low, high = sorted((float(s.seconds[first, i]), float(s.seconds[last, i])))
        return (low, high) if high <= low * (1 + _WINDOWS_ALIKE) else None

    def _end_first(self, c: int, i: int) -> int:
        """The simulations of a candidate at a size; if windows may be equal, their ends come first."""
        s, line = self.search, self._windows[c]
        if s.scenario.meet and self._eager[i]:
            for end in (line[-1], line[0]):
                if end in self.candidates and s.source[end, i] in (Source.large, Source.between):
                    return end
        return c

    def _between(self, c: int, known: NDArray[np.intp], i: int) -> tuple[float, float]:
        """A time, and the part of it by which it may be wrong."""
        s = self.search
        above = s.seconds[c, known] / s.work[c, known]
        ratio = float(np.exp(np.interp(np.log(s.sizes[i]), np.log(s.sizes[known]), np.log(above))))
        if self._enclosed(known, i):
            at = int(np.searchsorted(known, i))
            doubt = max(abs(above[at] - above[at - 1]) / ratio, min(_BETWEEN * (ratio - 1), self._steady))
        else:
            inside = known[0] < i < known[-1]
            apart = 0.5 if inside else float(np.abs(np.log2(s.sizes[known] / s.sizes[i])).min())
            doubt = _BEYOND * apart * (ratio - 1)
        return s.work[c, i] * ratio, doubt

    def _enclosed(self, known: NDArray[np.intp], i: int) -> bool:
        """Whether there are simulated sizes on both sides, with the same protocol."""
        at = int(np.searchsorted(known, i))
        return 0 < at < len(known) and bool(self._eager[known[at - 1]] == self._eager[known[at]])

    def _next(self) -> list[tuple[int, int]]:
        """The next simulations: where the gain may be largest, first the ends, then the middle."""
        wanted: dict[int, list[tuple[float, int]]] = {}
        for i in range(len(self.search.sizes)):
            if (found := self._contender(i)) is not None:
                gain, c = found
                wanted.setdefault(c, []).append((gain, i))
        tasks: list[tuple[int, int]] = []
        for c in sorted(wanted, key=lambda c: -max(gain for gain, _ in wanted[c])):
            places = [i for _, i in wanted[c]]
            if (self.search.source[c] == Source.simulated).any():
                tasks.append((c, places[len(places) // 2]))
            else:
                tasks += [(c, i) for i in dict.fromkeys((places[-1], places[0]))]
            if len(tasks) >= _TOGETHER:
                break
        return list(dict.fromkeys((self._end_first(c, i), i) for c, i in tasks))

    def _contender(self, i: int) -> tuple[float, int] | None:
        """The candidate to simulate at a size and its possible gain; None if the size is settled."""
        s = self.search
        times = np.where(np.isnan(s.seconds[:, i]), np.inf, s.seconds[:, i])
        first = int(np.argmin(times))
        least = self.least[:, i].copy()
        if np.isfinite(times[first]):
            least[first] = np.inf
        rival = int(np.argmin(least))
        # Two that are equal but for doubts of both are as good as each other where models are no finer.
        most = times[first] if s.scenario.meet else self.most[first, i]
        if least[rival] >= most * (1 - self._alike):
            return None
        gain = float(times[first] / least[rival])
        unknown = [c for c in (rival, first) if c in self.candidates and s.source[c, i] != Source.simulated]
        if not unknown:
            return None
        # What is taken for the best is looked at first where the other one is not expected to be better.
        return gain, unknown[-1] if gain * (1 - self._alike) < 1 else unknown[0]

    def _unsure(self) -> list[tuple[int, int]]:
        """Choices at sizes where they were not simulated, nearest to the change of protocol first.

        There times are least regular.
        """
        s = self.search
        found = []
        for i, c in enumerate(np.argmin(np.where(np.isnan(s.seconds), np.inf, s.seconds), axis=0)):
            doubt = _SURE if s.scenario.meet else ALIKE
            sure = self.most[c, i] * (1 - doubt) <= self.least[c, i]
            if c in self.candidates and s.source[c, i] == Source.between and not sure:
                found.append((abs(np.log2(s.sizes[i] / s.scenario.typical.S)), int(c), i))
        first = sorted(found)[:_TOGETHER]
        return list(dict.fromkeys((self._end_first(c, i), i) for _, c, i in first))

    def _leave_out(self) -> None:
        """Candidates that were never simulated and cannot be better."""
        s = self.search
        for c in sorted(self.candidates):
            for i in np.flatnonzero(s.source[c] == Source.large):
                if not s.hopeless(c, int(i)) and s.low[c, i] >= s.best(int(i)) * (1 - self._alike):
                    s.source[c, i] = Source.work
