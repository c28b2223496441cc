"""What a candidate gains over the library's default, with a confidence interval.

Times of one launch differ from those of the next by more than repetitions within a launch do (Hunold and
Carpen-Amarie, "Reproducible MPI Benchmarking Is Still Not as Easy as You Think", 2016). What is compared are therefore
medians of launches, a candidate's with that of the default's launch beside it in time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

#: Launches of each after which an interval of 95 % leaves out the least and the greatest ratio.
ENOUGH = 9


@dataclass(frozen=True)
class Gain:
    """How long a candidate takes relative to the default.

    Parameters
    ----------
    ratio : float
        Median over launches of its time by that of the default.
    low, high : float
        Ends of the confidence interval of the median, of 95 % or, of fewer than six launches, as much as they can give.
    launches : int
    """

    ratio: float
    low: float
    high: float
    launches: int

    @property
    def is_sure(self) -> bool:
        """Faster by more than the interval, and known from enough launches."""
        return self.high < 1 and confidence(self.launches) >= 0.95


def gain(candidate: Sequence[float], default: Sequence[float]) -> Gain:
    """Compare medians of launches, given in pairs.

    Parameters
    ----------
    candidate, default : sequence of float
        Seconds, of equal length, at least one.
    """
    ratios = sorted(a / max(b, 1e-12) for a, b in zip(candidate, default, strict=True))
    count = len(ratios)
    outside = _outside(count)
    middle = (ratios[(count - 1) // 2] + ratios[count // 2]) / 2
    return Gain(middle, ratios[outside], ratios[count - 1 - outside], count)


def _outside(count: int) -> int:
    """How many values at each end lie outside of an interval of 95 % for the median, by the binomial distribution."""
    outside = 0
    while 2 * (outside + 1) < count and _covered(count, outside + 1) >= 0.95:
        outside += 1
    return outside


def _covered(count: int, outside: int) -> float:
    tail: float = sum(math.comb(count, k) for k in range(outside + 1)) / 2.0**count
    return 1.0 - 2.0 * tail


def confidence(count: int) -> float:
    """The confidence of the interval of so many launches.

    Examples
    --------
    >>> confidence(9)
    0.9609375
    """
    return _covered(count, _outside(count))
