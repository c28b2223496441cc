"""The prediction of a large program: every simulation goes through it piece by piece, and only sums are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import _core
from ...lowering.pattern import pattern, together
from ...simulation.critical import critical_path
from ...simulation.saved_result import SavedResult
from ...simulation.timeline import SHARES, Timeline
from ..advice import Prediction
from .calls import Call, Waits, call_table, pair_table, rows_of_events, size_table, waits_by_event
from .event_of_operation import events_of_operations
from .numbers_used import copies, levels_used, numbers_used
from .path_shares import PATH_CLASSES, Parameters, PathSteps, path_steps
from .pieces import NotInPieces, Piece, Pieces
from .prediction import (
    FEW_FACTORS,
    MOST_RECORDED,
    NOTHING,
    PART_FROM,
    Times,
    losses,
    sensitivities,
    shares,
    streams,
    tolerances_of,
    what_ifs,
)
from .tables import all_calls, all_pairs, all_sizes
from .what_if import COSTS, changed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...lowering.rules import Collectives
    from ...machine import Allocation, Machine
    from ...machine.placement import Placement
    from ...schedule.pattern import Pattern
    from ...schedule.program import Program
    from ...schedule.schedule import Schedule
    from .simulator import Simulator

_IDLE = SHARES.index("idle")


class Chain:
    """One simulation of a program in pieces: what has been found so far.

    Attributes
    ----------
    finish : array of int64, shape (ranks,)
        When each rank has done what there was, picoseconds.
    operations, messages, bytes, executed, events, steps, network_steps, skipped : int
        See :class:`Timeline`.
    """

    def __init__(
        self,
        simulator: Simulator,
        machine: Machine,
        placement: Allocation | Placement,
        ranks: int,
        factors: Mapping[str, float] | None = None,
        record: str = "finish",
    ) -> None:
        self._simulator, self._placement, self._record = simulator, placement, record
        self._machine = changed(machine, factors) if factors else machine
        self._number = simulator.begin()
        self._free: NDArray[np.int64] | None = None
        self.finish = np.zeros(ranks, np.int64)
        self._spent: NDArray[np.int64] = np.zeros((ranks, len(SHARES)), np.int64)
        self.operations = self.messages = self.bytes = self.executed = self.events = 0
        self.steps = self.network_steps = self.skipped = 0

    def run(self, schedule: Schedule, path: bool = False) -> Timeline:
        """The next piece; ``path``: with its critical path."""
        # Some messages have more entries than path_part thinks.
        part = (0, 2 * len(schedule)) if path else None
        t = self._simulator.run(
            schedule, self._machine, self._placement, self._record, None, part, self._free, self._number
        )
        if len(t._stuck[0]) or len(t._orphans[0]):
            raise NotInPieces
        # Views would keep all that was recorded.
        self._free, self.finish = t.free_ps.copy(), t.finish_ps.copy()
        if self._record != "finish":
            self._spent += t._breakdown
        self.operations += len(schedule)
        self.messages += t.messages
        self.bytes += t.bytes
        self.executed += t.executed
        self.events += t.events
        self.steps += t.steps
        self.network_steps += t.network_steps
        self.skipped += t.skipped_iterations
        return t

    def breakdown_ps(self, streams: int) -> NDArray[np.int64]:
        """Where the time of every rank went; what pieces count as idle is before they begin or after they end."""
        out = self._spent.copy()
        out[:, _IDLE] = 0
        out[:, _IDLE] = int(self.finish.max()) * streams - out.sum(axis=1)
        return out

    def times(self, streams: int) -> Times:
        """The part of a simulation that is kept."""
        told = self.breakdown_ps(streams) / 1e12 if self._record != "finish" else None
        by_share = {} if told is None else {name: told[:, i] for i, name in enumerate(SHARES)}
        return Times(int(self.finish.max()) / 1e12, by_share)

    def timeline(self, shown: Timeline) -> Timeline:
        """The numbers of all of it, with the operations of one piece."""
        nothing = np.empty(0, np.uint32)
        kept = {name: getattr(shown, f"{name}_ps") for name in ("start", "end", "busy", "handled", "lost", "parked")}
        logged = {name: getattr(shown, f"_{name}") for name in ("log", "log_noise", "log_time")}
        result = SavedResult(
            makespan=int(self.finish.max()), finish=self.finish, messages=self.messages, bytes=self.bytes,
            executed=self.executed, events=self.events, steps=self.steps, network_steps=self.network_steps,
            skipped=self.skipped, simulated_ranks=len(self.finish), stopped=False, partner=shown.partner,
            breakdown=self.breakdown_ps(streams(shown)), stuck=(nothing, nothing, nothing.astype(np.uint8)),
            orphans=(nothing, nothing, nothing, nothing.astype(np.int64)), **shown._traffic_arrays, **kept, **logged,
        )  # fmt: skip
        return Timeline(
            shown.schedule,
            shown.machine,
            result,
            wall=shown.wall,
            record=self._record,
            model=shown.model,
            routing=shown.routing,
            make_options=shown._make_options,
            goes_on=True,
        )


class _Details:
    """Calls, messages and the critical path, piece after piece."""

    def __init__(
        self,
        machine: Machine,
        placement: Allocation | Placement,
        ranks: int,
        collectives: Collectives | None,
    ) -> None:
        self._parameters = Parameters(machine, placement, ranks)
        self._ranks, self._collectives = ranks, collectives
        self._calls: list[Any] = []
        #: Name and location of the last event of every rank so far.
        self._last: list[tuple[str, str]] = []
        self._pairs: list[Any] = []
        self._sizes: list[Any] = []
        self._patterns: list[Pattern] = []
        self._path, self._of_ranks = np.zeros(len(PATH_CLASSES)), np.zeros((ranks, 2))
        #: Begin and end of the critical path of every piece that has one.
        self._ends: list[tuple[int, int]] = []
        self.synchronisation = np.zeros(ranks)
        #: Of the first piece with a critical path; the last piece, where there is none yet.
        self.shown: Timeline | None = None

    def add(self, piece: Piece, t: Timeline, begin: NDArray[np.int64], on_path: bool) -> None:
        event = events_of_operations(piece.program, piece.schedule, self._collectives)
        completing = piece.completing.astype(event.dtype)
        steps = _NO_STEPS
        if on_path:
            found = critical_path(t)
            if not len(found):
                raise NotInPieces
            steps = path_steps(t, found, self._parameters)
            self._path += steps.time.sum(axis=0)
            self._of_ranks += steps.by_rank(self._ranks)
            self._ends.append((int(found.begin_ps[0]), int(found.end_ps[-1])))
        if not self._ends or (on_path and len(self._ends) == 1):
            self.shown = t
        waits = waits_by_event(t, piece.program, event, completing, begin if self._last else None)
        self.synchronisation += waits.synchronisation
        rows = rows_of_events(piece.program, piece.around)
        table = call_table(t, piece.program, rows, event, completing, steps, waits, True)
        self._calls = [all_calls([*self._calls, self._earlier(waits), table])]
        last = rows.row[piece.program.first[1:].astype(np.int64) - 1].tolist()
        self._last = [(rows.names[row], rows.locations[row]) for row in last]
        self._pairs = [all_pairs([*self._pairs, pair_table(t, steps)])]
        self._sizes = [all_sizes([*self._sizes, size_table(t, steps)])]
        self._patterns = [together(self._ranks, [*self._patterns, pattern(piece.schedule)], np.zeros(1))]

    def _earlier(self, waits: Waits) -> list[Call]:
        """Partners that ranks wait for in the last call of the previous piece."""
        nothing = dict.fromkeys(PATH_CLASSES, 0.0)
        return [
            Call(*name, 0, 0, 0, 0.0, nothing, 0.0, seconds / self._ranks)
            for name, seconds in zip(self._last, waits.earlier.tolist(), strict=False)
            if seconds
        ]

    def told(self) -> dict[str, Any]:
        """Fields of a prediction."""
        return {
            "path": dict(zip(PATH_CLASSES, self._path.tolist(), strict=True)),
            "part": (self._ends[0][0] / 1e12, self._ends[-1][1] / 1e12),
            "path_of_ranks": self._of_ranks,
            "calls": all_calls(self._calls, self._ranks),
            "pairs": self._pairs[0],
            "sizes": self._sizes[0],
            "pattern": self._patterns[0],
        }


_NOWHERE = np.empty(0, np.int64)
_NO_STEPS = PathSteps(
    np.zeros((0, len(PATH_CLASSES))), _NOWHERE, _NOWHERE, _NOWHERE, _NOWHERE, _NOWHERE, np.empty(0, np.bool_)
)


def _run_balanced(chain: Chain, pieces: Pieces, piece: Piece, even: Program) -> None:
    """Its schedule is as large as that of the piece, and made when it is its turn."""
    chain.run(pieces.lowered(pieces.like(piece, even)))


def _done(task: Callable[[], Any]) -> Any:
    return task()


def predict_in_pieces(
    pieces: Pieces,
    machine: Machine,
    placement: Allocation | Placement,
    simulator: Simulator,
    *,
    even: Program | None,
    collectives: Collectives | None,
    detailed: bool,
) -> Prediction:
    """Predicts a large program like :func:`predict`, with the memory of one piece.

    ``even``: the program with its computation balanced, None where there is nothing to balance. Every simulation goes
    on with the next piece where it ended, so that times are those of the whole but for what ranks do at a cut while
    others are still in the collective before it. The critical path is that of pieces from the middle of the run.

    Raises
    ------
    NotInPieces
        Where messages pass from one piece into another, or the program hangs or takes no time.
    """
    ranks = pieces.ranks

    def chain(factors: Mapping[str, float] | None = None, record: str = "finish") -> Chain:
        return Chain(simulator, machine, placement, ranks, factors, record)

    varied = {
        "bandwidth": chain({"bandwidth": 0.0}, "ranks"),
        "network": chain(NOTHING),
        "latency": chain({"latency": 0.0}),
        "overhead": chain({"overhead": 0.0}),
    }
    balance = None if even is None else chain()
    points = {(name, factor): chain({name: factor}) for name in COSTS for factor in (FEW_FACTORS if detailed else ())}
    base = chain(None, "ops" if detailed else "ranks")
    details = _Details(machine, placement, ranks, collectives)
    levels: set[str] = set()
    copied, events, path_operations = False, 0, 0
    for piece in pieces:
        schedule = piece.schedule
        events += len(piece.events)
        begin, reached = base.finish, events > PART_FROM * pieces.events
        on_path = detailed and reached and path_operations < MOST_RECORDED
        path_operations += len(schedule) if on_path else 0
        tasks: list[Callable[[], Any]] = [partial(base.run, schedule, on_path)]
        if even is not None and balance is not None:
            tasks.append(partial(_run_balanced, balance, pieces, piece, even))
        tasks += [partial(one.run, schedule) for one in (*varied.values(), *points.values())]
        t = simulator.map(_done, tasks)[0]
        levels |= set(levels_used(schedule, machine, placement))
        copied = copied or copies(schedule)
        if detailed:
            details.add(piece, t, begin, on_path)
        # What threads and pieces leave free would otherwise add up to more than a piece takes.
        _core.release_memory()
    if base.finish.max() == 0:
        raise NotInPieces
    n = streams(t)
    t = base.timeline(details.shown or t)
    told = {name: one.times(n) for name, one in varied.items()}
    if balance is not None:
        told["balance"] = balance.times(n)
    by_rank = shares(t, told["bandwidth"])
    near = tuple(level for level in ("socket", "node", "network") if level in levels)
    more: dict[str, Any] = {"path": None, "beyond": None}
    if detailed:
        more |= details.told()
        waiting = (t.breakdown["late_sender"] + t.breakdown["late_receiver"] - details.synchronisation) / n
        by_rank |= {"waiting": waiting, "synchronisation": details.synchronisation / n}
        curves = {
            name: {0.0: told[name].makespan, 1.0: t.makespan}
            | {factor: points[name, factor].times(n).makespan for factor in FEW_FACTORS}
            for name in COSTS
        }
        tolerances = [tolerances_of(dict(curves[name]), t.makespan, None) for name in COSTS]
        level = (near or ("network",))[-1]
        more["sensitivities"] = sensitivities(machine, level, t.makespan, curves, tolerances, False)
    return Prediction(
        machine=machine,
        placement=placement,
        timeline=t,
        operations=base.operations,
        losses=losses(t, told),
        by_rank=by_rank,
        what_ifs=tuple(what_ifs(t, told)),
        used=numbers_used(machine, near, copied),
        **more,
    )
