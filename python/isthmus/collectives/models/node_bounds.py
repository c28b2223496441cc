"""Lower bounds between nodes whose ranks share interfaces: what has to enter or leave a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .bounds import per_byte, spreading
from .parameters import Parameters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ...machine import Level


def node_bound(
    collective: str, network: Level, *, ranks_of_nodes: Sequence[int], interfaces: int, sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Seconds that every algorithm needs between nodes, one entry for each size; 0 on one node.

    A node is taken for one rank with all of its ranks' processors and interfaces, within which everything is known at
    once. Then all that :func:`bound` says holds: the optimal broadcast or summation among nodes, and the bytes that one
    node has to take or give, P - p blocks of an allgather with p of P ranks on the node, p (P - p) of an alltoall.

    Parameters
    ----------
    collective : str
    network : Level
        LogGOPS parameters between nodes.
    ranks_of_nodes : sequence of int
        How many ranks every node has.
    interfaces : int
        Network interfaces of a node.
    sizes : array of int
        Bytes of the collective.
    """
    p = Parameters.of(network.least())
    here = np.asarray(ranks_of_nodes, np.int64)
    nodes, ranks, most = len(here), int(here.sum()), int(here.max())
    if nodes < 2:
        return np.zeros(len(sizes))
    delay = p.o_send + p.L + p.o_recv
    heard = max(spreading(nodes, min(p.o_send, p.o_recv), delay, most), spreading(nodes, p.g, delay, interfaces))
    blocks = {
        "barrier": 0.0,
        "allreduce": 2 * (nodes - 1) / nodes,
        "gather": float(ranks - most),
        "scatter": float(ranks - most),
        "allgather": float(ranks - int(here.min())),
        "alltoall": float((here * (ranks - here)).max()),
        "reduce_scatter": ranks * (nodes - 1) / nodes,
    }.get(collective, 1.0)
    overhead, by_processor = (p.o_send, p.O) if collective == "scatter" else (p.o_recv, p.O_recv)
    byte = per_byte(overhead / most, by_processor / most, p.g / interfaces, p.G / interfaces)
    moved = delay + np.maximum(blocks * sizes - max(interfaces, most), 0) * byte
    some = np.ones(len(sizes), bool) if collective == "barrier" else sizes > 0
    return np.asarray(np.where(some, np.maximum(heard, moved), 0.0) * 1e-12)
