"""Arithmetic on meshes and tori, and what of a large one is drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .common import Net, quantity
from .scene import Array

_MOST = 48  # routers drawn along one dimension


class GridView:
    """Arithmetic on the routers of a mesh or torus.

    Parameters
    ----------
    net : Net
        A network of kind linear, ring, mesh or torus.
    """

    def __init__(self, net: Net) -> None:
        self.net = net
        self.dims = net.dims
        self.names = net.names
        classes = [name for name, _, _ in net.topology.link_classes]
        self.colours = [net.colour(classes.index(n + "+")) for n in net.names]
        ports = net.topology.link_class(net.topology.out_links(net.first_router))
        self.wraps = [bool(np.any(ports == classes.index(n + "-"))) for n in net.names]
        step = max(1, -(-max(net.dims) // _MOST))
        self.steps = [step if e >= 4 * step else 1 for e in net.dims]

    def coordinates(self, vertex: Any) -> Array:
        """Coordinates of a router, or of routers."""
        router = np.asarray(vertex) - self.net.first_router
        return np.stack(np.unravel_index(router, self.dims, order="F"), axis=-1)

    def vertex(self, coordinates: Any) -> int:
        """Vertex of the router at the coordinates."""
        return (
            int(np.ravel_multi_index(tuple(int(c) for c in coordinates), self.dims, order="F")) + self.net.first_router
        )

    def values(self) -> list[Array] | None:
        """Per dimension the value of the cable from each router in positive direction, of shape `dims`."""
        if self.net.values is None:
            return None
        links = np.arange(self.net.topology.links, dtype=np.uint32)
        kind = self.net.topology.link_class(links)
        out = []
        for d in range(len(self.dims)):
            flat = np.full(self.dims, -np.inf)
            for direction in (0, 1):
                mine = links[kind == 2 * d + direction]
                ends = self.net.topology.link_ends(mine)
                lower = self.coordinates(ends[:, direction].astype(np.int64))
                np.fmax.at(flat, tuple(lower.T), self.net.values[mine])
            out.append(np.where(np.isinf(flat), np.nan, flat))
        return out

    def label(self, coordinates: Any) -> str:
        """Words for a router."""
        return self.net.label(self.vertex(coordinates))

    def cable_label(self, d: int, coordinates: Any) -> str:
        """Words for the cable that leaves a router in positive direction of dimension d."""
        name, bandwidth, latency = self.net.topology.link_classes[2 * d]
        return (
            f"{name.rstrip('+')} cable from ({', '.join(str(int(c)) for c in coordinates)})"
            f"<br>{quantity(bandwidth, 'B/s')}, {quantity(latency, 's')}"
        )

    def hop_path(self, a: int, b: int, link: int, place: Callable[[Array], Array]) -> Array | list[Array] | None:
        """Where a hop is drawn: straight, or as two stubs where it goes around."""
        t = self.net.topology
        name = t.link_classes[int(t.link_class(np.array([link], np.uint32))[0])][0]
        if name == "terminal":
            return None
        from_, to = self.coordinates(a).astype(float), self.coordinates(b).astype(float)
        step = np.zeros(len(self.dims))
        step[self.names.index(name[:-1])] = 1.0 if name[-1] == "+" else -1.0
        if np.array_equal(from_ + step, to):
            return np.stack([place(from_), place(to)])
        return [
            np.stack([place(from_), place(from_ + 0.7 * step)]),
            np.stack([place(to - 0.7 * step), place(to)]),
        ]


def drawn(extent: int, step: int) -> Array:
    """Coordinates that are drawn: every step-th and the last."""
    return np.unique(np.append(np.arange(0, extent, step), extent - 1))


def blocks(values: Array, picks: list[Array]) -> Array:
    """Largest value of every block of coordinates that one drawn coordinate stands for."""
    for axis, pick in enumerate(picks):
        values = np.fmax.reduceat(values, pick, axis=axis)
    return values


def ordinal(n: int) -> str:
    """Write a number below 21 as in "2nd"; larger ones as in "21 th" do not occur often enough to matter."""
    return f"{n}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(n, 'th') }"


def sparse_caption(view: GridView) -> str:
    """Say what is left out."""
    skipped = [f"every {ordinal(s)} in {n}" for n, s in zip(view.names, view.steps, strict=True) if s > 1]
    return f"Drawn: {' and '.join(skipped)}; each line stands for the cables between. " if skipped else ""
