"""Charts: how a peer follows from a rank, whatever the number of ranks.

A chart turns a rank and its peer into a symbol that does not depend on the number of ranks, such as a step on a grid,
and back. Grids are those of MPI_Dims_create, with their sides in any order, and the square and the cube among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

Symbol = tuple[int, ...]


@cache
def dims(ranks: int, count: int) -> tuple[int, ...]:
    """Sides of the most cubic box of so many ranks, the longest first, as MPI_Dims_create gives them.

    >>> dims(12, 2), dims(48, 3)
    ((4, 3), (4, 4, 3))
    """
    if count == 1:
        return (ranks,)
    best: tuple[int, ...] = ()
    # The smallest side comes last: the larger it is, the more cubic the box.
    for last in range(int(round(ranks ** (1 / count)) + 1), 0, -1):
        if ranks % last == 0:
            found = (*dims(ranks // last, count - 1), last)
            if found[-2] >= last and (not best or found[0] - last < best[0] - best[-1]):
                best = found
    return best


@dataclass(frozen=True)
class Grid:
    """Ranks in a box, the last side fastest.

    Attributes
    ----------
    order : tuple of int
        Which sides of :func:`dims` these are.
    around : tuple of int
        Sides at whose end steps come in again at the beginning; elsewhere they leave the box.
    """

    order: tuple[int, ...]
    around: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """The name: line, ring, grid3, torus3; in grid3201 sides have another order, grid2w1 is closed around one."""
        count = len(self.order)
        if count == 1:
            return "ring" if self.around else "line"
        order = "" if self.order == tuple(range(count)) else "".join(map(str, self.order))
        if len(self.around) == count:
            return f"torus{count}{order}"
        return f"grid{count}{order}" + ("w" + "".join(map(str, self.around)) if self.around else "")

    def sides(self, ranks: int) -> tuple[int, ...]:
        """Sides of the box of so many ranks."""
        found = dims(ranks, len(self.order))
        return tuple(found[i] for i in self.order)

    def place(self, rank: NDArray[np.int64], ranks: int) -> NDArray[np.int64]:
        """Coordinates, one row for each side."""
        return np.stack(np.unravel_index(rank, self.sides(ranks)))

    def symbols(self, rank: NDArray[np.int64], peer: NDArray[np.int64], ranks: int) -> NDArray[np.int64]:
        """Steps from ranks to peers, one row each: around a side where that is shorter, and also taken as it is."""
        sides = np.array(self.sides(ranks))
        raw = (self.place(peer, ranks) - self.place(rank, ranks)).T
        around = np.where(2 * raw > sides, raw - sides, np.where(-2 * raw > sides, raw + sides, raw))
        if (around == raw).all():
            return raw
        # A step around a side must also be one that others take without going around.
        plain = {tuple(row) for row in np.unique(raw, axis=0).tolist()}
        rows, index = np.unique(around, axis=0, return_inverse=True)
        taken = np.array([tuple(row) in plain for row in rows.tolist()])
        return np.where(taken[index.reshape(-1)][:, None], around, raw)

    def peers(self, symbol: Symbol, ranks: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """For every rank its peer, and whether the step leaves the box."""
        return _steps(self, symbol, ranks)

    def text(self, symbol: Symbol) -> str:
        """The symbol, for people."""
        return f"{self.name}({','.join(f'{step:+d}' if step else '0' for step in symbol)})"


@lru_cache(maxsize=8)
def _steps(grid: Grid, symbol: Symbol, ranks: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """See :meth:`Grid.peers`: calls that follow each other go the same few ways."""
    sides = np.array(grid.sides(ranks))[:, None]
    there = grid.place(np.arange(ranks), ranks) + np.array(symbol)[:, None]
    left = (there < 0) | (there >= sides)
    left[list(grid.around)] = False
    outside = left.any(0)
    peers = np.ravel_multi_index(tuple(there % sides), tuple(sides[:, 0]))
    peers.flags.writeable = outside.flags.writeable = False
    return peers, outside


@dataclass(frozen=True)
class Plain:
    """Charts of one number.

    ``rank``: the peer itself. ``last``: counted from the end. ``xor``: bits that differ. ``part``: a part of all ranks
    further. ``mirror``: 0 for the rank as far from the end. ``transpose``: 0 for the place mirrored in a square.
    ``heap``: 0 parent, 1 and 2 children in a binary tree. ``bit``: 0 without the lowest bit, k + 1 with bit k, below
    the lowest, in a binomial tree. ``skew``: in a square, 0 and 1 as many columns to the left and to the right as
    the row says, 2 and 3 as many rows up and down as the column says.
    """

    name: str

    def symbols(self, rank: NDArray[np.int64], peer: NDArray[np.int64], ranks: int) -> NDArray[np.int64]:
        """Symbols, one row each; -1 (``last``: 0) where the chart has none."""
        side = round(ranks**0.5)
        if self.name == "rank":
            out = peer
        elif self.name == "last":
            out = peer - ranks
        elif self.name == "xor":
            out = rank ^ peer
        elif self.name == "part":
            step = (peer - rank) % ranks
            out = np.where((step > 0) & (ranks % np.maximum(step, 1) == 0), ranks // np.maximum(step, 1), -1)
        elif self.name == "mirror":
            out = np.where(peer == ranks - 1 - rank, 0, -1)
        elif self.name == "transpose":
            there = rank % side * side + rank // side
            out = np.where((side * side == ranks) & (peer == there), 0, -1)
        elif self.name == "skew":
            out = np.full(len(rank), -1)
            for number in (3, 2, 1, 0):
                out = np.where(_skewed(number, rank, side) == peer, number, out)
            out = np.where(side * side == ranks, out, -1)
        elif self.name == "heap":
            out = np.where(
                (peer == (rank - 1) // 2) & (rank > 0), 0, np.where((peer - 1) // 2 == rank, peer - 2 * rank, -1)
            )
        else:
            bit = peer ^ rank
            single = (bit > 0) & (bit & (bit - 1) == 0)
            lower = single & ((rank == 0) | (bit < (rank & -rank))) & (peer > rank)
            level = np.log2(np.maximum(bit, 1)).astype(np.int64)
            out = np.where((peer == (rank & (rank - 1))) & (rank > 0), 0, np.where(lower, level + 1, -1))
        return np.asarray(out, np.int64)[:, None]

    def peers(self, symbol: Symbol, ranks: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """For every rank its peer, and whether there is none."""
        rank, number = np.arange(ranks), symbol[0]
        none = np.zeros(ranks, bool)
        if self.name == "rank":
            out = np.full(ranks, number)
        elif self.name == "last":
            out = np.full(ranks, ranks + number)
        elif self.name == "xor":
            out = rank ^ number
        elif self.name == "part":
            out, none = (rank + ranks // max(number, 1)) % ranks, np.full(ranks, number < 1 or ranks % number != 0)
        elif self.name == "mirror":
            out = ranks - 1 - rank
        elif self.name == "transpose":
            side = round(ranks**0.5)
            out, none = rank % side * side + rank // side, np.full(ranks, side * side != ranks)
        elif self.name == "skew":
            side = round(ranks**0.5)
            out, none = _skewed(number, rank, side), np.full(ranks, side * side != ranks)
        elif self.name == "heap":
            out = (rank - 1) // 2 if number == 0 else 2 * rank + number
            none = rank == 0 if number == 0 else none
        elif number == 0:
            out, none = rank & (rank - 1), rank == 0
        else:
            bit = 1 << (number - 1)
            out, none = rank | bit, (rank != 0) & (bit >= (rank & -rank))
        none = none | (out < 0) | (out >= ranks)
        return np.where(none, 0, out), none

    def text(self, symbol: Symbol) -> str:
        """The symbol, for people."""
        return f"{self.name}({symbol[0]})"


def _skewed(number: int, rank: NDArray[np.int64], side: int) -> NDArray[np.int64]:
    """See ``skew`` of :class:`Plain`."""
    row, column = np.divmod(rank, side)
    sign = 1 if number % 2 else -1
    if number < 2:
        column = (column + sign * row) % side
    else:
        row = (row + sign * column) % side
    return np.asarray(row * side + column, np.int64)


Chart = Grid | Plain
#: Charts in the order in which they are preferred among those that explain as much with as few symbols.
PLAIN = tuple(Plain(name) for name in ("rank", "last", "xor", "mirror", "transpose", "part", "skew", "heap", "bit"))


@cache
def grids(sizes: tuple[int, ...]) -> tuple[Grid, ...]:
    """Grids of one to four sides that differ at some of these numbers of ranks, all of them closed around."""
    out: list[Grid] = []
    seen: set[tuple[tuple[int, ...], ...]] = set()
    for count in (1, 2, 3, 4):
        for order in permutations(range(count)):
            shape = tuple(Grid(order).sides(ranks) for ranks in sizes)
            if shape not in seen and all(min(sides) > 1 for sides in shape[-1:]):
                seen.add(shape)
                out.append(Grid(order, tuple(range(count))))
    return tuple(out)


def chart_of(name: str) -> Chart:
    """The chart of a name.

    >>> chart_of("grid3").sides(12)
    (3, 2, 2)
    """
    if name in ("line", "ring"):
        return Grid((0,), (0,) if name == "ring" else ())
    if name.startswith(("grid", "torus")):
        digits, _, wrapped = name.removeprefix("grid").removeprefix("torus").partition("w")
        count = int(digits[:1])
        order = tuple(map(int, digits[1:])) or tuple(range(count))
        around = tuple(range(count)) if name.startswith("torus") else tuple(map(int, wrapped))
        if not 2 <= count <= 4 or sorted(order) != list(range(count)) or not set(around) <= set(range(count)):
            raise ValueError(name)
        return Grid(order, around)
    if name not in {one.name for one in PLAIN}:
        raise ValueError(name)
    return Plain(name)
