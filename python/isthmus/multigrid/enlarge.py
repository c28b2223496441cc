"""Hierarchies of problems that grow with the parts, from two that one process can compute."""

from __future__ import annotations

from math import log

from ..errors import InvalidInput
from .hierarchy import EXTRAPOLATED, LOCAL_LEVELS, GridLevel, Hierarchy
from .operators import Operator
from .outline import MOST, SUMS, made, outline

#: The fact of what an enlarged hierarchy comes from.
ENLARGED = "enlarged"
#: Rows of a part from which on a level is local: few of its messages go farther than to the next parts.
LOCAL = 50


def enlarged(small: Hierarchy, cut: Hierarchy) -> Hierarchy:
    """Return a hierarchy on the parts of ``cut`` whose problem has as many rows a part as that of ``small``.

    One process cannot hold the problem of thousands of parts, but what a part sees of it. On fine levels a part has
    rows enough that it exchanges with the parts around it only: there the numbers of a part are those of ``small``, and
    sums grow with the parts. On coarse levels a part has a few rows, and how many others it exchanges with depends on
    how many there are: these levels are those of ``cut``, a problem of any size on the right number of parts, from the
    one on whose number of rows coarsening arrives. Matrices on coarse levels look alike, however many levels are above.

    Parameters
    ----------
    small : Hierarchy
        A problem on few parts, at least 27, so that one of them has others all around it.
    cut : Hierarchy
        A problem of the same kind and solver on more parts.

    Returns
    -------
    Hierarchy
        On its fine levels who sends to whom is made up, on the others it is as in ``cut``. Its fact ``enlarged`` tells
        how many levels are of which.

    Raises
    ------
    InvalidInput
        If ``cut`` has fewer parts, one of them is extrapolated, or no level of ``cut`` has as few rows of a part as the
        first coarse level of ``small``.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from isthmus.multigrid import boxes, hierarchy
    >>> def line(n):
    ...     A = sp.csr_array(np.eye(n) * 2 - np.eye(n, k=1) - np.eye(n, k=-1))
    ...     return A, sp.csr_array((np.ones(n), (np.arange(n), np.arange(n) // 4)))
    >>> def on(parts):
    ...     return hierarchy([line(1600), line(400), line(100), line(25)[0]], boxes((1600,), parts))
    >>> found = enlarged(on(8), on(200))
    >>> [int(level.matrix.rows.sum()) for level in found.levels]
    [40000, 10000, 1600, 400, 100, 25]
    """
    if cut.parts <= small.parts:
        raise InvalidInput(f"a problem on {small.parts} parts enlarged to {cut.parts}: must be more")
    for one in (small, cut):
        if EXTRAPOLATED in one.facts or ENLARGED in one.facts:
            raise InvalidInput("an extrapolated or enlarged hierarchy cannot be enlarged")
    each = [int(level.matrix.rows.sum()) / small.parts for level in small.levels]
    fine = next((number for number, rows in enumerate(each) if rows < LOCAL), len(small))
    if fine == 0:
        raise InvalidInput(f"{each[0]:.3g} rows a part: must be {LOCAL} or more on the finest level")
    if fine == len(small):
        raise InvalidInput(f"the coarsest level has {each[-1]:.3g} rows a part: must be below {LOCAL}")
    others = [int(level.matrix.rows.sum()) / cut.parts for level in cut.levels]
    # Of the levels of `cut` the one that is nearest to where coarsening arrives.
    arrives = min(range(len(others)), key=lambda number: abs(log(others[number] / each[fine])))
    if others[arrives] > 3 * each[fine]:
        raise InvalidInput(
            f"no level of the problem on {cut.parts} parts has about {each[fine]:.3g} rows a part, as level {fine}"
        )
    levels = [_grown(level, cut.parts) for level in small.levels[:fine]]
    return Hierarchy(
        (*levels, *cut.levels[arrives:]),
        {
            **cut.facts,
            LOCAL_LEVELS: float(fine),
            ENLARGED: f"levels 0 to {fine - 1} as on {small.parts} parts, {len(cut) - arrives} coarser ones as they "
            f"are on {cut.parts}",
        },
    )


def _grown(level: GridLevel, parts: int) -> GridLevel:
    p, r = level.interpolation, level.own_restriction
    return GridLevel(
        _operator(level.matrix, parts),
        None if p is None else _operator(p, parts),
        None if r is None else _operator(r, parts),
    )


def _operator(operator: Operator, parts: int) -> Operator:
    numbers = outline(operator)
    for name in SUMS:
        numbers[name] = round(numbers[name] * parts / operator.parts)
    assert all(name in numbers for name in MOST)
    return made(numbers, parts)
