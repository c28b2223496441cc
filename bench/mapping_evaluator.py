"""What a map costs, in NumPy alone: nothing here is of the program that made the map.

Hop-bytes count every undirected edge once. Links carry both directions of every edge. Nodes of a torus are numbered
with the first dimension fastest; it routes dimension by dimension in order, the shorter way round. At exactly half it
takes the positive one if the source's coordinate there and the ways ahead in all other dimensions have an even sum. A
dragonfly has all-to-all groups and one link between two groups: from group g to h at router (h - g - 1) mod (number of
groups), and back accordingly; routes are minimal, and the links between nodes and routers count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from mapping_instances import Graph
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Cost:
    """``link``: most weight over one link; of a dragonfly, over one link between groups. ``most``: tasks of a node."""

    hop_bytes: float
    dilation: float
    longest: int
    link: float
    most: int
    empty: int


@dataclass(frozen=True)
class Torus:
    dims: tuple[int, ...]

    @property
    def spec(self) -> str:
        return "torus:" + "x".join(map(str, self.dims))

    @property
    def nodes(self) -> int:
        return int(np.prod(self.dims))

    def distance(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
        out = np.zeros(len(a), np.int64)
        for x, y, size in zip(self._at(a), self._at(b), self.dims, strict=True):
            apart = np.abs(x - y)
            out += np.minimum(apart, size - apart)
        return out

    def _at(self, node: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
        return np.unravel_index(node, self.dims, order="F")

    def hottest(self, a: NDArray[np.int64], b: NDArray[np.int64], weight: NDArray[np.float64]) -> float:
        """Most weight over one link, of messages from a to b."""
        most = 0.0
        here = list(self._at(a))
        total = sum((y - x) % size for x, y, size in zip(here, self._at(b), self.dims, strict=True))
        for axis, (to, size) in enumerate(zip(self._at(b), self.dims, strict=True)):
            ahead = (to - here[axis]) % size
            forward = (2 * ahead < size) | ((2 * ahead == size) & ((total - ahead + here[axis]) % 2 == 0))
            for way, steps in ((forward, ahead), (~forward, size - ahead)):
                # On every ring: weight that begins minus weight that ends, summed up along two turns.
                ring = np.zeros((2 * size, self.nodes // size))
                others = [here[i] for i in range(len(self.dims)) if i != axis]
                sizes = [s for i, s in enumerate(self.dims) if i != axis]
                line = np.ravel_multi_index(tuple(o[way] for o in others), sizes) if sizes else np.zeros(way.sum(), int)
                start = here[axis][way] if way is forward else (-here[axis][way]) % size
                np.add.at(ring, (start, line), weight[way])
                np.add.at(ring, (start + steps[way], line), -weight[way])
                load = np.cumsum(ring, axis=0)
                most = max(most, float((load[:size] + load[size:]).max()))
            here[axis] = to
        return most


@dataclass(frozen=True)
class Dragonfly:
    """Groups of routers with nodes; no more groups than routers of a group plus one."""

    groups: int
    routers: int
    slots: int

    @property
    def spec(self) -> str:
        return f"dragonfly:a={self.routers},p={self.slots},h=1,g={self.groups},arrangement=relative"

    @property
    def nodes(self) -> int:
        return self.groups * self.routers * self.slots

    def distance(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
        (g, r), (h, s) = (divmod(x // self.slots, self.routers) for x in (a, b))
        out = np.where(r == s, 2, 3)
        door, other = (h - g - 1) % self.groups, (g - h - 1) % self.groups
        out = np.where(g == h, out, 3 + (r != door) + (s != other))
        return np.where(a == b, 0, out)

    def hottest(self, a: NDArray[np.int64], b: NDArray[np.int64], weight: NDArray[np.float64]) -> float:
        """Most weight over one link between groups."""
        each = self.routers * self.slots
        between = np.bincount(a // each * self.groups + b // each, weight, self.groups**2)
        return float(between.reshape(self.groups, -1)[~np.eye(self.groups, dtype=bool)].max())


def cost(graph: Graph, machine: Torus | Dragonfly, node: NDArray[np.integer]) -> Cost:
    """Of a map: the node of every task, shape (tasks,)."""
    node = np.asarray(node, np.int64)
    if len(node) != graph.tasks or node.min() < 0 or node.max() >= machine.nodes:
        raise SystemExit(f"no map of {graph.tasks} tasks to {machine.nodes} nodes")
    a, b = node[graph.u], node[graph.v]
    length = machine.distance(a, b)
    hop_bytes = float(length @ graph.weight)
    both = np.concatenate([graph.weight, graph.weight]).astype(np.float64)
    on = np.bincount(node, minlength=machine.nodes)
    return Cost(
        hop_bytes=hop_bytes,
        dilation=hop_bytes / float(graph.weight.sum()),
        longest=int(length.max()),
        link=machine.hottest(np.concatenate([a, b]), np.concatenate([b, a]), both),
        most=int(on.max()),
        empty=int((on == 0).sum()),
    )
