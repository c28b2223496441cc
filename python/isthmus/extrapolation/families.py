"""Families of communicators: which ranks are together, for any number of ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from .charts import Grid, chart_of, grids
from .discover import Hints, discover
from .formulas import Formula, check, constant, formula
from .rules import Feature, Rule, Same, worst
from .where import Data, Where

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .streams import Stream


@dataclass(frozen=True, eq=False)
class Family:
    """Communicators that one call creates.

    Attributes
    ----------
    kind : str
        ``all``; ``self``; ``by FEATURE``: ranks that agree in a feature; ``lines GRID AXES``: ranks that differ along
        these sides only; ``blocks``: so many ranks in a row; ``modulo``: ranks that agree modulo so many; ``table``: as
        recorded.
    members : Rule
        1 for ranks that are in one.
    size : Formula or None
        Of blocks and modulo.
    parent : int
    created : str
        Where; "given" for those that no call creates.
    """

    kind: str
    members: Rule
    size: Formula | None = None
    parent: int = 0
    created: str = ""
    colors: tuple[int, ...] = ()
    guessed: bool = False

    @property
    def label(self) -> str:
        labels = [self.members.label, *([self.size.label] if self.size else [])]
        return "guessed" if self.guessed else worst(labels)

    def color(self, variables: Mapping[str, int]) -> NDArray[np.int64]:
        """For each rank the number of its communicator, by their lowest ranks, or -1."""
        ranks = variables["P"]
        rank = np.arange(ranks)
        nothing = np.zeros(ranks, np.int64)
        inside = self.members(Where(variables, rank, nothing, nothing)).astype(bool)
        raw = color(
            self.kind, ranks, int(check(self.size, variables, "size of communicators")) if self.size else 0, self.colors
        )
        return normal(np.where(inside, raw, -1))


def color(kind: str, ranks: int, size: int = 0, colors: Sequence[int] = ()) -> NDArray[np.int64]:
    """Numbers of communicators, the same for those who are together."""
    rank = np.arange(ranks)
    if kind == "all":
        return np.zeros(ranks, np.int64)
    if kind == "self":
        return rank
    if kind == "blocks":
        return rank // max(size, 1)
    if kind == "modulo":
        return rank % max(size, 1)
    if kind.startswith("by "):
        nothing = np.zeros(ranks, np.int64)
        return Feature(*kind[3:].split(" ")).labels(Where({"P": ranks}, rank, nothing, nothing))
    if kind == "table":
        return np.array(colors, np.int64)
    _, name, axes = kind.split()
    grid = chart_of(name)
    assert isinstance(grid, Grid)
    place = grid.place(rank, ranks)
    out = np.zeros(ranks, np.int64)
    for axis, side in enumerate(grid.sides(ranks)):
        if str(axis) not in axes:
            out = out * side + place[axis]
    return out


def normal(colors: NDArray[np.int64]) -> NDArray[np.int64]:
    """Communicators numbered by their lowest ranks; -1 stays."""
    inside = colors >= 0
    _, first, index = np.unique(colors[inside], return_index=True, return_inverse=True)
    out = np.full(len(colors), -1, np.int64)
    out[inside] = np.argsort(np.argsort(first))[index.reshape(-1)]
    return out


def local(colors: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each rank's number within its communicator."""
    order = np.argsort(colors, kind="stable")
    ordered = colors[order]
    starts = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    place = np.arange(len(colors))
    within = place - np.maximum.accumulate(np.where(starts, place, 0))
    out = np.empty(len(colors), np.int64)
    out[order] = within
    return out


def find(streams: Sequence[Stream], runs: Sequence[Mapping[str, int]], family: int, used: Sequence[Grid]) -> Family:
    """The rule of a family that all runs agree with."""
    having = [(one, run) for one, run in zip(streams, runs, strict=True) if family in one.colors]
    data = []
    for one, run in having:
        rank = np.arange(one.ranks)
        nothing = np.zeros(one.ranks, np.int64)
        data.append(Data(Where(run, rank, nothing, nothing), (one.colors[family] >= 0).astype(np.int64)))
    alone = len(streams) == 1
    members = discover(data, Hints(None, tuple(used), alone, "members of communicators", True))
    wanted = [normal(one.colors[family]) for one, _ in having]

    def agrees(kind: str, sizes: Sequence[int]) -> bool:
        return all(
            (normal(np.where(want >= 0, color(kind, len(want), size), -1)) == want).all()
            for want, size in zip(wanted, sizes, strict=True)
        )

    none = [0] * len(wanted)
    candidates = ["all", "self"]
    found = grids(tuple(len(want) for want in wanted))
    for grid in dict.fromkeys([*used, *(Grid(one.order) for one in found)]):
        sides = range(len(grid.order))
        candidates += [
            f"lines {grid.name} {''.join(map(str, axes))}"
            for n in range(1, len(sides))
            for axes in combinations(sides, n)
        ]
    candidates += [f"by {name}" for name in ("first", "last", "ends", "mod 2")]
    for kind in candidates:
        if agrees(kind, none):
            return Family(kind, members)
    sizes = [int(np.bincount(want[want >= 0]).max()) for want in wanted]
    counts = [int(want.max()) + 1 for want in wanted]
    for kind, numbers in (("blocks", sizes), ("modulo", counts)):
        if agrees(kind, numbers):
            size = formula([run for _, run in having], numbers) if not alone else constant(numbers[0])
            return Family(kind, members, size)
    if alone:
        return Family("table", Same(constant(1)), colors=tuple(wanted[0].tolist()))
    size = formula([run for _, run in having], sizes)
    return Family("blocks", members, size, guessed=True)
