"""Operating system noise: exactly where its interruptions are known, statistically where they are random."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isthmus
from oracles import interruptions, loggops, textbook
from oracles.loggops import CALC, Op, Parameters
from schedule_strategies import Limits, Ranks, arbitrary, complete, level_of, limits, parameters, schedule_of, schedules
from test_simulate_oracle import agree

PS = 1e-12
SOME = Parameters(L=2500, o_send=1500, o_recv=1300, g=1000, G=6, S=3)
Streams = dict[tuple[int, int], int]


def periodic(period: int, duration: int) -> isthmus.Noise:
    return isthmus.Noise(kind="periodic", period=period * PS, duration=duration * PS)


def losses(noise: isthmus.Noise, seed: int, works: list[list[list[int]]]) -> np.ndarray:
    """What work of these lengths, one after another by rank and CPU stream, loses."""
    ranks: Ranks = []
    for streams in works:
        ops: list[Op] = []
        for cpu, lengths in enumerate(streams):
            for i, length in enumerate(lengths):
                ops.append(Op(CALC, length, cpu=cpu, after=[len(ops) - 1] if i else []))
        ranks.append(ops)
    t = isthmus.simulate(schedule_of(ranks), level_of(SOME), noise=noise, seed=seed, record="ops")
    amounts = np.array([op.amount for ops in ranks for op in ops], np.int64)
    return t.end_ps - t.start_ps - amounts


def phases(period: int, seed: int, ranks: int, cpus: int) -> Streams:
    """When the first interruption of each stream begins, by bisection: the longest work from time 0 that is not hit."""
    low, high = np.zeros((ranks, cpus), np.int64), np.full((ranks, cpus), period)
    while (low < high).any():
        middle = (low + high + 1) // 2
        hit = losses(periodic(period, 1), seed, middle[..., None].tolist()).reshape(ranks, cpus) > 0
        high = np.where(hit, middle - 1, high)
        low = np.where(hit, low, middle)
    return {(r, c): int(low[r, c]) for r in range(ranks) for c in range(cpus)}


@settings(max_examples=150, deadline=None)
@given(
    limits(ranks=5, ops=25),
    st.integers(0, 2**32),
    st.booleans(),
    parameters(),
    st.integers(0, 2**63),
    st.sampled_from([(2, 0), (2, 1), (5, 2), (7, 6), (40, 3), (300, 290)]),
)
def test_periodic_noise_is_as_defined(
    limit: Limits, content: int, may_stop: bool, p: Parameters, seed: int, interruption: tuple[int, int]
) -> None:
    period, duration = interruption
    ranks = (arbitrary if may_stop else complete)(limit, content)
    cpus = max((op.cpu for ops in ranks for op in ops), default=0) + 1
    begins = phases(period, seed, len(ranks), cpus)
    assert all(0 <= phase < period for phase in begins.values())
    noise = partial(interruptions.periodic, period=period, duration=duration)
    streams = {stream: partial(noise, phase=phase) for stream, phase in begins.items()}
    slow = loggops.simulate(ranks, p, noise=interruptions.noise(streams))
    t = isthmus.simulate(schedule_of(ranks), level_of(p), noise=periodic(period, duration), seed=seed, record="ops")
    agree(ranks, t, slow)


def test_phases_are_spread_over_the_period() -> None:
    period = 10**9
    values = np.array(list(phases(period, seed=1, ranks=200, cpus=2).values())) / period
    assert abs(values.mean() - 0.5) < 0.05
    assert abs(values.std() - 12**-0.5) < 0.03
    assert len(set(values)) == 400


def test_periodic_noise_takes_its_share() -> None:
    """10 us every 100 us: nine tenths are left for the work."""
    work = 10**12
    for seed in range(5):
        (taken,) = losses(periodic(10**8, 10**7), seed, [[[work]]])
        assert taken == pytest.approx(work / 9, rel=1e-3)


@pytest.mark.parametrize("pieces", [1, 1000])
def test_exponential_noise_has_the_promised_means(pieces: int) -> None:
    """Interruptions of 20 us on average, 100 us from one to the next on average: a quarter on top of the work."""
    noise = isthmus.Noise(kind="exponential", period=100e-6, duration=20e-6)
    work, expected = 10**12, 10**12 * 0.25  # 12 500 interruptions
    taken = np.array([losses(noise, seed, [[[work // pieces] * pieces]]).sum() for seed in range(20)])
    assert taken.mean() == pytest.approx(expected, rel=0.01)
    assert (abs(taken / expected - 1) < 0.06).all()
    assert len(set(taken)) == 20
    # Gaps and lengths are both exponential: the variance of the sum of n of each is 2 n duration^2.
    assert taken.std() == pytest.approx((2 * 12500) ** 0.5 * 20e6, rel=0.5)


def test_single_exponential_interruptions() -> None:
    """Short work from time 0 on many ranks: hit with probability 1 - exp(-work / gap), lengths exponential."""
    noise = isthmus.Noise(kind="exponential", period=100e-6, duration=20e-6)
    ranks, work = 20000, 8 * 10**6
    taken = losses(noise, 7, [[[work]]] * ranks)
    hits = taken[taken > 0]
    assert len(hits) / ranks == pytest.approx(1 - np.exp(-8 / 80), rel=0.05)
    # Some are hit twice: gaps that end within the work are as rare again.
    assert hits.mean() == pytest.approx(20e6 * (8 / 80) / (1 - np.exp(-8 / 80)), rel=0.06)
    assert np.median(hits) < 0.8 * hits.mean()


@pytest.fixture
def trace_file(tmp_path: Path) -> Path:
    path = tmp_path / "noise.txt"
    path.write_text("3e-12 2e-12\n9e-12 1e-12\n2e-11 7e-12\n4e-11 0\n5e-11 1.1e-11\nlength 6.1e-11\n")
    return path


def test_a_trace_of_noise_repeats(trace_file: Path) -> None:
    """The entry into the trace is the stream's own; exactly one makes everything that is lost come true."""
    noise = isthmus.Noise(kind="file", file=str(trace_file))
    starts, durations, length = [3, 9, 20, 40, 50], [2, 1, 7, 0, 11], 61
    lengths = [[1, 2, 3, 1, 40, 1, 1, 5, 200, 1, 7, 13, 1, 1, 1, 1, 0, 1]]
    ranks = 40
    taken = losses(noise, 11, [lengths] * ranks).reshape(ranks, -1).tolist()
    entries = []
    for losses_of_rank in taken:
        fitting = []
        for entry in range(length):
            now = 0
            for work, seen in zip(lengths[0], losses_of_rank, strict=True):
                if interruptions.lost(interruptions.trace(entry, starts, durations, length), now, work) != seen:
                    break
                now += work + seen
            else:
                fitting.append(entry)
        assert fitting, losses_of_rank
        entries.append(fitting[0])
    assert len(set(entries)) > 10


@pytest.mark.parametrize(
    "text", ["", "1e-6\n", "1e-6 x\n", "2e-6 1e-6\n1e-6 1e-6\n", "0 2e-6\n1e-6 1e-6\n", "1e-6 -1e-6\n"]
)
def test_traces_that_make_no_sense_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "noise.txt"
    path.write_text(text)
    noise = isthmus.Noise(kind="file", file=str(path))
    with pytest.raises((isthmus.InvalidInput, isthmus.ParseError)):
        isthmus.simulate(schedule_of([[Op(CALC, 1)]]), level_of(SOME), noise=noise)


# --- seeds ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["periodic", "exponential", "file"])
def test_seeds(kind: str, trace_file: Path) -> None:
    noise = isthmus.Noise(
        kind=kind, **({"file": str(trace_file)} if kind == "file" else {"period": 5000 * PS, "duration": 700 * PS})
    )
    schedule = schedule_of(textbook.ring_allreduce(16, 64000))

    def run(seed: int) -> tuple[list[int], list[int]]:
        t = isthmus.simulate(schedule, level_of(SOME), noise=noise, seed=seed)
        assert sum(t.breakdown_ps.values()).tolist() == [t.makespan_ps] * 16
        assert t.breakdown_ps["noise"].sum() > 0
        return t.finish_ps.tolist(), t.breakdown_ps["noise"].tolist()

    results = [run(seed) for seed in range(8)]
    assert results == [run(seed) for seed in range(8)]
    assert len({str(r) for r in results}) == 8


@settings(max_examples=100, deadline=None)
@given(schedules(arbitrary), parameters(), st.integers(0, 2**63))
def test_no_noise(ranks: Ranks, p: Parameters, seed: int) -> None:
    schedule = schedule_of(ranks)
    quiet = isthmus.simulate(schedule, level_of(p), record="ops", seed=seed)
    assert quiet.breakdown_ps["noise"].sum() == 0
    for noise in (isthmus.Noise(), isthmus.Noise(kind="periodic", period=1e-9, duration=0)):
        t = isthmus.simulate(schedule, level_of(p), noise=noise, seed=seed, record="ops")
        assert t.finish_ps.tolist() == quiet.finish_ps.tolist()
        assert t.end_ps.tolist() == quiet.end_ps.tolist()
        assert t.breakdown_ps["noise"].sum() == 0


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 50), max_size=40), st.integers(0, 2**63), st.sampled_from(["periodic", "exponential"]))
def test_noise_only_delays(works: list[int], seed: int, kind: str) -> None:
    noise = isthmus.Noise(kind=kind, period=20 * PS, duration=4 * PS)
    taken = losses(noise, seed, [[works]])
    assert (taken >= 0).all()


@pytest.mark.parametrize("name", ["periodic", "exponential"])
def test_noise_delays_collectives(name: str) -> None:
    noise = isthmus.Noise(kind=name, period=20e-9, duration=3e-9)
    for make in (textbook.binomial_broadcast, textbook.dissemination, textbook.ring_allreduce):
        schedule = schedule_of(make(32, 4096))
        quiet = isthmus.simulate(schedule, level_of(SOME))
        noisy = [isthmus.simulate(schedule, level_of(SOME), noise=noise, seed=seed) for seed in range(5)]
        assert all(t.makespan_ps > quiet.makespan_ps for t in noisy)


def test_symmetry_does_not_hide_noise() -> None:
    noise = isthmus.Noise(kind="exponential", period=20e-9, duration=3e-9)
    schedule = schedule_of(textbook.dissemination(64, 8))
    a, b = (
        isthmus.simulate(schedule, level_of(SOME), noise=noise, seed=2, symmetry=symmetry) for symmetry in (True, False)
    )
    assert a.finish_ps.tolist() == b.finish_ps.tolist()
    assert len(set(a.breakdown_ps["noise"].tolist())) > 10
