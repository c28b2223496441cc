"""Multigrid solvers on many processes: what every level holds and exchanges, and what a cycle costs.

- ``cycle``: the verb ``cycle``: what a cycle costs on every level, by models
- ``counts_file``: counts of a hierarchy as the C programs of ``solvers/`` write them
- ``hdf5``: files of hierarchies
- ``hierarchy``: the verb ``hierarchy``: matrices of all levels, cut into parts, become counts
- ``hypre``: BoomerAMG's setup on real ranks, and in programs of users
- ``operators``: one matrix cut into parts: rows, nonzeros and messages of each
- ``partition``: who owns which rows: boxes of a grid, and owners of coarse rows from those of fine ones
- ``reading``: hierarchies from files, whatever wrote them

>>> import numpy as np
>>> from isthmus import multigrid
>>> multigrid.boxes((4, 4), 4).reshape(4, 4)[0]
array([0, 0, 1, 1], dtype=uint32)
"""

from __future__ import annotations

from .cycle import Costs, Cycle, cycle
from .hierarchy import GridLevel, Hierarchy, hierarchy
from .hypre import boomeramg
from .operators import Operator
from .partition import boxes, coarse_owner

__all__ = [
    "Costs",
    "Cycle",
    "GridLevel",
    "Hierarchy",
    "Operator",
    "boomeramg",
    "boxes",
    "coarse_owner",
    "cycle",
    "hierarchy",
]
