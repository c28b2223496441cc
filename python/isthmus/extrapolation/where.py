"""Where numbers stand: ranks, visits and iterations, and numbers of a run there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .formulas import Formula

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Where:
    """Ranks and visits for which numbers are wanted, all arrays of one length.

    Attributes
    ----------
    variables : mapping of str to int
    rank : array of int64
    visit : array of int64
        How often the rank came to the statement before.
    inner : array of int64
        The iteration of the loop around it; for lists, the place in the list.
    partner : array of int64
        The rank at the other end where a message is received, so that both ends draw the same number; else the rank.
    doubts : set of str
        Rules add why their numbers are not proved here: ``"divide"`` where a formula that is exact gives a fraction,
        ``"ranks"`` where ranks are unlike those of all recordings.
    """

    variables: Mapping[str, int]
    rank: Numbers
    visit: Numbers
    inner: Numbers
    partner: Numbers | None = None
    doubts: set[str] = field(default_factory=set)

    @property
    def ranks(self) -> int:
        return self.variables["P"]

    def count(self, by: str) -> Numbers:
        """What a rule counts by: "visit", or else "inner"."""
        return self.visit if by == "visit" else self.inner

    def part(self, chosen: NDArray[np.bool_]) -> Where:
        """Only some of them."""
        partner = None if self.partner is None else self.partner[chosen]
        return Where(self.variables, self.rank[chosen], self.visit[chosen], self.inner[chosen], partner, self.doubts)

    def whole(self, formula: Formula, number: float) -> int:
        """A number that a formula gave, to the nearest whole one."""
        if number != int(number) and formula.label == "exact":
            self.doubts.add("divide")
        return round(number)


@dataclass(frozen=True, eq=False)
class Data:
    """Numbers of a run."""

    where: Where
    values: Numbers

    def part(self, chosen: NDArray[np.bool_]) -> Data:
        return Data(self.where.part(chosen), self.values[chosen])

    @property
    def single(self) -> int | None:
        """The number, if all are the same."""
        first = int(self.values[0])
        return first if (self.values == first).all() else None
