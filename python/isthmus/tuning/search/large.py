"""Times of schedules that are too large to simulate at every size: from a few simulations, of smaller ones too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .intervals import Settling
from .result import Source

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .search import Search

#: Operations of the simulations from which others are told, and of those that check what would be chosen, together.
OUTLINES, CHECKS = 48_000_000, 12_000_000
#: Segments of the pipelines from which larger ones are told, two numbers each: of all, and of those that come near the
#: best. Where ranks far down a tree hold up the others, few segments do not show it; times then come out too small.
_FIRST, _THEN = (8, 16), (32, 64)
#: The same of rings, on which every rank has so many: the second follows the first as all others follow.
_OF_RING = (2, 4)
#: So many at a time, the most promising ones first: what they show leaves out others.
_TOGETHER = 8
#: Operations up to which those of which many segments were simulated are checked too.
_AFTER_ALL = 300_000
#: How far above the best, relative to it, what was told is checked: such times are known better than that.
_NEAR = 0.05
#: Beyond this multiple of the best time a first estimate is good enough.
_DOUBT = 1.5
#: From this multiple on a time that is told from few segments leaves a pipeline out.
_FAR = 1.5
#: Up to this multiple of its closed form a time says how much longer others are than theirs; beyond, it is ruled by
#: what the form does not know, such as interfaces that ranks share.
_RIGHT = 1.25


class Continuation:
    """Decides about large schedules when all others are simulated.

    Work goes in rounds: what is simulated in a round is decided before it, so that the result does not depend on how
    many simulations run at once.
    """

    def __init__(self, search: Search) -> None:
        self.search = search
        self.left = self.begun = 0.0  # operations that may be simulated, and that this round is going to
        #: Sizes in bytes and times of pipelines that were simulated beside those of the sweep, by candidate.
        self.beside: dict[int, list[tuple[int, float]]] = {}
        #: Pipelines of which many segments were simulated.
        self.flowing: set[int] = set()
        #: Those of which it is known what they have to do.
        self.weighed: set[int] = set()

    def run(self) -> None:
        """Predict the times of large schedules, and simulate the best of them."""
        waiting = [c for c in range(len(self.search.choices)) if self._large(c)]
        waiting.sort(key=self._promise)
        effort = self.search.scenario.effort
        self.left = OUTLINES // effort
        for first in range(0, len(waiting), _TOGETHER):
            self._pipelines(waiting[first : first + _TOGETHER], *_FIRST)
        while self._pipelines([c for c in waiting if c not in self.flowing], *_THEN):
            pass
        others = [c for c in waiting if c not in self.beside]
        self.weighed = {c for c in others if (sizes := self._open(c)) and (self.search.work[c, sizes] > 0).all()}
        self.left += CHECKS // effort
        Settling(self.search, self.weighed, self._simulate).run()
        others = [c for c in others if c not in self.weighed]
        for c in others:
            self._predict(c)
        # Two sizes tell the others: the largest and the smallest at which it may be best.
        for end in (-1, 0):
            open_ones = [(c, sizes[end]) for c in others if (sizes := self._open(c))]
            self._simulate((c, i) for c, i in open_ones if self._doubtful(c, i))
            for c in others:
                self._predict(c)
        if self.search.told is None:
            self.left = CHECKS // effort
            while self._simulate(self._chosen(0.0)):
                pass
            self._simulate(self._chosen(min(self.search.margin, _NEAR)))
        if self.search.scenario.meet:
            self._infer()

    def _infer(self) -> None:
        """Estimate what was too large to simulate with contention: at most as far above its bound as others are.

        Otherwise something that was simulated would be chosen though it is slower than what was not.
        """
        s = self.search
        for i in range(len(s.sizes)):
            known = np.flatnonzero(~np.isnan(s.seconds[:, i]) & (s.work[:, i] > 0))
            above = float(np.max(s.seconds[known, i] / s.work[known, i], initial=1.0))
            for c in np.flatnonzero((s.source[:, i] == Source.large) & (s.work[:, i] > 0)):
                if not s.hopeless(int(c), i):
                    s.seconds[c, i], s.source[c, i] = s.work[c, i] * above, Source.between

    def _large(self, c: int) -> list[int]:
        return [int(i) for i in np.flatnonzero(self.search.source[c] == Source.large)]

    def _open(self, c: int) -> list[int]:
        """Sizes at which a candidate may be best and is not known."""
        return [i for i in self._large(c) if not self.search.hopeless(c, i)]

    def _near(self, c: int) -> list[int]:
        """Sizes at which a candidate may be best, as far as is known."""
        s = self.search
        between = [int(i) for i in np.flatnonzero(s.source[c] == Source.between)]
        return [*self._open(c), *(i for i in between if s.seconds[c, i] <= s.best(i) * (1 + s.margin))]

    def _promise(self, c: int) -> float:
        """The smallest possible distance to the best, relative."""
        s, large = self.search, self._large(c)
        best = np.array([s.best(i) for i in large])
        return float(np.min(np.fmax(s.guess[c, large], s.low[c, large]) / best))

    def _afford(self, c: int, size: int) -> bool:
        count = self.search.operations(c, size)
        if count > self.left or not self.search.in_time(count + self.begun):
            return False
        self.begun += count
        self.left -= count
        return True

    def _pipelines(self, waiting: list[int], few: int, more: int) -> bool:
        """Extend times of many segments: twice as many take as long again, but for the first ones. Was there any?"""
        s = self.search
        tasks = []
        for c in waiting:
            ring = s.choices[c].name == "segmented_ring"
            counts = _OF_RING if ring else (few, more)
            segment = s.segment(s.choices[c])
            near = [i for i in self._near(c) if 0 < segment * counts[1] < s.sizes[i]]
            if not near:
                continue
            sizes = [count * segment for count in counts]
            cheap = s.operations(c, sizes[1]) < s.operations(c, int(s.sizes[near[-1]]))
            if cheap and all(self._afford(c, size) for size in sizes):
                tasks.append((c, sizes, near))
                if ring or counts == _THEN:
                    self.flowing.add(c)

        def simulate(task: tuple[int, int]) -> None:
            c, size = task
            self.beside.setdefault(c, []).append((size, s.seconds_of(c, size)))

        self.begun = 0.0
        s.each(simulate, [(c, sizes[0]) for c, sizes, _ in tasks])
        tasks = [(c, sizes, near) for c, sizes, near in tasks if not self._far(c, sizes[0], near)]
        s.each(simulate, [(c, sizes[1]) for c, sizes, _ in tasks])
        for c, _, _ in tasks:
            self._predict(c)
        return bool(tasks)

    def _far(self, c: int, size: int, near: list[int]) -> bool:
        """Whether few segments show already that a pipeline is far from the best where messages meet, and note it.

        Few lose less to contention than many do, relative to their time without.
        """
        s = self.search
        if not s.scenario.meet or np.isnan(s.guess[c]).any():
            return False
        alone = float(np.interp(size, s.sizes, s.guess[c]))
        times = s.guess[c, near] * max(self.beside[c][-1][1] / alone, 1.0)
        if (times <= _FAR * np.array([s.best(i) for i in near])).any():
            return False
        s.seconds[c, near], s.source[c, near] = np.nan, Source.size
        return True

    def _simulate(self, wanted: Iterable[tuple[int, int]]) -> bool:
        """Simulate what can be afforded of candidates and sizes; was anything?"""
        s = self.search
        round_ = [(c, i) for c, i in wanted if self._afford(c, int(s.sizes[i]))]
        self.begun = 0.0
        s.each(lambda task: s.simulate(*task), round_)
        for c in dict.fromkeys(c for c, _ in round_ if c not in self.weighed):
            self._predict(c)
        return bool(round_)

    def _doubtful(self, c: int, i: int) -> bool:
        seconds = self.search.seconds[c, i]
        return bool(np.isnan(seconds) or seconds < _DOUBT * self.search.best(i))

    def _chosen(self, margin: float) -> list[tuple[int, int]]:
        """Predicted times that are the best or within a margin of it, those that cost least first."""
        s = self.search
        best = np.fmin.reduce(s.seconds, axis=0)
        near = (s.source == Source.between) & (s.seconds <= best * (1 + margin))
        near[sorted(self.weighed)] = False  # settled
        found = []
        for c, i in zip(*np.nonzero(near), strict=True):
            count = s.operations(int(c), int(s.sizes[i]))
            if c not in self.flowing or count < _AFTER_ALL:
                found.append((count, int(c), int(i)))
        return [(c, i) for _, c, i in sorted(found)]

    def _predict(self, c: int) -> None:
        s = self.search
        simulated = np.flatnonzero(s.source[c] == Source.simulated)
        of_sweep = {int(s.sizes[i]): float(s.seconds[c, i]) for i in simulated}
        known = sorted((dict(self.beside.get(c, ())) | of_sweep).items())
        for i in np.flatnonzero((s.source[c] == Source.large) | (s.source[c] == Source.between)):
            if s.source[c, i] == Source.large and s.hopeless(c, int(i)):
                continue
            if len(known) >= 2 or (known and self._close(c, *known[0])):
                s.seconds[c, i] = max(self._continued(c, known, int(i)), s.low[c, i])
                s.source[c, i] = Source.between

    def _close(self, c: int, size: float, seconds: float) -> bool:
        """Whether a closed form exists and is nearly right at this size; it then tells how times grow."""
        s = self.search
        return c not in self.beside and bool(seconds <= _RIGHT * s.guess[c, np.searchsorted(s.sizes, size)])

    def _continued(self, c: int, known: list[tuple[int, float]], i: int) -> float:
        """From the two known sizes nearest to it, one on each side if there are."""
        s = self.search
        sizes = np.array([size for size, _ in known], float)
        at = int(np.clip(np.searchsorted(sizes, s.sizes[i]), 1, max(len(known) - 1, 1)))
        x, y = sizes[at - 1 : at + 1], np.array([seconds for _, seconds in known[at - 1 : at + 1]])
        if all(self._close(c, *one) for one in zip(x, y, strict=True)):
            # How much the closed form is wrong changes slowly.
            near = np.searchsorted(s.sizes, x)
            ratio = np.interp(np.log(max(s.sizes[i], 1)), np.log(np.maximum(x, 1.0)), y / s.guess[c, near])
            return float(s.guess[c, i] * ratio)
        return float(y[0] + (y[1] - y[0]) * (s.sizes[i] - x[0]) / (x[1] - x[0]))
