"""The choice among the maps found: the objective, and what must not get worse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .budget import seconds_of_metrics, seconds_of_relief
from .graphs import in_groups

if TYPE_CHECKING:
    from .problem import Problem
    from .trial import Attempt, Trial

#: What is to be small, and the metrics that decide, the first first.
OBJECTIVES = {
    "hop_bytes": ("hop_bytes", "maximum_congestion"),
    "max_link": ("maximum_congestion", "hop_bytes"),
    "time": ("time", "hop_bytes"),
}
#: Hop-bytes that differ by this part count as equal: congestion decides.
_EQUAL = 0.005
#: In networks of groups hop-bytes of good maps are alike and links are not: a hottest link of half the load is worth
#: 3.5 % of hop-bytes, which this power of the load says.
_POWER = 0.05
#: Rounding of sums.
_SAME = 1e-9
#: Hop-bytes that may be paid, step by step, for a hottest link that is no worse than that of the usual order; at last
#: as many as were saved. Parts of the time for them.
_PRICES = ((0.01, 0.1), (0.03, 0.1), (0.1, 0.2), (np.inf, 0.6))
#: From this price on no more is paid than links must be cooled.
_DEAR = 0.1
#: Links are to be that much cooler than they must: those of messages that go one way are not quite those that relief of
#: pairs looks at.
_MARGIN = 0.999


def best_of(trials: Sequence[Trial], objective: str, problem: Problem) -> Trial:
    """The trial that is best by the metrics of OBJECTIVES; the earlier of equals."""
    first, second = OBJECTIVES[objective]
    values = [t.hop_bytes if first == "hop_bytes" else _value(t, first) for t in trials]
    # What is best of all has no equals but the others.
    loose = first == "hop_bytes" and all(t.method != "exact" for t in trials)
    if loose and in_groups(problem):
        return min(trials, key=lambda t: (t.hop_bytes * _value(t, second) ** _POWER, t.hop_bytes))
    least = min(values) * (1 + (_EQUAL if loose else _SAME))
    equal = [t for t, value in zip(trials, values, strict=True) if value <= least]
    return equal[0] if len(equal) == 1 else min(equal, key=lambda t: (_value(t, second), t.hop_bytes))


def _value(trial: Trial, name: str) -> float:
    found = trial.metrics.value(name)
    assert found is not None, name
    return found


def no_hotter(trials: list[Trial], problem: Problem, attempt: Attempt, seconds: float) -> Trial:
    """The best by hop-bytes with neither a hotter link nor more hop-bytes than the order of the allocation.

    Where the best of all is hotter, others are made of it that may cost more hop-bytes.
    """
    usual = trials[0]
    best = best_of(trials, "hop_bytes", problem)
    if not _worse(best, usual):
        return best
    # Where there is time for few of them, the last; each goes on where the one before it stopped.
    least = seconds_of_relief(problem) + seconds_of_metrics(problem)
    prices = _PRICES[-max(min(int(seconds / least), len(_PRICES)), 1) :]
    start = best
    for price, part in prices:
        saved = max(usual.hop_bytes / start.hop_bytes - 1, 0.0)
        options = {"rise": round(min(price, saved), 4)}
        if price >= _DEAR:
            over = usual.metrics.maximum_congestion / start.metrics.maximum_congestion
            options["until"] = round(min(over * _MARGIN, 1.0), 4)
        share = part / sum(part for _, part in prices)
        cooler = attempt("relieve", start=start.place, seconds=round(share * seconds, 3), **options)
        if cooler is None or not _worse(cooler, usual):
            break
        start = cooler
    return best_of(cooler_than_usual(trials), "hop_bytes", problem)


def cooler_than_usual(trials: Sequence[Trial]) -> list[Trial]:
    """Placements with neither a hotter link nor more hop-bytes than the first, the order of the allocation."""
    return [t for t in trials if not _worse(t, trials[0])]


def _worse(t: Trial, usual: Trial) -> bool:
    hotter = t.metrics.maximum_congestion > usual.metrics.maximum_congestion * (1 + _SAME)
    return hotter or t.hop_bytes > usual.hop_bytes * (1 + _SAME)
