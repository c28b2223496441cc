"""Programs to place: the communication of known kinds of applications, generated for any number of ranks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import isthmus


def extents(ranks: int, dimensions: int) -> list[int]:
    """Extents of a grid of so many ranks, as equal as can be, the largest first (as MPI_Dims_create)."""
    if dimensions == 1:
        return [ranks]
    least = next(d for d in range(max(1, int(ranks ** (1 / dimensions) + 1e-9)), 0, -1) if ranks % d == 0)
    return sorted([*extents(ranks // least, dimensions - 1), least], reverse=True)


def exchange(b: isthmus.ProgramBuilder, source: Any, target: Any, bytes: Any) -> None:
    """Messages that are all under way at once: receives, sends, then a wait on every rank of them."""
    source, target, bytes = (np.asarray(a) for a in np.broadcast_arrays(source, target, bytes))
    other = source != target
    source, target, bytes = source[other], target[other], bytes[other]
    b.irecv(target, source, bytes)
    b.isend(source, target, bytes)
    b.waitall(np.unique(np.concatenate([source, target])))


def steps(ranks: int, dims: list[int], stride: int = 1, periodic: bool = True) -> list[tuple[Any, Any, int]]:
    """Of a grid, the last dimension fastest: sources, targets and dimension of the shifts by ``stride`` both ways."""
    at = np.array(np.unravel_index(np.arange(ranks), dims))
    out = []
    for axis, extent in enumerate(dims):
        for way in (stride, -stride):
            to = at.copy()
            to[axis] += way
            inside = (to[axis] >= 0) & (to[axis] < extent)
            keep = np.ones(ranks, bool) if periodic else inside
            to[axis] %= extent
            out.append((np.arange(ranks)[keep], np.ravel_multi_index(tuple(to), dims)[keep], axis))
    return out


def ft(ranks: int, seed: int) -> isthmus.Program:
    """Transposes of a 3-D FFT in slabs: an all-to-all of all ranks, and a checksum."""
    b = isthmus.ProgramBuilder(ranks)
    for _ in range(3):
        b.compute(None, 2e-4)
        b.alltoall(None, (1 << 23) // ranks**2 + 16)
        b.allreduce(None, 16)
    return b.build()


def pencils(ranks: int, seed: int) -> isthmus.Program:
    """The same in pencils: all-to-alls of rows and of columns of the grid of ranks."""
    rows, columns = extents(ranks, 2)
    b = isthmus.ProgramBuilder(ranks)
    rank = np.arange(ranks)
    row = b.split(rank // columns)
    column = b.split(rank % columns)
    for _ in range(3):
        for comm, size in ((row, columns), (column, rows)):
            b.compute(None, 1e-4)
            b.alltoall(rank, (1 << 23) // ranks // size, comm)
    return b.build()


def cg(ranks: int, seed: int) -> isthmus.Program:
    """Conjugate gradients on a 2-D distributed matrix: sums along rows, the transpose, two scalar products."""
    rows, columns = extents(ranks, 2)
    rank = np.arange(ranks)
    b = isthmus.ProgramBuilder(ranks)
    for _ in range(4):
        b.compute(None, 1.5e-4)
        size = 1 << 16
        step = 1
        while step < columns:
            partner = rank // columns * columns + ((rank % columns) ^ step)
            inside = (rank % columns) ^ step < columns
            exchange(b, rank[inside], partner[inside], size)
            size, step = size // 2, 2 * step
        if rows == columns:
            exchange(b, rank, rank % columns * columns + rank // columns, 1 << 16)
        b.allreduce(None, 8)
        b.allreduce(None, 8)
    return b.build()


def mg(ranks: int, seed: int) -> isthmus.Program:
    """A V-cycle on a periodic 3-D grid: faces of every level; on coarse levels every second rank of a dimension."""
    dims = extents(ranks, 3)
    b = isthmus.ProgramBuilder(ranks)
    levels = [1 << 16 >> 2 * i for i in range(7)]
    for level, size in [*enumerate(levels), *reversed(list(enumerate(levels)))]:
        b.compute(None, 4e-4 / 8**level + 1e-6)
        stride = 1 << max(0, level - 4)
        at = np.array(np.unravel_index(np.arange(ranks), dims))
        active = (at % stride == 0).all(axis=0)
        for source, target, _ in steps(ranks, dims, stride):
            on = active[source] & active[target]
            exchange(b, source[on], target[on], max(size, 8))
    b.allreduce(None, 8)
    return b.build()


def lu(ranks: int, seed: int) -> isthmus.Program:
    """Wavefronts over a 2-D grid of ranks: small messages south and east, plane after plane, then back."""
    rows, columns = extents(ranks, 2)
    b = isthmus.ProgramBuilder(ranks)
    for way in (1, -1):
        order = range(ranks) if way == 1 else range(ranks - 1, -1, -1)
        for _ in range(6):
            for r in order:
                i, j = divmod(r, columns)
                before = [(i - way, j), (i, j - way)]
                after = [(i + way, j), (i, j + way)]
                for x, y in before:
                    if 0 <= x < rows and 0 <= y < columns:
                        b.recv(r, x * columns + y, 2000)
                b.compute(r, 8e-6)
                for x, y in after:
                    if 0 <= x < rows and 0 <= y < columns:
                        b.send(r, x * columns + y, 2000)
    b.allreduce(None, 40)
    return b.build()


def bt(ranks: int, seed: int) -> isthmus.Program:
    """Multipartition of a cube on a square of ranks: shifts along rows, columns and diagonals."""
    n = max(1, math.isqrt(ranks))
    rank = np.arange(n * n)
    i, j = rank // n, rank % n
    b = isthmus.ProgramBuilder(ranks)
    for _ in range(3):
        for di, dj in ((0, 1), (1, 0), (1, 1), (0, -1), (-1, 0), (-1, -1)):
            b.compute(None, 8e-5)
            exchange(b, rank, (i + di) % n * n + (j + dj) % n, 60_000)
    return b.build()


def amg(ranks: int, seed: int) -> isthmus.Program:
    """Cycles of algebraic multigrid: random partners near by, on coarse levels more, farther and fewer ranks."""
    rng = np.random.default_rng(seed)
    points = rng.random((ranks, 3))
    apart = np.linalg.norm(points[:, None] - points[None, :], axis=2)
    b = isthmus.ProgramBuilder(ranks)
    active = np.arange(ranks)
    radius, size = (12 / ranks) ** (1 / 3) * 0.7, 40_000
    levels = []
    while len(active) > 1:
        u, v = np.nonzero((apart[np.ix_(active, active)] < radius) & ~np.eye(len(active), dtype=bool))
        # A pair has the same weight both ways.
        weight = rng.uniform(0.2, 1.8, (ranks, ranks))
        weight += weight.T
        levels.append((active[u], active[v], (size * weight[active[u], active[v]] / 2).astype(np.int64)))
        active, radius, size = rng.permutation(active)[: len(active) // 3], radius * 1.7, size // 3
    for _ in range(2):
        for level, (u, v, bytes) in [*enumerate(levels), *reversed(list(enumerate(levels)))]:
            b.compute(None, 2e-4 / 4**level)
            if len(u):
                exchange(b, u, v, bytes)
        b.allreduce(None, 8)
    return b.build()


def master(ranks: int, seed: int) -> isthmus.Program:
    """A master that hands out work, of sizes that differ, and collects results."""
    rng = np.random.default_rng(seed)
    b = isthmus.ProgramBuilder(ranks)
    for _ in range(4):
        for worker in range(1, ranks):
            b.isend(0, worker, int(rng.integers(1_000, 200_000)))
        for worker in range(1, ranks):
            b.irecv(worker, 0, 200_000)
            b.waitall(worker)
            b.compute(worker, float(rng.uniform(2e-5, 2e-4)))
            b.send(worker, 0, 4_000)
            b.recv(0, worker, 4_000)
        b.waitall(0)
    return b.build()


def collect(ranks: int, seed: int) -> isthmus.Program:
    """Scatter, work with halos on a line, gather and broadcast."""
    rank = np.arange(ranks)
    b = isthmus.ProgramBuilder(ranks)
    for _ in range(3):
        b.scatter(None, 100_000)
        exchange(b, np.concatenate([rank[:-1], rank[1:]]), np.concatenate([rank[1:], rank[:-1]]), 10_000)
        b.compute(None, 1e-4)
        b.gather(None, 100_000)
        b.bcast(None, 50_000)
    return b.build()


def sparse(ranks: int, seed: int) -> isthmus.Program:
    """A sparse matrix without structure: few partners for most ranks, many for some, sizes over two decades."""
    rng = np.random.default_rng(seed)
    popular = 1 / (1 + rng.permutation(ranks)) ** 0.8
    u = np.repeat(np.arange(ranks), 4)
    v = rng.choice(ranks, len(u), p=popular / popular.sum())
    pair = np.unique((u * ranks + v)[u != v])
    bytes = np.exp(rng.uniform(np.log(1e3), np.log(2e5), len(pair))).astype(np.int64)
    b = isthmus.ProgramBuilder(ranks)
    for _ in range(4):
        exchange(b, pair // ranks, pair % ranks, bytes)
        b.compute(None, 1e-4)
        b.allreduce(None, 8)
    return b.build()


def halo(dimensions: int, size: int) -> Callable[[int, int], isthmus.Program]:
    """Halos of a grid with open ends, extents as equal as can be, faces of unequal sizes, and a residual."""

    def program(ranks: int, seed: int) -> isthmus.Program:
        dims = extents(ranks, dimensions)
        b = isthmus.ProgramBuilder(ranks)
        for _ in range(5):
            both = steps(ranks, dims, periodic=False)
            source, target = (np.concatenate([s[i] for s in both]) for i in (0, 1))
            bytes = np.concatenate([np.full(len(s), size >> axis) for s, _, axis in both])
            exchange(b, source, target, bytes)
            b.compute(None, 1e-4)
        b.allreduce(None, 8)
        return b.build()

    return program


def butterfly(ranks: int, seed: int) -> isthmus.Program:
    """Partners at distances 1, 2, 4 and so on, the same bytes each time."""
    rank = np.arange(ranks)
    b = isthmus.ProgramBuilder(ranks)
    for step in (1 << i for i in range(max(1, (ranks - 1).bit_length()))):
        inside = rank ^ step < ranks
        b.compute(None, 5e-5)
        exchange(b, rank[inside], (rank ^ step)[inside], 100_000)
    return b.build()


def groups(ranks: int, seed: int) -> isthmus.Program:
    """Several groups of ranks, numbered by turns, that exchange all to all within, and a sum over all."""
    b = isthmus.ProgramBuilder(ranks)
    count = max(2, ranks // 4)
    comm = b.split(np.arange(ranks) % count)
    for _ in range(3):
        b.compute(None, 1e-4)
        b.alltoall(np.arange(ranks), 60_000, comm)
        b.allreduce(None, 1000)
    return b.build()


#: Name -> number of ranks and seed to a program.
PROGRAMS: dict[str, Callable[[int, int], isthmus.Program]] = {
    "ft": ft, "pencils": pencils, "cg": cg, "mg": mg, "lu": lu, "bt": bt, "amg": amg, "master": master,
    "collect": collect, "sparse": sparse, "halo2d": halo(2, 100_000), "halo3d": halo(3, 60_000),
    "butterfly": butterfly, "groups": groups,
}  # fmt: skip
