"""Transport of particles: wavefronts over a grid of ranks, and angles one after the other with all neighbours."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from .halos import square
from .multigrid import box
from .parts import Box, Messages, cells_of_halo, exchange, work

if TYPE_CHECKING:
    from .steps import Steps


def sweep(b: Steps, cells: int, planes: int, angles: int, steps: int, compute: float, spread: float, seed: int) -> None:
    """From each corner in turn, blocks of planes: receive from two neighbours, compute, send to two."""
    grid = Box(square(b.ranks))
    blocks = -(-cells // planes)
    seconds = work(b.ranks, compute, spread, seed) / (8 * blocks)
    size = cells * planes * angles * 8
    for _ in range(steps):
        for x, y, _ in product((1, -1), (1, -1), range(2)):
            ways = [grid.neighbours(x, 0), grid.neighbours(0, y)]
            for _ in range(blocks):
                for tag, (source, target) in enumerate(ways):
                    b.recv(target, source, size, tag=tag)
                b.compute(None, seconds)
                for tag, (source, target) in enumerate(ways):
                    b.send(source, target, size, tag=tag)
        b.allreduce(None, 8)
        b.cut()


def umt(
    b: Steps, zones: int, groups: int, angles: int, iterations: int, sums: int, steps: int, compute: float,
    spread: float, seed: int,
) -> None:  # fmt: skip
    """Angle by angle: what leaves through three faces is sent, what enters through the three others received.

    What enters was computed in the iteration before, so that no rank waits for a wavefront.
    """
    domains = Box(box(b.ranks))
    seconds = work(b.ranks, compute, spread, seed) / (iterations * 8 * angles)
    elements = cells_of_halo(zones ** (1 / 3))
    octants = []
    for way in product((1, -1), repeat=3):
        steps_out = [tuple(w if axis == a else 0 for a in range(3)) for axis, w in enumerate(way)]
        pairs = [(*domains.neighbours(*step), 8 * groups * 4 * elements(step)) for step in steps_out]
        columns = zip(*((source, target, np.full(len(source), size)) for source, target, size in pairs), strict=True)
        octants.append(Messages(*(np.concatenate(column) for column in columns)))
    for _ in range(steps):
        for _ in range(iterations):
            for octant in octants:
                for _ in range(angles):
                    exchange(b, octant)
                    if octant is octants[0]:
                        b.cut()
                    b.compute(None, seconds)
            for _ in range(sums):
                b.allreduce(None, 8)
