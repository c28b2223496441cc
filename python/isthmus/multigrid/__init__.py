"""Multigrid solvers on many processes: what every level holds and exchanges, and what a cycle costs.

- ``cycle``: the verb ``cycle``: what a cycle costs on every level, by models
- ``costs``: what messages and computation cost
- ``counts_file``: counts of a hierarchy as the C programs of ``solvers/`` write them
- ``enlarge``: hierarchies of problems that grow with the parts, from two that one process can compute
- ``extrapolation``: the verb ``extrapolate``: counts on more parts than were computed, from several hierarchies
- ``gathering``: vectors of a level come to fewer ranks, and back, in programs
- ``hdf5``: files of hierarchies
- ``hierarchy``: the verb ``hierarchy``: matrices of all levels, cut into parts, become counts
- ``hypre``: BoomerAMG's setup on real ranks, and in programs of users
- ``node_aware``: the verb ``node_aware``: exchanges that gather what goes to the same node, beside direct ones
- ``operators``: one matrix cut into parts: rows, nonzeros and messages of each
- ``outline``: sums and largest numbers of operators, without who sends to whom
- ``partition``: who owns which rows: boxes of a grid, cuts of a graph, owners of coarse rows
- ``products``: what ranks do for one product, in programs
- ``program``: the verb ``program``: cycles as a Program, to be simulated and mapped
- ``reach``: how far the nodes of a job are apart, and how many links they share
- ``reading``: hierarchies from files, whatever wrote them
- ``redistribution``: the verb ``redistribute``: which coarse levels to gather on fewer processes
- ``scenarios``: all scenarios of the model beside each other
- ``search``: which levels to gather, by dynamic programming over all of them
- ``setup``: the verb ``setup``: what the setup of a solver sends and takes on every level
- ``setup_counts``: the setup of hypre's BoomerAMG in a recorded program
- ``solution``: what the verb ``solve`` finds
- ``solving``: the verb ``solve``: a problem solved by hypre, and with coarse levels gathered
- ``thresholds``: by which numbers of rows solvers gather coarse levels

>>> import numpy as np
>>> from isthmus import multigrid
>>> multigrid.boxes((4, 4), 4).reshape(4, 4)[0]
array([0, 0, 1, 1], dtype=uint32)
"""

from __future__ import annotations

from .costs import Costs
from .cycle import Cycle, cycle
from .enlarge import enlarged
from .extrapolation import Extrapolation, extrapolate
from .hierarchy import GridLevel, Hierarchy, hierarchy
from .hypre import boomeramg
from .node_aware import NodeAware, node_aware
from .operators import Operator
from .partition import boxes, coarse_owner, cut
from .program import program
from .reach import reach
from .redistribution import Redistribution, gathered, redistribute
from .scenarios import Scenarios, scenarios
from .setup import Setup, setup
from .setup_counts import setup_counts
from .solution import Solution
from .solving import solve

__all__ = [
    "Costs",
    "Cycle",
    "Extrapolation",
    "GridLevel",
    "Hierarchy",
    "NodeAware",
    "Operator",
    "Redistribution",
    "Scenarios",
    "Setup",
    "Solution",
    "boomeramg",
    "boxes",
    "coarse_owner",
    "cut",
    "cycle",
    "enlarged",
    "extrapolate",
    "gathered",
    "hierarchy",
    "node_aware",
    "program",
    "reach",
    "redistribute",
    "scenarios",
    "setup",
    "setup_counts",
    "solve",
]
