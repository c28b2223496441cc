"""A mesh of blocks that is refined around a front: exchanges between blocks of different size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .parts import Messages, exchange, work

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .steps import Steps

#: The front: a sphere in the unit cube.
_CENTRE, _RADIUS = 0.5, 0.3


def amr(
    b: Steps, blocks: int, levels: int, cells: int, variables: int, sums: int, steps: int, compute: float,
    spread: float, seed: int,
) -> None:  # fmt: skip
    """Blocks along a curve that fills space, as many on each rank; one message to each rank that has a neighbour."""
    ranks = b.ranks
    mesh = refined(max(1, round((ranks * blocks) ** (1 / 3) + 0.499)), levels)
    owner = np.arange(len(mesh)) * ranks // len(mesh)
    one, other, finer = contacts(mesh)
    # Of a face between blocks of one size all cells; between two sizes a quarter, as fine values are averaged.
    faces = np.where(finer, cells * cells // 4, cells * cells) * variables * 8
    source, target = owner[np.concatenate([one, other])], owner[np.concatenate([other, one])]
    between = source != target
    pairs, inverse = np.unique((source * ranks + target)[between], return_inverse=True)
    sizes = np.bincount(inverse, np.concatenate([faces, faces])[between], len(pairs)).astype(np.int64)
    halo = Messages(pairs // ranks, pairs % ranks, sizes)
    own = np.bincount(owner, minlength=ranks)
    seconds = work(ranks, compute, spread, seed) * own / own.mean()
    for _ in range(steps):
        exchange(b, halo)
        b.cut()
        b.compute(None, seconds)
        for _ in range(sums):
            b.allreduce(None, 8)


def refined(side: int, levels: int) -> NDArray[np.int64]:
    """Blocks of a mesh: rows of level, x, y, z, along Morton's curve.

    Of side^3 blocks those that the front crosses are cut in eight, ``levels`` times, and then others until neighbours
    differ by one level at most.
    """
    mesh = np.stack([np.zeros(side**3, np.int64), *(a.reshape(-1) for a in np.mgrid[:side, :side, :side])], 1)
    for level in range(levels):
        width = 1 / (side << level)
        away = np.abs(np.sqrt((((mesh[:, 1:] + 0.5) * width - _CENTRE) ** 2).sum(1)) - _RADIUS)
        mesh = _cut(mesh, (mesh[:, 0] == level) & (away < width * 0.866))
    while len(large := _too_large(mesh)):
        mask = np.zeros(len(mesh), bool)
        mask[large] = True
        mesh = _cut(mesh, mask)
    fine = mesh[:, 1:] << (levels - mesh[:, :1])
    return mesh[np.argsort(_morton(fine), kind="stable")]


def contacts(mesh: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Pairs of blocks that share a face, each once, and whether the first is the finer of two levels."""
    found = []
    for axis in range(3):
        for way in (1, -1):
            there = mesh.copy()
            there[:, 1 + axis] += way
            same = _find(mesh, there)
            if way == 1:
                found.append((np.flatnonzero(same >= 0), same[same >= 0], False))
            parent = there.copy()
            parent[:, 0] -= 1
            parent[:, 1:] >>= 1
            coarse = _find(mesh, parent)
            coarse[same >= 0] = -1
            found.append((np.flatnonzero(coarse >= 0), coarse[coarse >= 0], True))
    finer = np.concatenate([np.full(len(one), value) for one, _, value in found])
    return np.concatenate([one for one, _, _ in found]), np.concatenate([other for _, other, _ in found]), finer


def _cut(mesh: NDArray[np.int64], which: NDArray[np.bool_]) -> NDArray[np.int64]:
    """These blocks in eight each, at the end."""
    eight = np.stack([a.reshape(-1) for a in np.mgrid[:2, :2, :2]], 1)
    old = mesh[which]
    new = np.concatenate([np.repeat(old[:, :1] + 1, 8, 0), (2 * old[:, None, 1:] + eight).reshape(-1, 3)], 1)
    return np.concatenate([mesh[~which], new])


def _too_large(mesh: NDArray[np.int64]) -> NDArray[np.int64]:
    """Blocks with a neighbour that is two levels finer."""
    found = [np.zeros(0, np.int64)]
    for axis in range(3):
        for way in (1, -1):
            there = mesh.copy()
            there[:, 1 + axis] += way
            there[:, 0] -= 2
            there[:, 1:] >>= 2
            at = _find(mesh, there[mesh[:, 0] >= 2])
            found.append(at[at >= 0])
    return np.unique(np.concatenate(found))


def _find(mesh: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Positions of these blocks in the mesh, -1 for those that are not there."""
    if not len(wanted):
        return np.zeros(0, np.int64)
    key, other = _key(mesh), _key(wanted)
    order = np.argsort(key)
    at = np.minimum(np.searchsorted(key[order], other), len(mesh) - 1)
    found: NDArray[np.int64] = np.where((key[order[at]] == other) & (wanted >= 0).all(1), order[at], -1)
    return found


def _key(mesh: NDArray[np.int64]) -> NDArray[np.int64]:
    level, x, y, z = mesh.T
    key: NDArray[np.int64] = (level << 57) + (x << 38) + (y << 19) + z
    return key


def _morton(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bits of three coordinates in turns."""
    out = np.zeros(len(places), np.int64)
    for bit in range(19):
        for axis in range(3):
            out |= ((places[:, axis] >> bit) & 1) << (3 * bit + 2 - axis)
    return out
