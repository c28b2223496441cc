"""The verb ``sweep``: many simulations to one table."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .errors import InvalidInput, Unsupported
from .machine import Level, Machine
from .schedule.program import Program
from .schedule.schedule import Schedule
from .tabular import Table
from .threads import Threads


def sweep(
    what: str | Program | Schedule | Callable[..., Program | Schedule],
    machines: str | Machine | Level | Sequence[str | Machine | Level],
    *,
    model: str | Sequence[str] = "loggops",
    placement: str | Sequence[str] | None = None,
    workers: int | None = None,
    **values: object,
) -> Table:
    """Simulate every combination of the given values in parallel and return a table.

    Parameters
    ----------
    what : str, Program, Schedule or callable
        The name of a collective; a program or schedule to simulate; or a function that returns one and is called with
        one combination of ``values``.
    machines : str, Machine or Level, or sequence of them
        Machines, or whatever :func:`isthmus.load` accepts.
    model : str or sequence of str
        Network models, as for :func:`isthmus.simulate`.
    placement : str or sequence of str, optional
        Placements, as for :func:`isthmus.simulate`.
    workers : int, optional
        Number of simulations at a time; by default one per core.
    **values
        Parameters to vary, each a value or a sequence of values. For a collective: ``ranks``, ``bytes`` and the other
        arguments of :func:`isthmus.collective`; ``algorithm="all"`` tries every algorithm of the collective.

    Returns
    -------
    Table
        One row per combination, the last value varying fastest: machine, the values, model, placement if given,
        seconds, messages, and sent (bytes). Where an algorithm or machine cannot run a combination, seconds is nan and
        ``error`` says why.

    Raises
    ------
    InvalidInput
        If there is no machine, the collective is unknown, or ``values`` are given that nothing accepts.

    Examples
    --------
    >>> import isthmus
    >>> table = isthmus.sweep("bcast", ["eos", "titan"], ranks=[64, 128], bytes=8, algorithm=["binomial", "linear"])
    >>> len(table), table[0]["machine"], table[0]["algorithm"]
    (8, 'eos', 'binomial')
    """
    from .loading import load
    from .machine import Level, Machine

    make = _maker(what, values)
    named = {name: [value] if _one(name, value) else _list(value) for name, value in values.items()}
    if named.get("algorithm") == ["all"] and isinstance(what, str):
        from .collectives import algorithms

        named["algorithm"] = list(algorithms(what))
    where = [m if isinstance(m, (Machine, Level)) else load(m) for m in _list(machines)]
    if not where:
        raise InvalidInput("no machines: give at least one")
    models, places = _list(model), _list(placement)
    combinations = [dict(zip(named, chosen, strict=True)) for chosen in itertools.product(*named.values())]
    with Threads(workers or os.cpu_count() or 1) as pool:
        made = [(chosen, pool.submit(make, chosen)) for chosen in combinations]
        jobs = []
        for machine, (chosen, schedule), this, place in itertools.product(where, made, models, places):
            row = {"machine": getattr(machine, "name", "LogGP"), **chosen, "model": this}
            row |= {} if placement is None else {"placement": place}
            jobs.append((row, pool.submit(_simulate, schedule, machine, this, place)))
        return Table([row | job.result() for row, job in jobs])


def _one(name: str, value: Any) -> bool:
    """An algorithm with its options, or what ranks wait for on entry and exit: a pair that is one value."""
    return name in ("algorithm", "sync") and isinstance(value, tuple)


def _list(value: Any) -> list[Any]:
    if isinstance(value, (str, bytes, dict, os.PathLike)) or not isinstance(value, Iterable):
        return [value]
    return list(value)


def _maker(what: Any, values: dict[str, Any]) -> Callable[[dict[str, Any]], Any]:
    if isinstance(what, str):
        from .collectives import algorithms, collective

        algorithms(what)  # raises for what is none
        return lambda chosen: collective(what, **chosen)
    if callable(what):
        return lambda chosen: what(**chosen)
    if values:
        raise InvalidInput(
            f"{', '.join(values)}: a {type(what).__name__} is simulated as it is; give a function to vary it"
        )
    return lambda chosen: what


def _simulate(schedule: Any, machine: Any, model: str, placement: Any) -> dict[str, Any]:
    from .simulation.simulate import simulate

    nothing = {"seconds": float("nan"), "messages": 0, "sent": 0}
    try:
        timeline = simulate(schedule.result(), machine, placement, model=model, record="finish")
    except (InvalidInput, Unsupported) as error:
        return nothing | {"error": str(error)}
    if timeline.deadlock is not None:
        return nothing | {"error": str(timeline.deadlock).splitlines()[0]}
    return {"seconds": timeline.makespan, "messages": timeline.messages, "sent": timeline.bytes, "error": None}
