"""The fastest placement that a long search finds, by simulation under ``flow``: what ``isthmus.map`` may miss.

Where all placements can be simulated in the time, all are. Otherwise simulated annealing (Kirkpatrick, Gelatt and
Vecchi, Science 1983) in rounds: from the best known placement, from the usual orders, and from random ones in turns;
each round cools down geometrically, and proposals are those of ``isthmus.map`` and swaps of any two ranks.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

import isthmus
from isthmus.mapping.clock import Clock
from isthmus.mapping.problem import Problem
from isthmus.mapping.sockets import placement_of
from isthmus.mapping.swaps import Swaps

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Simulations of a round, for each rank; temperatures in parts of the time.
_ROUND, _HOT, _COLD = 60, 0.02, 0.0003
#: Placements up to which all may be looked at.
_ALL = 100_000


def fastest(
    program: isthmus.Program, job: isthmus.Allocation, known: list[NDArray[np.int64]], seconds: float
) -> tuple[float, bool]:
    """The least simulated time, and whether all placements were looked at; ``known``: nodes, as places of the job."""
    clock = Clock(program, None, "flow")
    every = isthmus.pattern(clock.schedule)
    capacity = np.full(len(job.nodes), job.ranks_per_node)
    problem = Problem(every, job, capacity.astype(np.uint32), seed=1)
    until = time.process_time() + seconds

    def value(place: NDArray[np.uint32]) -> float:
        return clock.seconds(placement_of(problem, place))

    begin = time.process_time()
    known = [at.astype(np.uint32) for at in known]
    best = min(map(value, known))
    each = (time.process_time() - begin) / len(known)
    count = math.factorial(program.ranks) / math.prod(math.factorial(c) for c in room(program.ranks, capacity))
    if count <= _ALL and count * each <= seconds:
        return min(best, *(value(place) for place in all_places(program.ranks, capacity))), True
    rng = np.random.default_rng(1)
    swaps = Swaps(problem, 1)
    order = sorted(known, key=value)
    for number in itertools.count():
        start = (
            order[0]
            if number % 3 == 0
            else order[number % len(order)]
            if number % 3 == 1
            else rng.permutation(order[0])
        )
        here, now = start, value(start)
        steps = _ROUND * program.ranks
        for step in range(steps):
            if time.process_time() > until:
                return best, False
            other = swaps.neighbour(here) if rng.random() < 0.5 else swapped(here, rng)
            if other is None:
                continue
            then = value(other)
            heat = best * _HOT * (_COLD / _HOT) ** (step / steps)
            if then <= now or rng.random() < math.exp((now - then) / heat):
                here, now = other, then
                if now < best:
                    best = now
                    order.insert(0, here)
    raise AssertionError


def room(ranks: int, capacity: NDArray[np.int64]) -> list[int]:
    """Ranks on every node where all are full but the last."""
    return np.diff(np.minimum(np.cumsum(np.append(0, capacity)), ranks)).tolist()


def all_places(ranks: int, capacity: NDArray[np.int64]) -> Iterator[NDArray[np.uint32]]:
    """All ways to fill the nodes; those of which the last is not the one that stays partly empty are left out."""

    def rest(left: tuple[int, ...], node: int) -> Iterator[dict[int, int]]:
        if not left:
            yield {}
            return
        for chosen in itertools.combinations(left, sizes[node]):
            for more in rest(tuple(r for r in left if r not in chosen), node + 1):
                yield {**dict.fromkeys(chosen, node), **more}

    sizes = room(ranks, capacity)
    for found in rest(tuple(range(ranks)), 0):
        yield np.array([found[rank] for rank in range(ranks)], np.uint32)


def swapped(place: NDArray[np.uint32], rng: np.random.Generator) -> NDArray[np.uint32] | None:
    """Two ranks of different nodes change places."""
    u, v = rng.integers(len(place), size=2)
    if place[u] == place[v]:
        return None
    out = place.copy()
    out[[u, v]] = out[[v, u]]
    return out
