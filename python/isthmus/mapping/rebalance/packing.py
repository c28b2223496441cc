"""Objects into bins of given sizes, few of them elsewhere than before: what single moves and exchanges do not reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import _core

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
    found = _core.pack(load, room, home.astype(np.uint32), np.ascontiguousarray(cost, np.float64).reshape(-1))
    return None if found is None else found.astype(np.int64)
