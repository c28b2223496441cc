"""Which candidates are simulated at which sizes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ..collectives.models import cost, forms
from .operations import operations
from .sweep import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from ..machine import Level
    from .choice import Choice
    from .situation import Situation

#: Operations from which on schedules wait until all others are done.
HEAVY = 150_000
#: Operations of all that waited, together.
TOGETHER = 24_000_000
#: A byte more may change the order in which a rank sends, and so make it faster.
_SLACK = 0.8


class Search:
    """A sweep under way: bounds, times and where they come from, shape (C, N) each."""

    def __init__(
        self,
        collective: str,
        situation: Situation,
        sizes: NDArray[np.int64],
        choices: list[Choice],
        margin: float,
        exhaustive: bool,
        end: float,
    ) -> None:
        self.collective, self.situation, self.sizes, self.choices = collective, situation, sizes, choices
        self.margin, self.exhaustive, self.end = margin, exhaustive, end
        shape = (len(choices), len(sizes))
        self.seconds = np.full(shape, np.nan)
        self.source = np.full(shape, Source.late, np.uint8)
        self.floor = situation.bound(collective, sizes)
        self.low = np.tile(self.floor, (len(choices), 1))  # no time is below
        self.why = np.full(shape, Source.bound, np.uint8)
        self.guess = np.full(shape, np.nan)  # what it may be: for the order, and between sizes
        for c, choice in enumerate(choices):
            if (collective, choice.name) in forms():
                low = self._form(choice, situation.fastest, situation.lanes)
                self._raise(c, low, Source.form)
                alike = situation.fastest == situation.typical and situation.lanes == 1
                self.guess[c] = low if alike else self._form(choice, situation.typical)
        self.left = 0.0  # operations of large schedules
        self._lines = [_lines(c, choices) for c in range(len(choices))]

    def _form(self, choice: Choice, level: Level, lanes: int = 1) -> NDArray[np.float64]:
        options: dict[str, Any] = {**self.situation.rates, "lanes": lanes, **choice.options}
        return cost(self.collective, choice.name, level, ranks=self.situation.ranks, sizes=self.sizes, **options).time

    def _raise(self, c: int, low: NDArray[np.float64], why: Source) -> None:
        higher = low > self.low[c]
        self.why[c, higher] = why
        self.low[c, higher] = low[higher]

    def run(self, progress: Callable[[int, int], None] | None) -> None:
        """Decide about all candidates at all sizes."""
        if self.situation.model != "loggops" and not self.exhaustive:
            self._without_contention()
        for number, i in enumerate(from_the_ends(len(self.sizes))):
            self._size(i)
            if progress is not None:
                progress((number + 1) * len(self.choices), self.seconds.size)
        self._fill()

    def _without_contention(self) -> None:
        """Links that are shared only make messages later."""
        quiet = Search(self.collective, self.situation.uncontended(), self.sizes, self.choices, 1.0, False, self.end)
        quiet.run(None)
        known = quiet.source == Source.simulated
        for c in range(len(self.choices)):
            self._raise(c, np.where(known[c], quiet.seconds[c], 0.0), Source.uncontended)
            self.guess[c] = np.where(known[c], quiet.seconds[c], np.fmax(quiet.low[c], quiet.guess[c]))

    def _size(self, i: int) -> None:
        """Simulate at one size, the most promising candidates first."""
        best = self._best(i)
        expected = np.where(np.isnan(self.guess[:, i]), self.low[:, i], self.guess[:, i])
        order = np.argsort(np.fmax(expected, self.low[:, i]), kind="stable")
        for c in order:
            choice = self.choices[c]
            if self._same_as_whole(choice, int(self.sizes[i])):
                self.source[c, i] = Source.same
                continue
            if not self.exhaustive and self.low[c, i] > best * (1 + self.margin):
                self.source[c, i] = self.why[c, i]
                continue
            if not self.exhaustive and self._beyond(int(c), i) > best * (1 + self.margin):
                self.source[c, i] = Source.beyond
                continue
            if self._operations(int(c), i) > HEAVY and not self.exhaustive:
                self.source[c, i] = Source.large
                continue
            if time.perf_counter() > self.end and np.isfinite(best):
                continue
            best = min(best, self._simulate(int(c), i))
        self._second(i, order)

    def _second(self, i: int, order: NDArray[np.intp]) -> None:
        """A second best where only one was simulated: the most promising of those left out."""
        left_out = [
            int(c) for c in order if self.source[c, i] in (Source.form, Source.bound, Source.size, Source.beyond)
        ]
        alone = (self.source[:, i] == Source.simulated).sum() == 1
        if alone and left_out and time.perf_counter() < self.end and self._operations(left_out[0], i) <= HEAVY:
            self._simulate(left_out[0], i)

    def _beyond(self, c: int, i: int) -> float:
        """The time of the next value of an option, if it is worse than that after it: further away it is no better."""
        found = 0.0
        for line in self._lines[c]:
            at = line.index(c)
            for side in (line[at + 1 :], line[:at][::-1]):
                times = [self.seconds[other, i] for other in side if not np.isnan(self.seconds[other, i])][:2]
                if len(times) == 2 and times[0] > times[1]:
                    found = max(found, float(times[0]))
        return found

    def _best(self, i: int) -> float:
        return float(np.fmin.reduce(self.seconds[:, i], initial=np.inf))

    def _same_as_whole(self, choice: Choice, size: int) -> bool:
        segment = choice.options.get("segment", 0)
        return isinstance(segment, int) and 0 < size <= segment and choice.replace(segment=0) in self.choices

    def _operations(self, c: int, i: int) -> float:
        return operations(self.collective, self.choices[c], self.situation.ranks, int(self.sizes[i]))

    def _simulate(self, c: int, i: int) -> float:
        seconds = self.situation.seconds(self.collective, self.choices[c], int(self.sizes[i]))
        self.seconds[c, i], self.source[c, i] = seconds, Source.simulated
        # More bytes do not take less, and fewer at least in proportion. Between 0 and 1 byte there is no proportion.
        size = np.maximum(self.sizes, 1)
        self._raise(c, _SLACK * seconds * np.minimum(size / size[i], 1.0), Source.size)
        return seconds

    def _fill(self) -> None:
        """Where schedules are too large for every size: between sizes that were simulated, and beyond them."""
        self.left = TOGETHER / 2
        waiting = [c for c in range(len(self.choices)) if (self.source[c] == Source.large).any()]
        for c in sorted(waiting, key=self._promise):
            large = [int(i) for i in np.flatnonzero(self.source[c] == Source.large)]
            open_ones = [i for i in large if not self._hopeless(c, i)]
            # Two sizes tell the others: the largest and the smallest at which it may be best.
            for i in dict.fromkeys([open_ones[-1], open_ones[0]] if open_ones else []):
                if (self.source[c] == Source.simulated).sum() < 2:
                    self._afford(c, i)
            for i in large:
                if self.source[c, i] == Source.large and not self._hopeless(c, i):
                    self._predict(c, i)
        # What would be chosen is simulated as far as there are operations left; it tells the larger sizes better.
        self.left += TOGETHER / 2
        for i in range(len(self.sizes)):
            first = int(np.argmin(np.where(np.isnan(self.seconds[:, i]), np.inf, self.seconds[:, i])))
            if self.source[first, i] == Source.between and self._afford(first, i):
                for other in np.flatnonzero(self.source[first] == Source.between):
                    self._predict(first, int(other))

    def _predict(self, c: int, i: int) -> None:
        known = np.flatnonzero(self.source[c] == Source.simulated)
        if len(known) >= 2 or (len(known) == 1 and not np.isnan(self.guess[c, i])):
            self.seconds[c, i] = max(self._continued(c, known, i), self.low[c, i])
            self.source[c, i] = Source.between

    def _promise(self, c: int) -> float:
        """How far from the best it may be where that is nearest."""
        large = self.source[c] == Source.large
        best = np.array([self._best(int(i)) for i in np.flatnonzero(large)])
        return float(np.min(np.fmax(self.guess[c, large], self.low[c, large]) / best))

    def _afford(self, c: int, i: int) -> bool:
        count = self._operations(c, i)
        affordable = count <= self.left and time.perf_counter() < self.end
        if affordable:
            self.left -= count
            self._simulate(c, i)
        return affordable

    def _hopeless(self, c: int, i: int) -> bool:
        """Notes the rule by which it is left out."""
        limit = self._best(i) * (1 + self.margin)
        if self.low[c, i] > limit:
            self.source[c, i] = self.why[c, i]
        elif self._beyond(c, i) > limit:
            self.source[c, i] = Source.beyond
        return bool(self.source[c, i] != Source.large)

    def _continued(self, c: int, known: NDArray[np.intp], i: int) -> float:
        """From the two simulated sizes nearest to it, one on each side if there are."""
        at = int(np.clip(np.searchsorted(known, i), 1, max(len(known) - 1, 1)))
        near = known[at - 1 : at + 1]
        x, y = self.sizes[near].astype(float), self.seconds[c, near]
        if not np.isnan(self.guess[c, i]):
            # How much the closed form is wrong changes slowly.
            ratio = np.interp(np.log(max(self.sizes[i], 1)), np.log(np.maximum(x, 1.0)), y / self.guess[c, near])
            return float(self.guess[c, i] * ratio)
        return float(y[0] + (y[1] - y[0]) * (self.sizes[i] - x[0]) / (x[1] - x[0]))


def _lines(c: int, choices: list[Choice]) -> list[list[int]]:
    """Candidates that differ from one in a single option, itself among them, in the order of the option's values."""
    mine = choices[c]
    found = []
    for key in ("radix", "segment"):
        if key in mine.options:
            line = [
                (_rank(key, other.options[key]), k)
                for k, other in enumerate(choices)
                if other.name == mine.name and other.options.keys() == mine.options.keys()
                and other.replace(**{key: mine.options[key]}) == mine
            ]  # fmt: skip
            found.append([k for _, k in sorted(line)])
    return found


def _rank(key: str, value: Any) -> float:
    """No segments are one that has no end."""
    return np.inf if key == "segment" and value == 0 else float(value)


def from_the_ends(count: int) -> Iterator[int]:
    """The first and the last of so many, then what is in the middle of those that have been.

    Examples
    --------
    >>> list(from_the_ends(6))
    [0, 5, 2, 1, 3, 4]
    """
    yield from ([0, count - 1] if count > 1 else [0])
    gaps = [(0, count - 1)]
    while gaps:
        low, high = gaps.pop(0)
        if high - low > 1:
            middle = (low + high) // 2
            yield middle
            gaps += [(low, middle), (middle, high)]
