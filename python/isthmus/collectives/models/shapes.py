"""Shapes of trees: of a subtree only its number of ranks and its place in the scheme count, so that few are different."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache


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

    def children(self) -> tuple[Knomial, ...]:
        """The farthest first: the order of a broadcast. Reductions take them the other way around."""
        return _knomial_children(self)


@lru_cache(maxsize=4096)
def _knomial_children(tree: Knomial) -> tuple[Knomial, ...]:
    found = []
    reach = tree.span // tree.radix
    while reach >= 1:
        for digit in range(tree.radix - 1, 0, -1):
            ranks = min(tree.ranks - digit * reach, reach)
            if ranks > 0:
                found.append(Knomial(ranks, reach, tree.radix))
        reach //= tree.radix
    return tuple(found)


@dataclass(frozen=True)
class Flat:
    """A root, and everybody else right below it."""

    ranks: int

    def children(self) -> tuple[Flat, ...]:
        """All others."""
        return (Flat(1),) * (self.ranks - 1)
