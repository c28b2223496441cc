"""Simulations that stop where they take longer than a time."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import isthmus
from isthmus.errors import InvalidInput

TORUS = "torus:4x4 link=5GB/s hop=50ns cores=2"
FLAT = isthmus.Level(L=1e-6, o_send=0.3e-6, o_recv=0.4e-6, g=0.5e-6, G=0.1e-9)


@pytest.mark.parametrize("model", ["loggops", "flow", "reserve", "packet"])
@pytest.mark.parametrize("record", ["finish", "ranks", "ops"])
def test_bounds_above_the_time_or_everything(model: str, record: str) -> None:
    machine = isthmus.load(TORUS)
    schedule = isthmus.collective("alltoall", ranks=32, bytes=10_000, algorithm="pairwise")
    whole = isthmus.simulate(schedule, machine, model=model, record=record)
    assert not whole.stopped
    for part in (0.0, 0.1, 0.5, 0.99):
        until = whole.makespan * part
        found = isthmus.simulate(schedule, machine, model=model, record=record, until=until)
        assert found.stopped
        assert until < found.makespan <= whole.makespan
        assert (found.finish_ps <= whole.finish_ps).all()
        assert found.executed < whole.executed
        assert found.deadlock is None
        if record != "finish":
            assert (sum(found.breakdown_ps.values()) == found.makespan_ps).all()
    assert isthmus.simulate(schedule, machine, model=model, record=record, until=whole.makespan) == whole


def test_a_stopped_simulation_does_less() -> None:
    schedule = isthmus.collective("alltoall", ranks=32, bytes=10_000, algorithm="pairwise")
    whole = isthmus.simulate(schedule, TORUS, model="flow")
    part = isthmus.simulate(schedule, TORUS, model="flow", until=whole.makespan / 10)
    assert part.events < whole.events / 5


def test_ranks_and_iterations_that_stand_for_others() -> None:
    ring = isthmus.collective("allreduce", ranks=64, bytes=1 << 20, algorithm="ring")
    whole = isthmus.simulate(ring, FLAT)
    assert whole.simulated_ranks == 1
    part = isthmus.simulate(ring, FLAT, until=whole.makespan / 2)
    assert part.stopped
    assert whole.makespan / 2 < part.makespan < whole.makespan
    builder = isthmus.ProgramBuilder(4)
    for _ in range(1000):
        for rank in range(4):
            builder.compute(rank, 1e-6 * (rank + 1))
            builder.send(rank, (rank + 1) % 4, 100)
            builder.recv(rank, (rank - 1) % 4, 100)
    loop = builder.build()
    whole = isthmus.simulate(loop, FLAT)
    part = isthmus.simulate(loop, FLAT, until=whole.makespan / 1000)
    assert part.stopped
    assert whole.makespan / 1000 < part.makespan < whole.makespan


def test_what_is_left_of_it(tmp_path: Path) -> None:
    schedule = isthmus.collective("alltoall", ranks=8, bytes=1000, algorithm="pairwise")
    part = isthmus.simulate(schedule, FLAT, record="ops", until=5e-6)
    assert "stopped at" in str(part)
    part.save(tmp_path / "part.h5")
    read = isthmus.read(tmp_path / "part.h5")
    assert read.stopped
    assert read == part == pickle.loads(pickle.dumps(part))
    with pytest.raises(InvalidInput, match="stopped at a time"):
        part.critical_path()
    with pytest.raises(InvalidInput, match="stopped at a time"):
        part.sensitivities()


@pytest.mark.parametrize("until", [-1.0, float("nan"), float("inf"), "soon", True])
def test_times_that_are_none(until: object) -> None:
    schedule = isthmus.collective("barrier", ranks=8, algorithm="dissemination")
    with pytest.raises(InvalidInput):
        isthmus.simulate(schedule, FLAT, until=until)  # type: ignore[arg-type]
