"""isthmus_reorder: orders of new communicators on machines of all kinds."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus.mapping import launch
from library import INSTALLED
from test_run_topologies import grid


class Exchange(ctypes.Structure):
    _fields_ = (("from_", ctypes.c_uint32), ("to", ctypes.c_uint32), ("bytes", ctypes.c_double))


class Orders:
    """The functions of the library that this needs."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(str(next((INSTALLED / "lib").glob("libisthmus.so"))))
        self.library.isthmus_last_error.restype = ctypes.c_char_p

    def reorder(
        self, file: Path, ranks: int, edges: list[tuple[int, int, int]], seconds: float = 0
    ) -> tuple[list[int], float, float]:
        """New ranks, hop-bytes before and after; raises what the library says."""
        places = ctypes.c_void_p()
        order, hops = (ctypes.c_uint32 * ranks)(), (ctypes.c_double * 2)()
        tasks = 1 + max(max(a, b) for a, b, _ in edges)
        given = (Exchange * len(edges))(*edges)
        status = self.library.isthmus_places_read(str(file).encode(), ctypes.byref(places))
        if status == 0:
            status = self.library.isthmus_reorder(
                places, None, ranks, tasks, given, ctypes.c_size_t(len(edges)), ctypes.c_double(seconds), order, hops
            )
        if status != 0:
            raise ValueError(self.library.isthmus_last_error().decode())
        self.library.isthmus_places_free(places)
        return [*order], hops[0], hops[1]


@pytest.fixture(scope="module")
def orders() -> Orders:
    return Orders()


def found_by(
    orders: Orders, tmp_path: Path, job: isthmus.Allocation, order: str, edges: list[tuple[int, int, int]], ranks: int
) -> tuple[float, float]:
    """Hop-bytes before and after, which are those that the machine says."""
    placement = isthmus.Placement.of(job, ranks, order, seed=1)
    launch.write(placement, "places", tmp_path / "places", job)
    new, before, after = orders.reorder(tmp_path / "places", ranks, edges)
    assert sorted(new) == [*range(ranks)]
    process = np.argsort(new)
    a, b, w = (np.array(column) for column in zip(*edges, strict=True))

    def hop_bytes(node: np.ndarray) -> float:
        both = [
            np.asarray(job.machine.distance(*pair), dtype=float) for pair in ((node[a], node[b]), (node[b], node[a]))
        ]
        # Ways there and back may differ in length.
        return float(np.sum(w * np.ceil(np.mean(both, axis=0))))

    assert (before, after) == (hop_bytes(placement.node), hop_bytes(placement.node[process]))
    return before, after


def test_a_large_grid(orders: Orders, tmp_path: Path) -> None:
    """What isthmus map finds for it, too: cubes of 2 x 2 x 2 on each node."""
    job = isthmus.load("torus:16x16x16,cores=8").allocate()
    edges = grid((32, 32, 32), (True, True, True))
    assert found_by(orders, tmp_path, job, "block", edges, 32**3) == (430_080, 49_152)


@pytest.mark.parametrize(
    ("machine", "nodes", "order"),
    [
        ("torus:8x8x4,cores=4", range(64, 96), "block"),
        ("torus:8x8x4,cores=4", [3, 250, 7, 100, 101, 40, 66, 9], "random"),
        ("mesh:6x6,cores=3", range(36), "random"),
        ("fattree:k=4,n=3,cores=4", range(16), "random"),
        ("dragonfly:a=4,p=2,h=2,g=9,cores=2", range(0, 72, 2), "cyclic"),
        ("hypercube:5", range(32), "random"),
        ("kautz:d=3,k=3", range(36), "random"),
        ("ring:40,cores=2", range(35, 40), "cyclic"),
    ],
)
def test_machines(orders: Orders, tmp_path: Path, machine: str, nodes: range, order: str) -> None:
    where = isthmus.load(machine)
    job = isthmus.Allocation(where, list(nodes))
    ranks = len(job) * where.node.cores
    half = next(d for d in (8, 5, 4, 3, 2, 1) if ranks % d == 0)
    before, after = found_by(orders, tmp_path, job, order, grid((half, ranks // half), (True, False)), ranks)
    assert after < before
    # Ranks that are some too many, and neighbours without an order.
    rng = np.random.default_rng(2)
    columns = *rng.integers(0, ranks - 1, (2, 90)), rng.integers(0, 9, 90)
    pairs = [(int(a), int(b), int(w)) for a, b, w in zip(*columns, strict=True)]
    before, after = found_by(orders, tmp_path, job, order, pairs, ranks)
    assert after < before
