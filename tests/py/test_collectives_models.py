"""Closed forms of collectives: equal to simulation, split as the operations of the busiest rank say."""

from __future__ import annotations

import itertools
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isthmus
from isthmus import InvalidInput, Unsupported, collectives
from isthmus.collectives.models import bound, cost, forms, overlap

SIZES = [0, 1, 7, 1000, 1001, 40_000]
RANKS = [1, 2, 3, 4, 5, 8, 12, 16, 23, 27, 36]
LEVELS = [
    isthmus.Level(L=2.5e-6, o_send=1.5e-6, o_recv=1.5e-6, g=1e-6, G=6e-9),
    isthmus.Level(L=1.1e-6, o_send=0.31e-6, o_recv=0.37e-6, g=0.2e-6, G=0.13e-9, O=0.05e-9, S=1000),  # rendezvous
    isthmus.Level(L=0.2e-6, o_send=0.31e-6, o_recv=0.37e-6, g=0.2e-6, G=1.13e-9, O=1.5e-9, S=100),  # bytes by processor
    isthmus.Level(L=5e-6, o_send=0.1e-6, o_recv=0.07e-6, g=3e-6, G=2e-9, S=1e9),  # interface slower than processor
]
COPY, REDUCE = 0.3e-9, 0.7e-9
RATES = {"copy_rate": COPY, "reduce_rate": REDUCE}
KINDS = [
    "barrier", "bcast", "reduce", "allreduce", "gather", "allgather", "scatter", "alltoall", "reduce_scatter", "scan",
    "exscan",
]  # fmt: skip


#: Values of options that are tried; what is not here stays at its default.
TRIED = {"radix": [2, 3, 5], "segment": [0, 300], "window": [1, 0]}
Case = tuple[str, str, dict[str, Any]]


def cases() -> list[Case]:
    """Every closed form with all options."""
    found = []
    for kind, algorithm in forms():
        taken = [o.name for o in collectives.describe(kind, algorithm).options if o.name in TRIED]
        for values in itertools.product(*(TRIED[name] for name in taken)):
            found.append((kind, algorithm, dict(zip(taken, values, strict=True))))
    return found


def named(case: Case) -> str:
    return "-".join([*case[:2], *(f"{key}{value}" for key, value in case[2].items())])


def fitting(case: Case, ranks: int) -> Case:
    """With extents that multiply to the number of ranks, and groups of a third of them."""
    taken = [o.name for o in collectives.describe(*case[:2]).options]
    options = dict(case[2])
    if "dims" in taken and ranks % 2 == 0:
        side = next(k for k in range(isqrt(ranks // 2), 0, -1) if ranks // 2 % k == 0)
        options["dims"] = (2, side, ranks // 2 // side)
    if "groups" in taken and ranks % 3 == 0:
        options["groups"] = ranks // 3
    return (*case[:2], options)


def schedule_of(case: Case, ranks: int, size: int) -> isthmus.Schedule:
    return isthmus.collective(case[0], ranks=ranks, bytes=size, algorithm=case[1:])


def processor_time(schedule: isthmus.Schedule, level: isthmus.Level) -> float:
    """Seconds of the rank whose operations take longest, bytes by the interface left out."""
    kind, amount = schedule.ops["kind"], schedule.ops["amount"].astype(float)
    after_first = np.maximum(amount - 1, 0) * level.O
    times = [level.o_send + after_first, level.o_recv + after_first, amount * COPY, amount * REDUCE]
    seconds = np.select([kind == 1, kind == 2, kind == 6, kind == 7], times)
    rank = np.repeat(np.arange(schedule.ranks), np.diff(schedule.op_first.astype(int)))
    return float(np.bincount(rank, seconds, minlength=schedule.ranks).max())


@pytest.mark.sampled(60)
@pytest.mark.parametrize("case", cases(), ids=named)
def test_time_and_work_are_those_of_the_simulator(case: Case) -> None:
    for number, ranks in enumerate(RANKS):
        here = fitting(case, ranks)
        for level in (LEVELS[number % 4], LEVELS[(number + 1) % 4]):
            # Where copies take time, few alltoalls have ranks that are alike.
            rates = {**RATES, "copy_rate": 0.0} if case[0] == "alltoall" and number % 2 else RATES
            found = cost(case[0], case[1], level, ranks=ranks, sizes=SIZES, **rates, **here[2])
            for i, size in enumerate(SIZES):
                t = isthmus.simulate(schedule_of(here, ranks, size), level, **rates)
                work = sum(t.breakdown[share] for share in ("compute", "send_overhead", "recv_overhead")).max()
                times, works = (t.makespan_ps, found.time_ps[i]), (round(work * 1e12), found.work.cpu[i])
                if found.exact[i]:
                    assert (times[0], works[0]) == (times[1], works[1]), (ranks, level, size)
                else:
                    assert min(times[0] - times[1], works[0] - works[1]) >= 0, (ranks, level, size)


#: Forms that are only lower bounds wherever there is something to do.
BOUNDS = {("bcast", "scatter_allgather"), ("bcast", "scatter_allgather_ring"), ("reduce", "rabenseifner"),
          ("bcast", "double_tree"), ("bcast", "split_binary"), ("reduce", "double_tree"), ("reduce", "split_binary"),
          ("allreduce", "double_tree")}  # fmt: skip
# Messages of several subtrees that come at once pass the interface in the order of ranks, not in that of reductions.
BOUNDS |= {("reduce", "optimal")}


@pytest.mark.parametrize("name", forms(), ids="-".join)
def test_forms_are_exact_on_a_power_of_two(name: tuple[str, str]) -> None:
    options = {"radix": 2} if "radix" in [o.name for o in collectives.describe(*name).options] else {}
    level = isthmus.Level(L=3.1e-6, o_send=0.41e-6, o_recv=0.53e-6, g=0.3e-6, G=0.7e-9)
    found = cost(*name, level, ranks=16, sizes=[0, 64, 3200], reduce_rate=REDUCE, **options)
    assert found.exact.all() == (name not in BOUNDS)


def test_every_algorithm_of_blocks_has_a_form() -> None:
    for kind in KINDS:
        published = [name for name in collectives.algorithms(kind) if collectives.describe(kind, name).reference]
        assert {(kind, name) for name in published} <= set(forms())


def test_a_pipeline_that_keeps_up() -> None:
    """(S-1) gaps behind the first segment's way along the chain, where the gap is longer than both overheads."""
    level = isthmus.Level(L=2e-6, o_send=0.3e-6, o_recv=0.4e-6, g=1e-6)
    found = cost("bcast", "pipeline", level, ranks=2048, sizes=[10_000], segment=100)
    assert found.exact[0]
    assert found.time[0] == pytest.approx(99 * 1e-6 + 2047 * 2.7e-6)


@pytest.mark.parametrize("case", cases(), ids=named)
def test_processor_time_is_that_of_the_busiest_rank(case: Case) -> None:
    for ranks, level, size in ((1, LEVELS[0], 10), (8, LEVELS[1], 2000), (16, LEVELS[2], 320)):
        found = cost(case[0], case[1], level, ranks=ranks, sizes=[size], **RATES, **case[2])
        counted = processor_time(schedule_of(case, ranks, size), level)
        assert found.cpu[0] <= counted * (1 + 1e-6)
        if found.exact[0]:
            assert found.cpu[0] == pytest.approx(counted, rel=1e-6)
        assert found.net[0] == pytest.approx(found.time[0] - found.cpu[0])


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(cases()),
    st.integers(1, 70),
    st.one_of(st.integers(0, 20_000), st.integers(0, 30).map(lambda blocks: blocks * 720)),
    st.lists(st.floats(1e-9, 5e-6), min_size=4, max_size=4),
    st.floats(0, 2e-9),
    st.sampled_from([0, 500, 10**9]),
)
def test_any_parameters(case: Case, ranks: int, size: int, times: list[float], G: float, S: int) -> None:
    level = isthmus.Level(L=times[0], o_send=times[1], o_recv=times[2], g=times[3], G=G, S=S)
    case = fitting(case, ranks)
    found = cost(case[0], case[1], level, ranks=ranks, sizes=[size], **RATES, **case[2])
    t = isthmus.simulate(schedule_of(case, ranks, size), level, **RATES)
    assert t.makespan_ps == found.time_ps[0] if found.exact[0] else t.makespan_ps >= found.time_ps[0]


def test_formulas_of_the_literature() -> None:
    """(2o + L + mG) log P and its parts, where neither g nor the bytes on the interface hold a sender back."""
    level = isthmus.Level(L=3e-6, o_send=1e-6, o_recv=1e-6, g=0.5e-6, G=1e-9)
    m, rounds = 400, 6
    one = 2e-6 + 3e-6 + (m - 1) * 1e-9
    bcast = cost("bcast", "binomial", level, ranks=64, sizes=[m])
    assert bcast.time[0] == pytest.approx(rounds * one)
    allreduce = cost("allreduce", "recursive_doubling", level, ranks=64, sizes=[m], reduce_rate=2e-9)
    assert allreduce.time[0] == pytest.approx(rounds * (one + m * 2e-9))
    assert allreduce.cpu[0] == pytest.approx(rounds * (2e-6 + m * 2e-9))
    assert allreduce.free[0] == pytest.approx(1 - (2e-6 + m * 2e-9) / (one + m * 2e-9))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_below_the_bound(kind: str) -> None:
    tight = np.inf
    for algorithm in [name for name in collectives.algorithms(kind) if collectives.describe(kind, name).reference]:
        for ranks in (1, 2, 3, 8, 13, 32):
            for level in (*LEVELS, isthmus.Level(L=0.2e-6, o_send=1e-10, o_recv=2e-10, g=1e-10, G=1e-9)):
                least = bound(kind, level, ranks=ranks, sizes=SIZES, reduce_rate=REDUCE)
                times = [
                    isthmus.simulate(schedule_of((kind, algorithm, {}), ranks, size), level, **RATES).makespan
                    for size in SIZES
                ]
                assert (np.array(times) >= least.time * (1 - 1e-9)).all()
                if ranks > 1:
                    tight = min(tight, float(least.gap(np.array(times))[1:].min()))
    assert tight < 1e-3  # somewhere it is reached


def test_binomial_tree_is_optimal_where_telling_takes_as_long_as_being_told() -> None:
    level = isthmus.Level(o_send=1e-6, o_recv=0.0, g=1e-6)
    for ranks in (2, 8, 64):
        found = cost("bcast", "binomial", level, ranks=ranks, sizes=[1])
        assert bound("bcast", level, ranks=ranks, sizes=[1]).time == pytest.approx(found.time)


def test_overlap_falls_with_reductions_and_not_with_ranks() -> None:
    level = isthmus.Level(L=5e-6, o_send=1e-6, o_recv=1e-6, g=1e-6, G=1e-9, S=1e9)
    sizes = [8, 1000, 100_000, 10_000_000]
    found = overlap("allreduce", level, ranks=[4, 64], sizes=sizes, algorithm="recursive_doubling", reduce_rate=0.1e-9)
    assert found.share[0] == pytest.approx(found.share[1])
    assert (np.diff(found.share[0]) < 0).all()
    assert found.share[0, -1] == pytest.approx(0.1 / 1.1, rel=1e-2)
    assert found.exposed(0.0) == pytest.approx(found.time)
    assert found.exposed(1.0) == pytest.approx(found.cpu)


def test_the_share_of_the_processor_falls_with_size_and_rises_with_ranks(tmp_path: Path) -> None:
    """As measured curves of CPU overhead do: a vector in P parts takes overheads of P messages."""
    level = isthmus.Level(L=25e-6, o_send=8e-6, o_recv=8e-6, g=12e-6, G=9e-9, S=1e9)
    found = overlap("allreduce", level, ranks=[2, 8, 64], sizes=[8 << k for k in range(14)], algorithm="ring")
    assert (np.diff(found.share, axis=1) <= 1e-4).all()
    assert (np.diff(found.share, axis=0) >= -1e-4).all()
    assert found.share[0, -1] < 0.1 < 0.25 < found.share[-1, -1]
    found.plot(tmp_path / "share.svg")
    assert (tmp_path / "share.svg").stat().st_size > 5000


def test_wrong_arguments() -> None:
    with pytest.raises(Unsupported, match="bcast by magic: no closed form is known"):
        cost("bcast", "magic", LEVELS[0], ranks=2, sizes=[1])
    with pytest.raises(InvalidInput, match="0 ranks: expected at least 1"):
        cost("bcast", "binomial", LEVELS[0], ranks=0, sizes=[1])
    with pytest.raises(InvalidInput, match="a size is -1 bytes"):
        cost("bcast", "binomial", LEVELS[0], ranks=2, sizes=[-1])
    with pytest.raises(InvalidInput, match="must be 0 or more"):
        cost("bcast", "binomial", isthmus.Level(L=-1.0), ranks=2, sizes=[1])
    with pytest.raises(InvalidInput, match="bounds of 'neighbor_alltoall': must be one of barrier"):
        bound("neighbor_alltoall", LEVELS[0], ranks=2, sizes=[1])


@pytest.mark.parametrize(("kind", "name"), [("bcast", "kary"), ("reduce", "kary"), ("bcast", "chain")])
def test_segments_that_are_not_followed_give_a_bound(kind: str, name: str) -> None:
    level = isthmus.Level(L=2e-6, o_send=0.4e-6, o_recv=0.9e-6, g=0.5e-6, G=0.3e-9, O=0.1e-9, S=65536)
    sizes, options = [4096 * k for k in (1, 3, 8, 20)], {"radix": 3, "segment": 4096}
    whole = cost(kind, name, level, ranks=32, sizes=sizes, reduce_rate=1e-10, **options)
    bound = cost(kind, name, level, ranks=32, sizes=sizes, reduce_rate=1e-10, follow=False, **options)
    assert whole.exact.all()
    assert (bound.time <= whole.time).all()
    assert (bound.time[bound.exact] == whole.time[bound.exact]).all()
    assert bound.time == pytest.approx(whole.time, rel=0.3)
