"""Decides which candidates are simulated at which sizes."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...collectives.models import cost, forms
from ...threads import Threads
from ..operations import operations
from .large import Continuation
from .neighbours import Neighbours
from .result import Source
from .told import Told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from ...machine import Level
    from ..choice import Choice
    from ..scenario import Scenario

#: Operations from which on schedules wait until all others are done.
HEAVY = 150_000
#: Messages that a rank has under way at a time make each end of one that much work, up to so many.
_UNDER_WAY = 16
#: How far above the best time without contention candidates are simulated without it before any is with it: those that
#: are too large to be simulated at every size further, as their times with contention are told from those without.
_QUIET, _QUIET_OF_LARGE = 0.1, 1.0
#: Without contention simulations are stopped when they take so much longer than the best: the others are told apart by
#: their times. Those that are too large are not, as their times with contention are told from those without.
_QUIET_STOP = 0.5
#: A byte more may change the order in which a rank sends, and so make it faster.
_SLACK = 0.8
# Comparing members of an enumeration takes long, and these are compared for every candidate at every size.
_SIMULATED, _STOPPED = int(Source.simulated), int(Source.stopped)
_BY_BOUNDS = (Source.form, Source.bound, Source.work, Source.links, Source.size, Source.uncontended, Source.beyond)


class Search:
    """A sweep under way: bounds, times and where they come from, shape (C, N) each."""

    def __init__(
        self,
        collective: str,
        scenario: Scenario,
        sizes: NDArray[np.int64],
        choices: list[Choice],
        margin: float,
        exhaustive: bool,
        end: float,
        workers: int = 1,
        known: Mapping[tuple[Choice, int], float] | None = None,
    ) -> None:
        self.collective, self.scenario, self.sizes, self.choices = collective, scenario, sizes, choices
        self.margin, self.exhaustive, self.end, self.workers = margin, exhaustive, end, workers
        shape = (len(choices), len(sizes))
        self.seconds = np.full(shape, np.nan)
        self.source = np.full(shape, Source.late, np.uint8)
        self.floor = scenario.bound(collective, sizes)
        self.low = np.tile(self.floor, (len(choices), 1))  # no time is below
        self.why = np.full(shape, Source.bound, np.uint8)
        self.work = np.zeros(shape)  # seconds for what there is to do, 0 where it is not known
        self.links = np.zeros(shape)  # the same for the busiest link
        self.heavy = HEAVY // scenario.effort
        self._makespans = [scenario.makespans(coarse) for coarse in (False, True)]
        self.guess = np.full(shape, np.nan)  # what it may be: for the order, and between sizes
        for (choice, size), seconds in (known or {}).items():
            c, i = choices.index(choice), int(np.searchsorted(sizes, size))
            self.seconds[c, i], self.source[c, i] = seconds, Source.simulated
        self._lines = _lines(choices)
        whole = set(choices)
        #: Bytes up to which a candidate is another one that has no segments.
        self._same = [
            self.segment(choice) if choice.options.get("segment") and choice.replace(segment=0) in whole else 0
            for choice in choices
        ]
        self.quiet: Search | None = None  # where messages meet: the same without contention
        self.told: Told | None = None  # of such a search: its times need not be exact
        self.neighbours: Neighbours | None = None  # where messages meet
        self.margins = np.full(len(choices), margin)
        #: How much slower than the best simulations are stopped, relative to it.
        self.stops = np.full(len(choices), np.inf if exhaustive else margin)
        #: Closed forms with the fastest and with typical parameters, of candidates that have one and need it.
        self.forms: list[tuple[NDArray[np.float64], NDArray[np.float64]] | None] = [None] * len(choices)
        self._known: dict[tuple[int, int], float] = {}  # seconds of candidates at sizes in bytes
        self._counts: list[int] | None = None  # operations, 0 where no schedule was made
        self._operations: dict[tuple[int, int], float] = {}
        self._spent = self._simulated = 0.0  # seconds and operations of simulations

    def _form(self, choice: Choice, level: Level, lanes: int = 1, follow: bool = False) -> NDArray[np.float64]:
        """Messages of a choice. Where memory is accessed, those of 0 bytes are sure to be there."""
        own, flavour = choice.parts
        eager = {"eager": np.inf, "rendezvous": 0.0}.get(flavour.get("protocol", ""), level.S)
        sizes = self.sizes if flavour.get("access") is None else self.sizes * 0
        options: dict[str, Any] = {**self.scenario.rates, "lanes": lanes, "follow": follow, **own.options}
        if flavour.get("access") is not None:
            options["reduce_rate"] = options["copy_rate"] = 0.0
        return cost(
            self.collective, own.name, replace(level, S=eager), ranks=self.scenario.ranks, sizes=sizes, **options
        ).time

    def _raise(self, c: int, low: NDArray[np.float64], why: Source) -> None:
        higher = low > self.low[c]
        self.why[c, higher] = why
        self.low[c, higher] = low[higher]

    def run(self, progress: Callable[[int, int], None] | None) -> None:
        """Decide about all candidates at all sizes."""
        if not self.exhaustive:
            if self._counts is None:
                self._find_work()
            if self.scenario.meet:
                self.quiet = self._without_contention()
                self.neighbours = Neighbours(self)
        self.each(self._weigh, range(len(self.choices)))
        done = 0
        for level in from_the_ends(len(self.sizes)):
            self.each(self._size, level)
            for i in level:
                self._learn(i)
            for others in (self.told, self.neighbours):
                if others is not None:
                    others.add(level)
            done += len(level)
            if progress is not None:
                progress(done * len(self.choices), self.seconds.size)
        Continuation(self).run()
        if self.neighbours is not None:
            self.neighbours.confirm()

    def each(self, do: Callable[[Any], object], items: Sequence[Any]) -> None:
        """Handles all items, some at a time; they do not depend on each other."""
        if self.workers == 1 or len(items) == 1:
            for item in items:
                do(item)
            return
        with Threads(self.workers) as pool:
            list(pool.map(do, items))

    def _find_work(self) -> None:
        """The work of candidates. A window changes only when it is done: one schedule gives it for all windows."""
        counts = [0] * len(self.choices)
        groups: dict[Choice, list[int]] = {}
        for c, choice in enumerate(self.choices):
            groups.setdefault(choice.replace(window=0), []).append(c)

        def find(group: list[int]) -> None:
            work = self.scenario.work(self.collective, self.choices[group[0]], self.sizes)
            for c in group:
                self.work[c], self.links[c], counts[c] = work.seconds, work.links, work.operations

        self.each(find, list(groups.values()))
        self._counts = counts

    def _weigh(self, c: int) -> None:
        """Bounds of a candidate without a simulation, at least without one with contention."""
        self._raise(c, self.work[c], Source.work)
        quiet = self.quiet
        self.forms[c] = self._find_forms(c) if quiet is None else quiet.forms[c]
        if (known := self.forms[c]) is not None:
            low, self.guess[c] = known
            self._raise(c, low, Source.form)
            self.work[c] = np.where(self.work[c] > 0, np.fmax(self.work[c], low), 0.0)
        if quiet is not None and quiet.told is not None:
            # Links that are shared only make messages later.
            self._raise(c, self.links[c], Source.links)
            self._raise(c, quiet.told.least(c), Source.uncontended)
            told = np.where(np.isnan(quiet.seconds[c]), np.fmax(quiet.low[c], quiet.guess[c]), quiet.seconds[c])
            self.guess[c] = np.fmax(told, self.links[c])
            # How much longer it takes where messages meet changes less with the size than anything else that is known.
            alone = ~np.isnan(quiet.seconds[c]) | (quiet.source[c] == Source.stopped)
            if alone.all() or not (self.work[c].any() or self.segment(self.choices[c])):
                self.work[c] = np.where(alone, self.guess[c], 0.0)
            self.work[c] = np.where(self.work[c] > 0, np.fmax(self.work[c], self.links[c]), 0.0)

    def _find_forms(self, c: int) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        choice, at = self.choices[c], self.scenario
        alike = at.fastest == at.typical and at.lanes == 1
        # Forms of many messages take long, and where ranks are not alike it is better known what there is to do.
        if (self.collective, choice.name) not in forms() or not (alike or not (self.work[c] > 0).all()):
            return None
        low = self._form(choice, at.fastest, at.lanes, alike)
        return low, low if alike else self._form(choice, at.typical)

    def _without_contention(self) -> Search:
        quiet = Search(
            self.collective, self.scenario.uncontended(), self.sizes, self.choices, 0.0, False, self.end, self.workers
        )
        largest = int(self.sizes[-1])
        large = [self.operations(c, largest) > self.heavy for c in range(len(self.choices))]
        quiet.margins = np.where(large, _QUIET_OF_LARGE, _QUIET)
        quiet.stops = np.where(large, np.inf, _QUIET_STOP)
        quiet.work, quiet._counts, quiet.told = self.work.copy(), self._counts, Told(quiet)
        quiet.run(None)
        return quiet

    def _too_slow_alone(self, c: int, i: int, best: float) -> bool:
        """Return whether its time without contention, which is faster to simulate, rules the candidate out."""
        quiet = self.quiet
        if quiet is None or not np.isfinite(best) or not np.isnan(quiet.seconds[c, i]):
            return False
        quiet.simulate(c, i, best * (1 + self.margins[c]))
        alone = quiet.low[c, i] if quiet.source[c, i] == Source.stopped else quiet.seconds[c, i]
        if alone > self.low[c, i]:
            self.low[c, i], self.why[c, i] = alone, Source.uncontended
        return self.hopeless(c, i, best)

    def _size(self, i: int) -> None:
        """Simulate at one size, the most promising candidates first."""
        best = self.best(i)
        expected = np.where(np.isnan(self.guess[:, i]), self.low[:, i], self.guess[:, i])
        order = np.argsort(np.fmax(expected, self.low[:, i]), kind="stable")
        for c in order:
            if self.source[c, i] == _SIMULATED:
                continue
            if 0 < self.sizes[i] <= self._same[c]:
                self.source[c, i] = Source.same
                continue
            if not self.exhaustive and self.hopeless(int(c), i, best):
                continue
            if self.told is not None and self.told.tell(int(c), i):
                best = min(best, float(self.seconds[c, i]))
                continue
            if self.operations(int(c), int(self.sizes[i])) > self.heavy and not self.exhaustive:
                self.source[c, i] = Source.large
                continue
            if self.neighbours is not None and self.neighbours.tell(int(c), i, best):
                best = self.best(i)
                continue
            if np.isfinite(best) and not self.in_time(self.operations(int(c), int(self.sizes[i]))):
                continue
            if self._too_slow_alone(int(c), i, best):
                continue
            best = min(best, self.simulate(int(c), i, self._until(int(c), i, best)))
        if self.told is None:
            self._second(i, order)

    def _until(self, c: int, i: int, best: float) -> float | None:
        """When a simulation is stopped: not before a second best is known."""
        until = best * (1 + self.stops[c])
        enough = (~np.isnan(self.seconds[:, i])).sum() > 1 or self.stops[c] > self.margins[c]
        return float(until) if enough and np.isfinite(until) else None

    def _second(self, i: int, order: NDArray[np.intp]) -> None:
        """A second best where only one was simulated: the most promising of those left out."""
        left_out = order[np.isin(self.source[order, i], _BY_BOUNDS)]
        if (~np.isnan(self.seconds[:, i])).sum() != 1 or not len(left_out):
            return
        count = self.operations(int(left_out[0]), int(self.sizes[i]))
        if count <= self.heavy and self.in_time(count):
            self.simulate(int(left_out[0]), i)

    def hopeless(self, c: int, i: int, best: float | None = None) -> bool:
        """Return whether the candidate is left out, and note the rule."""
        limit = (self.best(i) if best is None else best) * (1 + self.margins[c])
        if self.low[c, i] > limit:
            self.source[c, i] = self.why[c, i]
            return True
        if not self.work[c, i] and self._beyond(c, i) > limit:
            self.source[c, i] = Source.beyond
            return True
        return False

    def _beyond(self, c: int, i: int) -> float:
        """The time of the next value of an option, if it is worse than that after it: further away it is no better."""
        found = 0.0
        for line in self._lines[c]:
            at = line.index(c)
            for side in (line[at + 1 :], line[:at][::-1]):
                # A simulation that was stopped still gives a lower bound.
                known = (k for k in side if self.source[k, i] == _STOPPED or self.seconds[k, i] < np.inf)
                first, second = next(known, None), next(known, None)
                if first is not None and second is not None and self.at_least(first, i) > self.seconds[second, i]:
                    found = max(found, self.at_least(first, i))
        return found

    def at_least(self, c: int, i: int) -> float:
        """The time of a candidate, or what is known of it at least."""
        return float(self.low[c, i] if np.isnan(self.seconds[c, i]) else self.seconds[c, i])

    def best(self, i: int) -> float:
        """Return the best time at a size so far."""
        return float(np.fmin.reduce(self.seconds[:, i], initial=np.inf))

    def segment(self, choice: Choice) -> int:
        """Bytes of the collective up to which there is one segment; 0 without segments."""
        segment = choice.options.get("segment", 0)
        if not isinstance(segment, int):
            return 0
        # A ring cuts the parts of the vector, one for each rank.
        return segment * self.scenario.ranks if choice.name == "segmented_ring" else segment

    def operations(self, c: int, size: int) -> float:
        """About how many operations the schedule has; where messages meet, as many as take so long."""
        if (c, size) not in self._operations:
            choice, ranks = self.choices[c], self.scenario.ranks
            count = (self._counts and self._counts[c]) or operations(self.collective, choice, ranks, size)
            window = choice.options.get("window")
            if self.scenario.meet and isinstance(window, int):
                count *= min(window or ranks, _UNDER_WAY)
            self._operations[c, size] = count
        return self._operations[c, size]

    def simulate(self, c: int, i: int, until: float | None = None) -> float:
        """The time of a candidate at a size; infinite where it takes longer than ``until``, which is then noted."""
        if until is None:
            self.seconds[c, i], self.source[c, i] = self.seconds_of(c, int(self.sizes[i])), Source.simulated
            return float(self.seconds[c, i])
        found, stopped = self._makespan(c, int(self.sizes[i]), until)
        if stopped:
            self.low[c, i] = max(self.low[c, i], found)
            self.why[c, i] = self.source[c, i] = Source.stopped
            return np.inf
        self.seconds[c, i], self.source[c, i] = found, Source.simulated
        return found

    def seconds_of(self, c: int, size: int) -> float:
        """Simulated, at any size."""
        if (c, size) not in self._known:
            self._known[c, size] = self._makespan(c, size)[0]
        return self._known[c, size]

    def _makespan(self, c: int, size: int, until: float | None = None) -> tuple[float, bool]:
        """The time of a candidate, or where it is above ``until`` a lower bound of it, and whether that is so."""
        begin = time.perf_counter()
        count = self.operations(c, size)
        coarse = self._crowded(c, size) > 2 * self.heavy and not self.exhaustive
        schedule = self.scenario.schedule(self.collective, self.choices[c], size)
        found, stopped = self._makespans[coarse](schedule, until)
        if not stopped:
            self._spent += time.perf_counter() - begin
            self._simulated += count
        return found, stopped

    def _crowded(self, c: int, size: int) -> float:
        """Like operations(), but a message that is sent eagerly leaves the window at once."""
        count, window = self.operations(c, size), self.choices[c].options.get("window")
        if self.scenario.meet and isinstance(window, int) and window and size <= self.scenario.typical.S:
            count *= _UNDER_WAY / min(window, _UNDER_WAY)
        return count

    def in_time(self, count: float) -> bool:
        """Return whether this many operations can be simulated in time, at the speed so far."""
        left = self.end - time.perf_counter()
        return left > 0 and count * self._spent <= left * max(self._simulated, 1.0) * self.workers

    def _learn(self, i: int) -> None:
        """More bytes do not take less, and fewer at least in proportion. Between 0 and 1 byte is no proportion."""
        size = np.maximum(self.sizes, 1)
        part = _SLACK * np.minimum(size / size[i], 1.0)
        for c in np.flatnonzero((self.source[:, i] == Source.simulated) | (self.source[:, i] == Source.stopped)):
            self._raise(int(c), self.at_least(int(c), i) * part, Source.size)


def _lines(choices: list[Choice]) -> list[list[list[int]]]:
    """Of every candidate: those that differ from it in a single option, itself too, in the order of its values."""
    found: list[list[list[int]]] = [[] for _ in choices]
    for key in ("radix", "segment"):
        lines: dict[Choice, list[tuple[float, int]]] = {}
        for c, choice in enumerate(choices):
            if key in choice.options:
                value = _rank(key, choice.options[key])
                lines.setdefault(choice.replace(**{key: 0}), []).append((value, c))
        for line in lines.values():
            ascending = [c for _, c in sorted(line)]
            for c in ascending:
                found[c].append(ascending)
    return found


def _rank(key: str, value: Any) -> float:
    """No segments are one that has no end."""
    return np.inf if key == "segment" and value == 0 else float(value)


def from_the_ends(count: int) -> Iterable[list[int]]:
    """The first and the last of so many, then, step by step, all that are in the middle of those that have been.

    Examples
    --------
    >>> list(from_the_ends(6))
    [[0, 5], [2], [1, 3], [4]]
    """
    yield [0, count - 1] if count > 1 else [0]
    gaps = [(0, count - 1)]
    while gaps := [(low, high) for low, high in gaps if high - low > 1]:
        middles = [(low + high) // 2 for low, high in gaps]
        yield middles
        gaps = [gap for (low, high), m in zip(gaps, middles, strict=True) for gap in ((low, m), (m, high))]
