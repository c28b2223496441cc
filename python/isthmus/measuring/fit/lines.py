"""Lines over a number of ranks, hops or waiting messages: what is paid always, and what for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..statistics import Estimate, bootstrap, of_rounds
from .least_squares import robust

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Measured values by what they were measured over: an array for each round.
Points = Mapping[float, Sequence["NDArray[np.float64]"]]
#: Deviations of points are at least this part.
LEAST = 0.002


@dataclass(frozen=True)
class Model:
    """Numbers that a curve follows.

    Attributes
    ----------
    formula : str
        With the names of the numbers.
    numbers : dict of str to Estimate
        In the unit of the curve.
    """

    formula: str
    numbers: dict[str, Estimate]


def fit_line(
    points: Points, names: tuple[str, str], formula: str, *, first: float = 0.0, seed: int = 0
) -> Model | None:
    """Fit ``a + b (x - first)``, nothing negative; None for fewer than two points.

    Outliers have little weight. Intervals are by bootstrap over rounds, and wider by as much as points lie farther from
    the line than their own intervals say: then the curve is no line.

    Parameters
    ----------
    points : mapping
    names : (str, str)
        What a and b are called.
    formula : str
    first : float
        Where a is the value.
    seed : int
    """
    at = sorted(x for x, rounds in points.items() if any(len(values) for values in rounds))
    if len(at) < 2:
        return None
    known = [of_rounds(points[x]) for x in at]
    values = np.array([one.value for one in known])
    sigma = np.array([max((p.high - p.low) / 3.92, LEAST * abs(p.value), 1e-15) for p in known])
    design = np.column_stack([np.ones(len(at)), np.array(at) - first])
    found, weights = robust(design, values, sigma)

    def solve(medians: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        drawn = np.array([float(np.median(m)) for m in medians])
        solution, _ = robust(design, drawn, 1 / weights, turns=1)
        return solution

    low, high = bootstrap(solve, [points[x] for x in at], seed=seed)
    free = len(at) - 2
    beside = np.abs(design @ found - values) / sigma
    wider = max(1.0, float(np.sqrt((np.minimum(beside, 30) ** 2).sum() / free))) if free else 1.0
    # Of values without scatter, the least deviation says how well they are known.
    own = 1.96 * np.sqrt(np.diag(np.linalg.pinv((design / sigma[:, None]).T @ (design / sigma[:, None]))))
    below = wider * np.maximum(found - low, own)
    above = wider * np.maximum(high - found, own)
    samples = sum(one.samples for one in known)
    numbers = {
        name: Estimate(float(x), max(float(x - down), 0.0), float(x + up), samples)
        for name, x, down, up in zip(names, found, below, above, strict=True)
    }
    return Model(formula, numbers)


def fit_limit(points: Points, names: tuple[str, str], formula: str, *, seed: int = 0) -> Model | None:
    """Fit ``min(x a, b)`` to what x do together: the max-rate model (W. Gropp, L. N. Olson, P. Samfass, "Modeling MPI
    communication performance on SMP nodes: is it time to retire the ping pong test", EuroMPI 2016).

    Without b where the last point is on the line still: the limit was not reached. None without points.
    """
    at = sorted(x for x, rounds in points.items() if x > 0 and any(len(values) for values in rounds))
    if not at:
        return None
    x = np.array(at)

    def solve(values: NDArray[np.float64]) -> NDArray[np.float64]:
        """a and b of the best place to change from one to the other; b is NaN where there is none."""
        best, found = np.inf, np.array([np.nan, np.nan])
        for cut in range(1, len(at) + 1):
            a = float(np.median(values[:cut] / x[:cut]))
            b = float(np.median(values[cut:])) if cut < len(at) else np.nan
            says = x * a if cut == len(at) else np.minimum(x * a, b)
            away = float(np.abs(says / values - 1).sum())
            # A limit has to be worth it.
            if (cut == len(at) or b < REACHED * x[-1] * a) and away < best - 1e-9:
                best, found = away, np.array([a, b])
        return found

    values = np.array([of_rounds(points[k]).value for k in at])
    a, b = solve(values)
    low, high = bootstrap(
        lambda medians: np.nan_to_num(solve(np.array([float(np.median(m)) for m in medians])), nan=float(values.max())),
        [points[k] for k in at],
        seed=seed,
    )
    samples = sum(len(values) for k in at for values in points[k])
    numbers = {
        name: Estimate(float(v), float(min(down, v)), float(max(up, v)), samples)
        for name, v, down, up in zip(names, (a, b), low, high, strict=True)
        if np.isfinite(v)
    }
    return Model(formula, numbers)


#: A limit was reached if it is below this part of what so many would do without it.
REACHED = 0.9
