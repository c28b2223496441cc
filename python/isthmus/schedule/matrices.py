"""Patterns as matrices of senders by receivers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from ..extras import optional

if TYPE_CHECKING:
    import scipy.sparse
    from numpy.typing import NDArray


#: What the largest entry becomes where entries are no whole numbers.
_LARGEST = 2.0**40


def entries(
    matrix: Any, scale: float | None, name: str
) -> tuple[int, NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64]]:
    """Ranks, and row, column and whole value of every entry that is not zero; see Pattern.from_scipy."""
    if hasattr(matrix, "tocoo"):
        shape, found = matrix.shape, matrix.tocoo()
        row, column, value = np.asarray(found.row), np.asarray(found.col), np.asarray(found.data)
    else:
        dense = np.asarray(matrix)
        shape = dense.shape
        row, column = np.nonzero(dense) if dense.ndim == 2 else (dense, dense)
        value = dense[row, column] if dense.ndim == 2 else dense
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] == 0:
        raise InvalidInput(f"{name} has the shape {tuple(shape)}: must be (ranks, ranks)")
    if value.dtype.kind not in "iufb":
        raise InvalidInput(f"{name} is of {value.dtype}: must be whole numbers or floats")
    if value.dtype.kind == "f" or scale not in (None, 1.0):
        real = value.astype(np.float64)
        if not np.isfinite(real).all():
            raise InvalidInput(f"{name} must have numbers as entries")
        if scale is None:
            whole = bool((real == np.rint(real)).all())
            scale = 1.0 if whole or not len(real) else _LARGEST / float(np.abs(real).max())
        if not 0 < scale < np.inf:
            raise InvalidInput(f"scale = {scale}: must be more than 0")
        value = np.rint(real * scale)
    if len(value) and (value.min() < 0 or float(value.sum(dtype=np.float64)) >= 2.0**63):
        raise InvalidInput(
            f"{name} has entries from {value.min()} to {value.max()}: must be 0 or more, with a sum below 2^63"
        )
    kept = value != 0
    return shape[0], row[kept].astype(np.int64), column[kept].astype(np.int64), value[kept].astype(np.uint64)


def sparse(first: NDArray[np.uint64], column: NDArray[np.uint32], values: NDArray[np.uint64]) -> scipy.sparse.csr_array:
    """A square matrix: row i has the columns and values from first[i] to first[i + 1]."""
    csr_array = optional("scipy.sparse", "sparse matrices", "data").csr_array
    rows = len(first) - 1
    arrays = (values.astype(np.int64), column.astype(np.int64), first.astype(np.int64))
    made: scipy.sparse.csr_array = csr_array(arrays, shape=(rows, rows))
    return made
