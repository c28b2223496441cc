"""Whether the rules of a table hold: runs with the library's file and without it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ...units import text
from ..choice import LIBRARY, Choice
from ..table import DecisionTable, Row
from .gain import ENOUGH, Gain, gain
from .result import interval
from .runs import Case, Runs
from .trials import Names

#: Bytes from which on a rule without an end is not tried.
_LARGEST = 4 << 20
#: What is left to the library is called slower with the file from here on: many sizes are looked at.
_SLOWER = 0.05
#: Seconds of a launch, from which follows how many there are, and the most of these.
_LAUNCH, _SURE = 1.5, 25
#: Sizes at which collectives without rules are timed.
_OTHERS = (64, 4096, 262144)


@dataclass(frozen=True)
class Held:
    """One rule of a file, timed.

    Parameters
    ----------
    collective : str
        Of the library.
    low, high : int or None
        First and last size of the rule in bytes; None: any.
    choice : Choice
    gains : mapping of int to Gain
        Time with the file by time without it, by bytes.
    """

    collective: str
    low: int
    high: int | None
    choice: Choice
    gains: Mapping[int, Gain]

    @property
    def holds(self) -> bool:
        """Faster at one size for sure, and slower at none; what is left to the library is not slower."""
        if self.choice == LIBRARY:
            return all(g.low <= 1 or g.ratio <= 1 + _SLOWER for g in self.gains.values())
        return any(g.is_sure for g in self.gains.values()) and all(g.low <= 1 for g in self.gains.values())

    def __str__(self) -> str:
        high = "any size" if self.high is None else text(float(self.high), "B")
        at = ", ".join(f"{text(float(size), 'B', 4)} {interval(g)}" for size, g in sorted(self.gains.items()))
        verdict = "holds" if self.holds else "does not hold"
        if self.choice == LIBRARY:
            verdict = "no slower" if self.holds else "slower, since the file changes more than its rules say"
        choice = "left to the library" if self.choice == LIBRARY else str(self.choice)
        return f"{self.collective}, {text(float(self.low), 'B')} to {high}, {choice}: {verdict}; {at}"


def hold(
    table: DecisionTable,
    names: Names,
    settings: Mapping[str, str],
    runs: Runs,
    *,
    rounds: int | None = None,
    seconds: float = 120.0,
    progress: Callable[[float, str], None] | None = None,
) -> list[Held]:
    """Time every rule of a table with the file of the library and without it, in turn.

    Parameters
    ----------
    table : DecisionTable
    names : mapping of str to tuple of str
        Our collectives, and the library's that each stands for.
    settings : mapping of str to str
        Environment variables that make the library read the file; without them it decides by itself.
    runs : Runs
    rounds : int, optional
        Launches of each; by default as many as fit into the time, from 9 to 25.
    seconds : float
        For all launches.
    progress : callable, optional
        Called with the share that is done, and words.

    Returns
    -------
    list of Held
        By rule and collective of the library; what is left to the library is among them.
    """
    rules = [
        (kind, low, high, choice, sizes)
        for kind in table.rows
        for low, high, choice, sizes in _rules(table, kind, runs.ranks)
    ]
    rules += [
        (kind, 0, None, LIBRARY, [0] if kind == "barrier" else [*_OTHERS]) for kind in names if kind not in table.rows
    ]
    cases = sorted({Case(name, size) for kind, *_, sizes in rules for name in names.get(kind, ()) for size in sizes})
    found: dict[bool, dict[Case, list[float]]] = {False: defaultdict(list), True: defaultdict(list)}
    if rounds is None:
        rounds = int(min(max(seconds / (2 * _LAUNCH), ENOUGH), _SURE))
    for turn in range(rounds if cases else 0):
        # In turn, and each first as often as the other.
        for with_file in (turn % 2 == 0, turn % 2 == 1):
            share = min(max(seconds / (2 * rounds) - 0.5, 0.2), 4.0)
            times = runs.times(settings if with_file else {}, cases, share, f"hold.{turn}.{int(with_file)}")
            for case in cases:
                values = times.get(case)
                found[with_file][case].append(
                    float("nan") if values is None or not len(values) else float(np.median(values))
                )
        if progress:
            progress((turn + 1) / rounds, "with the file and without it")
    out = []
    for kind, low, high, choice, sizes in rules:
        for name in names.get(kind, ()):
            gains = {}
            for size in sizes:
                pairs = [
                    (a, b)
                    for a, b in zip(found[True][Case(name, size)], found[False][Case(name, size)], strict=True)
                    if a == a and b == b
                ]
                if pairs:
                    gains[size] = gain(*zip(*pairs, strict=True))
            out.append(Held(name, low, high, choice, gains))
    return out


def without(table: DecisionTable, failed: list[Held], names: Names) -> DecisionTable:
    """The table with the rules that do not hold left to the library; collectives without a rule go."""
    kinds = {name: kind for kind, of in names.items() for name in of}
    rows: dict[str, list[Row]] = {}
    for kind, of_kind in table.rows.items():
        gone = [(held.low, held.high) for held in failed if kinds.get(held.collective) == kind]

        def left(size: int, gone: list[tuple[int, int | None]] = gone) -> bool:
            return any(low <= size and (high is None or size <= high) for low, high in gone)

        kept = [
            replace(row, points=tuple(replace(p, choice=LIBRARY) if left(p.bytes) else p for p in row.points))
            for row in of_kind
        ]
        if any(p.choice != LIBRARY for row in kept for p in row.points):
            rows[kind] = kept
    return DecisionTable(rows, table.provenance)


def _rules(table: DecisionTable, kind: str, ranks: int) -> list[tuple[int, int | None, Choice, list[int]]]:
    """Rules with the sizes at which they are tried: both ends and those tuned."""
    rules = table.rules(kind, ranks)
    tuned = [p.bytes for p in table.row(kind, ranks).points]
    out = []
    for rule, following in zip(rules, [*rules[1:], None], strict=True):
        high = None if following is None else following.bytes - 1
        inside = [size for size in tuned if rule.bytes <= size and (high is None or size <= high)]
        ends = {rule.bytes, *([] if high is None else [high])} if kind != "barrier" else {0}
        if high is None and len(inside) < 2 and kind != "barrier":
            ends |= {16 * max(rule.bytes, 64)}
        sizes = sorted(size for size in {*inside, *ends} if size <= max(_LARGEST, rule.bytes))
        if kind != "barrier":
            # Nothing is sent where there are no bytes.
            sizes = sorted({max(size, min(8, high or 8)) for size in sizes})
        out.append((rule.bytes, high, rule.choice, sizes or [rule.bytes]))
    return out
