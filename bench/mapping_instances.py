"""Task graphs to be mapped, made from seeds: grids, random geometric graphs, Delaunay meshes and their quotients."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Graph:
    """Undirected edges, each once, and their weights, whole numbers."""

    tasks: int
    u: NDArray[np.int64]
    v: NDArray[np.int64]
    weight: NDArray[np.int64]

    def scrambled(self, seed: int) -> Graph:
        """The same with tasks numbered at random."""
        name = np.random.default_rng(seed).permutation(self.tasks)
        return Graph(self.tasks, name[self.u], name[self.v], self.weight)

    def rows(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Compressed rows with both directions of every edge: starts, neighbours, weights."""
        source, target = np.concatenate([self.u, self.v]), np.concatenate([self.v, self.u])
        order = np.lexsort([target, source])
        start = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=self.tasks))])
        return start, target[order], np.concatenate([self.weight, self.weight])[order]


def merged(
    tasks: int, u: NDArray[np.integer], v: NDArray[np.integer], weight: NDArray[np.int64] | None = None
) -> Graph:
    """Edges in any order and direction, several of a pair added up, loops left out (weight None: 1 for every pair)."""
    low, high = np.minimum(u, v).astype(np.int64), np.maximum(u, v).astype(np.int64)
    apart = low != high
    pair, where = np.unique(low[apart] * tasks + high[apart], return_inverse=True)
    total = np.ones(len(pair), np.int64)
    if weight is not None:
        total = np.bincount(where, weight[apart], len(pair)).astype(np.int64)
    return Graph(tasks, pair // tasks, pair % tasks, total)


def grid(*dims: int, periodic: bool = False) -> Graph:
    """Neighbours in a box."""
    tasks = int(np.prod(dims))
    at = np.stack(np.unravel_index(np.arange(tasks), dims))
    ends: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    for axis, size in enumerate(dims):
        here = np.arange(tasks) if periodic else np.flatnonzero(at[axis] < size - 1)
        to = at[:, here].copy()
        to[axis] = (to[axis] + 1) % size
        ends.append((here, np.ravel_multi_index(tuple(to), dims)))
    return merged(tasks, np.concatenate([a for a, _ in ends]), np.concatenate([b for _, b in ends]))


def random_geometric(tasks: int, seed: int, degree: float = 12.0) -> Graph:
    """Random points of the unit square, edges between those that are near, so that the inner degree is about that."""
    from scipy.spatial import cKDTree

    points = np.random.default_rng(seed).random((tasks, 2))
    pairs = cKDTree(points).query_pairs(np.sqrt(degree / (np.pi * tasks)), output_type="ndarray")
    return merged(tasks, pairs[:, 0], pairs[:, 1])


def delaunay(points: int, dimensions: int, seed: int) -> Graph:
    """Edges of the Delaunay triangulation of random points of the unit square or cube."""
    from scipy.spatial import Delaunay

    cells = Delaunay(np.random.default_rng(seed).random((points, dimensions))).simplices.astype(np.int64)
    ends = [cells[:, [i, j]] for i in range(dimensions + 1) for j in range(i)]
    both = np.concatenate(ends)
    return merged(points, both[:, 0], both[:, 1])


def quotient(mesh: Graph, parts: int) -> Graph:
    """A mesh cut by METIS into so many parts; weights are the numbers of edges between them."""
    import pymetis

    start, near, _ = mesh.rows()
    options = pymetis.Options(seed=1)
    _, part = pymetis.part_graph(parts, xadj=start.tolist(), adjncy=near.tolist(), options=options)
    of = np.asarray(part)
    return merged(parts, of[mesh.u], of[mesh.v], mesh.weight)


#: Name -> how it is made.
INSTANCES: dict[str, Callable[[], Graph]] = {
    "2d32": lambda: grid(32, 32),
    "2d64": lambda: grid(64, 64),
    "2d128": lambda: grid(128, 128),
    "3d32": lambda: grid(32, 32, 32),
    "3d32P": lambda: grid(32, 32, 32, periodic=True),
    "3d100": lambda: grid(100, 100, 100),
    "rgg14": lambda: random_geometric(1 << 14, seed=1),
    "del2d_q4096": lambda: quotient(delaunay(1 << 20, 2, seed=2), 4096),
    "del3d_q4096": lambda: quotient(delaunay(1 << 18, 3, seed=3), 4096),
    "del3d18": lambda: delaunay(1 << 18, 3, seed=4),
    # The same in small.
    "rgg10": lambda: random_geometric(1 << 10, seed=1),
    "del2d_q512": lambda: quotient(delaunay(1 << 16, 2, seed=2), 512),
    "del3d_q512": lambda: quotient(delaunay(1 << 15, 3, seed=3), 512),
    "del3d15": lambda: delaunay(1 << 15, 3, seed=4),
}


def instance(name: str, folders: Sequence[Path] = ()) -> Graph:
    """An instance: of the first file NAME.graph or NAME.graph.gz (anything before NAME) there is, otherwise made."""
    for folder in folders:
        for suffix in (".graph", ".graph.gz"):
            for path in sorted(folder.glob(f"*{name}{suffix}")):
                return read(path)
    return INSTANCES[name]()


def read(path: Path) -> Graph:
    """An undirected graph in METIS format, without weights or with those of edges."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else open(path, encoding="ascii") as stream:
        lines = [line for line in stream if not line.startswith("%")]
    head = lines[0].split()
    tasks, weighted = int(head[0]), len(head) > 2 and head[2].endswith("1")
    if len(head) > 2 and head[2].lstrip("0") not in ("", "1"):
        raise SystemExit(f"{path}: format {head[2]}; only weights of edges are understood")
    width = 2 if weighted else 1
    rows = [np.array(line.split(), np.int64).reshape(-1, width) for line in lines[1 : tasks + 1]]
    source = np.repeat(np.arange(tasks), [len(row) for row in rows])
    values = np.concatenate(rows)
    once = source < values[:, 0] - 1
    weight = values[once, 1] if weighted else None
    return merged(tasks, source[once], values[once, 0] - 1, weight)
