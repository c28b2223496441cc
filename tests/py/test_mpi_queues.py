"""Queues of MPI in simulations: against closed forms, and against an oracle that counts one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus import Program
from isthmus.errors import InvalidInput
from isthmus.schedule.schedule import OpKind
from isthmus.simulation.queues import Queues, queues

LEVEL = isthmus.Level(L=2e-6, o_send=1e-6, o_recv=0.5e-6, g=1.5e-6, G=1e-9, S=4096)
L, O_SEND, O_RECV, G_MESSAGE, G_BYTE = 2_000_000, 1_000_000, 500_000, 1_500_000, 1_000


def late(n: int, size: int, compute: float = 1e-3) -> Program:
    b = isthmus.ProgramBuilder(2)
    for _ in range(n):
        b.isend(0, 1, size)
    b.waitall(0)
    b.compute(1, compute)
    for _ in range(n):
        b.irecv(1, 0, size)
    b.waitall(1)
    return b.build()


@pytest.mark.parametrize("n", [0, 1, 2, 40])
@pytest.mark.parametrize("size", [0, 1, 900, 4096])
def test_a_late_receiver_of_eager_messages(n: int, size: int) -> None:
    t = isthmus.simulate(late(n, size), LEVEL, record="ops")
    found = queues(t)
    assert (found.messages, found.unexpected) == (n, n)
    assert found.unexpected_most.tolist() == [0, n]
    assert found.held_most.tolist() == [0, n * size]
    bytes = max(size - 1, 0) * G_BYTE
    come = [i * (G_MESSAGE + bytes) + O_SEND + L + bytes for i in range(n)]
    # Each message that was there before is handled before the next receive is posted.
    waiting = sum(1_000_000_000 + i * O_RECV - one for i, one in enumerate(come))
    assert found.unexpected_mean[1] * t.makespan_ps == pytest.approx(waiting, rel=1e-12)
    assert found.held_mean[1] * t.makespan_ps == pytest.approx(waiting * size, rel=1e-12)
    # All come before the processor looks: each needs a buffer, of the only peer.
    assert found.buffered_most.tolist() == found.buffered_by_peer.tolist() == [0, n]
    assert found.peers.tolist() == [min(n, 1)] * 2


def test_requests_of_rendezvous_wait_but_hold_no_bytes() -> None:
    t = isthmus.simulate(late(5, 4097), LEVEL, record="ops")
    found = queues(t)
    assert (found.unexpected_most.tolist(), found.held_most.tolist()) == ([0, 5], [0, 0])
    # All five sends step aside at once; their requests take what messages of no bytes do.
    waiting = 5 * (1_000_000_000 - O_SEND - L)
    assert found.unexpected_mean[1] * t.makespan_ps == pytest.approx(waiting, rel=1e-12)


@pytest.mark.parametrize("n", [1, 6])
def test_receives_that_are_posted_early(n: int) -> None:
    b = isthmus.ProgramBuilder(2)
    for _ in range(n):
        b.irecv(1, 0, 100)
    b.waitall(1)
    b.compute(0, 1e-3)
    for _ in range(n):
        b.send(0, 1, 100)
    t = isthmus.simulate(b.build(), LEVEL, record="ops")
    found = queues(t)
    assert (found.unexpected, found.posted_most.tolist()) == (0, [0, n])
    first = 1_000_000_000 + O_SEND + L + 99 * G_BYTE
    waiting = sum(first + i * (G_MESSAGE + 99 * G_BYTE) for i in range(n))
    assert found.posted_mean[1] * t.makespan_ps == pytest.approx(waiting, rel=1e-12)


def test_many_senders_to_a_late_receiver() -> None:
    b = isthmus.ProgramBuilder(9)
    for rank in range(1, 9):
        b.send(rank, 0, 1000)
        b.send(rank, 0, 24)
    b.compute(0, 1e-3)
    for rank in range(1, 9):
        b.recv(0, rank, 1000)
        b.recv(0, rank, 24)
    found = queues(isthmus.simulate(b.build(), LEVEL, record="ops"))
    assert (found.unexpected_most[0], found.held_most[0]) == (16, 8 * 1024)
    assert (found.buffered_most[0], found.buffered_by_peer[0], found.peers[0]) == (16, 2, 8)


def random_program(seed: int, ranks: int) -> Program:
    """Waves of nonblocking messages, each of any size, with computations between posts."""
    rng = np.random.default_rng(seed)
    b = isthmus.ProgramBuilder(ranks)
    for _ in range(4):
        messages = [(int(x), int(y)) for x, y in rng.integers(0, ranks, (12, 2)) if x != y]
        steps: list[list[tuple[str, int, int]]] = [[] for _ in range(ranks)]
        for sender, receiver in messages:
            size = int(rng.choice([0, 8, 700, 4096, 5000, 90_000]))
            steps[sender].append(("send", receiver, size))
            steps[receiver].append(("recv", sender, size))
        for rank in range(ranks):
            for what, peer, size in steps[rank]:
                b.compute(rank, float(rng.exponential(2e-5)))
                (b.isend if what == "send" else b.irecv)(rank, peer, size)
            b.compute(rank, float(rng.exponential(5e-5)))
            b.waitall(rank)
    return b.build()


def counted(t: isthmus.Timeline, node: list[int]) -> dict[str, Any]:
    """The same one by one: when each message comes, by an interface that takes one after the other, and counts at every
    time at which something changes."""
    schedule, ranks = t.schedule, t.ranks
    levels = (
        [LEVEL, LEVEL] if isinstance(t.machine, isthmus.Level) else [t.machine.level.socket, t.machine.level.network]
    )
    messages = []
    bounds = schedule.op_first.tolist()
    for sender in range(ranks):
        for op in range(bounds[sender], bounds[sender + 1]):
            if schedule.ops["kind"][op] != OpKind.send:
                continue
            receiver, size = int(schedule.ops["peer"][op]), int(schedule.ops["amount"][op])
            far = node[sender] != node[receiver]
            p = levels[far]
            hops = 0
            if far and isinstance(t.machine, isthmus.Machine):
                hops = len(t.machine.route(node[sender], node[receiver])) - 1
            begin = int(t.start_ps[op])
            head = begin + round(p.o_send * 1e12) + round(p.L * 1e12) + hops * round(p.per_hop * 1e12)
            rest = round(max(size - 1, 0) * p.G * 1e12)
            aside = int(t.parked_ps[op]) if len(t.parked_ps) else 0
            posted = int(t.start_ps[t.partner[op]])
            interface = ("node", node[receiver]) if far else ("rank", receiver)
            messages.append(
                {"a": sender, "b": receiver, "size": size, "far": far, "head": head, "rest": rest, "aside": aside,
                 "posted": posted, "handled": int(t.handled_ps[op]), "interface": interface,
                 "gap": round(p.g * 1e12) + rest, "eager": size <= p.S}
            )  # fmt: skip
    free: dict[Any, int] = {}
    for m in sorted(messages, key=lambda m: m["head"]):
        begins = max(m["head"], free.get(m["interface"], 0))
        free[m["interface"]] = begins + m["gap"]
        m["come"] = min(begins + m["rest"], m["handled"])
        if m["aside"]:
            m["come"] = min(m["head"] - m["aside"], m["come"])
    times = sorted({m[key] for m in messages for key in ("come", "posted", "handled")})
    out: dict[str, Any] = {
        name: [0] * ranks
        for name in ("unexpected_most", "held_most", "posted_most", "buffered_most", "buffered_by_peer")
    }
    for time in times:
        for rank in range(ranks):
            mine = [m for m in messages if m["b"] == rank]
            early = [m for m in mine if m["come"] <= time < m["posted"]]
            kept = [m for m in mine if m["far"] and m["come"] <= time < m["handled"]]
            now = {
                "unexpected_most": len(early),
                "held_most": sum(m["size"] for m in early if m["eager"]),
                "posted_most": sum(m["posted"] <= time < m["handled"] for m in mine),
                "buffered_most": len(kept),
                "buffered_by_peer": max((sum(m["a"] == n["a"] for m in kept) for n in kept), default=0),
            }
            for name, value in now.items():
                out[name][rank] = max(out[name][rank], value)
    out["unexpected_mean"] = [
        sum(max(m["posted"] - m["come"], 0) for m in messages if m["b"] == rank) / t.makespan_ps
        for rank in range(ranks)
    ]
    out["unexpected"] = sum(m["posted"] > m["come"] for m in messages)
    out["whole"] = [m["handled"] - m["come"] for m in messages]
    return out


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("spec", [None, "torus:3x2 cores=2"])
def test_random_programs_against_counting(seed: int, spec: str | None) -> None:
    ranks = 6
    program = random_program(seed, ranks)
    if spec is None:
        t = isthmus.simulate(program, LEVEL, record="ops")
        node, found = list(range(ranks)), queues(t)
    else:
        machine = isthmus.load(spec)
        place = machine.allocate(3, ranks_per_node=2)
        t = isthmus.simulate(program, machine, place, record="ops")
        node, found = place.location(np.arange(ranks)).node.tolist(), queues(t, place)
    assert t.deadlock is None
    expected = counted(t, node)
    assert min(expected.pop("whole")) == 0
    for name, value in expected.items():
        got: Any = getattr(found, name)
        assert got == value if name == "unexpected" else got.tolist() == pytest.approx(value, rel=1e-9), name
    assert found.unexpected > 0
    assert found.posted_most.max() > 0


def test_only_recorded_simulations_have_queues() -> None:
    with pytest.raises(InvalidInput, match="queues of messages"):
        queues(isthmus.simulate(late(1, 8), LEVEL))


def test_a_program_without_messages() -> None:
    b = isthmus.ProgramBuilder(3)
    b.compute(None, 1e-6)
    found: Queues = queues(isthmus.simulate(b.build(), LEVEL, record="ops"))
    assert found.messages == found.unexpected == 0
    for none in (found.unexpected_most, found.held_most, found.posted_mean, found.buffered_most, found.peers):
        assert none.tolist() == [0, 0, 0]
