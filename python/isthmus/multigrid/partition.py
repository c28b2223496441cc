"""Who owns which rows of a distributed matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InvalidInput
from ..extras import optional

if TYPE_CHECKING:
    import scipy.sparse


def boxes(shape: Sequence[int], parts: int | Sequence[int]) -> NDArray[np.uint32]:
    """Cut a grid of unknowns into boxes.

    Parameters
    ----------
    shape : sequence of int
        Points of the grid along each dimension; numbers of unknowns run through the last one first.
    parts : int or sequence of int
        Boxes along each dimension, or how many in all: then the boxes with the least surface.

    Returns
    -------
    array of uint32
        The box of every unknown, numbered as unknowns are. Extents of boxes differ by at most one point.

    Raises
    ------
    InvalidInput
        If there are more boxes than points along a dimension, or no such number of boxes fits.

    Examples
    --------
    >>> boxes((4, 2), (2, 1))
    array([0, 0, 0, 0, 1, 1, 1, 1], dtype=uint32)
    """
    if not shape or min(shape) < 1:
        raise InvalidInput(f"a grid of {tuple(shape)} points: every extent must be at least 1")
    counts = box_counts(shape, parts) if isinstance(parts, int) else tuple(parts)
    if len(counts) != len(shape):
        raise InvalidInput(f"{len(counts)} numbers of boxes for {len(shape)} dimensions")
    owner = np.zeros((1,) * len(shape), np.uint32)
    for axis, (extent, count) in enumerate(zip(shape, counts, strict=True)):
        if not 1 <= count <= extent:
            raise InvalidInput(f"{count} boxes along {extent} points: must be from 1 to {extent}")
        box = (np.arange(extent) * count // extent).astype(np.uint32)
        owner = owner * np.uint32(count) + box.reshape([-1 if a == axis else 1 for a in range(len(shape))])
    return owner.ravel()


def cut(
    matrix: scipy.sparse.sparray | scipy.sparse.spmatrix, parts: int, *, by: str = "metis", unknowns: int = 1
) -> NDArray[np.uint32]:
    """Cut the graph of a matrix into parts with as many rows in each, so that few nonzeros join two parts.

    Parameters
    ----------
    matrix : sparse matrix, shape (rows, rows)
        Rows are joined where one has a nonzero in the column of the other; values do not matter.
    parts : int
    by : str
        ``"metis"`` (PyPI pymetis) or ``"kahip"`` (PyPI kahip, its fast configuration).
    unknowns : int
        Consecutive rows that belong to one point and stay together.

    Returns
    -------
    array of uint32, rows
        The part of every row; each part has one.

    Raises
    ------
    InvalidInput
        If the matrix is not square, or has fewer points than parts.
    Unsupported
        If the package is not installed.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> A = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(8, 8))
    >>> sorted(np.bincount(cut(A, 2)).tolist())
    [4, 4]
    """
    if by not in CUTTERS:
        raise InvalidInput(f"a cut by {by!r}: must be one of {', '.join(CUTTERS)}")
    rows, columns = matrix.shape
    if rows != columns:
        raise InvalidInput(f"the matrix has {rows} rows and {columns} columns: must be square")
    if unknowns < 1 or rows % unknowns:
        raise InvalidInput(f"{unknowns} unknowns of a point: must divide the {rows} rows")
    points = rows // unknowns
    if not 1 <= parts <= points:
        raise InvalidInput(f"{parts} parts of a matrix with {points} points: must be from 1 to {points}")
    if parts == 1:
        return np.zeros(rows, np.uint32)
    first, near = _graph(matrix, unknowns)
    of = CUTTERS[by](first, near, parts)
    _fill(of, parts)
    return np.repeat(of, unknowns)


def _graph(
    matrix: scipy.sparse.sparray | scipy.sparse.spmatrix, unknowns: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Neighbours of every point, as first entries and entries; of both directions, without the point itself."""
    sparse = optional("scipy.sparse", "cuts of matrices", "multigrid")
    entries = sparse.coo_array(matrix)
    i, j = entries.row // unknowns, entries.col // unknowns
    apart = i != j
    i, j = i[apart], j[apart]
    points = matrix.shape[0] // unknowns
    ones = np.ones(2 * len(i), np.int8)
    near = sparse.coo_array((ones, (np.concatenate([i, j]), np.concatenate([j, i]))), shape=(points, points)).tocsr()
    return near.indptr.astype(np.int32), near.indices.astype(np.int32)


def _metis(first: NDArray[np.int32], near: NDArray[np.int32], parts: int) -> NDArray[np.uint32]:
    pymetis = optional("pymetis", "cuts by METIS", "partition")
    graph = pymetis.CSRAdjacency(adj_starts=first, adjacent=near)
    return np.asarray(pymetis.part_graph(parts, graph, options=pymetis.Options(seed=1))[1], np.uint32)


def _kahip(first: NDArray[np.int32], near: NDArray[np.int32], parts: int) -> NDArray[np.uint32]:
    kahip = optional("kahip", "cuts by KaHIP", "partition")
    weights = np.ones(len(first) - 1, np.int32), np.ones(len(near), np.int32)
    found = kahip.kaffpa(weights[0], first, weights[1], near, parts, 0.03, True, 1, kahip.FAST)
    return np.asarray(found[1], np.uint32)


#: What cuts a graph into parts.
CUTTERS = {"metis": _metis, "kahip": _kahip}


def _fill(of: NDArray[np.uint32], parts: int) -> None:
    """Give every part that has nothing, as there may be where points are few, a point of the part that has most."""
    held = np.bincount(of, minlength=parts)
    for empty in np.flatnonzero(held == 0):
        most = int(np.argmax(held))
        of[np.flatnonzero(of == most)[-1]] = empty
        held[most] -= 1
        held[empty] = 1


def box_counts(shape: Sequence[int], parts: int) -> tuple[int, ...]:
    """Return numbers of boxes along the dimensions whose product is ``parts``, with the least surface of a box."""
    best: tuple[float, tuple[int, ...]] | None = None

    def descend(left: int, counts: tuple[int, ...]) -> None:
        nonlocal best
        extent = shape[len(counts)]
        if len(counts) == len(shape) - 1:
            if left <= extent:
                counts = (*counts, left)
                surface = sum(c / e for c, e in zip(counts, shape, strict=True))
                if best is None or surface < best[0]:
                    best = surface, counts
            return
        for count in range(1, min(left, extent) + 1):
            if left % count == 0:
                descend(left // count, (*counts, count))

    if parts < 1:
        raise InvalidInput(f"{parts} parts: there must be at least one")
    descend(parts, ())
    if best is None:
        raise InvalidInput(f"a grid of {' x '.join(map(str, shape))} points cannot be cut into {parts} boxes")
    return best[1]


def coarse_owner(interpolation: scipy.sparse.sparray | scipy.sparse.spmatrix, owner: ArrayLike) -> NDArray[np.uint32]:
    """Tell who owns the rows of the next coarser level: the part whose fine rows take most of each.

    In classical multigrid a coarse row is a fine one that was chosen, with weight 1, and those around it take the rest;
    in aggregation it is an aggregate. Both go to the part where most of that is.

    Parameters
    ----------
    interpolation : sparse matrix, shape (fine rows, coarse rows)
    owner : array of int, fine rows

    Returns
    -------
    array of uint32, coarse rows
        Of parts with equal shares the first.

    Raises
    ------
    InvalidInput
        If a coarse row takes part in no fine one, or the numbers of rows differ.
    """
    csr_array = optional("scipy.sparse", "owners of coarse rows", "multigrid").csr_array
    fine = np.asarray(owner, np.uint32)
    if len(fine) != interpolation.shape[0]:
        raise InvalidInput(f"interpolation to {interpolation.shape[0]} rows, and owners of {len(fine)} are given")
    parts = int(fine.max(initial=0)) + 1
    owns = csr_array(
        (np.ones(len(fine)), np.argsort(fine, kind="stable"), np.concatenate([[0], np.cumsum(np.bincount(fine))])),
        shape=(parts, len(fine)),
    )
    shares = (owns @ abs(interpolation.tocsr())).tocsc()
    shares.sort_indices()
    counts = np.diff(shares.indptr)
    if (counts == 0).any():
        raise InvalidInput(f"coarse row {int(np.argmin(counts))} takes part in no fine row")
    most = np.maximum.reduceat(shares.data, shares.indptr[:-1])
    first, column = np.flatnonzero(shares.data == np.repeat(most, counts)), np.repeat(np.arange(len(counts)), counts)
    chosen = first[np.unique(column[first], return_index=True)[1]]
    out: NDArray[np.uint32] = shares.indices[chosen].astype(np.uint32)
    return out
