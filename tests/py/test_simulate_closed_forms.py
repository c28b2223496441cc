"""Textbook collectives under LogGP: times to the picosecond, and where they go."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isthmus
from oracles import loggops, textbook
from oracles.loggops import Parameters
from oracles.textbook import log2_up, step
from schedule_strategies import level_of, operations_of, schedule_of

BALANCED = Parameters(L=2_500_000, o_send=1_500_000, o_recv=1_500_000, g=1_000_000, G=6000, S=65535)
FAST_RECEIVER = Parameters(L=900_001, o_send=400_003, o_recv=150_007, g=300_000, G=40, S=10**9)
CHEAP_CPU = Parameters(L=5_000_000, o_send=1_000, o_recv=2_000, g=3_000, G=100, S=10**9)
PARAMETERS = pytest.mark.parametrize("p", [BALANCED, FAST_RECEIVER, CHEAP_CPU])
RANKS = pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8, 13, 31, 64, 100])
POWERS = pytest.mark.parametrize("ranks", [1, 2, 4, 8, 32, 128])


def run(kind: str, algorithm: str, ranks: int, size: int, p: Parameters) -> isthmus.Timeline:
    schedule = isthmus.collective(kind, ranks=ranks, bytes=size, algorithm=algorithm)
    schedule.validate()
    t = isthmus.simulate(schedule, level_of(p), record="ranks")
    assert t.deadlock is None
    assert t.makespan == pytest.approx(t.makespan_ps * 1e-12, rel=1e-15)
    return t


def all_ranks(t: isthmus.Timeline, **parts: int) -> None:
    """All ranks finish together, with their time in these parts and no others."""
    assert set(t.finish_ps) == {t.makespan_ps}
    for name, times in t.breakdown_ps.items():
        assert set(times) == {parts.get(name, 0)}, name


@PARAMETERS
@POWERS
@pytest.mark.parametrize("size", [0, 1, 1000])
def test_binomial_broadcast(ranks: int, size: int, p: Parameters) -> None:
    t = run("bcast", "binomial", ranks, size, p)
    depth = log2_up(ranks)
    assert t.makespan_ps == depth * step(p, size)
    assert t.messages == ranks - 1
    assert t.bytes == (ranks - 1) * size
    assert t.breakdown_ps["send_overhead"].sum() == (ranks - 1) * p.o_send
    assert t.breakdown_ps["recv_overhead"].tolist() == [0] + (ranks - 1) * [p.o_recv]
    assert t.breakdown_ps["compute"].sum() == 0
    assert t.breakdown_ps["noise"].sum() == 0
    if ranks > 1:
        # The last rank gets its message in the last step, from one that got its own in the step before.
        waits = {name: int(times[-1]) for name, times in t.breakdown_ps.items()}
        assert waits["late_sender"] == (depth - 1) * step(p, size)
        assert waits["latency"] == p.o_send + p.L
        assert waits["idle"] == 0


@PARAMETERS
@RANKS
def test_dissemination_barrier(ranks: int, p: Parameters) -> None:
    t = run("barrier", "dissemination", ranks, 0, p)
    rounds = log2_up(ranks)
    assert t.makespan_ps == rounds * step(p, 1)
    assert t.messages == rounds * ranks
    all_ranks(t, send_overhead=rounds * p.o_send, recv_overhead=rounds * p.o_recv, latency=rounds * p.L)


@PARAMETERS
@POWERS
@pytest.mark.parametrize("size", [1, 8, 4096])
def test_recursive_doubling_allreduce(ranks: int, size: int, p: Parameters) -> None:
    t = run("allreduce", "recursive_doubling", ranks, size, p)
    rounds = log2_up(ranks)
    assert t.makespan_ps == rounds * step(p, size)
    assert t.bytes == rounds * ranks * size
    network = rounds * p.wire(size)
    all_ranks(t, send_overhead=rounds * p.o_send, recv_overhead=rounds * p.o_recv, gap=network, latency=rounds * p.L)


@POWERS
def test_recursive_doubling_allreduce_with_arithmetic(ranks: int) -> None:
    p, size, per_byte = BALANCED, 4096, 250
    schedule = isthmus.collective("allreduce", ranks=ranks, bytes=size, algorithm="recursive_doubling")
    t = isthmus.simulate(schedule, level_of(p), reduce_rate=per_byte * 1e-12)
    rounds = log2_up(ranks)
    assert t.makespan_ps == rounds * (step(p, size) + size * per_byte)
    assert set(t.breakdown_ps["compute"]) == {rounds * size * per_byte}


@PARAMETERS
@pytest.mark.parametrize("ranks", [2, 3, 5, 8, 9, 16, 64])
@pytest.mark.parametrize("block", [1, 100])
def test_ring_allreduce(ranks: int, block: int, p: Parameters) -> None:
    t = run("allreduce", "ring", ranks, ranks * block, p)
    rounds = 2 * (ranks - 1)
    assert t.makespan_ps == textbook.ring_allreduce_time(p, ranks, ranks * block)
    assert t.messages == rounds * ranks
    assert t.bytes == rounds * ranks * block
    network = rounds * p.wire(block)
    all_ranks(t, send_overhead=rounds * p.o_send, recv_overhead=rounds * p.o_recv, gap=network, latency=rounds * p.L)


@pytest.mark.parametrize("ranks", [4, 8, 16, 64, 128, 257])
def test_linear_alltoall(ranks: int) -> None:
    t = run("alltoall", "linear", ranks, 1, BALANCED)
    assert t.makespan_ps == (2 * ranks - 2) * BALANCED.o_send
    assert t.messages == ranks * (ranks - 1)
    all_ranks(t, send_overhead=(ranks - 1) * BALANCED.o_send, recv_overhead=(ranks - 1) * BALANCED.o_recv)


def test_broadcast_of_many_ranks() -> None:
    """Where LogGOPSim with the unstable sort of its C library is wrong: more than 65 536 ranks."""
    t = run("bcast", "binomial", 2**17, 1, BALANCED)
    assert t.makespan_ps == 93_500_000


collectives = st.sampled_from(
    [
        ("bcast", "binomial"),
        ("barrier", "dissemination"),
        ("allreduce", "recursive_doubling"),
        ("allreduce", "ring"),
        ("alltoall", "linear"),
    ]
)


@settings(max_examples=60, deadline=None)
@given(collectives, st.integers(1, 40), st.integers(0, 200), st.sampled_from([BALANCED, FAST_RECEIVER, CHEAP_CPU]))
def test_collectives_of_any_size_take_what_the_oracle_says(
    what: tuple[str, str], ranks: int, size: int, p: Parameters
) -> None:
    """Sizes that no closed form covers: ranks that are no powers of two, blocks of different lengths."""
    kind, algorithm = what
    schedule = isthmus.collective(kind, ranks=ranks, bytes=size, algorithm=algorithm)
    slow = loggops.simulate(operations_of(schedule), p)
    t = isthmus.simulate(schedule, level_of(p))
    assert slow.stuck == []
    assert t.finish_ps.tolist() == slow.finish


@pytest.mark.parametrize("ranks", [2, 8, 64])
def test_halving_and_doubling(ranks: int) -> None:
    """Two sweeps with messages of half, a quarter, ... of the vector: the schedule is the test's own."""
    size = 65536
    t = isthmus.simulate(schedule_of(textbook.halving_doubling(ranks, size)), level_of(CHEAP_CPU))
    assert t.makespan_ps == textbook.halving_doubling_time(CHEAP_CPU, ranks, size)
