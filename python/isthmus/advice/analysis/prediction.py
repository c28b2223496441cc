"""One program on one machine: the simulations that a prediction takes, and what they tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import InvalidInput
from ...schedule.program import Program
from ...simulation.critical import critical_path
from ..advice import Growth, Prediction, WhatIf
from .calls import Rows, call_table, pair_table, rows_of_events, size_table, waits_by_event
from .event_of_operation import completions, events_of_operations
from .links import network_use
from .numbers_used import copies, levels_used, numbers_used
from .path_shares import PATH_CLASSES, Parameters, PathSteps, path_steps
from .remapping import placing
from .what_if import COSTS, balanced, changed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...lowering.rules import Collectives
    from ...machine import Allocation, Machine
    from ...machine.placement import Placement
    from ...schedule.schedule import Schedule
    from ...simulation.timeline import Timeline
    from .simulator import Simulator

#: Operations up to which the critical path is that of the whole run, about 3 GB with what is made of it; of a larger
#: one it is that of a part with as many, from when this share of the operations is done.
MOST_RECORDED = 4_000_000
PART_FROM = 0.4
#: Most operations for which tolerances are found by simulation, a few dozen of them.
MOST_REFINED = 500_000
#: Points of the curves; of programs that are too large to record only some, as each takes long.
FACTORS, FEW_FACTORS = (0.25, 0.5, 2.0, 4.0), (2.0, 4.0)
LOSSES = (0.01, 0.05, 0.1)
NOTHING = dict.fromkeys(COSTS, 0.0)
_MOST_FACTOR = 1024.0


class Times(NamedTuple):
    """Times kept of a simulation so that its schedule can be freed: seconds, and those of ranks if recorded."""

    makespan: float
    breakdown: Mapping[str, NDArray[np.float64]]


def predict(
    what: Program | Schedule,
    schedule: Schedule,
    machine: Machine,
    placement: Allocation | Placement,
    simulator: Simulator,
    *,
    even: Callable[[], Schedule] | None,
    collectives: Collectives | None,
    detailed: bool,
) -> Prediction:
    """Simulate and explain; ``even`` makes the schedule with computation balanced, None where there is none.

    ``detailed``: with calls, messages and sensitivities; otherwise what a comparison of machines needs.
    """
    large = len(schedule) > MOST_RECORDED
    recorded = detailed or not large
    part = (int(PART_FROM * len(schedule)), MOST_RECORDED) if large and recorded else None
    # With infinite bandwidth only o and O are left of the time that messages take of processors, and messages that take
    # no time on links do not meet there.
    alone = "loggops"

    def usual() -> Schedule:
        return schedule

    variants: dict[str, tuple[Callable[[], Schedule], Mapping[str, float], str, str]] = {
        "bandwidth": (usual, {"bandwidth": 0.0}, "ranks", alone),
        "network": (usual, NOTHING, "finish", alone),
        "latency": (usual, {"latency": 0.0}, "finish", simulator.model),
        "overhead": (usual, {"overhead": 0.0}, "finish", simulator.model),
    }
    if simulator.model != alone:
        variants["contention"] = (usual, {}, "finish", alone)
    if even is not None:
        variants["balance"] = (even, {}, "finish", simulator.model)

    def run(variant: tuple[Callable[[], Schedule], Mapping[str, float], str, str]) -> Times:
        of, factors, record, model = variant
        t = simulator.run(of(), changed(machine, factors), placement, record, model)
        return Times(t.makespan, t.breakdown if record == "ranks" else {})

    def vary() -> dict[str, Times]:
        return dict(zip(variants, simulator.map(run, variants.values()), strict=True))

    # The balanced schedule of a large program takes as much memory as the record of this one: one after the other.
    varied = vary() if large else {}
    columns = _columns(what, schedule, collectives, detailed) if recorded and isinstance(what, Program) else None
    t = simulator.run(schedule, machine, placement, "ops" if recorded else "ranks", path_part=part)
    if t.deadlock is not None:
        raise InvalidInput(
            f"on {machine.name} the program deadlocks: {str(t.deadlock).splitlines()[0].removeprefix('deadlock ')}; "
            "isthmus simulate explains why"
        )
    if t.makespan_ps == 0:
        raise InvalidInput(f"on {machine.name} the program takes no time, so there is nothing to advise on")
    varied = varied or vary()
    fast = varied["bandwidth"]
    by_rank = shares(t, fast)
    path, beyond, of_ranks = None, None, None
    more: dict[str, Any] = {}
    if recorded:
        found = critical_path(t)
        steps = path_steps(t, found, Parameters(machine, placement, t.ranks))
        of_ranks = steps.by_rank(t.ranks)
        path = dict(zip(PATH_CLASSES, (float(x) for x in steps.time.sum(axis=0)), strict=True))
        if part is None:
            beyond = max(path["compute"] - float(t.breakdown["compute"].mean()) / streams(t), 0.0)
        else:
            more["part"] = (float(found.begin_ps[0]) / 1e12, float(found.end_ps[-1]) / 1e12)
        told, synchronisation = _calls_and_messages(t, what, columns, steps, path, detailed)
        columns = None
        more |= told
        if synchronisation is not None:
            waiting = (t.breakdown["late_sender"] + t.breakdown["late_receiver"] - synchronisation) / streams(t)
            by_rank |= {"waiting": waiting, "synchronisation": synchronisation / streams(t)}
    levels = levels_used(schedule, machine, placement)
    if detailed:
        more["placing"] = placing(schedule, machine, placement, simulator)
        level = (levels or ("network",))[-1]
        zero = {name: varied[name].makespan for name in COSTS}
        more["sensitivities"] = _sensitivities(schedule, machine, placement, simulator, t.makespan, zero, level)
    return Prediction(
        machine,
        placement,
        t,
        len(schedule),
        losses(t, varied),
        by_rank,
        path,
        beyond,
        tuple(what_ifs(t, varied)),
        numbers_used(machine, levels, copies(schedule)),
        path_of_ranks=of_ranks,
        **more,
    )


class _Columns(NamedTuple):
    """Columns of events and operations known before any simulation; see :mod:`.origin`, :func:`rows_of_events`."""

    event: NDArray[np.integer[Any]]
    completing: NDArray[np.integer[Any]]
    rows: Rows | None


def _columns(program: Program, schedule: Schedule, collectives: Collectives | None, detailed: bool) -> _Columns:
    """Made before the simulation is recorded, as it takes a gigabyte for a while of ten million events."""
    event = events_of_operations(program, schedule, collectives)
    completing = completions(program).astype(event.dtype)
    return _Columns(event, completing, rows_of_events(program) if detailed else None)


def _calls_and_messages(
    t: Timeline,
    what: Program | Schedule,
    columns: _Columns | None,
    steps: PathSteps,
    path: Mapping[str, float],
    detailed: bool,
) -> tuple[dict[str, Any], NDArray[np.float64] | None]:
    """The tables of a prediction, and for how long ranks wait in collectives; None of a schedule."""
    out: dict[str, Any] = {}
    rows, event, synchronisation = None, None, None
    if columns is not None and isinstance(what, Program):
        event, completing, rows = columns
        waits = waits_by_event(t, what, event, completing)
        synchronisation = waits.synchronisation
        if rows is not None:
            out["calls"] = call_table(t, what, rows, event, completing, steps, waits)
    if detailed:
        out["network"] = network_use(t, rows, event, path["contention"])
        out |= {"pairs": pair_table(t, steps), "sizes": size_table(t, steps)}
    return out, synchronisation


def streams(timeline: Timeline) -> int:
    """CPU streams of a rank, among which its time is divided."""
    cpu = timeline.schedule.ops["cpu"]
    return int(cpu.max()) + 1 if len(cpu) else 1


def losses(t: Timeline, varied: Mapping[str, Times]) -> dict[str, float]:
    """The parts of the time, by LOSSES."""
    compute = t.breakdown["compute"] / streams(t)
    mean, most, ideal, time = float(compute.mean()), float(compute.max()), varied["network"].makespan, t.makespan
    alone = varied["contention"].makespan if "contention" in varied else time
    # Messages that meet may also come in a better order.
    shared = min(max(time - alone, 0.0), time - ideal)
    return {
        "computation": mean,
        "imbalance": most - mean,
        "dependencies": ideal - most,
        "network": time - ideal - shared,
        "contention": shared,
    }


def shares(t: Timeline, fast: Times) -> dict[str, NDArray[np.float64] | None]:
    """Seconds of every rank by TIME_CLASSES, for each of its CPU streams; waiting still with synchronisation."""
    n = streams(t)
    b = {name: values / n for name, values in t.breakdown.items()}
    handling = fast.breakdown["recv_overhead"] / n
    return {
        "compute": b["compute"],
        "overhead": b["send_overhead"] + handling,
        "latency": b["latency"],
        "bandwidth": b["gap"] + b["recv_overhead"] - handling,
        "contention": b["contention"],
        "waiting": b["late_sender"] + b["late_receiver"],
        "synchronisation": None,
        "noise": b["noise"],
        "idle": b["idle"],
    }


def what_ifs(t: Timeline, varied: Mapping[str, Times]) -> list[WhatIf]:
    time, n = t.makespan, streams(t)

    def simulated(name: str, words: str) -> WhatIf:
        return WhatIf(name, words, varied[name].makespan, time - varied[name].makespan, False)

    def at_least(name: str, words: str, least: float) -> WhatIf:
        return WhatIf(name, words, min(least, time), max(time - least, 0.0), True)

    out = [
        simulated("latency", "no latency (L = 0)"),
        simulated("bandwidth", "infinite bandwidth (g, G = 0)"),
        simulated("overhead", "no overhead (o, O = 0)"),
        simulated("network", "ideal network (L, o, g, G, O = 0)"),
    ]
    if "contention" in varied:
        out.append(simulated("contention", "no contention (LogGOPS model)"))
    if "balance" in varied:
        out.append(simulated("balance", "balanced computation between synchronisations"))
    b = varied["bandwidth"].breakdown
    cpu = (b["compute"] + b["send_overhead"] + b["recv_overhead"]) / n
    waiting = sum(float(t.breakdown[name].mean()) for name in ("late_sender", "late_receiver", "idle")) / n
    return [
        *out,
        at_least("overlap", "perfect overlap: the busiest rank's computation and overheads", float(cpu.max())),
        at_least("synchronisation", "perfect synchronisation: nobody waits for late partners", time - waiting),
        at_least("work", "perfect overlap and balance: the mean rank's computation and overheads", float(cpu.mean())),
    ]


def _sensitivities(
    schedule: Schedule,
    machine: Machine,
    placement: Allocation | Placement,
    simulator: Simulator,
    time: float,
    zero: Mapping[str, float],
    level: str,
) -> tuple[Growth, ...]:
    """Curves and tolerances of every cost."""
    factors = FACTORS if len(schedule) <= MOST_RECORDED else FEW_FACTORS
    # Where messages meet, slightly other costs may change the order of messages: only larger changes tell something.
    refined = len(schedule) <= MOST_REFINED and simulator.model == "loggops"

    def at(name: str, factor: float) -> float:
        return simulator.run(schedule, changed(machine, {name: factor}), placement).makespan

    points = [(name, factor) for name in COSTS for factor in (*factors, *((1.1,) if refined else ()))]
    times = simulator.map(at, *zip(*points, strict=True))
    known: dict[str, dict[float, float]] = {name: {0.0: zero[name], 1.0: time} for name in COSTS}
    for (name, factor), found in zip(points, times, strict=True):
        known[name][factor] = found
    curves = {name: dict(sorted(known[name].items())) for name in COSTS}

    def tolerance(name: str) -> dict[float, float | None]:
        return tolerances_of(known[name], time, (lambda f: at(name, f)) if refined else None)

    return sensitivities(machine, level, time, curves, simulator.map(tolerance, COSTS), refined)


def sensitivities(
    machine: Machine,
    level: str,
    time: float,
    curves: Mapping[str, Mapping[float, float]],
    tolerances: Iterable[dict[float, float | None]],
    refined: bool,
) -> tuple[Growth, ...]:
    """Sensitivity to every cost, by its curve."""
    p = getattr(machine.level, level)
    value = {"latency": p.L, "bandwidth": 1 / p.G if p.G else float("inf"), "overhead": p.o_send}
    return tuple(
        Growth(name, curve, _between(curve, 1.1) / time - 1, tolerated, refined, level, value[name])
        for (name, curve), tolerated in zip(curves.items(), tolerances, strict=True)
    )


def _between(curve: Mapping[float, float], factor: float) -> float:
    """The curve at a factor, by a straight line where it is not known."""
    return float(np.interp(factor, list(curve), list(curve.values())))


def tolerances_of(
    known: dict[float, float], time: float, at: Callable[[float], float] | None
) -> dict[float, float | None]:
    """By what factor a cost may grow until the time has grown by each of LOSSES; None: by more than can be said.

    The curve is convex as long as messages are served in one order, so that the chord of two known points reaches a
    time no later than the curve: what is interpolated is too small rather than too large.
    """
    out: dict[float, float | None] = {}
    for loss in LOSSES:
        target = time * (1 + loss)
        while at is not None and max(known.values()) < target and max(known) < _MOST_FACTOR:
            factor = 4 * max(known)
            known[factor] = at(factor)
        out[loss] = _reaches(known, target, 0.0005 * time, at)
    return out


def _reaches(
    known: dict[float, float], target: float, slack: float, at: Callable[[float], float] | None
) -> float | None:
    """The factor at which the time is the target."""
    above = [factor for factor in known if factor > 1 and known[factor] >= target]
    if not above:
        return None
    high = min(above)
    low = max(factor for factor in known if 1 <= factor < high)
    for turn in range(24 if at is not None else 0):
        if known[high] - target <= slack:
            return high
        if target - known[low] <= slack and low > 1:
            return low
        assert at is not None
        # False position and halving in turns: quick on straight lines, and sure on bends.
        part = (target - known[low]) / (known[high] - known[low])
        middle = low + (high - low) * (part if turn % 2 == 0 else 0.5)
        if not low < middle < high:
            break
        known[middle] = at(middle)
        low, high = (middle, high) if known[middle] < target else (low, middle)
    return low + (high - low) * (target - known[low]) / (known[high] - known[low])


def even_schedule(program: Program | Schedule, lowered: Callable[[Program], Schedule]) -> Callable[[], Schedule] | None:
    """A function that makes the schedule with balanced computation; None if there is nothing to balance.

    It is as large as that of the program, and therefore made when it is simulated, and not kept.
    """
    if not isinstance(program, Program):
        return None
    even = balanced(program)
    return None if even is program else partial(lowered, even)
