"""Leaves decisions to the library where a file would not be faster."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ...errors import InvalidInput
from ..choice import LIBRARY, Choice
from ..decisions import Decisions
from ..defaults import LIBRARIES, defaults
from ..libraries.canonical import canonical
from ..libraries.library import Predict
from ..runnable import runnable
from ..scenario import alike
from ..table import Point, crossover

#: Sizes of a rule that was not tuned at any: from where it begins by this factor, up to so many bytes.
_STEP, _LARGEST = 8, 1 << 20


@dataclass(frozen=True)
class Guard:
    """Compares what a file makes a library do with what the library does by itself.

    Parameters
    ----------
    own : Decisions
        Of the library, where the file leaves a collective to it.
    predict : callable
        Seconds of collective, ranks, bytes and choice; InvalidInput where it cannot tell.
    without : Decisions, optional
        Of the library without the file and its settings, where that is not the same: a library that takes collectives
        apart by node does so no more with a file.
    model : str
        Of the network in predictions: times that differ by less than it can tell are as good as each other.
    """

    own: Decisions
    predict: Predict
    without: Decisions | None = None
    model: str = "loggops"
    _known: dict[tuple[str, int, int, Choice], float | None] = field(default_factory=dict, repr=False, compare=False)

    def of(self, own: Decisions) -> Guard:
        """Return the guard with other decisions of the library."""
        return replace(self, own=own)

    def split(
        self, collective: str, ranks: int, low: int, high: int | None, sizes: Sequence[int], running: Choice
    ) -> list[Part]:
        """A rule in parts: where the file is better than the library, and where it is not.

        Parameters
        ----------
        collective : str
        ranks : int
        low, high : int or None
            First and last size of the rule; None: any.
        sizes : sequence of int
            At which it was tuned; if that is its first one only, others are looked at too. So are those at which the
            library changes its mind.
        running : Choice
            What the library does with the file.
        """
        turns = self._turns(collective, ranks, low, high, sizes[-1])
        tried = sorted({*(sizes if len(sizes) > 1 else spread(sizes[0], high)), *turns})
        found = [self._at(collective, ranks, size, running) for size in tried]

        def end_of(a: int, b: int) -> int:
            return b if b in turns else crossover(Point(a, running), Point(b, LIBRARY))

        pairs = itertools.pairwise(zip(tried, found, strict=True))
        ends = [end_of(a, b) if one.kept != two.kept else None for (a, one), (b, two) in pairs]
        parts: list[Part] = []
        begin = low
        for one, end in zip(found, [*ends, None], strict=True):
            last = parts[-1] if parts and parts[-1].kept == one.kept else None
            if last is None:
                parts.append(replace(one, low=begin, high=high))
            else:
                parts[-1] = last.with_(one)
            if end is not None:
                parts[-1] = replace(parts[-1], high=end - 1)
                begin = end
        return parts

    def _turns(self, collective: str, ranks: int, low: int, high: int | None, last: int) -> set[int]:
        """Sizes of a rule at which the library decides otherwise than before."""
        sources = [self.own] if self.without is None else [self.own, self.without]
        starts = {r.bytes for d in sources if collective in d.collectives for r in d.rules(collective, ranks)}
        most = max(last, _LARGEST) if high is None else min(high, max(last, _LARGEST))
        return {size for size in starts if low < size <= most}

    def whole(self, collective: str, ranks: int, sizes: Sequence[int], running: Choice) -> Part:
        """A rule for all sizes: kept only where it is better at one and not worse at any."""
        found = [self._at(collective, ranks, size, running) for size in sizes]
        kept = any(one.kept for one in found) and all(one.kept or one.even for one in found)
        whole = found[0]
        for part in found[1:]:
            whole = whole.with_(part)
        slower = None
        for size in sizes:
            slower = _most(slower, self._behind(collective, ranks, size, running if kept else None))
        return replace(whole, kept=kept, slower=slower)

    def _at(self, collective: str, ranks: int, size: int, running: Choice) -> Part:
        own = self._choice(self.own, collective, ranks, size)
        if own is None:
            return Part(True)
        same = canonical(collective, own) == canonical(collective, running)
        by = 0.0 if same else self._longer(collective, ranks, size, running, own)
        # What cannot be simulated cannot be compared, and counts as asked for.
        kept = not same and (by is None or by <= -alike(self.model))
        even = by is not None and by <= 0
        return Part(kept, same, even, by, self._behind(collective, ranks, size, running if kept else None))

    def _behind(self, collective: str, ranks: int, size: int, running: Choice | None) -> float | None:
        """The relative slowdown with the file, if any; None for ``running`` stands for the library's own choice."""
        plain = None if self.without is None else self._choice(self.without, collective, ranks, size)
        found = running or self._choice(self.own, collective, ranks, size)
        if plain is None or found is None:
            return None
        slower = self._longer(collective, ranks, size, found, plain)
        return slower if slower is not None and slower > alike(self.model) else None

    def _choice(self, decisions: Decisions, collective: str, ranks: int, size: int) -> Choice | None:
        if collective not in decisions.collectives:
            return None
        return runnable(collective, decisions.lookup(collective, ranks, size), ranks, strange=decisions.strange)[0]

    def _longer(self, collective: str, ranks: int, size: int, running: Choice, than: Choice) -> float | None:
        """The relative slowdown of one choice against another."""
        if canonical(collective, running) == canonical(collective, than):
            return 0.0
        first, second = (self._seconds(collective, ranks, size, choice) for choice in (running, than))
        if first is None or second is None:
            return None
        return first / max(second, 1e-15) - 1

    def _seconds(self, collective: str, ranks: int, size: int, choice: Choice) -> float | None:
        key = (collective, ranks, size, choice)
        if key not in self._known:
            try:
                self._known[key] = self.predict(*key)
            except InvalidInput:
                self._known[key] = None
        return self._known[key]


def guard_for(target: str, predict: Predict, *, ranks_per_node: int = 1, model: str = "loggops") -> Guard | None:
    """A guard against the decisions of a library; None where they are not known.

    Parameters
    ----------
    target : str
        As of :func:`isthmus.tuning.export.export`.
    predict : callable
        As of :class:`Guard`.
    ranks_per_node : int
        Of those that are predicted: without a file a library may take collectives apart by node.
    model : str
        As of :class:`Guard`.
    """
    if target.partition("-")[0] not in LIBRARIES or target.startswith("openmpi-han"):
        return None
    without = defaults(target, ranks_per_node=ranks_per_node) if ranks_per_node > 1 else None
    return Guard(defaults(target), predict, without, model)


@dataclass(frozen=True)
class Part:
    """Sizes of a rule for which the file is better than the library, or for which it is not.

    Parameters
    ----------
    kept : bool
        Is the rule written?
    same : bool
        Does it say what the library decides anyway?
    even : bool
        Is it not slower than that?
    by : float or None
        How much longer it takes than that at worst, relative to it; None where it is not known.
    slower : float or None
        How much longer what then runs takes at worst than the library without the file; None if it does not.
    low, high : int or None
        First and last size; None: any.
    """

    kept: bool
    same: bool = False
    even: bool = True
    by: float | None = None
    slower: float | None = None
    low: int = 0
    high: int | None = None

    def with_(self, other: Part) -> Part:
        """Both in one."""
        return replace(
            self,
            same=self.same and other.same,
            even=self.even and other.even,
            by=_most(self.by, other.by),
            slower=_most(self.slower, other.slower),
        )


def _most(one: float | None, two: float | None) -> float | None:
    known = [value for value in (one, two) if value is not None]
    return max(known, default=None)


def spread(low: int, high: int | None) -> list[int]:
    """Sizes in a range, from its first one on.

    Examples
    --------
    >>> spread(0, 100)
    [0, 8, 64]
    """
    found = [low]
    while (size := max(found[-1], 1) * _STEP) <= (_LARGEST if high is None else min(high, _LARGEST)):
        found.append(size)
    return found
