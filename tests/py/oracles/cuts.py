"""Bisection by trying all halvings of the nodes, switches placed by a minimum cut."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from isthmus._core import Topology
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_flow

from .paths import link_ends


def smallest_cut(topology: Topology, weights: np.ndarray) -> int:
    """The least weight of the links from one half of the nodes to the other; weights are whole numbers."""
    n, v = topology.nodes, topology.vertices
    ends = link_ends(topology).astype(np.int64)
    capacity = np.zeros((v + 2, v + 2), dtype=np.int64)
    np.add.at(capacity, (ends[:, 0], ends[:, 1]), weights)
    source, sink, without_limit = v, v + 1, int(weights.sum()) + 1
    best = without_limit
    # Links are counted out of the half in one direction: where both directions weigh the same, half of the halves do.
    symmetric = (capacity == capacity.T).all()
    for size in {n // 2} if symmetric else {n // 2, n - n // 2}:
        for half in combinations(range(n), size):
            if symmetric and 2 * size == n and 0 not in half:
                continue
            inside = np.zeros(n, dtype=bool)
            inside[list(half)] = True
            if topology.switches == 0:
                best = min(best, int(capacity[:n, :n][inside][:, ~inside].sum()))
                continue
            capacity[source, :n] = np.where(inside, without_limit, 0)
            capacity[:n, sink] = np.where(inside, 0, without_limit)
            flow = maximum_flow(csr_matrix(capacity.astype(np.int32)), source, sink)
            best = min(best, int(flow.flow_value))
    return best


def bisection(topology: Topology) -> tuple[int, float]:
    """Fewest links and least bandwidth, each of its own best halving."""
    if topology.nodes < 2:
        return 0, 0.0
    every = np.arange(topology.links, dtype=np.uint32)
    links = smallest_cut(topology, np.ones(topology.links, dtype=np.int64))
    bandwidth = topology.bandwidth(every)
    if len(set(bandwidth)) == 1:
        return links, links * float(bandwidth[0])
    unit = 1e8
    return links, smallest_cut(topology, np.rint(bandwidth / unit).astype(np.int64)) * unit
