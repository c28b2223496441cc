"""Ranks in the order of places: what launchers with a fixed order of places, and reordered communicators, need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...machine.allocation import Allocation
    from ...machine.parts import Node
    from ...machine.placement import Placement


def slot_order(placement: Placement, job: Allocation) -> NDArray[np.int64]:
    """Ranks sorted by their node's place in the job, then by core, then by number.

    A program that runs with its ranks on these places in order gets the placement from ``MPI_Comm_split`` with the
    element at its rank as the key.
    """
    return np.lexsort((np.arange(placement.ranks), placement.core, job._index(placement.node)))


def place_on_node(placement: Placement, job: Allocation) -> NDArray[np.int64]:
    """For every rank, how many ranks of its node come before it by core, then by number."""
    order = slot_order(placement, job)
    node = placement.node[order]
    starts = np.flatnonzero(np.concatenate([[True], node[1:] != node[:-1]]))
    out = np.empty(placement.ranks, dtype=np.int64)
    out[order] = np.arange(placement.ranks) - np.repeat(starts, np.diff(np.append(starts, placement.ranks)))
    return out


def logical_core(node: Node, core: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Cores counted socket by socket, as hwloc does, from cores as the machine numbers them."""
    number = core.astype(np.int64)
    if node.core_order == "block":
        return number
    return number % node.sockets * (node.cores // node.sockets) + number // node.sockets


def numbered_core(node: Node, logical: int) -> int:
    """The inverse of :func:`logical_core`."""
    if node.core_order == "block":
        return logical
    socket, within = divmod(logical, node.cores // node.sockets)
    return within * node.sockets + socket
