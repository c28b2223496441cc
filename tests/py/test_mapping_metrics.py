"""Metrics of placements, and bounds, against slow oracles and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus
from isthmus import InvalidInput, Pattern, Placement
from isthmus.mapping.bounds import bounds, nearest_slots
from isthmus.mapping.metrics import DEFINITIONS
from isthmus.mapping.problem import Problem
from oracles.placing import all_placements, costs, messages, random_pattern

MACHINES = [
    "torus:4x3x2", "mesh:5x4,p=2 cores=2", "dragonfly:a=4,p=2,h=2,g=3", "fattree:k=4,n=2 cores=3 sockets=3",
    "hyperx:3x3,p=2", "kautz:d=2,k=3", "hypercube:4", "rail:gpus=4,domains=4", "slimfly:q=5",
]  # fmt: skip


@pytest.mark.parametrize("spec", MACHINES)
@pytest.mark.parametrize("seed", range(3))
def test_costs_message_by_message(spec: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    machine = isthmus.Machine.parse(f"{spec} cores=2" if "cores" not in spec else spec)
    ranks = min(machine.cores, 30)
    pattern = random_pattern(rng, ranks, 3 * ranks)
    placement = Placement.of(machine, ranks, "random", seed=seed)
    found = isthmus.evaluate(pattern, placement)
    for name, value in costs(pattern, placement).items():
        assert found.value(name) == pytest.approx(value, rel=1e-12), name
    total = sum(b for _, _, b in messages(pattern))
    assert found.bytes == total
    assert found.average_dilation == found.hops_per_byte == pytest.approx(found.hop_bytes / total)
    assert sum(found.levels.values()) == pytest.approx(total)
    assert found.dilation_bytes.sum() == pytest.approx(total)
    inside = sum(b for u, v, b in messages(pattern) if placement.node[u] == placement.node[v])
    assert found.network_bytes == pytest.approx(total - inside)
    assert sum(c.links for c in found.classes) == machine.topology.links
    assert max(c.maximum for c in found.classes) == found.maximum_link_load
    assert found.time is None


def test_an_undirected_edge_counts_once_and_loads_both_directions() -> None:
    ring = Pattern.of(4, source=[0, 1, 2, 3], target=[1, 2, 3, 0], bytes=10).symmetric()
    placement = Placement(isthmus.Machine.parse("mesh:4"), [0, 1, 2, 3])
    once = isthmus.evaluate(ring, placement, undirected=True)
    assert (once.bytes, once.hop_bytes, once.average_dilation) == (40, 60, 1.5)
    twice = isthmus.evaluate(ring, placement)
    assert (twice.bytes, twice.hop_bytes, twice.average_dilation) == (80, 120, 1.5)
    assert once.maximum_link_load == twice.maximum_link_load == 20
    with pytest.raises(InvalidInput, match="not symmetric: 10 from 0 to 1, but 0 back"):
        isthmus.evaluate(
            Pattern.of(2, source=0, target=1, bytes=10), Placement.of(placement.machine, 2), undirected=True
        )


def test_bytes_by_level() -> None:
    machine = isthmus.Machine.parse("dragonfly:a=4,p=2,h=2,g=9 cores=4 sockets=2")
    # Cores of node 0 on one socket, on two; node 1 on the same router; then the same group; then another one.
    placement = Placement(machine, [0, 0, 0, 1, 2, 8], [0, 1, 2, 0, 0, 0])
    pattern = Pattern.of(6, source=0, target=[1, 2, 3, 4, 5], bytes=[1, 10, 100, 1000, 10000])
    m = isthmus.evaluate(pattern, placement)
    assert m.levels == {"socket": 1, "node": 10, "router": 100, "group": 1000, "global": 10000}
    shared = isthmus.evaluate(Pattern.of(5, source=0, target=4, bytes=7), Placement(machine, [0] * 5))
    assert shared.levels["core"] == 7


def test_link_capacities_count_in_congestion() -> None:
    machine = isthmus.Machine.parse("dragonfly:a=2,p=1,h=1,g=3 link=1GB/s link.global=10MB/s")
    pattern = Pattern.of(2, source=0, target=1, bytes=1000)
    m = isthmus.evaluate(pattern, Placement(machine, [0, 5]))
    assert m.maximum_congestion == pytest.approx(1000 / 10e6)
    assert m.maximum_link_load == 1000


def test_load_imbalance_of_nodes() -> None:
    machine = isthmus.Machine.parse("ring:4 cores=4")
    pattern = Pattern.of(4, source=0, target=1, bytes=1, load=[1.0, 2.0, 3.0, 6.0])
    assert isthmus.evaluate(pattern, Placement(machine, [0, 0, 0, 1])).load_imbalance == pytest.approx(0)
    assert isthmus.evaluate(pattern, Placement(machine, [0, 0, 1, 1])).load_imbalance == pytest.approx(0.5)
    # Without loads, ranks count.
    even = Pattern.of(4, source=0, target=1, bytes=1)
    assert isthmus.evaluate(even, Placement(machine, [0, 0, 0, 1])).load_imbalance == pytest.approx(0.5)


def test_time_of_programs() -> None:
    machine = isthmus.Machine.parse("ring:16")
    work = isthmus.collective("allgather", ranks=16, bytes=1 << 20, algorithm="ring")
    near, far = Placement.of(machine, 16), Placement.of(machine, 16, "random", seed=1)
    times = [isthmus.evaluate(work, p).time for p in (near, far)]
    assert times[0] == isthmus.simulate(work, machine, near, model="flow").makespan
    assert times[1] is not None
    assert times[0] is not None
    assert times[1] > times[0]
    assert isthmus.evaluate(work, near, model=None).time is None
    assert isthmus.evaluate(isthmus.pattern(work), near).time is None


def test_programs_count_collectives_where_asked() -> None:
    b = isthmus.ProgramBuilder(4)
    b.allreduce(None, 8)
    placement = Placement.of(isthmus.Machine.parse("ring:4"), 4)
    assert isthmus.evaluate(b.build(), placement).bytes == 0
    assert isthmus.evaluate(b.build(), placement, collectives={"allreduce": "ring"}).bytes > 0


def test_a_program_that_hangs() -> None:
    b = isthmus.ProgramBuilder(2)
    b.recv(0, 1, 8)
    b.recv(1, 0, 8)
    b.send(0, 1, 8)
    b.send(1, 0, 8)
    with pytest.raises(InvalidInput, match="the program deadlocks"):
        isthmus.evaluate(b.build(), Placement.of(isthmus.Machine.parse("ring:4"), 2))


def test_nothing_is_sent() -> None:
    m = isthmus.evaluate(
        Pattern.of(3, source=[], target=[], bytes=[]), Placement.of(isthmus.Machine.parse("ring:4"), 3)
    )
    assert (m.hop_bytes, m.average_dilation, m.maximum_link_load, m.average_congestion) == (0, 0, 0, 0)
    assert "hop-bytes" in str(m)


def test_wrong_arguments() -> None:
    ring = isthmus.Machine.parse("ring:4")
    pattern = Pattern.of(3, source=0, target=1, bytes=1)
    with pytest.raises(InvalidInput, match="placement has 2 ranks, the pattern 3"):
        isthmus.evaluate(pattern, Placement.of(ring, 2))
    with pytest.raises(InvalidInput, match="must be a Placement"):
        isthmus.evaluate(pattern, ring)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="a Pattern, a Program or a Schedule"):
        isthmus.evaluate("x", Placement.of(ring, 2))  # type: ignore[arg-type]


def test_every_metric_has_a_definition_and_a_source() -> None:
    m = isthmus.evaluate(Pattern.of(2, source=0, target=1, bytes=1), Placement.of(isthmus.Machine.parse("ring:4"), 2))
    for name, d in DEFINITIONS.items():
        assert name in m.json()
        assert d.definition
        assert d.source
    assert DEFINITIONS["hop_bytes"].words in str(m)


# Bounds


def problem(pattern: Pattern, machine: isthmus.Machine) -> Problem:
    return Problem(pattern, machine.allocate(), np.full(machine.nodes, machine.node.cores, np.uint32))


@pytest.mark.parametrize(
    "spec", ["ring:6", "torus:3x2", "mesh:6", "dragonfly:a=2,p=1,h=1,g=3", "mesh:2x2 cores=2", "kautz:d=2,k=2"]
)
@pytest.mark.parametrize("seed", range(2))
def test_no_placement_is_better_than_the_bounds(spec: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    machine = isthmus.Machine.parse(spec)
    pattern = random_pattern(rng, 6, 12, symmetric=True)
    found = bounds(problem(pattern, machine))
    best = [min(found[name] for found in (costs(pattern, p) for p in all_placements(machine, 6))) for name in
            ("hop_bytes", "maximum_link_load")]  # fmt: skip
    assert found.one_hop <= found.degree <= best[0] + 1e-9
    assert found.hop_bytes <= best[0] + 1e-9
    assert found.maximum_link_load <= best[1] + 1e-9
    if spec != "mesh:2x2 cores=2":
        assert found.one_hop > 0


def test_bounds_that_are_reached() -> None:
    # A ring on a ring; a star of 8 on a ring, whose partners are at 1, 1, 2, 2, 3, 3 and 4.
    machine = isthmus.Machine.parse("ring:8")
    rank = np.arange(8)
    ring = bounds(problem(Pattern.of(8, source=rank, target=(rank + 1) % 8, bytes=5), machine))
    assert ring.hop_bytes == pytest.approx(40)
    star = bounds(problem(Pattern.of(8, source=0, target=rank[1:], bytes=1), machine))
    assert (star.one_hop, star.degree) == (7, (16 + 7) / 2)
    complete = Pattern.of(8, source=np.repeat(rank, 8), target=np.tile(rank, 8), bytes=1)
    every = bounds(problem(complete, machine))
    cost = costs(complete, Placement.of(machine, 8))["hop_bytes"]
    assert every.degree == pytest.approx(cost)
    assert every.spectral == pytest.approx(cost, rel=1e-6)


@pytest.mark.parametrize("spec", ["torus:6x4x5", "mesh:6x5", "ring:9", "dragonfly:a=4,p=2,h=2,g=3", "torus:4x3,p=2"])
def test_nearest_slots(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = isthmus.Machine.parse(f"{spec} cores=3")
    p = problem(Pattern.of(2, source=0, target=1, bytes=1), machine)
    nodes = np.arange(machine.nodes)
    sorted_rows = np.sort(machine.route_length(nodes[:, None], nodes[None, :]), axis=1)
    slots = np.repeat(sorted_rows, 3, axis=1)[:, 1:]
    exact = slots.min(axis=0)[:20]
    assert nearest_slots(p, 20).tolist() == exact.tolist()
    # Where there are too many places to look at all, the answer is a bound.
    monkeypatch.setattr("isthmus.mapping.within.PAIRS", 1)
    p = problem(Pattern.of(2, source=0, target=1, bytes=1), machine)
    assert (nearest_slots(p, 20) <= exact).all()
    assert nearest_slots(p, 20)[2] == exact[2]
