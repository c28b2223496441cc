"""The Timeline: what happened when, and why."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..extras import Later
from ..machine import Level, Machine
from ..schedule.schedule import Schedule
from ..tabular import Tabular
from ..views import view
from .activity import Activities, Window
from .critical import CriticalPath, Sensitivities
from .deadlock import Deadlock, Orphans
from .ran import Ran
from .saved_result import SavedResult
from .traffic import Traffic

if TYPE_CHECKING:
    import matplotlib.figure
else:
    matplotlib = Later("matplotlib")


RECORDS = ("finish", "ranks", "ops")
#: Whole numbers of a Timeline.
NUMBERS = ("makespan_ps", "messages", "bytes", "executed", "events", "simulated_ranks")
#: Arrays of a Timeline, for equality.
ARRAYS = (
    "finish_ps", "_breakdown", "lost_ps", "start_ps", "end_ps", "partner", "busy_ps", "handled_ps",
    "parked_ps",
)  # fmt: skip
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
    "contention",
    "idle",
)

# What the core says about links, see Traffic.
TRAFFIC = ("link_bytes", "link_slices", "slice_width", "route_messages", "route_links", "route_ends")


class Timeline(Tabular):
    """The result of a simulation or of a run: what happened when, and why; immutable.

    Attributes
    ----------
    schedule : Schedule
        Schedule that was simulated, or carried out.
    machine : Machine or Level
        Machine on which it was simulated; for a measured one, a Level of zeros.
    ran : Ran or None
        How it was measured; None if it was simulated.
    record : str
        What was recorded: "finish", "ranks" or "ops".
    makespan_ps : int
        Time at which the last rank finished, picoseconds; a lower bound if the simulation was stopped.
    finish_ps : ndarray of int64, shape (ranks,)
        Time at which each rank finished, picoseconds.
    free_ps : ndarray of int64
        Times at which CPU streams and interfaces became free at the end, picoseconds, for ``after`` of
        :func:`isthmus.simulate`; not written to files.
    messages, bytes : int
        Number of messages sent, and their bytes.
    executed, events : int
        Number of operations done, and of steps of the simulator.
    steps, network_steps : int
        Cost of the simulation: number of steps executed, without those of skipped iterations, and of steps of the
        network model (rates, packets or links). Not written to files.
    simulated_ranks : int
        Number of ranks that were simulated; smaller than ``ranks`` if some are indistinguishable.
    skipped_iterations : int
        Number of iterations that were skipped because they repeat others; not written to files.
    stopped : bool
        Whether the simulation was stopped because the makespan is above ``until``. The makespan and the finish times
        are then lower bounds, and everything else is the state at that point.
    wall : float
        Wall-clock time of the simulation, seconds.
    start_ps, end_ps : ndarray of int64, shape (operations,)
        With ``record="ops"``: begin and end of every operation, -1 where it never happened. A receive begins when it is
        posted and ends when its message has been handled.
    partner : ndarray of int64, shape (operations,)
        With ``record="ops"``: index of the receive of every send, and of the send of every receive; -1: none.
    busy_ps : ndarray of int64, shape (operations,)
        With ``record="ops"``: time that every operation occupies its CPU stream; a receive, to handle its message.
    lost_ps : ndarray of int64, shape (operations,)
        With ``record="ops"`` and a model with contention: time that every send, put or get lost to other messages;
        otherwise empty.
    parked_ps : ndarray of int64, shape (operations,)
        With ``record="ops"``: time for which every send stood aside because its receive was not posted;
        empty if none did.
    lost_in_all_ps : int
        Time that all messages together lost to others; rounded to 53 bits.
    model, routing : str
        Network model and routing.
    traffic : Traffic or None
        Traffic of the links, in models with contention.
    handled_ps : ndarray of int64, shape (operations,)
        With ``record="ops"``: time at which the receiver of every send begins to handle its message; -1 if it never
        does, and for other operations.
    """

    def __init__(
        self,
        schedule: Schedule,
        machine: Machine | Level,
        result: _core.Simulated | SavedResult,
        *,
        wall: float,
        record: str,
        model: str = "loggops",
        routing: str = "minimal",
        make_options: Callable[[], Any] | None = None,
        goes_on: bool = False,
        ran: Ran | None = None,
    ) -> None:
        self.schedule = schedule
        self.machine = machine
        self.ran = ran
        self.record = record
        self.wall = wall
        self.makespan_ps: int = result.makespan
        self.finish_ps: NDArray[np.int64] = result.finish
        self.messages: int = result.messages
        self.bytes: int = result.bytes
        self.executed: int = result.executed
        self.events: int = result.events
        self.steps: int = result.steps
        self.network_steps: int = result.network_steps
        self.simulated_ranks: int = result.simulated_ranks
        self.skipped_iterations: int = result.skipped
        self.stopped: bool = result.stopped
        self.start_ps: NDArray[np.int64] = result.start
        self.end_ps: NDArray[np.int64] = result.end
        self.partner: NDArray[np.int64] = result.partner
        self.busy_ps: NDArray[np.int64] = result.busy
        self.handled_ps: NDArray[np.int64] = result.handled
        self.lost_ps: NDArray[np.int64] = result.lost
        self.parked_ps: NDArray[np.int64] = result.parked
        self.lost_in_all_ps = int(result.lost_in_all)
        self.model = model
        self.routing = routing
        self._traffic_arrays: dict[str, Any] = {name: getattr(result, name) for name in TRAFFIC}
        self._breakdown = result.breakdown.reshape(-1, len(SHARES))
        self.free_ps: NDArray[np.int64] = result.free
        self._goes_on = goes_on
        self._log = result.log
        self._log_noise = result.log_noise
        self._log_time = result.log_time
        self._make_options = make_options
        self._stuck: tuple[NDArray[Any], ...] = result.stuck
        self._orphans: tuple[NDArray[Any], ...] = result.orphans
        self._freeze()

    def _freeze(self) -> None:
        by_operation = (self.start_ps, self.end_ps, self.partner, self.busy_ps, self.handled_ps)
        for array in (self.finish_ps, self.free_ps, self._breakdown, *by_operation, self.lost_ps, self.parked_ps):
            array.setflags(write=False)

    def __getstate__(self) -> dict[str, Any]:
        # Without what follows from the rest.
        derived = {name for name, of in vars(type(self)).items() if isinstance(of, cached_property)}
        return {name: value for name, value in self.__dict__.items() if name not in derived}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._freeze()

    def __copy__(self) -> Timeline:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Timeline:
        return self

    @cached_property
    def _options(self) -> Any:
        """The options of the core; None if they are not known, as for a file."""
        return None if self._make_options is None else self._make_options()

    @property
    def source(self) -> str:
        """Where the times come from: "simulated" or "measured"."""
        return "simulated" if self.ran is None else "measured"

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.schedule.ranks

    @property
    def makespan(self) -> float:
        """Time at which the last rank finished, seconds."""
        return self.makespan_ps / 1e12

    @property
    def finish(self) -> NDArray[np.float64]:
        """Time at which each rank finished, seconds."""
        return self.finish_ps / 1e12

    @property
    def breakdown_ps(self) -> dict[str, NDArray[np.int64]]:
        """Picoseconds of every rank by SHARES; they add up to the makespan, once for each CPU stream of the rank."""
        return {name: self._breakdown[:, i] for i, name in enumerate(SHARES)}

    @property
    def breakdown(self) -> dict[str, NDArray[np.float64]]:
        """Seconds of every rank by SHARES."""
        return {name: values / 1e12 for name, values in self.breakdown_ps.items()}

    def frame(self) -> dict[str, NDArray[Any]]:
        """Return one row per rank: rank, finish (s) and, unless ``record="finish"``, its seconds by SHARES."""
        import numpy as np

        out: dict[str, NDArray[Any]] = {"rank": np.arange(self.ranks), "finish": self.finish}
        return out if self.record == "finish" else out | self.breakdown

    @cached_property
    def traffic(self) -> Traffic | None:
        """Traffic of every link of the network; None for models without contention."""
        from .traffic import Traffic

        return Traffic.of(self, self._traffic_arrays)

    @cached_property
    def deadlock(self) -> Deadlock | None:
        """Why the simulation ended before everything was done; None if everything was."""
        from .deadlock import Deadlock

        return Deadlock(self) if len(self._stuck[0]) else None

    @property
    def orphans(self) -> Orphans:
        """Messages that arrived and were never received."""
        from .deadlock import Orphans

        return Orphans(self)

    def activities(
        self, ranks: Sequence[int] | NDArray[np.integer[Any]] | None = None, window: Window | None = None
    ) -> Activities:
        """Return what the CPU streams did, as bars; needs ``record="ops"``.

        Parameters
        ----------
        ranks : sequence of int, optional
            Ranks to include, by default all.
        window : tuple of float, optional
            Begin and end in seconds; only bars that overlap it are included.
        """
        from .activity import activities, chosen_ranks, need_ops, window_ps

        need_ops(self, "what CPU streams did")
        return activities(self, chosen_ranks(self, ranks), *window_ps(self, window))

    def waits(
        self, ranks: Sequence[int] | NDArray[np.integer[Any]] | None = None, window: Window | None = None
    ) -> Activities:
        """Return waits of operations that do not use the CPU, as bars, which may overlap; needs ``record="ops"``.

        A receive waits from when it is posted until its message is handled, a send by rendezvous until its receiver has
        it, a put or get until it is done. A send that stands aside until its receive is posted waits from then on.
        """
        from .activity import chosen_ranks, need_ops, waits, window_ps

        need_ops(self, "what operations wait for")
        return waits(self, chosen_ranks(self, ranks), *window_ps(self, window))

    def critical_path(self) -> CriticalPath:
        """Return the chain of causes that ends with the last rank; needs ``record="ops"``."""
        from .critical import critical_path

        return critical_path(self)

    def sensitivities(self, parameters: Sequence[str] | None = None, *, verify: bool | None = None) -> Sensitivities:
        """Return how the makespan changes with L, o, g, G, O and computation; needs ``record="ops"``.

        See :func:`isthmus.simulation.critical.sensitivities`.
        """
        from .critical import PARAMETERS, sensitivities

        return sensitivities(self, PARAMETERS if parameters is None else parameters, verify=verify)

    def save(self, path: str | os.PathLike[str], *, compression: str = "auto") -> None:
        """Write an HDF5 file (.h5, .hdf5), atomically; :func:`isthmus.read` returns an equal Timeline.

        The file holds the schedule and the machine, but no data for :meth:`critical_path` and :meth:`sensitivities`.

        Parameters
        ----------
        path : path
        compression : {"auto", "gzip", "none"}
            See :mod:`isthmus.schedule.hdf5`.
        """
        view("Timeline.save")(self, path, compression=compression)

    def save_chrome(
        self,
        path: str | os.PathLike[str],
        *,
        ranks: Sequence[int] | NDArray[np.integer[Any]] | None = None,
        window: Window | None = None,
    ) -> None:
        """Write a trace for Perfetto (ui.perfetto.dev) and chrome://tracing; needs ``record="ops"``.

        See :func:`isthmus.simulation.chrome.write_chrome`.
        """
        view("Timeline.save_chrome")(self, path, ranks=ranks, window=window)

    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        ranks: Sequence[int] | NDArray[np.integer[Any]] | None = None,
        window: Window | None = None,
    ) -> matplotlib.figure.Figure:
        """Draw what ranks did when; needs ``record="ops"``. See :func:`isthmus.plot.timeline.plot_timeline`."""
        drawn: matplotlib.figure.Figure = view("Timeline.plot")(self, path, ranks=ranks, window=window)
        return drawn

    def plot_breakdown(self, path: str | os.PathLike[str] | None = None) -> matplotlib.figure.Figure:
        """Draw where the time of every rank went. See :func:`isthmus.plot.breakdown.plot_breakdown`."""
        drawn: matplotlib.figure.Figure = view("Timeline.plot_breakdown")(self, path)
        return drawn

    def __eq__(self, other: object) -> bool:
        """Equal results of the same schedule on the same machine, however long they took to compute."""
        if not isinstance(other, Timeline):
            return NotImplemented
        return (
            (self.record, self.stopped, self.ran) == (other.record, other.stopped, other.ran)
            and all(getattr(self, name) == getattr(other, name) for name in NUMBERS)
            and self.machine == other.machine
            and self._same_arrays(other, ARRAYS)
            and self.schedule == other.schedule
        )

    __hash__ = None  # type: ignore[assignment]

    def _same_arrays(self, other: Timeline, names: Sequence[str]) -> bool:
        import numpy as np

        pairs = [(getattr(self, name), getattr(other, name)) for name in names]
        pairs += zip((*self._stuck, *self._orphans), (*other._stuck, *other._orphans), strict=True)
        return all(np.array_equal(a, b) for a, b in pairs)

    def __repr__(self) -> str:
        return f"<Timeline: {self.ranks} ranks, {len(self.schedule)} operations, {self.makespan:g} s>"

    def __str__(self) -> str:
        text: str = view("Timeline.__str__")(self)
        return text
