"""Cycles of a multigrid solver: every level has less work and smaller messages to ranks further away."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .steps import Steps

if TYPE_CHECKING:
    from ..schedule.program import Program

#: Coarser levels than this many, and smaller messages than this, matter little.
LEVELS, _LEAST = 5, 64


def box(count: int) -> tuple[int, int, int]:
    """The most cubic box of so many cells, the longest side first."""
    sides = [(a, b, count // a // b) for a in range(1, count + 1) if count % a == 0 for b in range(1, count // a + 1)
             if count // a % b == 0]  # fmt: skip
    return min((s for s in sides if s[0] >= s[1] >= s[2]), key=lambda s: s[0] * s[1] + s[1] * s[2] + s[0] * s[2])


def cycles(jobs: int, nodes: int, size: int, compute: float, count: int) -> Program:
    """V-cycles of a multigrid solver in every job: on each level compute, then exchange with six neighbours.

    On level l the neighbours are 2^l ranks away in each dimension (periodic), messages and computation 4^l and 8^l
    times smaller.
    """
    b = Steps(jobs * nodes)
    _cycles(b, jobs, nodes, size, compute, count)
    return b.build()


def of_one_job(b: Steps, bytes: int, compute: float, cycles: int) -> None:
    """The skeleton ``multigrid``."""
    _cycles(b, 1, b.ranks, bytes, compute, cycles)


def _cycles(b: Steps, jobs: int, nodes: int, size: int, compute: float, count: int) -> None:
    sides = box(nodes)
    rank = np.arange(jobs * nodes)
    job, cell = rank // nodes * nodes, rank % nodes
    at = np.stack(np.unravel_index(cell, sides))
    down = [level for level in range(LEVELS) if level == 0 or 2**level < max(sides)]
    for _ in range(count):
        b.cut()
        for level in down + down[-2::-1]:
            b.compute(rank, compute / 8**level)
            amount = max(size // 4**level, min(size, _LEAST))
            for axis, side in enumerate(sides):
                step = 2**level % side
                if not step:
                    continue
                for tag, way in enumerate((step, -step)):
                    to, source = at.copy(), at.copy()
                    to[axis], source[axis] = (at[axis] + way) % side, (at[axis] - way) % side
                    b.irecv(rank, job + np.ravel_multi_index(tuple(source), sides), amount, tag=2 * axis + tag)
                    b.isend(rank, job + np.ravel_multi_index(tuple(to), sides), amount, tag=2 * axis + tag)
            b.waitall(rank)
