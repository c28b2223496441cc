"""Any program, schedule or collective on any machine: how long it takes, with and without contention."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from ..simulation.network import MODELS, ROUTINGS
from ..units import text
from .drawing import CLASSES, bytes_axis, key, sheet
from .parameters import Kind, Parameter, Point, Summary

if TYPE_CHECKING:
    from ..machine import Machine
    from ..schedule.program import Program
    from ..schedule.schedule import Schedule

_AXES = ("bytes", "ranks", "ranks_per_node", "seed")


def work(point: Point) -> Program | Schedule:
    """The program or schedule of a file, or a collective of these ranks and sizes."""
    what = point["work"]
    if os.path.exists(what):
        from ..reading import read
        from ..schedule.program import Program
        from ..schedule.schedule import Schedule

        found = read(what)
        if not isinstance(found, (Program, Schedule)):
            raise InvalidInput(f"{what} holds a timeline: expected a program or a schedule")
        return found
    if not re.fullmatch("[a-z_]+", what):
        raise InvalidInput(f"{what}: no such file, and no collective such as allreduce")
    from ..collectives import collective

    sized = {} if what == "barrier" else {"bytes": point["bytes"]}
    return collective(what, ranks=point["ranks"], algorithm=point["algorithm"] or None, **sized)


def placement(machine: Machine, ranks: int, point: Point) -> Any:
    """Node of every rank: node after node, round the nodes, or on nodes at random."""
    each = point["ranks_per_node"]
    nodes = -(-ranks // each)
    if nodes > machine.nodes:
        raise InvalidInput(f"{ranks} ranks, {each} a node, need {nodes} nodes: {machine.name} has {machine.nodes}")
    rank = np.arange(ranks)
    if point["placement"] == "cyclic":
        return rank % nodes
    if point["placement"] == "random":
        return np.random.default_rng(point["seed"]).permutation(machine.nodes)[rank // each]
    return rank // each


def measure(point: Point) -> Point:
    """Makespan, seconds, and the same where messages do not meet."""
    from ..loading import load
    from ..simulation import simulate

    machine = load(point["machine"])
    what = work(point)
    where = placement(machine, what.ranks, point)
    times = {}
    for model in dict.fromkeys((point["model"], "loggops")):
        routing = point["routing"] if model != "loggops" else "minimal"
        t = simulate(what, machine, where, model=model, routing=routing, record="finish", seed=point["seed"])
        if t.deadlock is not None:
            raise InvalidInput(f"{point['work']}: deadlock after {text(t.makespan, 's', 4)}")
        times[model] = t.makespan
    return {
        "time": times[point["model"]],
        "alone": times["loggops"],
        "messages": t.messages,
        "sent": t.bytes,
        "count": what.ranks,
    }


def _varied(rows: Sequence[Point]) -> list[str]:
    return [p.name for p in KIND.parameters if len({str(r[p.name]) for r in rows}) > 1]


def summarise(rows: Sequence[Point]) -> Summary:
    """A table of what varies, and times over the first of its numbers."""
    varied = _varied(rows) or ["work"]
    right = ("ranks", "messages", "time", "without contention", "factor", *(n for n in varied if n in _AXES))
    table = [
        [
            *(_shown(name, row[name]) for name in varied), *([] if "ranks" in varied else [f"{row['count']:,}"]),
            f"{row['messages']:,}", text(row["time"], "s", 4), text(row["alone"], "s", 4), _factor(row),
        ]
        for row in rows
    ]  # fmt: skip
    ranks = [] if "ranks" in varied else ["ranks"]
    columns = (*varied, *ranks, "messages", "time", "without contention", "factor")
    return Summary(columns, table, right, lambda: _draw(rows), {})


def _shown(name: str, value: Any) -> str:
    return text(value, "B") if name == "bytes" else str(value)


def _factor(row: Point) -> str:
    return f"{row['time'] / row['alone']:.3f}" if row["alone"] else ""


def _draw(rows: Sequence[Point]) -> Any:
    varied = _varied(rows)
    axis = next((name for name in _AXES if name in varied), "bytes")
    series: dict[str, list[Point]] = {}
    for row in rows:
        label = ", ".join(str(row[name]).partition(" ")[0] for name in varied if name != axis)
        series.setdefault(label or str(row["work"]), []).append(row)
    fig, axes = sheet("Time of a program", "Makespan, seconds; dashed: the same without contention.", 1, 1, height=6.0)
    ax = axes[0][0]
    for i, (label, line) in enumerate(series.items()):
        line = sorted(line, key=lambda r: r[axis])
        x, colour = [r[axis] for r in line], CLASSES[i % len(CLASSES)]
        ax.plot(x, [r["time"] for r in line], "o-", markersize=4, lw=1.6, color=colour, label=label[:60])
        ax.plot(x, [r["alone"] for r in line], "--", lw=1, color=colour)
    if axis == "bytes" and min(r[axis] for r in rows) > 0:
        bytes_axis(ax, sorted({r["bytes"] for r in rows}))
    else:
        ax.set_xlabel(axis)
    if min(min(r["time"], r["alone"]) for r in rows) > 0:
        ax.set_yscale("log")
    ax.set_ylabel("time (s)")
    key(ax, loc="best")
    return fig


KIND = Kind(
    name="simulation",
    doc="a program, schedule or collective on a machine",
    version=1,
    parameters=(
        Parameter("work", "work", "a file of a program or schedule, or a collective such as allreduce"),
        Parameter("ranks", "whole", "of a collective", 64, least=1, most=2**31),
        Parameter("bytes", "B", "of a collective", 8, most=2**40),
        Parameter("algorithm", "text", "of a collective; empty: chosen by size", ""),
        Parameter("machine", "machine", "where it runs"),
        Parameter("ranks_per_node", "whole", "how many ranks share a node", 1, least=1, most=1e6),
        Parameter(
            "placement",
            "choice",
            "node after node, round the nodes, or random nodes",
            "block",
            ("block", "cyclic", "random"),
        ),
        Parameter("model", "choice", "of the network", "flow", MODELS),
        Parameter("routing", "choice", "of messages that meet", "minimal", ROUTINGS),
        Parameter("seed", "whole", "of random nodes and routes", 0, most=2**32),
    ),
    measure=measure,
    summarise=summarise,
)
