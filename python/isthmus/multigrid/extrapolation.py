"""The verb ``extrapolate``: counts of a hierarchy on more parts than it was cut into, from several that are smaller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from .. import laws
from ..errors import InvalidInput
from ..tabular import Tabular
from ..units import percent
from .hierarchy import EXTRAPOLATED, GridLevel, Hierarchy
from .outline import MOST, QUANTITIES, SUMS, consistent, made, outline

#: Relative error of points left out above which a law of a level is not used.
_TRUSTED = 0.2
#: Error below which all sizes are kept.
_GOOD = 0.02
#: Rows of a part below which a level with a bad law is described by its rows.
_FEW = 2
#: How far rows of a part, or of all, may differ under weak or strong scaling.
_EVEN = 1.3
_HEAD = ("level", "rows", "nnz/row", "parts", "A sends", "A bytes", "P sends", "P bytes", "by", "left out")
#: Terms of laws: numbers of a part grow at most as P does, and boundaries of grids in up to three dimensions vanish as
#: roots of it.
_TERMS = tuple(t for t in laws.terms_of("both") if abs(t.power) <= 1 and t.power.denominator <= 3)
#: Quantities whose errors are told.
_TOLD = ("rows", "nonzeros", "sends", "bytes_sent")

_Level = dict[str, dict[str, int]]
_Run = list[_Level]


@dataclass(frozen=True, slots=True)
class Estimate:
    """One number of a hierarchy that was not computed.

    Attributes
    ----------
    value, low, high : int
    by : str
        ``"exact"``, a law that all hierarchies follow; ``"fit"``, a law with an error; ``"rows"``, what levels with as
        many rows have in the largest hierarchies.
    law : str
        In terms of the number of parts P; empty where there is none.
    """

    value: int
    low: int
    high: int
    by: str
    law: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Relative errors of a size that was predicted from the others, of rows, nonzeros, sends and bytes_sent.

    Attributes
    ----------
    predicted, true : int
        Numbers of levels.
    sums : mapping from str to float
        Error of the sum over all levels and operators.
    levels : tuple of mapping from str to float
        Of each level, the largest error of its operators.
    """

    predicted: int
    true: int
    sums: Mapping[str, float]
    levels: tuple[Mapping[str, float], ...]


@dataclass(frozen=True, slots=True, repr=False)
class Extrapolation(Tabular):
    """Counts of a hierarchy on a number of parts; made by :func:`extrapolate`.

    Attributes
    ----------
    parts : int
    sizes : tuple of int
        Parts of the hierarchies that were given.
    scaling : {"weak", "strong"}
        Whether rows grow with the parts, or stay.
    levels : tuple of mapping
        Of every level, by operator (A, P, and R where it is not the transpose of P) and quantity, an Estimate.
    left_out : mapping from int to LeftOut
        Size to what came out when it was predicted from the others; empty where fewer than 4 sizes are given.
    """

    parts: int
    sizes: tuple[int, ...]
    scaling: str
    levels: tuple[Mapping[str, Mapping[str, Estimate]], ...]
    left_out: Mapping[int, LeftOut]

    @property
    def beyond(self) -> float:
        """How many times the parts are above the most, or below the fewest, that were given; 1 within the range."""
        return max(self.parts / self.sizes[-1], self.sizes[0] / self.parts, 1.0)

    @property
    def hierarchy(self) -> Hierarchy:
        """A hierarchy with these numbers, for :func:`cycle` and :func:`scenarios`; who sends to whom is made up."""
        levels = []
        for one in self.levels:
            made_of = {
                name: made({quantity: e.value for quantity, e in numbers.items()}, self.parts)
                for name, numbers in one.items()
            }
            levels.append(GridLevel(made_of["A"], made_of.get("P"), made_of.get("R")))
        return Hierarchy(tuple(levels), {EXTRAPOLATED: f"from {_words(self.sizes)} parts"})

    def frame(self) -> Sequence[dict[str, Any]]:
        """Return a row per level, operator and quantity: value, low, high, how it was found, and its law."""
        return [
            {"level": number, "operator": name, "quantity": quantity} | asdict(e)
            for number, level in enumerate(self.levels)
            for name, numbers in level.items()
            for quantity, e in numbers.items()
        ]

    def summary(self) -> dict[str, Any]:
        """Return everything as a dictionary for programs."""
        return {
            "noun": "extrapolation",
            "parts": self.parts,
            "sizes": list(self.sizes),
            "scaling": self.scaling,
            "beyond": self.beyond,
            "levels": len(self.levels),
            "left_out": {str(size): asdict(one) for size, one in self.left_out.items()},
            "counts": list(self.frame()),
        }

    def __repr__(self) -> str:
        return f"<Extrapolation: {len(self.levels)} levels on {self.parts} parts, from {_words(self.sizes)}>"

    def __str__(self) -> str:
        last = self.left_out[self.sizes[-1]].levels if self.left_out else ()
        rows = []
        for number, level in enumerate(self.levels):
            a = level["A"]
            cells = [str(number), str(a["rows"].value), f"{a['nonzeros'].value / max(a['rows'].value, 1):.1f}"]
            cells.append(str(a["active"].value))
            for name in "AP":
                for quantity in ("sends", "bytes_sent"):
                    cells.append(_span(level[name][quantity]) if name in level else "-")
            how = {e.by for numbers in level.values() for e in numbers.values()}
            cells.append("rows" if "rows" in how else "fit" if "fit" in how else "exact")
            cells.append(percent(max(last[number].values())) if number < len(last) else "-")
            rows.append(cells)
        table = [list(_HEAD), *rows]
        widths = [max(len(row[i]) for row in table) for i in range(len(_HEAD))]
        lines = [
            f"Hierarchy of {len(self.levels)} levels on {self.parts} parts, extrapolated from {_words(self.sizes)} "
            f"({self.scaling} scaling; {self._range()}); the most that one part sends:"
        ]
        lines += ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in table]
        return "\n".join([*lines, "", *self._errors()])

    def _range(self) -> str:
        if self.beyond == 1:
            return "within their range"
        where = "above the largest" if self.parts > self.sizes[-1] else "below the smallest"
        return f"beyond their range, {self.beyond:.3g} times {where}"

    def _errors(self) -> list[str]:
        if not self.left_out:
            return ["No size was left out: that takes at least 4 sizes."]
        lines = ["Errors when a size is left out and predicted from the others, of sums over all levels:"]
        table = [["parts", "levels", *(name.replace("_", " ") for name in _TOLD), "worst level"]]
        for size, one in self.left_out.items():
            levels = str(one.true) if one.predicted == one.true else f"{one.predicted} for {one.true}"
            worst = max(max(level.values()) for level in one.levels)
            table.append([str(size), levels, *(percent(one.sums[name]) for name in _TOLD), percent(worst)])
        widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
        return lines + ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in table]


def _words(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes[:-1])) + f" and {sizes[-1]}"


def _span(e: Estimate) -> str:
    return str(e.value) if e.low == e.high else f"{e.value} ({e.low}-{e.high})"


def extrapolate(hierarchies: Sequence[Hierarchy], parts: int) -> Extrapolation:
    """Predict what a hierarchy holds and exchanges on a number of parts for which it was not computed.

    The hierarchies are those of one solver and one family of problems, on different numbers of parts P, with as many
    rows of a part in each (weak scaling) or as many rows in all (strong scaling). On every level, each number has a law
    in P (:func:`isthmus.laws.fit`): sums over all parts if they follow an exact one, otherwise shares of a part. Where
    a level is in fewer than 3 hierarchies, or the law's error of points left out is above 20 %, levels with as many
    rows in the two largest hierarchies say what is to be expected: matrices near the coarsest one look alike, however
    many levels are above. Levels end where rows come down to the most on which one of the hierarchies ended.

    Parameters
    ----------
    hierarchies : sequence of Hierarchy
        At least 3, on different numbers of parts; from 4 on, each is left out once and predicted from the others.
    parts : int

    Returns
    -------
    Extrapolation
        Its ``hierarchy`` goes into :func:`cycle`.

    Raises
    ------
    InvalidInput
        If there are too few, they do not belong together, or a law gives less than 0.
    """
    if parts < 2:
        raise InvalidInput(f"{parts} parts: must be at least 2")
    runs: dict[int, _Run] = {}
    for one in hierarchies:
        if EXTRAPOLATED in one.facts:
            raise InvalidInput(f"the hierarchy on {one.parts} parts is extrapolated itself: give only computed ones")
        if one.parts in runs:
            raise InvalidInput(f"two hierarchies on {one.parts} parts: each number of parts must be given once")
        runs[one.parts] = [
            {
                name: outline(operator)
                for name, operator in (("A", lv.matrix), ("P", lv.interpolation), ("R", lv.own_restriction))
                if operator is not None
            }
            for lv in one.levels
        ]
    if len(runs) < laws.FEWEST:
        raise InvalidInput(
            f"{len(runs)} hierarch{'y' if len(runs) == 1 else 'ies'}: a law needs at least {laws.FEWEST}, on different "
            "numbers of parts"
        )
    if len({str(one.facts.get("solver", "")) for one in hierarchies}) > 1:
        raise InvalidInput("the hierarchies are of different solvers or options: their numbers have no common law")
    if len({"R" in run[0] for run in runs.values()}) > 1:
        raise InvalidInput("some of the hierarchies have a restriction of their own and some have not")
    runs = dict(sorted(runs.items()))
    scaling = _scaling(runs)
    left_out = {}
    if len(runs) > laws.FEWEST:
        for size, run in runs.items():
            if size == min(runs):
                continue
            told = _predicted({s: r for s, r in runs.items() if s != size}, size, scaling)
            left_out[size] = _compared(told, run)
    return Extrapolation(parts, tuple(runs), scaling, tuple(_predicted(runs, parts, scaling)), left_out)


def _scaling(runs: Mapping[int, _Run]) -> str:
    """Weak or strong, by the rows of the finest level."""
    rows = {size: run[0]["A"]["rows"] for size, run in runs.items()}
    for name, each in (("strong", list(rows.values())), ("weak", [n / size for size, n in rows.items()])):
        if max(each) <= _EVEN * min(each):
            return name
    listed = ", ".join(f"{n} on {size}" for size, n in rows.items())
    raise InvalidInput(f"rows of the finest level, {listed} parts: neither as many in all nor as many of a part")


_Estimates = dict[str, dict[str, Estimate]]


def _predicted(runs: Mapping[int, _Run], parts: int, scaling: str) -> list[_Estimates]:
    """All levels on so many parts."""
    lengths = {len(run) for run in runs.values()}
    end = max(run[-1]["A"]["rows"] for run in runs.values())
    most = max(lengths) + int(np.ceil(np.log2(max(parts / min(runs), 2)))) + 1
    weak = scaling == "weak"
    like = _Alike(list(runs.values())[-2:])
    out: list[_Estimates] = []
    while len(out) < (min(lengths) if len(lengths) == 1 else most):
        number = len(out)
        have = {size: run[number] for size, run in runs.items() if number < len(run)}
        few = weak and number > 0 and all(level["A"]["rows"] < _FEW * size for size, level in have.items())
        rows = _by_law(have, "A", "rows", parts, number, weak, few)
        if rows is None:
            rows = like.next_rows(out[-1]["A"]["rows"].value)
        last = number + 1 == min(lengths) if len(lengths) == 1 else rows.value <= end
        level: _Estimates = {}
        for name in ("A", "P", "R"):
            if name not in runs[max(runs)][0] or (last and name != "A"):
                continue
            level[name] = {
                quantity: rows
                if quantity == "rows"
                else _by_law(have, name, quantity, parts, number, weak, few) or like.number(name, quantity, rows.value)
                for quantity in QUANTITIES
            }
            settled = consistent({quantity: e.value for quantity, e in level[name].items()}, parts)
            level[name] = {q: _moved(e, settled[q]) for q, e in level[name].items()}
        out.append(level)
        if last:
            break
    return out


def _moved(e: Estimate, value: int) -> Estimate:
    """An estimate that had to be changed, because others contradict it."""
    if value == e.value:
        return e
    return Estimate(value, min(e.low, value), max(e.high, value), "fit" if e.by == "exact" else e.by, e.law)


def _law(values: Mapping[int, float], title: str, parts: int, weak: bool) -> laws.Law:
    """The law of the sizes, without the smallest ones if that halves the error: there, boundaries are everywhere."""
    kept = sorted(values)
    # What a part has of a problem that stays falls towards nothing, and not below.
    terms = [t for t in _TERMS if t.power < 0] if not weak and values[kept[-1]] < values[kept[0]] else _TERMS
    best = laws.fit(values, name=title, exponents=terms, terms=1)
    while best.error > _GOOD and len(kept) > laws.FEWEST and kept[1] <= parts:
        kept = kept[1:]
        law = laws.fit({size: values[size] for size in kept}, name=title, exponents=terms, terms=1)
        if law.error <= best.error / 2:
            best = law
    return best


def _by_law(
    have: Mapping[int, _Level], name: str, quantity: str, parts: int, level: int, weak: bool, few: bool
) -> Estimate | None:
    """A number by its law; None where there is none, or on a level with few rows none that can be trusted."""
    values = {size: one[name][quantity] for size, one in have.items() if name in one}
    if len(values) < laws.FEWEST:
        return None
    title = f"level {level}, {quantity.replace('_', ' ')} of {name}"
    law, scale = _law(values, title, parts, weak), 1
    if not law.exact and quantity in SUMS:
        law, scale = _law({s: v / s for s, v in values.items()}, title, parts, weak), parts
    if law.error > _TRUSTED and few:
        return None
    try:
        told = law.predict(parts)
    except InvalidInput:
        if level == 0 or not weak:
            raise
        return None
    exact = law.exact and told.exact
    written = f"({law}) P" if scale > 1 else str(law)
    return Estimate(
        round(told.value * scale), int(told.low * scale), int(np.ceil(told.high * scale)), "exact" if exact else "fit",
        written,
    )  # fmt: skip


class _Alike:
    """Levels of some hierarchies by their rows."""

    def __init__(self, runs: Sequence[_Run]) -> None:
        self.runs = runs

    def _between(self, pairs: Sequence[tuple[int, float]], rows: int) -> tuple[float, float, float]:
        """What lies between the nearest levels, on logarithmic scales, and the range of those that are near."""
        known = sorted(pairs)
        at = np.log([max(r, 1) for r, _ in known])
        value = float(np.expm1(np.interp(np.log(max(rows, 1)), at, np.log1p([v for _, v in known]))))
        near = [v for r, v in known if rows / 2 <= r <= 2 * rows]
        return value, min([value, *near]), max([value, *near])

    def next_rows(self, rows: int) -> Estimate:
        """Rows of the level below one with so many."""
        ratios = [
            (above["A"]["rows"], below["A"]["rows"] / above["A"]["rows"])
            for run in self.runs
            for above, below in pairwise(run)
        ]
        ratio, low, high = self._between(ratios, rows)
        return Estimate(max(round(rows * ratio), 1), int(rows * low), int(np.ceil(rows * high)), "rows", "")

    def number(self, name: str, quantity: str, rows: int) -> Estimate:
        """What levels with so many rows have; sums for each row."""
        each = quantity not in MOST
        pairs = [
            (level["A"]["rows"], level[name][quantity] / (level["A"]["rows"] if each else 1))
            for run in self.runs
            for level in run[1:]
            if name in level
        ]
        if not pairs:
            return Estimate(0, 0, 0, "rows", "")
        scale = rows if each else 1
        value, low, high = (x * scale for x in self._between(pairs, rows))
        return Estimate(round(value), int(low), int(np.ceil(high)), "rows", "")


def _compared(told: Sequence[_Estimates], run: _Run) -> LeftOut:
    """Relative errors of what was predicted."""

    def error(expected: int, true: int) -> float:
        return abs(expected - true) / max(true, 1)

    levels = tuple(
        {
            quantity: max(error(e[name][quantity].value, true[name][quantity]) for name in e if name in true)
            for quantity in _TOLD
        }
        for e, true in zip(told, run, strict=False)
    )
    sums = {
        quantity: error(
            sum(numbers[quantity].value for level in told for numbers in level.values()),
            sum(numbers[quantity] for level in run for numbers in level.values()),
        )
        for quantity in _TOLD
    }
    return LeftOut(len(told), len(run), sums, levels)
