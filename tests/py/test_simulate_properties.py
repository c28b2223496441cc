"""What any simulation must keep: under relabelling, scaling, threads, folding of symmetric ranks, and detail."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isthmus
from oracles import loggops, textbook
from oracles.loggops import CALC, RECV, SEND, Op, Parameters
from schedule_strategies import (
    Limits,
    Ranks,
    arbitrary,
    complete,
    level_of,
    limits,
    parameters,
    schedule_of,
    schedules,
    symmetric,
)

SOME = Parameters(L=2500, o_send=1500, o_recv=1300, g=1000, G=6, O=1, S=3)
EXAMPLES = settings(max_examples=150, deadline=None)
COLLECTIVES = {
    "broadcast": textbook.binomial_broadcast,
    "dissemination": textbook.dissemination,
    "halving_doubling": textbook.halving_doubling,
    "ring": textbook.ring_allreduce,
    "alltoall": textbook.linear_alltoall,
}


def same(a: isthmus.Timeline, b: isthmus.Timeline, ops: bool = False) -> None:
    assert a.finish_ps.tolist() == b.finish_ps.tolist()
    assert (a.makespan_ps, a.messages, a.bytes) == (b.makespan_ps, b.messages, b.bytes)
    assert (a.deadlock is None) == (b.deadlock is None)
    for name, times in a.breakdown_ps.items():
        assert times.tolist() == b.breakdown_ps[name].tolist(), name
    if ops:
        for one, other in ((a.start_ps, b.start_ps), (a.end_ps, b.end_ps), (a.partner, b.partner)):
            assert one.tolist() == other.tolist()


# --- relabelling ------------------------------------------------------------------------------------------------------


def without_ties(ranks: int, messages: int, random: Random) -> Ranks:
    """Every rank does one thing after another, with a long random calc before each: no two events at one time."""
    out: Ranks = [[] for _ in range(ranks)]

    def append(rank: int, op: Op) -> None:
        for new in (Op(CALC, random.randrange(10**12)), op):
            new.after = [len(out[rank]) - 1] if out[rank] else []
            out[rank].append(new)

    for tag in range(messages):
        source, target = random.sample(range(ranks), 2)
        size = random.randrange(10**6)
        append(source, Op(SEND, size, target, tag))
        append(target, Op(RECV, size, source, tag))
    return out


@EXAMPLES
@given(st.integers(2, 8), st.integers(0, 40), st.integers(0, 2**32))
def test_names_of_ranks_do_not_matter(ranks: int, messages: int, seed: int) -> None:
    random = Random(seed)
    schedule = schedule_of(without_ties(ranks, messages, random))
    order = random.sample(range(ranks), ranks)
    level = level_of(dataclasses.replace(SOME, G=1009, S=random.choice([0, 500_000, 10**6])))
    a = isthmus.simulate(schedule, level)
    b = isthmus.simulate(schedule.relabel(order), level)
    assert a.deadlock is None
    assert b.finish_ps[order].tolist() == a.finish_ps.tolist()
    for name, times in a.breakdown_ps.items():
        assert b.breakdown_ps[name][order].tolist() == times.tolist()


@pytest.mark.parametrize("name", ["broadcast", "dissemination", "halving_doubling", "ring"])
def test_names_of_ranks_do_not_matter_to_collectives(name: str) -> None:
    random = Random(5)
    schedule = schedule_of(COLLECTIVES[name](32, 4096))
    a = isthmus.simulate(schedule, level_of(SOME))
    for _ in range(5):
        order = random.sample(range(32), 32)
        b = isthmus.simulate(schedule.relabel(order), level_of(SOME))
        assert b.finish_ps[order].tolist() == a.finish_ps.tolist()


# --- scaling ----------------------------------------------------------------------------------------------------------


@EXAMPLES
@given(schedules(arbitrary), parameters(), st.integers(2, 1000))
def test_times_scale(ranks: Ranks, p: Parameters, factor: int) -> None:
    def times(p: Parameters, change: Callable[[float], float]) -> Parameters:
        names = ("L", "o_send", "o_recv", "g", "G", "O", "O_recv")
        new = {name: change(getattr(p, name)) for name in names if getattr(p, name) is not None}
        return dataclasses.replace(p, **new, pieces=tuple(times(piece, change) for piece in p.pieces))

    p = times(p, round)  # nothing to round
    a = isthmus.simulate(schedule_of(ranks), level_of(p), record="ops", copy_rate=2e-12, reduce_rate=1e-12)
    for ops in ranks:
        for op in ops:
            op.amount *= factor if op.kind == CALC else 1
    slower = times(p, lambda time: time * factor)
    b = isthmus.simulate(
        schedule_of(ranks),
        level_of(slower),
        record="ops",
        copy_rate=factor * 2e-12,
        reduce_rate=factor * 1e-12,
    )
    assert b.finish_ps.tolist() == (a.finish_ps * factor).tolist()
    assert b.start_ps.tolist() == np.where(a.start_ps < 0, -1, a.start_ps * factor).tolist()
    assert b.end_ps.tolist() == np.where(a.end_ps < 0, -1, a.end_ps * factor).tolist()
    assert b.partner.tolist() == a.partner.tolist()
    for name, times in a.breakdown_ps.items():
        assert b.breakdown_ps[name].tolist() == (times * factor).tolist(), name


# --- detail -----------------------------------------------------------------------------------------------------------


@EXAMPLES
@given(schedules(arbitrary), parameters(), st.booleans())
def test_detail_does_not_change_results(ranks: Ranks, p: Parameters, symmetry: bool) -> None:
    schedule = schedule_of(ranks)
    finish, by_rank, by_op = (
        isthmus.simulate(schedule, level_of(p), record=record, symmetry=symmetry)
        for record in ("finish", "ranks", "ops")
    )
    same(by_rank, by_op)
    assert finish.finish_ps.tolist() == by_rank.finish_ps.tolist()
    assert (finish.makespan_ps, finish.messages, finish.bytes) == (by_rank.makespan_ps, by_rank.messages, by_rank.bytes)
    assert (finish.deadlock is None) == (by_rank.deadlock is None)
    assert by_op.finish.tolist() == pytest.approx((by_op.finish_ps * 1e-12).tolist(), rel=1e-15)


# --- threads ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["none", "exponential"])
def test_simulations_at_the_same_time_do_not_disturb_each_other(kind: str) -> None:
    noise = None if kind == "none" else isthmus.Noise(kind=kind, period=5e-9, duration=1e-9)
    inputs = [schedule_of(arbitrary(Limits(ranks=6, ops=40, wildcards=0.1, cpus=2), seed)) for seed in range(12)]
    inputs += [schedule_of(make(16, 500)) for make in COLLECTIVES.values()]

    def run(schedule: isthmus.Schedule) -> isthmus.Timeline:
        return isthmus.simulate(schedule, level_of(SOME), record="ops", noise=noise, seed=3)

    serial = [run(schedule) for schedule in inputs]
    for threads in (2, 5):
        with ThreadPoolExecutor(threads) as pool:
            for a, b in zip(serial, pool.map(run, inputs), strict=True):
                same(a, b, ops=True)
        with ThreadPoolExecutor(threads) as pool:  # the very same schedule
            for b in pool.map(run, [inputs[0]] * 8):
                same(serial[0], b, ops=True)


# --- symmetry ---------------------------------------------------------------------------------------------------------


def folded(schedule: isthmus.Schedule, p: Parameters) -> isthmus.Timeline:
    """Checks that folding changes nothing; the simulation of all ranks, with all operations."""
    every = isthmus.simulate(schedule, level_of(p), record="ops", symmetry=False)
    assert every.simulated_ranks == schedule.ranks
    same(isthmus.simulate(schedule, level_of(p), record="ops"), every, ops=True)
    same(isthmus.simulate(schedule, level_of(p), record="ranks"), every)
    finish = isthmus.simulate(schedule, level_of(p), record="finish")
    assert finish.finish_ps.tolist() == every.finish_ps.tolist()
    assert (finish.messages, finish.bytes, finish.executed) == (every.messages, every.bytes, every.executed)
    return every


@pytest.mark.parametrize("ranks", [1, 2, 4, 16, 64])
@pytest.mark.parametrize("name", COLLECTIVES)
def test_collectives_fold(name: str, ranks: int) -> None:
    for size in (1, 4096):
        for p in (SOME, Parameters(L=3, o_send=1, o_recv=1, g=9, G=1, S=10**9), Parameters()):
            folded(schedule_of(COLLECTIVES[name](ranks, size)), p)


@pytest.mark.parametrize("name", ["dissemination", "halving_doubling", "ring"])
def test_one_rank_stands_for_all(name: str) -> None:
    eager = dataclasses.replace(SOME, S=10**9)
    t = isthmus.simulate(schedule_of(COLLECTIVES[name](64, 4096)), level_of(eager))
    assert t.simulated_ranks == 1


shapes = st.sampled_from([(2,), (4,), (7,), (12,), (2, 2), (3, 2), (4, 4), (2, 2, 2), (3, 2, 2)])
plain = limits(ops=8).map(lambda limit: dataclasses.replace(limit, wildcards=0.0, one_sided=False))
patterns = st.builds(symmetric, st.one_of(plain, plain, plain, limits(ops=8)), st.integers(0, 2**32), shapes)


@settings(max_examples=800, deadline=None)
@given(patterns, parameters())
def test_patterns_on_tori_fold(ranks: Ranks, p: Parameters) -> None:
    t = folded(schedule_of(ranks), p)
    assert t.finish_ps.tolist() == loggops.simulate(ranks, p).finish


@settings(max_examples=400, deadline=None)
@given(patterns, parameters(), st.randoms(use_true_random=False))
def test_nearly_symmetric_patterns_fold_rightly(ranks: Ranks, p: Parameters, random: Random) -> None:
    """One operation of one rank differs."""
    if ops := random.choice(ranks):
        op = random.choice(ops)
        name = random.choice(["amount", "tag", "comm", "cpu", "peer"])
        setattr(op, name, random.randrange(len(ranks)) if name == "peer" else (getattr(op, name) + 1) % loggops.ANY)
    t = folded(schedule_of(ranks), p)
    assert t.finish_ps.tolist() == loggops.simulate(ranks, p).finish


@EXAMPLES
@given(schedules(arbitrary), parameters())
def test_asymmetric_schedules_fold_rightly(ranks: Ranks, p: Parameters) -> None:
    folded(schedule_of(ranks), p)


@EXAMPLES
@given(schedules(complete, ranks=4, ops=10), parameters(), st.integers(4, 6))
def test_copies_of_a_schedule_fold(ranks: Ranks, p: Parameters, copies: int) -> None:
    """The same job several times over, on ranks of its own."""
    every: Ranks = []
    for copy in range(copies):
        for ops in ranks:
            every.append([dataclasses.replace(op, peer=shifted(op, copy * len(ranks))) for op in ops])
    t = folded(schedule_of(every), p)
    assert t.finish_ps.tolist() == loggops.simulate(ranks, p).finish * copies


def shifted(op: Op, by: int) -> int:
    return op.peer if op.peer == loggops.ANY or op.kind not in loggops.WITH_PEER else op.peer + by
