"""Which rule numbers follow in all runs at once: simple ones first, and none that any run contradicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from math import gcd

import numpy as np

from . import boxes, volumes
from .charts import Grid
from .formulas import Formula, Product, constant, formula
from .rules import (
    ITERATED,
    Affine,
    Block,
    Cases,
    Doubling,
    Even,
    Feature,
    Listed,
    Peer,
    Rule,
    Same,
    Spread,
    Step,
    Table,
    Turn,
    part,
)  # fmt: skip
from .vocabulary import Item, Pairs, items_of
from .where import Data, Numbers

#: Labels of a feature, at most.
_LABELS = 80
#: Numbers of a list, at most.
_LIST = 4000


@dataclass(frozen=True)
class Hints:
    """What a statement is known to do.

    Attributes
    ----------
    item : Item or None
        Its peer.
    grids : tuple of Grid
        Grids that calls of the program use, the most frequent first.
    alone : bool
        There is one run only: numbers without a rule are kept as they are.
    name : str
        For messages.
    flag : bool
        Numbers are choices: nothing between them makes sense.
    totals : list of int
        Points along sides of boxes that explained numbers of the program, see :mod:`.boxes`.
    """

    item: Item | None = None
    grids: tuple[Grid, ...] = ()
    alone: bool = False
    name: str = "value"
    flag: bool = False
    totals: list[int] = field(default_factory=list, compare=False)

    @property
    def prefer(self) -> tuple[Product, ...]:
        """Products of the sides of a grid across a step: a face is cut by the others."""
        if self.item is None or not isinstance(self.item.chart, Grid):
            return ()
        chart, step = self.item.chart, self.item.symbol
        count = len(step)
        if count < 2:
            return ()
        names = tuple(f"{'xyzw'[chart.order[i]]}{count}" for i in range(count) if not step[i])
        powers = Product(tuple((name, Fraction(-1)) for name in names))
        return (powers,) if names else ()


def discover(data: Sequence[Data], hints: Hints) -> Rule:
    """The simplest rule that gives all numbers of all runs; where there is none, their spread."""
    data = [one for one in data if len(one.values)]
    if not data:
        return Same(constant(0))
    fallback: Rule | None = None
    for attempt in (_same,) if hints.flag else (_same, _blocks, _affine, _around, _listed, _doubling):
        rule = attempt(data, hints)
        if rule is not None and rule.label == "exact":
            return rule
        fallback = fallback or rule
    windows = None if hints.flag or hints.alone else _windows(data, hints)
    if windows is not None and windows.label == "exact":
        return windows
    cases = _cases(data, hints)
    fallback = fallback if windows is None else windows
    if cases is not None and (cases.label == "exact" or fallback is None):
        return cases
    if fallback is not None:
        return fallback
    if hints.alone:
        return _table(data[0])
    if hints.flag or any((one.values < 0).any() for one in data):
        # Codes such as ANY have no mean.
        numbers, counts = np.unique(data[-1].values, return_counts=True)
        return Same(constant(int(numbers[np.argmax(counts)]), "guessed"))
    return spread(data, hints)


def discover_peer(data: Sequence[Data], hints: Hints) -> Rule:
    """The rule of numbers that are ranks of the world, ANY or NULL."""
    data = [one for one in data if len(one.values)]
    if not data or all((one.values < 0).all() for one in data):
        return discover(data, hints)
    if all((one.values >= 0).all() for one in data):
        found = items_of([Pairs(one.where.ranks, one.where.rank, one.values) for one in data])
        for item in found:
            rule = Peer(item)
            if all((rule(one.where) == one.values).all() for one in data):
                return rule
        charts: tuple[tuple[str, Callable[[Numbers, Numbers, int], Numbers]], ...] = (
            ("rank", lambda rank, peer, ranks: peer),
            ("ring", lambda rank, peer, ranks: (peer - rank) % ranks),
            ("xor", lambda rank, peer, ranks: peer ^ rank),
        )
        for chart, symbols in charts:
            steps = [Data(one.where, symbols(one.where.rank, one.values, one.where.ranks)) for one in data]
            for attempt in (_same, _affine, _around, _doubling, _listed):
                rule_ = attempt(steps, hints)
                if rule_ is not None and rule_.label == "exact":
                    return Step(chart, rule_)
    plain = discover(data, hints)
    if not isinstance(plain, (Spread, Same)) or plain.label != "guessed":
        return plain
    # Whom a rank served next was decided while the program ran: all others in turn stand for that.
    return Turn()


def _formula(data: Sequence[Data], values: Sequence[float], hints: Hints) -> Formula:
    return formula([one.where.variables for one in data], values, prefer=hints.prefer, name=hints.name)


def _same(data: Sequence[Data], hints: Hints) -> Rule | None:
    singles = [one.single for one in data]
    if any(value is None for value in singles):
        return None
    if hints.alone:
        return Same(constant(singles[0] or 0))
    if hints.flag and len(set(singles)) > 1:
        return None
    return Same(_formula(data, [value or 0 for value in singles], hints))


def _affine(data: Sequence[Data], hints: Hints) -> Rule | None:
    """By the rank, the visit and the iteration, with as few of them as do."""
    if any(np.abs(one.values).max() > 1 << 50 for one in data):
        return None
    columns = [(one.where.rank, one.where.visit, one.where.inner) for one in data]
    used = {i for some in columns for i, column in enumerate(some) if (column != column[0]).any()}
    best: Rule | None = None
    for count in range(1, len(used) + 1):
        # In loops whose iterations differ by rank, the visit follows from the rank and the iteration.
        for chosen in combinations(sorted(used, reverse=True), count):
            rows = [_plane(one.values, some, chosen) for one, some in zip(data, columns, strict=True)]
            found = [row for row in rows if row is not None]
            if len(found) < len(rows):
                continue
            rule = Affine(*(_formula(data, column, hints) for column in zip(*found, strict=True)))
            if rule.label == "exact":
                return rule
            best = best or rule
    return best


def _plane(values: Numbers, columns: Sequence[Numbers], chosen: Sequence[int]) -> list[int] | None:
    """Whole numbers: the constant, and what goes with the rank, the visit and the iteration."""
    row = [0, 0, 0, 0]
    free = [i for i in chosen if (columns[i] != columns[i][0]).any()]
    table = np.stack([np.ones(len(values)), *(columns[i] for i in free)], axis=1)
    if len(table) <= table.shape[1]:
        return None
    solved = np.rint(np.linalg.lstsq(table, values.astype(np.float64), rcond=None)[0]).astype(np.int64)
    if (table.astype(np.int64) @ solved != values).any():
        return None
    row[0] = int(solved[0])
    for i, value in zip(free, solved[1:].tolist(), strict=True):
        row[i + 1] = value
    return row


def _around(data: Sequence[Data], hints: Hints) -> Rule | None:
    """Affine modulo the number of ranks."""
    if any((one.values < 0).any() or (one.values >= one.where.ranks).any() for one in data):
        return None
    if max(int(one.values.max()) for one in data) < 2:
        return None
    for less in (0, 1):
        if less and any((one.values >= one.where.ranks - less).any() for one in data):
            continue
        for r in (1, -1, 0):
            for v, i in ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0)):
                bases = []
                for one in data:
                    where = one.where
                    modulus = max(where.ranks - less, 1)
                    base = (one.values - r * where.rank - v * where.visit - i * where.inner) % modulus
                    if (base != base[0]).any():
                        break
                    bases.append(int(base[0]) - modulus if 2 * int(base[0]) > modulus else int(base[0]))
                if len(bases) == len(data):
                    terms = [(Fraction(1), Product((("P", Fraction(1)),)))]
                    terms += [(Fraction(-less), Product())] if less else []
                    fixed = [constant(number) for number in (r, v, i)]
                    return Affine(_formula(data, bases, hints), fixed[0], fixed[1], fixed[2], Formula(tuple(terms)))
    return None


def _listed(data: Sequence[Data], hints: Hints) -> Rule | None:
    best: Listed | None = None
    for by in ("inner", "visit"):
        lists: list[tuple[int, ...]] = []
        for one in data:
            index = getattr(one.where, by)
            size = int(index.max()) + 1
            if size > _LIST or size < 2:
                break
            values = np.zeros(size, np.int64)
            values[index] = one.values
            if (values[index] != one.values).any() or len(np.unique(index)) < size:
                break
            lists.append(tuple(values.tolist()))
        if len(lists) < len(data) or (len(data) > 1 and len(set(lists)) > 1):
            continue
        if best is None or len(lists[0]) < len(best.values):
            best = Listed(lists[0], by)
    return best


def _doubling(data: Sequence[Data], hints: Hints) -> Rule | None:
    for by in ("inner", "visit"):
        bases = []
        for one in data:
            index = getattr(one.where, by)
            if index.max() > 40 or index.max() < 1:
                break
            base = one.values >> index
            if (base != base[0]).any() or ((base << index) != one.values).any():
                break
            bases.append(int(base[0]))
        if len(bases) == len(data):
            return Doubling(_formula(data, bases, hints), by)
    return _halving(data, hints)


def _halving(data: Sequence[Data], hints: Hints) -> Rule | None:
    """As recursive halving does: what is there first, then half of it each time."""
    for by in ("inner", "visit"):
        bases = []
        for one in data:
            index = one.where.count(by)
            first = one.values[index == 0]
            if not len(first) or (first != first[0]).any() or not 1 <= index.max() <= 40 or first[0] <= 0:
                break
            if (first[0] >> index != one.values).any():
                break
            bases.append(int(first[0]))
        if len(bases) == len(data):
            return Doubling(_formula(data, bases, hints), by, True)
    return None


def _profile(one: Data, grid: Grid, axes: tuple[int, ...]) -> Numbers | None:
    """Numbers by place along some sides, if nothing else matters and all places are there."""
    sides = grid.sides(one.where.ranks)
    place = grid.place(one.where.rank, one.where.ranks)
    shape = tuple(sides[axis] for axis in axes)
    key = np.ravel_multi_index(tuple(place[axis] for axis in axes), shape)
    values = np.full(int(np.prod(shape)), -1, np.int64)
    values[key] = one.values
    if (values[key] != one.values).any() or (values < 0).any():
        return None
    return values.reshape(shape)


def _blocks(data: Sequence[Data], hints: Hints) -> Rule | None:
    if all(one.single is not None for one in data):
        return None
    grids = list(dict.fromkeys([*hints.grids, Grid((0,)), Grid((0, 1)), Grid((0, 1, 2))]))
    for grid in grids:
        for count in (1, 2, 3):
            for axes in combinations(range(len(grid.order)), count):
                rule = _block(data, grid, axes, hints)
                if rule is not None:
                    return rule
    return _turning(data, hints)


def _block(data: Sequence[Data], grid: Grid, axes: tuple[int, ...], hints: Hints) -> Rule | None:
    profiles = []
    for one in data:
        profile = _profile(one, grid, axes)
        if profile is None or (profile <= 0).any():
            return None
        profiles.append(profile)
    totals: list[Formula] = []
    for k in range(len(axes)):
        known = []
        for one, profile in zip(data, profiles, strict=True):
            line = np.moveaxis(profile, k, 0).reshape(profile.shape[k], -1)[:, 0]
            if (line != line[0]).any():
                known.append((one, int(line.sum()) // gcd(*line.tolist())))
        if not known:
            return None
        # Runs in which all parts are equal do not tell the total, but agree with it.
        total = _formula([one for one, _ in known], [n for _, n in known], hints)
        totals.append(Formula(total.terms, "exact" if len(data) > 1 else "guessed") if total.constant else total)
    for kind in ("floor", "first", "ceil"):
        rule = Block(1, grid, axes, tuple(totals), kind)
        whole = [rule(one.where).astype(np.int64) for one in data]
        if any((w <= 0).any() for w in whole):
            continue
        unit, rest = divmod(int(data[-1].values[0]), int(whole[-1][0]))
        if not rest and unit and all((unit * w == one.values).all() for w, one in zip(whole, data, strict=True)):
            return Block(unit, grid, axes, tuple(totals), kind)
    return None


def _windows(data: Sequence[Data], hints: Hints) -> Rule | None:
    """Contents of boxes of a lattice; nothing where all runs have the same."""
    if len({one.single for one in data}) == 1 and data[0].single is not None:
        return None
    grids = list(dict.fromkeys([*hints.grids[:2], Grid((0, 1, 2)), Grid((0, 1))]))
    chart = hints.item.chart if hints.item is not None else None
    step = (chart, hints.item.symbol) if hints.item is not None and isinstance(chart, Grid) else None
    return boxes.find(data, grids, hints.totals, step)


def _turning(data: Sequence[Data], hints: Hints) -> Rule | None:
    """Blocks that travel around all ranks: the index turns with the visit."""
    ring = Grid((0,))
    totals = []
    for one in data:
        first = one.part(one.where.visit == 0)
        profile = _profile(first, ring, (0,)) if len(first.values) else None
        if profile is None or (profile <= 0).any():
            return None
        totals.append((int(profile.sum()), gcd(*profile.tolist()), bool((profile != profile[0]).any())))
    if not any(uneven for _, _, uneven in totals):
        return None
    unit = next(g for _, g, uneven in totals if uneven)
    total = _formula(data, [t // unit for t, _, _ in totals], hints)
    one_less = Formula(((Fraction(1), Product((("P", Fraction(1)),))), (Fraction(-1), Product())))
    for kind in ("floor", "first", "ceil"):
        for period in (None, one_less):
            for turn in (-1, 1, 0):
                for start in (0, -1, 1):
                    rule = Block(unit, ring, (0,), (total,), kind, turn, start, period)
                    if all((rule(one.where) == one.values).all() for one in data):
                        return rule
    return None


def _features(hints: Hints, data: Sequence[Data]) -> Iterator[Feature]:
    if hints.item is not None:
        yield Feature("out", str(hints.item))
        if isinstance(hints.item.chart, Grid):
            yield Feature("two", str(hints.item))
    yield Feature("first")
    yield Feature("last")
    yield Feature("ends")
    for grid in hints.grids[:3]:
        for name in ("far", "sum", "edge", "odd"):
            yield Feature(name, grid.name)
    yield Feature("is", "1")
    yield Feature("mod", "2")
    yield Feature("mod", "4")
    yield Feature("bits")
    if any((one.where.inner > 0).any() for one in data):
        yield Feature("place", "1")
        for grid in dict.fromkeys([Grid((0,)), *hints.grids[:2], Grid((0, 1))]):
            sides = [str(axis) for axis in range(len(grid.order))]
            for axes in [*sides, "".join(sides[:2])] if len(sides) > 1 else sides:
                for name in ITERATED:
                    yield Feature(name, f"{grid.name} {axes}")


def _cases(data: Sequence[Data], hints: Hints) -> Rule | None:
    best: Rule | None = None
    attempts: tuple[Callable[[Sequence[Data], Hints], Rule | None], ...] = (_same,)
    if not hints.flag:
        attempts = (_same, _blocks, _affine, _listed, _doubling)
    for feature in _features(hints, data):
        labelled = [(one, feature.labels(one.where)) for one in data]
        labels = np.unique(np.concatenate([found for _, found in labelled])).tolist()
        if not 2 <= len(labels) <= _LABELS:
            continue
        rules: dict[int, Rule] = {}
        for label in labels:
            parts = [one.part(found == label) for one, found in labelled if (found == label).any()]
            # A label that one run has only, as the number of ranks itself may be one, proves nothing but a constant.
            used = attempts if len(parts) > 1 or len(data) == 1 else attempts[:1]
            rule = next((found for attempt in used if (found := attempt(parts, hints)) is not None), None)
            if rule is None:
                break
            rules[label] = rule
        if len(rules) < len(labels):
            continue
        made = Cases(feature, rules)
        if made.label == "exact":
            return made
        best = best or made
    return best


def discover_times(data: Sequence[Data], hints: Hints) -> Rule:
    """How often loops are run: where there is no rule, all runs together, dealt out evenly."""
    rule = discover(data, hints)
    if not isinstance(rule, Spread):
        return rule
    data = [one for one in data if len(one.values)]
    total = _formula(data, [int(one.values.sum()) for one in data], hints)
    return rule if total.label != "exact" else Even(total)


def spread(data: Sequence[Data], hints: Hints, whole: bool = True) -> Spread:
    """The mean of numbers as a formula, and their deciles over the mean, of the largest run."""
    means = [float(one.values.mean()) for one in data]
    runs = [one.where.variables for one in data]
    mean = None if hints.alone or not whole else _volume(runs, means, hints)
    if mean is None:
        mean = formula(runs, means, name=hints.name, measured=True) if not hints.alone else constant(means[0])
    last = data[-1].values
    scale = max(float(last.mean()), 1e-300)
    deciles = np.quantile(last, np.linspace(0, 1, 11)) / scale
    # Drawn from between deciles, numbers have the mean of the trapezoids: it is made 1.
    drawn = float((deciles[1:] + deciles[:-1]).mean() / 2)
    return Spread(mean, tuple((deciles / max(drawn, 1e-300)).tolist()), whole)


def _volume(runs: Sequence[Mapping[str, int]], means: Sequence[float], hints: Hints) -> Formula | None:
    """The mean as the content of a box, on the grid of the peer or that of the program."""
    item = hints.item
    if item is not None and isinstance(item.chart, Grid) and len(item.chart.order) > 1:
        return volumes.mean(runs, means, Grid(item.chart.order), item.symbol)
    return volumes.mean(runs, means, hints.grids[0]) if hints.grids else None


def _table(one: Data) -> Table:
    """Numbers as they are, one row for ranks with the same."""
    order = np.lexsort((one.where.visit, one.where.rank))
    rank, values = one.where.rank[order], one.values[order]
    rows = np.full(one.where.ranks, -1, np.int64)
    known: dict[tuple[int, ...], int] = {}
    for start, end in zip(*_parts(rank), strict=True):
        rows[rank[start]] = known.setdefault(tuple(values[start:end].tolist()), len(known))
    return Table(rows, tuple(known))


def _parts(rank: Numbers) -> tuple[list[int], list[int]]:
    edges = np.flatnonzero(np.diff(rank)) + 1
    return [0, *edges.tolist()], [*edges.tolist(), len(rank)]


__all__ = ["Hints", "Mapping", "discover", "discover_peer", "discover_times", "part", "spread"]
