"""LogGOPS parameters of a level, with pieces, from measurements between two of its ranks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ... import units
from ...machine import Level, Piece
from ..statistics import bootstrap, change_points
from .curves import CURVES, Curves, curves_of
from .piece import NAMES, PieceFit, fit_piece, line, predict

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..samples import Samples

METHOD = (
    "half round trips, times in calls, distances of messages in streams; nonnegative least squares with Huber's "
    "weights in pieces by the Bayesian information criterion; intervals by bootstrap over rounds"
)
#: A number is taken as known if half of its interval is at most this part of it.
KNOWN = 0.03
#: No clock tells these from 0, in s and s/B.
TINY, TINY_RATE = 1e-11, 1e-15
TIMES = ("L", "o_send", "o_recv", "g")
#: Deviations of measurements from straight lines that nobody would call a change.
LEAST = 0.003
#: An item is an outlier beyond so many times the typical deviation from the fit, and this part of its value.
FAR, FAR_PART = 5.0, 0.1
#: A point that is above, or below, both neighbours by more than this (of the logarithm) is no change of a curve.
SPIKE = 0.2


@dataclass(frozen=True)
class Parameter:
    """One fitted number.

    Attributes
    ----------
    path : str
        Such as ``"L"`` or ``"pieces.0.G"``.
    value, low, high : float
        SI; the interval covers 95 %.
    identified : bool
        Whether the measurements determine it, by the rank of their design, and its interval is narrow.
    note : str
        What is known where it is not identified.
    samples : int
    determined : bool
        Whether the measurements determine it, however wide its interval is.
    bounded : bool
        It is not determined, but whatever it is up to ``high``, something else takes longer and nothing changes.
    """

    path: str
    value: float
    low: float
    high: float
    identified: bool
    note: str = ""
    samples: int = 0
    determined: bool = True
    bounded: bool = False


@dataclass(frozen=True)
class LevelFit:
    """What was fitted to the measurements of a level.

    Attributes
    ----------
    level : Level
        With pieces; a parameter that is not identified has a value with which the others predict what was measured.
    parameters : dict of str to Parameter
    changes : list of (int, int)
        Between which sizes in bytes each piece begins: the last that only the piece below says, the first that only
        this one says.
    outliers : list of str
        Items that lie far from what the parameters predict.
    misfit : float
        Median deviation of half round trips from the fit, relative.
    method : str
    """

    level: Level
    parameters: dict[str, Parameter]
    changes: list[tuple[int, int]]
    outliers: list[str]
    misfit: float
    method: str = METHOD
    curves: Curves | None = field(default=None, repr=False, compare=False)

    @property
    def unidentified(self) -> list[Parameter]:
        """Parameters that the measurements do not tell, each with what is known."""
        return [p for p in self.parameters.values() if not p.identified]

    def __str__(self) -> str:
        lines = []
        for p in self.parameters.values():
            unit = "s" if p.path.rpartition(".")[2] in TIMES else "s/B"
            unit = "B" if p.path == "S" or p.path.endswith("above") else unit
            low, high = units.text(p.low, unit, 3), units.text(p.high, unit, 3)
            words = f"{low} to {high}" if p.identified else p.note
            lines.append(f"{p.path:18} {units.text(p.value, unit, 4):>12}  {words}")
        if self.outliers:
            lines.append(f"far from the fit: {', '.join(self.outliers)}")
        return "\n".join(lines)


def fit_level(
    samples: Samples,
    pairs: Iterable[tuple[int, int]],
    *,
    most_pieces: int = 6,
    repetitions: int = 200,
    seed: int = 0,
) -> LevelFit:
    """Fit LogGOPS parameters to measurements between pairs of ranks of one level.

    Used are the kinds ``pingpong``, ``sendcall``, ``isendcall``, ``receivecall``, ``prtt``, ``window`` and
    ``threshold``, as far as they are there; at least ``pingpong`` of two sizes. Nothing is ever negative. Where a
    number does not follow from what was measured, :attr:`LevelFit.parameters` says so and says what does.

    Parameters
    ----------
    samples : Samples
    pairs : iterable of (int, int)
        Ranks between which was measured.
    most_pieces : int
    repetitions : int
        Of the bootstrap.
    seed : int

    Raises
    ------
    InvalidInput
        If there are no ping-pongs of two sizes.
    """
    found = curves_of(samples, pairs)
    sizes = found.sizes
    bounds = _divide(found, sizes, most_pieces)
    begins = [0.0] + [_above(found, sizes, below, beyond) for below, beyond in pairwise(bounds)]
    fits = [fit_piece(found, sizes[a:b], above=above) for (a, b), above in zip(bounds, begins, strict=True)]
    parameters: dict[str, Parameter] = {}
    pieces: list[Piece] = []
    changes: list[tuple[int, int]] = []
    for i, ((a, _), above, fit) in enumerate(zip(bounds, begins, fits, strict=True)):
        if i:
            changes.append(_between(found, sizes, a, fits[i - 1], fit))
            path = f"pieces.{i - 1}."
            last, first = changes[-1]
            parameters[f"{path}above"] = Parameter(f"{path}above", above, float(last), float(first), True)
        else:
            path = ""
        pieces.append(Piece(above=above, after=fit.after, **fit.values))
        low, high = _intervals(found, fit, repetitions, seed + i)
        for name in NAMES:
            parameters[path + name] = _parameter(path + name, name, fit, low, high)
    own = {name: getattr(pieces[0], name) for name in NAMES}
    eager = Level().S
    if found.eager is not None:
        eager = found.eager.value
        parameters["S"] = Parameter("S", eager, found.eager.low, found.eager.high, True, samples=found.eager.samples)
    level = Level(**own, S=eager, pieces=tuple(pieces[1:]))
    trips = np.concatenate([fit.residuals("trip") for fit in fits])
    return LevelFit(
        level, parameters, changes, _outliers(fits), float(np.median(np.abs(trips))) if len(trips) else 0.0,
        curves=found,
    )  # fmt: skip


def _divide(found: Curves, sizes: NDArray[np.int64], most: int) -> list[tuple[int, int]]:
    """First and last point of every piece: changes of the curves that are lines."""
    names = [name for name in ("trip", "send", "receive") if found.curves[name].points]
    values = [_without_spikes(sizes, found.curves[name].at(sizes)) for name in names]
    hidden = np.isin(sizes, list(found.hidden))
    if not hidden.all():
        values[0] = np.where(hidden, np.nan, values[0])
    noise = [found.curves[name].deviation(sizes, LEAST) for name in names]
    cuts = change_points(sizes.astype(np.float64), values, noise=noise, most=most)
    ends = [0, *cuts, len(sizes)]
    return list(pairwise(ends))


def _without_spikes(sizes: NDArray[np.int64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Without points that stand out from both neighbours, as no protocol makes them; the fit will name them."""
    known = np.flatnonzero(np.isfinite(y) & (y > 0))
    if len(known) < 5:
        return y
    x, z = np.log(sizes[known].astype(np.float64)), np.log(y[known])
    out = y.copy()
    for i in range(2, len(known) - 2):
        lower, upper = z[i] - z[i - 1], z[i] - z[i + 1]
        # Where a protocol is faster than the one below, its neighbours are on lines of their own.
        ahead = z[i - 1] + (z[i - 1] - z[i - 2]) * (x[i + 1] - x[i - 1]) / (x[i - 1] - x[i - 2])
        back = z[i + 1] - (z[i + 2] - z[i + 1]) * (x[i + 1] - x[i - 1]) / (x[i + 2] - x[i + 1])
        goes_on = abs(ahead - z[i + 1]) < SPIKE and abs(back - z[i - 1]) < SPIKE
        if lower * upper > 0 and min(abs(lower), abs(upper)) > SPIKE and goes_on:
            out[known[i]] = np.nan
    return out


def _above(found: Curves, sizes: NDArray[np.int64], below: tuple[int, int], beyond: tuple[int, int]) -> float:
    """Where a piece begins, between the last size below and the first above: at S if that is there, or where the lines
    of half round trips meet; else they jump, and the first size above the last is beyond."""
    last, first = int(sizes[below[1] - 1]), int(sizes[beyond[0]])
    if found.eager is not None and last <= found.eager.value < first:
        return float(found.eager.value)
    trip = found.curves["trip"].at(sizes)
    lower, upper = (line(sizes[a:b], trip[a:b]) for a, b in (below, beyond))
    if lower is None or upper is None or upper[0] <= lower[0]:
        return float(last)
    meet = (lower[1] - upper[1]) / (upper[0] - lower[0])
    return float(np.floor(meet)) if last < meet < first else float(last)


def _between(found: Curves, sizes: NDArray[np.int64], cut: int, below: PieceFit, beyond: PieceFit) -> tuple[int, int]:
    """Between which sizes a piece begins: beyond points that either of two pieces says as well, where their lines
    cross."""
    names = [name for name in ("trip", "send", "receive") if found.curves[name].points]

    def says(fit: PieceFit, at: int) -> bool:
        size = sizes[at : at + 1]
        for name in names:
            value, deviation = (
                float(found.curves[name].at(size)[0]),
                float(found.curves[name].deviation(size, LEAST)[0]),
            )
            if np.isfinite(value) and abs(predict(fit.values, fit.after, name, int(size[0])) - value) > 3 * deviation:
                return False
        return True

    last, first = cut - 1, cut
    while first + 1 < len(sizes) and says(below, first):
        first += 1
    while last > 0 and says(beyond, last):
        last -= 1
    return int(sizes[last]), int(sizes[first])


def _intervals(
    found: Curves, fit: PieceFit, repetitions: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ends of the intervals of the parameters of a piece: rows and weights stay, medians are drawn again."""
    series = [found.curves[curve].rounds[size] for curve, size in fit.rows]
    return bootstrap(
        lambda medians: fit.solve(np.array([float(np.median(m)) for m in medians])), series,
        repetitions=repetitions, seed=seed,
    )  # fmt: skip


def _parameter(path: str, name: str, fit: PieceFit, lows: NDArray[np.float64], highs: NDArray[np.float64]) -> Parameter:
    at = NAMES.index(name)
    value = fit.values[name]
    # By resampling about the estimate an end may fall below 0, where no parameter is.
    low, high = max(min(float(lows[at]), value), 0.0), max(float(highs[at]), value)
    samples = fit.samples
    if not fit.determined[name]:
        bound = fit.bounds.get(name)
        note = fit.notes.get(name, "")
        low, high = (0.0, bound) if bound is not None else (0.0, max(high, value))
        note = note or "does not follow from what was measured"
        return Parameter(path, value, low, max(high, value), False, note, determined=False, bounded=name in fit.bounded)
    unit = "s" if name in TIMES else "s/B"
    words = f"not known better than {units.text(low, unit, 3)} to {units.text(high, unit, 3)}"
    if value < (TINY if name in TIMES else TINY_RATE):
        alike = [fit.values[other] for other in NAMES if (other in TIMES) == (name in TIMES)]
        if high > KNOWN * max(alike):  # a bound of 0 was met by chance, and 0 is no measured number
            return Parameter(path, value, 0.0, high, False, words, samples, determined=False)
        return Parameter(path, value, 0.0, high, False, "too small to be told from 0", samples)
    if (high - low) / 2 > KNOWN * value:
        return Parameter(path, value, low, high, False, words, samples)
    return Parameter(path, value, low, high, True, samples=samples)


def _outliers(fits: list[PieceFit]) -> list[str]:
    named: list[str] = []
    spoilt: set[int] = set()
    for curve in CURVES:
        parts = [fit.residuals(curve) for fit in fits]
        every = np.concatenate(parts)
        if not len(every):
            continue
        scale = 1.4826 * float(np.median(np.abs(every)))
        for fit, part in zip(fits, parts, strict=True):
            items = fit.items(curve)
            far = (np.abs(part) > FAR * scale) & (np.abs(part) > FAR_PART)
            for i in np.flatnonzero(far).tolist():
                size = fit.sizes[curve][i]
                spoilt |= {size} if curve == "trip" else set()
                # Distances in streams follow from half a round trip, which may be what is wrong.
                if curve != "apart" or size not in spoilt:
                    named.append(items[i])
    return named
