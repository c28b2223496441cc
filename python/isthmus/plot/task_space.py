"""Where tasks are in a program of which only the graph is known: tasks that are close get colours that are alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..mapping.problem import Problem

#: Tasks to which distances are measured.
_PIVOTS = 24
#: Directions in which tasks spread less than this part of the widest are not shown.
_LEAST = 0.1


def graph_space(problem: Problem) -> NDArray[np.float64]:
    """Coordinates of tasks from their graph, shape (tasks, 1 to 3).

    Classical scaling of the numbers of edges to some tasks that are far from each other (Brandes and Pich, "Eigensolver
    methods for progressive multidimensional scaling of large data", 2007). Bytes do not count.
    """
    tasks = problem.tasks
    first, peer = _adjacent(problem)
    columns: list[NDArray[np.float64]] = []
    nearest = np.full(tasks, np.inf)
    pivot = 0
    for _ in range(min(_PIVOTS, tasks)):
        columns.append(_steps(first, peer, pivot))
        nearest = np.minimum(nearest, columns[-1])
        pivot = int(nearest.argmax())
    square = np.stack(columns, axis=1) ** 2
    centred = -0.5 * (square - square.mean(axis=0) - square.mean(axis=1)[:, None] + square.mean())
    values, vectors = np.linalg.eigh(centred.T @ centred)
    spread = np.sqrt(np.maximum(values[::-1], 0.0))[:3]
    kept = max(1, int((spread > _LEAST * spread[0]).sum()))
    found = centred @ vectors[:, ::-1][:, :kept]
    # The sign of an eigenvector is nobody's choice.
    return np.asarray(found * np.where(found[np.abs(found).argmax(axis=0), np.arange(kept)] < 0, -1.0, 1.0))


def _adjacent(problem: Problem) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    u, v, _ = problem.edges
    ends = np.concatenate([u, v]).astype(np.int64)
    order = np.argsort(ends, kind="stable")
    return np.searchsorted(ends[order], np.arange(problem.tasks + 1)), np.concatenate([v, u]).astype(np.int64)[order]


def _steps(first: NDArray[np.int64], peer: NDArray[np.int64], start: int) -> NDArray[np.float64]:
    """Edges to every task; to those that cannot be reached, one more than to the farthest."""
    out = np.full(len(first) - 1, -1, np.int64)
    out[start] = 0
    front, step = np.array([start]), 0
    while len(front):
        step += 1
        many = first[front + 1] - first[front]
        at = np.repeat(first[front] - (np.cumsum(many) - many), many) + np.arange(int(many.sum()))
        front = np.unique(peer[at])
        front = front[out[front] < 0]
        out[front] = step
    out[out < 0] = step
    return out.astype(np.float64)
