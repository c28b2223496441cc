"""Hop-bytes are one thing, links of routes: in metrics, in what searches minimise, in bounds, and in the table."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import isthmus
from isthmus import Machine, Pattern, Placement
from isthmus.mapping.bounds import bounds
from isthmus.mapping.graphs import in_groups
from isthmus.mapping.links import routed, tiers
from isthmus.mapping.problem import Problem
from oracles.placing import costs, random_pattern

# Routes longer than shortest paths; routes that are not equally long there and back.
_CASES = ["edison", "dragonfly:a=4,p=2,h=2,g=9", "kautz:d=2,k=3", "debruijn:d=2,k=4"]


def job_of(spec: str, count: int, seed: int) -> isthmus.Allocation:
    machine = isthmus.load(spec)
    if spec != "edison":
        return machine.allocate(fraction=count / machine.nodes, seed=seed, ranks_per_node=1)
    # Nodes some of which reach each other by way of a third group in fewer links than on their route.
    assert (machine.distance(3737, 4504), len(machine.route(3737, 4504))) == (4, 5)
    random = np.random.default_rng(seed).choice(machine.nodes, count - 2, replace=False)
    return machine.allocate(nodes=np.unique([3737, 4504, *random]), ranks_per_node=1)


def problem_of(pattern: Pattern, job: isthmus.Allocation) -> Problem:
    return Problem(pattern, job, np.ones(len(job.nodes), np.uint32))


@pytest.mark.parametrize("spec", _CASES)
def test_what_searches_compare_is_the_metric(spec: str) -> None:
    rng = np.random.default_rng(3)
    job = job_of(spec, 12, 3)
    pattern = random_pattern(rng, 10, 40)
    problem = problem_of(pattern, job)
    for _ in range(20):
        place = rng.permutation(len(job.nodes))[:10].astype(np.uint32)
        placement = Placement(job.machine, job.nodes[place])
        expected = costs(pattern, placement)["hop_bytes"]
        assert problem.hop_bytes(place) == pytest.approx(expected, rel=1e-12)
        assert isthmus.evaluate(pattern, placement).hop_bytes == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("spec", _CASES)
@pytest.mark.parametrize("seed", range(4))
def test_exact_gives_the_least_of_the_printed_hop_bytes(spec: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    job = job_of(spec, 7, seed)
    machine, tasks = job.machine, 5
    ring = np.arange(tasks)
    # Bytes in one direction round a ring: there and back differ most.
    one_way = Pattern.of(tasks, source=ring, target=(ring + 1) % tasks, bytes=rng.integers(1, 100, tasks))
    for pattern in (one_way, random_pattern(rng, tasks, 12)):
        links = np.array([[len(machine.route(a, b)) for b in job.nodes] for a in job.nodes])
        every = np.array(list(itertools.permutations(range(len(job.nodes)), tasks)))
        totals = links[every[:, pattern.sources()], every[:, pattern.peer]] @ pattern.bytes.astype(np.int64)
        mapped = isthmus.map(pattern, job, method="exact")
        assert mapped.metrics.hop_bytes == mapped.best.hop_bytes == totals.min()
        found = bounds(problem_of(pattern, job))
        assert found.one_hop <= found.hop_bytes <= totals.min() * (1 + 1e-9)


def test_an_undirected_edge_counts_half_of_both_routes() -> None:
    machine = Machine.parse("kautz:d=2,k=3")
    pattern = random_pattern(np.random.default_rng(5), 6, 12, symmetric=True)
    mapped = isthmus.map(pattern, machine.allocate(8), method="exact", undirected=True)
    node = mapped.problem.job.nodes[np.array(list(itertools.permutations(range(8), 6)))]
    links = np.array([[len(machine.route(a, b)) for b in range(machine.nodes)] for a in range(machine.nodes)])
    least = (links[node[:, pattern.sources()], node[:, pattern.peer]] @ pattern.bytes.astype(np.int64)).min() / 2
    assert mapped.metrics.hop_bytes == mapped.best.hop_bytes == least


def test_the_table_names_what_hops_are() -> None:
    pattern = Pattern.of(2, source=0, target=1, bytes=1000)
    edison = isthmus.load("edison")
    mapped = isthmus.map(pattern, edison.allocate(nodes=[3737, 4504], ranks_per_node=1), method="default")
    assert in_groups(mapped.problem)
    assert mapped.metrics.hop_bytes == 5000
    assert edison.route_length(3737, [4504, 3737]).tolist() == [5, 0]
    assert "Hops are links of the deterministic routes, some of which are longer than shortest paths" in str(mapped)
    assert "shortest" not in str(isthmus.map(pattern, "ring:4", method="default"))


@pytest.mark.parametrize(
    "spec", ["torus:8x8x7", "mesh:5x4x3", "torus:4x5x4,p=2", "torus:2x3x1x4", "torus:5x4x8,ties=positive", "edison"]
)
def test_bytes_over_links_are_those_of_the_routes(spec: str) -> None:
    topology = isthmus.load(spec).topology
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, topology.nodes, (2, 500)).astype(np.uint32)
    bytes = rng.integers(0, 10**6, 500).astype(np.float64)
    names, of_class = tiers(topology)
    found = routed(topology, a, b, bytes)
    expected, highest = np.zeros(topology.links), []
    for x, y, weight in zip(a, b, bytes, strict=True):
        route = topology.route(int(x), int(y))
        np.add.at(expected, route, weight)
        highest.append(max(of_class[topology.link_class(route)], default=-1))
    assert np.array_equal(found.link_bytes, expected)
    assert np.array_equal(found.length, [len(topology.route(int(x), int(y))) for x, y in zip(a, b, strict=True)])
    assert np.array_equal(found.highest, highest)
    assert found.highest.max() == len(names) - 1
