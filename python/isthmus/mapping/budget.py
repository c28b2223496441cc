"""The time that ``map`` needs besides searches, estimated from sizes so that it is the same on every computer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .. import _core
from .bounds import seconds_of_pairs, seconds_of_spectral

if TYPE_CHECKING:
    from .problem import Problem

# Seconds of an element of the pattern, of a link of the machine, and of a pair of rows of distances: measured on the
# computer of effort.hpp and on an EPYC, the larger of both, while others use the memory.
_READING = {True: 0.05e-6, False: 0.35e-6}  # undirected patterns need no sorting
_METRICS, _LINK, _BOUNDS, _ROWS = 0.13e-6, 0.04e-6, 0.1e-6, 15e-9
# Seconds of a level of halving, for each task, of tasks and nodes by their coordinates.
_GEOMETRIC = 0.3e-6
#: Tasks for which a step of recognition takes twice as long as for few, as their neighbours are no longer in a cache.
_CACHED = 350_000
#: Part of the time in which searches are counted: a step has taken up to a third longer where others use the memory.
SEARCHING = 0.73
#: Parts of the time that the spectral bound, and recognition of a structure, may take.
_FOR_BOUND, _FOR_STRUCTURE = 0.2, 0.35


class Budget:
    """The processor time of a call of ``map`` and of its report, and what is left of it for searches.

    Parameters
    ----------
    problem : Problem
        Whose ``most_recognition`` is set.
    seconds : float
        All of it.

    Attributes
    ----------
    least : float
        What has to be done anyway: reading, metrics of the usual orders and of what is found, simple bounds.
    spectral : bool
        Is there time for the spectral bound?
    searching : float
        What searches may count; 0 where there is no time.
    """

    def __init__(self, problem: Problem, seconds: float) -> None:
        entries = len(problem.pattern.peer)
        # The allocation's order, a random one and what is found; block and cyclic where they are others.
        orders = 3 if problem.job.ranks_per_node == 1 else 5
        rows = problem.target.rows
        self.least = (
            (_READING[problem.undirected] + _BOUNDS) * entries + _ROWS * float(rows) ** 2 + seconds_of_pairs(problem)
            + orders * seconds_of_metrics(problem)
        )  # fmt: skip
        eigenvalues = seconds_of_spectral(problem)
        self.spectral = eigenvalues <= _FOR_BOUND * (seconds - self.least)
        left = seconds - self.least - (eigenvalues if self.spectral else 0.0)
        problem.most_recognition = max(_FOR_STRUCTURE * left, 0.0)
        self.searching = max(SEARCHING * left, 0.0)


def seconds_of_metrics(problem: Problem) -> float:
    """Return the approximate processor time of the metrics of a placement."""
    return _METRICS * len(problem.pattern.peer) + _LINK * problem.job.machine.topology.links


def seconds_of_geometric(problem: Problem) -> float:
    """Return the approximate processor time of the map by coordinates."""
    return _GEOMETRIC * problem.tasks * math.log2(max(problem.tasks, 2))


def seconds_of_recognition(problem: Problem) -> float:
    """Return the approximate processor time that recognition of a structure has taken, from its steps."""
    return problem.recognition * (1 + problem.tasks / _CACHED)


def seconds_of_halving(problem: Problem) -> float:
    """Return the approximate processor time of the dual recursive bipartition."""
    return _core.seconds_of_bipartition(problem.graph, problem.target)


def seconds_of_annealing(problem: Problem) -> float:
    """Return the approximate processor time below which annealing is not worth starting."""
    return _core.seconds_of_annealing(problem.graph, problem.target)


def seconds_of_relief(problem: Problem) -> float:
    """Return the approximate processor time below which relief of links is not worth starting."""
    return 2 * _core.seconds_of_relief(problem.graph, problem.target)
