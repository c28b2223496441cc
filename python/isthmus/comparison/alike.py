"""Pieces of a program that stand for others: how sure their mean is, and what sums of other sizes add."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..laws import student

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..schedule.program import Program
    from ..skeletons.steps import Pieces

#: A piece is not simulated again if ranks begin it as they began one that is the same; nor where so many of its shape
#: were simulated, whatever ranks began with, that their mean is known well enough: with those of all shapes, the time
#: of the program up to this share in 95 % of cases, but for how sums scatter; or so MANY, and the error that is said
#: tells. One in EVERY is simulated nevertheless, as times may change slowly, and seldom ones are not among the first.
ENOUGH, SURE, MANY, EVERY = 8, 5e-3, 24, 8
#: Times of sums of sizes between two others are taken to lie on the line between these where one in the middle does, up
#: to this share of its time.
_STRAIGHT = 1e-4


@dataclass(frozen=True, eq=False)
class Run:
    """A piece that was simulated; times count from that at which the first rank had finished the piece before it.

    Attributes
    ----------
    number : int
        Of the piece.
    before, free : array of int64
        When resources were free before it, and after it.
    finish : array of int64
        When ranks had finished.
    """

    number: int
    before: NDArray[np.int64]
    free: NDArray[np.int64]
    finish: NDArray[np.int64]

    @property
    def took(self) -> int:
        """Until the last rank has finished."""
        return int(self.finish.max())

    @property
    def first(self) -> int:
        """Until the first rank has finished: what the piece adds to the time of the program."""
        return int(self.finish.min())


class Sums:
    """How long the sums over all ranks of each piece take by themselves, where pieces of a shape differ in them.

    Parameters
    ----------
    pieces : Pieces
    timed : callable
        From a program to its time in picoseconds.
    """

    def __init__(self, pieces: Pieces, timed: Callable[[Program], int]) -> None:
        self._pieces, self._timed = pieces, timed
        self._known: dict[tuple[int, ...], int] = {}
        self._of: dict[Hashable, list[tuple[int, ...]]] = {}
        for shape, sizes in zip(pieces.shapes, pieces.sizes, strict=True):
            self._of.setdefault(shape, []).append(sizes)
        self._of = {shape: sorted(set(several)) for shape, several in self._of.items()}

    def __call__(self, number: int) -> int:
        """Picoseconds of those of a piece; 0 where all pieces of its shape have the same."""
        several = self._of[self._pieces.shapes[number]]
        if len(several) == 1:
            return 0
        sizes = self._pieces.sizes[number]
        if sizes not in self._known:
            vary = [len(set(column)) > 1 for column in zip(*several, strict=True)]
            if sum(vary) == 1:
                self._between(several, vary.index(True), 0, len(several) - 1)
            else:
                self._time(sizes)
        return self._known[sizes]

    def _time(self, sizes: tuple[int, ...]) -> int:
        if sizes not in self._known:
            self._known[sizes] = self._timed(self._pieces.sums(sizes))
        return self._known[sizes]

    def _between(self, several: list[tuple[int, ...]], which: int, low: int, high: int) -> None:
        """Times of all of these that lie between two, of which one size differs."""
        first, last = self._time(several[low]), self._time(several[high])
        if high - low < 2:
            return
        begin, end = several[low][which], several[high][which]

        def line(at: int) -> int:
            return first + (last - first) * (several[at][which] - begin) // (end - begin)

        middle = (low + high) // 2
        time = self._time(several[middle])
        if abs(time - line(middle)) > _STRAIGHT * time:
            self._between(several, which, low, middle)
            self._between(several, which, middle, high)
            return
        for at in range(low + 1, high):
            self._known.setdefault(several[at], line(at))


@dataclass(eq=False)
class Shape:
    """Runs of pieces that are the same but for the sizes of their sums over all ranks.

    Attributes
    ----------
    pieces : Pieces
    sums : Sums
    runs : list of Run
    stand : int
        How many pieces runs stand for in a program in which one at least stands for a piece that ranks begin otherwise.
    """

    pieces: Pieces
    sums: Sums
    runs: list[Run] = field(default_factory=list)
    stand: int = 0
    _since: int = 0
    _turn: int = 0

    def same(self, number: int, before: NDArray[np.int64]) -> Run | None:
        """The run of a piece that is the same and that ranks began alike, to the picosecond; it changes nothing."""
        for run in self.runs:
            if self.pieces.keys[run.number] == self.pieces.keys[number] and np.array_equal(run.before, before):
                return run
        return None

    def other(self, most: float) -> Run | None:
        """A run that stands for a piece that ranks begin otherwise, if the mean is known to so many picoseconds."""
        enough = len(self.runs) >= ENOUGH and (len(self.runs) >= MANY or self.half() <= most)
        if not enough or self._since >= EVERY - 1:
            self._since = 0
            return None
        self._since += 1
        # All in turn: what one is too short another is too long.
        self._turn += 1
        return self.runs[self._turn % len(self.runs)]

    def mean(self) -> float:
        """Of the times of the runs."""
        return float(np.mean([run.first for run in self.runs]))

    def half(self) -> float:
        """Half the width of the interval that has the mean time of pieces of this shape in 95 % of cases."""
        return self._quantile() * self._deviation() / math.sqrt(len(self.runs))

    def error(self) -> float:
        """By how much, in 95 % of cases, the pieces that runs stand for would take longer or shorter altogether."""
        # The error of the mean, and how the sum of so many scatters.
        return self._quantile() * self._deviation() * math.sqrt(self.stand**2 / len(self.runs) + self.stand)

    def _deviation(self) -> float:
        times = [run.first - self.sums(run.number) for run in self.runs]
        # Of one run: ranks began it alike each time.
        return float(np.std(times, ddof=1)) if len(times) > 1 else 0.0

    def _quantile(self) -> float:
        return student(max(len(self.runs) - 1, 1))


class Shapes:
    """The shapes of the pieces of a program, and runs that stand for pieces."""

    def __init__(self, pieces: Pieces, timed: Callable[[Program], int]) -> None:
        self.pieces = pieces
        self.sums = Sums(pieces, timed)
        self._counts = Counter(pieces.shapes)
        self._repeat = sum(count > 1 for count in self._counts.values())
        self._of: dict[Hashable, Shape] = {}
        #: No piece so far is taken to be as one that ranks began otherwise.
        self.equal = True

    def like(self, number: int, before: NDArray[np.int64]) -> tuple[Run | None, int]:
        """The run that stands for a piece, if one may, and by how much longer the sums of the piece are."""
        shape = self._shape(number)
        run, longer = shape.same(number, before), 0
        if run is None and (run := shape.other(self._most(self.pieces.shapes[number]))) is not None:
            self.equal = False
            longer = self.sums(number) - self.sums(run.number)
        shape.stand += run is not None and not self.equal
        return run, longer

    def add(self, run: Run) -> None:
        """A piece was simulated."""
        self._shape(run.number).runs.append(run)

    def error(self) -> float | None:
        """Picoseconds by which pieces that stand for others may change the time in 95 % of cases; None: none does."""
        if self.equal:
            return None
        return math.hypot(*(shape.error() for shape in self._of.values() if shape.stand))

    def _shape(self, number: int) -> Shape:
        return self._of.setdefault(self.pieces.shapes[number], Shape(self.pieces, self.sums))

    def _most(self, shape: Hashable) -> float:
        """How well the mean of a shape has to be known, in picoseconds."""
        time = sum(self._counts[one] * of.mean() for one, of in self._of.items() if of.runs)
        return SURE * time / math.sqrt(max(self._repeat, 1)) / self._counts[shape]
