"""The simulator against the slow one, on random schedules: every time, every match, whatever gets stuck."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isthmus
from oracles import loggops, textbook
from oracles.loggops import CALC, GET, PUT, RECV, SEND, Op, Parameters
from schedule_strategies import Limits, Ranks, arbitrary, complete, level_of, parameters, schedule_of, schedules

CLASSIC = Parameters(L=2500, o_send=1500, o_recv=1500, g=1000, G=6, S=65535)
receives = st.sampled_from(["loggp", "loggopsim"])
rates = st.sampled_from([0, 1, 0.5, 2.25])  # ps per byte


def agree(ranks: Ranks, t: isthmus.Timeline, slow: loggops.Result) -> None:
    first = np.cumsum([0, *map(len, ranks)])

    def table(times: dict[tuple[int, int], int]) -> list[int]:
        return [times.get((r, i), -1) for r, ops in enumerate(ranks) for i in range(len(ops))]

    assert t.finish_ps.tolist() == slow.finish
    assert t.makespan_ps == slow.makespan
    assert t.start_ps.tolist() == table(slow.start)
    assert t.end_ps.tolist() == table(slow.end)
    partner = np.full(first[-1], -1)
    for (r, i), (q, j) in slow.pairs:
        partner[first[r] + i], partner[first[q] + j] = first[q] + j, first[r] + i
    assert t.partner.tolist() == partner.tolist()
    stuck = [] if t.deadlock is None else [(w.rank, w.op) for w in t.deadlock.waiting]
    assert sorted(stuck) == sorted(slow.stuck)
    for name, work in slow.work.items():
        assert t.breakdown_ps[name].tolist() == work, name
    # A rank has the streams of its own operations and of the messages it gets.
    streams = [max((op.cpu for op in ops), default=0) + 1 for ops in ranks]
    for op in (op for ops in ranks for op in ops if op.kind == SEND):
        streams[op.peer] = max(streams[op.peer], op.cpu + 1)
    assert sum(t.breakdown_ps.values()).tolist() == [slow.makespan * n for n in streams]
    assert all((times >= 0).all() for times in t.breakdown_ps.values())


def check(ranks: Ranks, p: Parameters, copy: float = 0, reduce: float = 0, receive: str = "loggp") -> loggops.Result:
    slow = loggops.simulate(ranks, p, copy_rate=copy, reduce_rate=reduce, whole=receive == "loggopsim")
    t = isthmus.simulate(
        schedule_of(ranks),
        level_of(p),
        record="ops",
        symmetry=False,
        receive=receive,
        copy_rate=copy * 1e-12,
        reduce_rate=reduce * 1e-12,
    )
    agree(ranks, t, slow)
    return slow


@settings(max_examples=1200, deadline=None)
@given(schedules(complete), parameters(), rates, rates, receives)
def test_schedules_that_run_to_their_end(ranks: Ranks, p: Parameters, copy: float, reduce: float, receive: str) -> None:
    slow = check(ranks, p, copy, reduce, receive)
    assert slow.stuck == []
    assert len(slow.pairs) == sum(op.kind == SEND for ops in ranks for op in ops)


@settings(max_examples=1200, deadline=None)
@given(schedules(arbitrary), parameters(), rates, rates, receives)
def test_schedules_that_may_get_stuck(ranks: Ranks, p: Parameters, copy: float, reduce: float, receive: str) -> None:
    check(ranks, p, copy, reduce, receive)


@settings(max_examples=1000, deadline=None)
@given(schedules(arbitrary, ranks=4, ops=10), parameters(most=2), receives)
def test_small_schedules_full_of_ties(ranks: Ranks, p: Parameters, receive: str) -> None:
    check(ranks, p, receive=receive)


@settings(max_examples=200, deadline=None)
@given(schedules(arbitrary, ranks=3, ops=120), parameters(most=3), receives)
def test_long_queues(ranks: Ranks, p: Parameters, receive: str) -> None:
    check(ranks, p, receive=receive)


@settings(max_examples=300, deadline=None)
@given(schedules(arbitrary, ranks=6, ops=20), st.builds(Parameters, **{
    name: st.integers(0, 10**7) for name in ("L", "o_send", "o_recv", "g", "S")
}, G=st.integers(0, 10**4), O=st.integers(0, 10**4)), receives)  # fmt: skip
def test_large_numbers(ranks: Ranks, p: Parameters, receive: str) -> None:
    for ops in ranks:
        for op in ops:
            op.amount *= 10007
    check(ranks, p, receive=receive)


def test_many_and_distant_dependants() -> None:
    """More than 2^16 dependants of one operation, more than 2^16 dependencies of another, more than 2^15 apart."""
    n = 70_000
    ops = [Op(CALC, 1)]
    ops += [Op(CALC, 0, after=[0], after_start=[i - 40_000] if i > 40_000 else []) for i in range(1, n)]
    ops += [Op(SEND, 1, 0, after=list(range(n))), Op(RECV, 1, 0, after_start=[n])]
    check([ops], Parameters(L=5, o_send=1, o_recv=1))


# --- on machines ------------------------------------------------------------------------------------------------------

MACHINES = [
    "torus:3x2 cores=4 sockets=2 numa=2 nics=2",
    "ring:7 cores=3 nics=1",
    "mesh:4 cores=2 sockets=2 numa=2 nics=2 core_order=cyclic",
    "kautz:d=2,k=2 cores=2 nics=3",  # distances there and back differ
    "dragonfly:a=3,p=1,h=2,g=5 cores=1",
    "hypercube:n=3 cores=4 sockets=4 numa=4 nics=4",
]


def spelled(level: str, p: Parameters) -> str:
    def numbers(p: Parameters) -> list[str]:
        times = [f"{name}={getattr(p, name)}ps" for name in ("L", "o_send", "o_recv", "g")]
        rates = [f"{name}={getattr(p, name)}ps/B" for name in ("G", "O", "O_recv") if getattr(p, name) is not None]
        return [*times, *rates]

    words = [f"{level}.{word}" for word in [*numbers(p), f"S={p.S}B"]]
    if p.pieces:
        pieces = [":".join([f"{piece.above}B", f"after={piece.after}B", *numbers(piece)]) for piece in p.pieces]
        words.append(f"{level}.pieces={';'.join(pieces)}")
    return " ".join(words)


@settings(max_examples=250, deadline=None)
@given(
    st.sampled_from(MACHINES),
    schedules(arbitrary, ranks=10, ops=20),
    st.tuples(parameters(), parameters(), parameters()),
    st.integers(0, 4),
    receives,
    st.data(),
)
def test_schedules_on_machines(
    spec: str,
    ranks: Ranks,
    levels: tuple[Parameters, Parameters, Parameters],
    per_hop: int,
    receive: str,
    data: st.DataObject,
) -> None:
    names = ("socket", "node", "network")
    machine = isthmus.load(
        " ".join([spec, f"per_hop={per_hop}ps", *(spelled(name, p) for name, p in zip(names, levels, strict=True))])
    )
    count, cores, sockets, nics = len(ranks), machine.node.cores, machine.node.sockets, machine.node.nics
    nodes = data.draw(st.lists(st.integers(0, machine.nodes - 1), min_size=count, max_size=count))
    core = [nodes[:r].count(nodes[r]) % cores for r in range(count)]
    socket = [c % sockets if machine.node.core_order == "cyclic" else c // (cores // sockets) for c in core]

    def params(a: int, b: int) -> Parameters:
        if nodes[a] == nodes[b]:
            return levels[0 if socket[a] == socket[b] else 1]
        hops = machine.topology.route_length(nodes[a], nodes[b])
        further = (hops - 1) * per_hop
        pieces = tuple(dataclasses.replace(piece, L=piece.L + further) for piece in levels[2].pieces)
        return dataclasses.replace(levels[2], L=levels[2].L + further, pieces=pieces)

    def interface(rank: int, peer: int, nic: int) -> tuple[str, int, int]:
        """Ranks of a node share its interfaces to other nodes."""
        if nodes[rank] == nodes[peer]:
            return "rank", rank, nic
        return "node", nodes[rank], (core[rank] * nics // cores + nic) % nics

    slow = loggops.simulate(ranks, params, interface=interface, whole=receive == "loggopsim")
    t = isthmus.simulate(schedule_of(ranks), machine, nodes, record="ops", symmetry=False, receive=receive)
    agree(ranks, t, slow)


def test_levels_without_messages_change_nothing() -> None:
    """With one rank on each node, S within nodes decides nothing, not even the order of equal times."""
    spec = "ring:6 cores=1 network.L=0 network.o_send=0 network.o_recv=0 network.g=0 network.G=0 network.S=65535B"
    within = [isthmus.load(f"{spec} socket.S={eager}B node.S={eager}B") for eager in (0, 65535)]
    for seed in range(400):
        ranks = arbitrary(Limits(ranks=6, ops=12, cpus=2, dependencies=1.0), seed)
        for r, ops in enumerate(ranks):
            for op in ops:  # a message of a rank to itself stays within its node
                op.peer = (op.peer + 1) % 6 if op.peer == r else op.peer
        few, many = (
            isthmus.simulate(schedule_of(ranks), m, list(range(6)), record="ops", symmetry=False) for m in within
        )
        assert few.partner.tolist() == many.partner.tolist(), seed


def test_generators_make_what_they_are_meant_to() -> None:
    """Wildcards, rendezvous, deadlocks, unexpected messages, several streams all occur in the schedules above."""
    p = Parameters(L=2, o_send=1, o_recv=1, g=1, G=1, S=4)
    for wildcards in (0.0, 0.1, 1.0):
        limit = Limits(ranks=4, ops=30, cpus=2, nics=2, comms=2, wildcards=wildcards, one_sided=True)
        results = [(r := arbitrary(limit, seed), loggops.simulate(r, p)) for seed in range(60)]
        assert 10 < sum(bool(slow.stuck) for _, slow in results) < 60
        early = late = rendezvous = crossed = 0
        for ranks, slow in results:
            for (r, i), (q, j) in slow.pairs:
                send, recv = ranks[r][i], ranks[q][j]
                waited = slow.end[q, j] - slow.start[q, j]
                early += waited >= p.o_recv
                late += waited == 0
                rendezvous += send.amount > p.S
                crossed += send.cpu != recv.cpu
        assert min(early, late, rendezvous, crossed) > 50
        assert all(not loggops.simulate(complete(limit, seed), p).stuck for seed in range(40))


# --- the slow simulator itself, against closed forms and against LogGOPSim's figures ----------------------------------


@pytest.mark.parametrize(
    ("ranks", "makespan"),
    [
        (textbook.binomial_broadcast(1024, 1), 55_000),
        (textbook.dissemination(1024, 1), 55_000),
        (textbook.linear_alltoall(64, 1), 189_000),
        (textbook.linear_alltoall(64, 4096), 1_894_410),
        (textbook.halving_doubling(64, 65536), 840_072),
        (textbook.halving_doubling(128, 65536), 857_204),
        (textbook.ring_allreduce(8, 65536), 765_044),
        (textbook.ring_allreduce(9, 65536), 786_880),
        (textbook.ring_allreduce(16, 65536), 902_100),
    ],
)
def test_the_oracle_has_the_figures_of_loggopsim(ranks: Ranks, makespan: int) -> None:
    slow = loggops.simulate(ranks, CLASSIC, whole=True)
    assert slow.makespan == makespan
    assert not slow.stuck


def test_the_oracle_by_hand() -> None:
    p = Parameters(L=100, o_send=10, o_recv=20, g=5, G=2, O=1, S=50)
    # Eager: overhead 10 + 3, on the wire till 110, received till 110 + 20 + max(3, 6).
    for whole in (False, True):
        slow = loggops.simulate([[Op(SEND, 4, 1)], [Op(RECV, 4, 0)]], p, whole=whole)
        assert slow.finish == [13, 136]
        assert slow.end == {(0, 0): 13, (1, 0): 136}
        # 20 after the last byte at 116, of which the first 3 before it for the first bytes: a calc has time till 113.
        slow = loggops.simulate(
            [[Op(SEND, 4, 1)], [Op(RECV, 4, 0), Op(CALC, 112), Op(CALC, 1, after=[1])]], p, whole=whole
        )
        assert slow.start[1, 2] == (136 + 2 if whole else 112)
        assert slow.end[1, 0] == (138 if whole else 136)
    # Rendezvous with a receiver that is late: the message begins when the receive is posted, at 1000, its last byte is
    # there at 1000 + 10 + 100 + 100, and after 50 of these the processor can begin with the first ones, for 20 + 50.
    # To LogGOPSim it has been on its way, and its bytes come when the receiver can take them.
    late = [[Op(SEND, 51, 1)], [Op(CALC, 1000), Op(RECV, 51, 0, after=[0])]]
    assert loggops.simulate(late, p, whole=False).finish == [1160, 1230]
    assert loggops.simulate(late, p, whole=True).finish == [1000, 1120]
    # 8 bytes put: overhead 10 + 7, at the target's interface from 110 to 124, known at the origin at 224.
    slow = loggops.simulate([[Op(PUT, 8, 1), Op(CALC, 1, after=[0])], [Op(CALC, 3)]], p)
    assert slow.start[0, 1] == 224
    assert slow.finish == [225, 3]
    # 8 bytes got: request at the target at 110, back from 210 to 224.
    slow = loggops.simulate([[Op(GET, 8, 1), Op(CALC, 1, after=[0])], []], p)
    assert slow.start[0, 1] == 224
    assert slow.finish == [225, 0]
