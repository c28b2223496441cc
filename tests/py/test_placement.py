"""Placements: ranks on cores of nodes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import isthmus
from isthmus import InvalidInput, Placement


def machine(spec: str = "torus:4x4x2 cores=4 sockets=2") -> isthmus.Machine:
    return isthmus.Machine.parse(spec)


def test_ranks_of_a_node_take_its_cores_in_their_order() -> None:
    p = Placement(machine(), [5, 5, 0, 5, 0])
    assert p.core.tolist() == [0, 1, 0, 2, 1]
    assert p.location.socket.tolist() == [0, 0, 0, 1, 0]
    assert p.nodes.tolist() == [0, 5]
    assert p.ranks_on(5).tolist() == [0, 1, 3]
    assert p.hosts() == ["node5", "node5", "node0", "node5", "node0"]
    assert not p.shared
    assert p.frame()[3] == {"rank": 3, "node": 5, "host": "node5", "socket": 1, "core": 2}


def test_more_ranks_than_cores_share_them() -> None:
    p = Placement(machine(), [1] * 6)
    assert p.core.tolist() == [0, 1, 2, 3, 0, 1]
    assert p.shared


def test_is_immutable_and_a_copy() -> None:
    nodes = np.arange(4)
    p = Placement(machine(), nodes)
    nodes[0] = 3
    assert p.node[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        p.node[0] = 1


def test_equality() -> None:
    p = Placement(machine(), [0, 1], [2, 3])
    assert p == Placement(machine(), np.array([0, 1]), np.array([2, 3]))
    assert p != Placement(machine(), [0, 1])
    assert p != Placement(machine("torus:4x4x2 cores=4"), [0, 1], [2, 3])
    assert p != 5


@pytest.mark.parametrize(
    ("node", "core", "words"),
    [
        ([32], None, "nodes are 0 to 31"),
        ([-1], None, "nodes are 0 to 31"),
        ([0.5], None, "whole numbers"),
        ([0], [4], "cores 0 to 3"),
        ([0], [-1], "core -1"),
        ([0], [0.5], "whole numbers"),
        ([0, 1], [0], "1 cores for 2 ranks"),
    ],
)
def test_wrong_places(node: list[float], core: list[float] | None, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        Placement(machine(), node, core)


def test_orders_of_an_allocation() -> None:
    job = machine().allocate([7, 3, 9], ranks_per_node=2)
    assert Placement.of(job, 5).node.tolist() == [7, 7, 3, 3, 9]
    assert Placement.of(job, 5, "cyclic").node.tolist() == [7, 3, 9, 7, 3]
    assert Placement.of(job, 5, "cyclic").core.tolist() == [0, 0, 0, 1, 1]
    round_robin = machine().allocate([7, 3, 9], ranks_per_node=2, order="cyclic")
    assert Placement.of(round_robin, 6) == Placement.of(job, 6, "cyclic")
    assert Placement.of(round_robin, 6, "block") == Placement.of(job, 6)


@given(st.integers(1, 128), st.sampled_from(["default", "block", "cyclic", "random"]), st.integers(0, 5))
def test_every_order_gives_every_rank_a_core_of_its_own(ranks: int, order: str, seed: int) -> None:
    p = Placement.of(machine(), ranks, order, seed=seed)
    assert p.ranks == ranks
    assert not p.shared
    assert len(p.nodes) <= -(-ranks // 4)
    assert p == Placement.of(machine(), ranks, order, seed=seed)


@given(st.integers(1, 500), st.sampled_from(["block", "cyclic", "random"]))
def test_tasks_that_share_cores_are_spread_evenly(tasks: int, order: str) -> None:
    p = Placement.of(machine().allocate(8), tasks, order, share=True)
    assert np.bincount(p.node, minlength=8).max() <= max(4, -(-tasks // 8))


def test_ranks_that_do_not_fit() -> None:
    with pytest.raises(InvalidInput, match=r"129 ranks do not fit: .* has 128 cores"):
        Placement.of(machine(), 129)
    with pytest.raises(InvalidInput, match="9 ranks do not fit: the allocation has 8 places, 4 on each of 2 nodes"):
        Placement.of(machine().allocate(2), 9)
    with pytest.raises(InvalidInput, match="0 ranks"):
        Placement.of(machine(), 0)
    with pytest.raises(InvalidInput, match="must be one of default, block, cyclic, random"):
        Placement.of(machine(), 1, "snake")
    with pytest.raises(InvalidInput, match="a Machine or an Allocation"):
        Placement.of("torus", 1)  # type: ignore[arg-type]


def test_print_says_who_sits_where() -> None:
    text = str(Placement.of(machine(), 100))
    assert text.splitlines()[0] == "Placement of 100 ranks on 25 nodes of torus:4x4x2, 4 a node"
    assert "ranks 0-7: node0/0 node0/1 node0/2 node0/3 node1/0" in text
    assert text.endswith("36 more ranks")
    assert "1 to 2 a node" in str(Placement(machine(), [0, 0, 1]))


def test_simulate_takes_a_placement() -> None:
    work = isthmus.collective("allgather", ranks=8, bytes=1 << 16, algorithm="ring")
    m = machine()
    near, far = Placement(m, [0, 1, 2, 3, 7, 6, 5, 4]), Placement(m, [0, 10, 1, 11, 2, 12, 3, 13])
    same = isthmus.simulate(work, m, near.node).makespan
    assert isthmus.simulate(work, m, near).makespan == same
    assert isthmus.simulate(work, m, far).makespan > same
    with pytest.raises(InvalidInput, match="placement belongs to another machine"):
        isthmus.simulate(work, machine("torus:4x4x2"), near)
    with pytest.raises(InvalidInput, match="for 8 ranks"):
        isthmus.simulate(work, m, Placement(m, [0]))


def test_cores_of_a_placement_decide_about_sockets() -> None:
    work = isthmus.collective("barrier", ranks=2, algorithm="dissemination")
    m = machine()
    inside = isthmus.simulate(work, m, Placement(m, [0, 0], [0, 1])).makespan
    across = isthmus.simulate(work, m, Placement(m, [0, 0], [0, 2])).makespan
    assert inside < across
