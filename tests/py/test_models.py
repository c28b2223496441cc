"""Closed forms of one message, against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isthmus
from isthmus import InvalidInput, Machine, alpha_beta_gamma, wormhole_latency

exact = pytest.approx


def test_wormhole_of_a_blue_gene_p() -> None:
    # Flits of 32 B at 425 MB/s: 75.3 ns per link, whatever the length; 1 KiB takes 2409.4 ns to pass.
    per_link = 32 / 425e6
    assert per_link == exact(75.294e-9, rel=1e-4)
    assert wormhole_latency(0.0, 4, bandwidth=425e6, flit=32.0) == exact(301.176e-9, rel=1e-4)
    assert wormhole_latency(1024.0, 1, bandwidth=425e6, flit=32.0) == exact(2484.7e-9, rel=1e-4)
    # Distance matters for short messages only: 15 more links double 1 KiB less than half, and are 0.1 % of 1 MiB.
    near, far = (wormhole_latency(np.array([32.0, 2.0**20]), hops, bandwidth=425e6, flit=32.0) for hops in (1, 16))
    assert (far / near) == exact([8.5, 1.000458], rel=1e-4)


def test_alpha_beta_gamma() -> None:
    assert alpha_beta_gamma(1000.0, 3, alpha=1e-6, beta=2e-9, gamma=1e-7) == exact(3.3e-6)
    both = alpha_beta_gamma(np.array([0.0, 1e6]), np.array([1, 5]), alpha=1e-6, beta=1e-9, gamma=1e-7)
    assert both == exact([1.1e-6, 1001.5e-6])


def test_message_time_by_hand() -> None:
    machine = Machine.parse(
        "torus:4x4 cores=4 L=1us o_send=200ns o_recv=300ns G=2ns/B O=100ps/B per_hop=50ns "
        "socket.L=100ns socket.o=10ns socket.G=0.1ns/B node.L=200ns node.o=20ns node.G=0.2ns/B"
    )
    # 1 link, 4 links, the same node at both levels.
    assert machine.message_time(0, 0, 1) == exact(1.5e-6)
    assert machine.message_time(1000, 0, 1) == exact(1.5e-6 + 1000 * 2.2e-9)
    assert machine.message_time(1000, 0, 10) == exact(1.5e-6 + 3 * 50e-9 + 1000 * 2.2e-9)
    assert machine.message_time(1000, 5, 5) == exact(240e-9 + 200e-9)
    assert machine.message_time(1000, 5, 5, level="socket") == exact(120e-9 + 100e-9)
    # The level says how near two cores of one node are: between nodes it makes no difference.
    assert machine.message_time(1000, 0, 1, level="socket") == machine.message_time(1000, 0, 1)


def test_message_time_of_catalogue_machines() -> None:
    machine = isthmus.load("cielo")
    p = machine.level.network
    x, y = machine.node_id((0, 0, 0, 0)), machine.node_id((1, 1, 1, 0))
    assert machine.distance(x, y) == 5  # out of the node, three dimensions, into the node
    assert machine.message_time(8, x, y) == exact(2 * 290e-9 + 581e-9 + 4 * p.per_hop + 8 * p.G)
    # A level of noise or rendezvous is no part of the closed form.
    assert machine.message_time(1e6, x, y) == exact(machine.message_time(0, x, y) + 1e6 * p.G)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(st.integers(0, 63), st.integers(0, 63), st.floats(0, 1e12), st.floats(0, 1e12))
def test_message_time_grows_with_bytes_and_hops(a: int, b: int, small: float, large: float) -> None:
    machine = Machine.parse("torus:4x4x4")
    small, large = sorted((small, large))
    assert machine.message_time(small, a, b) <= machine.message_time(large, a, b)
    if a != b:
        nearest = machine.message_time(small, 0, 1)
        hops = machine.distance(a, b)
        assert machine.message_time(small, a, b) == exact(nearest + (hops - 1) * machine.level.network.per_hop)


@pytest.mark.parametrize("size", [-1, float("nan"), float("inf")])
def test_message_sizes_that_are_none(size: float) -> None:
    with pytest.raises(InvalidInput, match="bytes = "):
        Machine.parse("ring:4").message_time(size, 0, 1)


def test_message_time_refuses_other_levels_and_nodes() -> None:
    machine = Machine.parse("ring:4")
    with pytest.raises(InvalidInput, match="'network': must be socket or node"):
        machine.message_time(1, 0, 1, level="network")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="nodes are 0 to 3"):
        machine.message_time(1, 0, 4)
