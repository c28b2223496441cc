"""A greedy map in plain Python: slow, short, for any machine."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .problem import Problem


def greedy(problem: Problem) -> NDArray[np.uint32]:
    """Max-heap traversal (Bhatele and Kale, HPCC 2011): next is the task with most bytes to tasks that are placed; it
    goes to the free place with the least hop-bytes to these."""
    u, v, bytes = problem.edges
    n, places = problem.tasks, problem.places
    source, target = np.concatenate([u, v]), np.concatenate([v, u])
    weight = np.concatenate([bytes, bytes])
    order = np.argsort(source, kind="stable")
    target, weight = target[order], weight[order]
    first = np.searchsorted(source[order], np.arange(n + 1))
    total = np.bincount(source, np.concatenate([bytes, bytes]), n)
    free = problem.capacity.astype(np.int64)
    place = np.full(n, -1, np.int64)
    pull = np.zeros(n)
    heap: list[tuple[float, int]] = []
    every = np.arange(places)
    # Components begin with their busiest task.
    for start in np.argsort(-total, kind="stable"):
        if place[start] >= 0:
            continue
        heapq.heappush(heap, (0.0, int(start)))
        while heap:
            key, task = heapq.heappop(heap)
            if place[task] >= 0 or -key != pull[task]:
                continue
            near, w = target[first[task] : first[task + 1]], weight[first[task] : first[task + 1]]
            on = place[near] >= 0
            cost = np.zeros(places)
            for p, b in zip(place[near[on]], w[on], strict=True):
                cost += b * problem.distance(np.full(places, p), every)
            cost[free == 0] = np.inf
            place[task] = np.argmin(cost)
            free[place[task]] -= 1
            for t, b in zip(near[~on], w[~on], strict=True):
                pull[t] += b
                heapq.heappush(heap, (-pull[t], int(t)))
    return place.astype(np.uint32)
