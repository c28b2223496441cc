"""Which candidates are timed at which sizes, on the machine itself.

First every candidate a few times at sizes eight times apart, then, between sizes whose best differ, those best ones
until sizes are a factor of two apart, at last those that beat the library's default, often enough to be sure. A launch
forces one candidate of every collective at once; launches of the default stand among them, and a candidate is compared
with those beside it, so that what disturbs the machine for a while disturbs both.
"""

from __future__ import annotations

import itertools
import math
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInput
from ..choice import LIBRARY, Choice
from ..rule import KINDS
from . import guidelines
from .gain import ENOUGH, Gain, gain
from .result import Decision, MeasuredTuning
from .runs import Case, Runs
from .trials import DEFAULT, Library, Trial

#: Bytes at which every candidate is tried first.
COARSE = (8, 64, 512, 4096, 32768, 262144, 2097152)
#: Collectives that are tuned where none are named.
ALL = tuple(kind for kind in KINDS if kind != "neighbor_alltoall")
#: Launches of candidates between two of the default.
_BETWEEN = 4
#: What is this much slower than the best of its size is not looked at again.
_HOPELESS = 1.3
#: What gains less is not worth a rule.
_LEAST = 0.02
#: Candidates of a size that are looked at again.
_MOST = 3
#: Seconds of the three parts, as shares.
_SHARES = (0.45, 0.2, 0.35)
#: Seconds of one launch.
_LAUNCH = (0.2, 4.0)
#: Seconds that a launcher takes to start and end, until it is known.
_START = 0.5


@dataclass
class _Known:
    """What is known of a candidate at a size: medians of its launches, and of the default's beside them."""

    mine: list[float] = field(default_factory=list)
    default: list[float] = field(default_factory=list)

    @property
    def gain(self) -> Gain:
        return gain(self.mine, self.default)


#: What one launch forces: by collective of ours the candidate and the sizes.
_Slot = dict[str, tuple[Trial, list[int]]]


def search(
    library: Library,
    runs: Runs,
    *,
    sizes: Sequence[int] = COARSE,
    seconds: float = 540.0,
    rank: Callable[[str, int, Choice], float] | None = None,
    seed: int = 1,
    progress: Callable[[float, str], None] | None = None,
) -> MeasuredTuning:
    """Find what is faster than the default of a library by timing it.

    Parameters
    ----------
    library : Library
        The candidates.
    runs : Runs
        Starts the launches.
    sizes : sequence of int
        Bytes at which every candidate is tried; sizes between them follow where the best changes.
    seconds : float
        For all launches. If it ends before all candidates were tried, those that the model puts last are missing, and
        the result says so.
    rank : callable, optional
        Predicted seconds of collective, bytes and choice: the order in which candidates are tried.
    seed : int
        Of the order of launches.
    progress : callable, optional
        Called with the share that is done, and words.

    Returns
    -------
    MeasuredTuning

    Raises
    ------
    InvalidInput
        If nothing could be run.
    """
    return _Search(library, runs, sorted(set(sizes)), seconds, rank, seed, progress).result()


class _Search:
    def __init__(
        self, library: Library, runs: Runs, sizes: list[int], seconds: float,
        rank: Callable[[str, int, Choice], float] | None, seed: int, progress: Callable[[float, str], None] | None,
    ) -> None:  # fmt: skip
        self.library, self.runs, self.sizes = library, runs, sizes
        self.seconds, self.rank, self.progress = seconds, rank, progress
        self.random = random.Random(seed)
        self.begin = time.monotonic()
        self.known: dict[tuple[str, int], dict[Trial, _Known]] = defaultdict(dict)
        self.defaults: dict[Case, list[NDArray[np.float64]]] = defaultdict(list)
        self.launches = 0
        self.start = _START
        self.untried = 0

    def result(self) -> MeasuredTuning:
        ends = np.cumsum(_SHARES) * self.seconds
        self._coarse(float(ends[0]))
        self._turns(float(ends[1]))
        finals = self._finals(float(ends[2]))
        if not self.defaults:
            raise InvalidInput("no collective could be run")
        return MeasuredTuning(
            target=self.library.target,
            ranks=self.runs.ranks,
            decisions=tuple(self._decisions(finals)),
            violations=tuple(guidelines.violations(self.defaults, self.runs.ranks)),
            notes=self.library.notes + self._notes(),
            launches=self.launches,
            wall=time.monotonic() - self.begin,
        )

    # What is tried when.

    def _coarse(self, until: float) -> None:
        ordered = {kind: self._ordered(kind) for kind in self.library.trials}
        slots = [slot for alone in (False, True) for slot in self._slots(ordered, alone)]
        extra = guidelines.cases(self._names(), dict.fromkeys(self._names(), self.sizes), self.runs.ranks)
        for turn in range(2):
            left = self._rounds(slots, 1, until, f"coarse{turn}", extra if turn == 0 else [], "every algorithm")
            if turn == 0:
                self.untried = left

    def _turns(self, until: float) -> None:
        """Sizes between two whose best differ, until they are a factor of two apart."""
        step = 0
        while self._passed() < until:
            middles: dict[str, dict[Trial, list[int]]] = {}
            for kind in self.library.trials:
                sizes = sorted(size for of, size in self.known if of == kind)
                for low, high in itertools.pairwise(sizes):
                    one, two = self._best(kind, low), self._best(kind, high)
                    middle = 1 << round((math.log2(max(low, 1)) + math.log2(high)) / 2)
                    if one == two or high <= 2 * low or not low < middle < high:
                        continue
                    for trial in {one, two, *self._good(kind, low)[:2], *self._good(kind, high)[:2]} - {DEFAULT}:
                        middles.setdefault(kind, {}).setdefault(trial, []).append(middle)
            if not middles:
                return
            self._rounds(self._packed(middles), 3, until, f"turn{step}", [], "sizes between")
            step += 1

    def _finals(self, until: float) -> dict[tuple[str, int], dict[Trial, _Known]]:
        """Those that were faster than the default, often enough; what chose them does not count."""
        wanted: dict[str, dict[Trial, list[int]]] = {}
        for kind, size in self.known:
            for trial in self._good(kind, size)[:2]:
                wanted.setdefault(kind, {}).setdefault(trial, []).append(size)
        before, self.known = self.known, defaultdict(dict)
        if wanted:
            self._rounds(self._packed(wanted), ENOUGH, until, "final", [], "the fastest")
        found, self.known = self.known, before
        return found

    def _good(self, kind: str, size: int) -> list[Trial]:
        """Candidates that seem to be faster than the default, the fastest first."""
        of = self.known.get((kind, size), {})
        ratios = {trial: known.gain.ratio for trial, known in of.items()}
        least = min(ratios.values(), default=1.0)
        good = [t for t, ratio in ratios.items() if ratio < 1 - _LEAST and ratio < _HOPELESS * least]
        return sorted(good, key=lambda t: ratios[t])[:_MOST]

    def _best(self, kind: str, size: int) -> Trial:
        return next(iter(self._good(kind, size)), DEFAULT)

    # Launches.

    def _ordered(self, kind: str) -> dict[Trial, list[int]]:
        """The candidates of a collective, those that are predicted to be fast first."""
        trials = list(self.library.trials[kind])
        rank = self.rank
        if rank is not None:
            middle = self.sizes[len(self.sizes) // 2]
            trials.sort(key=lambda t: rank(kind, max(middle, t.smallest), t.choice))
        sizes = [0] if kind == "barrier" else self.sizes
        return {trial: [size for size in sizes if size >= trial.smallest] for trial in trials}

    def _slots(self, wanted: Mapping[str, Mapping[Trial, list[int]]], alone: bool) -> list[_Slot]:
        """Launches that force one candidate of every collective each."""
        chosen = {
            kind: [(trial, sizes) for trial, sizes in of.items() if trial.alone == alone and sizes]
            for kind, of in wanted.items()
        }
        count = max(map(len, chosen.values()), default=0)
        return [{kind: of[i] for kind, of in chosen.items() if i < len(of)} for i in range(count)]

    def _packed(self, wanted: Mapping[str, Mapping[Trial, list[int]]]) -> list[_Slot]:
        return self._slots(wanted, False) + self._slots(wanted, True)

    def _rounds(
        self, slots: list[_Slot], rounds: int, until: float, key: str, extra: Iterable[Case], doing: str
    ) -> int:
        """Launch every slot so many times, in another order each time; returns how many were never launched."""
        if not slots:
            return 0
        cases = {case for slot in slots for case in self._cases(slot)} | set(extra)
        total = rounds * (len(slots) + len(slots) // _BETWEEN + 2)
        done = 0
        launched: set[int] = set()
        for turn in range(rounds):
            # Until all were there once, in the order of the model; then shuffled.
            order = list(range(len(slots)))
            if turn:
                self.random.shuffle(order)
            before = self._default(sorted(cases), self._share(until, total - done), f"{key}.{turn}.d0")
            done += 1
            waiting: list[tuple[_Slot, Mapping[Case, float]]] = []
            for place, index in enumerate(order, 1):
                slot = slots[index]
                if self._passed() < until:
                    settings = {k: v for trial, _ in slot.values() for k, v in trial.settings.items()}
                    medians = self._launch(
                        settings, self._cases(slot), self._share(until, total - done), f"{key}.{turn}.{index}"
                    )
                    waiting.append((slot, medians))
                    launched.add(index)
                    done += 1
                    if self.progress:
                        self.progress(min(self._passed() / self.seconds, 1.0), doing)
                if waiting and (place % _BETWEEN == 0 or place == len(order)):
                    after = self._default(sorted(cases), self._share(until, total - done), f"{key}.{turn}.d{place}")
                    done += 1
                    for one, found in waiting:
                        self._note(one, found, before, after)
                    waiting, before = [], after
            if self._passed() >= until:
                break
        return len(slots) - len(launched)

    def _cases(self, slot: _Slot) -> list[Case]:
        names = self.library.names
        return sorted({Case(name, size) for kind, (_, sizes) in slot.items() for name in names[kind] for size in sizes})

    def _share(self, until: float, launches: int) -> float:
        """Seconds for the next of so many launches."""
        left = (until - self._passed()) / max(launches, 1) - self.start
        return min(max(left, _LAUNCH[0]), _LAUNCH[1])

    def _launch(self, settings: Mapping[str, str], cases: list[Case], seconds: float, key: str) -> dict[Case, float]:
        began = time.monotonic()
        times = self.runs.times({**self.library.always, **settings}, cases, seconds, key)
        self.launches += 1
        self.start = 0.7 * self.start + 0.3 * max(time.monotonic() - began - seconds, 0.0)
        if not settings:
            for case, values in times.items():
                if len(values):
                    self.defaults[case].append(values)
        return {case: float(np.median(values)) for case, values in times.items() if len(values)}

    def _default(self, cases: list[Case], seconds: float, key: str) -> dict[Case, float]:
        return self._launch({}, cases, seconds, key)

    def _note(
        self, slot: _Slot, found: Mapping[Case, float], before: Mapping[Case, float], after: Mapping[Case, float]
    ) -> None:
        for kind, (trial, sizes) in slot.items():
            for size in sizes:
                pairs = []
                for case in (Case(name, size) for name in self.library.names[kind]):
                    beside = [of[case] for of in (before, after) if case in of]
                    if case in found and beside:
                        pairs.append((found[case], sum(beside) / len(beside)))
                # Of two collectives that one rule steers, the one that gains less decides.
                if len(pairs) == len(self.library.names[kind]):
                    mine, default = max(pairs, key=lambda pair: pair[0] / max(pair[1], 1e-12))
                    known = self.known[kind, size].setdefault(trial, _Known())
                    known.mine.append(mine)
                    known.default.append(default)

    def _passed(self) -> float:
        return time.monotonic() - self.begin

    def _names(self) -> set[str]:
        return {name for names in self.library.names.values() for name in names}

    # What comes out.

    def _decisions(self, finals: Mapping[tuple[str, int], Mapping[Trial, _Known]]) -> Iterable[Decision]:
        for kind, size in sorted(self.known, key=lambda key: (KINDS.index(key[0]), key[1])):
            of = finals.get((kind, size), {})
            sure = {trial: known for trial, known in of.items() if known.gain.is_sure and known.gain.ratio < 1 - _LEAST}
            best = min(sure, key=lambda trial: sure[trial].gain.ratio, default=None)
            seconds = self._default_seconds(kind, size)
            if best is None:
                yield Decision(kind, size, LIBRARY, seconds, seconds, None)
            else:
                known = sure[best]
                yield Decision(
                    kind, size, best.choice, float(np.median(known.mine)), float(np.median(known.default)), known.gain
                )

    def _default_seconds(self, kind: str, size: int) -> float:
        found = [self.defaults.get(Case(name, size), []) for name in self.library.names[kind]]
        return max((float(np.median([np.median(t) for t in of])) for of in found if of), default=0.0)

    def _notes(self) -> tuple[str, ...]:
        out = []
        if self.untried:
            out.append(
                f"{self.untried} launches of candidates that the model puts last were not run within "
                f"{self.seconds:.0f} s: more time (--time) tries them"
            )
        short = [1 for of in self.known.values() for known in of.values() if known.mine]
        if not short:
            out.append("no candidate was timed")
        return tuple(out)
