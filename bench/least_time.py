"""A time that no placement of a program undercuts, however it was found.

Simulated under ``flow``, a program takes at least as long as every chain of operations and messages in it. Chains are
critical paths of simulations without contention; what one takes depends on the distances of the ranks between which its
messages go. Of a few ranks the longest chain is worked out for all placements: the least of these times is a bound, and
the placement that has it gives another chain, until that is no longer (cutting planes). Of more ranks chains are
weighed, as in a matrix game between those who place and those who choose the chain; the weighed chain takes at least
the optimum of a linear program that divides ranks into nodes (``Least.relaxed``).

So that chains hold for all placements, they have nothing of which another placement changes the order: simulations give
every rank interfaces of its own and receive in no time; the overhead of a receive counts where a message is waited for,
gaps count between the sends of one rank, and the time of computation and overheads of sends in its order, which is that
of the program. This is less than what the simulator charges.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack

import isthmus

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Placements up to which all are looked at.
_ALL = 50_000
#: Chains at most, and local searches for each of them.
_CHAINS, _STARTS = 40, 4
#: What is longer by less than this part is no longer.
_SAME = 1e-6
#: Seconds that a local search has to gain.
_GAIN = 1e-15


@dataclass(frozen=True)
class Chain:
    """Seconds of a chain: those that do not depend on places, and those of messages, by the ranks (from, to).

    Attributes
    ----------
    fixed : float
        Computation.
    near, far : array of shape (ranks, ranks)
        Messages of two ranks on one node, and on two nodes one link apart.
    hops : array of shape (ranks, ranks)
        How many latencies there are, each of which grows with the distance.
    narrow : array of shape (kinds, ranks, ranks)
        More, by the kind of the narrowest link on the route.
    """

    fixed: float
    near: NDArray[np.float64]
    far: NDArray[np.float64]
    hops: NDArray[np.float64]
    narrow: NDArray[np.float64]


def weighed(chains: Sequence[Chain], weights: NDArray[np.float64]) -> Chain:
    """The mean of chains with these weights."""
    names = ("fixed", "near", "far", "hops", "narrow")
    return Chain(*(sum(w * getattr(c, f) for w, c in zip(weights, chains, strict=True)) for f in names))


class Least:
    """The bound of a program on the nodes of a job.

    Parameters
    ----------
    program : Program or Schedule
    job : Allocation
        Of a machine whose levels have no pieces.
    """

    def __init__(self, program: isthmus.Program | isthmus.Schedule, job: isthmus.Allocation) -> None:
        self.schedule = isthmus.lower(program) if isinstance(program, isthmus.Program) else program
        self.job, self.ranks, self.room = job, program.ranks, job.ranks_per_node
        self.nodes = np.asarray(job.nodes, np.int64)
        level = job.machine.level
        assert not any(one.pieces for one in (level.socket, level.node, level.network))
        self.machine = copy.copy(job.machine)
        self.machine.node = replace(job.machine.node, nics=job.machine.node.cores)
        self.machine.level = type(level)(
            **{name: replace(getattr(level, name), o_recv=0.0) for name in ("socket", "node", "network")}
        )
        # The better of the two levels of a node.
        names = ("L", "o_send", "o_recv", "g", "G", "O", "O_of_receiver")
        self.inside = {f: min(getattr(level.node, f), getattr(level.socket, f)) for f in names}
        self.outside = {f: getattr(level.network, f) for f in names}
        count = len(self.nodes)
        a, b = np.repeat(self.nodes, count), np.tile(self.nodes, count)
        links = np.asarray(job.machine.route_length(a, b), np.float64).reshape(count, count)
        self.apart = links > 0
        self.beyond = np.maximum(links - 1, 0) * level.network.per_hop
        # Seconds a byte of the narrowest links that there are, and which of them is on a route.
        self.slow, kind = np.unique(self._slowest(a, b), return_inverse=True)
        self.kind = kind.reshape(count, count)
        self._rank = np.repeat(np.arange(self.ranks), np.diff(np.asarray(self.schedule.op_first, np.int64)))
        self.chains: list[Chain] = []

    def _slowest(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.float64]:
        first, links = (np.asarray(one, np.int64) for one in self.job.machine.routes(a, b))
        slow = np.append(1 / self.job.machine.topology.bandwidth(links.astype(np.uint32)), 0.0)
        most = np.maximum.reduceat(slow, np.minimum(first[:-1], len(slow) - 1))
        return np.where(np.diff(first) > 0, np.maximum(most, self.outside["G"]), 0.0)

    def bound(self, known: Sequence[NDArray[np.int64]]) -> float:
        """The bound in seconds; ``known``: placements to begin with, indices of nodes of the job by rank."""
        self.chains = [self.chain(np.asarray(place, np.int64)) for place in known]
        every = self.every()
        return self._of_all(every) if every is not None else self._of_game(np.asarray(known, np.int64))

    def chain(self, place: NDArray[np.int64]) -> Chain:
        """The critical path in a placement, without contention."""
        placement = isthmus.Placement(self.machine, self.nodes[place])
        timeline = isthmus.simulate(self.schedule, self.machine, placement, record="ops", symmetry=False, skip=False)
        path = timeline.critical_path()
        near, far, hops = (np.zeros((self.ranks, self.ranks)) for _ in range(3))
        narrow = np.zeros((len(self.slow), self.ranks, self.ranks))
        op = path.op.astype(np.int64)
        source, target = self._rank[op], self.schedule.ops["peer"][op].astype(np.int64)
        rest = np.maximum(self.schedule.ops["amount"][op].astype(np.float64) - 1, 0)
        fixed = float((path.end_ps - path.begin_ps)[path.via == "compute"].sum()) / 1e12

        def add(via: str, cost: Callable[[dict[str, float], NDArray[np.float64]], NDArray[np.float64]]) -> None:
            at = np.flatnonzero((path.via == via) & (path.rank == source))
            for to, parameters in ((near, self.inside), (far, self.outside)):
                np.add.at(to, (source[at], target[at]), cost(parameters, rest[at]))

        add("send_overhead", lambda p, rest: p["o_send"] + p["O"] * rest)
        # Messages on a node and between nodes have different interfaces, but one processor sends them.
        alone = self.room == 1
        add("gap", lambda p, rest: p["g"] + p["G"] * rest if alone else p["o_send"] + p["O"] * rest)
        add("wire", lambda p, rest: p["o_send"] + p["L"] + p["o_recv"] + p["O_of_receiver"] * rest)
        at = np.flatnonzero(path.via == "wire")
        np.add.at(hops, (source[at], target[at]), 1.0)
        at = np.flatnonzero(path.via == "landing")
        pair = source[at], target[at]
        np.add.at(near, pair, self.inside["G"] * rest[at])
        np.add.at(far, pair, self.outside["G"] * rest[at])
        # Links carry bytes from the send on, and not only when its overhead is over.
        for i, slow in enumerate(self.slow):
            more = rest[at] * (slow - self.outside["G"]) - self.outside["o_send"]
            np.add.at(narrow[i], pair, np.maximum(more, 0.0))
        return Chain(fixed, near, far, hops, narrow)

    def lengths(self, chain: Chain, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Seconds of a chain in placements, of shape (placements, ranks)."""
        out = np.full(len(places), chain.fixed)
        for i, j in zip(*np.nonzero(chain.near + chain.far), strict=True):
            far = chain.far[i, j] + chain.hops[i, j] * self.beyond + chain.narrow[self.kind, i, j]
            out += np.where(self.apart, far, chain.near[i, j])[places[:, i], places[:, j]]
        return out

    def every(self) -> NDArray[np.int64] | None:
        """All placements; None if they are too many."""
        slots = len(self.nodes) * self.room
        alike = math.factorial(self.room) ** len(self.nodes) * math.factorial(slots - self.ranks)
        if math.factorial(slots) / alike > _ALL:
            return None
        out: list[tuple[int, ...]] = [()]
        for _ in range(self.ranks):
            out = [(*p, a) for p in out for a in range(len(self.nodes)) if p.count(a) < self.room]
        return np.array(out)

    def _of_all(self, places: NDArray[np.int64]) -> float:
        longest = np.max([self.lengths(c, places) for c in self.chains], axis=0)
        for _ in range(_CHAINS):
            best = int(longest.argmin())
            self.chains.append(self.chain(places[best]))
            lengths = self.lengths(self.chains[-1], places)
            if lengths[best] <= longest[best] * (1 + _SAME):
                break
            longest = np.maximum(longest, lengths)
        return float(longest.min())

    def _of_game(self, places: NDArray[np.int64]) -> float:
        rng = np.random.default_rng(1)
        slots = np.repeat(np.arange(len(self.nodes)), self.room)
        for _ in range(_CHAINS):
            weights, value = game(np.array([self.lengths(c, places) for c in self.chains]))
            mean = weighed(self.chains, weights)
            order = np.argsort(self.lengths(mean, places))
            starts = [places[i] for i in order[: _STARTS // 2]]
            starts += [rng.permutation(slots)[: self.ranks] for _ in range(_STARTS - len(starts))]
            found = [self._improved(mean, place, rng) for place in starts]
            seconds = [float(self.lengths(mean, place[None])[0]) for place in found]
            best = int(np.argmin(seconds))
            if seconds[best] >= value * (1 - _SAME):
                break
            places = np.vstack([places, found[best][None]])
            self.chains.append(self.chain(found[best]))
        weights, _ = game(np.array([self.lengths(c, places) for c in self.chains]))
        return self.relaxed(weighed(self.chains, weights))

    def _improved(self, chain: Chain, place: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """A placement in which no two ranks, or a rank and a free place, are better exchanged."""
        far = chain.far[:, :, None, None] + chain.hops[:, :, None, None] * self.beyond
        far = far + chain.narrow[self.kind].transpose(2, 3, 0, 1)
        costs = np.where(self.apart, far, chain.near[:, :, None, None])
        costs = costs + costs.transpose(1, 0, 3, 2)
        n, rank = self.ranks, np.arange(self.ranks)
        spare = np.repeat(np.arange(len(self.nodes)), self.room - np.bincount(place, minlength=len(self.nodes)))
        place = np.concatenate([place, spare])

        def of(i: int, where: NDArray[np.int64]) -> float:
            return float(costs[i, rank, where[i], where[:n]].sum())

        moved = True
        while moved:
            moved = False
            for i in rng.permutation(n):
                best, gain = None, _GAIN
                for k in np.flatnonzero(place != place[i]):
                    other = place.copy()
                    other[[i, k]] = other[[k, i]]
                    won = of(i, place) - of(i, other)
                    if k < n:
                        # What the two exchange is in both sums.
                        twice = costs[i, k, place[i], place[k]] - costs[i, k, other[i], other[k]]
                        won += of(k, place) - of(k, other) - twice
                    if won > gain:
                        best, gain = other, won
                if best is not None:
                    place, moved = best, True
        return place[:n]

    def relaxed(self, chain: Chain) -> float:
        """Seconds that a chain takes at least: the linear relaxation of dividing ranks into groups, each on a node.

        Half of what leaves a group counts there, as if all of it went to the nearest nodes, most to the nearest. With
        one rank a node this is the bound of Gilmore ("Optimal and suboptimal algorithms for the quadratic assignment
        problem", 1962) and Lawler ("The quadratic assignment problem", 1963).
        """
        n, count = self.ranks, len(self.nodes)
        near, far, hops = (one + one.T for one in (chain.near, chain.far, chain.hops))
        narrow = chain.narrow + chain.narrow.transpose(0, 2, 1)
        sizes = range(max(self.room - (count * self.room - n), 1), min(self.room, n) + 1)
        groups = [group for size in sizes for group in itertools.combinations(range(n), size)]
        member = np.zeros((len(groups), n))
        for i, group in enumerate(groups):
            member[i, list(group)] = 1.0
        within = (member @ near * member).sum(axis=1) / 2
        leaves = (member @ far * (1 - member)).sum(axis=1) / 2
        most = -np.sort(-(member @ hops) * (1 - member), axis=1)
        # Nodes that are as far from others, over links of the same kinds, are alike.
        beyond = np.minimum(self.beyond, self.beyond.T)
        alike: Counter[tuple[tuple[float, ...], tuple[int, ...]]] = Counter()
        for k in range(count):
            others = np.delete(np.arange(count), k)
            kinds = {int(kind) for kind in (*self.kind[k, others], *self.kind[others, k])}
            alike[tuple(np.sort(beyond[k, others]).tolist()), tuple(sorted(kinds))] += 1
        costs, on = [], []
        for i, (distances, kinds) in enumerate(alike):
            nearest = np.zeros(n)
            filled = np.repeat(distances, self.room)[:n]
            nearest[: len(filled)] = filled
            more = narrow[list(kinds)].min(axis=0) if kinds else np.zeros((n, n))
            costs.append(within + leaves + most @ nearest / 2 + (member @ more * (1 - member)).sum(axis=1) / 2)
            on.append(np.zeros((len(groups), len(alike))))
            on[-1][:, i] = 1.0
        every = np.concatenate(costs)
        scale = max(float(every.max()), _GAIN)
        found = linprog(
            every / scale,
            A_eq=vstack([csr_array(member)] * len(alike)).T,
            b_eq=np.ones(n),
            A_ub=vstack([csr_array(one) for one in on]).T,
            b_ub=np.array(list(alike.values()), float),
        )
        return chain.fixed + float(found.fun) * scale


def game(table: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Weights of rows whose mean has the largest least column, and that column."""
    rows, columns = table.shape
    scale = float(table.max())
    found = linprog(
        np.append(np.zeros(rows), -1.0),
        A_ub=np.hstack([-table.T / scale, np.ones((columns, 1))]),
        b_ub=np.zeros(columns),
        A_eq=np.append(np.ones(rows), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * rows + [(None, None)],
    )
    weights = np.maximum(found.x[:rows], 0)
    return weights / weights.sum(), float(found.x[rows]) * scale
