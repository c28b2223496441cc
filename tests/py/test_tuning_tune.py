"""The tuner: leaving out never loses the best; tables, reports, errors."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus import InvalidInput
from isthmus.tuning.candidates import candidates
from isthmus.tuning.choice import Choice
from isthmus.tuning.operations import operations
from isthmus.tuning.scenario import Scenario
from isthmus.tuning.search import large, search
from isthmus.tuning.search.result import Source
from isthmus.tuning.search.sweep import sweep
from isthmus.tuning.tune import ALL, Tuning, tune

SIZES = [0, 8, 100, 1024, 10_000, 65_536, 1 << 20]
LEVEL = isthmus.Level(L=1e-6, o_send=0.3e-6, o_recv=0.4e-6, g=0.5e-6, G=0.1e-9, S=8192)
MACHINE = "torus:4x4x4 link=5GB/s hop=50ns cores=4"


def assert_nothing_lost(kind: str, scenario: Scenario, sizes: list[int], **options: Any) -> tuple[int, int]:
    """Best of all sizes as with all simulated; simulations with and without leaving out."""
    tried = candidates(kind, scenario, options={"segment": [0, 1024, 16384], "radix": [2, 4]}, **options)
    few = sweep(kind, scenario, sizes, tried)
    all_of_them = sweep(kind, scenario, sizes, tried, exhaustive=True)
    best = np.nanmin(all_of_them.seconds, axis=0)
    assert (np.nanmin(few.seconds, axis=0) == best).all()
    # Within the margin all are known, so that the second best is right.
    close = all_of_them.seconds <= best * 1.1
    assert (few.source[close] == Source.simulated).all()
    assert (best >= few.bound * (1 - 1e-9)).all()
    known = few.source == Source.simulated
    assert (few.seconds[known] == all_of_them.seconds[known]).all()
    return few.simulations, all_of_them.simulations


@pytest.mark.sampled(8, always=["5-barrier", "32-alltoall"])
@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("ranks", [5, 32])
def test_the_best_is_never_left_out(kind: str, ranks: int) -> None:
    sizes = [0] if kind == "barrier" else SIZES
    for machine in (LEVEL, isthmus.load(MACHINE)):
        few, whole = assert_nothing_lost(kind, Scenario(machine, ranks), sizes)
        assert few <= whole


@pytest.mark.parametrize("kind", ["allreduce", "alltoall", "bcast"])
def test_the_best_is_not_left_out_where_messages_meet(kind: str) -> None:
    scenario = Scenario(isthmus.load(MACHINE), 32, model="flow")
    few, whole = assert_nothing_lost(kind, scenario, [8, 4096, 1 << 20])
    assert few < whole


@pytest.mark.parametrize(("kind", "model", "least"), [("bcast", "loggops", 50), ("allgather", "flow", 2)])
def test_simulations_stop_where_they_are_slower(kind: str, model: str, least: int) -> None:
    machine = isthmus.load(MACHINE)
    scenario = Scenario(machine, 64, machine.allocate(64, ranks_per_node=1), model=model)
    tried = candidates(kind, scenario)
    sizes = [64, 16384, 1 << 20]
    few = sweep(kind, scenario, sizes, tried)
    best = few.seconds[few.best, range(len(sizes))]
    stopped = few.source == Source.stopped
    assert stopped.sum() >= least
    assert few.left_out[Source.stopped] == stopped.sum()
    assert np.isnan(few.seconds[stopped]).all()
    for c, i in np.argwhere(stopped):
        assert scenario.seconds(kind, tried[c], sizes[i]) > 1.1 * best[i]
    # The second best is one that was not stopped.
    assert ((few.source == Source.simulated).sum(axis=0) >= 2).all()
    text = str(Tuning(tune("bcast", LEVEL, ranks=2, sizes=[1]).table, (few,), 0.0))
    assert f"{stopped.sum()} by their own simulation, stopped once it was slower" in text


@pytest.mark.parametrize("kind", ALL)
def test_nothing_is_below_the_bound_on_nodes_that_share_interfaces(kind: str) -> None:
    machine = isthmus.load(MACHINE)
    for nodes, per_node, nics in ((4, 4, 1), (8, 2, 2), (7, 3, 1)):
        shared = isthmus.Machine.parse(f"{MACHINE} nics={nics}") if nics > 1 else machine
        scenario = Scenario(shared, nodes * per_node, shared.allocate(nodes, ranks_per_node=per_node))
        sizes = np.array([0] if kind == "barrier" else SIZES)
        least = scenario.bound(kind, sizes)
        for choice in candidates(kind, scenario, options={"segment": [0, 16384], "radix": [2, 4]}):
            times = [scenario.seconds(kind, choice, int(size)) for size in sizes]
            assert (np.array(times) >= least * (1 - 1e-9)).all(), choice


def test_bounds_know_what_nodes_share() -> None:
    machine = isthmus.load(MACHINE)
    crowded = Scenario(machine, 16, machine.allocate(4, ranks_per_node=4)).bound("alltoall", np.array([1 << 20]))
    alone = Scenario(machine, 16, machine.allocate(16, ranks_per_node=1)).bound("alltoall", np.array([1 << 20]))
    assert crowded[0] > 2 * alone[0]


def test_most_is_left_out() -> None:
    scenario = Scenario(isthmus.load(MACHINE), 128)
    found = sweep("allreduce", scenario, SIZES, candidates("allreduce", scenario))
    left_out = found.left_out
    predicted = int((found.source == Source.between).sum())
    assert sum(left_out.values()) + found.simulations + predicted == found.source.size
    assert found.simulations < found.source.size
    known = (found.source == Source.simulated) | (found.source == Source.between)
    assert (np.isnan(found.seconds) == ~known).all()


def test_schedules_that_are_too_large_are_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = Scenario(LEVEL, 24)
    sizes = [1 << k for k in range(10, 24)]
    choices = [Choice("ring"), Choice("recursive_doubling"), Choice("binomial")]
    whole = sweep("allreduce", scenario, sizes, choices, exhaustive=True)
    monkeypatch.setattr(search, "HEAVY", 1000)
    monkeypatch.setattr(large, "OUTLINES", 3500)
    monkeypatch.setattr(large, "CHECKS", 3500)
    few = sweep("allreduce", scenario, sizes, choices)
    assert (few.source == Source.between).any()
    assert few.seconds[few.best, range(len(sizes))] == pytest.approx(whole.seconds.min(axis=0), rel=1e-3)
    assert "~ interpolated between" in str(Tuning(tune("bcast", LEVEL, ranks=2, sizes=[1]).table, (few,), 0.0))


def test_tables_and_reports() -> None:
    tuning = tune(["bcast", "barrier"], LEVEL, ranks=[4, 16], sizes=[8, 100_000], workers=2)
    assert tuning.table.collectives == ("barrier", "bcast")
    row = tuning.table.row("bcast", 16)
    assert [point.bytes for point in row.points] == [8, 100_000]
    for point in row.points:
        again = isthmus.simulate(
            isthmus.collective("bcast", ranks=16, bytes=point.bytes, algorithm=point.choice.argument), LEVEL
        )
        assert point.seconds == again.makespan
        assert point.bound is not None
        assert point.seconds is not None
        assert point.bound <= point.seconds
        assert point.runner_up is not None
        assert point.runner_up != point.choice
        assert point.margin is not None
        assert point.margin > 0
    text = str(tuning)
    assert "bcast on 16 ranks" in text
    assert "slower by" in text
    assert "left out:" in text
    assert tuning.sweep("bcast").scenario.ranks == 16
    assert tuning.table.provenance.model == "loggops"


def test_pictures_show_lines_bound_and_crossovers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from isthmus.plot import tuning as drawing

    kept: list[Any] = []
    save = drawing.save
    monkeypatch.setattr(drawing, "save", lambda fig, *rest: (kept.append(fig), save(fig, *rest)))
    done = tune("allreduce", LEVEL, ranks=[4, 32], sizes=[8, 1024, 65_536, 1 << 22], algorithms=["ring", "binomial"])
    done.plot(tmp_path / "times.png")
    done.plot_map(tmp_path / "map.svg")
    times, best = (fig.axes[0] for fig in kept)
    found = done.sweep("allreduce")
    named = {text.get_text() for text in kept[0].legends[0].get_texts()}
    assert named == {"ring", "binomial", "lower bound of all algorithms"}
    assert (times.lines[0].get_ydata() == np.nanmin(found.seconds, axis=0)).all()
    changes = [line for line in times.lines if len(set(line.get_xdata())) == 1]
    assert len(changes) == len(found.row().rules) - 1 == 1
    assert [label.get_text() for label in best.get_yticklabels()] == ["4", "32"]
    assert (tmp_path / "times.png").stat().st_size > 10_000
    with pytest.raises(InvalidInput, match="suffix"):
        done.plot(tmp_path / "times.txt")


def test_progress_counts_up_to_all() -> None:
    seen: list[tuple[int, int]] = []
    tune("bcast", LEVEL, ranks=8, sizes=[8, 64], progress=lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1]
    assert all(a[0] < b[0] for a, b in itertools.pairwise(seen))


def test_a_limit_of_time_leaves_one_at_every_size() -> None:
    tuning = tune("allreduce", LEVEL, ranks=16, sizes=SIZES, seconds=1e-9, exhaustive=True)
    assert tuning.sweeps[0].simulations == len(SIZES)
    assert tuning.sweeps[0].left_out[Source.late] > 0


@pytest.mark.parametrize(
    ("ranks", "kind", "name"),
    [
        (300, "allgather", "ring"),
        (200, "allreduce", "recursive_doubling"),
        (500, "bcast", "binomial"),
        (150, "alltoall", "pairwise"),
    ],
)
def test_operations_are_foreseen(ranks: int, kind: str, name: str) -> None:
    real = len(isthmus.collective(kind, ranks=ranks, bytes=64, algorithm=name))
    assert operations(kind, Choice(name), ranks, 64) == pytest.approx(real, rel=0.6)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"collective": "bcasts"}, "'bcasts': must be one of all, barrier"),
        ({"collective": []}, "none: must be one of all"),
        ({"ranks": 0}, "0 ranks: expected at least 1"),
        ({"ranks": []}, "at least one number"),
        ({"sizes": [8, 8]}, "ascend"),
        ({"sizes": []}, "ascend"),
        ({"algorithms": ["magic"]}, "algorithm 'magic' of bcast"),
        ({"algorithms": []}, "bcast has no algorithm to try"),
        ({"workers": 0}, "0 workers"),
        ({"machine": 7}, "machine: int"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], reason: str) -> None:
    given = {"collective": "bcast", "machine": LEVEL, "ranks": 4, "sizes": [8], **arguments}
    with pytest.raises(InvalidInput, match=reason):
        tune(**given)


def test_what_was_not_tuned_is_not_found() -> None:
    with pytest.raises(InvalidInput, match="reduce on any ranks was not tuned"):
        tune("bcast", LEVEL, ranks=2, sizes=[1]).sweep("reduce")
