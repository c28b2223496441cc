"""Mean contents of boxes that are not cut exactly: particles that have moved, and borders that fall on points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from .charts import Grid
from .formulas import Formula, Product

#: Thickness of layers on both sides together that is tried, in sides of the whole box.
_THICKNESS = np.concatenate([[0.0], np.geomspace(1e-3, 2, 500)])
#: Relative error of a mean, at most.
_ERROR = 0.08
#: Layers are taken only if they make the error smaller by this factor.
_BETTER = 1.5


def mean(
    runs: Sequence[Mapping[str, int]], means: Sequence[float], grid: Grid, step: Sequence[int] = ()
) -> Formula | None:
    """The mean content of a box of each run as a formula of the sides of a grid, None if there is none.

    A box is a product of parts of sides, ``1 / x``, and parts with layers beside them, ``1 / x + thickness``, the same
    thickness everywhere.

    Parameters
    ----------
    runs : sequence of mapping
        Variables of each run, see :func:`.formulas.variables`.
    means : sequence of float
    grid : Grid
    step : sequence of int, optional
        The step to the peer: sides along it are not cut.
    """
    if len(runs) < 3 or min(means) <= 0:
        return None
    sides = np.array([grid.sides(run["P"]) for run in runs], float)
    logs = np.log(np.array(means, float))
    free = [axis for axis in range(len(grid.order)) if not (step and step[axis])]
    best: tuple[float, int, tuple[int, ...], float] | None = None
    for kinds in product((1, 2, 0), repeat=len(free)):
        layered = kinds.count(2)
        if not any(kinds):
            continue
        thickness = _THICKNESS[1:] if layered else _THICKNESS[:1]
        box = np.zeros((len(thickness), len(runs)))
        for axis, kind in zip(free, kinds, strict=True):
            if kind:
                box += np.log(1 / sides[:, axis] + (thickness[:, None] if kind == 2 else 0))
        off = logs - box
        errors = np.abs(off - off.mean(1, keepdims=True)).max(1)
        at = int(np.argmin(errors))
        error = float(errors[at])
        if best is None or (error * _BETTER < best[0] if layered > best[1] else error < best[0] * 0.99):
            best = error, layered, kinds, float(thickness[at])
    if best is None or best[0] > _ERROR:
        return None
    error, _, kinds, layer = best
    used = [(axis, kind) for axis, kind in zip(free, kinds, strict=True) if kind]
    cut = sum(np.log(1 / sides[:, axis] + (layer if kind == 2 else 0)) for axis, kind in used)
    factor = float(np.exp((logs - cut).mean()))
    terms: dict[tuple[int, ...], float] = {(): factor}
    for axis, kind in used:
        grown = {(*axes, axis): coefficient for axes, coefficient in terms.items()}
        terms = grown | ({axes: coefficient * layer for axes, coefficient in terms.items()} if kind == 2 else {})
    count = len(grid.order)
    return Formula(
        tuple(
            (coefficient, Product(tuple((f"{'xyzw'[grid.order[axis]]}{count}", Fraction(-1)) for axis in axes)))
            for axes, coefficient in terms.items()
        ),
        "fitted",
        error=error,
    )
