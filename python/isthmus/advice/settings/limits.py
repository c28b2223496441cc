"""Which eager limit a program would be better with, what progress is worth, and the queues that MPI needs for it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...machine import Levels
from ...machine.mpi_memory import MpiMemory, mpi_memory
from ...schedule.schedule import OpKind, Schedule
from ...simulation.queues import Queues, queues
from ...simulation.simulate import simulate
from ..analysis.path_shares import Parameters
from .names import Setting, eager_settings, progress_settings, queue_settings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...machine import Allocation, Machine
    from ...machine.placement import Placement
    from ...simulation.timeline import Timeline
    from ..collectives.library import Library

#: Levels of the machine that one parameter of a library stands for.
LEVELS = {"node": ("socket", "node"), "network": ("network",)}
#: Largest eager limit that is tried: libraries keep buffers of this size.
_MOST_LIMIT = 1 << 20
#: Limits that are tried at a level, and the part of the best saving from which on a smaller one is taken.
_MOST_TRIALS, _NEARLY = 4, 0.9
#: A lower limit is looked for where a rank's messages without receives take this part of its memory, and taken where
#: the program takes at most this part longer.
_MUCH, _NO_LONGER = 0.01, 0.001
#: Lower limits that are tried.
_LOWER = (1024, 4096, 16384, 65536)


@dataclass(frozen=True)
class EagerLimit:
    """Another eager limit, and what a simulation says of it.

    Attributes
    ----------
    level : str
        network, or node for messages within one.
    now, limit : int
        Largest message that is sent eagerly, bytes.
    messages : int
        That are sent otherwise with it.
    time, saving : float
        Run time of the program with it, and what that saves, seconds, where transfers begin without the processor.
    unaided : float or None
        What it saves where messages by rendezvous wait for requests and answers, for which ranks have to be in MPI;
        None within nodes.
    requested : float or None
        Run time of the program as it is, with requests and answers; None within nodes.
    copies : float
        Seconds that copies of the messages take at most, on the rank with most of them: not part of the simulation,
        and to be subtracted from what is saved.
    held, held_now : int
        Largest number of bytes that a rank keeps of eager messages without receives.
    settings : tuple of Setting
    """

    level: str
    now: int
    limit: int
    messages: int
    time: float
    saving: float
    unaided: float | None
    requested: float | None
    copies: float
    held: int
    held_now: int
    settings: tuple[Setting, ...]

    @property
    def gain(self) -> float:
        """Seconds that are saved after copies: as the program is predicted, or, where that is much more, with requests
        and answers."""
        return (self.unaided if self.by_requests and self.unaided is not None else self.saving) - self.copies

    @property
    def by_requests(self) -> bool:
        """Whether most is saved of what requests and answers cost, which the prediction leaves out."""
        return self.unaided is not None and self.saving < _NEARLY * self.unaided

    def worth(self, least: float) -> bool:
        """Whether it saves so many seconds and makes the program, as it is predicted, no slower even with copies."""
        before = self.time + self.saving
        return self.gain >= least and self.saving - self.copies >= -_NO_LONGER * before


@dataclass(frozen=True)
class Progress:
    """What it costs that messages by rendezvous between nodes wait for requests and answers of their ranks.

    Attributes
    ----------
    longer : float
        Seconds that the program takes longer with them than predicted.
    without_computation : float
        The same of the program without its computation: what requests and answers cost although all ranks are in MPI.
        Simulated only where ``longer`` is worth a sentence, and otherwise as much.
    settings : tuple of Setting
    """

    longer: float
    without_computation: float
    settings: tuple[Setting, ...]

    @property
    def behind_computation(self) -> float:
        """Seconds that answers wait for computation, about: what progress beside it would save."""
        return max(self.longer - self.without_computation, 0.0)


@dataclass(frozen=True, eq=False)
class MpiSettings:
    """Queues and memory of MPI for a program, and parameters of the library.

    Attributes
    ----------
    queues : Queues
    library : Library
    tried : tuple of EagerLimit
        All limits that were simulated.
    better : tuple of EagerLimit
        At most one for each level: those that save as much as was asked for.
    lower : EagerLimit or None
        A lower limit, where messages without receives take much memory and it makes nothing slower.
    progress : Progress or None
        None without messages by rendezvous between nodes.
    shared_buffers, peer_buffers : int
        Receive buffers of a rank that all its peers share, and those of all its peers where each has a queue: as many
        as are in use at a time on the rank with most of them.
    buffer : int
        Bytes of each: the eager limit between nodes.
    buffer_settings : tuple of Setting
    memory : MpiMemory or None
        As measured on the machine.
    excerpt : float or None
        Part of the operations in which all this was looked for, where the program is too large; seconds and messages
        that are sent otherwise are those of the whole program. Queues may be longer in the rest.
    """

    queues: Queues
    library: Library
    tried: tuple[EagerLimit, ...]
    better: tuple[EagerLimit, ...]
    lower: EagerLimit | None
    progress: Progress | None
    shared_buffers: int
    peer_buffers: int
    buffer: int
    buffer_settings: tuple[Setting, ...]
    memory: MpiMemory | None
    excerpt: float | None = None

    def of_excerpt(self, times: float, part: float) -> MpiSettings:
        """The same of a program that takes so many times as long, of whose operations a part was simulated."""

        def longer(one: EagerLimit) -> EagerLimit:
            return replace(
                one, messages=round(one.messages / part), time=times * one.time, saving=times * one.saving,
                copies=times * one.copies,
                unaided=None if one.unaided is None else times * one.unaided,
                requested=None if one.requested is None else times * one.requested,
            )  # fmt: skip

        p = self.progress
        return replace(
            self, tried=tuple(map(longer, self.tried)), better=tuple(map(longer, self.better)),
            lower=None if self.lower is None else longer(self.lower), excerpt=part,
            progress=None if p is None else replace(
                p, longer=times * p.longer, without_computation=times * p.without_computation
            ),
        )  # fmt: skip


def mpi_settings(
    timeline: Timeline,
    machine: Machine,
    placement: Allocation | Placement,
    library: Library,
    options: Mapping[str, Any],
    worth: float,
) -> tuple[MpiSettings, int]:
    """The parameters of MPI for a program, and the simulations that this took.

    Parameters
    ----------
    timeline : Timeline
        Simulation of the whole program with ``record="ops"``.
    machine, placement, options
        Those of the simulation.
    library : Library
        Whose parameters are named.
    worth : float
        Part of the time that a limit has to save.
    """
    trials = _Trials(timeline, machine, placement, library, options, worth)
    found = queues(timeline, placement)
    held = int(found.held_most.max())
    better = [best for level in LEVELS if (best := trials.raised(level, held)) is not None]
    memory = machine.node.memory
    each = None if memory is None else memory / max(min(placement.ranks_per_node, timeline.ranks), 1)
    lower = trials.lowered(held) if each is not None and held >= _MUCH * each else None
    size = int(min(machine.level.network.S, 65536))
    shared, by_peer = int(found.buffered_most.max()), int((found.peers * found.buffered_by_peer).max())
    buffers = 1 << max(shared - 1, 15).bit_length()
    settings = MpiSettings(
        found,
        library,
        tuple(trials.tried),
        tuple(better),
        lower,
        trials.progress(),
        shared,
        by_peer,
        size,
        queue_settings(library, size, buffers) if by_peer > shared else (),
        mpi_memory(machine),
    )
    return settings, trials.simulations


class _Trials:
    """Simulations of a program with other eager limits."""

    def __init__(
        self,
        timeline: Timeline,
        machine: Machine,
        placement: Allocation | Placement,
        library: Library,
        options: Mapping[str, Any],
        worth: float,
    ) -> None:
        self._t, self._machine, self._placement, self._library = timeline, machine, placement, library
        self._options, self._worth = options, worth
        self.tried: list[EagerLimit] = []
        self.simulations = 0
        ops = timeline.schedule.ops
        send = np.flatnonzero((ops["kind"] == OpKind.send) & (ops["mode"] == 0))
        self._sender = np.searchsorted(timeline.schedule.op_first.view(np.int64), send, side="right") - 1
        self._receiver = ops["peer"][send].astype(np.int64)
        self._size = ops["amount"][send].astype(np.int64)
        level = Parameters(machine, placement, timeline.ranks).level(self._sender, self._receiver)
        self._of = {"node": level < 2, "network": level == 2}
        limits = np.array([machine.level.socket.S, machine.level.node.S, machine.level.network.S])
        self._limit = limits[level]
        #: Times with requests and answers: of the program as it is, and by level and limit.
        self._unaided: float | None = None

    def _time(self, machine: Machine, handshakes: bool = False, schedule: Schedule | None = None) -> float:
        return self._simulated(machine, "finish", handshakes, schedule).makespan

    def _simulated(
        self, machine: Machine, record: str, handshakes: bool = False, schedule: Schedule | None = None
    ) -> Timeline:
        self.simulations += 1
        what = self._t.schedule if schedule is None else schedule
        return simulate(what, machine, self._placement, record=record, handshakes=handshakes, **self._options)

    def _large(self, level: str) -> NDArray[np.bool_]:
        large: NDArray[np.bool_] = self._of[level] & (self._size > self._limit)
        return large

    def _with(self, level: str, limit: float) -> Machine:
        levels = {name: replace(getattr(self._machine.level, name), S=limit) for name in LEVELS[level]}
        out = copy.copy(self._machine)
        out.level = Levels(**(_by_name(self._machine.level) | levels))
        return out

    def _base_unaided(self) -> float:
        if self._unaided is None:
            self._unaided = self._time(self._machine, handshakes=True)
        return self._unaided

    def raised(self, level: str, held: int) -> EagerLimit | None:
        """The higher limit that saves most, if that is enough; nearly as good and smaller ones are better."""
        large = self._large(level)
        if not large.any():
            return None
        least = self._worth * self._t.makespan
        # Where all messages being eager saves too little, no limit is tried.
        most = self._t.makespan - self._time(self._with(level, 2.0**62))
        if level == "network":
            most = max(most, self._base_unaided() - self._time(self._with(level, 2.0**62), True))
        if most < least:
            return None
        found = [self._trial(level, limit, held) for limit in self._limits(self._size[large])]
        self.tried += found
        worth = [one for one in found if one.worth(least)]
        if not worth:
            return None
        best = max(one.gain for one in worth)
        return self._kept(next(one for one in worth if one.gain >= _NEARLY * best))

    def _limits(self, sizes: NDArray[np.int64]) -> list[int]:
        """Powers of two between the sizes of messages, few of them; the smallest first."""
        powers = sorted({1 << max(int(size) - 1, 0).bit_length() for size in np.unique(sizes)})
        powers = [one for one in powers if one <= _MOST_LIMIT]
        if len(powers) <= _MOST_TRIALS:
            return powers
        chosen = np.unique(np.rint(np.linspace(0, len(powers) - 1, _MOST_TRIALS)).astype(int))
        return [powers[i] for i in chosen]

    def _trial(self, level: str, limit: int, held: int) -> EagerLimit:
        other = self._with(level, limit)
        time = self._time(other)
        requested = self._base_unaided() if level == "network" else None
        unaided = None if requested is None else requested - self._time(other, True)
        now = int(min(max(self._limit[self._of[level]]), 2**62))
        changed = self._of[level] & ((self._size > self._limit) != (self._size > limit))
        eager = changed & (self._size <= limit)
        return EagerLimit(
            level, now, limit, int(changed.sum()), time, self._t.makespan - time, unaided, requested,
            self._copies(eager), held, held, eager_settings(self._library, level, limit),
        )  # fmt: skip

    def _kept(self, one: EagerLimit) -> EagerLimit:
        """With what ranks then keep of messages without receives."""
        t = self._simulated(self._with(one.level, one.limit), "ops")
        return replace(one, held=int(queues(t, self._placement).held_most.max()))

    def _copies(self, eager: NDArray[np.bool_]) -> float:
        """Seconds that the sender and the receiver take to copy these messages, on the rank with most of them."""
        node, size = self._machine.node, self._size[eager].astype(np.float64)
        if node.copy:
            bytes, times = (np.array([getattr(one, name) for one in node.copy]) for name in ("bytes", "time"))
            cost = np.where(size > bytes[-1], times[-1] * size / bytes[-1], np.interp(size, bytes, times))
        else:
            cost = size * (2 * node.cores / node.memory_bandwidth if node.memory_bandwidth else 0.0)
        ranks = self._t.ranks
        of_rank = np.bincount(self._sender[eager], cost, ranks) + np.bincount(self._receiver[eager], cost, ranks)
        return float(of_rank.max())

    def lowered(self, held: int) -> EagerLimit | None:
        """The lower limit with which ranks keep least, if the program takes no longer."""
        best: EagerLimit | None = None
        for level in LEVELS:
            some = self._of[level]
            for limit in _LOWER:
                if not (some & (self._size > limit) & (self._size <= self._limit)).any():
                    continue
                one = self._trial(level, limit, held)
                self.tried.append(one)
                if -one.saving > _NO_LONGER * self._t.makespan or (one.unaided or 0.0) < -_NO_LONGER * self._t.makespan:
                    continue
                one = self._kept(one)
                if one.held < (held if best is None else best.held):
                    best = one
        return best

    def progress(self) -> Progress | None:
        large = self._large("network")
        if not large.any():
            return None
        longer = max(self._base_unaided() - self._t.makespan, 0.0)
        without = longer
        if longer >= self._worth * self._t.makespan:
            alone = _without_computation(self._t.schedule)
            without = max(self._time(self._machine, True, alone) - self._time(self._machine, False, alone), 0.0)
        return Progress(longer, without, progress_settings(self._library))


def _without_computation(schedule: Schedule) -> Schedule:
    """The schedule with computations that take no time."""
    columns: dict[str, Any] = schedule.frame()
    waits, kind = schedule.dependencies(), schedule.ops["kind"]
    columns["amount"] = np.where(kind == OpKind.calc, 0, columns["amount"]).astype(np.uint64)
    names = ("rank", "amount", "peer", "tag", "comm", "cpu", "nic", "mode")
    given = {name: columns[name] for name in names}
    return Schedule.of(schedule.ranks, kind=kind, op=waits.op, on=waits.on, start=waits.start, **given)


def _by_name(levels: Levels) -> dict[str, Any]:
    """Levels by name."""
    return {name: getattr(levels, name) for name in ("socket", "node", "network")}
