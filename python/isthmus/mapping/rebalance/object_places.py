"""Where objects are, what each core has to do, and what the messages of an object cost on any node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...machine.allocation import Allocation

_ROWS = 1 << 27  # bytes of distances that are kept at most


class Residence:
    """Objects on the cores of a job; a place is the index of a node in the job.

    Parameters
    ----------
    job : Allocation
        Its nodes, ``ranks_per_node`` cores of each.
    load : array of float64, shape (objects,)
        Seconds of work of each object on a core of speed 1.
    edges : (array of uint32, array of uint32, array of float64)
        Pairs of different objects, each once, with bytes per step.
    movable : array of bool, shape (objects,)
    proxies : bool
        What a fixed object exchanges with the movable ones of a node crosses the network once, for all of them: the
        largest edge counts.
    speeds : array of float64, shape (places,)
    busy : array of float64, shape (places, cores)
        Seconds that cores have to do besides.
    aware : bool
        False: all other nodes are one hop away, for comparison.

    Attributes
    ----------
    place, core : array of int64, shape (objects,)
        -1 while an object is nowhere.
    time : array of float64, shape (places, cores)
        Seconds of every core.
    """

    def __init__(
        self,
        job: Allocation,
        load: NDArray[np.float64],
        edges: tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64]],
        movable: NDArray[np.bool_],
        proxies: bool,
        speeds: NDArray[np.float64],
        busy: NDArray[np.float64],
        aware: bool,
    ) -> None:
        self.job, self.load, self.movable, self.speeds, self.aware = job, load, movable, speeds, aware
        u, v, bytes = edges
        self._edges = u.astype(np.int64), v.astype(np.int64), bytes
        ends = np.concatenate([self._edges[0], self._edges[1]])
        order = np.argsort(ends, kind="stable")
        self._first = np.searchsorted(ends[order], np.arange(len(load) + 1))
        self._peer = np.concatenate([self._edges[1], self._edges[0]])[order]
        self._bytes = np.concatenate([bytes, bytes])[order]
        self._shares = ~movable if proxies else np.zeros(len(load), dtype=bool)
        # For every fixed object that others share: how many of those are on which node.
        self._proxies: dict[int, dict[int, int]] = {int(q): {} for q in np.flatnonzero(self._shares)}
        self._rows: dict[int, NDArray[np.float64]] = {}
        self.place = np.full(len(load), -1, dtype=np.int64)
        self.core = np.full(len(load), -1, dtype=np.int64)
        self.time = busy.copy()
        self._on: dict[tuple[int, int], set[int]] = {}

    def put(self, object: int, place: int, core: int) -> None:
        """Put an object that is nowhere on a core."""
        self.place[object], self.core[object] = place, core
        self.time[place, core] += self.load[object] / self.speeds[place]
        self._on.setdefault((place, core), set()).add(object)
        if self.movable[object]:
            for q in self._shared(object):
                self._proxies[q][place] = self._proxies[q].get(place, 0) + 1

    def take(self, object: int) -> None:
        """Take an object away from its core."""
        place, core = int(self.place[object]), int(self.core[object])
        self.place[object] = self.core[object] = -1
        self.time[place, core] -= self.load[object] / self.speeds[place]
        self._on[place, core].remove(object)
        if self.movable[object]:
            for q in self._shared(object):
                self._proxies[q][place] -= 1
                if not self._proxies[q][place]:
                    del self._proxies[q][place]

    def move(self, object: int, place: int) -> None:
        """Move an object to the core of a node that has least to do."""
        self.take(object)
        self.put_idle(object, place)

    def put_idle(self, object: int, place: int) -> None:
        """Put an object that is nowhere on the core of a node that has least to do."""
        self.put(object, place, int(self.time[place].argmin()))

    def movable_on(self, place: int, core: int) -> list[int]:
        """Movable objects on a core, ascending."""
        return sorted(o for o in self._on.get((place, core), ()) if self.movable[o])

    def _shared(self, object: int) -> list[int]:
        peers = self._peer[self._first[object] : self._first[object + 1]]
        kept: list[int] = peers[self._shares[peers]].tolist()
        return kept

    def least(self) -> float:
        """Seconds that some core has to do wherever objects move: the average, the heaviest object, or what stays."""
        stays = self.time.copy()
        free = np.flatnonzero(self.movable)
        np.subtract.at(stays, (self.place[free], self.core[free]), self.load[free] / self.speeds[self.place[free]])
        heaviest = float(self.load[free].max()) / float(self.speeds.max()) if len(free) else 0.0
        return max(self.average(), heaviest, float(stays.max()))

    def average(self) -> float:
        """Seconds of every core if the work were spread in proportion to their speeds."""
        return float((self.time * self.speeds[:, None]).sum() / (self.speeds.sum() * self.time.shape[1]))

    def distances(self, place: int) -> NDArray[np.float64]:
        """Links from a place to all places."""
        row = self._rows.get(place)
        if row is None:
            nodes = self.job.nodes
            if self.aware:
                row = np.asarray(self.job.machine.route_length(nodes[place], nodes), dtype=np.float64)
            else:
                row = (np.arange(len(nodes)) != place).astype(np.float64)
            if (len(self._rows) + 1) * row.nbytes > _ROWS:
                self._rows.clear()
            self._rows[place] = row
        return row

    def costs(self, object: int) -> NDArray[np.float64]:
        """Hop-bytes per step of a movable object on every place, with everything else where it is.

        Peers that are nowhere yet cost nothing.
        """
        out = np.zeros(len(self.job), dtype=np.float64)
        here = int(self.place[object])
        span = slice(self._first[object], self._first[object + 1])
        for q, bytes in zip(self._peer[span].tolist(), self._bytes[span].tolist(), strict=True):
            at = int(self.place[q])
            if at < 0:
                continue
            row = bytes * self.distances(at)
            if self._shares[q]:
                row[[p for p, count in self._proxies[q].items() if count > (p == here)]] = 0.0
            out += row
        return out

    def hop_bytes(self) -> float:
        """Bytes times links per step, what proxies share counted once."""
        u, v, bytes = self._edges
        nodes = self.job.nodes
        hops = np.asarray(self.job.machine.route_length(nodes[self.place[u]], nodes[self.place[v]]), dtype=np.float64)
        shared = (self._shares[u] & self.movable[v]) | (self._shares[v] & self.movable[u])
        total = float((bytes * hops)[~shared].sum())
        fixed = np.where(self._shares[u], u, v)[shared]
        other = np.where(self._shares[u], v, u)[shared]
        # The largest edge of every pair of a fixed object and a node comes last.
        order = np.lexsort((bytes[shared], self.place[other], fixed))
        keys = np.stack([fixed, self.place[other]])[:, order]
        last = np.append((keys[:, 1:] != keys[:, :-1]).any(axis=0), True) if len(order) else np.zeros(0, dtype=bool)
        return total + float((bytes * hops)[shared][order][last].sum())
