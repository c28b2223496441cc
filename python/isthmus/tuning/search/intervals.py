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
        #: Where they are simulated, or told from both sides.
        self._sure = np.zeros(shape, bool)
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
            others = [c for c in dict.fromkeys(o for c, _ in tasks for o in self._windows[c]) if c in self.candidates]
            for c in others:
                self._estimate(c)
            for c in others:
                self._compare(c)
        self._leave_out()

    def _estimate(self, c: int) -> None:
        s = self.search
        simulated = s.source[c] == Source.simulated
        waiting = (s.source[c] == Source.large) | (s.source[c] == Source.between)
        self.least[c], self.most[c] = np.where(waiting, s.low[c], np.inf), np.inf
        self.least[c, simulated] = self.most[c, simulated] = s.seconds[c, simulated]
        self._sure[c] = simulated
        known = np.flatnonzero(simulated & (s.work[c] > 0))
        # A window says nothing of itself with another protocol.
        sides = {bool(eager) for eager in self._eager[known]} if len(self._windows[c]) > 1 else {True, False}
        for i in np.flatnonzero(waiting):
            s.seconds[c, i], s.source[c, i] = np.nan, Source.large
            if len(known) and s.work[c, i] > 0 and self._eager[i] in sides:
                seconds, doubt = self._between(c, known, int(i))
                s.seconds[c, i], s.source[c, i] = max(seconds, s.low[c, i]), Source.between
                self.most[c, i] = s.seconds[c, i] * (1 + doubt)
                self._sure[c, i] = self._enclosed(known, int(i))
                if self._sure[c, i]:
                    self.least[c, i] = max(seconds * (1 - doubt), s.low[c, i])
        for other_windows in (self._ends, self._beside):
            for i in np.flatnonzero(waiting & ~self._known(c)):
                if (ends := other_windows(c, int(i))) is not None:
                    self.least[c, i], self.most[c, i] = min(ends), max(ends)
                    s.seconds[c, i], s.source[c, i] = max(ends), Source.between
                    self._sure[c, i] = True

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

    def _known(self, c: int) -> NDArray[np.bool_]:
        """Sizes at which a candidate was simulated, or is told as well by the ends of its windows."""
        known: NDArray[np.bool_] = self._sure[c] & (self.most[c] <= self.least[c] * (1 + _WINDOWS_ALIKE))
        return known

    def _beside(self, c: int, i: int) -> tuple[float, float] | None:
        """Times between which a window is, from another one that was simulated at this size, and both on both sides."""
        s, found = self.search, None
        for other in self._windows[c]:
            if other == c or s.source[other, i] != Source.simulated:
                continue
            both = np.flatnonzero(
                self._known(c) & (s.source[other] == Source.simulated) & (self._eager == self._eager[i])
            )
            at = int(np.searchsorted(both, i))
            if 0 < at < len(both):
                two = both[at - 1 : at + 1]
                low = s.seconds[other, i] * (self.least[c, two] / s.seconds[other, two]).min()
                high = s.seconds[other, i] * (self.most[c, two] / s.seconds[other, two]).max()
                if found is None or high / low < found[1] / found[0]:
                    found = float(low), float(high)
        return found

    def _compare(self, c: int) -> None:
        """Raise what times are at least where the next window is worse than that after it: further it is no better."""
        s, line = self.search, self._windows[c]
        at = line.index(c)
        waiting = (s.source[c] == Source.large) | (s.source[c] == Source.between)
        for i in np.flatnonzero(waiting & ~self._eager):
            for side in (line[:at], line[:at:-1]):
                most = np.inf
                for k in (k for k in side if self._sure[k, i]):  # from the end on
                    if self.least[k, i] > most * (1 + _WINDOWS_ALIKE):
                        self.least[c, i] = max(self.least[c, i], self.least[k, i])
                        s.seconds[c, i] = max(s.seconds[c, i], self.least[k, i])  # stays NaN
                    most = min(most, self.most[k, i])

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
            tasks += self._places(c, wanted[c])
            if len(tasks) >= _TOGETHER:
                break
        return list(dict.fromkeys(tasks))

    def _places(self, c: int, wanted: list[tuple[float, int]]) -> list[tuple[int, int]]:
        """Where to simulate a candidate next: the ends, so that all others are between two, then the middle.

        Other windows may come first: if they may be equal the least and the widest, else wider ones, as more messages
        under way fill links better.
        """
        _, eager = max((gain, bool(self._eager[i])) for gain, i in wanted)
        places = [i for _, i in wanted if self._eager[i] == eager]
        line = self._windows[c]
        if self.search.scenario.meet and not eager:
            for wider in line[: line.index(c) : -1]:
                if wider in self.candidates and (end := self._end(wider, places)) is not None:
                    return [(wider, end)]
        if len(line) == 1 and not (self.search.source[c] == Source.simulated).any():
            ends = dict.fromkeys((wanted[-1][1], wanted[0][1]))
        else:
            end = self._end(c, places)
            ends = dict.fromkeys([places[len(places) // 2] if end is None else end])
        return [(self._end_first(c, i), i) for i in ends]

    def _end(self, c: int, places: list[int]) -> int | None:
        """The last or first of places with one protocol, unless a simulation is there or beyond; None then.

        Beyond them where another window was simulated: both together tell one from the other between two such places.
        """
        simulated = (self.search.source == Source.simulated) & (self._eager == self._eager[places[0]])
        mine = np.flatnonzero(self._known(c) & (self._eager == self._eager[places[0]]))
        others = [int(i) for i in np.flatnonzero(simulated[self._windows[c]].any(0)) if i not in mine]
        if not (mine >= places[-1]).any():
            return max([places[-1], *others])
        return None if (mine <= places[0]).any() else min([places[0], *others])

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
        found: dict[int, list[tuple[float, int]]] = {}
        for i, c in enumerate(np.argmin(np.where(np.isnan(s.seconds), np.inf, s.seconds), axis=0)):
            doubt = _SURE if s.scenario.meet else ALIKE
            sure = self.most[c, i] * (1 - doubt) <= self.least[c, i]
            if c in self.candidates and s.source[c, i] == Source.between and not sure:
                found.setdefault(int(c), []).append((-abs(np.log2(s.sizes[i] / s.scenario.typical.S)), i))
        first = sorted(found, key=lambda c: -max(found[c])[0])[:_TOGETHER]
        return list(dict.fromkeys(task for c in first for task in self._places(c, found[c])))

    def _leave_out(self) -> None:
        """Candidates that were never simulated and cannot be better."""
        s = self.search
        for c in sorted(self.candidates):
            for i in np.flatnonzero(s.source[c] == Source.large):
                if not s.hopeless(c, int(i)) and self.least[c, i] >= s.best(int(i)) * (1 - self._alike):
                    s.source[c, i] = Source.work if s.low[c, i] >= self.least[c, i] else Source.beyond
            # A window of which little is known is not taken for better than another of which more is.
            for i in np.flatnonzero((s.source[c] == Source.between) & ~self._sure[c]):
                others = [s.seconds[k, i] for k in self._windows[c] if self._sure[k, i]]
                if others:
                    s.seconds[c, i] = max(s.seconds[c, i], min(others) * (1 + self._alike))
