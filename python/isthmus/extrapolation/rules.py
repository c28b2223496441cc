"""Rules: numbers of a statement, such as bytes or the times of a loop, for any rank, visit and number of ranks.

``Where`` says for which ranks and visits numbers are wanted; each rule gives them as an array. A rule is written as one
piece of text, which :mod:`isthmus.extrapolation.text` reads back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .charts import Grid, chart_of
from .formulas import Formula, check
from .vocabulary import Item
from .where import Numbers, Where
from .windows import Windows


@dataclass(frozen=True, eq=False)
class Same:
    """One formula for all."""

    formula: Formula
    form: ClassVar[str] = ""

    def __call__(self, where: Where, what: str = "") -> NDArray[np.generic]:
        number = check(self.formula, where.variables, what)
        whole = where.whole(self.formula, number) if self.formula.label == "exact" else number
        return np.full(len(where.rank), int(whole) if whole == int(whole) else whole)

    @property
    def label(self) -> str:
        return self.formula.label

    def __str__(self) -> str:
        return str(self.formula)


#: Features that tell ranks by their place beside the iteration of a loop.
ITERATED = ("turn", "reach")


@dataclass(frozen=True)
class Feature:
    """A property of ranks by which numbers differ.

    ``first``: rank 0 or not. ``last``, ``ends``: the last rank, the first and the last. ``is R``: rank R or not.
    ``mod M``. ``bits``: zeros at the end of the rank. ``edge CHART``: on each side at the beginning, within, at its
    end. ``far CHART``: at the end. ``out ITEM``: the step of the item leaves the grid. ``two ITEM``: its side has two
    ranks at most, so that steps to either end are one. ``member M``: the place in a list, modulo M.
    ``turn CHART AXES``: around a side, the rank's place is that of the iteration (0), the one before (2), the one
    after (3), another (1). ``reach CHART AXES``: the place is before the iteration (0), at it (1), one further (2),
    beyond (3).
    """

    name: str
    argument: str = ""

    def labels(self, where: Where) -> Numbers:
        """The label of each rank."""
        rank, ranks = where.rank, where.ranks
        if self.name == "first":
            return (rank > 0).astype(np.int64)
        if self.name == "last":
            return np.asarray(rank == ranks - 1, np.int64)
        if self.name == "ends":
            return np.where(rank == 0, 0, np.where(rank == ranks - 1, 2, 1))
        if self.name == "is":
            return np.asarray(rank != int(self.argument), np.int64)
        if self.name == "mod":
            return np.asarray(rank % int(self.argument))
        if self.name == "place":
            return np.minimum(where.inner, int(self.argument))
        if self.name == "bits":
            low = np.where(rank > 0, rank & -rank, ranks)
            return np.log2(np.maximum(low, 1)).astype(np.int64)
        if self.name == "two":
            chart = self.item.chart
            sides = chart.sides(ranks) if isinstance(chart, Grid) else (ranks,)
            narrow = any(step and side <= 2 for step, side in zip(self.item.symbol, sides, strict=True))
            return np.full(len(rank), int(narrow))
        if self.name == "out":
            return self.item.chart.peers(self.item.symbol, ranks)[1][rank].astype(np.int64)
        name, _, axes = self.argument.partition(" ")
        grid = chart_of(name)
        assert isinstance(grid, Grid)
        place, sides = grid.place(rank, ranks), grid.sides(ranks)
        out = np.zeros(len(rank), np.int64)
        if self.name in ITERATED:
            for axis in map(int, axes):
                far = place[axis] - where.inner
                if self.name == "turn":
                    far = far % sides[axis]
                    far = np.where(far == 0, 0, np.where(far == sides[axis] - 1, 2, np.where(far == 1, 3, 1)))
                    out = out * 4 + far
                else:
                    out = out * 4 + np.clip(far, -1, 2) + 1
            return out
        for row, side in zip(place, sides, strict=True):
            if self.name == "edge":
                out = out * 4 + np.where(row == 0, 0, 1) + np.where(row == side - 1, 2, 0)
            elif self.name == "far":
                out = out * 2 + (row == side - 1)
            elif self.name == "sum":
                out = out + (row == 0) + (row == side - 1)
            else:
                out = out * 2 + row % 2
        return out

    @cached_property
    def item(self) -> Item:
        """The item of ``out`` and ``two``."""
        name, _, steps = self.argument.rstrip(")").partition("(")
        return Item(chart_of(name), tuple(map(int, steps.split(","))))

    def __str__(self) -> str:
        return f"{self.name} {self.argument}".strip()


@dataclass(frozen=True, eq=False)
class Cases:
    """A rule for each label of a feature."""

    feature: Feature
    rules: Mapping[int, Rule]
    form: ClassVar[str] = "by"

    def __call__(self, where: Where, what: str = "") -> NDArray[np.generic]:
        labels = self.feature.labels(where)
        out: NDArray[np.generic] = np.zeros(len(labels), np.int64)
        for label in np.unique(labels).tolist():
            rule = self.rules.get(label)
            if rule is None:
                # Such ranks are in no recording: those of the nearest label stand for them.
                where.doubts.add("ranks")
                rule = self.rules[min((abs(known - label), known) for known in self.rules)[1]]
            chosen = labels == label
            values = rule(where.part(chosen), what)
            if values.dtype.kind == "f" and out.dtype.kind != "f":
                out = out.astype(np.float64)
            out[chosen] = values
        return out

    @property
    def label(self) -> str:
        return worst(rule.label for rule in self.rules.values())

    def __str__(self) -> str:
        return f"by {self.feature}: " + "; ".join(f"{label}: {rule}" for label, rule in sorted(self.rules.items()))


@dataclass(frozen=True, eq=False)
class Affine:
    """``base + rank * r + visit * v + inner * i``, modulo ``modulus`` where there is one."""

    base: Formula
    rank: Formula
    visit: Formula
    inner: Formula
    modulus: Formula | None = None
    form: ClassVar[str] = "affine"

    def __call__(self, where: Where, what: str = "") -> NDArray[np.generic]:
        base, r, v, i = (
            where.whole(f, f(where.variables)) for f in (self.base, self.rank, self.visit, self.inner)
        )  # fmt: skip
        out = base + r * where.rank + v * where.visit + i * where.inner
        return out if self.modulus is None else out % int(self.modulus(where.variables))

    @property
    def label(self) -> str:
        return worst(f.label for f in (self.base, self.rank, self.visit, self.inner))

    def __str__(self) -> str:
        parts = [str(self.base)]
        for name, one in (("rank", self.rank), ("visit", self.visit), ("inner", self.inner)):
            if not (one.constant and one({"P": 1}) == 0):
                parts.append(f"{name} * ({one})")
        if self.modulus is not None:
            parts.append(f"modulo ({self.modulus})")
        return "affine " + ", ".join(parts)


@dataclass(frozen=True, eq=False)
class Listed:
    """A list of numbers, by the visit or by the iteration; beyond its end the last one, or from its begin again."""

    values: tuple[int, ...]
    by: str = "visit"
    label: str = "exact"
    form: ClassVar[str] = "list"

    def __call__(self, where: Where, what: str = "") -> NDArray[np.generic]:
        return np.array(self.values)[np.minimum(where.count(self.by), len(self.values) - 1)]

    def __str__(self) -> str:
        return f"list {self.by} {runs(self.values)}"


@dataclass(frozen=True, eq=False)
class Doubling:
    """``base * 2 ^ inner``, or of the visit; ``halves``: divided by it, rounded down."""

    base: Formula
    by: str = "inner"
    halves: bool = False
    form: ClassVar[str] = "doubling"

    def __call__(self, where: Where, what: str = "") -> NDArray[np.generic]:
        base, count = where.whole(self.base, check(self.base, where.variables, what)), where.count(self.by)
        return base >> np.minimum(count, 62) if self.halves else base << count

    @property
    def label(self) -> str:
        return self.base.label

    def __str__(self) -> str:
        return f"{'halving' if self.halves else 'doubling'} {self.by} {self.base}"


@dataclass(frozen=True, eq=False)
class Block:
    """``unit`` times the parts of whole numbers cut evenly, along some sides of a grid.

    Part i of ``total`` over n: ``floor`` total (i + 1) // n - total i // n; ``first``: the first ones are one larger.
    ``turn``: the index is that of the rank plus ``turn`` times the visit (modulo ``period``) plus ``start``, around.
    """

    unit: int
    grid: Grid
    axes: tuple[int, ...]
    totals: tuple[Formula, ...]
    kind: str = "floor"
    turn: int = 0
    start: int = 0
    period: Formula | None = None
    form: ClassVar[str] = "block"

    def __call__(self, where: Where, what: str = "") -> NDArray[np.generic]:
        sides = self.grid.sides(where.ranks)
        place = self.grid.place(where.rank, where.ranks)
        out = np.full(len(where.rank), self.unit)
        for axis, total in zip(self.axes, self.totals, strict=True):
            index = place[axis]
            if self.turn or self.start:
                visit = where.visit if self.period is None else where.visit % max(int(self.period(where.variables)), 1)
                index = (index + self.turn * visit + self.start) % sides[axis]
            out = out * part(where.whole(total, total(where.variables)), sides[axis], index, self.kind)
        return out

    @property
    def label(self) -> str:
        return worst(total.label for total in self.totals)

    def __str__(self) -> str:
        cut = ", ".join(f"{axis}: {total}" for axis, total in zip(self.axes, self.totals, strict=True))
        turn = (
            f" turn {self.turn:+d} start {self.start:+d} every ({self.period or 0})" if self.turn or self.start else ""
        )
        return f"block {self.kind} {self.unit} of {self.grid.name} {cut}{turn}"


@dataclass(frozen=True, eq=False)
class Peer:
    """The peer of a rank by an item of a chart."""

    item: Item
    label: str = "exact"
    form: ClassVar[str] = "peer"

    def __call__(self, where: Where, what: str = "") -> NDArray[np.generic]:
        peers, outside = self.item.chart.peers(self.item.symbol, where.ranks)
        return np.where(outside, -2, peers)[where.rank]

    def __str__(self) -> str:
        return f"peer {self.item}"


@dataclass(frozen=True, eq=False)
class Step:
    """The peer of a rank by a step that is a rule: ``rank`` itself, ``ring`` further around, ``xor`` bits."""

    chart: str
    rule: Rule
    form: ClassVar[str] = "step"

    def __call__(self, where: Where, what: str = "") -> NDArray[np.generic]:
        step = self.rule(where, what).astype(np.int64)
        if self.chart == "rank":
            return step
        out = (where.rank + step) % where.ranks if self.chart == "ring" else where.rank ^ step
        return np.where(out < where.ranks, out, -2)

    @property
    def label(self) -> str:
        return self.rule.label

    def __str__(self) -> str:
        return f"step {self.chart} {self.rule}"


@dataclass(frozen=True, eq=False)
class Turn:
    """Peers that were decided while the program ran: all other ranks in turn, by the iteration."""

    form: ClassVar[str] = "turn"
    label: ClassVar[str] = "guessed"

    def __call__(self, where: Where, what: str = "") -> NDArray[np.generic]:
        others = max(where.ranks - 1, 1)
        return (where.rank + 1 + where.inner % others) % where.ranks

    def __str__(self) -> str:
        return "turn"


@dataclass(frozen=True, eq=False)
class Even:
    """A total, dealt out evenly over the ranks that are asked for, the first ones with one more."""

    total: Formula
    form: ClassVar[str] = "even"
    label: ClassVar[str] = "guessed"

    def __call__(self, where: Where, what: str = "") -> NDArray[np.generic]:
        total = int(check(self.total, where.variables, what))
        return part(total, max(len(where.rank), 1), np.arange(len(where.rank)), "first")

    def __str__(self) -> str:
        return f"even {self.total}"


@dataclass(frozen=True, eq=False)
class Spread:
    """No rule was found: the mean as a formula, and deciles of the numbers over it, from which numbers are drawn."""

    mean: Formula
    deciles: tuple[float, ...]
    whole: bool = True
    form: ClassVar[str] = "spread"
    label: ClassVar[str] = "guessed"

    def __call__(self, where: Where, what: str = "") -> NDArray[np.generic]:
        mean = check(self.mean, where.variables, what)
        one = where.rank if where.partner is None else where.partner
        draw = _hash(one, where.visit) * (len(self.deciles) - 1)
        values = mean * np.interp(draw, np.arange(len(self.deciles)), self.deciles)
        return np.rint(values).astype(np.int64) if self.whole else values

    def __str__(self) -> str:
        kind = "whole" if self.whole else "real"
        return f"spread {kind} {self.mean} times " + " ".join(f"{d:.4g}" for d in self.deciles)


@dataclass(frozen=True, eq=False)
class Table:
    """The numbers of the only recording there is, as they were; there are none for other numbers of ranks.

    Ranks with the same numbers are kept once: ``rows`` has the row of each rank, ``values`` the numbers by visit.
    """

    rows: Numbers
    values: tuple[tuple[int, ...], ...]
    label: str = "exact"
    form: ClassVar[str] = "table"

    def __call__(self, where: Where, what: str = "") -> NDArray[np.generic]:
        flat = np.array([v for row in self.values for v in row], np.int64)
        first = np.concatenate([[0], np.cumsum([len(row) for row in self.values])])
        row = self.rows[where.rank]
        out: Numbers = flat[first[row] + np.minimum(where.visit, first[row + 1] - first[row] - 1)]
        return out

    def __str__(self) -> str:
        rows = runs(self.rows.tolist())
        return f"table {rows} = " + " | ".join(runs(row) for row in self.values)


Rule = Same | Cases | Affine | Listed | Doubling | Block | Windows | Peer | Step | Turn | Even | Spread | Table
_ORDER = ("exact", "fitted", "guessed")


def worst(labels: object) -> str:
    """The least certain of some labels."""
    return max(labels, key=_ORDER.index, default="exact")  # type: ignore[call-overload,no-any-return]


def part(total: int, parts: int, index: Numbers, kind: str) -> Numbers:
    """How many of ``total`` the part ``index`` of ``parts`` has."""
    if kind == "floor":
        return total * (index + 1) // parts - total * index // parts
    if kind == "ceil":
        most = -(-total // parts)
        return np.clip(total - index * most, 0, most)
    return total // parts + (index < total % parts)


def _hash(one: Numbers, visit: Numbers) -> NDArray[np.float64]:
    """Numbers from 0 to 1 that look random, the same for the same arguments."""
    mixed = (one.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) ^ (
        visit.astype(np.uint64) * np.uint64(0xBF58476D1CE4E5B9)
    )
    mixed ^= mixed >> np.uint64(31)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(29)
    return (mixed >> np.uint64(11)).astype(np.float64) / float(1 << 53)


def runs(values: object) -> str:
    """Numbers as text, with ``AxN`` for N times A and ``A..B`` for whole numbers that rise by one.

    >>> runs([5, 5, 5, 1, 2, 3, 4, 9])
    '5x3 1..4 9'
    """
    given = np.asarray(values, np.int64)
    if not len(given):
        return ""
    step = np.diff(given)
    cuts = np.concatenate([[0], np.flatnonzero(np.diff(step) != 0) + 1, [len(step)]]) if len(step) else np.array([0, 0])
    out: list[str] = []
    at = 0
    for end in [*cuts[1:].tolist()]:
        if end < at:
            continue
        length = end - at + 1
        pace = int(step[at]) if length > 1 else 0
        if length >= 3 and pace in (0, 1):
            a, b = int(given[at]), int(given[end])
            out.append(f"{a}x{length}" if pace == 0 else f"{a}..{b}")
            at = end + 1
        elif length == 2 and pace == 0:
            out.append(f"{int(given[at])}x2")
            at = end + 1
        else:
            out += [str(v) for v in given[at:end].tolist()]
            at = end
    out += [str(v) for v in given[at:].tolist()]
    return " ".join(out)


def unruns(text: str) -> list[int]:
    """The numbers of :func:`runs`.

    >>> unruns("5x3 1..4 9")
    [5, 5, 5, 1, 2, 3, 4, 9]
    """
    out: list[int] = []
    for word in text.split():
        if ".." in word:
            a, b = word.split("..")
            out += range(int(a), int(b) + 1)
        elif "x" in word:
            a, b = word.split("x")
            out += [int(a)] * int(b)
        else:
            out.append(int(word))
    return out
