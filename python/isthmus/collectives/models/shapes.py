"""Shapes of trees: of a subtree only its number of ranks and its place in the scheme count, so that few are different.

Children come in groups of equal ones, (subtree, how many), in the order in which a broadcast serves them; ``taken`` is
the order in which a reduction takes them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

Groups = tuple[tuple[Any, int], ...]


@dataclass(frozen=True)
class Knomial:
    """The tree over places in base ``radix``: of a subtree that spans ``radix^i`` places the first ``ranks`` exist.

    The place at distance d * radix^i from its parent heads radix^i places. Radix 2 is the binomial tree.
    """

    ranks: int
    span: int
    radix: int

    @classmethod
    def whole(cls, ranks: int, radix: int = 2) -> Knomial:
        """The tree of so many ranks."""
        span = 1
        while span < ranks:
            span *= radix
        return cls(ranks, span, radix)

    @cached_property
    def children(self) -> Groups:
        """The farthest level first, within a level the nearest."""
        reaches = []
        reach = self.span // self.radix
        while reach >= 1:
            reaches.append(reach)
            reach //= self.radix
        return grouped(child for reach in reaches for child in self._level(reach))

    @cached_property
    def taken(self) -> Groups:
        """The nearest first."""
        found = []
        reach = 1
        while reach < self.span:
            found += self._level(reach)
            reach *= self.radix
        return grouped(found)

    def _level(self, reach: int) -> list[Knomial]:
        left = (min(self.ranks - digit * reach, reach) for digit in range(1, self.radix))
        return [Knomial(ranks, reach, self.radix) for ranks in left if ranks > 0]


@dataclass(frozen=True)
class Kary:
    """Places in the order of levels, ``radix`` below each: every subtree is such a tree of fewer ranks."""

    ranks: int
    radix: int

    @cached_property
    def children(self) -> Groups:
        """From the largest on."""
        return grouped(Kary(ranks, self.radix) for ranks in _heap(self.ranks, self.radix))

    @property
    def taken(self) -> Groups:
        """The children in the same order."""
        return self.children


@dataclass(frozen=True)
class Flat:
    """A root, and everybody else right below it."""

    ranks: int

    @property
    def children(self) -> Groups:
        """All others."""
        return ((Flat(1), self.ranks - 1),) if self.ranks > 1 else ()

    @property
    def taken(self) -> Groups:
        """The same."""
        return self.children


@dataclass(frozen=True)
class Chain:
    """Every rank above one other. Not taken apart: its costs are products."""

    ranks: int

    @property
    def children(self) -> Groups:
        """None that are looked at one by one."""
        return ()

    taken = children


@dataclass(frozen=True)
class Chains:
    """A root, and ``count`` chains below it, as equally long as can be."""

    ranks: int
    count: int

    @cached_property
    def children(self) -> Groups:
        """The longer chains first."""
        count = min(self.count, self.ranks - 1)
        if count == 0:
            return ()
        length, longer = divmod(self.ranks - 1, count)
        return grouped([Chain(length + 1)] * longer + [Chain(length)] * (count - longer))

    @property
    def taken(self) -> Groups:
        """The children in the same order."""
        return self.children


@dataclass(frozen=True)
class Fork:
    """A grid of places, the last extent varying fastest: along the first extent, from every place there along the
    second, and so on.

    ``dimension`` is that of the way to the subtree's root, 0 of the whole tree's; ``left`` how many places
    follow along it.
    """

    ranks: int
    dims: tuple[int, ...]
    dimension: int = 0
    left: int = 0

    @classmethod
    def whole(cls, ranks: int, dims: tuple[int, ...] = ()) -> Fork:
        """The tree of so many ranks; two extents that are as even as can be if none are given."""
        if not dims:
            side = math.isqrt(ranks - 1) + 1
            dims = ((ranks - 1) // side + 1, side)
        return cls(ranks, dims)

    @cached_property
    def children(self) -> Groups:
        """Along the own line first, then along the later extents."""
        own = [self._along(self.dimension, self.left)] if self.dimension and self.left else []
        return grouped(child for child in [*own, *self._across()] if child.ranks > 0)

    @cached_property
    def taken(self) -> Groups:
        """The other way round."""
        own = [self._along(self.dimension, self.left)] if self.dimension and self.left else []
        return grouped(child for child in [*self._across()[::-1], *own] if child.ranks > 0)

    def _across(self) -> list[Fork]:
        dims = range(self.dimension + 1, len(self.dims) + 1)
        return [self._along(d, self.dims[d - 1] - 1) for d in dims if self.dims[d - 1] > 1]

    def _along(self, dimension: int, left: int) -> Fork:
        stride = math.prod(self.dims[dimension:])
        return Fork(min(stride * left, self.ranks - stride), self.dims, dimension, left - 1)


def subtrees(tree: Any) -> list[Any]:
    """All different subtrees, small ones first, the tree itself last."""
    found = {tree: None}
    open_ones = [tree]
    while open_ones:
        for child, _ in open_ones.pop().children:
            if child not in found:
                found[child] = None
                open_ones.append(child)
    return sorted(found, key=lambda shape: int(shape.ranks))


@lru_cache(maxsize=4096)
def _heap(ranks: int, radix: int) -> tuple[int, ...]:
    """Sizes of the subtrees below the root of a tree whose levels are full but the last, which is filled in order."""
    full, width = 0, 1
    while 1 + radix * (full + width) <= ranks:
        full += width
        width *= radix
    last = ranks - 1 - radix * full
    sizes = (full + min(max(last - k * width, 0), width) for k in range(radix))
    return tuple(size for size in sizes if size > 0)


def grouped(children: Iterable[Any]) -> Groups:
    """Children that follow each other and are equal, together."""
    groups: list[tuple[Any, int]] = []
    for child in children:
        if groups and groups[-1][0] == child:
            groups[-1] = (child, groups[-1][1] + 1)
        else:
            groups.append((child, 1))
    return tuple(groups)
