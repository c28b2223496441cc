"""Calls of many ranks at a time, in the order in which they were made, become columns by rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

#: Ranks whose columns are filled at a time: fewer cost calls of NumPy, more leave the cache.
_RANKS = 2048


class Compact:
    """Makes numbers of chunks small: those that are given again and again are made so once."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[ref[Any], Any]] = {}

    def number(self, value: Any) -> Any:
        """One number where all are the same, else an array of few bytes."""
        if not isinstance(value, np.ndarray) or not value.ndim:
            return value
        known = self.known.get(id(value))
        if known is not None and known[0]() is value:
            return known[1]
        low, high = (value.min(), value.max()) if len(value) else (0, 0)
        made = value[0].item() if low == high else _small(value, int(low), int(high))
        self.known[id(value)] = ref(value), made
        return made

    def small(self, value: NDArray[Any]) -> NDArray[Any]:
        """An array of few bytes."""
        known = self.known.get(id(value))
        if known is not None and known[0]() is value and isinstance(known[1], np.ndarray):
            return known[1]
        made = _small(value, int(value.min()), int(value.max()))
        self.known[id(value)] = ref(value), made
        return made


def _small(value: NDArray[Any], low: int, high: int) -> NDArray[Any]:
    for dtype in (np.int32, np.uint32):
        if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
            return value.astype(dtype, copy=False)
    return value


def assemble(
    chunks: Sequence[Mapping[str, Any]], ranks: int, dtypes: Mapping[str, Any], defaults: Mapping[str, int]
) -> tuple[NDArray[np.uint64], dict[str, Any]]:
    """Events of ranks r at ``first[r]`` to ``first[r + 1]``, in the order of the chunks.

    Parameters
    ----------
    chunks : sequence of mapping
        ``rank`` has ranks in ascending order; the others one number for all of them or one for each.
    ranks : int
    dtypes : mapping
        Of the columns.
    defaults : mapping
        Numbers of columns that a chunk does not have; 0 where none is given.
    """
    count = np.zeros(ranks, np.int64)
    for chunk in chunks:
        if len(chunk["rank"]) == ranks:
            count += 1
        else:
            count[chunk["rank"]] += 1
    first = np.concatenate([[0], np.cumsum(count)])
    # What stays 0 is never written, and takes no memory.
    out = {name: np.zeros(int(first[-1]), dtype) for name, dtype in dtypes.items()}
    for name, number in defaults.items():
        if number:
            out[name][:] = number
    del count
    borders = [*range(0, ranks, _RANKS), ranks]
    cuts = [np.searchsorted(chunk["rank"], borders).tolist() for chunk in chunks]
    for block in range(len(borders) - 1):
        low, high = borders[block], borders[block + 1]
        at = first[low:high].copy()
        for chunk, cut in zip(chunks, cuts, strict=True):
            begin, end = cut[block], cut[block + 1]
            if begin == end:
                continue
            inside = slice(None) if end - begin == high - low else chunk["rank"][begin:end] - low
            place = at[inside]
            for name, column in out.items():
                value = chunk.get(name)
                if isinstance(value, np.ndarray) and value.ndim:
                    column[place] = value[begin:end]
                elif value is not None and value != defaults.get(name, 0):
                    column[place] = value
            at[inside] += 1
    return first.astype(np.uint64), out
