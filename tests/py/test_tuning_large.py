"""Large schedules: what they have to do at least, and that few simulations choose as all of them do."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus
from isthmus import InvalidInput
from isthmus.simulation.work import work_bound
from isthmus.tuning.candidates import candidates
from isthmus.tuning.choice import Choice
from isthmus.tuning.scenario import ALIKE, Scenario
from isthmus.tuning.search import search
from isthmus.tuning.search.result import Source
from isthmus.tuning.search.sweep import sweep
from isthmus.tuning.tune import ALL, tune

LEVEL = isthmus.Level(L=1e-6, o_send=0.3e-6, o_recv=0.4e-6, g=0.5e-6, G=0.1e-9, O=0.05e-9, S=8192)
MACHINE = "torus:4x4x4 link=5GB/s hop=50ns cores=4"


@pytest.mark.parametrize("kind", ALL)
def test_no_simulation_is_shorter_than_the_work(kind: str) -> None:
    machine = isthmus.load(MACHINE)
    sizes = np.array([0, 7, 8, 1000, 8192, 100_001])
    for scenario in (Scenario(machine, 28, machine.allocate(7, ranks_per_node=4)), Scenario(LEVEL, 28)):
        tight = 0.0
        for choice in candidates(kind, scenario, options={"segment": [0], "radix": [2, 4]}):
            found = scenario.work(kind, choice, sizes)
            least = found.seconds
            assert (found.operations > 0) == (kind != "barrier")
            assert not found.links.any()  # messages do not meet
            times = np.array([scenario.seconds(kind, choice, int(size)) for size in sizes])
            assert (least <= times * (1 + 1e-12)).all(), choice
            tight = max(tight, float((least / times)[-1]))
        # What the busiest one has to do is a good part of the time where messages are large.
        assert tight > 0.5 or kind == "barrier"


def test_work_is_that_of_the_busiest() -> None:
    machine = isthmus.load("torus:2x2 link=1GB/s cores=8")
    network = machine.level.network
    schedule = isthmus.collective("gather", ranks=32, bytes=10**6, algorithm="linear")
    # 24 messages from other nodes come through one interface.
    bound = work_bound(schedule, machine, machine.allocate(4, ranks_per_node=8), unit=10**6, sizes=[10**6, 10**7])
    assert bound is not None
    assert bound == pytest.approx([24 * s * network.G for s in (1e6, 1e7)], rel=0.05)
    level = isthmus.Level(L=0, o_send=0, o_recv=0, g=0, G=1e-9)
    summed = isthmus.collective("reduce", ranks=4, bytes=1000, algorithm="linear")
    # The processor reduces while the interface receives; LogGOPSim has the processor do both.
    for rule, seconds in (("loggp", 3 * 2000e-9), ("loggopsim", 3 * 2000e-9 + 3 * 1999e-9)):
        bound = work_bound(summed, level, unit=1000, sizes=[2000], reduce_rate=1e-9, receive=rule)
        assert bound == pytest.approx([seconds], rel=1e-6)


def test_work_of_what_is_no_multiple_is_not_known() -> None:
    schedule = isthmus.collective("alltoall", ranks=4, bytes=10, algorithm="pairwise")
    assert work_bound(schedule, LEVEL, unit=3, sizes=[3]) is None
    for wrong in ({"unit": 0, "sizes": [1]}, {"unit": 1, "sizes": [0]}):
        with pytest.raises(InvalidInput):
            work_bound(schedule, LEVEL, **wrong)


@pytest.mark.parametrize("kind", ["alltoall", "allgather", "reduce_scatter", "scatter"])
def test_large_schedules_are_chosen_as_by_simulating_all(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = isthmus.load("eos")
    scenario = Scenario(machine, 48, machine.allocate(6, ranks_per_node=8))
    sizes = [1 << k for k in range(3, 22)]
    tried = candidates(kind, scenario, options={"radix": [2, 4, 8]})
    whole = sweep(kind, scenario, sizes, tried, exhaustive=True)
    monkeypatch.setattr(search, "HEAVY", 0)
    few = sweep(kind, scenario, sizes, tried)
    assert few.simulations < 0.7 * whole.simulations
    chosen = whole.seconds[few.best, range(len(sizes))]
    assert (chosen <= whole.seconds.min(axis=0) * (1 + ALIKE)).all()
    assert few.seconds[few.best, range(len(sizes))] == pytest.approx(chosen, rel=2 * ALIKE)


@pytest.mark.parametrize("kind", ["alltoall", "allgather", "reduce_scatter", "allreduce"])
def test_choices_with_contention_are_those_of_simulating_all(kind: str) -> None:
    """Every decision beside exhaustive simulations in which messages share links; without contention some are slow."""
    machine = isthmus.load("cielo")
    nodes = machine.allocate(64, ranks_per_node=1)
    sizes = [8, 4096, 65_536, 1 << 20]
    tuning = tune(kind, machine, ranks=64, sizes=sizes, placement=nodes)
    assert tuning.table.provenance.model == "flow"
    whole = tune(kind, machine, ranks=64, sizes=sizes, placement=nodes, model="flow", exhaustive=True).sweeps[0]
    chosen = [whole.choices.index(point.choice) for point in tuning.table.row(kind, 64).points]
    times = whole.seconds[chosen, range(len(sizes))]
    assert (times <= np.nanmin(whole.seconds, axis=0) * 1.02).all(), times


def test_the_busiest_link_bounds_times_with_contention() -> None:
    machine = isthmus.load("cielo")
    scenario = Scenario(machine, 64, machine.allocate(64, ranks_per_node=1), "flow")
    sizes = np.array([1024, 65_536])
    for name in ("pairwise", "linear", "bruck", "torus"):
        choice = next(c for c in candidates("alltoall", scenario) if c.name == name)
        links = scenario.work("alltoall", choice, sizes).links
        times = [scenario.seconds("alltoall", choice, int(size)) for size in sizes]
        assert (links > 0).all(), name
        assert (links <= np.array(times) * 1.01).all(), name


def test_models_by_default() -> None:
    """Links are shared between nodes; on one node, and with one set of parameters, there are none."""
    machine = isthmus.load("cielo")
    one = tune("barrier", machine, ranks=4, placement=machine.allocate(1, ranks_per_node=4))
    assert one.table.provenance.model == "loggops"
    assert tune("barrier", LEVEL, ranks=4).table.provenance.model == "loggops"
    assert "Model flow: messages share links fairly." in str(tune("barrier", machine, ranks=64))


def test_segments_of_a_ring_are_those_of_its_parts() -> None:
    """Its time was told from vectors whose parts were smaller than a segment, and it was chosen 4.5 times too slow."""
    sizes = [1 << 20, 1 << 22]
    tried = ["ring", "segmented_ring", "rabenseifner"]
    few = tune("allreduce", "torus-4x4x4", ranks=64, sizes=sizes, model="loggops", algorithms=tried)
    whole = tune("allreduce", "torus-4x4x4", ranks=64, sizes=sizes, model="loggops", algorithms=tried, exhaustive=True)
    for found, best in zip(few.table.row("allreduce", 64).points, whole.table.row("allreduce", 64).points, strict=True):
        assert found.seconds == pytest.approx(best.seconds, rel=0.01)


def test_one_large_schedule_known_at_one_size_is_told_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for few simulations the sizes that are left are not given to what was simulated everywhere."""
    scenario = Scenario(isthmus.load("eos"), 64)
    sizes = [1 << k for k in range(14, 25)]
    tried = [Choice("bruck", {"radix": 2}), Choice("linear", {"window": 16})]
    monkeypatch.setattr(search, "HEAVY", 5000)
    monkeypatch.setattr("isthmus.tuning.search.large.OUTLINES", 10_000)
    monkeypatch.setattr("isthmus.tuning.search.large.CHECKS", 0)
    found = sweep("alltoall", scenario, sizes, tried)
    assert (found.source[1] == Source.simulated).sum() == 1
    assert (found.best == 1).all()


def test_windows_of_eager_messages_are_told_from_the_least_and_the_greatest() -> None:
    machine = isthmus.load("cielo")
    place = Scenario(machine, 64, machine.allocate(64, ranks_per_node=1), "flow")
    windows = [Choice("linear", {"window": window}) for window in (1, 4, 16, 64)]
    sizes = [2048, 4096]
    assert sizes[-1] <= place.typical.S
    few = sweep("alltoall", place, sizes, windows)
    assert (few.source[[0, 3]] == Source.simulated).all()
    assert (few.source[[1, 2]] != Source.simulated).all()
    for i, size in enumerate(sizes):
        times = [place.makespans(coarse=True)(place.schedule("alltoall", choice, size))[0] for choice in windows]
        assert times[few.best[i]] <= 1.006 * min(times)
