"""Methods that look at nothing but the graph of tasks and the machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .. import _core
from .methods import method

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .problem import Problem

#: Proposals of a swap in a second of processor time, about, with those of coarser levels: where costs are sums over
#: coordinates, and elsewhere; for up to so many slots, and how fast it falls with more, which do not stay in caches.
_ON_GRIDS, _ELSEWHERE, _CACHED, _FALL = 12e6, 1.5e6, 4096, 0.9
#: Fewest and most proposals per slot that make sense.
_LEAST, _MOST = 20.0, 200_000.0
_THREADS = 2


def sweeps_in(problem: Problem, seconds: float) -> float:
    """Proposals per slot in so much processor time, about; the same on every computer."""
    topology = problem.job.machine.topology
    grid = topology.kind in ("torus", "mesh", "ring", "linear", "hypercube", "hyperx")
    slots = float(problem.capacity.sum())
    rate = (_ON_GRIDS if grid else _ELSEWHERE) * (_CACHED / min(max(slots, _CACHED), 4 * _CACHED)) ** _FALL
    return min(max(seconds * rate / slots, _LEAST), _MOST)


@method("bipartition", "tasks and nodes halved together, with the pull of what is placed already (Scotch's method)")
def _bipartition(problem: Problem, options: Mapping[str, Any]) -> NDArray[np.uint32]:
    return _core.map_dual_bipartition(problem.graph, problem.target, problem.seed)


@method("multilevel", "tasks and machine coarsened together, annealed on every level", seconds=10.0, starts=4)
def _multilevel(problem: Problem, options: Mapping[str, Any]) -> NDArray[np.uint32]:
    return _core.map_multilevel(
        problem.graph,
        problem.target,
        sweeps=sweeps_in(problem, float(options["seconds"])),
        starts=int(options["starts"]),
        threads=_THREADS,
        seed=problem.seed,
    )


def _start(problem: Problem, options: Mapping[str, Any]) -> NDArray[np.uint32]:
    """The map that a method begins with: the one given, or that of another method."""
    given = options["start"]
    if not isinstance(given, str):
        return problem.given(given)
    from .methods import find

    chosen, full = find(given, {})
    place = chosen.run(problem, full)
    return problem.given(_bipartition(problem, {}) if place is None else place)


@method(
    "anneal", "simulated annealing by swaps, from the map of another method",
    start="bipartition", seconds=10.0, hot=0.5, cold=0.08,
)  # fmt: skip
def _anneal(problem: Problem, options: Mapping[str, Any]) -> NDArray[np.uint32]:
    return _core.map_anneal(
        problem.graph,
        problem.target,
        _start(problem, options),
        sweeps=sweeps_in(problem, float(options["seconds"])),
        hot=float(options["hot"]),
        cold=float(options["cold"]),
        seed=problem.seed,
    )


@method("swap", "swaps that gain, until there are none, from the map of another method", start="bipartition")
def _swap(problem: Problem, options: Mapping[str, Any]) -> NDArray[np.uint32]:
    return _core.map_improve(problem.graph, problem.target, _start(problem, options), problem.seed)
