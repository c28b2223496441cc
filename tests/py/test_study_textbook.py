"""Experiments against closed forms and the numbers of textbooks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isthmus
from isthmus.errors import InvalidInput
from isthmus.simulation.network import MODELS
from isthmus.skeletons.multigrid import box
from isthmus.studies import models_page
from isthmus.studies.intensity import place
from isthmus.studies.models import PATTERNS
from isthmus.studies.pairs import partners
from isthmus.studies.parameters import kind_named

IDEAL = "link=10GB/s G=1ps/B g=1ns o=1ns L=1us S=1TB"
DRAGONFLY = f"dragonfly:a=4,p=2,h=2,g=9 {IDEAL}"
TREE = f"fattree:k=4,n=3 {IDEAL}"


def measure(kind: str, **values: Any) -> dict[str, Any]:
    found = kind_named(kind)
    return found.measure({**{p.name: p.default for p in found.parameters}, **values})


@pytest.mark.parametrize("hops", range(1, 9))
def test_every_node_has_a_partner_at_the_distance(hops: int) -> None:
    machine = isthmus.load("bgp-8x8x16")
    partner = partners(machine, hops)
    nodes = np.arange(1024)
    assert np.array_equal(partner[partner], nodes)
    assert np.all(np.asarray(machine.distance(nodes, partner)) == hops)
    # As many messages as hops meet on a link, each way.
    first, links = machine.routes(nodes, partner)
    assert np.bincount(links).max() == hops
    assert len(links) == first[-1] == 1024 * hops


@given(st.lists(st.integers(2, 9), min_size=1, max_size=3), st.integers(1, 8))
@settings(max_examples=40, deadline=None)
def test_partners_or_a_refusal(dims: list[int], hops: int) -> None:
    machine = isthmus.load(f"torus:{'x'.join(map(str, dims))}")
    try:
        partner = partners(machine, hops)
    except InvalidInput:
        return
    nodes = np.arange(machine.nodes)
    assert np.array_equal(partner[partner], nodes)
    assert np.all(np.asarray(machine.distance(nodes, partner)) == hops)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_models_agree_where_nobody_meets(pattern: str) -> None:
    """Messages of one byte occupy no link."""
    found = [measure("models", machine=f"ring:8 {IDEAL}", pattern=pattern, bytes=1, model=m) for m in MODELS]
    assert all(row == found[0] for row in found)
    assert found[0]["messages"] > 0


def test_models_need_messages() -> None:
    with pytest.raises(InvalidInput, match="on 1 nodes no node sends to another"):
        measure("models", machine=f"ring:1 {IDEAL}", pattern="incast", bytes=8, model="flow")


def test_one_after_the_other_and_all_at_once() -> None:
    """63 equal messages over one link: fluids end together, reserved ones on average after half of that."""
    rows = {m: measure("models", machine=TREE, pattern="incast", bytes=2**20, model=m) for m in MODELS}
    assert rows["flow"]["messages"] == 63
    bytes_time = 2**20 / 10e9
    # Without contention the interface and CPU of the receiver take the bytes one after the other, at 1 ps/B.
    assert rows["loggops"]["time"] < 0.02 * 63 * bytes_time
    for model in ("flow", "reserve", "packet"):
        assert rows[model]["time"] == pytest.approx(63 * bytes_time, rel=0.02), model
    assert rows["flow"]["message"] == pytest.approx(63 * bytes_time, rel=0.02)
    assert rows["reserve"]["message"] == pytest.approx(32 * bytes_time, rel=0.02)


def test_differences_between_models() -> None:
    same = {"machine": "ring:8 x", "pattern": "shift", "bytes": 8, "routing": "minimal", "seed": 1, "nodes": 8}
    rows = [
        {**same, "model": model, "time": time, "message": time / 2}
        for model, time in (("loggops", 1.0), ("packet", 2.0), ("flow", 2.5))
    ]
    (case,) = models_page.grouped(rows)
    assert models_page.contention(case) == 2.0
    assert models_page.difference(case, "flow", "packet") == pytest.approx(0.25)
    assert models_page.difference(case, "reserve", "packet") is None
    found = models_page.summarise(rows)
    assert found.findings["regimes"].verdict == "agrees"
    assert "flow where they do (1 cases): median 25.0 %" in found.findings["regimes"].ours
    assert found.rows[0][4:7] == ["2 s", "+25.0 %", ""]


def test_partners_need_a_torus() -> None:
    with pytest.raises(InvalidInput, match="need a torus"):
        partners(isthmus.load("dragonfly-small"), 1)
    with pytest.raises(InvalidInput, match="cannot all be paired"):
        partners(isthmus.load("torus-4x4x4"), 7)


@pytest.mark.parametrize("size", [4, 1200, 2**20])
def test_one_pair_is_flat_but_for_the_hops(size: int) -> None:
    level = isthmus.load("bgp-8x8x16").level.network
    times = [measure("pairs", machine="bgp-8x8x16", traffic="one", hops=n, bytes=size)["latency"] for n in (1, 2, 5, 8)]
    rendezvous = 1 + 2 * (size > level.S)
    for n, time in zip((1, 2, 5, 8), times, strict=True):
        assert time - times[0] == pytest.approx((n - 1) * level.per_hop, rel=1e-6, abs=1e-12) or (
            rendezvous > 1 and 0 <= time - times[0] <= rendezvous * (n - 1) * level.per_hop + 1e-12
        )
    assert times[0] >= level.o_send + level.L + level.o_recv + (size - 1) * level.G - 1e-11


def test_large_messages_slow_down_by_the_hops_and_small_ones_do_not() -> None:
    machine = isthmus.load("bgp-8x8x16")
    link, G = machine.topology.link_classes[0][1], machine.level.network.G
    for hops in (2, 4, 8):
        found = measure("pairs", machine="bgp-8x8x16", hops=hops, bytes=2**24)
        # n messages share a link of which one alone uses 1 / (G x bandwidth).
        assert found["latency"] / found["alone"] == pytest.approx(hops / (G * link), rel=2e-3)
        small = measure("pairs", machine="bgp-8x8x16", hops=hops, bytes=4)
        assert small["latency"] == pytest.approx(small["alone"], rel=0.02)


def test_partition_of_a_machine() -> None:
    found = measure("pairs", machine="bigben", dims="4x4x8", hops=4, bytes=64)
    assert "BigBen" in found["title"]
    with pytest.raises(InvalidInput, match="extents such as 8x8x16"):
        measure("pairs", machine="bigben", dims="4 by 4", bytes=64)


def test_adversarial_traffic_on_a_dragonfly() -> None:
    def accepted(routing: str, load: float) -> float:
        return float(
            measure("traffic", machine=DRAGONFLY, pattern="adversarial", routing=routing, load=load, messages=40)[
                "accepted"
            ]
        )

    # Minimal: the one link between two groups for a p nodes.
    assert accepted("minimal", 1.0) == pytest.approx(1 / (4 * 2), rel=1e-3)
    assert accepted("minimal", 0.1) == pytest.approx(0.1, rel=0.02)
    # Valiant and UGAL: two global links a message.
    assert 0.4 <= accepted("valiant", 1.0) <= 0.52
    assert 0.45 <= accepted("adaptive", 1.0) <= 0.6
    assert accepted("adaptive", 0.3) == pytest.approx(0.3, rel=0.03)


@pytest.mark.parametrize(
    ("machine", "bound"),
    [
        (f"torus:16x4,p=1 {IDEAL} link.terminal=40GB/s", 8 / 16),
        (f"torus:8x8,p=1 {IDEAL} link.terminal=40GB/s", 8 / 8),
        (f"hypercube:6,p=1 {IDEAL} link.terminal=40GB/s", 2.0),
        (TREE, 1.0),
        (DRAGONFLY, 1.0),
    ],
)
def test_uniform_traffic_saturates_at_the_bisection(machine: str, bound: float) -> None:
    below = measure("traffic", machine=machine, load=0.7 * bound, messages=63)
    assert below["bound"] == pytest.approx(bound)
    assert below["accepted"] == pytest.approx(0.7 * bound, rel=0.05)
    over = measure("traffic", machine=machine, load=1.25 * bound, messages=63)
    assert 0.8 * bound <= over["accepted"] <= 1.1 * bound


def test_fat_tree_with_static_routes() -> None:
    for shift in (1, 3, 16, 31, 63):
        found = measure("traffic", machine=TREE, pattern="shift", shift=shift, messages=6)
        assert found["accepted"] == pytest.approx(1.0, rel=1e-3)
    big = f"fattree:k=8,n=3 {IDEAL}"
    halves = [measure("traffic", machine=big, pattern="bisection", seed=s, messages=6)["accepted"] for s in range(4)]
    # Hoefler, Schneider, Lumsdaine 2008: 55 to 60 % of full bisection bandwidth.
    assert 0.53 <= np.mean(halves) <= 0.62


def test_traffic_needs_switches_and_groups() -> None:
    with pytest.raises(InvalidInput, match="give p=1"):
        measure("traffic", machine="torus-4x4x4")
    with pytest.raises(InvalidInput, match="needs a dragonfly"):
        measure("traffic", machine="fattree-k4", pattern="adversarial")


def test_jobs_share_groups_evenly() -> None:
    machine = isthmus.load("dragonfly-small")
    for order in ("block", "random"):
        where = place(machine, 8, 4, 8, order, 1)
        assert len(np.unique(where)) == where.size == 64
        for job in where:
            assert sorted(np.unique(job // 8, return_counts=True)[1]) == [2, 2, 2, 2]
    with pytest.raises(InvalidInput, match="a multiple of groups"):
        place(machine, 8, 3, 1, "block", 1)
    with pytest.raises(InvalidInput, match="has 9 groups"):
        place(machine, 8, 4, 9, "block", 1)
    assert box(360) == (10, 6, 6)


def test_slowdown_grows_with_intensity() -> None:
    found = [
        measure("intensity", machine="dragonfly-small", nodes=8, jobs=8, groups=8, bytes=b)
        for b in (1024, 2**17, 2**22)
    ]  # fmt: skip
    slowdowns, intensities = [f["slowdown"] for f in found], [f["intensity"] for f in found]
    assert slowdowns == sorted(slowdowns)
    assert intensities == sorted(intensities)
    assert slowdowns[0] < 1.05
    assert slowdowns[-1] > 1.5
