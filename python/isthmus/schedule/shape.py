"""Regular patterns, recognised for display: grids and their stencils, hypercubes, trees, blocks, stars."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..units import percent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .pattern import Pattern

#: A shape is named where this share of the bytes is between its partners, and this share of its partners do talk.
EXPLAINED, COVERED = 0.75, 0.9
# Partners with so little of the mean number of messages of a shape's pairs do not count as talking.
_RARE = 0.1
# Among shapes that explain about as much, the one with the fewest pairs is named.
_AS_GOOD = 0.1
# Shapes are tried on so many pairs first, those that are nearly good enough there then on all.
_SAMPLE, _NEARLY = 8192, 0.8
# Dimensions of grids, and how many of the most frequent differences between partners may be their strides.
_DIMENSIONS, _STRIDES = 4, 16


@dataclass(frozen=True)
class Shape:
    """A regular pattern that explains most of what ranks send to each other.

    Attributes
    ----------
    kind : {"grid", "hypercube", "tree", "all", "star"}
    name : str
        For people: "3-D torus 4 × 4 × 2, 7-point stencil".
    extents : tuple of int
        Extents of a grid, in the order of MPI_Cart_create: ranks run along the last dimension first. One that runs
        along the first dimension first has the same pairs, with extents reversed. For ``"all"`` within blocks, their
        number and size.
    periodic : tuple of bool
        Whether each dimension of a grid is periodic.
    stencil : int or None
        Points of a grid's stencil, the rank itself included.
    explained : float
        Share of the bytes (of the messages where all are empty) that go between partners of the shape.
    covered : float
        Share of the shape's pairs that do talk.
    one_way : bool
        Most pairs send in one direction only.
    """

    kind: str
    name: str
    extents: tuple[int, ...]
    periodic: tuple[bool, ...]
    stencil: int | None
    explained: float
    covered: float
    one_way: bool

    def __str__(self) -> str:
        way = ", in one direction" if self.one_way else ""
        return f"{self.name}{way} ({_percent(self.explained)} of the bytes)"


def _percent(share: float) -> str:
    """Rounds down, so that only the whole is 100 %."""
    rounded = math.floor(share * 1000) / 1000
    return percent(rounded, 0 if round(rounded * 1000) % 10 == 0 else 1)


@dataclass(frozen=True)
class _Pairs:
    """Pairs a < b of different ranks, both directions added up; ``part`` of them all."""

    ranks: int
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    weight: NDArray[np.float64]
    messages: NDArray[np.float64]
    both: NDArray[np.bool_]
    part: float = 1.0

    @classmethod
    def of(cls, pattern: Pattern) -> _Pairs:
        source, target = pattern.sources().astype(np.int64), pattern.peer.astype(np.int64)
        other = source != target
        source, target = source[other], target[other]
        sizes, messages = (column[other].astype(np.float64) for column in (pattern.bytes, pattern.messages))
        key = np.minimum(source, target) * pattern.ranks + np.maximum(source, target)
        pair, index, directions = np.unique(key, return_inverse=True, return_counts=True)
        weight: NDArray[Any] = np.bincount(index, sizes, len(pair))
        number: NDArray[Any] = np.bincount(index, messages, len(pair))
        if not weight.any():
            weight = number
        return cls(pattern.ranks, pair // pattern.ranks, pair % pattern.ranks, weight, number, directions == 2)

    def sample(self) -> _Pairs:
        """Some of the pairs, by chance but always the same: equal steps might meet one neighbour of a stencil only."""
        if len(self.a) <= _SAMPLE:
            return self
        at = np.sort(np.random.default_rng(1).choice(len(self.a), _SAMPLE, replace=False))
        part = _SAMPLE / len(self.a)
        return _Pairs(self.ranks, self.a[at], self.b[at], self.weight[at], self.messages[at], self.both[at], part)


@dataclass(frozen=True)
class _Candidate:
    """A shape of ``pairs`` pairs, and which of the given pairs belong to it."""

    kind: str
    name: str
    inside: NDArray[np.bool_]
    pairs: int
    extents: tuple[int, ...] = ()
    periodic: tuple[bool, ...] = ()
    stencil: int | None = None


@dataclass(frozen=True)
class _Fit:
    """The fit of a candidate to the pairs."""

    candidate: _Candidate
    explained: float
    covered: float
    score: float

    @classmethod
    def of(cls, candidate: _Candidate, pairs: _Pairs) -> _Fit:
        inside = candidate.inside
        messages = pairs.messages[inside]
        talking = messages >= _RARE * messages.sum() / (candidate.pairs * pairs.part)
        explained = float(pairs.weight[inside].sum() / pairs.weight.sum())
        # Few bytes in many messages are not to be overlooked, such as the corners of a stencil.
        score = min(explained, float(messages.sum() / pairs.messages.sum()))
        covered = float(np.count_nonzero(talking) / (candidate.pairs * pairs.part))
        return cls(candidate, explained, min(covered, 1.0), score)

    def good(self, strictness: float = 1.0) -> bool:
        return self.explained >= strictness * EXPLAINED and self.covered >= strictness * COVERED


#: Makes candidates, for the pairs of a sample and for all.
_Maker = Callable[[_Pairs], Iterable[_Candidate]]


def shape(pattern: Pattern) -> Shape | None:
    """Find the regular pattern in what ranks send to each other.

    Parameters
    ----------
    pattern : Pattern
        Messages of ranks to themselves count nothing.

    Returns
    -------
    Shape or None
        The smallest shape that explains about as much as any, at least three quarters of the bytes; None where none
        does, or where more than a tenth of its pairs do not talk.

    Examples
    --------
    >>> import isthmus
    >>> print(shape(isthmus.Pattern.of(4, source=[0, 1, 2, 3], target=[1, 2, 3, 0], bytes=8)))
    ring of 4 ranks, in one direction (100 % of the bytes)
    """
    pairs = _Pairs.of(pattern)
    if not len(pairs.a):
        return None
    sample = pairs.sample()
    makers = _makers(pairs)
    if sample is not pairs:
        makers = [make for make in makers if any(_Fit.of(one, sample).good(_NEARLY) for one in make(sample))]
    fits = [fit for make in makers for one in make(pairs) if (fit := _Fit.of(one, pairs)).good()]
    if not fits:
        return None
    enough = max(fit.score for fit in fits) - _AS_GOOD
    # Among shapes that are equal on few ranks, the first is the plainest.
    best = min((fit for fit in fits if fit.score >= enough), key=lambda fit: fit.candidate.pairs)
    found = best.candidate
    one_way = float(pairs.both[found.inside].mean()) < 0.5
    return Shape(
        found.kind, found.name, found.extents, found.periodic, found.stencil, best.explained, best.covered, one_way
    )


def _makers(pairs: _Pairs) -> list[_Maker]:
    ranks = pairs.ranks
    makers: list[_Maker] = [_everyone]
    if ranks > 3:
        hub = int(np.bincount(np.concatenate([pairs.a, pairs.b]), minlength=ranks).argmax())
        makers.append(partial(_star, hub))
    if ranks > 8 and ranks & (ranks - 1) == 0:
        makers.append(_hypercube)
    makers += [partial(_grids, extents) for extents in _possible_extents(pairs)]
    if ranks > 3:
        makers.append(_trees)
    makers += [partial(_blocks, size) for size in range(3, ranks // 2 + 1) if ranks % size == 0]
    return makers


def _everyone(pairs: _Pairs) -> Iterator[_Candidate]:
    ranks = pairs.ranks
    name = "both ranks with each other" if ranks == 2 else f"all {ranks} ranks with each other"
    yield _Candidate("all", name, np.ones(len(pairs.a), bool), ranks * (ranks - 1) // 2)


def _star(hub: int, pairs: _Pairs) -> Iterator[_Candidate]:
    name = f"master and workers, rank {hub} with all others"
    yield _Candidate("star", name, (pairs.a == hub) | (pairs.b == hub), pairs.ranks - 1)


def _hypercube(pairs: _Pairs) -> Iterator[_Candidate]:
    dimensions = pairs.ranks.bit_length() - 1
    different = pairs.a ^ pairs.b
    name = f"hypercube (butterfly) of {dimensions} dimensions"
    yield _Candidate("hypercube", name, different & (different - 1) == 0, pairs.ranks * dimensions // 2)


def _trees(pairs: _Pairs) -> Iterator[_Candidate]:
    """Rooted at rank 0, by the parent of each rank."""
    a, b, edges = pairs.a, pairs.b, pairs.ranks - 1
    highest = np.int64(1) << (np.frexp(b.astype(np.float64))[1].astype(np.int64) - 1)
    yield _Candidate("tree", "binomial tree", b & (b - 1) == a, edges)
    yield _Candidate("tree", "binomial tree", b - highest == a, edges)
    for k in range(2, min(9, edges)):
        yield _Candidate("tree", f"tree of {k} children each", (b - 1) // k == a, edges)


def _blocks(size: int, pairs: _Pairs) -> Iterator[_Candidate]:
    """All-to-all within blocks: of neighbours, of ranks at a stride, or within rows and columns."""
    a, b, blocks = pairs.a, pairs.b, pairs.ranks // size
    within = blocks * size * (size - 1) // 2
    row, column = a // size == b // size, a % blocks == b % blocks
    name = f"all-to-all within blocks of {size}"
    yield _Candidate("all", f"{name} neighbours", row, within, (blocks, size))
    yield _Candidate("all", f"{name} ranks {blocks} apart", column, within, (blocks, size))
    if blocks > 2:
        across = size * blocks * (blocks - 1) // 2
        name = f"all-to-all within rows and columns of {blocks} × {size}"
        yield _Candidate("all", name, row | (a % size == b % size), within + across, (blocks, size))


def _possible_extents(pairs: _Pairs) -> list[tuple[int, ...]]:
    """Extents of grids whose strides are among the differences of partners with most messages."""
    ranks = pairs.ranks
    difference, index = np.unique(pairs.b - pairs.a, return_inverse=True)
    number = np.bincount(index, pairs.messages)
    possible = ranks % difference == 0
    frequent = difference[possible][np.argsort(-number[possible], kind="stable")][:_STRIDES]
    if 1 not in frequent:
        return []
    strides = sorted(int(d) for d in frequent if d > 1)
    chains = [
        (1, *chosen, ranks)
        for dimensions in range(1, _DIMENSIONS + 1)
        for chosen in itertools.combinations(strides, dimensions - 1)
    ]
    return [
        tuple(high // low for low, high in itertools.pairwise(chain))[::-1]
        for chain in chains
        if all(high % low == 0 for low, high in itertools.pairwise(chain))
    ]


def _grids(extents: tuple[int, ...], pairs: _Pairs) -> Iterator[_Candidate]:
    """A grid with its stencils: along the dimensions only, along two of them at a time, and so on."""
    dimensions = len(extents)
    distance = np.empty((dimensions, len(pairs.a)), np.int64)
    stride = pairs.ranks
    for k, extent in enumerate(extents):
        stride //= extent
        distance[k] = np.abs(pairs.b // stride % extent - pairs.a // stride % extent)
    long = np.array(extents)[:, None]
    around = (distance == long - 1) & (long > 2)
    near = ((distance <= 1) | around).all(0)
    apart = (distance > 0).sum(0)
    periodic = tuple(
        extent > 2 and _wraps(pairs, near & (apart == 1) & (distance[k] > 0), around[k], extent)
        for k, extent in enumerate(extents)
    )
    near &= ~(around & ~np.array(periodic)[:, None]).any(0)
    for level in range(1, dimensions + 1):
        points = sum(math.comb(dimensions, m) * 2**m for m in range(level + 1))
        yield _Candidate(
            "grid", _grid_name(extents, periodic, points), near & (apart <= level),
            _pairs_of_grid(extents, periodic, level), extents, periodic, points,
        )  # fmt: skip


def _wraps(pairs: _Pairs, along: NDArray[np.bool_], around: NDArray[np.bool_], extent: int) -> bool:
    """Whether the ends of lines along a dimension talk half as much as others on the lines."""
    ends, others = (float(pairs.messages[along & which].sum()) for which in (around, ~around))
    return 2 * ends * (extent - 1) >= others


def _pairs_of_grid(extents: tuple[int, ...], periodic: tuple[bool, ...], level: int) -> int:
    """How many pairs differ by one step in at least one and at most ``level`` dimensions."""
    # Coefficients of the product of (extent + steps x), where x counts the dimensions of a step.
    ways = [1]
    for extent, around in zip(extents, periodic, strict=True):
        steps = 2 * extent if around else 2 * (extent - 1)
        ways = [extent * low + steps * high for low, high in zip([*ways, 0], [0, *ways], strict=True)]
    return sum(ways[1 : level + 1]) // 2


def _grid_name(extents: tuple[int, ...], periodic: tuple[bool, ...], points: int) -> str:
    if len(extents) == 1:
        return f"{'ring' if periodic[0] else 'line'} of {extents[0]} ranks"
    times = " × ".join(map(str, extents))
    long = [k for k, extent in enumerate(extents) if extent > 2]
    around = [k for k in long if periodic[k]]
    kind = "torus" if around and around == long else "grid"
    name = f"{len(extents)}-D {kind} {times}"
    if around and around != long:
        which = " and ".join(str(k + 1) for k in around)
        name += f", periodic in dimension{'s' * (len(around) > 1)} {which}"
    return f"{name}, {points}-point stencil"
