"""Which levels to gather, by dynamic programming over all levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf

import numpy as np

from .hierarchy import Hierarchy


def best_switches(
    hierarchy: Hierarchy,
    counts: Sequence[int],
    gathered: Callable[[int], Hierarchy],
    seconds: Callable[[Hierarchy], np.ndarray],
    switch: Callable[[Hierarchy, int, int], float],
    allowed: Callable[[Hierarchy, int], bool],
) -> Mapping[int, int]:
    """Return the switches with the least sum of seconds of levels and of collectives.

    What a level costs depends only on the number of parts that it is on, and a switch on the numbers before and after
    it: the best way to be on ``n`` parts on a level continues the best way to one of the numbers above. Exact where
    gathering in two steps joins the same parts as gathering in one.

    Parameters
    ----------
    hierarchy : Hierarchy
    counts : sequence of int
        Numbers of parts to look at.
    gathered : callable
        All coarse levels on so many parts.
    seconds : callable
        Seconds of each level of a hierarchy.
    switch : callable
        Seconds of the collectives of a switch: of the hierarchy above it, on a level, to a number of parts.
    allowed : callable
        May a level be gathered as it is in that hierarchy?

    Returns
    -------
    mapping from int to int
        Level to number of parts.
    """
    # 0 stands for the hierarchy as it is.
    ways = {0: hierarchy, **{count: gathered(count) for count in counts}}
    cost = {count: seconds(way) for count, way in ways.items()}
    best: dict[int, tuple[float, dict[int, int]]] = {0: (float(cost[0][0]), {})}
    for level in range(1, len(hierarchy)):
        now: dict[int, tuple[float, dict[int, int]]] = {}
        for count, way in ways.items():
            least, taken = best.get(count, (inf, {}))
            for before, (spent, switches) in best.items():
                above = ways[before]
                if count and before != count and above.levels[level].matrix.active > count and allowed(way, level):
                    after = spent + switch(above, level, count)
                    if after < least:
                        least, taken = after, {**switches, level: count}
            if least < inf:
                now[count] = least + float(cost[count][level]), taken
        best = now
    return min(best.values(), key=lambda found: found[0])[1]
