"""Programs that exchange halos in two dimensions: who sends how much to whom. Sizes are typical, not measured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..schedule.pattern import Pattern
from .parts import shared_out
from .steps import Steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..schedule.program import Program


@dataclass(frozen=True, eq=False)
class Halo:
    """Exchange with neighbours in two dimensions: a message of ``bytes`` from ``source`` to ``target`` each."""

    ranks: int
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    bytes: NDArray[np.int64]
    points: NDArray[np.int64]

    @property
    def pattern(self) -> Pattern:
        """Pattern of one exchange."""
        return Pattern.of(self.ranks, source=self.source, target=self.target, bytes=self.bytes)


def square(ranks: int) -> tuple[int, int]:
    """The most square box of so many ranks, the longer side first."""
    side = next(d for d in range(int(ranks**0.5), 0, -1) if ranks % d == 0)
    return ranks // side, side


def stencil(ranks: int, bytes: int = 8192) -> Halo:
    """Five-point stencil in a box, open at its edges, ranks row by row."""
    width, height = square(ranks)
    return _halo(width, height, np.full(width, 64), np.full(height, 64), bytes, bytes, 0, np.ones(ranks, dtype=bool))


def wrf(ranks: int, points: tuple[int, int] = (425, 300), levels: int = 35, fields: int = 10) -> Halo:
    """Weather: a box of points cut in both dimensions, halos of three points of some fields, single precision.

    By default the points of the CONUS benchmark of WRF at 12 km. Ranks of the edges have fewer neighbours, and boxes
    differ by a point.
    """
    width, height = square(ranks)
    columns, rows = (np.diff(np.arange(n + 1) * p // n) for n, p in ((width, points[0]), (height, points[1])))
    point = 3 * levels * fields * 4
    return _halo(width, height, columns, rows, point, point, 0, np.ones(ranks, dtype=bool))


def pop(ranks: int, seed: int = 1, levels: int = 42, block: tuple[int, int] = (60, 60)) -> Halo:
    """Ocean: periodic from west to east, blocks that are all land left out, eight neighbours, halos of two points.

    About a third of the blocks are land: continents of random hills, the highest blocks, as many as there are too many.
    Ranks count the blocks that are left row by row.
    """
    height = max(1, round((ranks / 0.7 / 1.5) ** 0.5))
    width = -(-round(ranks / 0.7) // height)
    rng = np.random.default_rng(seed)
    y, x = (a.reshape(-1) for a in np.mgrid[0:height, 0:width])
    level = np.zeros(width * height)
    for _ in range(12):
        at, size = rng.random(2), rng.uniform(0.05, 0.16)
        east = np.abs(x / width - at[0])
        level += rng.random() * np.exp(
            -(np.minimum(east, 1 - east) ** 2 * 2.25 + (y / height - at[1]) ** 2) / size**2 / 2
        )
    water = np.zeros(width * height, dtype=bool)
    water[np.argsort(level, kind="stable")[:ranks]] = True
    point = 2 * levels * 8
    return _halo(
        width, height, np.full(width, block[0]), np.full(height, block[1]), point, point, 2 * point, water, True
    )


def _halo(
    width: int, height: int, columns: NDArray[np.int64], rows: NDArray[np.int64], west: int, north: int, corner: int,
    kept: NDArray[np.bool_], periodic: bool = False,
) -> Halo:  # fmt: skip
    """Neighbours in a box of blocks; ``west`` and ``north``: bytes per point of a side, ``corner`` of a corner."""
    box = np.arange(width * height)
    y, x = np.divmod(box, width)
    rank = np.cumsum(kept) - 1
    found: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]] = []
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            if (dx, dy) == (0, 0) or (dx and dy and not corner):
                continue
            there = y + dy, x + dx
            inside = (there[0] >= 0) & (there[0] < height)
            if not periodic:
                inside &= (there[1] >= 0) & (there[1] < width)
            to = there[0] * width + there[1] % width
            inside[inside] &= kept[box[inside]] & kept[to[inside]] & (box[inside] != to[inside])
            size = corner if dx and dy else west * rows[y] if dx else north * columns[x]
            sizes = np.broadcast_to(size, len(box))
            found.append((rank[box[inside]], rank[to[inside]], sizes[inside]))
    source, target, bytes = (np.concatenate([f[i] for f in found]) for i in range(3))
    return Halo(int(kept.sum()), source, target, bytes, (columns[x] * rows[y])[kept])


def stencil_steps(b: Steps, bytes: int, steps: int, compute: float, spread: float, solves: int, seed: int) -> None:
    """The skeleton ``stencil``."""
    halo = stencil(b.ranks)
    _steps(b, replace(halo, bytes=np.full_like(halo.bytes, bytes)), steps, compute, spread, solves, seed)


def wrf_steps(
    b: Steps, levels: int, fields: int, steps: int, compute: float, spread: float, solves: int, seed: int
) -> None:
    """The skeleton ``wrf``."""
    halo = wrf(b.ranks, levels=levels, fields=fields)
    shared_out(b, int(np.count_nonzero(halo.points)), "boxes of columns")
    _steps(b, halo, steps, compute, spread, solves, seed)


def pop_steps(b: Steps, levels: int, steps: int, compute: float, spread: float, solves: int, seed: int) -> None:
    """The skeleton ``pop``."""
    _steps(b, pop(b.ranks, seed, levels), steps, compute, spread, solves, seed)


def _steps(b: Steps, halo: Halo, steps: int, compute: float, spread: float, solves: int, seed: int) -> None:
    _exchanges(b, halo, steps, compute / max(float(halo.points.mean()), 1.0), spread, solves, seed)


def program(halo: Halo, steps: int, point: float, spread: float, solves: int, seed: int = 1) -> Program:
    """Steps of computation, an exchange, and solver iterations of a small exchange and a sum over all ranks each.

    Parameters
    ----------
    point : float
        Seconds of computation of a point and step.
    spread : float
        Standard deviation of the computation of a rank over its mean, the same in all steps.
    solves : int
        Iterations of the solver per step; it exchanges one level of one field.
    """
    b = Steps(halo.ranks)
    _exchanges(b, halo, steps, point, spread, solves, seed)
    return b.build()


def _exchanges(b: Steps, halo: Halo, steps: int, point: float, spread: float, solves: int, seed: int) -> None:
    rank = np.arange(halo.ranks)
    work = halo.points * point * np.maximum(0.0, 1 + spread * np.random.default_rng(seed).standard_normal(halo.ranks))

    def exchange(bytes: NDArray[np.int64]) -> None:
        b.irecv(halo.target, halo.source, bytes)
        b.isend(halo.source, halo.target, bytes)
        b.waitall(rank)

    for _ in range(steps):
        b.compute(rank, work)
        exchange(halo.bytes)
        for _ in range(solves):
            b.compute(rank, work * 1e-3)
            exchange(np.maximum(8, halo.bytes // 42))
            b.allreduce(None, 16)
            b.cut()
