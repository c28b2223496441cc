"""Topologies against SciPy's graph algorithms, published numbers and all halvings of small networks."""

from __future__ import annotations

from math import comb, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from isthmus._core import InvalidInput, Topology

import isthmus
from isthmus import _core
from oracles import cuts, families, paths

EXAMPLES = settings(max_examples=50, deadline=None)


def check_against_search(t: Topology) -> None:
    """Distances, diameter and average from every vertex to every node; the numbering of links and coordinates."""
    note = t.spec
    hops = paths.hops(t)
    n = t.nodes
    a, b = paths.pairs(t)
    between = hops[:n, :n]
    assert (t.distances(a, b).reshape(n, n) == between).all(), note
    for switch in range(n, t.vertices, 1 + t.switches // 8):
        assert [t.distance(switch, node) for node in range(n)] == hops[switch, :n].tolist(), note
    assert t.diameter() == (between.max(), True), note
    average, exact = t.average_distance()
    assert exact
    assert average == pytest.approx(between.sum() / max(1, n * (n - 1)), rel=1e-12), note

    ends = paths.link_ends(t)
    rows = [t.out_links(v) for v in range(t.vertices)]
    assert sorted(np.concatenate(rows).tolist()) == list(range(t.links)), note
    for v, row in enumerate(rows):
        assert (ends[row, 0] == v).all(), note
        assert (t.neighbours(v) == ends[row, 1]).all()
    classes = t.link_class(np.arange(t.links, dtype=np.uint32))
    assert (classes < len(t.link_classes)).all()
    ids = np.arange(n, dtype=np.uint32)
    coordinates = t.coordinates(ids)
    assert (coordinates < np.array(t.dims)).all()
    assert prod(t.dims) == n
    assert (t.nodes_at(coordinates) == ids).all()


@pytest.mark.parametrize("family", families.FAMILIES)
def test_families_answer_like_searches_of_their_links(family: str) -> None:
    @EXAMPLES
    @given(families.FAMILIES[family])
    def check(t: Topology) -> None:
        check_against_search(t)
        hops = paths.hops(t)[: t.nodes, : t.nodes]
        # Cables carry messages both ways; only words that shift letters in are a directed network.
        if t.kind not in ("kautz", "debruijn"):
            assert (hops == hops.T).all()

    check()


@EXAMPLES
@given(families.dragonflies())
def test_dragonfly_routes_are_shortest_with_one_global_link(t: Topology) -> None:
    n = t.nodes
    a, b = paths.pairs(t)
    offsets, _ = t.routes(a, b)
    assert (np.diff(offsets.astype(np.int64)).reshape(n, n) == paths.hops_with_one_global_link(t)).all(), t.spec


# --- published numbers --------------------------------------------------------------------------------------------


def test_sicortex_is_the_kautz_graph_of_degree_3_and_diameter_6() -> None:
    t = _core.shift("kautz", 3, 6)
    assert t.nodes == 972
    assert {len(t.out_links(v)) for v in range(972)} == {3}
    into = np.bincount(paths.link_ends(t)[:, 1], minlength=972)
    assert (into == 3).all()
    assert t.diameter() == (6, True)
    assert paths.hops(t).max() == 6


@pytest.mark.parametrize("n", range(1, 9))
def test_hypercube_averages(n: int) -> None:
    t = _core.hypercube(n)
    # C(n, k) nodes at distance k of every node.
    exact = sum(k * comb(n, k) for k in range(n + 1)) / (2**n - 1)
    assert t.average_distance() == (pytest.approx(exact, rel=1e-14), True)
    assert t.diameter() == (n, True)
    assert t.bisection()[::2] == (2 ** (n - 1), True)


def test_slim_fly_of_q_5_is_the_hoffman_singleton_graph() -> None:
    t = _core.slimfly(5, 0)
    assert t.nodes == 50
    matrix = paths.adjacency(t).toarray()
    assert (matrix.sum(axis=1) == 7).all()
    # The Moore graph of degree 7: A^2 + A - 6 I = J.
    assert (matrix @ matrix + matrix - 6 * np.eye(50) == 1).all()
    assert t.diameter() == (2, True)


@pytest.mark.parametrize("q", [3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27])
def test_slim_fly_degree_and_diameter(q: int) -> None:
    t = _core.slimfly(q, 0)
    delta = {0: 0, 1: 1, 3: -1}[q % 4]
    matrix = paths.adjacency(t)
    assert t.nodes == 2 * q * q
    assert set(np.diff(matrix.indptr)) == {(3 * q - delta) // 2}  # no parallel links
    assert (matrix != matrix.T).nnz == 0
    assert ((matrix @ matrix + matrix).toarray() > 0).all()  # any two are at most two hops apart


@pytest.mark.parametrize(("k", "n"), [(2, 1), (2, 4), (3, 3), (4, 2), (4, 3)])
def test_k_ary_n_trees(k: int, n: int) -> None:
    t = _core.fat_tree("xgft", "", [k] * n, [1] + [k] * (n - 1))
    assert (t.nodes, t.switches) == (k**n, n * k ** (n - 1))
    assert t.diameter() == (2 * n, True)
    # Full bisection bandwidth: half of the nodes can all talk to the other half.
    assert t.bisection()[0] == k**n // 2


@pytest.mark.parametrize("h", [1, 2, 3, 4])
def test_canonical_dragonfly_has_the_most_groups(h: int) -> None:
    a, p, g = 2 * h, h, 2 * h * h + 1
    t = _core.dragonfly([a], p, h, g)
    assert t.nodes == a * p * g
    assert (t.link_class(np.arange(t.links, dtype=np.uint32)) == 1).sum() == g * (g - 1)  # one link between any groups
    assert max(t.route_length(0, node) for node in range(t.nodes)) == 5
    with pytest.raises(InvalidInput, match=f"g must be at most {g}"):
        _core.dragonfly([a], p, h, g + 1)


def test_longest_minimal_route_of_a_cray_xc_has_seven_links() -> None:
    t = _core.dragonfly([16, 6], 4, 10, 5, links_per_pair=1, parallel=[1, 3])
    assert t.nodes == 5 * 384
    lengths = [t.route_length(0, node) for node in range(t.nodes)]
    assert max(lengths) == 7  # up, two in the group, across, two in the group, down
    assert max(t.distance(0, node) for node in range(t.nodes)) <= 7


def test_dimension_of_two_has_two_cables_on_blue_gene_q() -> None:
    t = _core.grid("torus", [4, 4, 4, 4, 2])
    assert {len(t.out_links(v)) for v in range(t.nodes)} == {10}
    assert t.neighbours(0).tolist().count(256) == 2
    assert len(set(t.neighbours(0).tolist())) == 9
    # Midplane of 512 nodes: 256 links (Chen et al. 2012 count 2 * 512 / 4 in one direction).
    assert t.bisection()[::2] == (256, True)
    # Without wrap, one cable.
    assert _core.grid("mesh", [2]).links == 2


@pytest.mark.parametrize(
    ("dims", "torus", "mesh"),
    [
        ([8], 2, 1),
        ([9], 2, 1),
        ([4, 4], 8, 4),
        ([8, 4], 8, 4),
        ([5, 5], 12, 6),
        ([3, 3, 3], 26, 13),
        ([40, 32, 24], 1536, 768),
    ],
)
def test_bisection_of_grids_as_published(dims: list[int], torus: int, mesh: int) -> None:
    """Leighton for even extents; Efe and Feng, Aroca and Fernández Anta for odd ones: (e^d - 1) / (e - 1)."""
    assert _core.grid("torus", dims).bisection()[::2] == (torus, True)
    assert _core.grid("mesh", dims).bisection()[::2] == (mesh, True)


# --- bisection by brute force -------------------------------------------------------------------------------------


def check_bisection(t: Topology) -> bool:
    """Returns whether the core claimed an exact cut."""
    links, bandwidth = cuts.bisection(t)
    found_links, found_bandwidth, exact = t.bisection()
    said = f"{t.spec} {t.link_classes}: found {t.bisection()}, true {links, bandwidth}"
    assert found_links >= links, said
    assert found_bandwidth >= bandwidth * (1 - 1e-9), said
    if exact:
        assert found_links == links, said
        assert found_bandwidth == pytest.approx(bandwidth, rel=1e-9), said
    return exact


def few_nodes(t: Topology) -> bool:
    return t.nodes <= 9 and t.vertices <= 40


@pytest.mark.parametrize("family", ["shift", "dragonfly", "dragonfly+", "tree", "rail", "imported"])
def test_bisection_is_never_below_the_best_halving(family: str) -> None:
    @settings(max_examples=30, deadline=None)
    @given(families.TINY[family].filter(few_nodes))
    def check(t: Topology) -> None:
        check_bisection(t)

    check()


BANDWIDTHS = st.sampled_from([1e9, 3e9, 5e8])


@st.composite
def unequal(draw: st.DrawFn) -> Topology:
    """Grids and HyperX with a bandwidth of its own per dimension and direction, and at the nodes."""
    dims = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3).filter(lambda d: 2 <= prod(d) <= 10))
    p = draw(st.integers(0, 10 // prod(dims)))
    if draw(st.booleans()):
        wrap = draw(st.lists(st.booleans(), min_size=len(dims), max_size=len(dims)))
        names = [f"{'xyz'[d]}{sign}" for d in range(len(dims)) for sign in "+-"]
        links = [(name, draw(BANDWIDTHS), -1.0) for name in names + ["terminal"] * (p > 0)]
        return _core.grid("torus", dims, wrap=wrap, p=p, links=links)
    parallel = [draw(st.integers(1, 3)) for _ in dims]
    links = [(name, draw(BANDWIDTHS), -1.0) for name in [*"xyz"[: len(dims)]] + ["terminal"] * (p > 0)]
    return _core.hyperx(dims, parallel, p, links=links)


@settings(max_examples=100, deadline=None)
@given(unequal())
def test_bisection_with_unequal_link_classes(t: Topology) -> None:
    check_bisection(t)


SHAPES = [[1], [2], [3], [4], [5], [7], [9], [2, 2], [3, 2], [3, 3], [4, 2], [5, 2], [2, 2, 2], [3, 2, 2], [4, 3]]


@pytest.mark.parametrize(
    ("dims", "p"), [(d, p) for d in SHAPES for p in range(4) if prod(d) * max(1, p) <= (10 if p else 12)]
)
def test_bisection_of_small_grids_and_all_to_all(dims: list[int], p: int) -> None:
    n = prod(dims)
    for t in (_core.grid("torus", dims, p=p), _core.grid("mesh", dims, p=p), _core.hyperx(dims, p=p)):
        exact = check_bisection(t)
        # Proved where the node is the router, and for every even extent however many nodes there are.
        assert exact or (p > 0 and n % 2 == 1) or (p > 0 and max(dims) % 2 == 1 and t.kind != "hyperx"), t.spec


def test_nodes_of_an_odd_router_and_terminal_links_count() -> None:
    # Three routers of two nodes: the middle router's nodes are split, or a router follows one of its nodes.
    assert _core.grid("mesh", [3], p=2).bisection()[0] == 2
    assert _core.hyperx([3], p=5).bisection()[0] == 4
    # A full mesh with one node a router: cutting half of the nodes off is cheaper than 4 * 4 links.
    assert _core.hyperx([8], p=1).bisection()[::2] == (4, True)
    assert _core.hyperx([8], p=4).bisection()[::2] == (16, True)
    # Bandwidths decide as well: slow terminal links bound what leaves a half.
    slow = _core.grid("torus", [8, 8], p=1, links=[("terminal", 1e8, -1.0)])
    assert slow.bisection() == (16, pytest.approx(32 * 1e8), True)


def test_large_odd_bounds_hold() -> None:
    """More links than the search is given: the formula of the dragonfly+ must be a cut that exists."""
    leaves, spines, p, groups = 45, 40, 3, 31
    t = _core.dragonfly_plus(leaves, spines, p, 1, groups)
    assert t.links > 100_000
    links, _, exact = t.bisection()
    assert not exact
    # Fifteen groups and half of the leaves of the sixteenth, the odd leaf's nodes split, all its spines on the other
    # side.
    side = np.ones(t.vertices, dtype=bool)
    side[: p * leaves * 15] = False
    side[p * leaves * 15 : p * leaves * 15 + p * (leaves // 2) + p // 2] = False
    leaf = t.nodes + np.arange(leaves * groups)
    side[leaf[: leaves * 15 + leaves // 2]] = False
    spine = t.nodes + leaves * groups + np.arange(spines * groups)
    side[spine[: spines * 15]] = False
    ends = paths.link_ends(t)
    assert (~side[: t.nodes]).sum() == t.nodes // 2
    assert links == (~side[ends[:, 0]] & side[ends[:, 1]]).sum()


def test_networks_too_large_to_search_answer_at_once_or_say_so() -> None:
    large = _core.shift("debruijn", 2, 26)
    mean, exact = large.average_distance()
    # Almost all words of a de Bruijn graph are as far as they can be: 26 - 2 + small.
    assert not exact
    assert 24 < mean < 26
    links, _, exact = _core.shift("debruijn", 2, 20).bisection()
    # Halves by number cut every word whose first two letters differ, which is half of one word in two.
    assert (links, exact) == (2**19, False)
    with pytest.raises(NotImplementedError, match="too many to search"):
        _core.shift("debruijn", 2, 30).bisection()
    with pytest.raises(NotImplementedError, match="too many to search"):
        _core.dragonfly([1000], 1, 4, 4000).diameter()


def test_dragonflies_with_very_many_ports_answer_at_once_or_say_so() -> None:
    for routers in ([4, 2], [2]):
        with pytest.raises(InvalidInput, match="global links; at most"):
            _core.dragonfly(routers, 2, 1 << 31, 2)
    with pytest.raises(InvalidInput, match="links = 4294967295 to each of 2 groups"):
        _core.dragonfly([4], 2, 1, 3, links_per_pair=(1 << 32) - 1)
    # Tables of routes would take a minute.
    large = _core.dragonfly([4, 992], 2, 1, 3, arrangement="relative")
    assert 1 <= large.distance(0, large.nodes - 1) <= 7


def test_distance_broadcasts() -> None:
    t = isthmus.load("dragonfly:a=4,p=2,h=2,g=9").topology
    nodes = np.arange(t.nodes)
    table = t.distance(nodes[:, None], nodes)
    assert table.shape == (t.nodes, t.nodes)
    assert table.dtype == np.uint32
    assert table[5, 9] == t.distance(5, 9) == t.distance(np.int64(5), np.uint8(9))
    assert isinstance(t.distance(np.int64(5), 9), int)
    assert (t.distance([1, 2, 3], 0) == table[1:4, 0]).all()
    assert t.distance(nodes[:0], 3).shape == (0,)
    for wrong in (-1, t.nodes, 2**40):
        with pytest.raises(isthmus.InvalidInput, match=f"node {wrong} of dragonfly"):
            t.distance([0, wrong], 3)
    with pytest.raises(isthmus.InvalidInput, match="whole numbers, not float64"):
        t.distance([0.5], 3)
    with pytest.raises(ValueError, match="broadcast"):
        t.distance([0, 1], [0, 1, 2])
