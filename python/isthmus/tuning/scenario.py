"""The conditions under which collectives are tuned: machine, ranks, placement, network model."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from ..machine import Level, Machine, Node

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..simulation.makespans import Makespans
    from .choice import Choice

#: Times that differ by less are as good as each other: tables show no more. Where messages meet, models are no finer.
ALIKE, ALIKE_MEETING = 1e-3, 0.005
_PAIRS = 512  # of ranks, among which levels and distances are looked for
_PRIME = 1_000_003  # bytes: parts of it are no multiples
_COARSE = 0.05  # of flows: times differ by about 1 % from those of the finer one
#: Collectives whose size is that of a block, of which every message has whole ones.
_OF_BLOCKS = ("gather", "scatter", "allgather", "alltoall", "reduce_scatter")


def alike(model: str) -> float:
    """The least relative difference of two times of a model at which one counts as better."""
    return ALIKE if model == "loggops" else ALIKE_MEETING


@dataclass(frozen=True)
class Work:
    """Lower bounds of the time of a candidate.

    Attributes
    ----------
    seconds : array of float
        At each size, for what its busiest rank or interface has to do; 0 where it is not known.
    links : array of float
        For what the busiest link has to carry, in models where messages meet; 0 where it is not known.
    operations : int
        Number of operations of the schedule that told it; 0 if there was none.
    """

    seconds: NDArray[np.float64]
    links: NDArray[np.float64]
    operations: int


@dataclass(frozen=True)
class Scenario:
    """Conditions that determine the time of a collective besides its algorithm.

    Parameters
    ----------
    machine : Machine or Level
    ranks : int
    placement : Allocation, Placement or array of int, optional
        As of :func:`isthmus.simulate`.
    model, routing : str
        As of :func:`isthmus.simulate`.
    copy_rate, reduce_rate : float, optional
        As of :func:`isthmus.simulate`.
    """

    machine: Machine | Level
    ranks: int
    placement: Any = None
    model: str = "loggops"
    routing: str = "minimal"
    copy_rate: float | None = None
    reduce_rate: float | None = None
    fastest: Level = field(init=False)
    typical: Level = field(init=False)
    rates: dict[str, float] = field(init=False)
    lanes: int = field(init=False)

    def __post_init__(self) -> None:
        if self.ranks < 1:
            raise InvalidInput(f"{self.ranks} ranks: expected at least 1")
        node = self.machine.node if isinstance(self.machine, Machine) else Node()
        byte = node.cores / node.memory_bandwidth if node.memory_bandwidth else 0.0
        # Of times by size the least per byte: closed forms with it are not above the time on the machine.
        copied, reduced = (
            min((one.time / one.bytes for one in times), default=bytes * byte)
            for times, bytes in ((node.copy, 2), (node.reduce, 3))
        )
        rates = {
            "copy_rate": copied if self.copy_rate is None else self.copy_rate,
            "reduce_rate": reduced if self.reduce_rate is None else self.reduce_rate,
        }
        levels = self._levels()
        # The least value of each parameter: closed forms with them are not above the time on the machine.
        least = {
            name: min(getattr(level.least(), name) for level in levels)
            for name in ("L", "o_send", "o_recv", "g", "G", "O")
        }
        if any(level.pieces or level.O_recv is not None for level in levels):
            least["O_recv"] = min(level.least().O_of_receiver for level in levels)
        object.__setattr__(self, "rates", rates)
        # Within a node messages take another interface than between nodes.
        object.__setattr__(self, "lanes", min(len(levels), 2))
        object.__setattr__(self, "fastest", Level(**least, S=max(level.S for level in levels)))
        object.__setattr__(self, "typical", max(levels, key=lambda level: level.L + level.o_send + level.o_recv))

    def bound(self, collective: str, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return a lower bound of the time of every algorithm, seconds, one entry per size."""
        from ..collectives.models import bound
        from ..collectives.models.node_bounds import node_bound
        from ..simulation.simulate import located

        reduce_rate = self.rates["reduce_rate"]
        least = bound(
            collective, self.fastest, ranks=self.ranks, sizes=sizes, reduce_rate=reduce_rate, lanes=self.lanes
        ).time
        if isinstance(self.machine, Level):
            return least
        where = located(self.ranks, self.machine, self.placement)
        _, counts = np.unique(where.node, return_counts=True)
        interfaces = max(self.machine.node.nics, 1)
        between = node_bound(
            collective, self.machine.level.network, ranks_of_nodes=counts.tolist(), interfaces=interfaces, sizes=sizes
        )
        return np.maximum(least, between)

    def _levels(self) -> list[Level]:
        """The levels that pairs of ranks use; the latency of the network includes the routes."""
        if isinstance(self.machine, Level):
            return [self.machine]
        from ..simulation.simulate import located

        where = located(self.ranks, self.machine, self.placement)
        random = np.random.default_rng(0)
        a = np.arange(min(self.ranks, _PAIRS))
        pairs = np.concatenate([np.stack([a[:-1], a[1:]]), random.integers(0, self.ranks, (2, _PAIRS))], axis=1)
        same_node = where.node[pairs[0]] == where.node[pairs[1]]
        same_socket = same_node & (where.socket[pairs[0]] == where.socket[pairs[1]])
        found = []
        levels = self.machine.level
        if same_socket.any():
            found.append(levels.socket)
        if (same_node & ~same_socket).any():
            found.append(levels.node)
        if not same_node.all():
            apart = pairs[:, ~same_node]
            hops = float(np.mean(self.machine.distance(where.node[apart[0]], where.node[apart[1]])))
            way = max(hops - 1, 0.0) * levels.network.per_hop
            found += [levels.network, replace(levels.network, L=levels.network.L + way, per_hop=0.0)]
        return found

    def schedule(self, collective: str, choice: Choice, size: int) -> Any:
        """Return the schedule of one collective of this size in bytes."""
        from ..collectives import collective as schedule

        return schedule(collective, ranks=self.ranks, bytes=size, algorithm=choice.argument)

    def seconds(self, collective: str, choice: Choice, size: int) -> float:
        """Return the simulated time of one collective of this size in bytes.

        Raises
        ------
        InvalidInput
            For an algorithm or option that the collective does not have.
        """
        return self.makespans()(self.schedule(collective, choice, size))[0]

    def makespans(self, coarse: bool = False) -> Makespans:
        """Return what simulates schedules; ``coarse`` halves the time of simulations with contention."""
        from ..simulation.makespans import Makespans

        return Makespans(
            self.ranks,
            self.machine,
            self.placement,
            model=self.model,
            routing=self.routing,
            resolution=_COARSE if coarse and self.model == "flow" else None,
            copy_rate=self.copy_rate,
            reduce_rate=self.reduce_rate,
        )

    def work(self, collective: str, choice: Choice, sizes: NDArray[np.int64]) -> Work:
        """Return lower bounds of the time of a candidate at each size.

        One schedule tells it for all sizes where all amounts are multiples of the size, of vectors of a rank's share.
        Where they are not, and with segments, whose number grows with the size, nothing is known.
        """
        from ..simulation.work import work_bound

        found, links = np.zeros(len(sizes)), np.zeros(len(sizes))
        if collective == "barrier" or choice.options.get("segment", 0) != 0:
            return Work(found, links, 0)
        shares = 1 if collective in _OF_BLOCKS else self.ranks
        # Shares of a vector have so many bytes or one more.
        some = sizes >= shares
        schedule = self.schedule(collective, choice, _PRIME * shares)
        least = work_bound(
            schedule,
            self.machine,
            self.placement,
            unit=_PRIME,
            sizes=sizes[some] // shares,
            copy_rate=self.copy_rate,
            reduce_rate=self.reduce_rate,
        )
        if least is not None:
            found[some] = least
            if self.meet and self.routing == "minimal" and isinstance(self.machine, Machine):
                links[some] = self._busiest_link(schedule, self.machine) * (sizes[some] // shares) / _PRIME
        return Work(found, links, len(schedule))

    def _busiest_link(self, schedule: Any, machine: Machine) -> float:
        """Seconds for which a link carries the messages of a schedule, at its own bandwidth."""
        from ..machine.placement import Placement
        from ..mapping.metrics import evaluate
        from ..simulation.simulate import located

        where = located(self.ranks, machine, self.placement)
        placement = Placement(machine, where.node, where.core)
        return evaluate(schedule, placement, model=None).maximum_congestion

    @property
    def meet(self) -> bool:
        """Whether messages share links."""
        return self.model != "loggops"

    @property
    def effort(self) -> int:
        """Approximate cost of simulating an operation relative to a simulation without contention."""
        return 8 if self.meet else 1

    def uncontended(self) -> Scenario:
        """Return the scenario without contention."""
        return Scenario(
            self.machine, self.ranks, self.placement, copy_rate=self.copy_rate, reduce_rate=self.reduce_rate
        )

    def words(self) -> dict[str, str]:
        """Return machine, placement and model as text."""
        machine = self.machine.name if isinstance(self.machine, Machine) else "one set of LogGOPS parameters"
        placement = (
            "one rank per core, node after node" if self.placement is None else str(self.placement).splitlines()[0]
        )
        return {
            "machine": machine,
            "placement": "" if isinstance(self.machine, Level) else placement,
            "model": self.model,
        }
