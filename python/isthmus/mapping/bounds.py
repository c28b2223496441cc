"""Lower bounds that no placement can beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .within import PAIRS, pair_by_pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .problem import Problem

#: Processor time of the spectral bound, about, over the third power of the places: two lists of eigenvalues.
_SPECTRAL = 1.4e-9
#: Processor time for a pair of places.
_PAIR = 16e-9
#: Places up to which eigenvalues are computed.
_EIGENVALUES = 1024


@dataclass(frozen=True)
class Bounds:
    """Lower bounds of any placement of these tasks on these nodes.

    Attributes
    ----------
    one_hop : float
        Hop-bytes if every partner that does not fit the same node were on a nearest other one.
    degree : float
        Hop-bytes if each task had its partners on the nearest places that there are, heaviest nearest.
    spectral : float or None
        The projected eigenvalue bound of the quadratic assignment problem (Hadley, Rendl and Wolkowicz, "A new lower
        bound via projection for the quadratic assignment problem", 1992); None where it is not computed.
    maximum_link_load : float
        Bytes: what a task sends over the links of its node, and all hop-bytes over all links.
    """

    one_hop: float
    degree: float
    spectral: float | None
    maximum_link_load: float

    @property
    def hop_bytes(self) -> float:
        """The largest lower bound of hop-bytes."""
        return max(self.one_hop, self.degree, self.spectral or 0.0)


def bounds(problem: Problem, *, directions: float = 1.0, spectral: bool = True) -> Bounds:
    """Compute lower bounds of hop-bytes and of the largest link load.

    Parameters
    ----------
    problem : Problem
    directions : float
        Bytes over links of a byte of an edge: 1 where edges are sums of both directions, 2 of an undirected graph.
    spectral : bool
        The spectral bound too, where it is possible.
    """
    u, v, bytes = problem.edges
    n = problem.tasks
    task, weight = np.concatenate([u, v]), np.concatenate([bytes, bytes])
    order = np.lexsort([-weight, task])
    task, weight = task[order], weight[order]
    first = np.searchsorted(task, np.arange(n))
    # For each task's partner, the number of partners that are heavier.
    rank = np.arange(len(task)) - first[task]
    profile = nearest_slots(problem, int(rank.max(initial=-1)) + 1)
    outside = profile[profile > 0]
    nearest = int(outside.min()) if len(outside) else 0
    degree = float(weight @ profile[rank]) / 2
    one_hop = float(weight @ np.minimum(profile[rank], nearest)) / 2
    eigenvalues = _spectral(problem) if spectral and has_spectral(problem) else None
    best = max(one_hop, degree, eigenvalues or 0.0)
    topology = problem.job.machine.topology
    load = directions * best / max(topology.links, 1)
    if (problem.capacity == 1).all() and n > 1:
        sent = np.bincount(task, weight, n) * directions / 2
        out = max(len(topology.out_links(int(node))) for node in problem.job.nodes[:PAIRS])
        if problem.places <= PAIRS and out:
            load = max(load, float(sent.max()) / out)
    return Bounds(one_hop, degree, eigenvalues, load)


def has_spectral(problem: Problem) -> bool:
    """Return whether the spectral bound is possible."""
    return problem.places <= _EIGENVALUES and bool((problem.capacity == 1).all())


def seconds_of_spectral(problem: Problem) -> float:
    """Return the approximate processor time of the spectral bound; 0 if it is not possible."""
    return _SPECTRAL * float(problem.places) ** 3 if has_spectral(problem) else 0.0


def nearest_slots(problem: Problem, count: int) -> NDArray[np.int64]:
    """A lower bound, for any task, of the distances to the ``count`` free slots that are nearest to it, ascending."""
    most = int(problem.capacity.max())
    within = problem.places_within
    out = np.empty(count, np.int64)
    done = 0
    for distance, places in enumerate(within):
        last = min(count, places * most - 1)
        out[done:last] = distance
        done = max(done, last)
    out[done:] = len(within)
    return out


def seconds_of_pairs(problem: Problem) -> float:
    """Processor time, about, of looking at the distances of places one by one; 0 where that is not done."""
    searched = pair_by_pair(problem.job.machine.topology, problem.places)
    return _PAIR * float(problem.places) ** 2 if searched else 0.0


def _spectral(problem: Problem) -> float:
    """The projected eigenvalue bound, of as many tasks as places: the rest exchange nothing."""
    n = problem.places
    if n < 2:
        return 0.0
    u, v, bytes = problem.edges
    a = np.zeros((n, n))
    a[u, v] = a[v, u] = bytes
    place = np.arange(n)
    b = problem.distance(np.repeat(place, n), np.tile(place, n)).reshape(n, n).astype(np.float64)

    def projected(m: NDArray[np.float64]) -> NDArray[np.float64]:
        rows = m.mean(axis=1)
        values = np.linalg.eigvalsh(m - rows[:, None] - rows[None, :] + rows.mean())
        # The vector of ones has eigenvalue 0, which is not one of the projection.
        return np.delete(values, np.argmin(np.abs(values)))

    quadratic = np.sort(projected(a)) @ np.sort(projected(b))[::-1]
    sums = np.sort(a.sum(axis=1)), np.sort(b.sum(axis=1))
    linear = 2 / n * (sums[0] @ sums[1][::-1])
    total = quadratic + linear - a.sum() * b.sum() / n**2
    # Rounding must not lift it above what can be reached.
    return float(total / 2 * (1 - 1e-9)) if total > 0 else 0.0
