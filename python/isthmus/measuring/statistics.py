"""What samples say: medians with distribution-free intervals, bootstrap over rounds, change points."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A number with its confidence interval.

    Attributes
    ----------
    value, low, high : float
        The number, and the ends of the interval.
    samples : int
        How many samples it rests on.
    """

    value: float
    low: float
    high: float
    samples: int = 0

    @property
    def relative(self) -> float:
        """Half the width of the interval, relative to the value; infinite for a value of 0."""
        return (self.high - self.low) / 2 / abs(self.value) if self.value else math.inf

    def __contains__(self, other: float) -> bool:
        return self.low <= other <= self.high


@lru_cache(maxsize=4096)
def _ranks(n: int, confidence: float) -> tuple[int, float]:
    """(k, w): order statistics k and n + 1 - k, k and k + 1 mixed with the weight w of the outer ones."""
    # P(k-th <= median <= (n+1-k)-th) = 1 - 2 P(Binomial(n, 1/2) < k)
    below = probability = 0.5**n if n < 1000 else 0.0
    if n >= 1000:
        k = max(int(n / 2 - 0.5 * math.sqrt(n) * _normal(confidence)), 1)
        return k, 1.0
    k, terms = 1, [1 - 2 * below]
    while k < (n + 1) // 2 and 1 - 2 * below >= confidence:
        probability *= (n - k + 1) / k
        below += probability
        k += 1
        terms.append(1 - 2 * below)
    if terms[0] < confidence:
        return 1, 1.0
    # The k-th gives too little, the one before it too much: Hettmansperger and Sheather mix them.
    outer, inner = (terms[k - 2], terms[k - 1]) if terms[k - 1] < confidence else (terms[k - 1], 0.0)
    if terms[k - 1] >= confidence:
        return k, 1.0
    k -= 1
    share = (outer - confidence) / (outer - inner)
    mixed = (n - k) * share / (k + (n - 2 * k) * share)
    return k, 1 - mixed


def _normal(confidence: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(0.5 + confidence / 2)


def median_interval(values: ArrayLike, confidence: float = CONFIDENCE) -> Estimate:
    """Return the median and an interval for it, whatever the distribution.

    Between two order statistics, interpolated so that the coverage is near the one asked for (T. P. Hettmansperger, S.
    J. Sheather, "Confidence intervals based on interpolated order statistics", Statistics & Probability Letters 4,
    1986). With fewer than six samples, none covers 95 %: the interval is then all of them.

    Parameters
    ----------
    values : array of float
    confidence : float

    Raises
    ------
    InvalidInput
        For no values.

    Examples
    --------
    >>> median_interval(range(1, 102)).value
    51.0
    """
    x = np.sort(np.asarray(values, np.float64).reshape(-1))
    n = len(x)
    if not n:
        raise InvalidInput("no values have no median: give at least one")
    k, outer = _ranks(n, confidence)
    inner = min(k, n - 1)
    low = outer * x[k - 1] + (1 - outer) * x[inner]
    high = outer * x[n - k] + (1 - outer) * x[n - 1 - inner]
    return Estimate(float(np.median(x)), float(min(low, high)), float(max(low, high)), n)


def of_rounds(rounds: Sequence[NDArray[np.float64]], confidence: float = CONFIDENCE) -> Estimate:
    """Return the median of the medians of rounds.

    Samples of a round were taken together and share what disturbed it. So with six rounds or more the interval is that
    of their medians; with fewer it is that of all samples.
    """
    medians = [float(np.median(values)) for values in rounds if len(values)]
    samples = sum(map(len, rounds))
    found = median_interval(medians if len(medians) >= 6 else np.concatenate([*rounds, np.empty(0)]), confidence)
    value = float(np.median(medians))
    return Estimate(value, min(found.low, value), max(found.high, value), samples)


def bootstrap(
    statistic: Callable[[list[NDArray[np.float64]]], ArrayLike],
    series: Sequence[Sequence[NDArray[np.float64]]],
    *,
    repetitions: int = 200,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of percentile intervals of what follows from medians of several series.

    Whole rounds are drawn with replacement, as samples of a round are not independent (B. Efron, R. J. Tibshirani, "An
    introduction to the bootstrap", 1993); with fewer than three rounds, samples.

    Parameters
    ----------
    statistic : callable
        From one array per series, the medians of its drawn rounds, to numbers.
    series : sequence of sequences of arrays
        Rounds of each.
    """
    random = np.random.default_rng(seed)
    units = [_units(rounds) for rounds in series]
    drawn = [
        np.atleast_1d(np.asarray(statistic([u[random.integers(0, len(u), len(u))] for u in units]), np.float64))
        for _ in range(repetitions)
    ]
    low, middle, high = np.quantile(np.array(drawn), [(1 - confidence) / 2, 0.5, (1 + confidence) / 2], axis=0)
    wider = _wider(min((len(u) for u in units), default=2), confidence)
    return middle - wider * (middle - low), middle + wider * (high - middle)


def _wider(n: int, confidence: float) -> float:
    """How much wider than its percentiles an interval is that n draws with replacement cover.

    They spread as n does, not n - 1, and know nothing of Student's tails (T. C. Hesterberg, "What teachers should know
    about the bootstrap", The American Statistician 69, 2015); his quantile by the first terms of Cornish and Fisher.
    """
    if n < 3:
        return 1.0
    z, f = _normal(confidence), n - 1
    student = z + (z**3 + z) / (4 * f) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * f * f)
    return math.sqrt(n / f) * student / z


def _units(rounds: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    full = [values for values in rounds if len(values)]
    if len(full) >= 3:
        return np.array([np.median(values) for values in full])
    return np.concatenate(full)


def change_points(
    x: ArrayLike,
    curves: Sequence[ArrayLike],
    *,
    noise: Sequence[ArrayLike] | None = None,
    most: int = 6,
    fewest: int = 3,
) -> list[int]:
    """Return where curves over the same points change from one straight line to another.

    All divisions into at most ``most`` pieces of at least ``fewest`` points are compared by dynamic programming. In a
    piece every curve is a line of its own, by least squares relative to the noise of each point. The division with the
    least Bayesian information criterion wins: chi squared + k log(n), with 2 parameters a curve and a piece and one
    a change (J. Bai, P. Perron, "Computation and analysis of multiple structural change models", Journal of Applied
    Econometrics 18, 2003; G. Schwarz, "Estimating the dimension of a model", 1978).

    Parameters
    ----------
    x : array of float, shape (n,)
        Ascending.
    curves : sequence of arrays, shape (n,) each
        NaN where a curve is not known.
    noise : sequence of arrays, optional
        Standard deviation of every point; by default 1 % of its value. A piece of a real machine is no exact line, so a
        few per mille of the value are the least that makes sense.

    Returns
    -------
    list of int
        The first point of every piece but the first.

    Examples
    --------
    >>> x = np.arange(1.0, 21)
    >>> change_points(x, [np.where(x <= 10, x, 50 + 2 * x)])
    [10]
    """
    points = np.asarray(x, np.float64)
    n = len(points)
    given = [np.asarray(curve, np.float64) for curve in curves]
    deviations = [0.01 * np.abs(curve) for curve in given] if noise is None else [np.asarray(d) for d in noise]
    costs = sum((_line_costs(points, y, d) for y, d in zip(given, deviations, strict=True)), np.zeros((n, n + 1)))
    for i in range(n):
        costs[i, : min(i + fewest, n + 1)] = math.inf
    known = sum(int(np.isfinite(y).sum()) for y in given)
    best = np.full((most + 1, n + 1), math.inf)
    came = np.zeros((most + 1, n + 1), np.int64)
    best[0, 0] = 0
    for pieces in range(1, most + 1):
        whole = best[pieces - 1][:n, None] + costs
        came[pieces] = np.argmin(whole, axis=0)
        best[pieces] = np.min(whole, axis=0)
    penalty = (2 * len(given) + 1) * math.log(max(known, 2))
    if not np.isfinite(best[1:, n]).any():
        return []
    pieces = int(np.argmin(best[1:, n] + penalty * np.arange(1, most + 1))) + 1
    cuts, at = [], n
    while pieces:
        at = int(came[pieces, at])
        cuts.append(at)
        pieces -= 1
    return sorted(cuts)[1:]


def _line_costs(x: NDArray[np.float64], y: NDArray[np.float64], deviation: NDArray[np.float64]) -> NDArray[np.float64]:
    """Chi squared of the line through points i to j - 1, for all i and j."""
    n = len(x)
    known = np.isfinite(y) & (deviation > 0)
    w = np.zeros(n)
    w[known] = deviation[known] ** -2.0
    v = np.where(known, y, 0.0)
    costs = np.zeros((n, n + 1))
    for i in range(n):
        # Origin and unit at the first point: sums of squares of sizes over six orders of magnitude lose their digits.
        t = (x[i:] - x[i]) / max(x[i], 1.0)
        r = v[i:] - v[i]
        sw, st, sr = np.cumsum(w[i:]), np.cumsum(w[i:] * t), np.cumsum(w[i:] * r)
        stt, str_, srr = np.cumsum(w[i:] * t * t), np.cumsum(w[i:] * t * r), np.cumsum(w[i:] * r * r)
        with np.errstate(all="ignore"):
            mt, mr = st / sw, sr / sw
            vt, vr, c = stt - sw * mt * mt, srr - sw * mr * mr, str_ - sw * mt * mr
            left = np.where(vt > 1e-12 * stt, vr - c * c / vt, vr)
        costs[i, i + 1 :] = np.maximum(np.nan_to_num(left), 0.0)
    return costs
