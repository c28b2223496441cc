"""Channel dependency graphs (Dally and Seitz 1987)."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components


def acyclic(offsets: np.ndarray, links: np.ndarray, channels: np.ndarray) -> bool:
    """No cycle among the (link, channel) pairs that follow each other on the routes."""
    keys, hop = np.unique(links.astype(np.int64) * 256 + channels, return_inverse=True)
    starts = np.zeros(len(links) + 1, dtype=bool)
    starts[offsets.astype(np.int64)] = True
    follows = np.flatnonzero(~starts[: len(links)])
    graph = csr_matrix((np.ones(len(follows)), (hop[follows - 1], hop[follows])), shape=(len(keys), len(keys)))
    # A cycle is a strong component of several vertices, or a loop.
    strong, _ = connected_components(graph, directed=True, connection="strong")
    return strong == len(keys) and graph.diagonal().sum() == 0
