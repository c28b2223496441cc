"""Leaving out iterations that repeat changes nothing but the time it takes."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import isthmus
from iterative_programs import LEVEL, MACHINES, iterative

MODELS = ("loggops", "flow", "reserve", "packet")
OUTPUTS = ("makespan_ps", "messages", "bytes", "executed", "events", "simulated_ranks", "lost_in_all_ps")
ARRAYS = ("finish_ps", "_breakdown", "start_ps", "end_ps", "partner", "busy_ps", "handled_ps", "lost_ps", "_log")


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


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int) -> None:
    random = Random(seed)
    program = iterative(random)
    record = random.choice(("finish", "ranks", "ops", "ops"))
    both(program, LEVEL, record=record)
    machine = random.choice(MACHINES)
    for model in MODELS:
        both(program, machine, model=model, record=record)
