"""What ``method="auto"`` tries, in which order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import _core
from .bounds import bounds
from .choice import best_of
from .graphs import in_groups

if TYPE_CHECKING:
    from .mapped import Trial
    from .problem import Problem

#: Part of the time in which searches are counted: a step has taken up to a third longer where others use the memory.
SEARCHING = 0.73
#: Runs a method with options and keeps the result; None where it does not apply.
Attempt = Callable[..., "Trial | None"]
#: A structured map within this factor of the lower bound is kept: graph methods do not come near it.
_CLOSE = 1.1
#: Tasks up to which all structured methods are tried even if the first is close to the bound.
_SMALL = 4096
#: Hop-bytes that relief of the hottest links may cost: less than what counts as equal; where links decide, much more.
_RISE = {"hop_bytes": 0.004, "max_link": 0.05, "time": 0.004}
#: Part of the time for relief of links, at most.
_FOR_LINKS = 0.08
#: A method is left out that takes more than this part of the time, and searches that have less than that part left.
_OVER, _WORTH = 1.2, 0.05
#: Orders that jobs get without a map; "default", that of the allocation, is one of the others.
USUAL = ("default", "block", "cyclic")
#: Tasks for which relief of links is quick enough to be worth it.
_RELIEVED = 1 << 16


def fixed_seconds(problem: Problem) -> float:
    """Processor time, about, of all that is no search: reading, recognition, metrics; on the computer of effort.hpp."""
    return 0.8e-6 * len(problem.pattern.peer) + (0.0 if problem.imbalance is not None else 40e-6 * problem.tasks)


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
        attempt("balanced", seconds=round(seconds, 3))
        return
    found: list[Trial] = []

    def tried(name: str, **options: Any) -> Trial | None:
        trial = attempt(name, **options)
        if trial is not None:
            found.append(trial)
        return trial

    # Of a few tasks all placements: of the best, one with little load on its hottest links.
    optimum = tried("exact")
    if optimum is not None and objective == "hop_bytes":
        tried("relieve", start=optimum.place, rise=0.0, seconds=round(_FOR_LINKS * seconds, 3))
        return
    close = False
    if problem.structure is not None:
        close = _regular(problem, tried, bounds(problem, spectral=False).hop_bytes)
    elif problem.coordinates is not None:
        tried("geometric")
    grouped = in_groups(problem)
    relieved = problem.tasks <= _RELIEVED and (objective == "max_link" or not close)
    for_links = _FOR_LINKS * seconds if relieved else 0.0
    if not close:
        halving = _core.seconds_of_bipartition(problem.graph, problem.target)
        if halving <= _OVER * seconds:
            tried("bipartition")
        left = seconds - for_links - halving
        # In groups hop-bytes are one thing, and links between groups another, which takes longer.
        searches = (("multilevel", 1 / 3), ("grouped", 2 / 3)) if grouped else (("multilevel", 1.0),)
        for name, part in searches if left > _WORTH * seconds else ():
            tried(name, seconds=max(round(part * left, 3), 0.001))
    if relieved and found:
        starts = [best_of(found, "hop_bytes", problem)]
        # From there the links between groups are not always to be cooled any more.
        starts += [t for t in found if t.method == "grouped" and t is not starts[0]]
        for start in starts:
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
