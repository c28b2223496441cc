"""Events of one rank, collected kind by kind and put into the order of the program at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..schedule.details import ranges
from ..schedule.program import EVENT_COLUMNS, EventKind
from .spill import Column, Spill

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

#: Columns while events are collected: communicators are those of the rank, -1 for none.
_COLUMNS = {**EVENT_COLUMNS, "comm": np.int32}
#: Column of the call that an event comes of; -1: of none.
_STEP = "step"
_TYPES = {**_COLUMNS, _STEP: np.int64}


class Details:
    """Lists of numbers as a Program holds them: one array, each list preceded by its length."""

    def __init__(self, column: Column | None = None) -> None:
        self._column = column or Spill().column()
        self._column.add(np.zeros(1, np.int64))
        self._size = 1
        self._known: dict[bytes, int] = {}

    def add(self, values: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Places of these lists, which stand one after another in ``values``."""
        begin = np.cumsum(lengths + 1) - (lengths + 1)
        out = np.empty(len(values) + len(lengths), np.int64)
        out[begin] = lengths
        out[ranges(begin + 1, lengths)] = values
        self._column.add(out)
        self._size += len(out)
        return begin + self._size - len(out)

    def shared(self, values: NDArray[np.int64]) -> int:
        """Place of a list that may be there already: programs call with the same counts again and again."""
        key = values.tobytes()
        if key not in self._known:
            self._known[key] = int(self.add(values, np.array([len(values)]))[0])
        return self._known[key]

    def array(self) -> NDArray[np.int64]:
        """All of them, which may be changed in place until more are added."""
        return self._column.array()


class Emission:
    """Events with the points in time at which they happen; those of one point stay in the order of emission."""

    def __init__(self) -> None:
        self._blocks: list[dict[str, NDArray[Any]]] = []
        self._points: list[NDArray[np.int64]] = []
        self._size = 0

    def add(self, point: NDArray[np.int64], kind: ArrayLike, step: ArrayLike = -1, **columns: ArrayLike) -> Any:
        """Events of one kind; columns that are not given are 0. Returns their numbers in the order of emission."""
        size = len(point)
        if not size:  # most kinds do not occur in a piece
            return np.empty(0, np.int64)
        given: dict[str, ArrayLike] = {"comm": -1, "kind": kind, _STEP: step, **columns}
        block = {}
        for name, dtype in _TYPES.items():
            column = given.get(name, 0)
            if isinstance(column, np.ndarray) and column.ndim:
                block[name] = column.astype(dtype, copy=False)
            else:
                block[name] = np.full(size, column, dtype)
        self._blocks.append(block)
        self._points.append(point)
        self._size += size
        return np.arange(self._size - size, self._size)

    def compute(self, point: NDArray[np.int64], nanoseconds: NDArray[np.int64], step: NDArray[np.int64] | int) -> Any:
        """Computations, of those that last."""
        lasting = nanoseconds > 0
        of = step if isinstance(step, int) else step[lasting]
        return self.add(point[lasting], EventKind.compute, of, amount=nanoseconds[lasting] * 1000)

    def finish(self) -> tuple[dict[str, NDArray[Any]], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Columns in the order of the program, their points and steps, and the place of each emitted event."""
        names = (*_COLUMNS, _STEP)
        joined = {
            name: np.concatenate([b[name] for b in self._blocks]) if self._blocks else np.empty(0, _TYPES[name])
            for name in names
        }
        point = np.concatenate([np.empty(0, np.int64), *self._points])
        self._blocks.clear()
        order = np.argsort(point, kind="stable")
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        columns = {name: joined.pop(name)[order] for name in names}
        return columns, point[order], columns.pop(_STEP), place
