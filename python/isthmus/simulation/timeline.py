"""The Timeline: what happened when, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from ..machine import Level, Machine
    from ..schedule.schedule import Schedule
    from .critical import CriticalPath, Sensitivities

# Where the time of a rank goes, in the order of the core's Share.
SHARES = (
    "compute",
    "send_overhead",
    "recv_overhead",
    "gap",
    "latency",
    "late_sender",
    "late_receiver",
    "noise",
    "idle",
)


class Timeline:
    """The result of a simulation; immutable.

    Attributes
    ----------
    schedule : Schedule
        What ran.
    machine : Machine or Level
        Where it ran.
    record : str
        How much was written down: "finish", "ranks" or "ops".
    makespan_ps : int
        When the last rank finished, picoseconds.
    finish_ps : ndarray of int64, shape (ranks,)
        When each rank finished, picoseconds.
    messages, bytes : int
        What was sent.
    executed, events : int
        Operations done, and steps of the simulator.
    simulated_ranks : int
        Ranks that were simulated; fewer than there are where ranks are indistinguishable.
    wall : float
        Seconds the simulation took.
    start_ps, end_ps : ndarray of int64, shape (operations,)
        With ``record="ops"``: begin and end of every operation, -1 where it never happened. A receive begins when it is
        posted and ends when its message has been handled.
    partner : ndarray of int64, shape (operations,)
        With ``record="ops"``: of every send its receive and vice versa, as index of an operation; -1 where there is none.
    """

    def __init__(
        self, schedule: Schedule, machine: Machine | Level, result: dict[str, Any], *, wall: float, record: str
    ) -> None:
        import numpy as np

        self.schedule = schedule
        self.machine = machine
        self.record = record
        self.wall = wall
        self.makespan_ps: int = result["makespan"]
        self.finish_ps: NDArray[np.int64] = result["finish"]
        self.messages: int = result["messages"]
        self.bytes: int = result["bytes"]
        self.executed: int = result["executed"]
        self.events: int = result["events"]
        self.simulated_ranks: int = result["simulated_ranks"]
        self.start_ps: NDArray[np.int64] = result["start"]
        self.end_ps: NDArray[np.int64] = result["end"]
        self.partner: NDArray[np.int64] = result["partner"]
        self._breakdown = result["breakdown"].reshape(-1, len(SHARES))
        self._log = result["log"]
        self._log_noise = result["log_noise"]
        self._options = result.get("options")
        self._stuck = tuple(result[f"stuck_{name}"] for name in ("rank", "op", "started"))
        self._orphans = tuple(result[f"orphan_{name}"] for name in ("rank", "source", "op"))
        for array in (self.finish_ps, self.start_ps, self.end_ps, self.partner, self._breakdown):
            array.setflags(write=False)

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.schedule.ranks

    @property
    def makespan(self) -> float:
        """When the last rank finished, seconds."""
        return self.makespan_ps / 1e12

    @property
    def finish(self) -> NDArray[np.float64]:
        """When each rank finished, seconds."""
        return self.finish_ps / 1e12

    @property
    def breakdown_ps(self) -> dict[str, NDArray[np.int64]]:
        """Where the time of every rank went, picoseconds; see SHARES. For every rank the shares add up to the makespan,
        once for each of its CPU streams."""
        return {name: self._breakdown[:, i] for i, name in enumerate(SHARES)}

    @property
    def breakdown(self) -> dict[str, NDArray[np.float64]]:
        """Where the time of every rank went, seconds."""
        return {name: values / 1e12 for name, values in self.breakdown_ps.items()}

    def critical_path(self) -> CriticalPath:
        """The chain of causes that ends with the last rank; needs ``record="ops"``."""
        from .critical import critical_path

        return critical_path(self)

    def sensitivities(self, parameters: Sequence[str] | None = None, *, verify: bool | None = None) -> Sensitivities:
        """How the makespan changes with L, o, g, G, O and computation; see :func:`isthmus.simulation.critical.sensitivities`."""
        from .critical import PARAMETERS, sensitivities

        return sensitivities(self, PARAMETERS if parameters is None else parameters, verify=verify)
