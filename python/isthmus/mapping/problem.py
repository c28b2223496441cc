"""The input of a mapping method: tasks and what they exchange, and the nodes of a job with their capacity."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from .within import places_within

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from .. import _core
    from ..machine import Allocation
    from ..schedule.pattern import Pattern
    from .structure import Structure


class Problem:
    """Tasks, places, and how many tasks fit each place.

    Parameters
    ----------
    pattern : Pattern
    job : Allocation
        Place p is node ``job.nodes[p]``.
    capacity : array of int, shape (places,)
        Tasks that fit each place.
    seed : int
    undirected : bool
        Does the pattern have every edge in both directions, each with its whole weight?
    coordinates : array of float, shape (tasks, dimensions), optional
        Where tasks are in the space of the program.
    imbalance : float, optional
        Tasks share cores, and a node may have this part more load than its share; loads are those of the pattern, or 1
        each.
    speeds : array of float, shape (places,), optional
        To which shares are proportional.
    most_recognition : float
        Processor time, about, after which there is no structure.

    Attributes
    ----------
    edges : (array of uint32, array of uint32, array of float64)
        Pairs of different tasks u < v, each pair once, and their bytes, both directions together.
    """

    def __init__(
        self,
        pattern: Pattern,
        job: Allocation,
        capacity: NDArray[np.uint32],
        *,
        seed: int = 0,
        undirected: bool = False,
        coordinates: NDArray[np.float64] | None = None,
        imbalance: float | None = None,
        speeds: NDArray[np.float64] | None = None,
        most_recognition: float = float("inf"),
    ) -> None:
        self.pattern = pattern
        self.job = job
        self.capacity = capacity
        self.seed = seed
        self.coordinates = coordinates
        self.undirected = undirected
        self.imbalance = imbalance
        self.most_recognition = most_recognition
        self.speeds = np.zeros(0) if speeds is None else speeds
        self.edges = edges_of(pattern, undirected)
        if int(capacity.sum()) < pattern.ranks:
            raise InvalidInput(f"{pattern.ranks:,} tasks do not fit: the nodes take {int(capacity.sum()):,}")

    def __getstate__(self) -> dict[str, Any]:
        # Without what follows from the rest.
        derived = {name for name, of in vars(type(self)).items() if isinstance(of, cached_property)}
        return {name: value for name, value in self.__dict__.items() if name not in derived}

    @property
    def tasks(self) -> int:
        return self.pattern.ranks

    @property
    def places(self) -> int:
        return len(self.job.nodes)

    @cached_property
    def graph(self) -> _core.TaskGraph:
        """The tasks for methods in C++."""
        from .. import _core

        # Without any computation all tasks are alike.
        load = self.pattern.load if self.pattern.load.any() else np.zeros(0)
        return _core.TaskGraph(self.tasks, *self.edges, np.ascontiguousarray(load, dtype=np.float64))

    @cached_property
    def target(self) -> _core.Target:
        """The places for methods in C++."""
        from .. import _core

        return _core.Target(self.job.machine.topology, self.job.nodes, np.ascontiguousarray(self.capacity, np.uint32))

    @cached_property
    def structure(self) -> Structure | None:
        """The regular pattern that the tasks form; None where they form none."""
        return self._recognised[0]

    @cached_property
    def places_within(self) -> list[int]:
        """For every distance from 0 on, how many places there are at most within it of one place."""
        return places_within(self.job.machine.topology, self.places, self.distance)

    @property
    def recognition(self) -> float:
        """Processor time, about, of finding the structure."""
        return self._recognised[1]

    @cached_property
    def _recognised(self) -> tuple[Structure | None, float]:
        from .structure import of_graph

        return of_graph(self.graph, seconds=self.most_recognition)

    def distance(self, a: NDArray[np.integer[Any]], b: NDArray[np.integer[Any]]) -> NDArray[np.uint32]:
        """Links of the route between places, there or back, whichever has fewer; element by element."""
        topology, x, y = self.job.machine.topology, self.job.nodes[a], self.job.nodes[b]
        there = topology.route_lengths(x, y)
        return there if self.target.symmetric else np.minimum(there, topology.route_lengths(y, x))

    def sent(self) -> NDArray[np.float64] | None:
        """Bytes from task t to u at [t * tasks + u]; None where it is all the same who of the two sends them."""
        if self.target.symmetric:
            return None
        source, target, bytes = self._messages
        pair = source.astype(np.int64) * self.tasks + target
        return np.bincount(pair, bytes, self.tasks**2).astype(np.float64)

    @cached_property
    def _messages(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64]]:
        """Sender, receiver and bytes; both ways of an undirected edge together have its weight."""
        bytes = self.pattern.bytes.astype(np.float64) * (0.5 if self.undirected else 1.0)
        return self.pattern.sources(), self.pattern.peer, bytes

    def given(self, start: ArrayLike) -> NDArray[np.uint32]:
        """A map that was given, as the core takes it; raises InvalidInput for one of another problem."""
        place = np.ascontiguousarray(start, dtype=np.uint32)
        self.check(place, "start")
        return place

    def check(self, place: NDArray[np.uint32], method: str) -> None:
        """Raises InvalidInput unless every task has a place, and no place more tasks than fit."""
        if len(place) != self.tasks or (len(place) and int(place.max()) >= self.places):
            raise InvalidInput(
                f"{method}: {len(place):,} places, must be one for each of {self.tasks:,} tasks, below {self.places:,}"
            )
        if self.imbalance is not None and self.pattern.load.any():
            return  # loads are balanced, not numbers of tasks
        over = np.bincount(place, minlength=self.places) > self.capacity
        if over.any():
            at = int(np.argmax(over))
            raise InvalidInput(f"{method}: more than {self.capacity[at]} tasks on node {self.job.nodes[at]}")

    def hop_bytes(self, place: NDArray[np.uint32]) -> float:
        """Bytes times links on the route of each message, as in the metrics."""
        from .. import _core

        if self.target.symmetric:
            return _core.hop_bytes(self.graph, self.target, place)
        source, target, bytes = self._messages
        node = self.job.nodes[place]
        return float(bytes @ self.job.machine.topology.route_lengths(node[source], node[target]))


def edges_of(pattern: Pattern, undirected: bool) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64]]:
    """Pairs of different tasks u < v, each once, with the bytes of both directions (of one, if undirected)."""
    source, target, bytes = pattern.sources(), pattern.peer, pattern.bytes.astype(np.float64)
    if undirected:
        kept = source < target
        return source[kept], target[kept], bytes[kept]
    kept = source != target
    low, high = np.minimum(source, target)[kept], np.maximum(source, target)[kept]
    pair = low.astype(np.int64) * pattern.ranks + high
    found, where = np.unique(pair, return_inverse=True)
    total = np.bincount(where, bytes[kept], len(found)).astype(np.float64)
    return (found // pattern.ranks).astype(np.uint32), (found % pattern.ranks).astype(np.uint32), total
