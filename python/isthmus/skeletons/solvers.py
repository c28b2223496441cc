"""Iterative solvers: conjugate gradients, and Newton steps with Krylov iterations and a multigrid preconditioner."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .multigrid import box
from .parts import Box, Messages, cells_of_halo, exchange, work

if TYPE_CHECKING:
    from .steps import Steps

#: Iterations of GMRES from one restart to the next.
_RESTART = 30
#: Rows of a level for one of the next.
_COARSER = 27


def cg(b: Steps, cells: int, sums: int, steps: int, compute: float, spread: float, seed: int) -> None:
    """One step is one iteration: an exchange with up to 26 neighbours, and sums of one number."""
    seconds = work(b.ranks, compute, spread, seed)
    halo = Box(box(b.ranks)).halo(lambda step: 8 * cells_of_halo(cells)(step))
    for _ in range(steps):
        exchange(b, halo)
        b.cut()
        b.compute(None, seconds)
        for _ in range(sums):
            b.allreduce(None, 8)


def charon(
    b: Steps, rows: int, unknowns: int, levels: int, iterations: int, steps: int, compute: float, spread: float,
    seed: int,
) -> None:  # fmt: skip
    """One step is one of Newton: iterations of GMRES, each with a V-cycle, most of whose messages are small."""
    seconds = work(b.ranks, compute / iterations, spread, seed)
    halos = [_unstructured(b.ranks, rows / _COARSER**level, unknowns, level, seed) for level in range(levels)]
    down_and_up = [*range(levels), *range(levels - 2, -1, -1)]
    work_of = [seconds / 4 / _COARSER**level for level in range(levels)]
    for _ in range(steps):
        for iteration in range(iterations):
            exchange(b, halos[0])
            b.cut()
            b.compute(None, seconds / 2)
            for level in down_and_up:
                exchange(b, halos[level])
                # Below, computation is too short to keep ranks apart from those that are in the piece before.
                if level == 0:
                    b.cut()
                b.compute(None, work_of[level])
            # Gram-Schmidt: products with all vectors since the restart, then the norm.
            b.allreduce(None, 8 * (iteration % _RESTART + 1))
            b.allreduce(None, 8)
        b.allreduce(None, 8)


def _unstructured(ranks: int, rows: float, unknowns: int, level: int, seed: int) -> Messages:
    """Up to 18 neighbours of parts of a mesh: shared faces and edges, half as large to half as large again.

    Where a rank has less than one row, one in so many ranks has one, and its neighbours are further away.
    """
    sides = np.array(box(ranks))
    apart = max(1, round(min(rows, 1) ** (-1 / 3)))
    coarse = Box(tuple(int(side) for side in -(-sides // apart)))
    inside = cells_of_halo(max(rows, 1) ** (1 / 3))
    halo = coarse.halo(lambda step: 8 * unknowns * inside(step), 2)
    place = [apart * at for at in np.unravel_index(np.arange(coarse.ranks), coarse.sides)]
    rank = np.ravel_multi_index(place, tuple(sides))
    source, target = rank[halo.source], rank[halo.target]
    # As much there as back.
    low, high = np.minimum(source, target), np.maximum(source, target)
    _, pair = np.unique(low * ranks + high, return_inverse=True)
    factor = np.random.default_rng((seed, level)).uniform(0.5, 1.5, int(pair.max(initial=-1)) + 1)
    return Messages(source, target, np.maximum(8, halo.bytes * factor[pair]).astype(np.int64))
