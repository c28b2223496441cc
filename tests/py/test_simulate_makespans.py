"""Makespans of many schedules on one machine are those of ``simulate``."""

from __future__ import annotations

import pytest

import isthmus
from isthmus.errors import InvalidInput
from isthmus.simulation.makespans import Makespans

TORUS = isthmus.load("torus:4x4 link=5GB/s hop=50ns cores=2")


@pytest.mark.parametrize("model", ["loggops", "flow", "reserve", "packet"])
def test_they_are_those_of_simulate(model: str) -> None:
    found = Makespans(32, TORUS, TORUS.allocate(16), model=model, copy_rate=1e-10, reduce_rate=2e-10)
    for algorithm in ("pairwise", "linear", ("bruck", {"radix": 4})):
        schedule = isthmus.collective("alltoall", ranks=32, bytes=10_000, algorithm=algorithm)
        whole = isthmus.simulate(schedule, TORUS, TORUS.allocate(16), model=model, copy_rate=1e-10, reduce_rate=2e-10)
        assert found(schedule) == (whole.makespan, False)
        half = whole.makespan / 2
        seconds, stopped = found(schedule, half)
        assert stopped
        assert half < seconds <= whole.makespan
        # One that was stopped leaves nothing behind for the next.
        assert found(schedule) == (whole.makespan, False)


def test_parameters_are_refused_as_by_simulate() -> None:
    with pytest.raises(InvalidInput, match="resolution"):
        Makespans(32, TORUS, model="loggops", resolution=0.1)
    with pytest.raises(InvalidInput, match="placement"):
        Makespans(99, TORUS, TORUS.allocate(16))
    with pytest.raises(InvalidInput, match="until"):
        Makespans(4, TORUS)(isthmus.collective("barrier", ranks=4), -1.0)
