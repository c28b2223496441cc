"""The methods that ``method="auto"`` tries, and their order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .bounds import bounds
from .budget import (
    SEARCHING,
    seconds_of_annealing,
    seconds_of_geometric,
    seconds_of_halving,
    seconds_of_metrics,
    seconds_of_recognition,
    seconds_of_relief,
)
from .graphs import in_groups
from .selection import best_of

if TYPE_CHECKING:
    from .problem import Problem
    from .trial import Attempt, Trial

#: A structured map within this factor of the lower bound is kept: graph methods do not come near it.
_CLOSE = 1.1
#: Tasks up to which all structured methods are tried even if the first is close to the bound.
_SMALL = 4096
#: Hop-bytes that relief of the hottest links may cost: less than what counts as equal; where links decide, much more.
_RISE = {"hop_bytes": 0.004, "max_link": 0.05, "time": 0.004}
#: Part of the time for relief of links, at most.
_FOR_LINKS = 0.08
#: Bipartition is left out beyond this part of the time in which searches are counted; searches are where they have less
#: than that part left.
_OVER, _WORTH = 0.85 / SEARCHING, 0.05
#: Orders that jobs get without a map; "default", that of the allocation, is one of the others.
USUAL = ("default", "block", "cyclic")
#: Processor time of methods that take as long as they take.
_TAKES = {"geometric": seconds_of_geometric, "bipartition": seconds_of_halving}
#: Tasks for which relief of links is quick enough to be worth it.
_RELIEVED = 1 << 16


def portfolio(problem: Problem, attempt: Attempt, seconds: float, objective: str) -> None:
    """Tries what suits the problem within about so many seconds.

    The usual order first, so that nothing worse is ever returned; then what is made for regular patterns; then, unless
    that is close to what is possible, graph methods.
    """
    attempt("default")
    if problem.imbalance is None and problem.job.ranks_per_node > 1:
        attempt("cyclic" if problem.job.order == "block" else "block")
    if not len(problem.edges[0]):
        return
    if problem.imbalance is not None:
        if seconds > 0:
            # Moves of tasks take less than they are counted, bipartition included.
            attempt("balanced", seconds=max(round(0.9 * seconds / SEARCHING, 3), 0.001))
        return
    found: list[Trial] = []
    # The usual orders are counted in the budget; every other map has to be measured.
    each = SEARCHING * seconds_of_metrics(problem)
    left = seconds + each

    def tried(name: str, **options: Any) -> Trial | None:
        nonlocal left
        trial = attempt(name, **options)
        if trial is not None:
            found.append(trial)
            takes = SEARCHING * _TAKES[name](problem) if name in _TAKES else options.get("seconds", 0.0)
            left -= each + takes
        return trial

    # For a few tasks, all placements: among the best, one with little load on its hottest links.
    optimum = tried("exact")
    if optimum is not None and objective == "hop_bytes":
        tried("relieve", start=optimum.place, rise=0.0, seconds=round(_FOR_LINKS * seconds, 3))
        return
    close = False
    if problem.structure is not None:
        close = _regular(problem, tried, bounds(problem, spectral=False).hop_bytes)
    elif problem.coordinates is not None:
        tried("geometric")
    left -= SEARCHING * seconds_of_recognition(problem)
    grouped = in_groups(problem)
    relief = seconds_of_relief(problem)
    relieved = problem.tasks <= _RELIEVED and (objective == "max_link" or not close)
    for_links = _FOR_LINKS * seconds if relieved else 0.0
    if not close and left > each:
        start = tried("bipartition" if seconds_of_halving(problem) <= _OVER * left else "linear")
        left -= for_links + each * relieved
        # In groups hop-bytes are one thing, and links between groups another, which takes longer.
        searches = (("multilevel", 1 / 3), ("grouped", 2 / 3)) if grouped else (("multilevel", 1.0),)
        if start is None or start.method != "bipartition":
            searches = (("anneal", 1.0),)
        rest = left - each * (len(searches) - 1)
        if start is not None and rest > max(_WORTH * seconds, SEARCHING * seconds_of_annealing(problem)):
            for name, part in searches:
                tried(name, start=start.place, seconds=max(round(part * rest, 3), 0.001))
    if relieved and found:
        starts = [best_of(found, "hop_bytes", problem)]
        # From there the links between groups are not always to be cooled any more.
        starts += [t for t in found if t.method == "grouped" and t is not starts[0]]
        starts = starts[: max(int(for_links / relief), 1)]
        for start in starts if for_links > relief else ():
            tried("relieve", start=start.place, rise=_RISE[objective], seconds=round(for_links / len(starts), 3))


def _regular(problem: Problem, attempt: Attempt, least: float) -> bool:
    """Structured maps; is the best close to the bound?"""
    folded = attempt("fold")
    best = float("inf") if folded is None else folded.hop_bytes
    if best > _CLOSE * least or problem.tasks <= _SMALL:
        for name in ("regular", "geometric", "curve"):
            found = attempt(name)
            if found is not None:
                best = min(best, found.hop_bytes)
    return best <= _CLOSE * least
