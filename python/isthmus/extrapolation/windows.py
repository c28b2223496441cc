"""Points of a lattice within windows: sizes of parts, layers beside their borders, and parts with the layers of others.

A box of ``total`` points along each side of a grid is cut evenly, at ``total * i / side``, whether that is whole or
not. A message holds the points between two cuts, or near one, times those along the other sides: particles of a
lattice and cells of a mesh alike.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from .charts import Grid, chart_of
from .formulas import Formula, check, parse

if TYPE_CHECKING:
    from .where import Numbers, Where

_END = r"([+-]\d+) (\S+)\.\.(\S+?)"
_AXIS = re.compile(rf"\[(\d): (.*?) from {_END} to {_END} more (-?\d+)\]")
_ALL = re.compile(r"(\d+) (\S+)(?: checked ([01]))? of (\S+) ((?:\[.*?\] ?)+?)(?: \((fitted)\))?")


@dataclass(frozen=True)
class End:
    """An end of a window: so many parts after the part itself, and a distance of ``low`` to ``high`` behind that cut.

    Recordings agree with every distance above ``low`` and up to ``high``, both from 0 to 1.
    """

    part: int
    low: Fraction
    high: Fraction

    @property
    def distance(self) -> Fraction:
        """At the cut itself or just behind it, where that is possible; else midway."""
        if self.high == 1 or self.low == 0:
            return Fraction(int(self.high == 1))
        return (self.low + self.high) / 2

    def at(self, total: int, side: int, place: Numbers) -> Numbers:
        """Points before this end of the window of each place."""
        whole, rest = np.divmod(total * (place + self.part), side)
        distance = self.distance
        further = rest * distance.denominator > side * (distance.denominator - distance.numerator)
        return np.asarray(whole + further, np.int64)

    def unsure(self, total: int, side: int, plain: bool) -> bool:
        """Whether recordings do not tell how many points there are, where sides have this length.

        ``plain``: the window is a part without layers, which ends at the cut itself where that is possible.
        """
        if plain and self.high - self.low < 1 and (self.low == 0 or self.high == 1):
            return False
        cuts = {1 - Fraction(total * place % side, side) for place in range(min(side, total % side and side))}
        return any(self.low < cut < self.high for cut in cuts)

    def __str__(self) -> str:
        return f"{self.part:+d} {self.low}..{self.high}"


@dataclass(frozen=True)
class Window:
    """Points along a side, from one end to another, and ``more``."""

    axis: int
    total: Formula
    begin: End
    end: End
    more: int = 0

    def unsure(self, total: int, side: int) -> bool:
        """Whether recordings do not tell how many points there are, where sides have this length."""
        one, other = self.begin, self.end
        plain = one.part != other.part and not self.more and (one.low, one.high) == (other.low, other.high)
        return one.unsure(total, side, plain) or other.unsure(total, side, plain)

    def corner(self, total: int, side: int, place: Numbers) -> Numbers:
        """The first point, by place, but for a constant."""
        return self.begin.at(total, side, place)

    def __call__(self, total: int, side: int, place: Numbers) -> Numbers:
        """The number of points, by place."""
        return self.end.at(total, side, place) - self.begin.at(total, side, place) + self.more

    def __str__(self) -> str:
        return f"[{self.axis}: {self.total} from {self.begin} to {self.end} more {self.more}]"


@dataclass(frozen=True, eq=False)
class Windows:
    """``unit`` times ``part`` of the points in a box of windows, a whole number.

    ``checked``: only every second point is there, as on the black fields of a board; 0 or 1 says which. Otherwise the
    number of points is rounded, half a point down.
    """

    unit: int
    part: Fraction
    grid: Grid
    windows: tuple[Window, ...]
    checked: int | None = None
    label: str = "exact"
    form: ClassVar[str] = "windows"

    def __call__(self, where: Where, what: str = "") -> NDArray[np.generic]:
        sides = self.grid.sides(where.ranks)
        place = self.grid.place(where.rank, where.ranks)
        points, corner = np.ones(len(where.rank), np.int64), np.zeros(len(where.rank), np.int64)
        for one in self.windows:
            side = sides[one.axis]
            total = where.whole(one.total, check(one.total, where.variables, what))
            if one.unsure(total, side):
                where.doubts.add("divide")
            every = np.arange(side)
            points = points * one(total, side, every)[place[one.axis]]
            corner += one.corner(total, side, every)[place[one.axis]]
        return self.unit * self.count(points, corner)

    def count(self, points: Numbers, corner: Numbers) -> Numbers:
        """How many of the points of boxes are there."""
        twice = points * (2 * self.part.numerator)
        whole = self.part.denominator
        if self.checked is None:
            return np.asarray(-((whole - twice) // (2 * whole)), np.int64)
        return np.asarray((points * self.part.numerator + (1 - (corner + self.checked) % 2)) // whole, np.int64)

    def __str__(self) -> str:
        checked = "" if self.checked is None else f" checked {self.checked}"
        windows = " ".join(map(str, self.windows))
        label = "" if self.label == "exact" else f" ({self.label})"
        return f"windows {self.unit} {self.part}{checked} of {self.grid.name} {windows}{label}"


def read(text: str) -> Windows:
    """The rule of a text, without its first word.

    Raises
    ------
    ValueError
        For a text that is none.
    """
    found = _ALL.fullmatch(text)
    grid = chart_of(found[4]) if found else None
    if found is None or not isinstance(grid, Grid):
        raise ValueError(text)
    windows = tuple(
        Window(
            int(axis), parse(total), End(int(one), Fraction(low), Fraction(high)),
            End(int(other), Fraction(low2), Fraction(high2)), int(more),
        )
        for axis, total, one, low, high, other, low2, high2, more in _AXIS.findall(found[5])
    )  # fmt: skip
    if not windows or any(one.axis >= len(grid.order) for one in windows):
        raise ValueError(text)
    checked = None if found[3] is None else int(found[3])
    return Windows(int(found[1]), Fraction(found[2]), grid, windows, checked, found[6] or "exact")
