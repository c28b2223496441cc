"""How many places there are within a distance of one place."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._core import Topology

#: Places up to which distances are looked at one by one.
PAIRS = 4096
#: Pairs that are looked at together: as many as stay in a cache.
_TOGETHER = 1 << 16


def _is_grid(topology: Topology, *kinds: str) -> bool:
    return "slot" not in topology.dim_names and topology.kind in kinds


def pair_by_pair(topology: Topology, places: int) -> bool:
    """Are the distances of so many places looked at one by one?"""
    return places <= PAIRS and not (_is_grid(topology, "torus", "ring") and places == topology.nodes)


def places_within(
    topology: Topology,
    places: int,
    distance: Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.uint32]],
) -> list[int]:
    """For every distance from 0 on, how many places there are at most within it of one place; the last has all.

    ``distance`` tells the links between places, element by element.
    """
    if pair_by_pair(topology, places):
        most = np.zeros(1, np.int64)
        every = np.arange(places)
        rows = max(_TOGETHER // places, 1)
        for first in range(0, places, rows):
            some = every[first : first + rows]
            far = distance(np.repeat(some, places), np.tile(every, len(some))).reshape(len(some), places)
            size = max(len(most), int(far.max()) + 1)
            row = size * np.arange(len(some))[:, None]
            count = np.bincount((far + row).ravel(), minlength=size * len(some)).reshape(len(some), size).cumsum(axis=1)
            # Beyond its farthest place, a place has all of them.
            most = np.maximum(np.pad(most, (0, size - len(most)), mode="edge"), count.max(axis=0))
        return [int(c) for c in most]
    if _is_grid(topology, "torus", "ring", "mesh", "linear"):
        # No place of a part of a torus, or of a mesh, has more within a distance than one of the whole torus.
        count = np.ones(1, np.int64)
        for extent in topology.dims:
            x = np.arange(extent)
            count = np.convolve(count, np.bincount(np.minimum(x, extent - x)))
        return [int(min(c, places)) for c in np.cumsum(count)]
    terminals = "slot" in topology.dim_names or topology.switches > 0
    return [1, 1, places] if terminals else [1, places]
