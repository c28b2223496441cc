"""How far the nodes of a job are apart, and how many links they share: by rules for kinds of networks.

The rules are those of Gahvari et al.: on a torus the geometry of a box decides; elsewhere the number of links is the
middle between nodes that fill one group (a pod of a fat tree, a group of a dragonfly) after the other and nodes that
are spread over all of them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput
from ..extras import optional

if TYPE_CHECKING:
    from ..machine import Machine

#: Nodes from which distances to all others are looked at.
_SOURCES = 64


def reach(machine: Machine, nodes: int) -> tuple[int, float]:
    """Return the longest shortest path between nodes of a job, and its number of links.

    Each direction of a link counts. On networks of groups, links between groups count as their bandwidth relative to
    that of the first class of links within groups.

    Parameters
    ----------
    machine : Machine
    nodes : int
        Of the job.

    Raises
    ------
    InvalidInput
        If the machine has fewer nodes.

    Examples
    --------
    >>> import isthmus
    >>> reach(isthmus.load("torus:8x8x8"), 64)  # a box of 4 x 4 x 4, without links around the torus
    (9, 288.0)
    """
    topology = machine.topology
    if not 1 <= nodes <= topology.nodes:
        raise InvalidInput(f"the job takes {nodes} nodes: must be from 1 to {topology.nodes}, which {machine.name} has")
    if topology.kind in ("torus", "mesh"):
        return _box(topology, nodes, topology.kind == "torus")
    ends, kind = _links(topology)
    between = _between(topology, kind, ends)
    spread = np.unique(np.arange(nodes) * topology.nodes // nodes)
    filled = np.arange(nodes)
    sources = filled[np.unique(np.linspace(0, nodes - 1, min(nodes, _SOURCES)).astype(int))]
    far = int(
        np.asarray(topology.distance(sources[:, None].astype(np.uint32), filled[None, :].astype(np.uint32))).max()
    )
    return far, 0.5 * (_within(topology, filled, between) + _within(topology, spread, between))


@lru_cache(maxsize=4096)
def _sides(dims: tuple[int, ...], routers: int) -> tuple[int, ...]:
    """The box of so many routers or a few more, with the shortest sides."""
    # All boxes, in the order of their sides; of the best the first.
    sides = np.indices(dims).reshape(len(dims), -1) + 1
    volume = sides.prod(axis=0)
    rank = sides.sum(axis=0) * (int(volume[-1]) + 1) + volume
    rank[volume < routers] = np.iinfo(rank.dtype).max
    return tuple(sides[:, int(np.argmin(rank))].tolist())


def _box(topology: Any, nodes: int, around: bool) -> tuple[int, float]:
    dims, per_router = topology.dims, 1
    routers = topology.vertices - topology.nodes
    if routers:
        dims, per_router = dims[:-1], topology.nodes // routers
    sides = _sides(tuple(dims), -(-nodes // per_router))
    rings = [around and side == extent and side > 2 for side, extent in zip(sides, dims, strict=True)]
    far = sum(side // 2 if ring else side - 1 for side, ring in zip(sides, rings, strict=True))
    volume = int(np.prod(sides))
    links = sum(2 * volume // s * (s if ring else s - 1) for s, ring in zip(sides, rings, strict=True))
    return far + (2 if routers else 0), float(links + (2 * nodes if routers else 0))


def _links(topology: Any) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    every = np.arange(topology.links, dtype=np.uint32)
    return topology.link_ends(every), topology.link_class(every)


_Groups = tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64]]


def _between(topology: Any, kind: NDArray[np.uint32], ends: NDArray[np.uint32]) -> _Groups:
    """Ends of links, how much each counts, and the group of every vertex: what links of the top class join."""
    names = [name for name, _, _ in topology.link_classes]
    bandwidth = [rate for _, rate, _ in topology.link_classes]
    top = names.index("global") if "global" in names else max(range(len(names)), key=names.__getitem__)
    sparse, graph = (
        optional("scipy.sparse", "groups", "multigrid"),
        optional("scipy.sparse.csgraph", "groups", "multigrid"),
    )
    below = ends[kind != top].astype(np.int64)
    shape = (topology.vertices,) * 2
    inner = sparse.csr_array((np.ones(len(below), np.int8), (below[:, 0], below[:, 1])), shape=shape)
    group = graph.connected_components(inner, directed=False)[1].astype(np.int64)
    weight = np.where((kind == top) & ("global" in names), bandwidth[top] / bandwidth[0], 1.0)
    return ends, weight, group


def _within(topology: Any, used: NDArray[Any], between: _Groups) -> float:
    """Links among used nodes, the switches of their groups, and switches that belong to no group of nodes."""
    ends, weight, group = between
    groups = int(group.max()) + 1
    has_nodes = np.bincount(group[: topology.nodes], minlength=groups) > 0
    taken = np.bincount(group[used], minlength=groups) > 0
    reached = taken[group] | ~has_nodes[group]
    reached[: topology.nodes] = False
    reached[used] = True
    return float(weight[reached[ends[:, 0]] & reached[ends[:, 1]]].sum())
