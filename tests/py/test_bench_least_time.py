"""The bound of bench/least_time.py, beside all placements of a few ranks."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

import isthmus

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from least_time import Chain, Least, game
from mapping_programs import PROGRAMS


def job_of(machine: str, ranks: int, per_node: int, seed: int) -> isthmus.Allocation:
    loaded = isthmus.load(machine)
    nodes = np.random.default_rng(seed).choice(loaded.nodes, -(-ranks // per_node), replace=False)
    return loaded.allocate(np.sort(nodes), ranks_per_node=per_node)


def simulated(program: isthmus.Program, job: isthmus.Allocation, place: np.ndarray) -> float:
    placement = isthmus.Placement(job.machine, np.asarray(job.nodes)[place])
    return isthmus.simulate(program, job.machine, placement, model="flow", record="finish").makespan


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(("machine", "ranks", "per_node"), [("eos", 4, 1), ("titan", 4, 1), ("edison", 6, 3)])
def test_no_placement_is_faster(name: str, machine: str, ranks: int, per_node: int) -> None:
    program, job = PROGRAMS[name](ranks, 2), job_of(machine, ranks, per_node, seed=5)
    least = Least(program, job)
    every = least.every()
    assert every is not None
    assert len(every) == (24 if per_node == 1 else 20)
    bound = least.bound([np.arange(ranks) // per_node])
    times = [simulated(program, job, place) for place in every]
    # Flows whose ends are 1 % of their time apart end at once.
    assert bound <= min(times) * 1.005
    assert bound >= isthmus.simulate(program, isthmus.Level()).makespan


@pytest.mark.parametrize(("ranks", "per_node"), [(16, 4), (14, 4), (16, 1)])
def test_no_placement_of_more_ranks_is_faster(ranks: int, per_node: int) -> None:
    program, job = PROGRAMS["halo2d"](ranks, 2), job_of("eos", ranks, per_node, seed=3)
    least = Least(program, job)
    assert least.every() is None
    begin = np.arange(ranks) // per_node
    bound = least.bound([begin])
    rng = np.random.default_rng(1)
    places = [begin, *(rng.permutation(np.repeat(np.arange(len(job.nodes)), per_node))[:ranks] for _ in range(20))]
    assert bound <= min(simulated(program, job, place) for place in places) * 1.005
    assert bound > 0.5 * simulated(program, job, begin)


def test_a_message_on_the_narrowest_link_is_told_exactly() -> None:
    """Two ranks, one message: no placement on two nodes of other routers is faster than the one there is."""
    builder = isthmus.ProgramBuilder(2)
    builder.send(0, 1, 200_000)
    builder.recv(1, 0, 200_000)
    machine = isthmus.load("eos")
    job = machine.allocate([0, 5], ranks_per_node=1)
    program = builder.build()
    bound = Least(program, job).bound([np.array([0, 1])])
    assert bound == pytest.approx(simulated(program, job, np.array([0, 1])), rel=2e-3)


@pytest.mark.parametrize(("ranks", "per_node"), [(6, 1), (8, 4), (7, 4), (6, 2)])
def test_the_relaxation_is_below_the_optimum(ranks: int, per_node: int) -> None:
    rng = np.random.default_rng(ranks)
    least = Least(PROGRAMS["halo2d"](ranks, 1), job_of("titan", ranks, per_node, seed=8))
    every = least.every()
    assert every is not None
    ratios = []
    for _ in range(20):
        drawn = (rng.random((ranks, ranks)) < 0.3) * rng.random((ranks, ranks)) * (1 - np.eye(ranks))
        narrow = np.sort(rng.random((len(least.slow), 1, 1)), axis=0) * drawn * 1e-6
        chain = Chain(1e-6, 1e-6 * drawn, 3e-6 * drawn, 10 * drawn, narrow)
        optimum = float(least.lengths(chain, every).min())
        assert least.relaxed(chain) <= optimum * (1 + 1e-9)
        ratios.append(least.relaxed(chain) / optimum)
    assert np.mean(ratios) > 0.6


def test_all_placements() -> None:
    least = Least(PROGRAMS["halo2d"](5, 1), job_of("eos", 5, 2, seed=1))
    every = least.every()
    assert every is not None
    expected = {p for p in itertools.product(range(3), repeat=5) if max(p.count(a) for a in range(3)) <= 2}
    assert {tuple(place) for place in every.tolist()} == expected


def test_a_game() -> None:
    weights, value = game(np.array([[3.0, 1.0], [1.0, 2.0]]))
    assert weights == pytest.approx([1 / 3, 2 / 3])
    assert value == pytest.approx(5 / 3)
