"""Leaving out iterations that repeat changes nothing but the time it takes."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import isthmus
from iterative_programs import LEVEL, MACHINES, SMALL, iterative, repeated
from schedule_strategies import schedule_of

MODELS = ("loggops", "flow", "reserve", "packet")
OUTPUTS = ("makespan_ps", "messages", "bytes", "executed", "events", "simulated_ranks", "lost_in_all_ps")
ARRAYS = (
    "finish_ps", "_breakdown", "start_ps", "end_ps", "partner", "busy_ps", "handled_ps", "lost_ps", "parked_ps", "_log",
)  # fmt: skip


def both(program: Any, machine: Any, **options: Any) -> isthmus.Timeline:
    """Simulated with and without leaving out: all that is known must be equal."""
    brief = isthmus.simulate(program, machine, symmetry=False, **options)
    whole = isthmus.simulate(program, machine, symmetry=False, skip=False, **options)
    assert whole.skipped_iterations == 0
    for name in OUTPUTS:
        assert getattr(brief, name) == getattr(whole, name), name
    for name in ARRAYS:
        assert np.array_equal(getattr(brief, name), getattr(whole, name)), name
    assert brief._traffic_arrays.keys() == whole._traffic_arrays.keys()
    for name, values in whole._traffic_arrays.items():
        assert np.array_equal(brief._traffic_arrays[name], values), name
    assert brief == whole
    return brief


@pytest.mark.sampled(15)
@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int) -> None:
    random = Random(seed)
    program = iterative(random)
    record = random.choice(("finish", "ranks", "ops", "ops"))
    both(program, LEVEL, record=record)
    machine = random.choice(MACHINES)
    for model in MODELS:
        both(program, machine, model=model, record=record)


@pytest.mark.sampled(15)
@pytest.mark.parametrize("seed", range(40))
def test_random_operations(seed: int) -> None:
    """On several streams and interfaces, with puts and gets, deadlocks, and messages that nobody receives."""
    random = Random(seed)
    schedule = schedule_of(repeated(random))
    record = random.choice(("finish", "ranks", "ops", "ops"))
    machine = random.choice(MACHINES)
    both(schedule, LEVEL, record=record)
    both(schedule, SMALL, record=record)
    for model in MODELS:
        both(schedule, machine, model=model, record=record)


def halo(iterations: int, work: Any = 20e-6, ranks: int = 8, size: int = 5000) -> isthmus.ProgramBuilder:
    rank = np.arange(ranks)
    b = isthmus.ProgramBuilder(ranks)
    for _ in range(iterations):
        for step in (1, -1):
            b.irecv(None, (rank + step) % ranks, size, tag=1 + step)
            b.isend(None, (rank - step) % ranks, size, tag=1 + step)
        b.compute(None, work)
        b.waitall(None)
        b.allreduce(None, 8)
    return b


@pytest.mark.parametrize("record", ["finish", "ranks", "ops"])
@pytest.mark.parametrize("model", MODELS)
def test_most_of_a_loop_is_left_out(model: str, record: str) -> None:
    program = halo(200, work=np.linspace(20e-6, 30e-6, 8)).build()
    assert both(program, MACHINES[0], model=model, record=record).skipped_iterations > 150


def test_what_is_before_and_after_is_simulated() -> None:
    b = halo(100)
    b.bcast(None, 10_000, root=3)
    b.barrier(None)
    program = b.build()
    t = both(program, MACHINES[0], model="flow", record="ops")
    assert 50 < t.skipped_iterations < 100
    path, whole = t.critical_path(), isthmus.simulate(program, MACHINES[0], model="flow", record="ops", skip=False)
    assert path.shares == whole.critical_path().shares


def test_pipelines_repeat_once_all_ranks_wait_for_the_slowest() -> None:
    """Ranks before the slowest are as far ahead of it as rendezvous lets them."""
    b = isthmus.ProgramBuilder(4)
    for _ in range(300):
        for r in range(4):
            if r > 0:
                b.recv(r, r - 1, 10_000)
            b.compute(r, (10e-6, 5e-6, 40e-6, 20e-6)[r])
            if r < 3:
                b.send(r, r + 1, 10_000)
    assert both(b.build(), LEVEL, record="ops").skipped_iterations > 200


def test_ranks_that_run_away_are_simulated() -> None:
    """Eager messages to a rank that is slower pile up: no iteration is like the one before."""
    b = isthmus.ProgramBuilder(2)
    for _ in range(100):
        b.send(0, 1, 8)
        b.compute(1, 50e-6)
        b.recv(1, 0, 8)
    assert both(b.build(), LEVEL, record="ops").skipped_iterations == 0


def test_a_rank_without_a_loop() -> None:
    b = isthmus.ProgramBuilder(5)
    ring = np.arange(4)
    b.compute(4, 1e-6)
    for _ in range(100):
        b.sendrecv(ring, (ring + 1) % 4, 100, (ring - 1) % 4)
    assert both(b.build(), LEVEL, record="ops").skipped_iterations > 50


@pytest.mark.parametrize(
    "more",
    [
        {"noise": isthmus.Noise(kind="periodic", period=1e-3, duration=1e-5)},
        {"model": "flow", "routing": "random"},
        {"model": "packet", "routing": "adaptive"},
        {"model": "reserve", "slices": 10},
    ],
)
def test_what_may_differ_is_simulated(more: dict[str, Any]) -> None:
    assert both(halo(60).build(), MACHINES[1], **more).skipped_iterations == 0


def test_wildcards_are_simulated() -> None:
    b = isthmus.ProgramBuilder(2)
    for _ in range(60):
        b.send(0, 1, 100)
        b.recv(1, isthmus.ANY, 100)
        b.barrier(None)
    assert both(b.build(), LEVEL).skipped_iterations == 0


def test_sensitivities_are_those_of_the_whole() -> None:
    program = halo(60).build()
    brief, whole = (
        isthmus.simulate(program, LEVEL, record="ops", symmetry=False, skip=skip).sensitivities(["L", "compute"])
        for skip in (True, False)
    )
    assert dict(brief) == dict(whole)
