"""Routes: deterministic rules as published, sets of candidates, freedom from deadlock."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from isthmus._core import InvalidInput, Topology, Unsupported

from isthmus import _core
from oracles import channels, families, paths

EXAMPLES = settings(max_examples=30, deadline=None)


def dragonfly_groups(t: Topology, vertices: np.ndarray, routers: int, p: int) -> np.ndarray:
    """Groups of vertices of a dragonfly with `routers` in a group and `p` nodes on each."""
    return np.where(vertices < t.nodes, vertices // (routers * p), (vertices.astype(np.int64) - t.nodes) // routers)


# --- the deterministic routes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", families.FAMILIES)
def test_deterministic_routes_are_walks_of_the_promised_length(family: str) -> None:
    @EXAMPLES
    @given(families.FAMILIES[family])
    def check(t: Topology) -> None:
        a, b = paths.pairs(t)
        result = t.routes(a, b)
        assert paths.lead(t, a, b, result), t.spec
        lengths = np.diff(result[0].astype(np.int64))
        distances = t.distances(a, b)
        assert (lengths >= distances).all()
        assert t.kind == "dragonfly" or (lengths == distances).all()
        for i in range(0, len(a), 1 + len(a) // 40):
            assert t.route(int(a[i]), int(b[i])).tolist() == result[1][result[0][i] : result[0][i + 1]].tolist()
            assert t.route_length(int(a[i]), int(b[i])) == lengths[i]

    check()


def test_walk_check_can_fail() -> None:
    t = _core.grid("torus", [5])
    a, b = paths.pairs(t)
    offsets, links = t.routes(a, b)
    assert not paths.lead(t, b, a, (offsets, links))
    wrong = links.copy()
    wrong[3] = (wrong[3] + 1) % t.links
    assert not paths.lead(t, a, b, (offsets, wrong))


@EXAMPLES
@given(st.lists(st.tuples(st.integers(1, 7), st.booleans()), min_size=1, max_size=3), st.data())
def test_dimension_order_and_its_tie_rule(shape: list[tuple[int, bool]], data: st.DataObject) -> None:
    dims, wrap = [e for e, _ in shape], [w for _, w in shape]
    t = _core.grid("torus", dims, wrap=wrap)
    classes = [name for name, _, _ in t.link_classes]
    for _ in range(12):
        a, b = data.draw(st.integers(0, t.nodes - 1)), data.draw(st.integers(0, t.nodes - 1))
        route = t.route(a, b)
        assert [a, *t.link_ends(route)[:, 1].tolist()] == paths.dimension_order(dims, wrap, a, b)
        # Of the two cables of a ring of two that of the direction is taken, though both lead to the same router.
        ahead = [
            (q - p) % e if w else q - p
            for p, q, e, w in zip(*t.coordinates(np.array([a, b], dtype=np.uint32)).tolist(), dims, wrap, strict=True)
        ]
        for name, (u, v) in zip((classes[c] for c in t.link_class(route)), t.link_ends(route), strict=True):
            axis = "xyzw".index(name[0])
            if dims[axis] == 2 and wrap[axis]:
                even = (int(t.coordinates(np.array([a], dtype=np.uint32))[0][axis]) + sum(ahead) - 1) % 2 == 0
                assert name[1] == ("+" if even else "-"), (u, v)


@pytest.mark.parametrize(
    "dims", [[4, 4, 4], [4, 4], [8, 4, 2], [2, 2, 2, 2, 2], [6, 6], [6, 4, 3], [8], [4, 3, 5], [10, 2]]
)
@pytest.mark.parametrize("a_router", [0, 2])
def test_an_alltoall_loads_both_directions_of_a_torus_alike(dims: list[int], a_router: int) -> None:
    t = _core.grid("torus", dims, p=a_router)
    a, b = paths.pairs(t)
    _, links = t.routes(a, b)
    load = np.bincount(links, minlength=t.links)
    names = np.array([name for name, _, _ in t.link_classes])[t.link_class(np.arange(t.links, dtype=np.uint32))]
    for axis, extent in zip("xyzwv", dims, strict=False):
        plus, minus = load[names == f"{axis}+"], load[names == f"{axis}-"]
        # Every link carries floor(e^2 / 4) / 2 of the e^2 pairs of coordinates, for all pairs of the other dimensions.
        mean = extent**2 // 4 / 2 * t.nodes**2 / extent**2 / (t.nodes / max(a_router, 1) / extent)
        assert plus.sum() == minus.sum() == pytest.approx(mean * plus.size)
        assert plus.max() == minus.max() == pytest.approx(mean)


@pytest.mark.parametrize("dims", [[4], [8], [4, 4], [8, 6, 5]])
def test_a_shift_by_half_of_a_ring_goes_both_ways(dims: list[int]) -> None:
    t = _core.grid("torus", dims)
    ids = np.arange(t.nodes, dtype=np.uint32)
    at = t.coordinates(ids)
    for axis, extent in enumerate(dims):
        if extent % 2:
            continue
        to = at.copy()
        to[:, axis] = (to[:, axis] + extent // 2) % extent
        _, links = t.routes(ids, t.nodes_at(to))
        load = np.bincount(links, minlength=t.links)
        assert load.sum() == t.nodes * extent // 2
        assert load.max() == -(-extent // 4)


def test_ties_in_the_positive_direction_where_that_is_asked_for() -> None:
    t = _core.grid("torus", [4, 2], ties="positive")
    names = [name for name, _, _ in t.link_classes]
    assert t.spec == "torus:4x2,ties=positive"
    for a in range(8):
        assert [names[c] for c in t.link_class(t.route(a, (a + 2) % 4 + a // 4 * 4))] == ["x+", "x+"]
        assert [names[c] for c in t.link_class(t.route(a, (a + 4) % 8))] == ["y+"]
    with pytest.raises(InvalidInput, match="ties = 'negative': must be balanced or positive"):
        _core.grid("torus", [4], ties="negative")


@EXAMPLES
@given(st.lists(st.integers(1, 6), min_size=1, max_size=3), st.data())
def test_translation_keeps_torus_routes(dims: list[int], data: st.DataObject) -> None:
    t = _core.grid("torus", dims)
    ids = np.arange(t.nodes, dtype=np.uint32)
    # Ties go by whether a coordinate is even.
    by = np.array([data.draw(st.integers(0, e - 1)) // (2 - e % 2) * (2 - e % 2) for e in dims])
    moved = t.nodes_at(((t.coordinates(ids) + by) % dims).astype(np.uint32))
    a, b = paths.pairs(t)
    (offsets, links), (moved_offsets, moved_links) = t.routes(a, b), t.routes(moved[a], moved[b])
    assert (offsets == moved_offsets).all()
    assert (moved[t.link_ends(links)] == t.link_ends(moved_links)).all()


@pytest.mark.parametrize("n", [1, 3, 6])
def test_e_cube_corrects_the_lowest_bit_first(n: int) -> None:
    t = _core.hypercube(n)
    for a, b in [(0, t.nodes - 1), (5 % t.nodes, 2 % t.nodes), (t.nodes - 1, t.nodes // 3)]:
        ends = t.link_ends(t.route(a, b))
        bits = [int(u ^ v).bit_length() - 1 for u, v in ends]
        assert bits == [bit for bit in range(n) if (a ^ b) >> bit & 1]


@pytest.mark.parametrize(
    ("m", "w", "parallel"),
    [
        ([2, 2, 2], [1, 2, 2], []),  # k-ary n-trees
        ([3, 3, 3], [1, 3, 3], []),
        ([4, 4], [1, 4], []),
        ([6, 2], [1, 6], []),  # full bisection with fewer roots' children
        ([4, 4], [1, 2], [1, 2]),  # the same bandwidth in parallel cables
        ([4, 8], [1, 1], [1, 4]),
        ([4, 4, 2], [1, 2, 4], [1, 2, 2]),
        ([2, 3, 2], [2, 1, 3], [1, 2, 2]),  # two links from every node
    ],
)
def test_d_mod_k_is_free_of_contention_under_shifts(m: list[int], w: list[int], parallel: list[int]) -> None:
    """Zahavi 2012: on a tree of constant bandwidth a shift loads every cable at most once, both ways."""
    t = _core.fat_tree("xgft", "", m, w, parallel)
    ids = np.arange(t.nodes, dtype=np.uint32)
    for shift in range(1, t.nodes):
        _, links = t.routes(ids, (ids + shift) % t.nodes)
        assert np.bincount(links).max() == 1, shift


def test_contention_check_can_fail() -> None:
    t = _core.fat_tree("xgft", "", [4, 4], [1, 2])  # half of the bandwidth
    ids = np.arange(16, dtype=np.uint32)
    assert np.bincount(t.routes(ids, (ids + 4) % 16)[1]).max() == 2


def test_d_mod_k_gives_every_root_the_same_destinations() -> None:
    t = _core.fat_tree("xgft", "", [4, 4, 4], [1, 4, 4])
    roots: Counter[int] = Counter()
    for b in range(16, 64):
        roots[int(t.link_ends(t.route(0, b))[2, 1])] += 1
    assert len(roots) == 16
    assert set(roots.values()) == {3}
    # All sources reach a destination through one root.
    for b in (17, 63):
        assert len({int(t.link_ends(t.route(a, b))[2, 1]) for a in range(16)}) == 1


@EXAMPLES
@given(families.dragonflies())
def test_dragonfly_takes_at_most_one_global_link(t: Topology) -> None:
    offsets, links = t.routes(*paths.pairs(t))
    is_global = t.link_class(links) == [name for name, _, _ in t.link_classes].index("global")
    before = np.concatenate([[0], np.cumsum(is_global)])
    offsets = offsets.astype(np.int64)
    assert (before[offsets[1:]] - before[offsets[:-1]] <= 1).all()


# --- candidates ---------------------------------------------------------------------------------------------------

SMALL = st.one_of(
    families.grids(most=40), families.cubes(most=32), families.trees(most=40), families.rails(most=40),
    families.dragonfly_pluses(most=40), families.shifts(most=40), families.slim_flies, families.imported(),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(SMALL, st.data())
def test_minimal_candidates_are_all_shortest_routes(t: Topology, data: st.DataObject) -> None:
    a, b = data.draw(st.integers(0, t.nodes - 1)), data.draw(st.integers(0, t.nodes - 1))
    expected = int(paths.count_shortest(t, a)[b])
    if expected > 20_000:
        return
    result = t.candidates(a, b, "minimal", expected + 10)
    routes = paths.split_routes(result)
    assert len({tuple(r) for r in routes}) == len(routes) == expected, t.spec
    assert paths.lead(t, np.full(expected, a), np.full(expected, b), result)
    assert {len(r) for r in routes} == {t.distance(a, b)}
    assert len(paths.split_routes(t.candidates(a, b, "minimal", 1))) == 1
    if expected > 40:
        return
    # Every one of them is drawn; the chance to miss one of probability 1 / (choices at each hop) is below 1e-9.
    least = min(np.prod([len(t.minimal_links(int(v), b)) for v in t.link_ends(np.array(r, dtype=np.uint32))[:, 0]])
                ** -1.0 for r in routes) if a != b else 1.0  # fmt: skip
    draws = paths.split_routes(t.candidates(a, b, "random", int(24 / least) + 1, seed=1))
    assert {tuple(r) for r in draws} == {tuple(r) for r in routes}


@EXAMPLES
@given(families.dragonflies(most=60), st.data())
def test_minimal_candidates_of_a_dragonfly_keep_to_one_global_link(t: Topology, data: st.DataObject) -> None:
    a, b = data.draw(st.integers(0, t.nodes - 1)), data.draw(st.integers(0, t.nodes - 1))
    result = t.candidates(a, b, "minimal", 5000)
    routes = paths.split_routes(result)
    assert paths.lead(t, np.full(len(routes), a), np.full(len(routes), b), result)
    assert {len(r) for r in routes} == {t.route_length(a, b)}
    assert t.route(a, b).tolist() in routes
    is_global = [name for name, _, _ in t.link_classes].index("global")
    assert all((t.link_class(np.array(r, dtype=np.uint32)) == is_global).sum() <= 1 for r in routes)
    drawn = paths.split_routes(t.candidates(a, b, "random", 50))
    assert all(r in routes for r in drawn) or len(routes) == 5000


@pytest.mark.parametrize("name", families.NETWORKS)
def test_valiant_and_ugal(name: str) -> None:
    t = families.NETWORKS[name]()
    a, b, count = 0, t.nodes // 2, 400
    valiant = t.candidates(a, b, "valiant", count, seed=4)
    assert len(valiant[0]) == count + 1
    assert paths.lead(t, np.full(count, a), np.full(count, b), valiant)
    routes = paths.split_routes(valiant)
    assert len({tuple(r) for r in routes}) > 3
    # Detours cost: Valiant routes are longer than minimal ones on the average, but for a tree's.
    assert np.mean([len(r) for r in routes]) > t.distance(a, b) or t.kind == "xgft"
    ugal = paths.split_routes(t.candidates(a, b, "ugal", 9, seed=4))
    assert len(ugal) == 9
    assert all(len(r) == t.route_length(a, b) for r in ugal[:5])
    assert ugal[:5] == paths.split_routes(t.candidates(a, b, "random", 5, seed=4))
    # The same seed gives the same bits, another one other routes.
    again = t.candidates(a, b, "valiant", count, seed=4)
    assert (again[0] == valiant[0]).all()
    assert (again[1] == valiant[1]).all()
    assert paths.split_routes(t.candidates(a, b, "valiant", count, seed=5)) != routes


def test_valiant_routes_of_a_dragonfly_cross_every_third_group() -> None:
    routers, p, g = 4, 2, 9
    t = _core.dragonfly([routers], p, 2, g)
    for b in (1, 3 * routers * p + 5):
        third = Counter()
        for route in paths.split_routes(t.candidates(0, b, "valiant", 400, seed=2)):
            groups = dragonfly_groups(t, t.link_ends(np.array(route, dtype=np.uint32)).ravel(), routers, p)
            between = set(groups.tolist()) - {0, b // (routers * p)}
            assert len(between) == 1
            third[between.pop()] += 1
        expected = set(range(g)) - {0, b // (routers * p)}
        assert set(third) == expected
        # Uniform: each group within five standard deviations.
        mean = 400 / len(expected)
        assert all(abs(count - mean) < 5 * mean**0.5 for count in third.values())


def test_families_without_valiant_say_so() -> None:
    with pytest.raises(Unsupported, match="rail: has no Valiant routing"):
        _core.rail(4, 4).candidates(0, 5, "valiant")
    with pytest.raises(InvalidInput, match="'adaptive': must be minimal, random, valiant or ugal"):
        _core.grid("torus", [4]).candidates(0, 1, "adaptive")


# --- deadlock -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", families.FAMILIES)
def test_no_cycle_of_channels(family: str) -> None:
    @EXAMPLES
    @given(families.FAMILIES[family])
    def check(t: Topology) -> None:
        a, b = paths.pairs(t)
        offsets, links = t.routes(a, b)
        parts = [t.channels(links[i:j]) for i, j in pairwise(offsets)]
        used = np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint8)
        assert used.max(initial=0) < t.virtual_channels(), t.spec
        assert channels.acyclic(offsets, links, used), t.spec

    check()


# A lone ring of four does not: from each router a message of two links goes one way only.
@pytest.mark.parametrize("dims", [[5], [4, 4], [5, 4], [6, 5, 4], [16, 8]])
def test_tori_need_the_dateline(dims: list[int]) -> None:
    t = _core.grid("torus", dims)
    offsets, links = t.routes(*paths.pairs(t))
    assert not channels.acyclic(offsets, links, np.zeros(len(links), dtype=np.int64))
    dateline = np.concatenate([t.channels(links[i:j]) for i, j in pairwise(offsets)])
    assert t.virtual_channels() == 2
    assert channels.acyclic(offsets, links, dateline)


@pytest.mark.parametrize("name", ["dragonfly", "cray-dragonfly"])
def test_dragonflies_need_the_second_local_channel(name: str) -> None:
    t = families.NETWORKS[name]()
    offsets, links = t.routes(*paths.pairs(t))
    assert not channels.acyclic(offsets, links, np.zeros(len(links), dtype=np.int64))


@pytest.mark.parametrize("routing", ["random", "valiant"])
@pytest.mark.parametrize("name", families.NETWORKS)
def test_channels_of_drawn_routes_count_hops(name: str, routing: str) -> None:
    t = families.NETWORKS[name]()
    if t.virtual_channels(routing) == 1:
        return  # trees: up, then down, whatever is drawn
    most = t.virtual_channels(routing)
    for b in range(1, t.nodes):
        for route in paths.split_routes(t.candidates(0, b, routing, 8)):
            used = t.channels(np.array(route, dtype=np.uint32), routing)
            assert (np.diff(used.astype(int)) > 0).all()
            assert used.max(initial=0) < most
