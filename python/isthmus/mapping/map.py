"""The verb ``map``: placements in which ranks that exchange much sit close together."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InvalidInput
from ..lowering.rules import Collectives
from ..machine.allocation import Allocation
from ..machine.machine import Machine
from ..machine.placement import job_of
from ..schedule.pattern import Pattern
from ..schedule.program import Program
from ..schedule.schedule import Schedule
from ..units import shown
from .budget import Budget
from .clock import Clock
from .mapped import Mapped
from .methods import find
from .metrics import Metrics, metrics_of, pattern_of, require_symmetric
from .portfolio import USUAL
from .problem import Problem
from .search import Search
from .selection import OBJECTIVES
from .sockets import placement_of


def map(
    what: Pattern | Program | Schedule,
    where: Machine | Allocation | str,
    *,
    method: str | tuple[str, Mapping[str, int | float | str]] = "auto",
    seconds: float = 10.0,
    seed: int = 0,
    objective: str | None = None,
    balance: float | None = None,
    tasks_per_node: int | None = None,
    speeds: ArrayLike | None = None,
    coordinates: ArrayLike | None = None,
    undirected: bool = False,
    collectives: Collectives | None = None,
    model: str | None = "flow",
) -> Mapped:
    """Map ranks to nodes so that ranks that exchange much data sit close together.

    Parameters
    ----------
    what : Pattern, Program or Schedule
        Communication to map; for a program, see :func:`isthmus.pattern`.
    where : Machine, Allocation or str
        The nodes of a job, each with its number of ranks. For a machine (or whatever :func:`isthmus.load` accepts), its
        first nodes with one rank per core.
    method : str or (str, mapping)
        "auto": look for a regular pattern, run several methods and keep the best. Otherwise the name of a method listed
        by ``isthmus map --list``, optionally with options.
    seconds : float
        Approximate processor time for the methods. It is converted to a number of steps, so that results do not depend
        on the speed of the computer.
    seed : int
        Seed of the methods: the same seed gives the same placement.
    objective : str, optional
        Objective to minimise. "hop_bytes": hop-bytes and, among placements within 0.5 %, the most congested link (for a
        few tasks: only the minimum of hop-bytes, see method "exact"; on dragonflies half the load is worth 3.5 %);
        "max_link": the most congested link, then hop-bytes; "time": the simulated time of a program or schedule. By
        default "time" if it can be simulated within ``seconds``. Otherwise hop-bytes, provided that the most congested
        link is no worse than in the order of the allocation and, if there is time to check, that no program is slower
        without contention.
    balance : float, optional
        Let tasks share cores: a node gets at most this share more than its part of the work (0.03: 3 %, rounded up).
        The work is the pattern's load, or 1 per task. By default at most one rank per core.
    tasks_per_node : int, optional
        Let tasks share cores, with at most this number of tasks on a node.
    speeds : array of float, shape (places,), optional
        Relative speeds of the nodes of the job, in proportion to which work is shared; needs ``balance``.
    coordinates : array of float, shape (ranks, dimensions), optional
        Coordinates of ranks in the space of the program, for geometric methods.
    undirected : bool
        As for :func:`isthmus.evaluate`.
    collectives : mapping, optional
        As for :func:`isthmus.pattern`.
    model : str or None
        Network model to simulate a program or schedule with, see :func:`isthmus.simulate`; None: no simulations.

    Returns
    -------
    Mapped
        The placement, its metrics beside those of the usual orders and lower bounds, and all trials.

    Raises
    ------
    InvalidInput
        If ranks do not fit, nodes have no route to each other, or an argument is out of range.

    Examples
    --------
    >>> import isthmus
    >>> rank = np.arange(64)
    >>> ring = isthmus.Pattern.of(64, source=rank, target=rank * 5 % 64, bytes=1000)
    >>> mapped = isthmus.map(ring, "torus:4x4x4", method="block")
    >>> mapped.metrics.hop_bytes == isthmus.evaluate(ring, mapped.placement).hop_bytes
    True
    """
    found = pattern_of(what, collectives)
    if objective is not None and objective not in OBJECTIVES:
        raise InvalidInput(f"objective {objective!r}: must be one of {', '.join(OBJECTIVES)}")
    if objective == "time" and (found is what or model is None):
        raise InvalidInput("objective 'time' needs a program or a schedule, and a model to simulate it with")
    if not 0 < seconds < 1e7:
        raise InvalidInput(f"seconds = {seconds}: must be more than 0")
    if not isinstance(seed, (int, np.integer)) or not 0 <= seed < 2**63:
        raise InvalidInput(f"seed = {seed}: must be a whole number from 0 to 2^63 - 1")
    if undirected:
        require_symmetric(found)
    if not isinstance(where, (Machine, Allocation)):
        from ..loading import load

        where = load(where)
    job = job_of(where, found.ranks, share=balance is not None or tasks_per_node is not None)
    problem = Problem(
        found,
        job,
        _capacity(job, found.ranks, balance, tasks_per_node, speeds),
        seed=int(seed),
        undirected=undirected,
        coordinates=_coordinates(coordinates, found.ranks),
        imbalance=balance if tasks_per_node is None else tasks_per_node * len(job.nodes) / found.ranks - 1,
        speeds=None if speeds is None else np.asarray(speeds, dtype=np.float64).reshape(-1),
    )

    clock = None if model is None or found is what else Clock(what, collectives, model)  # type: ignore[arg-type]
    name, options = (method, {}) if isinstance(method, str) else method
    budget = Budget(problem, seconds)
    too_short = budget.least if budget.least > seconds else None
    # A method that was asked for is run, however little time there is.
    seconds = budget.searching if name == "auto" else max(budget.searching, seconds / 10)

    search = Search(problem, partial(_metrics, found, problem), clock)
    if name != "auto":
        if search.attempt(name, **_timed(name, options, seconds)) is None:
            raise InvalidInput(f"method {name!r} does not apply here; it needs {find(name, {})[0].needs}")
        best, decides = search.trials[0], objective or "hop_bytes"
    elif options:
        raise InvalidInput("method auto has no options")
    elif (decides := objective or ("time" if search.affordable(seconds) else "hop_bytes")) == "time":
        best = search.by_time(seconds, all=objective is not None)
    else:
        best = search.by_rule(decides, seconds, guarded=objective is None)
    unsearched = name == "auto" and len(problem.edges[0]) > 0 and all(t.method in USUAL for t in search.trials)
    return Mapped(
        what,
        found,
        problem,
        best,
        tuple(search.trials),
        decides,
        undirected,
        clock,
        budget.spectral,
        unsearched,
        too_short,
    )


def _metrics(pattern: Pattern, problem: Problem, place: NDArray[np.uint32]) -> Metrics:
    return metrics_of(pattern, placement_of(problem, place), undirected=problem.undirected)


def _timed(name: str, options: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """Options with the time for methods that take as long as they may."""
    takes = "seconds" in find(name, {})[0].options and "seconds" not in options
    return {**options, "seconds": round(seconds, 3)} if takes else dict(options)


def _capacity(
    job: Allocation, ranks: int, balance: float | None, most: int | None, speeds: ArrayLike | None
) -> NDArray[np.uint32]:
    """Tasks that fit each node of the job."""
    places = len(job.nodes)
    if speeds is not None and balance is None:
        raise InvalidInput("speeds needs balance=: by how much a node may exceed its share")
    if balance is not None and most is not None:
        raise InvalidInput("balance and tasks_per_node: give only one of them")
    if most is not None:
        if most < 1 or most * places < ranks:
            raise InvalidInput(f"tasks_per_node = {most}: {ranks:,} tasks do not fit {places:,} nodes")
        return np.full(places, most, np.uint32)
    if balance is None:
        return np.full(places, job.ranks_per_node, np.uint32)
    if not 0 <= balance <= 10:
        raise InvalidInput(f"balance = {balance}: must be 0 to 10")
    share = np.full(places, ranks / places)
    if speeds is not None:
        speed = np.asarray(speeds, dtype=np.float64).reshape(-1)
        if len(speed) != places or not (np.isfinite(speed) & (speed > 0)).all():
            raise InvalidInput(f"speeds = {shown(speeds)}: must be a number above 0 for each of {places:,} nodes")
        share = ranks * speed / speed.sum()
    # Rounding errors must not add a task.
    return np.maximum(np.ceil(share * (1 + balance) * (1 - 1e-12)), 1).astype(np.uint32)


def _coordinates(given: ArrayLike | None, ranks: int) -> NDArray[np.float64] | None:
    if given is None:
        return None
    out = np.asarray(given, dtype=np.float64)
    if out.ndim != 2 or len(out) != ranks or not np.isfinite(out).all():
        raise InvalidInput(f"coordinates of shape {out.shape}: must be finite numbers of shape ({ranks}, dimensions)")
    return out
