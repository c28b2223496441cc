"""Patterns to place, of kinds that differ: generated for any number of tasks, symmetric, numbered as codes number their
ranks, unless the name says ``shuffled``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from mapping_programs import extents, steps

import isthmus


def pattern(tasks: int, u: Any, v: Any, bytes: Any = 1000) -> isthmus.Pattern:
    """Both directions of every pair with the same bytes; pairs that come several times are summed up."""
    u, v, bytes = (np.asarray(a) for a in np.broadcast_arrays(u, v, bytes))
    other = u != v
    low, high, bytes = np.minimum(u, v)[other], np.maximum(u, v)[other], bytes[other]
    pair, where = np.unique(low.astype(np.int64) * tasks + high, return_inverse=True)
    total = np.bincount(where, bytes, len(pair)).astype(np.int64)
    source, target = pair // tasks, pair % tasks
    return isthmus.Pattern.of(
        tasks,
        source=np.concatenate([source, target]),
        target=np.concatenate([target, source]),
        bytes=np.concatenate([total, total]),
    )


def shuffled(make: Callable[[int, int], isthmus.Pattern]) -> Callable[[int, int], isthmus.Pattern]:
    """The same with tasks numbered at random."""

    def made(tasks: int, seed: int) -> isthmus.Pattern:
        found = make(tasks, seed)
        number = np.random.default_rng(seed + 1000).permutation(found.ranks)
        return isthmus.Pattern.of(
            found.ranks, source=number[found.sources()], target=number[found.peer], bytes=found.bytes
        )

    return made


def banded(tasks: int, seed: int) -> isthmus.Pattern:
    """A banded matrix: partners at distances of up to 8, the nearer the more."""
    u = np.repeat(np.arange(tasks), 8)
    step = np.tile(np.arange(1, 9), tasks)
    inside = u + step < tasks
    return pattern(tasks, u[inside], (u + step)[inside], (1000 // step)[inside])


def rmat(tasks: int, seed: int) -> isthmus.Pattern:
    """R-MAT (Chakrabarti, Zhan and Faloutsos, SDM 2004) with 0.57, 0.19, 0.19, 0.05 and 8 edges a task."""
    rng = np.random.default_rng(seed)
    bits = (tasks - 1).bit_length()
    u = v = np.zeros(8 * tasks, np.int64)
    for _ in range(bits):
        quarter = rng.choice(4, len(u), p=[0.57, 0.19, 0.19, 0.05])
        u, v = 2 * u + quarter // 2, 2 * v + quarter % 2
    return pattern(tasks, u % tasks, v % tasks)


def hypercube(tasks: int, seed: int) -> isthmus.Pattern:
    """Partners whose numbers differ in one bit, farther ones with fewer bytes."""
    rank = np.arange(tasks)
    bits = [1 << i for i in range((tasks - 1).bit_length())]
    u, v = (np.concatenate(a) for a in zip(*((rank, rank ^ bit) for bit in bits), strict=True))
    bytes = np.repeat([4000 // (i + 1) for i in range(len(bits))], tasks)
    inside = (u < v) & (v < tasks)
    return pattern(tasks, u[inside], v[inside], bytes[inside])


def octree(tasks: int, seed: int) -> isthmus.Pattern:
    """Leaves of an octree refined around a sphere, shared out along its Morton curve; faces count."""
    rng = np.random.default_rng(seed)
    centre = rng.uniform(0.35, 0.65, 3)
    cells = [(0, 0, 0, 0)]
    while len(cells) < 4 * tasks:
        # The leaf whose size is largest beside its distance to the sphere is cut next, all of its like together.
        def wish(cell: tuple[int, int, int, int]) -> float:
            size = 0.5 ** cell[0]
            middle = (np.array(cell[1:]) + 0.5) * size
            return size / (0.02 + abs(np.linalg.norm(middle - centre) - 0.3))

        order = np.argsort([-wish(c) for c in cells])
        cut = {int(i) for i in order[: max(1, len(cells) // 8)]}
        new = []
        for i, (level, x, y, z) in enumerate(cells):
            if i not in cut:
                new.append((level, x, y, z))
                continue
            new += [(level + 1, 2 * x + d % 2, 2 * y + d // 2 % 2, 2 * z + d // 4) for d in range(8)]
        cells = new
    # Depth first, so their order is that of the curve.
    owner = np.arange(len(cells)) * tasks // len(cells)
    depth = max(c[0] for c in cells)
    leaf = {c: int(o) for c, o in zip(cells, owner, strict=True)}
    u, v, area = [], [], []
    for (level, x, y, z), mine in leaf.items():
        for step in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (-1, 0, 0), (0, -1, 0), (0, 0, -1)):
            at = (x + step[0], y + step[1], z + step[2])
            if min(at) < 0 or max(at) >= 1 << level:
                continue
            # The neighbour is this cell or one that holds it: every pair of faces is met from the smaller side.
            for up in range(level + 1):
                other = leaf.get((level - up, at[0] >> up, at[1] >> up, at[2] >> up))
                if other is not None:
                    u.append(mine)
                    v.append(other)
                    area.append(10 * 4 ** max(0, min(6, depth - level)))
                    break
    return pattern(tasks, u, v, area)


def fft_pencils(tasks: int, seed: int) -> isthmus.Pattern:
    """All to all in the rows and in the columns of a grid of tasks."""
    rows, columns = extents(tasks, 2)
    rank = np.arange(tasks).reshape(rows, columns)
    pairs = []
    for lines in (rank, rank.T):
        length = lines.shape[1]
        i, j = np.triu_indices(length, 1)
        pairs.append((lines[:, i].ravel(), lines[:, j].ravel(), np.full(lines.shape[0] * len(i), 100_000 // length)))
    u, v, bytes = (np.concatenate(a) for a in zip(*pairs, strict=True))
    return pattern(tasks, u, v, bytes)


def _nine(tasks: int) -> tuple[Any, Any, Any, list[int]]:
    """Pairs of a 9-point stencil: sides 1000, corners 50."""
    dims = extents(tasks, 2)
    rank = np.arange(tasks).reshape(dims)
    both = [(rank[1:], rank[:-1], 1000), (rank[:, 1:], rank[:, :-1], 1000)]
    both += [(rank[1:, 1:], rank[:-1, :-1], 50), (rank[1:, :-1], rank[:-1, 1:], 50)]
    u, v = (np.concatenate([b[i].ravel() for b in both]) for i in (0, 1))
    return u, v, np.concatenate([np.full(b[0].size, b[2]) for b in both]), dims


def nine_point(tasks: int, seed: int) -> isthmus.Pattern:
    """A 9-point stencil whose weights vary from task to task."""
    u, v, bytes, _ = _nine(tasks)
    factor = np.random.default_rng(seed).uniform(0.5, 2, tasks)
    return pattern(tasks, u, v, (bytes * (factor[u] + factor[v])).astype(np.int64))


def holes(tasks: int, seed: int) -> isthmus.Pattern:
    """A 2-D grid without an eighth of its tasks, as ocean models without land: three discs are missing."""
    side = int(np.ceil((tasks * 8 / 7) ** 0.5))
    rng = np.random.default_rng(seed)
    x, y = np.divmod(np.arange(side * side), side)
    centre = rng.uniform(0, side, (3, 2))
    land = np.min([(x - a) ** 2 + (y - b) ** 2 for a, b in centre], axis=0)
    # The points farthest from land are kept.
    kept = np.sort(np.argsort(-land, kind="stable")[:tasks])
    number = np.full(side * side, -1)
    number[kept] = np.arange(tasks)
    s, t = (np.concatenate([p[i] for p in steps(side * side, [side, side], periodic=False)]) for i in (0, 1))
    inside = (number[s] >= 0) & (number[t] >= 0) & (s < t)
    return pattern(tasks, number[s[inside]], number[t[inside]])


def missing(tasks: int, seed: int) -> isthmus.Pattern:
    """A 2-D grid without a tenth of its edges."""
    both = steps(tasks, extents(tasks, 2), periodic=False)
    u, v = (np.concatenate([p[i] for p in both]) for i in (0, 1))
    kept = (u < v) & (np.random.default_rng(seed).random(len(u)) > 0.1)
    return pattern(tasks, u[kept], v[kept])


def regular(tasks: int, seed: int) -> isthmus.Pattern:
    """Random regular of degree 6: three random cycles through all tasks."""
    rng = np.random.default_rng(seed)
    cycles = [rng.permutation(tasks) for _ in range(3)]
    return pattern(tasks, np.concatenate(cycles), np.concatenate([np.roll(c, 1) for c in cycles]))


def cliques(tasks: int, seed: int) -> isthmus.Pattern:
    """Cliques of 12 on a ring, tied to the next by one heavy pair."""
    size = 12
    i, j = np.triu_indices(size, 1)
    base = np.arange(0, tasks - tasks % size, size)
    u, v = (base[:, None] + i).ravel(), (base[:, None] + j).ravel()
    return pattern(
        tasks, np.concatenate([u, base + size - 1]), np.concatenate([v, np.roll(base, -1)]),
        np.concatenate([np.full(len(u), 500), np.full(len(base), 3000)]),
    )  # fmt: skip


def geometric(tasks: int, seed: int) -> isthmus.Pattern:
    """Random points of the square, each with those near by; numbered along one side."""
    points = np.random.default_rng(seed).random((tasks, 2))
    points = points[np.argsort(points[:, 0])]
    radius = np.sqrt(10 / (np.pi * tasks))
    cells: dict[tuple[int, int], list[int]] = {}
    for i, (x, y) in enumerate(points / radius):
        cells.setdefault((int(x), int(y)), []).append(i)
    u, v = [], []
    for (x, y), mine in cells.items():
        near = np.array([t for dx in (-1, 0, 1) for dy in (-1, 0, 1) for t in cells.get((x + dx, y + dy), ())])
        for t in mine:
            found = near[(near > t) & (((points[near] - points[t]) ** 2).sum(axis=1) < radius**2)]
            u += [t] * len(found)
            v += found.tolist()
    return pattern(tasks, u, v)


#: Name -> number of tasks and seed to a pattern.
FAMILIES: dict[str, Callable[[int, int], isthmus.Pattern]] = {
    "banded": banded, "banded shuffled": shuffled(banded), "rmat": rmat, "hypercube": hypercube,
    "octree": octree, "pencils": fft_pencils, "nine-point": nine_point, "nine-point shuffled": shuffled(nine_point),
    "holes shuffled": shuffled(holes), "missing": missing, "missing shuffled": shuffled(missing), "regular": regular,
    "cliques": cliques, "cliques shuffled": shuffled(cliques), "geometric": geometric,
}  # fmt: skip
