"""Differences between two sources of decisions, and a fresh check of a table."""

from __future__ import annotations

import datetime
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInput
from ..units import percent
from .choice import Choice
from .decisions import Decisions
from .table import DecisionTable

if TYPE_CHECKING:
    from ..machine import Level, Machine

#: Seconds that a collective takes: of collective, ranks, bytes and algorithm.
Predict = Callable[[str, int, int, Choice], float]


@dataclass(frozen=True)
class Difference:
    """A range of sizes in which two sources choose differently.

    Parameters
    ----------
    collective : str
    ranks : int
    low, high : int or None
        First and last size in bytes; None: any size from ``low`` on.
    first, second : Choice or None
        What they choose; None where one says nothing about the collective.
    """

    collective: str
    ranks: int
    low: int
    high: int | None
    first: Choice | None
    second: Choice | None


def differences(first: Decisions, second: Decisions, ranks: Iterable[int] | None = None) -> list[Difference]:
    """Return where two sources of decisions differ.

    Parameters
    ----------
    first, second : Decisions
        Tables, or rules of libraries.
    ranks : iterable of int, optional
        Numbers of ranks to compare at; by default those of the tables' rows.

    Raises
    ------
    InvalidInput
        If no numbers of ranks are given and neither is a table.
    """
    tables = [side for side in (first, second) if isinstance(side, DecisionTable)]
    if ranks is None and not tables:
        raise InvalidInput("neither table names numbers of ranks: say at which to compare them")
    out = []
    for kind in dict.fromkeys((*first.collectives, *second.collectives)):
        at = ranks if ranks is not None else {row.ranks for table in tables for row in table.rows.get(kind, ())}
        for count in sorted(set(at)):
            out += _between(kind, count, first, second)
    if isinstance(first, DecisionTable) and isinstance(second, DecisionTable):
        out += _of_modes(first, second, ranks)
    return out


def _of_modes(first: DecisionTable, second: DecisionTable, ranks: Iterable[int] | None) -> list[Difference]:
    """Differences of calls that name a mode of synchronisation for which one of the tables has rows."""
    out = []
    for kind in dict.fromkeys((*first.modes, *second.modes)):
        for mode in dict.fromkeys((*first.modes.get(kind, {}), *second.modes.get(kind, {}))):
            sides = [table.of_mode(mode) for table in (first, second)]
            at = ranks if ranks is not None else {row.ranks for side in sides for row in side.rows.get(kind, ())}
            for count in sorted(set(at)):
                found = _between(kind, count, *sides)
                out += [replace(one, collective=f"{kind} with sync={mode}") for one in found]
    return out


def _between(kind: str, ranks: int, first: Decisions, second: Decisions) -> list[Difference]:
    sides = [side.rules(kind, ranks) if kind in side.collectives else () for side in (first, second)]
    starts = sorted({rule.bytes for rules in sides for rule in rules} | {0})
    out: list[Difference] = []
    for start, following in zip(starts, [*starts[1:], None], strict=True):
        a, b = (next((r.choice for r in reversed(rules) if r.bytes <= start), None) for rules in sides)
        end = None if following is None else following - 1
        if a == b:
            continue
        last = out[-1] if out else None
        if last and last.high == start - 1 and (last.first, last.second) == (a, b):
            out[-1] = Difference(kind, ranks, last.low, end, a, b)
        else:
            out.append(Difference(kind, ranks, start, end, a, b))
    return out


@dataclass(frozen=True)
class Check:
    """A decision compared with a fresh simulation.

    Parameters
    ----------
    collective : str
    ranks, bytes : int
    choice : Choice
    stored : float or None
        Seconds in the table.
    fresh : float
        Seconds now.
    best : Choice
        The faster one of choice and runner-up now.
    loss : float
        Extra time of the choice relative to ``best``.
    """

    collective: str
    ranks: int
    bytes: int
    choice: Choice
    stored: float | None
    fresh: float
    best: Choice
    loss: float

    @property
    def drift(self) -> float | None:
        """Fresh time divided by stored time, minus 1."""
        return self.fresh / self.stored - 1 if self.stored else None


def predictor(machine: Machine | Level, **options: Any) -> Predict:
    """Return a function that simulates times on a machine; ``options`` go to :func:`isthmus.simulate`."""
    from ..collectives import collective
    from ..simulation import simulate

    def seconds(kind: str, ranks: int, bytes: int, choice: Choice) -> float:
        schedule = collective(kind, ranks=ranks, bytes=bytes, algorithm=choice.argument)
        return float(simulate(schedule, machine, **options).makespan)

    return seconds


def validate(
    table: DecisionTable, machine: Machine | Level | Predict, *, most_ranks: int | None = None, **options: Any
) -> list[Check]:
    """Simulate the choices of a table and their runners-up again.

    Parameters
    ----------
    table : DecisionTable
    machine : Machine, Level or callable
        Where to simulate; or a function of collective, ranks, bytes and choice that says the seconds.
    most_ranks : int, optional
        Leave out rows with more ranks.
    **options
        Of :func:`isthmus.simulate`, such as ``model="flow"``: those that the table was made with.

    Returns
    -------
    list of Check
        One check per decision.
    """
    predict: Predict = machine if callable(machine) else predictor(machine, **options)
    out = []
    for kind, row, p in table.items():
        if most_ranks is not None and row.ranks > most_ranks:
            continue
        fresh = predict(kind, row.ranks, p.bytes, p.choice)
        other = fresh if p.runner_up is None else predict(kind, row.ranks, p.bytes, p.runner_up)
        best = p.choice if p.runner_up is None or fresh <= other else p.runner_up
        loss = fresh / min(fresh, other) - 1 if min(fresh, other) > 0 else 0.0
        out.append(Check(kind, row.ranks, p.bytes, p.choice, p.seconds, fresh, best, loss))
    return out


def summary(checks: list[Check]) -> str:
    """Return a sentence about a validation."""
    if not checks:
        return "nothing was checked"
    wrong = [check for check in checks if check.loss > 0]
    drifts = [abs(check.drift) for check in checks if check.drift is not None]
    text = f"{len(checks) - len(wrong)} of {len(checks)} decisions hold"
    if wrong:
        worst = max(wrong, key=lambda check: check.loss)
        text += (
            f"; the worst loses {percent(worst.loss)} ({worst.collective}, {worst.ranks} ranks, {worst.bytes} bytes)"
        )
    if drifts:
        median, most = statistics.median(drifts), max(drifts)
        text += f"; times differ from the stored ones by {percent(median)} at the median, {percent(most)} at most"
    return text


def today() -> str:
    """Return today's date (UTC) for provenance."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()
