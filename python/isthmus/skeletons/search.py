"""Breadth-first search of a random graph, level by level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .parts import work

if TYPE_CHECKING:
    from .steps import Steps

#: Shares of the edges that are looked at on each level of a graph with few very large degrees.
_LEVELS = (1e-6, 1e-3, 0.12, 0.7, 0.17, 8e-3, 1e-5)


def bfs(b: Steps, scale: int, degree: int, steps: int, compute: float, spread: float, seed: int) -> None:
    """One step is one search: on each level edges go to the owners of their ends, then a sum says whether to go on."""
    ranks, seconds = b.ranks, work(b.ranks, compute, spread, seed)
    edges = 2 * degree * 2**scale
    for _ in range(steps):
        for share in _LEVELS:
            b.compute(None, seconds * share)
            b.alltoall(None, round(edges * share * 16 / ranks**2))
            b.allreduce(None, 8)
            b.cut()
