"""Regular patterns are recognised, perturbed ones too, random ones are not."""

from __future__ import annotations

import itertools
import math
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isthmus
from isthmus.schedule.shape import Shape, _pairs_of_grid, shape

Edges = list[tuple[int, int]]


def of(ranks: int, edges: Edges, size: int = 100) -> Shape | None:
    source, target = zip(*edges, strict=True) if edges else ((), ())
    return shape(isthmus.Pattern.of(ranks, source=source, target=target, bytes=size if edges else []))


def grid(extents: tuple[int, ...], periodic: tuple[bool, ...], level: int) -> Edges:
    """Every rank sends to all that are one step away in at least one and at most ``level`` dimensions."""
    out = set()
    for place in np.ndindex(*extents):
        for step in itertools.product((-1, 0, 1), repeat=len(extents)):
            if not 0 < sum(map(abs, step)) <= level:
                continue
            other = [x + s for x, s in zip(place, step, strict=True)]
            inside = all(0 <= o < e or around for o, e, around in zip(other, extents, periodic, strict=True))
            if inside:
                other = [o % e for o, e in zip(other, extents, strict=True)]
                out.add((number(place, extents), number(other, extents)))
    return sorted((a, b) for a, b in out if a != b)


def number(place: Any, extents: tuple[int, ...]) -> int:
    """As MPI_Cart_create numbers ranks."""
    found = 0
    for x, e in zip(place, extents, strict=True):
        found = found * e + x
    return found


def perturbed(random: Random, ranks: int, edges: Edges, most: float) -> Edges:
    """Some edges left out, and some others added."""
    some = int(most * len(edges))
    kept = random.sample(edges, len(edges) - some)
    return kept + [(random.randrange(ranks), random.randrange(ranks)) for _ in range(some)]


GRIDS = [
    ((8,), (True,), 1, "ring of 8 ranks"),
    ((8,), (False,), 1, "line of 8 ranks"),
    ((4, 4), (True, True), 1, "2-D torus 4 × 4, 5-point stencil"),
    ((5, 3), (False, False), 1, "2-D grid 5 × 3, 5-point stencil"),
    ((6, 5), (False, False), 2, "2-D grid 6 × 5, 9-point stencil"),
    ((4, 6), (False, True), 1, "2-D grid 4 × 6, periodic in dimension 2, 5-point stencil"),
    ((4, 2, 2), (True, True, True), 1, "3-D torus 4 × 2 × 2, 7-point stencil"),
    ((2, 2, 2), (False, False, False), 1, "3-D grid 2 × 2 × 2, 7-point stencil"),
    ((3, 4, 5), (False, False, False), 3, "3-D grid 3 × 4 × 5, 27-point stencil"),
    ((4, 4, 4), (False, False, False), 2, "3-D grid 4 × 4 × 4, 19-point stencil"),
    ((5, 4, 4), (True, False, True), 1, "3-D grid 5 × 4 × 4, periodic in dimensions 1 and 3, 7-point stencil"),
    ((3, 4, 5, 2), (False, False, False, False), 1, "4-D grid 3 × 4 × 5 × 2, 9-point stencil"),
]  # fmt: skip


@pytest.mark.parametrize(("extents", "periodic", "level", "name"), GRIDS, ids=[row[-1] for row in GRIDS])
def test_grids(extents: tuple[int, ...], periodic: tuple[bool, ...], level: int, name: str) -> None:
    ranks = math.prod(extents)
    edges = grid(extents, periodic, level)
    found = of(ranks, edges)
    assert found is not None
    assert found.name == name
    assert found.extents == extents
    assert (found.explained, found.covered, found.one_way) == (1, 1, False)
    assert str(found) == f"{name} (100 % of the bytes)"
    if ranks >= 50:
        found = of(ranks, perturbed(Random(3), ranks, edges, 0.04))
        assert found is not None
        assert found.name == name
        assert 0.9 < found.explained < 1
    found = of(ranks, edges, size=0)
    assert found is not None
    assert found.name == name


@given(
    st.lists(st.tuples(st.integers(2, 6), st.booleans()), min_size=1, max_size=4).filter(
        lambda dims: math.prod(e for e, _ in dims) <= 300
    ),
    st.data(),
)
@settings(max_examples=50, deadline=None)
def test_number_of_pairs(dims: list[tuple[int, bool]], data: st.DataObject) -> None:
    """The closed form that decides how much of a grid does talk."""
    extents, periodic = zip(*((e, p and e > 2) for e, p in dims), strict=True)
    level = data.draw(st.integers(1, len(dims)))
    assert _pairs_of_grid(extents, periodic, level) * 2 == len(grid(extents, periodic, level))


def tree(ranks: int, parent: Any) -> Edges:
    return [(r, parent(r)) for r in range(1, ranks)]


ALL = list(itertools.product(range(24), repeat=2))
SHAPES: list[tuple[str, int, Edges]] = [
    ("both ranks with each other", 2, [(0, 1), (1, 0)]),
    ("all 3 ranks with each other", 3, [(0, 1), (1, 2), (2, 0)]),
    ("all 12 ranks with each other", 12, list(itertools.permutations(range(12), 2))),
    ("hypercube (butterfly) of 5 dimensions", 32, [(r, r ^ 1 << k) for r in range(32) for k in range(5)]),
    ("binomial tree", 24, tree(24, lambda r: r & (r - 1))),
    ("binomial tree", 24, tree(24, lambda r: r - (1 << r.bit_length() - 1))),
    ("tree of 2 children each", 31, tree(31, lambda r: (r - 1) // 2)),
    ("tree of 3 children each", 29, tree(29, lambda r: (r - 1) // 3)),
    ("master and workers, rank 0 with all others", 20, tree(20, lambda r: 0)),
    ("master and workers, rank 7 with all others", 20, [(r, 7) for r in range(20)]),
    ("all-to-all within blocks of 4 neighbours", 24, [(a, b) for a, b in ALL if a // 4 == b // 4]),
    ("all-to-all within blocks of 4 ranks 6 apart", 24, [(a, b) for a, b in ALL if a % 6 == b % 6]),
    ("all-to-all within rows and columns of 3 × 8", 24, [(a, b) for a, b in ALL if a // 8 == b // 8 or a % 8 == b % 8]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "ranks", "edges"), SHAPES, ids=[f"{row[0]}, {row[1]}" for row in SHAPES])
def test_shapes(name: str, ranks: int, edges: Edges) -> None:
    found = of(ranks, edges)
    assert found is not None
    assert found.name == name
    assert found.explained == found.covered == 1
    assert found.one_way == (
        len({frozenset(e) for e in edges if e[0] != e[1]}) == len([e for e in edges if e[0] != e[1]])
    )


def test_messages_to_oneself_and_silence() -> None:
    assert of(4, []) is None
    assert of(4, [(0, 0), (3, 3)]) is None
    assert of(1, [(0, 0)]) is None


def test_corners_are_not_overlooked_and_setup_is() -> None:
    """The faces of a stencil have nearly all bytes, but all neighbours get as many messages."""
    faces, all_ = grid((4, 4, 4), (False,) * 3, 1), grid((4, 4, 4), (False,) * 3, 3)
    edges, sizes = zip(*[(e, 10_000 if e in set(faces) else 8) for e in all_], strict=True)
    source, target = zip(*edges, strict=True)
    found = shape(isthmus.Pattern.of(64, source=source, target=target, bytes=sizes, messages=10))
    assert found is not None
    assert found.stencil == 27
    everyone = list(itertools.permutations(range(64), 2))
    source, target = zip(*faces, *everyone, strict=True)
    sizes = [1_000_000] * len(faces) + [8] * len(everyone)
    messages = [1000] * len(faces) + [1] * len(everyone)
    found = shape(isthmus.Pattern.of(64, source=source, target=target, bytes=sizes, messages=messages))
    assert found is not None
    assert found.stencil == 7
    assert 0.99 < found.explained < 1
    assert "99.9 % of the bytes" in str(found)


@given(st.integers(16, 200), st.integers(1, 8), st.integers(0, 10**9))
@settings(max_examples=80, deadline=None)
def test_random_patterns_are_none(ranks: int, partners: int, seed: int) -> None:
    random = Random(seed)
    assert of(ranks, [(r, random.randrange(ranks)) for r in range(ranks) for _ in range(partners)]) is None


@pytest.mark.parametrize("seed", range(4))
def test_relabelled_grids_are_none(seed: int) -> None:
    """A stencil on ranks in random order is not regular any more."""
    order = list(range(64))
    Random(seed).shuffle(order)
    assert of(64, [(order[a], order[b]) for a, b in grid((4, 4, 4), (True,) * 3, 1)]) is None


def test_large_ones_by_a_sample() -> None:
    """More pairs than are tried at first."""
    rank = np.arange(20 * 30 * 40).reshape(20, 30, 40)
    source, target = [], []
    for axis in range(3):
        for step in (1, -1):
            source.append(rank.ravel())
            target.append(np.roll(rank, step, axis).ravel())
    p = isthmus.Pattern.of(rank.size, source=np.concatenate(source), target=np.concatenate(target), bytes=8)
    found = shape(p)
    assert found is not None
    assert found.name == "3-D torus 20 × 30 × 40, 7-point stencil"
    assert (found.explained, found.covered) == (1, 1)
