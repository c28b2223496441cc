"""Codes for shocks and flows: CTH, SAGE, xNOBEL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .multigrid import box
from .parts import Box, Messages, cells_of_halo, exchange, parted, work

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .steps import Steps


def cth(
    b: Steps, cells: int, variables: int, packed: int, exchanges: int, sums: int, steps: int, compute: float,
    spread: float, seed: int,
) -> None:  # fmt: skip
    """Blocks with six neighbours; all variables of a face in one message, or in one message each."""
    seconds = work(b.ranks, compute, spread, seed)
    faces = Box(box(b.ranks)).halo(lambda step: 8 * cells_of_halo(cells)(step) * (variables if packed else 1), 1)
    for _ in range(steps):
        for sums_here in parted(sums, exchanges):
            b.compute(None, seconds / exchanges)
            for variable in range(1 if packed else variables):
                exchange(b, faces, variable, wait=False)
            b.waitall(None)
            _sums(b, sums_here)


def xnobel(
    b: Steps, cells: int, variables: int, exchanges: int, sums: int, steps: int, compute: float, spread: float,
    seed: int,
) -> None:  # fmt: skip
    """Blocks with six neighbours, many exchanges of little."""
    cth(b, cells, variables, 1, exchanges, sums, steps, compute, spread, seed)


def sage(
    b: Steps, cells: int, reals: int, integers: int, sums: int, steps: int, compute: float, spread: float, seed: int
) -> None:
    """Cells of a cube in one order, as many in a row for each rank: the neighbours above are far away in ranks."""
    seconds = work(b.ranks, compute, spread, seed)
    shared = slabs(b.ranks, cells)
    exchanges = reals + integers
    of_reals, of_integers = (shared._replace(bytes=shared.bytes * size) for size in (8, 4))
    seconds = seconds / exchanges
    for _ in range(steps):
        for number, sums_here in enumerate(parted(sums, exchanges)):
            b.compute(None, seconds)
            exchange(b, of_reals if number < reals else of_integers)
            _sums(b, sums_here)


def slabs(ranks: int, cells: int) -> Messages:
    """Cells that ranks share with each other where each has so many cells of a cube, counted row by row.

    A cube of n cells an edge: the neighbours of a cell are 1, n and n^2 cells away in the order. With c cells a rank,
    those s away are on the rank floor(s / c) further, s mod c of them one further still. A rank shares with another the
    sum over the three dimensions.
    """
    edge = max(1, round((ranks * cells) ** (1 / 3)))
    shared: dict[int, int] = {}
    for away in (1, edge, edge * edge):
        far, rest = divmod(away, cells)
        for distance, count in ((far, cells - rest), (far + 1, rest)):
            if 0 < distance < ranks and count:
                shared[distance] = shared.get(distance, 0) + count
    columns: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]] = []
    for distance, count in sorted(shared.items()):
        low = np.arange(ranks - distance)
        for source, target in ((low, low + distance), (low + distance, low)):
            columns.append((source, target, np.full(len(low), count)))
    if not columns:
        return Messages(*(np.zeros(0, np.int64) for _ in range(3)))
    return Messages(*(np.concatenate(column) for column in zip(*columns, strict=True)))


def _sums(b: Steps, count: int) -> None:
    for _ in range(count):
        b.allreduce(None, 8)
    if count:
        b.cut()
