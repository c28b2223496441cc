"""Programs around Fourier transforms: the transform itself, molecular dynamics, electronic structure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .halos import square
from .multigrid import box
from .overlapping import looped, waiting
from .parts import Box, Messages, exchange, rows_and_columns, shared_out, split, work

if TYPE_CHECKING:
    from .overlapping import Wait
    from .steps import Steps

#: A complex number.
_COMPLEX = 16
#: Atoms of water and protein in a cubic Angstrom.
_DENSITY = 0.1


def fft(
    b: Steps, points: int, pencils: int, tiles: int, window: int, tests: int, steps: int, compute: float,
    spread: float, seed: int,
) -> None:  # fmt: skip
    """Planes: one exchange among all ranks a transform; pencils: two, among the ranks of a row and of a column.

    Each exchange is pipelined by planes: transforms of one dimension are before it, those of the last one after it.
    """
    ranks, seconds = b.ranks, work(b.ranks, compute, spread, seed)
    own = points**3 * _COMPLEX // ranks
    if pencils:
        shared_out(b, int(np.prod(np.minimum(square(ranks), points))), "pencils", alike=True)
    else:
        shared_out(b, points, "planes", alike=True)
    comms = rows_and_columns(b, Box(square(ranks))) if pencils else [(np.zeros(ranks, np.int64), ranks)]
    part = seconds / (len(comms) + 1)
    for _ in range(steps):
        for comm, members in comms:
            planes = max(1, points * members // ranks)

            def start(count: int, nonblocking: bool, plane: int = planes * members, comm: Any = comm) -> Wait:
                return waiting(b, b.alltoall(None, own * count // plane, comm=comm, nonblocking=nonblocking))

            after = part if comm is comms[-1][0] else np.zeros(ranks)
            b.cut()
            looped(b, planes, tiles, window, tests, start, part, after)


def namd(b: Steps, atoms: int, cutoff: float, every: int, steps: int, compute: float, spread: float, seed: int) -> None:
    """Coordinates to the 13 neighbours on one side, forces back; particle-mesh Ewald in pencils every few steps.

    Patches fill a cube; a neighbour at a face needs the atoms within the cut-off of it, and so on. Charges go to the
    pencils of the ranks in line, potentials come back; in between two exchanges there and two back.
    """
    ranks, seconds = b.ranks, work(b.ranks, compute, spread, seed)
    shared_out(b, atoms, "atoms", alike=True)
    patches = Box(box(ranks), periodic=True)
    edge = (atoms / ranks / _DENSITY) ** (1 / 3)
    reach = min(cutoff, edge)

    def near(step: tuple[int, ...]) -> int:
        away = int(np.count_nonzero(step))
        atoms_near: float = _DENSITY * edge ** (3 - away) * reach**away
        return max(1, round(atoms_near))

    coordinates, forces = (_upstream(patches, lambda step, size=size: size * near(step)) for size in (32, 24))
    forces = Messages(forces.target, forces.source, forces.bytes)
    points = max(1, round(atoms / _DENSITY))
    lines, pencils = split(b, patches.lines(2)), rows_and_columns(b, Box(square(ranks)))
    for step in range(steps):
        exchange(b, coordinates)
        b.cut()
        b.compute(None, seconds)
        exchange(b, forces)
        if step % every == 0:
            in_line = points * 8 // ranks // patches.sides[2]
            b.alltoall(None, in_line, comm=lines)
            for comm, members in [*pencils, *pencils[::-1]]:
                b.compute(None, seconds / 40)
                b.alltoall(None, points * _COMPLEX // ranks // members, comm=comm)
            b.alltoall(None, in_line, comm=lines)
        b.allreduce(None, 64)


def openatom(b: Steps, states: int, points: int, steps: int, compute: float, spread: float, seed: int) -> None:
    """States over the rows of a grid of ranks, planes over its columns: transforms, density, and pairs of states.

    The coefficients of a state fill a sphere with a radius of a quarter of the grid: pi / 16 of the columns, and
    pi / 48 of the points.
    """
    ranks, seconds = b.ranks, work(b.ranks, compute, spread, seed)
    rows, columns = square(ranks)
    shared_out(b, min(rows, states) * min(columns, points), "planes of states", alike=True)
    (of_state, planes), (of_plane, _) = rows_and_columns(b, Box((rows, columns)))
    own = -(-states // rows)
    column = own * round(points**3 * math.pi / 16) * _COMPLEX // planes**2
    coefficients = own * round(points**3 * math.pi / 48) * _COMPLEX // planes
    for _ in range(steps):
        b.alltoall(None, column, comm=of_state)
        b.cut()
        b.compute(None, seconds / 4)
        b.allreduce(None, points**3 * 8 // planes, comm=of_plane)
        b.compute(None, seconds / 4)
        b.alltoall(None, column, comm=of_state)
        b.compute(None, seconds / 4)
        # Pairs: everybody gets the coefficients of all states in their planes, and their sums come back.
        b.allgather(None, coefficients, comm=of_plane)
        b.compute(None, seconds / 4)
        b.reduce_scatter(None, coefficients, comm=of_plane)
        b.allreduce(None, 64)


def _upstream(box: Box, bytes: object) -> Messages:
    """To the half of the neighbours that come later in the order of steps."""
    found = box.halo(lambda step: bytes(step) if step > (0, 0, 0) else -1)  # type: ignore[operator]
    kept = found.bytes >= 0
    return Messages(found.source[kept], found.target[kept], found.bytes[kept])
