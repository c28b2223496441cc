"""Which windows of a lattice numbers are the contents of, in all runs at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, combinations, product
from math import gcd, lcm, log2, prod
from typing import TYPE_CHECKING

import numpy as np

from .charts import Grid
from .formulas import constant
from .windows import End, Window, Windows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .where import Data, Numbers

    Reals = NDArray[np.float64]

#: Layers on both sides together, at most.
_LAYERS = 64
#: Sides that are tried where all parts are equal, in least common multiples of the sides of grids.
_TOTALS = 24
#: Denominators of the part of the points that are there, at most.
_PARTS = 8
#: Ways to cut one side that are tried with those to cut the others.
_WAYS = 6
#: Distances behind a cut that are tried: where there are more, the sides are long, only those at the cut itself.
_DISTANCES = 64
#: Cuts at which windows begin and end, counted from a part.
_PARTS_OF = ((0, 1), (0, 0), (1, 1), (-1, 0), (1, 2), (-1, -1), (2, 2))
#: Relative error of a rule that rounds, at most.
_ERROR = 0.01
#: Bits that numbers must tell so that a rule that rounds is no chance: thousands of windows are tried.
_BITS = 14
#: Bits that they must tell beyond those of the choice of a rule that does not round.
_MARGIN = 1


@dataclass(eq=False)
class _Run:
    """Numbers of a run, in units that divide all of them, on a grid with a side for each axis."""

    data: Data
    sides: tuple[int, ...]
    count: Numbers
    unit: int
    all: int

    def line(self, axis: int) -> tuple[Numbers, bool]:
        """Points along a side but for a factor, and whether they differ; rounding of points is no difference."""
        lines = np.moveaxis(self.count, axis, 0).reshape(self.sides[axis], -1)
        sums = lines.sum(1)
        if sums.max() - sums.min() <= lines.shape[1]:
            return np.ones(self.sides[axis], np.int64), False
        # Windows of one length have n or n + 1 points.
        points = max(round(float(sums.min() / (sums.max() - sums.min()))), 1)
        return np.asarray(np.rint(sums * points / sums.min()), np.int64), True


@dataclass(eq=False)
class _Way:
    """A window, and the points in it along its side of each run: looked at thousands of times, found once."""

    window: Window
    lines: list[Numbers]

    def with_layers(self, more: int) -> _Way:
        """The same with layers, of which it has none."""
        one = self.window
        return _Way(Window(one.axis, one.total, one.begin, one.end, more), [line + more for line in self.lines])


def find(
    data: Sequence[Data], grids: Sequence[Grid], known: list[int], step: tuple[Grid, Sequence[int]] | None = None
) -> Windows | None:
    """The rule, None if there is none.

    Parameters
    ----------
    data : sequence of Data
    grids : sequence of Grid
        Those that the program may use.
    known : list of int
        Points along a side that explained other numbers of the program; more are added where the runs tell them.
    step : tuple of (Grid, sequence of int), optional
        The grid of the peer and the step to it: windows along it are taken where nothing else explains the runs.
    """
    if len({one.where.ranks for one in data}) < 3 or any(one.values.min() <= 0 for one in data):
        return None
    order = step[0].order if step else ()
    across = [axis for axis, one in enumerate(step[1]) if one] if step else []
    best: Windows | None = None
    for grid in grids:
        runs = _runs(data, grid)
        if runs is None:
            continue
        found = _on(runs, grid, known, across if grid.order == order else ())
        if found is not None and found.label == "exact":
            return found
        best = best or found
    return best


def tells(found: Windows) -> bool:
    """Whether no other number of points along sides would do as well: parts differ, or there are layers beside them."""
    return any(
        one.begin.low > 0 or one.begin.high < 1 or (one.more and one.begin.part != one.end.part)
        for one in found.windows
    )


def _runs(data: Sequence[Data], grid: Grid) -> list[_Run] | None:
    runs = []
    unit = gcd(*(int(value) for one in data for value in np.unique(one.values)))
    for one in data:
        sides = grid.sides(one.where.ranks)
        values = np.full(one.where.ranks, -1, np.int64)
        values[one.where.rank] = one.values // unit
        if (values[one.where.rank] * unit != one.values).any() or (values < 0).any():
            return None
        runs.append(_Run(one, sides, values.reshape(sides), unit, int(values.sum())))
    return runs


def _on(runs: Sequence[_Run], grid: Grid, known: list[int], across: Sequence[int]) -> Windows | None:
    lines = [[run.line(axis) for run in runs] for axis in range(len(grid.order))]
    if any(line.max() - line.min() > 1 for axis in lines for line, _ in axis):
        return None
    even = not any(uneven for axis in lines for _, uneven in axis)
    best: Windows | None = None
    for total in _totals(runs, lines, known, even):
        found = _with(runs, grid, lines, total, across, known)
        if found is None:
            continue
        if best is not None and found.label != "exact" and (_whole(runs, best) or not _whole(runs, found)):
            continue
        best = found
        if found.label == "exact":
            if total not in known and tells(found):
                known.append(total)
            return found
    return best


def _totals(
    runs: Sequence[_Run], lines: Sequence[Sequence[tuple[Numbers, bool]]], known: Sequence[int], even: bool
) -> Iterator[int]:
    """Points along a side that may be: as other numbers had, sums of uneven parts, multiples of sides."""
    seen = set(known)
    yield from known
    for axis in lines:
        for line, uneven in axis:
            total = int(line.sum())
            if uneven and total not in seen:
                seen.add(total)
                yield total
    if even:
        step = lcm(*(side for run in runs for side in run.sides))
        yield from (step * i for i in range(1, _TOTALS + 1) if step * i not in seen)


def _with(
    runs: Sequence[_Run], grid: Grid, lines: Sequence[Sequence[tuple[Numbers, bool]]], total: int,
    across: Sequence[int], known: Sequence[int],
) -> Windows | None:  # fmt: skip
    """The simplest windows with so many points along each side."""
    if any(side > total for run in runs for side in run.sides):
        return None
    ways = [_ways(runs, axis, lines[axis], total) for axis in range(len(grid.order))]
    if not all(ways):
        return None
    # What is counted in a box is the product of the mean points of windows, but for the part that is there.
    counts = np.array([float(run.count.mean()) for run in runs])
    best: tuple[tuple[float, ...], Windows] | None = None
    new = total not in known
    for chosen in product(*ways):
        windows = [one for one in chosen if one is not None]
        means = [np.array([line.mean() for line in one.lines]) for one in windows]
        free = [i for i, one in enumerate(windows) if _open(one.window)]
        for layered in chain.from_iterable(combinations(free, count) for count in range(len(free) + 1)):
            for more in _layers(counts, means, layered) if windows else ():
                tried = [one.with_layers(more) if i in layered else one for i, one in enumerate(windows)]
                found = _fits(runs, grid, total, tried, across, new)
                if found is not None and (best is None or found[0] < best[0]):
                    best = found
    return best[1] if best else None


def _open(one: Window) -> bool:
    """Whether recordings leave open how many layers there are."""
    return one.begin.part != one.end.part and one.more == 0


def _layers(counts: Reals, means: Sequence[Reals], layered: Sequence[int]) -> list[int]:
    """How many layers some of the windows may have so that the same part of their points is there in all runs."""
    more = np.arange(1, _LAYERS + 1) if layered else np.zeros(1, np.int64)
    box = np.ones((len(more), len(counts)))
    for i, mean in enumerate(means):
        box *= mean + (more[:, None] if i in layered else 0)
    part = counts / box
    near = part.max(1) <= part.min(1) * (1 + 1.2 / counts.min() + 1e-9)
    return [int(number) for number in more[near]]


def _ways(runs: Sequence[_Run], axis: int, lines: Sequence[tuple[Numbers, bool]], total: int) -> list[_Way | None]:
    """Windows along a side that have the lines of all runs; None where the side does not matter."""
    sides = [run.sides[axis] for run in runs]
    cuts = sorted({1 - Fraction(total * place % side, side) for side in set(sides) for place in range(side)})
    intervals = list(zip([Fraction(0), *cuts[:-1]], cuts, strict=True))
    if len(intervals) > _DISTANCES:
        intervals = [intervals[0], intervals[-1]]
    whole = constant(total)
    at = [
        {(part, i): End(part, *interval).at(total, side, np.arange(side))
         for part in (-1, 0, 1, 2) for i, interval in enumerate(intervals)}
        for side in sides
    ]  # fmt: skip
    found: list[tuple[tuple[int, ...], Window | None]] = []
    if not any(uneven for _, uneven in lines):
        found.append(((-1,), None))
    last, even = len(intervals) - 1, not any(uneven for _, uneven in lines)
    for begin, end in _PARTS_OF if not even else _PARTS_OF[:1]:
        for i, j in product(range(len(intervals)), repeat=2):
            points = [one[end, j] - one[begin, i] for one in at]
            # How many points more there are in whole is the same for all runs that tell.
            more = {int(line[0] - p[0]) for (line, uneven), p in zip(lines, points, strict=True) if uneven}
            flat = all(
                (p == p[0]).all() if not uneven else (line - p == line[0] - p[0]).all()
                for (line, uneven), p in zip(lines, points, strict=True)
            )
            if not flat or len(more) > 1 or (begin == end and not more):
                continue
            extra = more.pop() if more else 0
            if any((p + extra <= 0).any() for p in points):
                continue
            rank = (abs(begin) + abs(end - (end > begin)), (i != last) + (j != last), abs(i + j - last), begin, i, j)
            found.append((rank, Window(axis, whole, End(begin, *intervals[i]), End(end, *intervals[j]), extra)))
    best = [one for _, one in sorted(found, key=lambda pair: pair[0])[:_WAYS]]
    return [None if one is None else _Way(one, [one(total, side, np.arange(side)) for side in sides]) for one in best]


def _fits(
    runs: Sequence[_Run], grid: Grid, total: int, ways: Sequence[_Way], across: Sequence[int], new: bool
) -> tuple[tuple[float, ...], Windows] | None:
    """The part of the points that is there, with a score; None if numbers differ by more than rounding.

    ``new``: no other number of the program told so many points along each side.
    """
    inside = [_inside(run, ways, i) for i, run in enumerate(runs)]
    whole = Fraction(sum(run.all for run in runs), sum(inside))
    part = whole.limit_denominator(_PARTS)
    # Most are refused by the sums of runs.
    if any(
        run.all * whole.denominator != p * whole.numerator
        and abs(run.all * part.denominator - p * part.numerator) > (0.5 + 1e-6) * part.denominator * run.count.size
        for run, p in zip(runs, inside, strict=True)
    ):
        return None
    windows = [one.window for one in ways]
    along = sum(one.axis in across for one in windows)
    points = [_points(run, [(one.window.axis, one.lines[i]) for one in ways]) for i, run in enumerate(runs)]
    if all((run.count * whole.denominator == p * whole.numerator).all() for run, p in zip(runs, points, strict=True)):
        size = runs[0].unit * whole
        label = "exact" if _more_than_chosen([(runs, windows)], new) else "fitted"
        score = float(label != "exact"), float(along), float(sum(one.more != 0 for one in windows)), float(len(windows))
        unit, part = (int(size), Fraction(1)) if size.denominator == 1 else (1, size)
        return score, Windows(unit, part, grid, tuple(windows), None, label)
    pairs = [(np.abs(run.count - p * float(part)), run.count) for run, p in zip(runs, points, strict=True)]
    if part <= 0 or any(float(wrong.max()) > 0.5 + 1e-9 for wrong, _ in pairs):
        return None
    relative = max(float((wrong / count).max()) for wrong, count in pairs)
    unit = runs[0].unit
    layers = sum(one.more != 0 for one in windows)
    for checked in (None, 0, 1):
        for made in _checked(runs, grid, windows, unit, part, checked, total):
            if all((made(run.data.where) == run.data.values).all() for run in runs):
                sure = _told(runs) >= _BITS
                score = 0.0 if sure else 1.0, float(along), float(layers), float(len(made.windows))
                return score, made if sure else replace(made, label="fitted")
    if relative > _ERROR:
        return None
    return (1.0, float(along), float(layers), float(len(windows))), Windows(
        unit, part, grid, tuple(windows), None, "fitted"
    )


def whole(data: Sequence[Data], found: Windows) -> bool:
    """Whether a rule gives all numbers of all runs without rounding."""
    runs = _runs(data, found.grid)
    return runs is not None and _whole(runs, found)


def _whole(runs: Sequence[_Run], found: Windows) -> bool:
    if found.checked is not None or not found.windows:
        return False
    total = int(found.windows[0].total({"P": 1}))
    size = found.unit * found.part
    for run in runs:
        lines = [(one.axis, one(total, run.sides[one.axis], np.arange(run.sides[one.axis]))) for one in found.windows]
        if (run.count * (run.unit * size.denominator) != _points(run, lines) * size.numerator).any():
            return False
    return True


def proved(several: Sequence[tuple[Sequence[Data], Windows]], layers: set[int], new: bool) -> bool:
    """Whether numbers of a program prove rules with as many points along each side, which none of them proves alone.

    Parameters
    ----------
    several : sequence of (data, Windows)
        Rules that give all numbers of all runs, and do not round.
    layers : set of int
        Those that exact rules of the program have.
    new : bool
        No exact rule told so many points along each side.
    """
    different: dict[object, tuple[list[_Run], Windows]] = {}
    for data, found in several:
        runs = _runs(data, found.grid)
        assert runs is not None, "otherwise there would be no rule"
        key = tuple(tuple(np.unique(run.count).tolist()) for run in runs)
        different.setdefault(key, (runs, found))
    return _more_than_chosen([(runs, found.windows) for runs, found in different.values()], new, layers)


def _more_than_chosen(
    several: Sequence[tuple[Sequence[_Run], Sequence[Window]]], new: bool, known: Collection[int] = ()
) -> bool:
    """Whether there are more numbers than parameters of the rules, and these tell more bits than were chosen.

    Parameters are the size of a point of each rule, the layers that are not ``known``, and the points along a side if
    they are ``new``, that is no other number told them: without layers, and where all parts are equal, these make no
    difference. A choice of the n-th number is counted as 2 log2(1 + n) bits.
    """
    layers = {one.more for _, windows in several for one in windows if one.more}
    uneven = any(len(np.unique(run.count)) > 1 for runs, _ in several for run in runs)
    new = new and (bool(layers) or uneven)
    layers.difference_update(known)
    numbers = sum(len(np.unique(run.count)) for runs, _ in several for run in runs)
    if numbers <= len(several) + len(layers) + new:
        return False
    chosen = sum(len(windows) for _, windows in several) + sum(2 * log2(1 + abs(more)) for more in layers)
    if new and not uneven:
        (runs, windows), *_ = several
        total = int(windows[0].total({"P": 1}))
        chosen += 2 * log2(1 + total // lcm(*(side for run in runs for side in run.sides)))
    return sum(_told(runs) for runs, _ in several) >= chosen + _MARGIN


def _told(runs: Sequence[_Run]) -> float:
    """Bits of the different numbers of runs but for one, which gives the part of the points that is there."""
    least = min(int(run.count.min()) for run in runs)
    return (sum(len(np.unique(run.count)) for run in runs) - 1) * log2(max(least, 1))


def _points(run: _Run, lines: Sequence[tuple[int, Numbers]]) -> Numbers:
    """Points of boxes, by those along sides."""
    out = np.ones(run.sides, np.int64)
    for axis, line in lines:
        shape = [1] * len(run.sides)
        shape[axis] = run.sides[axis]
        out = out * line.reshape(shape)
    return out


def _inside(run: _Run, ways: Sequence[_Way], which: int) -> int:
    """Points of all boxes of a run together."""
    sums = list(run.sides)
    for one in ways:
        sums[one.window.axis] = int(one.lines[which].sum())
    return prod(sums)


def _checked(
    runs: Sequence[_Run], grid: Grid, windows: list[Window], unit: int, part: Fraction, checked: int | None, total: int
) -> Iterator[Windows]:
    """Rules with these windows; of every second point, layers beside a cut are windows, though all parts have them."""
    if checked is None:
        yield Windows(unit, part, grid, tuple(windows))
        return
    if part.denominator != 2:
        return
    missing = [axis for axis in range(len(grid.order)) if axis not in {one.axis for one in windows}]
    if part.numerator == 1 or not missing:
        yield Windows(unit, part, grid, tuple(windows), checked)
        return
    for axis in missing:
        for place in (0, 1):
            end = End(place, Fraction(0), Fraction(1))
            layers = Window(axis, constant(total), end, end, part.numerator)
            made = sorted([*windows, layers], key=lambda one: one.axis)
            yield Windows(unit, Fraction(1, 2), grid, tuple(made), checked)
