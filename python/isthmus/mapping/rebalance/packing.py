"""Objects into bins of given sizes, few of them elsewhere than before: what single moves and exchanges do not reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Objects that a search puts down before it gives up.
_STEPS = 2000


def pack(
    load: NDArray[np.float64], room: NDArray[np.float64], home: NDArray[np.int64], cost: NDArray[np.float64]
) -> NDArray[np.int64] | None:
    """A bin for every object in which all of them have room.

    Objects go down in descending order of load, and back where they find no room. A first search tries the bin of an
    object first, then the others by cost, so that few objects move; a second one the fullest bin that has room.

    Parameters
    ----------
    load : array of float64, shape (objects,)
    room : array of float64, shape (bins,)
    home : array of int64, shape (objects,)
        Where objects are.
    cost : array of float64, shape (objects, bins)

    Returns
    -------
    array of int64, shape (objects,), or None
        None if there is no such packing, or none was found in some thousand steps.
    """
    order = np.argsort(-load, kind="stable")
    price = cost.copy()
    price[np.arange(len(load)), home] = -np.inf
    for prices in (price, None):
        found, complete = _search(load, room, order, prices)
        if found is not None or complete:
            return found
    return None


def _search(
    load: NDArray[np.float64], room: NDArray[np.float64], order: NDArray[np.int64], prices: NDArray[np.float64] | None
) -> tuple[NDArray[np.int64] | None, bool]:
    """A packing; whether everything has been tried."""
    left = room.copy()
    where = np.full(len(load), -1, dtype=np.int64)
    rest = np.append(np.cumsum(load[order][::-1])[::-1], 0.0)
    # For every object that is placed, the bins that are still to be tried.
    open: list[list[int]] = []
    for _ in range(_STEPS):
        depth = len(open)
        if depth == len(order):
            return where, True
        # What no further object fits is lost.
        fits = left >= load[order[-1]]
        open.append(
            [] if left[fits].sum() < rest[depth] * (1 - 1e-12) else _bins(left, int(order[depth]), load, prices)
        )
        while open and not open[-1]:
            open.pop()
            if open:
                o = int(order[len(open) - 1])
                left[where[o]] += load[o]
        if not open:
            return None, True
        o = int(order[len(open) - 1])
        where[o] = open[-1].pop()
        left[where[o]] -= load[o]
    return None, False


def _bins(
    left: NDArray[np.float64], object: int, load: NDArray[np.float64], prices: NDArray[np.float64] | None
) -> list[int]:
    """Bins with room for an object, the one to try first last; of bins with the same room one."""
    fits = np.flatnonzero(left >= load[object])
    rank = left[fits] if prices is None else prices[object, fits]
    fits = fits[np.argsort(rank, kind="stable")]
    _, first = np.unique(left[fits], return_index=True)
    found: list[int] = fits[np.sort(first)[::-1]].tolist()
    return found
