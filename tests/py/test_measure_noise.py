"""Noise is fitted to traces of quanta, and the simulator with it slows fixed work down as was measured."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus
from isthmus.measuring.fit import NoiseFit, fit_noise
from isthmus.measuring.samples import Item, Series
from oracles.loggops import CALC, Op
from schedule_strategies import schedule_of

WORK = 1e-4


def quanta(noise: str, count: int = 20_000, ranks: int = 2, seed: int = 1, work: float = WORK) -> list[np.ndarray]:
    """Times of quanta of fixed work on each rank, as the simulator has them."""
    machine = isthmus.load(f"ring:1 cores={ranks} {noise}")
    ops = [[Op(CALC, round(work * 1e12), after=[i - 1] if i else []) for i in range(count)] for _ in range(ranks)]
    t = isthmus.simulate(schedule_of(ops), machine, [0] * ranks, record="ops", seed=seed, symmetry=False, skip=False)
    ends = np.asarray(t.finish_ps if len(t.finish_ps) > ranks else t.end_ps).reshape(ranks, count)
    return [np.diff(row, prepend=0) * 1e-12 for row in ends]


def series(traces: list[np.ndarray], **parameters: str | float) -> list[Series]:
    known = {"kind": "fwq", "quantum": WORK, "seconds": 2, **parameters}
    return [Series.of(Item(f"noise.{i}", "noise", {**known, "core": i}), [row], "most") for i, row in enumerate(traces)]


def words(fit: NoiseFit) -> str:
    return f"noise.kind={fit.kind} noise.period={fit.period.value!r}s noise.duration={fit.duration.value!r}s"


@pytest.mark.parametrize(
    ("kind", "period", "duration"),
    [("periodic", 1e-3, 5e-6), ("periodic", 4e-3, 40e-6), ("exponential", 2e-3, 20e-6), ("exponential", 1e-2, 200e-6)],
)
def test_noise_of_the_simulator_comes_back_and_slows_down_as_much(kind: str, period: float, duration: float) -> None:
    true = f"noise.kind={kind} noise.period={period}s noise.duration={duration}s"
    traces = quanta(true)
    fit = fit_noise(series(traces))
    assert fit is not None
    assert fit.kind == kind
    # Interruptions of one quantum count as one.
    assert fit.duration.value == pytest.approx(duration, rel=0.1)
    assert fit.period.value == pytest.approx(period, rel=0.15)
    assert fit.period.low <= fit.period.value <= fit.period.high
    slowdown = np.mean([row.sum() for row in traces]) / (20_000 * WORK) - 1
    assert fit.slowdown.value == pytest.approx(slowdown, rel=0.03)
    # A fixed-work loop that the fit has not seen: other seeds, ten times the quantum.
    before, after = (quanta(of, 2000, ranks=8, seed=7, work=10 * WORK) for of in (true, words(fit)))
    lost = [np.mean([row.sum() for row in rows]) / (2000 * 10 * WORK) - 1 for rows in (before, after)]
    error = 0.05 if kind == "periodic" else 4 * np.sqrt(2 * 2 / (8 * 2 / period)) + 0.05
    assert lost[1] == pytest.approx(lost[0], rel=error)
    if kind == "periodic":
        assert fit.periods[0] == pytest.approx(period, rel=0.02)
    else:
        assert fit.periods == ()


def test_a_tick_is_found_below_other_noise() -> None:
    """A tick every 4 ms of 8 us, and now and then something long: the time lost and its variance are kept."""
    random = np.random.default_rng(3)
    times = np.full(50_000, WORK)
    ends = np.cumsum(times)
    times[np.flatnonzero(np.diff((ends / 4e-3).astype(int), prepend=0))] += 8e-6
    rare = random.random(len(times)) < 5e-4
    times[rare] += random.exponential(300e-6, rare.sum())
    fit = fit_noise(series([times]))
    assert fit is not None
    assert fit.kind == "exponential"
    assert fit.periods[0] == pytest.approx(4e-3, rel=0.02)
    assert "periods found: 4" in fit.words
    slowdown = times.sum() / (len(times) * WORK) - 1
    assert fit.slowdown.value == pytest.approx(slowdown, rel=0.02)
    # Blocks of 100 quanta: the simulator's scatter as much as those that were measured.
    again = quanta(words(fit), 50_000, ranks=4)
    blocks = [row.reshape(-1, 100).sum(axis=1) / (100 * WORK) - 1 for row in (times, np.concatenate(again))]
    assert np.mean(blocks[1]) == pytest.approx(np.mean(blocks[0]), rel=0.25)
    assert np.std(blocks[1]) == pytest.approx(np.std(blocks[0]), rel=0.3)


def test_fixed_time_and_quiet_traces() -> None:
    random = np.random.default_rng(4)
    work = np.full(4000, 1e-3) * (1 + 1e-4 * random.standard_normal(4000))
    assert fit_noise(series([work], kind="ftq", quantum=1e-3)) is None
    work[::10] -= 50e-6
    fit = fit_noise(series([work], kind="ftq", quantum=1e-3))
    assert fit is not None
    assert fit.kind == "periodic"
    assert fit.period.value == pytest.approx(10e-3, rel=0.01)
    assert fit.duration.value == pytest.approx(50e-6, rel=0.02)
    assert fit.periods[0] == pytest.approx(10e-3, rel=0.02)
    assert fit_noise([]) is None
    assert fit_noise(series([np.full(100, WORK)])) is None
