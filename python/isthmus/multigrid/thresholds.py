"""By which thresholds solvers gather coarse levels on fewer processes: rules and defaults of their code.

hypre's `hypre_BoomerAMGSetup` (seq_threshold), PETSc 3.17's `PCGAMGCreateLevel_GAMG` without repartitioning, MueLu's
`RepartitionHeuristicFactory`, and AMGCL's `partition::merge`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .hierarchy import Hierarchy

#: Rows of the largest coarsest level of hypre, by default.
_DIRECT = 9


def thresholds(hypre_threshold: int) -> dict[str, Callable[[Hierarchy], dict[int, int]]]:
    """Return the rule of each solver: for a hierarchy, levels and to how many processes they go."""
    return {
        f"hypre, {hypre_threshold} rows": lambda h: _first(h, hypre_threshold),
        "PETSc GAMG, 50 rows a process": _dividing,
        "MueLu, 800 rows a process": _per_process,
        "AMGCL, 10,000 rows a process": _shrinking,
    }


def _first(hierarchy: Hierarchy, rows: int) -> dict[int, int]:
    """The first coarse level with at most so many rows, to one process; hypre solves the last 9 rows directly."""
    for level, one in enumerate(hierarchy.levels):
        if level and one.matrix.active > 1 and int(one.matrix.rows.sum()) <= rows:
            return {level: 1} if int(one.matrix.rows.sum()) > _DIRECT else {}
    return {}


def _dividing(hierarchy: Hierarchy) -> dict[int, int]:
    """Processes with 50 rows each, of which the number divides that of all; one on the coarsest level.

    Of the divisors the one whose ratio to the wanted number is nearest to 1, the larger of two.
    """
    out: dict[int, int] = {}
    have = hierarchy.parts
    divisors = [n for n in range(have, 0, -1) if have % n == 0]
    for level, one in enumerate(hierarchy.levels[1:], start=1):
        last = level == len(hierarchy) - 1
        want = 1 if last else max((2 * int(one.matrix.rows.sum()) + 50) // 100, 1)
        if want < have:
            have = max(divisors, key=lambda n: min(n / want, want / n))
            if have < one.matrix.active:
                out[level] = have
    return out


def _per_process(hierarchy: Hierarchy) -> dict[int, int]:
    """From level 2 on, as few processes that each has 800 rows."""
    out: dict[int, int] = {}
    have = hierarchy.parts
    for level, one in enumerate(hierarchy.levels):
        have = min(have, one.matrix.active)
        want = max(int(one.matrix.rows.sum()) // 800, 1)
        if level >= 2 and want < have:
            out[level] = have = want
    return out


def _shrinking(hierarchy: Hierarchy) -> dict[int, int]:
    """Eight neighbouring processes become one where a process with rows has at most 10,000."""
    out: dict[int, int] = {}
    merged = 1
    for level, one in enumerate(hierarchy.levels[1:], start=1):
        held = _blocks(one.matrix.rows, merged)
        if len(held) > 1 and held.min() <= 10_000:
            merged *= 8
            count = len(_blocks(one.matrix.rows, merged))
            if count < len(held):
                out[level] = count
    return out


def _blocks(rows: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    """Rows of blocks of so many neighbouring parts, of those that have some."""
    sums = np.add.reduceat(rows, np.arange(0, len(rows), size))
    return sums[sums > 0]
