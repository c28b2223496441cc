"""Swaps of tasks that improve a whole map, as judged mostly by simulation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .problem import Problem

#: Proposals for each task that find nothing before a search begins again from a shaken map, and how often it does.
_PATIENCE, _SHAKEN = 16, 4
#: Swaps of a shake.
_SHAKE = 3
#: Places that a task is offered near a partner: the nearest of so many.
_OFFERS = 8
#: Proposals that go near a partner.
_NEAR = 0.5


class Swaps:
    """Draws maps that differ from a given one in two tasks, or in one that moves to a free place.

    Parameters
    ----------
    problem : Problem
    seed : int
    """

    def __init__(self, problem: Problem, seed: int) -> None:
        self._problem = problem
        self._rng = np.random.Generator(np.random.PCG64([seed, 1]))
        u, v, bytes = problem.edges
        ends, others = np.concatenate([u, v]).astype(np.int64), np.concatenate([v, u]).astype(np.int64)
        order = np.argsort(ends, kind="stable")
        self._partner = others[order]
        self._first = np.searchsorted(ends[order], np.arange(problem.tasks + 1))
        # Partners are drawn by their bytes: sums over all pairs, in the order of the tasks.
        self._until = np.concatenate([[0.0], np.cumsum(np.concatenate([bytes, bytes])[order])])

    def neighbour(self, place: NDArray[np.uint32]) -> NDArray[np.uint32] | None:
        """A map near by; None where a draw changes nothing."""
        p, rng = self._problem, self._rng
        free = np.flatnonzero(np.bincount(place, minlength=p.places) < p.capacity)[: p.tasks]
        u = int(rng.integers(p.tasks))
        near = self._first[u] < self._first[u + 1] and rng.random() < _NEAR
        v = rng.integers(p.tasks + len(free), size=_OFFERS if near else 1)
        to = np.where(v < p.tasks, place[np.minimum(v, p.tasks - 1)], 0)
        to[v >= p.tasks] = free[v[v >= p.tasks] - p.tasks]
        chosen = 0
        if near:
            begin, end = self._until[self._first[u]], self._until[self._first[u + 1]]
            drawn = np.searchsorted(self._until, begin + rng.random() * (end - begin), side="right") - 1
            partner = place[self._partner[min(drawn, self._first[u + 1] - 1)]]
            nodes = p.job.nodes
            hops = np.asarray(p.job.machine.route_length(np.full(len(to), nodes[partner]), nodes[to]))
            chosen = int(np.where(to == place[u], np.iinfo(np.int64).max, hops).argmin())
        if to[chosen] == place[u]:
            return None
        out = place.copy()
        out[u] = to[chosen]
        if v[chosen] < p.tasks:
            out[v[chosen]] = place[u]
        return out

    def shaken(self, place: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """A map a few draws away."""
        for _ in range(_SHAKE):
            other = self.neighbour(place)
            place = place if other is None else other
        return place

    def improved(
        self, start: NDArray[np.uint32], value: Callable[[NDArray[np.uint32]], float], more: Callable[[], bool]
    ) -> NDArray[np.uint32]:
        """The best map that is found from ``start`` on, itself if there is none.

        Iterated local search (Lourenco, Martin and Stuetzle, in Handbook of Metaheuristics, 2003): neighbours that are
        no worse are taken; when none is found to be better for long, the best is shaken, and the search goes on there.

        Parameters
        ----------
        start : array of uint32, shape (tasks,)
        value : callable
            Value of a map; less is better.
        more : callable
            May another map be judged?
        """
        best, least = start, value(start)
        place, here = best, least
        patience = _PATIENCE * self._problem.tasks
        for _ in range(_SHAKEN + 1):
            tried = 0
            while tried < patience:
                if not more():
                    return best
                tried += 1
                other = self.neighbour(place)
                if other is None:
                    continue
                found = value(other)
                if found > here:
                    continue
                if found < here:
                    tried = 0
                place, here = other, found
                if here < least:
                    best, least = place, here
            place = self.shaken(best)
            here = value(place)
        return best
