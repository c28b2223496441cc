"""Allocations: ranks <-> cores of nodes <-> coordinates, both ways, on boxes, lists and random nodes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus import Allocation, InvalidInput, Machine, hostlist, load
from machine_strategies import topologies

quick = settings(max_examples=120, derandomize=True, deadline=None)


@st.composite
def jobs(draw: st.DrawFn) -> Allocation:
    sockets, per_socket = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    numa = sockets * per_socket
    cores = numa * draw(st.integers(1, 3))
    core_order = draw(st.sampled_from(["block", "cyclic"]))
    machine = Machine.parse(f"{draw(topologies)} sockets={sockets} numa={numa} cores={cores} core_order={core_order}")
    options = {"ranks_per_node": draw(st.integers(1, cores)), "order": draw(st.sampled_from(["block", "cyclic"]))}
    how = draw(st.sampled_from(["all", "block", "list", "names", "fraction"]))
    if how == "all":
        return machine.allocate(**options)
    if how == "block":
        first = draw(st.integers(0, machine.nodes - 1))
        return machine.allocate(draw(st.integers(1, machine.nodes - first)), first=first, **options)
    if how == "fraction":
        return machine.allocate(fraction=draw(st.floats(0.01, 1)), seed=draw(st.integers(0, 99)), **options)
    nodes = draw(st.lists(st.integers(0, machine.nodes - 1), min_size=1, max_size=12, unique=True))
    if how == "names":
        return machine.allocate(hostlist.compress(f"node{n}" for n in nodes), **options)
    return machine.allocate(nodes, **options)


@quick
@given(jobs())
def test_ranks_and_cores_both_ways(job: Allocation) -> None:
    ranks = np.arange(job.ranks)
    at = job.location(ranks)
    n = job.machine.node
    assert np.array_equal(at.node, job.node_of(ranks))
    assert np.array_equal(job.rank_at(at.node, at.core), ranks)
    assert at.core.max() < job.ranks_per_node
    # Sockets and domains of a core nest, and every one has its share of cores.
    cores = np.arange(n.cores)
    full = Allocation(job.machine, job.nodes[:1]).location(cores)
    assert np.array_equal(full.core, cores)
    assert np.array_equal(np.bincount(full.socket), [n.cores // n.sockets] * n.sockets)
    assert np.array_equal(np.bincount(full.numa), [n.cores // n.numa] * n.numa)
    assert np.array_equal(full.numa // (n.numa // n.sockets), full.socket)
    assert np.array_equal(
        full.socket, cores // (n.cores // n.sockets) if n.core_order == "block" else cores % n.sockets
    )
    assert np.array_equal(at.socket, full.socket[at.core])
    assert np.array_equal(at.numa, full.numa[at.core])


@quick
@given(jobs())
def test_ranks_and_coordinates_both_ways(job: Allocation) -> None:
    ranks = np.arange(job.ranks)
    coordinates = job.coordinates(ranks)
    assert coordinates.shape == (job.ranks, len(job.dims))
    assert (coordinates < np.array(job.dims)).all()
    assert np.array_equal(job.rank_of(coordinates, job.location(ranks).core), ranks)
    machine = (coordinates.astype(int) + np.array(job.origin)) % np.array(job.machine.topology.dims)
    assert np.array_equal(job.machine.nodes_at(machine), job.node_of(ranks))
    assert job.full == (np.prod(job.dims) == len(job))
    assert all(e == s for e, s, w in zip(job.dims, job.machine.topology.dims, job.wraps, strict=True) if w)
    assert str(job).startswith(f"{len(job):,} node{'' if len(job) == 1 else 's'} of {job.machine.name}, ")


@quick
@given(jobs())
def test_orders(job: Allocation) -> None:
    nodes = job.node_of(np.arange(job.ranks))
    if job.order == "block":
        assert np.array_equal(nodes, np.repeat(job.nodes, job.ranks_per_node))
    else:
        assert np.array_equal(nodes, np.tile(job.nodes, job.ranks_per_node))


@quick
@given(jobs(), st.data())
def test_distance_of_ranks_is_distance_of_nodes(job: Allocation, data: st.DataObject) -> None:
    ranks = st.integers(0, job.ranks - 1)
    a, b = data.draw(ranks), data.draw(ranks)
    assert job.distance(a, b) == job.machine.distance(int(job.node_of(a)), int(job.node_of(b)))
    if a != b and job.order == "block" and a // job.ranks_per_node == b // job.ranks_per_node:
        assert job.distance(a, b) == 0


@quick
@given(st.lists(st.integers(2, 5), min_size=1, max_size=3), st.data())
def test_boxes_wrap_around_a_torus(dims: list[int], data: st.DataObject) -> None:
    machine = Machine.parse(f"torus:{'x'.join(map(str, dims))}")
    origin = [data.draw(st.integers(0, d - 1)) for d in dims]
    box = [data.draw(st.integers(1, d)) for d in dims]
    places = itertools.product(*(range(e) for e in box))
    nodes = machine.nodes_at([[(o + x) % d for o, x, d in zip(origin, place, dims, strict=True)] for place in places])
    job = machine.allocate(nodes)
    assert job.dims == tuple(box)
    assert job.full
    assert job.wraps == tuple(e == d for e, d in zip(box, dims, strict=True))
    assert all(o == (0 if e == d else want) for o, e, d, want in zip(job.origin, box, dims, origin, strict=True))


def test_box_over_the_edge() -> None:
    machine = Machine.parse("torus:8x4 cores=2")
    job = machine.allocate(machine.nodes_at([[6, 0], [7, 0], [0, 0], [1, 0]]))
    assert (job.dims, job.origin, job.wraps, job.full) == ((4, 1), (6, 0), (False, False), True)
    assert job.coordinates([0, 2, 4, 6]).tolist() == [[0, 0], [1, 0], [2, 0], [3, 0]]
    assert job.rank_of([3, 0], 1) == 7
    mesh = Machine.parse("mesh:8x4").allocate([6, 7, 0, 1])
    assert (mesh.dims, mesh.origin, mesh.full) == ((8, 1), (0, 0), False)
    assert mesh.rank_of([4, 0]) == -1


def test_part_of_a_blue_gene() -> None:
    job = load("bgp-8x8x16").allocate(256, first=128, ranks_per_node=2)
    assert (job.dims, job.origin, job.wraps, job.full) == ((8, 8, 4), (0, 0, 2), (True, True, False), True)
    assert job.coordinates(511).tolist() == [7, 7, 3]
    assert job.rank_of([7, 7, 3], 1) == 511
    assert job.ranks == 512
    assert len(job) == 256


def test_cyclic_cores_go_round_the_sockets() -> None:
    machine = Machine.parse("ring:2 sockets=2 numa=4 cores=8 core_order=cyclic")
    at = machine.allocate().location(np.arange(8))
    assert at.socket.tolist() == [0, 1] * 4
    assert at.numa.tolist() == [0, 2, 0, 2, 1, 3, 1, 3]
    block = Machine.parse("ring:2 sockets=2 numa=4 cores=8").allocate().location(np.arange(8))
    assert block.socket.tolist() == [0] * 4 + [1] * 4
    assert block.numa.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_nodelists_keep_their_order() -> None:
    machine = Machine.parse("ring:8 hosts=tux[0-3],login[1-4]")
    assert machine.allocate("login[3-4],tux2").nodes.tolist() == [6, 7, 2]
    with pytest.raises(InvalidInput, match=r"'tux9'.*tux0 to login4"):
        machine.allocate("tux9")
    with pytest.raises(InvalidInput, match="never closed"):
        machine.allocate("tux[0-")
    with pytest.raises(InvalidInput, match="at least one node"):
        machine.allocate("")


def test_random_share_is_of_usable_nodes_and_repeats() -> None:
    cielo = load("cielo")
    one, two, other = (cielo.allocate(fraction=0.5, seed=seed) for seed in (1, 1, 2))
    assert len(one) == cielo.nodes // 2
    assert one.nodes.max() < cielo.nodes
    assert (np.diff(one.nodes.astype(int)) > 0).all()
    assert np.array_equal(one.nodes, two.nodes)
    assert not np.array_equal(one.nodes, other.nodes)
    assert len(cielo.allocate(fraction=1e-9)) == 1
    assert len(cielo.allocate()) == 8944


def test_shapes_follow_the_argument() -> None:
    job = Machine.parse("torus:4x4 cores=2").allocate(8)
    assert job.node_of(3).shape == ()
    assert job.coordinates(np.zeros((2, 3), int)).shape == (2, 3, 2)
    assert job.rank_of(np.zeros((2, 3, 2), int)).shape == (2, 3)
    assert isinstance(job.rank_of((0, 0)), int)
    assert isinstance(job.rank_at(0), int)
    assert job.rank_at([0, 15, 3], [[0], [1], [2]]).tolist() == [[0, -1, 6], [1, -1, 7], [-1, -1, -1]]
    assert job.rank_at(0, -1) == -1
    assert job.rank_of([-1, 0]) == -1


def test_allocations_do_not_change() -> None:
    nodes = np.arange(4, dtype=np.uint32)
    job = Machine.parse("ring:8").allocate(nodes)
    nodes[0] = 7
    assert job.nodes.tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="read-only"):
        job.nodes[0] = 5


@pytest.mark.parametrize(
    ("nodes", "options", "words"),
    [
        (9, {}, ["9 nodes from node 0", "8 usable"]),
        (4, {"first": 5}, ["4 nodes from node 5", "8 usable"]),
        (4, {"first": -1}, ["from node -1"]),
        (0, {}, ["0 nodes"]),
        (None, {"first": 8}, ["0 nodes from node 8"]),
        ([], {}, ["at least one node"]),
        ([1, 1], {}, ["node 1", "twice"]),
        ([0, 8], {}, ["node 8", "0 to 7"]),
        ([-1], {}, ["node -1", "0 to 7"]),
        ([0.5], {}, ["whole"]),
        ("node8", {}, ["'node8'", "node0 to node7"]),
        ("node0,node0", {}, ["node 0", "twice"]),
        ([0], {"first": 1}, ["first = 1", "number of nodes"]),
        (None, {"fraction": 0.0}, ["fraction = 0.0", "up to 1"]),
        (None, {"fraction": 1.5}, ["fraction = 1.5"]),
        (None, {"fraction": float("nan")}, ["fraction = nan"]),
        (None, {"fraction": 0.5, "seed": -1}, ["seed = -1"]),
        (None, {"fraction": 0.5, "first": 2}, ["first = 2"]),
        (4, {"fraction": 0.5}, ["nodes and fraction"]),
        (4, {"ranks_per_node": 3}, ["ranks_per_node = 3", "1 to 2", "cores of a node"]),
        (4, {"ranks_per_node": 0}, ["ranks_per_node = 0", "1 to 2"]),
        (4, {"ranks_per_node": 1.5}, ["ranks_per_node = 1.5", "1 to 2"]),
        (4, {"order": "random"}, ["'random'", "block or cyclic"]),
    ],
)
def test_refused_allocations(nodes: object, options: dict[str, object], words: list[str]) -> None:
    machine = Machine.parse("ring:8 cores=2")
    with pytest.raises(InvalidInput) as caught:
        machine.allocate(nodes, **options)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_refused_questions() -> None:
    job = Machine.parse("torus:4x4 cores=2").allocate(8)
    for ranks in (16, -1, [0, 16], 0.5, "0"):
        with pytest.raises(InvalidInput, match="0 to 15"):
            job.node_of(ranks)
    for coordinates in ([0], [0, 0, 0], 0, [0.5, 0.5]):
        with pytest.raises(InvalidInput, match="2 whole numbers"):
            job.rank_of(coordinates)
    with pytest.raises(InvalidInput, match="nodes are 0 to 15"):
        job.rank_at(16)


def test_nodes_of_a_machine_by_id_name_and_coordinates() -> None:
    machine = Machine.parse("torus:4x4x4")
    assert (
        machine.node_id(63) == machine.node_id("node63") == machine.node_id((3, 3, 3)) == machine.node_id(np.uint32(63))
    )
    for node, words in [
        (64, "nodes are 0 to 63"),
        (-1, "nodes are 0 to 63"),
        (10**30, "nodes are 0 to 63"),
        (1.0, "id, a name or coordinates"),
        (None, "id, a name or coordinates"),
        ("node64", "names are node0 to node63"),
        ("node063", "names are node0 to node63"),
        ("", "names are node0 to node63"),
        ((0, 0), "2 coordinates: torus:4x4x4 has 3"),
        ((), "0 coordinates: torus:4x4x4 has 3"),
        ((0, 0, 4), "must be 0 to 3"),
        ((0, 0, -1), "whole numbers below 4 x 4 x 4"),
        ((0, 0, 2**32), "whole numbers below 4 x 4 x 4"),
        ((0, 0, 0.5), "whole numbers below 4 x 4 x 4"),
    ]:
        with pytest.raises(InvalidInput, match=words):
            machine.node_id(node)


def test_names_of_a_billion_nodes_need_no_list() -> None:
    machine = Machine.parse("debruijn:d=2,k=30")
    assert machine.node_id("node1073741823") == 2**30 - 1
    with pytest.raises(InvalidInput, match="node0 to node1073741823"):
        machine.node_id("node1073741824")
    assert machine.allocate("node[5-8]").nodes.tolist() == [5, 6, 7, 8]
