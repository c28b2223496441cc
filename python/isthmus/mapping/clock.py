"""Simulation of placements."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from ..errors import InvalidInput
from ..schedule.program import Program
from ..schedule.schedule import Schedule

if TYPE_CHECKING:
    from ..lowering.rules import Collectives
    from ..machine.placement import Placement
    from .metrics import Metrics

#: Processor time, about, of a simulation: of nothing; of each operation, event, step of the network, and link; on the
#: computer of effort.hpp. Fitted to 224 simulations under "flow" (7 kinds of programs, 8 to 128 ranks, 4 machines, 2
#: orders): nine of ten took 0.77 to 1.57 of it, all together 1.07.
_LEAST, _OPERATION, _EVENT, _STEP, _LINK = 1e-4, 6e-8, 1.3e-7, 1.3e-7, 1.2e-9
#: The same of an operation with all that it makes, before there was a simulation: between those whose messages hardly
#: meet (0.5e-6) and those of which many share links (6e-6); without contention 0.15e-6 to 0.3e-6.
_UNKNOWN, _WITHOUT_CONTENTION = 1e-6, 0.3e-6


class Clock:
    """Makespans of a program or schedule by simulation, each placement once.

    Parameters
    ----------
    what : Program or Schedule
    collectives : mapping, optional
        As for :func:`isthmus.pattern`.
    model : str
        Of :func:`isthmus.simulate`.
    """

    def __init__(self, what: Program | Schedule, collectives: Collectives | None, model: str) -> None:
        self._what, self._collectives, self._model = what, collectives, model
        self._known: dict[tuple[bytes, bytes], float] = {}
        self._spent = 0.0

    @cached_property
    def schedule(self) -> Schedule:
        """The program with its collectives lowered to messages."""
        if isinstance(self._what, Schedule):
            return self._what
        from ..lowering.lower import lower

        return lower(self._what, collectives=self._collectives)

    @property
    def cost(self) -> float:
        """Processor time of a simulation, about: the mean of those that there were.

        It follows from what they had to do, so that it is the same on all computers.
        """
        if self._known:
            return self._spent / len(self._known)
        return _LEAST + (_WITHOUT_CONTENTION if self._model == "loggops" else _UNKNOWN) * len(self.schedule)

    @property
    def spent(self) -> float:
        """Processor time of all simulations, about."""
        return self._spent

    def without_contention(self) -> Clock:
        """Return the time without contention, which takes a fraction of the time to simulate."""
        return Clock(self.schedule, None, "loggops")

    def known(self, placement: Placement) -> float | None:
        """Return the run time, seconds, if the placement was already simulated."""
        return self._known.get(key_of(placement))

    def seconds(self, placement: Placement) -> float:
        """Return the run time, seconds; raises InvalidInput if the program hangs."""
        key = key_of(placement)
        if key not in self._known:
            from ..simulation.simulate import simulate

            timeline = simulate(self.schedule, placement.machine, placement, model=self._model, record="finish")
            if timeline.deadlock is not None:
                raise InvalidInput("the program deadlocks: isthmus simulate says why")
            self._known[key] = timeline.makespan
            self._spent += (
                _LEAST + _OPERATION * len(self.schedule) + _EVENT * timeline.steps + _STEP * timeline.network_steps
                + _LINK * placement.machine.topology.links
            )  # fmt: skip
        return self._known[key]


def timed(metrics: Metrics, clock: Clock | None, *, simulate: bool = False) -> Metrics:
    """Return the metrics with the simulated time, if it is known or ``simulate`` is true."""
    if clock is None:
        return metrics
    p = metrics.placement
    return replace(metrics, time=clock.seconds(p) if simulate else clock.known(p))


def key_of(placement: Placement) -> tuple[bytes, bytes]:
    """A key that differs between placements on a machine."""
    return placement.node.tobytes(), placement.core.tobytes()
