"""Shortest paths by SciPy over the links of a topology."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from isthmus._core import Topology
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import shortest_path


def link_ends(topology: Topology) -> np.ndarray:
    """(from, to) of every link."""
    return topology.link_ends(np.arange(topology.links, dtype=np.uint32))


def adjacency(topology: Topology) -> csr_matrix:
    """Number of links from vertex to vertex."""
    ends = link_ends(topology).astype(np.int64)
    shape = (topology.vertices, topology.vertices)
    return csr_matrix((np.ones(len(ends), dtype=np.int64), (ends[:, 0], ends[:, 1])), shape=shape)


def hops(topology: Topology) -> np.ndarray:
    """Hops between all vertices (hosts have one cable here, so they are on no path but their own)."""
    return shortest_path(adjacency(topology), unweighted=True)


def hops_with_one_global_link(topology: Topology) -> np.ndarray:
    """Hops between the nodes of a dragonfly on paths with at most one link of class "global"."""
    names = [name for name, _, _ in topology.link_classes]
    ends = link_ends(topology).astype(np.int64)
    is_global = topology.link_class(np.arange(topology.links, dtype=np.uint32)) == names.index("global")
    v = topology.vertices
    # Two copies of the network: a global link leads from the first to the second, where there are none.
    local = ends[~is_global]
    rows = np.concatenate([local[:, 0], local[:, 0] + v, ends[is_global, 0]])
    columns = np.concatenate([local[:, 1], local[:, 1] + v, ends[is_global, 1] + v])
    graph = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(2 * v, 2 * v))
    n = topology.nodes
    found = shortest_path(graph, unweighted=True, indices=np.arange(n))
    return np.minimum(found[:, :n], found[:, v : v + n])


def pairs(topology: Topology) -> tuple[np.ndarray, np.ndarray]:
    """All ordered pairs of nodes."""
    ids = np.arange(topology.nodes, dtype=np.uint32)
    return np.repeat(ids, topology.nodes), np.tile(ids, topology.nodes)


def split_routes(result: tuple[np.ndarray, np.ndarray]) -> list[list[int]]:
    """(offsets, links) as one list a route."""
    offsets, links = result
    return [links[i:j].tolist() for i, j in pairwise(offsets)]


def lead(topology: Topology, a: np.ndarray, b: np.ndarray, result: tuple[np.ndarray, np.ndarray]) -> bool:
    """Is every route a walk, link by link, from its source to its destination?"""
    offsets, links = result
    offsets = offsets.astype(np.int64)
    ends = topology.link_ends(links)
    empty = offsets[:-1] == offsets[1:]
    first, last = offsets[:-1][~empty], offsets[1:][~empty] - 1
    inside = np.ones(len(links), dtype=bool)
    inside[first] = False
    return bool(
        (a[empty] == b[empty]).all()
        and (ends[first, 0] == a[~empty]).all()
        and (ends[last, 1] == b[~empty]).all()
        and (ends[inside, 0] == ends[np.flatnonzero(inside) - 1, 1]).all()
    )


def count_shortest(topology: Topology, source: int) -> np.ndarray:
    """Number of shortest routes from a node to every vertex, parallel links told apart, by powers of the adjacency
    matrix: the first power whose entry is not zero counts them."""
    matrix = adjacency(topology)
    count = np.zeros(topology.vertices, dtype=np.int64)
    walks = np.zeros(topology.vertices, dtype=np.int64)
    walks[source] = count[source] = 1
    while (count == 0).any():
        walks = matrix.T @ walks
        count = np.where(count == 0, walks, count)
    return count


def dimension_order(dims: list[int], wrap: list[bool], a: int, b: int) -> list[int]:
    """Vertices of the dimension-order route, x first; where both ways are equally long, the positive one if
    the source's coordinate and the ways ahead in the other dimensions have an even sum."""
    strides = [math.prod(dims[:d]) for d in range(len(dims))]
    source = [a // stride % extent for stride, extent in zip(strides, dims, strict=True)]
    target = [b // stride % extent for stride, extent in zip(strides, dims, strict=True)]
    aheads = [
        (t - s) % extent if ring else abs(t - s) for s, t, extent, ring in zip(source, target, dims, wrap, strict=True)
    ]
    at, out = a, [a]
    for d, (extent, ring) in enumerate(zip(dims, wrap, strict=True)):
        here, there, stride, ahead = source[d], target[d], strides[d], aheads[d]
        even = (here + sum(aheads) - ahead) % 2 == 0
        step = 1 if (2 * ahead < extent or (2 * ahead == extent and even) if ring else there > here) else -1
        while here != there:
            here = (here + step) % extent
            at += (here - at // stride % extent) * stride
            out.append(at)
    return out
