"""Noise of the operating system, from traces of quanta of fixed work or of fixed time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ... import units
from ..statistics import CONFIDENCE, Estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..samples import Series

#: Quanta up to the lower quartile were not interrupted; they scatter by what lies between these quantiles.
_QUIET, _SCATTER, _NORMAL = 0.25, (0.05, 0.25), 0.970
#: What takes longer by more than so many of their standard deviations, this part, and this long in s, was interrupted.
_SIGMAS, _LONGER, _LEAST = 6.0, 0.001, 1e-7
#: Interruptions whose distances vary less than this, relative to their mean, are periodic.
_REGULAR = 0.3
#: Fewest quanta of a trace, interruptions for a period, parts of traces that intervals come from.
_QUANTA, _SOME, _BLOCKS = 20, 10, 20
#: How rarely a peak of noise without periods is taken for a period; most periods that are named.
_FALSE, _PERIODS = 1e-4, 4
_BINS = 1 << 18


@dataclass(frozen=True)
class NoiseFit:
    """Noise that takes the same time from a core as was measured.

    Attributes
    ----------
    kind : str
        ``"periodic"`` or ``"exponential"``.
    period, duration : Estimate
        Mean time from one interruption to the next and mean length of one, seconds.
    periods : tuple of float
        Periods of the spectrum of interruptions, seconds, the strongest first; also where they are only a part of it.
    slowdown : Estimate
        Time that fixed work takes more, relative.
    interruptions : int
    quanta : int
    seconds : float
        Length of all traces.
    """

    kind: str
    period: Estimate
    duration: Estimate
    periods: tuple[float, ...]
    slowdown: Estimate
    interruptions: int
    quanta: int
    seconds: float

    @property
    def words(self) -> str:
        """What else is known, for a note."""
        found = ", ".join(units.text(period, "s", 3) for period in self.periods)
        return f"fixed work takes {units.percent(self.slowdown.value, 2)} longer; " + (
            f"periods found: {found}" if found else "no period was found"
        )


@dataclass(frozen=True)
class Trace:
    """Interruptions of one core.

    Attributes
    ----------
    begin, length : ndarray of float64
        Seconds.
    seconds : float
        Length of the trace.
    """

    begin: NDArray[np.float64]
    length: NDArray[np.float64]
    seconds: float

    @classmethod
    def of(cls, one: Series) -> Trace:
        """Fixed work (``kind=fwq``): times of quanta. Fixed time (``ftq``): work done in each, in seconds at best."""
        values = one.column()
        if one.parameters.get("kind") == "ftq":
            quantum = float(one.parameters["quantum"])
            begin, seconds = quantum * np.arange(len(values)), quantum * len(values)
            times = -values * quantum / float(np.quantile(values, 1 - _QUIET))
        else:
            begin, seconds, times = np.cumsum(values) - values, float(values.sum()), values
        least = float(np.quantile(times, _QUIET))
        low, high = np.quantile(times, _SCATTER)
        longer = times - least
        hit = longer > max(_SIGMAS * float(high - low) / _NORMAL, _LONGER * abs(least), _LEAST)
        return cls(np.asarray(begin[hit], np.float64), np.asarray(longer[hit], np.float64), seconds)


def fit_noise(series: Iterable[Series], *, repetitions: int = 400, seed: int = 0) -> NoiseFit | None:
    """Fit interruptions to traces of several cores; None where none were seen.

    Length and distance are means; where lengths scatter more than those of one source do, the length is that which
    gives the variance of the time lost as well, since rare long interruptions are what many ranks wait for. Their ratio
    is the part of the time that was lost, always. Intervals are by bootstrap over parts of the traces.

    Parameters
    ----------
    series : iterable of Series
        Of kind ``noise``; those of fixed work are fitted, or if there are none, those of fixed time. Periods are looked
        for in all.
    """
    every = [one for one in series if len(one) >= _QUANTA]
    fixed_work = [one for one in every if one.parameters.get("kind") != "ftq"]
    used = fixed_work or every
    traces = [Trace.of(one) for one in used]
    blocks = np.concatenate([_blocks(trace) for trace in traces]) if traces else np.zeros((0, 4))
    seconds, count, lost, _ = blocks.sum(axis=0)
    if not count or lost >= seconds:
        return None
    between = np.concatenate([np.diff(trace.begin) for trace in traces])
    heavy = _heavy(blocks.sum(axis=0))
    regular = not heavy and len(between) > _SOME and float(between.std()) < _REGULAR * float(between.mean())
    random = np.random.default_rng(seed)
    drawn = blocks[random.integers(0, len(blocks), (repetitions, len(blocks)))].sum(axis=1)
    numbers = _numbers(blocks.sum(axis=0)[None], heavy)[0]
    other = _numbers(drawn[drawn[:, 1] > 0], heavy)
    ends = np.quantile(other, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    period, duration, slowdown = (
        Estimate(value, min(low, value), max(high, value), int(count))
        for value, low, high in zip(numbers.tolist(), *ends.tolist(), strict=True)
    )
    found = [period for one in every for period in periods(Trace.of(one))]
    return NoiseFit(
        "periodic" if regular else "exponential", period, duration, _different(found), slowdown, int(count),
        sum(map(len, used)), float(seconds),
    )  # fmt: skip


def _blocks(trace: Trace) -> NDArray[np.float64]:
    """Seconds, number of interruptions, time lost, and sum of its squares, of each part of a trace."""
    at = np.minimum((trace.begin / trace.seconds * _BLOCKS).astype(np.int64), _BLOCKS - 1)
    sums = [np.bincount(at, weights, _BLOCKS) for weights in (None, trace.length, trace.length**2)]
    return np.column_stack([np.full(_BLOCKS, trace.seconds / _BLOCKS), *sums]).astype(np.float64)


def _heavy(sums: NDArray[np.float64]) -> bool:
    """Whether lengths scatter more than exponential ones, of which the mean square is twice the square of the mean."""
    _, count, lost, squares = sums.tolist()
    return bool(squares * count > 2 * lost * lost)


def _numbers(sums: NDArray[np.float64], heavy: bool) -> NDArray[np.float64]:
    """Period, duration and slowdown of sums, shape (n, 3)."""
    seconds, count, lost, squares = sums.T
    duration = squares / (2 * lost) if heavy else lost / count
    return np.column_stack([duration * seconds / lost, duration, lost / (seconds - lost)])


def periods(trace: Trace) -> list[float]:
    """Return the periods of the interruptions of a trace, the strongest first.

    Peaks of the periodogram of the time lost, above what the largest of that many ordinates of a spectrum without peaks
    is (exponentially distributed: J. D. Scargle, "Studies in astronomical time series analysis II", 1982); multiples of
    a frequency found are no periods of their own.
    """
    if len(trace.begin) < _SOME:
        return []
    gap = float(np.median(np.diff(trace.begin)))
    bins = int(min(_BINS, max(64, 16 * trace.seconds / max(gap, 1e-12))))
    at = np.minimum((trace.begin / trace.seconds * bins).astype(np.int64), bins - 1)
    # Long ones shall not hide frequent ones: what counts is when they come.
    signal = np.bincount(at, np.minimum(trace.length, 3 * np.median(trace.length)), bins)
    power = np.abs(np.fft.rfft(signal - signal.mean())[: bins // 2]) ** 2
    power[:_SOME] = 0  # a period is there several times
    if not power.any():
        return []
    noise = float(np.median(power[_SOME:])) / np.log(2)
    level = max(noise * np.log(len(power) / _FALSE), 0.05 * float(power.max()))
    found: list[float] = []
    peaks = np.flatnonzero(power > level)
    # The lowest of a row of multiples is the period.
    for k in peaks.tolist():
        near = power[max(k - 2, 0) : k + 3].max()
        multiple = any(abs(k / f - round(k / f)) < 2.5 / f + 0.005 for f in found)
        if power[k] == near and not multiple:
            found.append(float(k))
    found.sort(key=lambda f: -power[int(f)])
    return [trace.seconds / f for f in found[:_PERIODS]]


def _different(found: list[float]) -> tuple[float, ...]:
    """Periods of several cores, each once."""
    out: list[float] = []
    for period in found:
        if all(abs(period / other - 1) > 0.05 for other in out):
            out.append(period)
    return tuple(out[:_PERIODS])
