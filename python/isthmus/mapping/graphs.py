"""Methods that use only the graph of tasks and the machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from .methods import method

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .problem import Problem

_THREADS = 2
#: Places up to which TopoLB has its table.
_TABLE = 8192
#: Seconds a task beyond which more proposals change nothing: about 200,000 of them.
_PER_TASK = 1 / 60
#: Tasks up to which all maps may be compared, and looks at a place that this may take: about a second.
_EXACT, _LOOKS = 12, 300_000_000
_FEW = f"up to {_TABLE:,} nodes"
_GROUPS = "dragonflies"
_SHARED = "tasks that share cores: balance or tasks_per_node"


def granted(problem: Problem, options: Mapping[str, Any]) -> float:
    """The budget of a search: what is asked, or as long as it may gain something; 0 of what is none."""
    return min(float(options.get("seconds", 0.0)), problem.tasks * _PER_TASK)


@method("exact", "the fewest hop-bytes of all placements, by branch and bound", f"up to {_EXACT} tasks on few nodes")
def _exact(problem: Problem, options: Mapping[str, Any]) -> NDArray[np.uint32] | None:
    if problem.tasks > _EXACT or problem.imbalance is not None:
        return None
    return _core.map_exact(problem.graph, problem.target, _LOOKS, problem.sent())


@method("breadth-first", "tasks breadth first, each near to the one that found it (BFT of Bhatele's framework)")
def _breadth_first(problem: Problem, options: Mapping[str, Any]) -> NDArray[np.uint32]:
    return _core.map_breadth_first(problem.graph, problem.target, problem.seed)


@method("max-heap", "always the task with most bytes to those placed, near its partners (MHT of Bhatele's framework)")
def _max_heap(problem: Problem, options: Mapping[str, Any]) -> NDArray[np.uint32]:
    return _core.map_max_heap(problem.graph, problem.target, problem.seed)


@method("topolb", "TopoLB: always the task that has most to lose, at its best place", _FEW)
def _topo_lb(problem: Problem, options: Mapping[str, Any]) -> NDArray[np.uint32] | None:
    return _core.map_topo_lb(problem.graph, problem.target, problem.seed) if problem.places <= _TABLE else None


@method("topocentlb", "TopoCentLB: always the task with most bytes to those placed, at its best place")
def _topo_cent_lb(problem: Problem, options: Mapping[str, Any]) -> NDArray[np.uint32]:
    return _core.map_topo_cent_lb(problem.graph, problem.target, problem.seed)


@method("bipartition", "tasks and nodes halved together, with the pull of what is placed already (Scotch's method)")
def _bipartition(problem: Problem, options: Mapping[str, Any]) -> NDArray[np.uint32]:
    return _core.map_dual_bipartition(problem.graph, problem.target, problem.seed)


@method("linear", "tasks breadth first along a curve through the nodes: for want of time")
def _linear(problem: Problem, options: Mapping[str, Any]) -> NDArray[np.uint32]:
    return _core.map_linear(problem.graph, problem.target)


@method(
    "multilevel", "tasks and machine coarsened together, annealed on every level",
    start="bipartition", seconds=10.0, starts=3,
)  # fmt: skip
def _multilevel(problem: Problem, options: Mapping[str, Any]) -> NDArray[np.uint32]:
    return _core.map_multilevel(
        problem.graph,
        problem.target,
        seconds=granted(problem, options),
        starts=int(options["starts"]),
        threads=_THREADS,
        seed=problem.seed,
        start=_made(problem, options),
    )


def _made(problem: Problem, options: Mapping[str, Any]) -> NDArray[np.uint32] | None:
    """The map that a search begins with instead of a bipartition of its own."""
    given = options["start"]
    return None if isinstance(given, str) and given == "bipartition" else _start(problem, options)


def _start(problem: Problem, options: Mapping[str, Any]) -> NDArray[np.uint32]:
    """The map that a method begins with: the one given, or that of another method."""
    given = options["start"]
    if not isinstance(given, str):
        return problem.given(given)
    from .methods import find

    chosen, full = find(given, {})
    place = chosen.run(problem, full)
    if place is None:
        place = _core.map_dual_bipartition(problem.graph, problem.target, problem.seed)
    return problem.given(place)


@method(
    "anneal", "simulated annealing by swaps, from the map of another method",
    start="bipartition", seconds=10.0, hot=0.5, cold=0.08,
)  # fmt: skip
def _anneal(problem: Problem, options: Mapping[str, Any]) -> NDArray[np.uint32]:
    return _core.map_anneal(
        problem.graph,
        problem.target,
        _start(problem, options),
        seconds=granted(problem, options),
        hot=float(options["hot"]),
        cold=float(options["cold"]),
        seed=problem.seed,
    )


@method("swap", "swaps that gain, until there are none, from the map of another method", start="bipartition")
def _swap(problem: Problem, options: Mapping[str, Any]) -> NDArray[np.uint32]:
    return _core.map_improve(problem.graph, problem.target, _start(problem, options), problem.seed)


@method(
    "relieve", "swaps that take load from the hottest links under the real routes, from the map of another method",
    start="bipartition", rise=0.01, trials=50.0, seconds=10.0, until=0.0,
)  # fmt: skip
def _relieve(problem: Problem, options: Mapping[str, Any]) -> NDArray[np.uint32]:
    return _core.map_relieve(
        problem.graph,
        problem.target,
        _start(problem, options),
        rise=float(options["rise"]),
        trials=float(options["trials"]),
        seconds=granted(problem, options),
        seed=problem.seed,
        until=float(options["until"]),
    )


def in_groups(problem: Problem) -> bool:
    """Return whether the network has groups whose links to each other are the bottleneck."""
    return problem.job.machine.topology.kind == "dragonfly"


@method(
    "grouped",
    "few hops, and no pair of groups that carries much more than others",
    _GROUPS,
    start="bipartition",
    seconds=10.0,
    limit=2.4,
)
def _grouped(problem: Problem, options: Mapping[str, Any]) -> NDArray[np.uint32] | None:
    if not in_groups(problem):
        return None
    seconds = granted(problem, options)
    start = _made(problem, options)
    return _core.map_grouped(problem.graph, problem.target, seconds, float(options["limit"]), problem.seed, start)


@method("balanced", "more tasks than nodes: partitioned and placed together", _SHARED, seconds=30.0, limit=2.4)
def _balanced(problem: Problem, options: Mapping[str, Any]) -> NDArray[np.uint32] | None:
    if problem.imbalance is None:
        return None
    # Capacities are numbers of tasks: they do not count where loads differ.
    loaded = bool(problem.pattern.load.any())
    return _core.map_balanced(
        problem.graph,
        _core.Target(problem.job.machine.topology, problem.job.nodes) if loaded else problem.target,
        imbalance=max(problem.imbalance, 0.0),
        seconds=granted(problem, options),
        group_limit=float(options["limit"]),
        speed=problem.speeds,
        threads=_THREADS,
        seed=problem.seed,
    )
