"""Node ids and pairs as users give them: numbers, or arrays that are broadcast against each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InvalidInput

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def node_ids(nodes: ArrayLike, count: int, name: str) -> NDArray[np.uint32]:
    """Check node ids of a machine or topology with this number of nodes.

    Raises
    ------
    InvalidInput
        If a number is not whole or not a node.
    """
    given = np.asarray(nodes)
    if not given.size:  # of which NumPy makes floats
        return np.zeros(given.shape, dtype=np.uint32)
    if given.dtype.kind not in "iu":
        raise InvalidInput(f"nodes must be whole numbers, not {given.dtype}")
    if given.min() < 0 or given.max() >= count:
        worst = given.min() if given.min() < 0 else given.max()
        raise InvalidInput(f"node {worst} of {name}: nodes are 0 to {count - 1}")
    return np.asarray(given, dtype=np.uint32, order="C")


def columns_of(a: NDArray[np.uint32], b: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], ...]:
    """Return pairs as two columns, after broadcasting."""
    return tuple(np.ascontiguousarray(v).reshape(-1) for v in np.broadcast_arrays(a, b))


def of_pairs(
    numbers: Callable[..., NDArray[np.uint32]], a: ArrayLike, b: ArrayLike, count: int, name: str
) -> int | NDArray[np.uint32]:
    """Return one number per pair, in the shape of the pairs; an int for a single pair."""
    x, y = node_ids(a, count, name), node_ids(b, count, name)
    out = numbers(*columns_of(x, y))
    shape = np.broadcast_shapes(x.shape, y.shape)
    return out.reshape(shape) if shape else int(out[0])
