"""The verb: compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

from ..errors import InvalidInput
from ..machine import Level, Machine
from ..schedule.program import Program
from ..schedule.schedule import Schedule
from ..simulation.options import Options
from ..simulation.timeline import Timeline
from ..tuning.decisions import Decisions
from .comparison import Comparison, Part
from .machines import compare_machines
from .operations import operation_parts, rank_rows
from .programs import Place, compare_machines_for
from .tables import compare_tables
from .times import Times, compare_times, measured, predicted

#: What is compared.
Thing = Machine | Level | Decisions | Timeline | Program | Schedule

_ALLOWED = (
    "machines, two decision tables, timelines (a recorded program is a measured one), or a program or schedule and "
    "machines"
)


def compare(
    *things: Thing,
    names: Sequence[str] | None = None,
    ranks: Sequence[int] | None = None,
    placements: Sequence[Place | None] | None = None,
    **options: Unpack[Options],
) -> Comparison:
    """Compare machines, decision tables, timelines, or one program on several machines.

    Parameters
    ----------
    *things : Machine, Level, DecisionTable, Decisions, Timeline, Program or Schedule
        Two or more machines; two decision tables; two or more timelines; or a program or schedule and the machines to
        simulate it on. A recorded program counts as a measured timeline, so that you can compare it with predictions.
    names : sequence of str, optional
        Labels of the things compared; by default their own names, or "first", "second" and so on.
    ranks : sequence of int, optional
        For tables: numbers of ranks at which to compare, by default those of the tables.
    placements : sequence, optional
        For a program on machines: one placement per machine, as for :func:`isthmus.simulate`.
    **options
        For a program on machines: options of :func:`isthmus.simulate`.

    Returns
    -------
    Comparison

    Raises
    ------
    InvalidInput
        If only one thing is given, or the things cannot be compared.

    Examples
    --------
    >>> import isthmus
    >>> found = isthmus.compare(isthmus.load("torus:4x4 cores=2"), isthmus.load("torus:4x4 cores=4"))
    >>> [row["value of"] for row in found.rows]
    ['cores', 'node.cores']
    """
    if len(things) < 2:
        raise InvalidInput(f"{len(things)} thing is given: expected at least two: {_ALLOWED}")
    called = _names(things, names)
    first, others = things[0], things[1:]
    tables = [thing for thing in things if isinstance(thing, Decisions)]
    machines = [thing for thing in things if isinstance(thing, Machine)]
    times = [
        (thing, name) for thing, name in zip(things, called, strict=True) if isinstance(thing, (Timeline, Program))
    ]
    where = [thing for thing in others if isinstance(thing, (Machine, Level))]
    on_machines = isinstance(first, (Program, Schedule)) and len(where) == len(others)
    if options and not on_machines:
        raise InvalidInput(f"{next(iter(options))}= applies only to a program on machines")
    if ranks is not None and len(tables) < len(things):
        raise InvalidInput("ranks= applies only to decision tables")
    if len(machines) == len(things):
        return compare_machines(machines, called)
    if len(tables) == len(things) == 2:
        return compare_tables(tables[0], tables[1], called, ranks)
    if isinstance(first, (Program, Schedule)) and on_machines:
        return compare_machines_for(first, called[0], where, called[1:], placements, **options)
    if len(times) == len(things):
        return _in_detail(times, called)
    given = ", ".join(type(thing).__name__ for thing in things)
    raise InvalidInput(f"{given}: can compare {_ALLOWED}")


def _times(thing: Timeline | Program, name: str) -> Times:
    return predicted(thing, name) if isinstance(thing, Timeline) else measured(thing, name)


def _in_detail(times: Sequence[tuple[Timeline | Program, str]], names: Sequence[str]) -> Comparison:
    """Timelines as a whole, by rank, and where all are timelines by operation."""
    read = [_times(thing, name) for thing, name in times]
    found = compare_times(read, names)
    parts: tuple[Part, ...] = (rank_rows(read, names),)
    notes = found.notes
    timelines = {name: thing for thing, name in times if isinstance(thing, Timeline)}
    if len(timelines) == len(times):
        more, why = operation_parts(list(timelines.values()), names)
        parts, notes = (*parts, *more), (*notes, *why)
    drawn = {name: timeline for name, timeline in timelines.items() if timeline.record == "ops"}
    return replace(found, parts=parts, notes=notes, timelines=drawn)


_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


def _names(things: Sequence[Any], names: Sequence[str] | None) -> tuple[str, ...]:
    """Names that differ: columns of tables are called by them."""
    if names is None:
        names = [
            (isinstance(thing, Machine) and thing.name) or (_ORDINALS[i] if i < len(_ORDINALS) else str(i + 1))
            for i, thing in enumerate(things)
        ]
    if len(names) != len(things):
        raise InvalidInput(f"{len(names)} names for {len(things)} things: expected one for each")
    out: list[str] = []
    for name in names:
        count = 2
        unique = name
        while unique in out:
            unique, count = f"{name} ({count})", count + 1
        out.append(unique)
    return tuple(out)
