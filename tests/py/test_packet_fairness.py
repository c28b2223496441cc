"""The packet model shares links equally between nodes, whatever the number of links that lie behind their packets."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus

# Nothing but the links takes time.
BARE = "link=10GB/s hop=100ns per_hop=100ns L=100ns o=0s g=0s G=0 S=1GiB cores=1"
SIZE = 1_000_000
ALONE = SIZE / 10e9


def finish(
    spec: str,
    flows: list[tuple[int, int]],
    model: str = "packet",
    messages: int = 1,
    start: list[float] | None = None,
    size: int = SIZE,
    bare: str = BARE,
) -> np.ndarray:
    """When the last message of each flow has arrived, in seconds."""
    m = isthmus.Machine.parse(f"{spec} {bare}")
    ranks = max(max(f) for f in flows) + 1
    b = isthmus.ProgramBuilder(ranks)
    for number, (source, target) in enumerate(flows):
        if start is not None:
            b.compute(source, start[number])
        for _ in range(messages):
            b.irecv(target, source, size // messages, tag=number)
            b.isend(source, target, size // messages, tag=number)
    b.waitall(None)
    t = isthmus.simulate(b.build(), m, np.arange(ranks), model=model)
    return np.array([t.finish[target] for _, target in flows])


# Flows that share one link, on which they come from different distances; but for that link nobody is slower.
CASES = {
    "mesh, two": ("mesh:8", [(0, 2), (1, 3)]),
    "mesh, three": ("mesh:8", [(0, 3), (1, 4), (2, 5)]),
    "mesh, backwards": ("mesh:8", [(7, 4), (6, 3), (5, 2)]),
    "mesh, 20": ("mesh:48", [(i, 20 + i) for i in range(20)]),
    "mesh, to one node": ("mesh:12", [(i, 11) for i in range(11)]),
    "mesh of two dimensions": ("mesh:6x6", [(0, 4), (1, 10), (2, 16), (3, 22)]),
    "torus": ("torus:16", [(14, 2), (15, 3), (0, 4)]),
    "torus, to one node": ("torus:8x8", [(4, 0), (5, 0), (6, 0), (7, 0)]),
    "fat tree": ("fattree:k=4,n=3", [(1, 0), (4, 0), (5, 0), (16, 0), (63, 0)]),
    "dragonfly": ("dragonfly:a=4,p=2,h=2,g=9", [(1, 0), (2, 0), (7, 0), (8, 0), (71, 0)]),
    "hypercube": ("hypercube:5", [(16, 0), (24, 0), (28, 0), (30, 0), (31, 0)]),
}


@pytest.mark.parametrize("case", CASES)
def test_flows_from_different_distances_have_equal_shares(case: str) -> None:
    spec, flows = CASES[case]
    end = finish(spec, flows)
    assert end == pytest.approx(np.full(len(flows), finish(spec, flows, "flow").max()), rel=0.01)
    assert end == pytest.approx(np.full(len(flows), len(flows) * ALONE), rel=0.02)


@pytest.mark.parametrize("messages", [10, 400])
def test_shares_are_those_of_nodes_whatever_the_number_of_messages(messages: int) -> None:
    flows = [(0, 3), (1, 4), (2, 5)]
    assert finish("mesh:8", flows, messages=messages) == pytest.approx(3 * ALONE, rel=0.02)


def test_a_flow_that_begins_later_gets_its_share_at_once() -> None:
    # The first has 50 us of the link, then both share it until the first is through after 150 us.
    for flows in ([(0, 2), (1, 3)], [(1, 3), (0, 2)]):
        end = finish("mesh:8", flows, start=[0.0, 50e-6])
        assert end == pytest.approx([150e-6, 200e-6], rel=0.01)


def test_small_buffers_leave_two_flows_equal() -> None:
    m = isthmus.Machine.parse(f"mesh:8 {BARE}")
    b = isthmus.ProgramBuilder(4)
    for source, target in ((0, 2), (1, 3)):
        b.irecv(target, source, SIZE)
        b.isend(source, target, SIZE)
    b.waitall(None)
    t = isthmus.simulate(b.build(), m, np.arange(4), model="packet", packet=isthmus.PacketOptions(buffer=4096))
    assert t.finish[2] == pytest.approx(t.finish[3], rel=0.02)
