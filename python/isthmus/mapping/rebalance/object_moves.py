"""Moves of objects that unload cores and shorten the ways of their messages."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from .packing import pack

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .object_places import Residence

_PASSES = 4
#: Bounds that are tried above a limit that cannot be kept; how near to what cannot be kept is near enough.
_HALVINGS, _CLOSE = 5, 1.005
# Gains below this part of what is at stake are rounding errors.
_LEAST = 1e-9


class Mover:
    """Moves objects of a residence.

    Parameters
    ----------
    residence : Residence
    size : array of float64, shape (objects,)
        Bytes that an object is when it moves to another node.
    steps : float
        Steps that hop-bytes count for.
    limit : float
        Seconds that a core may have to do.
    """

    def __init__(self, residence: Residence, size: NDArray[np.float64], steps: float, limit: float) -> None:
        self._at = residence
        self._size, self._steps = size, steps
        self._home = residence.place.copy()
        # Sums of seconds are not exact.
        self._limit = limit * (1 + 1e-12)
        self._packs = True

    def place_anew(self) -> None:
        """Place all movable objects, the heaviest first, each on the cheapest core that can take it."""
        at = self._at
        objects = np.flatnonzero(at.movable)
        for o in objects:
            at.take(int(o))
        for o in objects[np.argsort(-at.load[objects], kind="stable")].tolist():
            done = self._seconds_with(o)
            room = done <= self._limit
            at.put_idle(o, _least(self._cost(o), done, room) if room.any() else int(done.argmin()))

    def unload(self) -> None:
        """Move objects away from the cores that have too much to do.

        Where the limit cannot be kept, the least that can be is looked for by halving what is between the two.
        """
        limit = low = self._limit
        self._unload()
        for _ in range(_HALVINGS):
            high = float(self._at.time.max())
            if high <= low * _CLOSE:
                break
            self._limit, self._packs = (low + high) / 2, True
            self._unload()
            if self._at.time.max() > self._limit:
                low = self._limit
        self._limit = limit

    def _unload(self) -> None:
        at = self._at
        heap = [(-seconds, *divmod(i, at.time.shape[1])) for i, seconds in enumerate(at.time.ravel().tolist())]
        heapq.heapify(heap)
        while heap:
            seconds, place, core = heapq.heappop(heap)
            if -seconds <= self._limit:
                return
            if -seconds == at.time[place, core] and self._relieve(place, core):
                heapq.heappush(heap, (-float(at.time[place, core]), place, core))

    def _relieve(self, place: int, core: int) -> bool:
        """Move objects off a core until it has no more than the limit; False if none could be moved."""
        at = self._at
        offers: list[tuple[float, float, float, int]] = []
        for o in at.movable_on(place, core):
            if at.load[o] > 0:
                room = self._seconds_with(o) <= self._limit
                if room.any():
                    cost = self._cost(o)
                    work = min(at.load[o] / at.speeds[place], at.time[place, core] - self._limit)
                    price = float(cost[room].min() - cost[place]) / work
                    offers.append((price, -float(work), float(at.load[o]), o))
        moved = False
        for *_, o in sorted(offers):
            if at.time[place, core] <= self._limit:
                return moved
            done = self._seconds_with(o)
            room = done <= self._limit
            if room.any():
                at.move(o, _least(self._cost(o), done, room))
                moved = True
        if moved or self._trade(place, core, self._limit) or self._repack(place, core):
            return True
        return self._soften(place, core)

    def _trade(self, place: int, core: int, bound: float) -> bool:
        """Swap an object with a lighter one elsewhere so that both cores have ``bound`` at most; the cheapest pair.

        What the lighter one's messages cost is not looked at: it is chosen for its weight.
        """
        at = self._at
        others = np.flatnonzero(at.movable & ((at.place != place) | (at.core != core)))
        there, busy = at.place[others], at.time[at.place[others], at.core[others]]
        best: tuple[float, float, int, int] | None = None
        for o in at.movable_on(place, core):
            less = at.load[o] - at.load[others]
            here = at.time[place, core] - less / at.speeds[place]
            fits = (less > 0) & (here <= bound) & (busy + less / at.speeds[there] <= bound)
            if fits.any():
                cost = self._cost(o)
                price = np.where(fits, cost[there] - cost[place], np.inf)
                i = int(price.argmin())
                offer = (float(price[i]), float(at.load[o]), o, int(others[i]))
                best = offer if best is None else min(best, offer)
        if best is None:
            return False
        *_, heavy, light = best
        to, where = int(at.place[light]), int(at.core[light])
        at.take(heavy)
        at.take(light)
        at.put(heavy, to, where)
        at.put(light, place, core)
        return True

    def _repack(self, place: int, core: int) -> bool:
        """Pack the objects of a core anew with those of the cores that have most room: one, two, four and so on."""
        at = self._at
        if not self._packs:
            return False
        room = (self._limit - at.time) * at.speeds[:, None]
        away = np.broadcast_to(at.distances(place)[:, None], room.shape)
        cores = np.lexsort((away.ravel(), -room.ravel()))
        here = place * room.shape[1] + core
        cores = np.concatenate([[here], cores[cores != here]])
        number = 1
        while number < len(cores):
            number = min(2 * number, len(cores))
            if room.ravel()[cores[:number]].sum() >= 0 and self._pack(cores[:number]):
                return True
        # What could not be packed with all cores will not be the next time.
        self._packs = False
        return False

    def _pack(self, cores: NDArray[np.int64]) -> bool:
        """Pack what is movable on some cores anew, so that none has more than the limit."""
        at = self._at
        places, wide = cores // at.time.shape[1], at.time.shape[1]
        on = [[o for o in at.movable_on(*divmod(int(c), wide)) if at.load[o] > 0] for c in cores]
        objects = np.array([o for some in on for o in some], dtype=np.int64)
        home = np.repeat(np.arange(len(cores)), [len(some) for some in on])
        room = (self._limit - at.time.ravel()[cores]) * at.speeds[places]
        room += np.bincount(home, at.load[objects], len(cores))
        cost = np.array([self._cost(int(o))[places] for o in objects]).reshape(len(objects), len(cores))
        found = pack(at.load[objects], room, home, cost)
        if found is None or np.array_equal(found, home):
            return False
        moves = np.flatnonzero(found != home)
        for i in moves:
            at.take(int(objects[i]))
        for i in moves:
            at.put(int(objects[i]), *divmod(int(cores[found[i]]), wide))
        return True

    def _soften(self, place: int, core: int) -> bool:
        """If nothing fits under the limit: the move after which the busier of both cores has the least load."""
        at = self._at
        best: tuple[float, float, int, int] | None = None
        for o in at.movable_on(place, core):
            if at.load[o] > 0:
                done = self._seconds_with(o)
                to = _least(self._cost(o), done, done == done.min())
                left = float(at.time[place, core] - at.load[o] / at.speeds[place])
                offer = (max(float(done[to]), left), float(self._cost(o)[to]), o, to)
                best = offer if best is None else min(best, offer)
        less = float(at.time[place, core]) * (1 - _LEAST)
        if best is None or best[0] >= less:
            return self._trade(place, core, less)
        at.move(best[2], best[3])
        return True

    def improve(self) -> None:
        """Move objects, within the limit, as long as that pays for the move."""
        at = self._at
        objects = np.flatnonzero(at.movable).tolist()
        for _ in range(_PASSES):
            moved = 0
            for o in objects:
                cost = self._cost(o)
                here = int(at.place[o])
                cheaper = cost < cost[here] - _LEAST * (1 + abs(cost[here]))
                if cheaper.any():
                    done = self._seconds_with(o)
                    room = cheaper & (done <= self._limit)
                    if room.any():
                        at.move(o, _least(cost, done, room))
                        moved += 1
            if not moved:
                return

    def _seconds_with(self, object: int) -> NDArray[np.float64]:
        """Load of the least loaded core of every node with the object."""
        out: NDArray[np.float64] = self._at.time.min(axis=1) + self._at.load[object] / self._at.speeds
        return out

    def _cost(self, object: int) -> NDArray[np.float64]:
        """Hop-bytes of all steps and of the move, with the object on any node."""
        out: NDArray[np.float64] = self._steps * self._at.costs(object)
        if self._size[object]:
            out += self._size[object] * self._at.distances(int(self._home[object]))
        return out


def _least(cost: NDArray[np.float64], seconds: NDArray[np.float64], allowed: NDArray[np.bool_]) -> int:
    """The cheapest allowed place; of equal ones the one with least to do, of these the first."""
    lowest = cost[allowed].min()
    ties = np.flatnonzero(allowed & (cost <= lowest + _LEAST * (1 + abs(lowest))))
    return int(ties[seconds[ties].argmin()])
