"""Which candidates are timed at which sizes, on the machine itself.

First every candidate twice at sizes eight times apart, and again those that are not clearly slower than the default;
then, between sizes whose best differ, those best ones, until sizes are close together or the best two are; at last
those that beat the library's default, often enough to be sure. A launch forces one candidate of every collective at
once; launches of the default stand among them, and a candidate is compared with those beside it, which run the same
cases, so that what disturbs the machine for a while disturbs both.
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
#: Launches of candidates between two of the default.
_BETWEEN = 4
#: What is this much slower than the best of its size is not looked at again.
_HOPELESS = 1.3
#: What gains less is not worth a rule.
_LEAST = 0.02
#: What is no more than this much slower than the default after two launches is launched twice more.
_NEAR = 0.05
#: Sizes between two whose best differ are tried until they are this factor apart, or the best two are this close.
_APART, _CLOSE = 1.3, 0.05
#: A rule that holds from one size to another is tried between them where they are further apart than this factor.
_WIDE = 4
#: Candidates of a size that are looked at again.
_MOST = 3
#: Seconds of the parts: every algorithm, those that are near, sizes between, the fastest; as shares.
_SHARES = (0.37, 0.1, 0.2, 0.33)
#: Most launches of what beats the default: an interval of the median gets narrower by the square root.
_SURE = 25
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
    clock: Callable[[], float] = time.monotonic,
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
    clock : callable
        Seconds that pass.

    Returns
    -------
    MeasuredTuning

    Raises
    ------
    InvalidInput
        If nothing could be run.
    """
    return _Search(library, runs, sorted(set(sizes)), seconds, rank, seed, progress, clock).result()


class _Search:
    def __init__(
        self, library: Library, runs: Runs, sizes: list[int], seconds: float,
        rank: Callable[[str, int, Choice], float] | None, seed: int, progress: Callable[[float, str], None] | None,
        clock: Callable[[], float],
    ) -> None:  # fmt: skip
        self.library, self.runs, self.sizes = library, runs, sizes
        self.seconds, self.rank, self.progress = seconds, rank, progress
        self.random = random.Random(seed)
        self.clock, self.begin = clock, clock()
        self.known: dict[tuple[str, int], dict[Trial, _Known]] = defaultdict(dict)
        self.defaults: dict[Case, list[NDArray[np.float64]]] = defaultdict(list)
        self.launches = 0
        self.start, self.least = _START, _LAUNCH[0]
        self.untried = 0
        self.short = 0

    def result(self) -> MeasuredTuning:
        ends = np.cumsum(_SHARES) * self.seconds
        self._coarse(float(ends[0]))
        self._near(float(ends[1]))
        self._turns(float(ends[2]))
        finals = self._finals(float(ends[3]))
        if not self.defaults:
            raise InvalidInput("no collective could be run")
        return MeasuredTuning(
            target=self.library.target,
            ranks=self.runs.ranks,
            decisions=tuple(self._decisions(finals)),
            violations=tuple(guidelines.violations(self.defaults, self.runs.ranks)),
            notes=self.library.notes + self._notes(),
            launches=self.launches,
            wall=self._passed(),
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

    def _near(self, until: float) -> None:
        """Twice more what two launches did not show to be slower than the default."""
        wanted: dict[str, dict[Trial, list[int]]] = {}
        for kind, size in sorted(self.known):
            for trial in self._good(kind, size, 1 + _NEAR):
                wanted.setdefault(kind, {}).setdefault(trial, []).append(size)
        self._rounds(self._packed(wanted), 2, until, "near", [], "those that are near")

    def _turns(self, until: float) -> None:
        """Sizes between two whose best differ, and within a rule that holds over a wide range."""
        step = 0
        while self._passed() < until:
            middles: dict[str, dict[Trial, list[int]]] = {}
            for kind in self.library.trials:
                sizes = sorted(size for of, size in self.known if of == kind)
                for low, high in itertools.pairwise(sizes):
                    middle = _middle(low, high)
                    if not low < middle < high or not self._is_open(kind, low, high):
                        continue
                    best = {*self._pair(kind, low, high), self._best(kind, low), self._best(kind, high)}
                    for trial in {*best, *self._good(kind, low)[:2], *self._good(kind, high)[:2]} - {DEFAULT}:
                        middles.setdefault(kind, {}).setdefault(trial, []).append(middle)
            if not middles:
                return
            self._rounds(self._packed(middles), 3, until, f"turn{step}", [], "sizes between")
            step += 1

    def _is_open(self, kind: str, low: int, high: int) -> bool:
        """Whether it matters what is best between two sizes."""
        one, two = self._pair(kind, low, high)
        if one == two:
            return one != DEFAULT and high > _WIDE * low and self._best(kind, low) == one
        ends = ((low, one, two), (high, two, one))
        lost = [self._ratio(kind, size, other) / self._ratio(kind, size, best) for size, best, other in ends]
        return high > _APART * low and max(lost) > 1 + _CLOSE

    def _pair(self, kind: str, low: int, high: int) -> tuple[Trial, Trial]:
        """The best at two sizes.

        Where that is the default at both, the candidates that are best: if they differ, the default changes between the
        sizes as they do, maybe not where it should.
        """
        one, two = self._best(kind, low), self._best(kind, high)
        if one == two == DEFAULT:
            one, two = (next(iter(self._good(kind, size, 1 + _NEAR)), DEFAULT) for size in (low, high))
            return (one, two) if DEFAULT not in (one, two) else (DEFAULT, DEFAULT)
        return one, two

    def _ratio(self, kind: str, size: int, trial: Trial) -> float:
        """Time relative to the default; that of a candidate that was not timed at the size is not bounded."""
        if trial == DEFAULT:
            return 1.0
        known = self.known.get((kind, size), {}).get(trial)
        return math.inf if known is None else known.gain.ratio

    def _finals(self, until: float) -> dict[tuple[str, int], dict[Trial, _Known]]:
        """Those that were faster than the default, often enough; what chose them does not count."""
        slots: list[_Slot] = []
        rounds = 0
        for most in (2, 1):
            wanted: dict[str, dict[Trial, list[int]]] = {}
            for kind, size in sorted(self.known):
                for trial in self._good(kind, size)[:most]:
                    wanted.setdefault(kind, {}).setdefault(trial, []).append(size)
            slots = self._packed(wanted)
            # How many is settled beforehand: to go on until something is sure would make it sure too often.
            each = (len(slots) * (1 + 1 / _BETWEEN) + 2) * (self.start + 2 * self.least)
            rounds = int(min((until - self._passed()) / each, _SURE))
            if rounds >= ENOUGH:
                break
        before, self.known = self.known, defaultdict(dict)
        self._rounds(slots, max(rounds, ENOUGH), until, "final", [], "the fastest")
        found, self.known = self.known, before
        self.short = sum(known.gain.launches < ENOUGH for of in found.values() for known in of.values())
        return found

    def _good(self, kind: str, size: int, limit: float = 1 - _LEAST) -> list[Trial]:
        """Candidates whose time relative to the default seems to be below a limit, the fastest first."""
        of = self.known.get((kind, size), {})
        ratios = {trial: known.gain.ratio for trial, known in of.items()}
        least = min(ratios.values(), default=1.0)
        good = [t for t, ratio in ratios.items() if ratio < limit and ratio < _HOPELESS * least]
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
        # Every launch runs all of them: messages of other cases empty the caches, for candidate and default alike.
        cases = sorted({case for slot in slots for case in self._cases(slot)} | set(extra))
        total = rounds * (len(slots) + len(slots) // _BETWEEN + 2)
        done = 0
        launched: set[int] = set()
        for turn in range(rounds):
            # Until all were there once, in the order of the model; then shuffled.
            order = list(range(len(slots)))
            if turn:
                self.random.shuffle(order)
            before = self._default(cases, self._share(until, total - done), f"{key}.{turn}.d0")
            done += 1
            waiting: list[tuple[_Slot, Mapping[Case, float]]] = []
            for place, index in enumerate(order, 1):
                slot = slots[index]
                # The default after it takes as long.
                if self._passed() < min(until, self.seconds - 2 * (self.start + self.least)):
                    settings = {k: v for trial, _ in slot.values() for k, v in trial.settings.items()}
                    medians = self._launch(settings, cases, self._share(until, total - done), f"{key}.{turn}.{index}")
                    waiting.append((slot, medians))
                    launched.add(index)
                    done += 1
                    if self.progress:
                        self.progress(min(self._passed() / self.seconds, 1.0), doing)
                if waiting and (place % _BETWEEN == 0 or place == len(order)):
                    after = self._default(cases, self._share(until, total - done), f"{key}.{turn}.d{place}")
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
        return min(max(left, self.least), _LAUNCH[1])

    def _launch(self, settings: Mapping[str, str], cases: list[Case], seconds: float, key: str) -> dict[Case, float]:
        began = self.clock()
        times = self.runs.times({**self.library.always, **settings}, cases, seconds, key)
        self.launches += 1
        self.start = 0.7 * self.start + 0.3 * max(self.clock() - began - seconds, 0.0)
        if not any(len(values) for values in times.values()):
            # Other work lets no start be in time: longer launches may.
            self.least = min(2 * self.least, _LAUNCH[1])
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
        return self.clock() - self.begin

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
        if self.short:
            out.append(
                f"{self.short} candidates that seem to be faster were not timed often enough within "
                f"{self.seconds:.0f} s: more time (--time) decides"
            )
        if not any(known.mine for of in self.known.values() for known in of.values()):
            out.append("no candidate was timed")
        return tuple(out)


def _middle(low: int, high: int) -> int:
    """The geometric mean of two sizes, with five binary digits, in whole double words."""
    middle = math.sqrt(max(low, 1) * high)
    unit = max(8, 1 << max(math.frexp(middle)[1] - 5, 0))
    return round(middle / unit) * unit
