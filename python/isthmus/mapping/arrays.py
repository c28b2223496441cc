"""Several arrays of tasks that communicate, mapped one after another, each near its partners."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from ..machine.placement import Placement, job_of
from ..schedule.pattern import Pattern
from ..units import amount
from .problem import edges_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..machine import Allocation, Machine

#: Places of a task at which other tasks may be to change places with it.
_NEAR = 16
#: Entries of the largest table of tasks by places.
_MOST = 1 << 28


@dataclass(frozen=True, eq=False)
class ArraysMapped:
    """Placement of the tasks of all arrays; ``print`` shows it.

    Attributes
    ----------
    placement : Placement
        Placement of all tasks, in the order of the arrays.
    arrays : dict of str to slice
        Ranks of every array in the placement.
    before, after : dict of (str, str) to float
        Hop-bytes between two arrays, and within one: every array spread over the nodes in its own order, and mapped.
    """

    placement: Placement
    arrays: dict[str, slice]
    before: dict[tuple[str, str], float]
    after: dict[tuple[str, str], float]

    @property
    def hop_bytes(self) -> float:
        """Metrics of all arrays together."""
        return sum(self.after.values())

    def __str__(self) -> str:
        lines = [f"{len(self.arrays)} arrays on {len(self.placement.nodes):,} nodes of {self.placement.machine.name}"]
        lines += [f"  {'hop-bytes':32} {'in order':>12} {'mapped':>12}"]
        for (a, b), value in self.after.items():
            name = f"within {a}" if a == b else f"{a} and {b}"
            lines.append(f"  {name:32} {amount(self.before[a, b]):>12} {amount(value):>12}")
        total = amount(sum(self.before.values())), amount(self.hop_bytes)
        return "\n".join([*lines, f"  {'all':32} {total[0]:>12} {total[1]:>12}"])


def map_arrays(
    pattern: Pattern,
    arrays: Mapping[str, int],
    where: Machine | Allocation,
    *,
    order: Sequence[str] | None = None,
    sweeps: int = 2,
    seconds: float = 10.0,
    seed: int = 0,
) -> ArraysMapped:
    """Map several arrays of tasks; every array is spread evenly over the nodes.

    The first array is mapped as a pattern of its own, in which tasks with a common partner in another array are
    partners too. Every further one is assigned to the places where its tasks have the least hop-bytes to what is
    placed. Then each array in turn is assigned again, with all others where they are, as long as hop-bytes fall. No
    result is worse than every array in its own order.

    Parameters
    ----------
    pattern : Pattern
        Bytes between all tasks; those of the first array are the first ranks, and so on.
    arrays : dict of str to int
        Names of the arrays and how many tasks each has.
    where : Machine or Allocation
        Tasks share cores.
    order : sequence of str, optional
        In which order arrays are placed; by default those that exchange most bytes first.
    sweeps : int
        How often all arrays are assigned again at most.
    seconds : float
        Processor time for the map of the first array, about.
    seed : int

    Returns
    -------
    ArraysMapped

    Raises
    ------
    InvalidInput
        For sizes that do not add up to the ranks of the pattern, and names that there are not.

    Notes
    -----
    After Bhatele, Bohm and Kale, "Optimizing communication for Charm++ applications by reducing network contention",
    Concurrency and Computation 2011, where the arrays of OpenAtom are mapped one after another by rules of their own.
    """
    spans = _spans(pattern, arrays)
    job = job_of(where, pattern.ranks, share=True)
    if len(job.nodes) * max(arrays.values()) > _MOST:
        raise InvalidInput(
            f"{max(arrays.values()):,} tasks and {len(job.nodes):,} nodes: their product must be at most 2^28"
        )
    problem = _Arrays(pattern, spans, job)
    first, *others = _order(problem, order)
    problem.place[spans[first]] = _first(problem, first, seconds, seed)
    placed = [first]
    for name in others:
        placed.append(name)
        problem.place[spans[name]] = problem.assigned(name, placed)
    for _ in range(sweeps):
        better = sum(problem.improve(name) for name in placed)
        if not better:
            break
    before = problem.hop_bytes(_spread(spans, len(job.nodes)))
    return ArraysMapped(
        Placement(job.machine, job.nodes[problem.place]), spans, before, problem.hop_bytes(problem.place)
    )


class _Arrays:
    """The arrays, their edges, and where they are."""

    def __init__(self, pattern: Pattern, spans: dict[str, slice], job: Allocation) -> None:
        self.spans, self.job, self.tasks = spans, job, pattern.ranks
        self.edges = edges_of(pattern, False)
        self.place = _spread(spans, len(job.nodes))
        self.array = np.repeat(np.arange(len(spans)), [s.stop - s.start for s in spans.values()])
        nodes = job.nodes
        self.distance = np.stack([job.machine.topology.distances(np.full_like(nodes, n), nodes) for n in nodes]).astype(
            np.float64
        )

    def hop_bytes(self, place: NDArray[np.int64]) -> dict[tuple[str, str], float]:
        """Metrics between every two arrays that communicate."""
        u, v, bytes = self.edges
        names = list(self.spans)
        pair = self.array[u] * len(names) + self.array[v]
        total = np.bincount(pair, bytes * self.distance[place[u], place[v]], len(names) ** 2)
        sent = np.bincount(pair, bytes, len(names) ** 2)
        return {
            (a, b): float(total[k])
            for k, (a, b) in enumerate(itertools.product(names, names))
            if sent[k]  # u < v, so that the earlier array comes first
        }

    def total(self) -> float:
        return sum(self.hop_bytes(self.place).values())

    def costs(self, name: str, placed: Sequence[str]) -> NDArray[np.float64]:
        """Hop-bytes of every task of an array to what is placed in other arrays, for every place."""
        span = self.spans[name]
        u, v, bytes = self.edges
        ends = np.concatenate([u, v]).astype(np.int64), np.concatenate([v, u]).astype(np.int64)
        known = np.zeros(self.tasks, dtype=bool)
        for other in placed:
            known[self.spans[other]] = other != name
        kept = (ends[0] >= span.start) & (ends[0] < span.stop) & known[ends[1]]
        places, size = len(self.job.nodes), span.stop - span.start
        key = (ends[0][kept] - span.start) * places + self.place[ends[1][kept]]
        pull = np.bincount(key, np.concatenate([bytes, bytes])[kept], size * places).reshape(size, places)
        out: NDArray[np.float64] = pull @ self.distance
        return out

    def assigned(self, name: str, placed: Sequence[str]) -> NDArray[np.int64]:
        """Places of an array near what is placed."""
        return assign(self.costs(name, placed))

    def improve(self, name: str) -> bool:
        """Assign an array again with all others where they are; keep it if hop-bytes fall."""
        span, before = self.spans[name], self.total()
        old = self.place[span].copy()
        costs = self.costs(name, list(self.spans))
        for start in (None, old):
            self.place[span] = assign(costs, start)
            if self.total() < before * (1 - 1e-9):
                return True
        self.place[span] = old
        return False


def assign(cost: NDArray[np.float64], start: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Places of tasks, evenly filled, with small total cost.

    Parameters
    ----------
    cost : array of float64, shape (tasks, places)
    start : array of int64, shape (tasks,), optional
        From here on, evenly filled; otherwise tasks with most to lose choose first.

    Notes
    -----
    Greedy by regret, then exchanges of two tasks as long as they gain, each task with those on its cheapest places.
    """
    tasks, places = cost.shape
    room = np.full(places, tasks // places)
    # Which places get one more: those that most would like to have.
    room[np.argsort(cost.mean(axis=0), kind="stable")[: tasks % places]] += 1
    if start is None:
        place = np.empty(tasks, np.int64)
        left, open_cost = room.copy(), cost.copy()
        open_cost[:, left == 0] = np.inf
        for task in np.argsort(cost.min(axis=1) - cost.mean(axis=1), kind="stable"):
            p = place[task] = int(open_cost[task].argmin())
            left[p] -= 1
            if not left[p]:
                open_cost[:, p] = np.inf
    else:
        place = start.copy()
    near = np.argpartition(cost, min(_NEAR, places - 1), axis=1)[:, : min(_NEAR, places)]
    members: list[list[int]] = [[] for _ in range(places)]
    for task, p in enumerate(place.tolist()):
        members[p].append(task)
    changed = True
    while changed:
        changed = False
        for task in range(tasks):
            here = place[task]
            better = near[task][cost[task, near[task]] < cost[task, here]]
            others = np.array([o for p in better for o in members[p]], np.int64)
            if not len(others):
                continue
            theirs = place[others]
            change = cost[task, theirs] - cost[task, here] + cost[others, here] - cost[others, theirs]
            best = int(change.argmin())
            if change[best] < -1e-9 * (cost[task, here] + 1e-300):
                other, there = int(others[best]), int(theirs[best])
                members[here].remove(task)
                members[there].remove(other)
                members[here].append(other)
                members[there].append(task)
                place[task], place[other] = there, here
                changed = True
    return place


def _spans(pattern: Pattern, arrays: Mapping[str, int]) -> dict[str, slice]:
    if not arrays or any(size < 1 for size in arrays.values()) or sum(arrays.values()) != pattern.ranks:
        raise InvalidInput(f"arrays have {sum(arrays.values()):,} tasks, but the pattern has {pattern.ranks:,} ranks")
    ends = list(itertools.accumulate(arrays.values()))
    return {name: slice(end - size, end) for (name, size), end in zip(arrays.items(), ends, strict=True)}


def _spread(spans: dict[str, slice], places: int) -> NDArray[np.int64]:
    """Every array in its own order, as even as can be."""
    return np.concatenate([np.arange(s.stop - s.start) * places // (s.stop - s.start) for s in spans.values()])


def _order(problem: _Arrays, given: Sequence[str] | None) -> list[str]:
    if given is not None:
        if sorted(given) != sorted(problem.spans):
            raise InvalidInput(f"order {', '.join(given)}: must be one of {', '.join(problem.spans)}, each once")
        return list(given)
    u, v, bytes = problem.edges
    arrays = len(problem.spans)
    between = np.bincount(problem.array[u] * arrays + problem.array[v], bytes, arrays**2).reshape(arrays, arrays)
    between += between.T
    names = list(problem.spans)
    chosen = [int(between.sum(axis=0).argmax())]
    while len(chosen) < arrays:
        left = [i for i in range(arrays) if i not in chosen]
        chosen.append(max(left, key=lambda i: (between[i, chosen].sum(), -i)))
    return [names[i] for i in chosen]


def _first(problem: _Arrays, name: str, seconds: float, seed: int) -> NDArray[np.int64]:
    """Places of the first array: as a pattern of its own, with edges between those that have a common partner."""
    from .map import map

    span = problem.spans[name]
    own = _own_pattern(problem, span)
    most = -(-(span.stop - span.start) // len(problem.job.nodes))
    options: dict[str, Any] = {"seconds": seconds, "seed": seed, "tasks_per_node": most, "undirected": True}
    nodes = map(own, problem.job, **options).placement.node
    return np.asarray(problem.job._index(nodes), np.int64)


def _own_pattern(problem: _Arrays, span: slice) -> Pattern:
    u, v, bytes = problem.edges
    size = span.stop - span.start
    inside = [(e >= span.start) & (e < span.stop) for e in (u, v)]
    both = inside[0] & inside[1]
    source, target, weight = [u[both] - span.start], [v[both] - span.start], [bytes[both]]
    # Every partner in another array draws its tasks here together.
    crossing = inside[0] ^ inside[1]
    task = np.where(inside[0], u, v)[crossing].astype(np.int64) - span.start
    partner, sent = np.where(inside[0], v, u)[crossing], bytes[crossing]
    order = np.lexsort([task, partner])
    task, partner, sent = task[order], partner[order], sent[order]
    for begin, end in itertools.pairwise([*np.flatnonzero(np.diff(partner, prepend=-1)).tolist(), len(partner)]):
        a, b = np.triu_indices(end - begin, 1)
        source.append(task[begin:end][a].astype(np.uint32))
        target.append(task[begin:end][b].astype(np.uint32))
        # As much as each draws, shared among all pairs.
        weight.append((sent[begin:end][a] + sent[begin:end][b]) / (end - begin))
    s, t = np.concatenate(source), np.concatenate(target)
    w = np.maximum(1, np.rint(np.concatenate(weight))).astype(np.uint64)
    return Pattern.of(size, source=np.concatenate([s, t]), target=np.concatenate([t, s]), bytes=np.concatenate([w, w]))
