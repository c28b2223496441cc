"""Large programs piece by piece: what is said of them is what is said of the whole."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus.advice import advise as verb
from isthmus.advice.analysis import pieces as cutting
from isthmus.advice.analysis import piecewise, prediction, remapping
from isthmus.advice.analysis.pieces import Pieces, functions_only, pieces_of
from isthmus.errors import InvalidInput
from test_profile_functions import program_of


def stencil(ranks: int, steps: int, *, late: str = "", alike: bool = False) -> isthmus.Program:
    """Exchanges of what is computed, two groups with collectives of their own, and a sum of all.

    ``late``: requests are open ("request"), or messages under way ("message"), whenever all ranks meet; ``alike``:
    every step is the same.
    """
    random = np.random.default_rng(7)
    rank = np.arange(ranks)
    b = isthmus.ProgramBuilder(ranks)
    groups = [(half, b.communicator(half)) for half in np.array_split(rank, 2)]
    for step in range(steps):
        requests = [b.irecv(None, (rank + by) % ranks, 40_000, tag=by % 7) for by in (1, -1)]
        with b.location("step.c:3"):
            b.compute(None, 50e-6 + 1e-6 * rank if alike else random.uniform(20e-6, 90e-6, ranks))
        size = 40_000 if alike else random.integers(1000, 40_000, ranks)
        with b.location("step.c:7"):
            requests += [b.isend(None, (rank - by) % ranks, size, tag=by % 7) for by in (1, -1)]
            if late == "message":
                b.send(None, (rank + 2) % ranks, 8, tag=99)
            if late != "request":
                b.waitall(None, np.stack(requests, axis=1))
        for half, comm in groups:
            b.allreduce(half, 64, comm=comm)
        if step % 3 == 2:
            b.compute(None, 5e-6)
            b.allreduce(None, 8)
        if late == "request":
            b.waitall(None, np.stack(requests, axis=1))
        if late == "message":
            b.recv(None, (rank - 2) % ranks, 8, tag=99)
    return b.build()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of a few thousand operations are large."""
    monkeypatch.setattr(cutting, "_FEWEST_EVENTS", 400)
    monkeypatch.setattr(Pieces, "size", 2_000)
    monkeypatch.setattr(verb, "_MOST_AT_ONCE", 8_000)
    monkeypatch.setattr(prediction, "MOST_RECORDED", 4_000)
    monkeypatch.setattr(prediction, "MOST_REFINED", 0)
    monkeypatch.setattr(remapping, "_MOST", 0)
    monkeypatch.setattr(piecewise, "MOST_RECORDED", 4_000)


def whole(monkeypatch: pytest.MonkeyPatch, program: isthmus.Program, *machines: str, **options: Any) -> isthmus.Advice:
    with monkeypatch.context() as patch:
        patch.setattr(verb, "_MOST_AT_ONCE", 10**9)
        return isthmus.advise(program, list(machines), tune_seconds=0, **options)


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("spec", ["torus:4x4", "torus:4x2 cores=4", "fattree:k=4,n=2 cores=2"])
@pytest.mark.parametrize("record", ["finish", "ranks", "ops"])
@pytest.mark.usefixtures("small")
def test_simulations_that_go_on(record: str, spec: str, alike: bool) -> None:
    """Pieces after which ranks compute end where the whole ends, to the picosecond, and their shares add up."""
    program = stencil(16, 90, alike=alike)
    all_of_it = isthmus.simulate(program, spec, record=record)
    pieces = pieces_of(program, None, 5_000)
    assert pieces is not None
    spent, after, events = 0, None, 0
    for piece in pieces:
        t = isthmus.simulate(piece.schedule, spec, record=record, after=after)
        assert t.deadlock is None
        after = t.free_ps
        spent = spent + t._breakdown[:, :-1]
        events += len(piece.program)
    assert events == len(program)
    assert np.array_equal(t.finish_ps, all_of_it.finish_ps)
    if record != "finish":
        assert np.array_equal(spent, all_of_it._breakdown[:, :-1])


@pytest.mark.parametrize("scale", [1.0, 2.0])
@pytest.mark.parametrize("collectives", [None, {"allreduce": "ring"}])
@pytest.mark.usefixtures("small")
def test_advice_is_that_on_the_whole(monkeypatch: pytest.MonkeyPatch, collectives: Any, scale: float) -> None:
    program = stencil(16, 90)
    machines = ("torus:4x4", "torus:4x2 cores=4")
    options: dict[str, Any] = {"collectives": collectives, "scale_compute": scale}
    large = isthmus.advise(program, list(machines), tune_seconds=0, **options)
    once = whole(monkeypatch, program, *machines, **options)
    assert len(large.predictions[0].timeline.schedule) < large.predictions[0].operations / 3
    a, b = large.json(), once.json()
    assert len(large.predictions[0].pairs) > 0
    # What is told of the critical path is told of pieces about as long as the part of the whole.
    for one, other in zip(a["predictions"], b["predictions"], strict=True):
        assert (one["path"] is None) == (other["path"] is None)
        if one["path"] is not None:
            assert sum(one["path"].values()) == pytest.approx(one["path_part"][1] - one["path_part"][0], rel=0.01)
            assert sum(c["path"] for c in one["calls"]) == pytest.approx(sum(one["path"].values()))
            assert one["path"]["compute"] / sum(one["path"].values()) == pytest.approx(
                other["path"]["compute"] / sum(other["path"].values()), abs=0.08
            )
        for row in (one, other):
            # Queues are those of one simulation of the whole, of the first machine.
            assert (row["settings"] is not None) == (row is b["predictions"][0])
            for name in ("path", "path_part", "pairs", "settings"):
                del row[name]
            row["calls"].sort(key=lambda c: (c["name"], c["location"]))
            for call in (*row["calls"], *row["sizes"]):
                del call["path"]
                call.pop("path_shares", None)
    for name in ("sentences", "bounds", "notes"):
        assert len(a.pop(name)) == len(b.pop(name))
    alike(a, b)
    assert "critical path (part of the run)" in str(large)
    assert large.html().count("<svg") == once.html().count("<svg")


def alike(a: Any, b: Any) -> None:
    """Equal, but for how sums of numbers are rounded."""
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for name in a:
            alike(a[name], b[name])
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            alike(one, other)
    elif isinstance(a, float):
        assert a == pytest.approx(b, rel=1e-9, abs=1e-12)
    else:
        assert a == b


@pytest.mark.usefixtures("small")
def test_ranks_that_go_on_while_others_are_in_the_collective(monkeypatch: pytest.MonkeyPatch) -> None:
    """They send before others have begun the next piece: times are those of the whole up to what that takes."""
    options: dict[str, Any] = {"collectives": {"allreduce": "ring"}, "scale_compute": 0.1}
    (large,) = isthmus.advise(stencil(16, 90), "torus:4x2 cores=4", tune_seconds=0, **options).predictions
    (once,) = whole(monkeypatch, stencil(16, 90), "torus:4x2 cores=4", **options).predictions
    assert len(large.timeline.schedule) < large.operations / 3
    # Five pieces of a millisecond; each of a large program takes a hundred times as long.
    assert large.time == pytest.approx(once.time, rel=0.01)
    assert large.losses == pytest.approx(once.losses, rel=0.03, abs=1e-4)


@pytest.mark.usefixtures("small")
def test_a_beginning_that_is_unlike_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """It makes twenty times as many operations of its events, by which those of the whole are estimated."""
    b = isthmus.ProgramBuilder(16)
    for number in range(400):
        b.compute(None, 20e-6 + 1e-6 * np.arange(16))
        if number < 20:
            b.alltoall(None, 1000)
        b.allreduce(None, 8)
    program = b.build()
    (large,) = isthmus.advise(program, "torus:4x4", tune_seconds=0).predictions
    (once,) = whole(monkeypatch, program, "torus:4x4").predictions
    assert len(large.timeline.schedule) < large.operations / 3
    assert (large.time, large.losses) == (once.time, pytest.approx(once.losses))
    assert large.part is not None
    assert 0.2 < large.part[0] / large.time < 0.6


@pytest.mark.parametrize("late", ["request", "message"])
@pytest.mark.usefixtures("small")
def test_what_cannot_be_cut_is_looked_at_as_a_whole(monkeypatch: pytest.MonkeyPatch, late: str) -> None:
    """Requests that are open, and messages that are under way, at every collective of all ranks."""
    program = stencil(16, 90, late=late)
    large = isthmus.advise(program, "torus:4x4", tune_seconds=0)
    assert len(large.predictions[0].timeline.schedule) == large.predictions[0].operations
    assert large.json() == whole(monkeypatch, program, "torus:4x4").json()


@pytest.mark.usefixtures("small")
def test_noise_and_links_that_are_shared_need_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    program = stencil(16, 30)
    monkeypatch.setattr(verb, "_MOST_AT_ONCE", 2_000)
    for options in ({"model": "flow"}, {"noise": isthmus.Noise(kind="periodic", period=1e-3, duration=1e-5)}):
        (found,) = isthmus.advise(program, "torus:4x4", tune_seconds=0, **options).predictions
        assert len(found.timeline.schedule) == found.operations


def test_simulations_that_cannot_go_on() -> None:
    schedule = isthmus.collective("allreduce", ranks=16, bytes=8, algorithm="ring")
    t = isthmus.simulate(schedule, "torus:4x4", record="ops")
    with pytest.raises(InvalidInput, match="the only model that can go on"):
        isthmus.simulate(schedule, "torus:4x4", model="flow", after=t.free_ps)
    with pytest.raises(InvalidInput, match="the state to go on from has 10 resources"):
        isthmus.simulate(schedule, "torus:4x4", after=t.free_ps[:10])
    then = isthmus.simulate(schedule, "torus:4x4", record="ops", after=t.free_ps)
    with pytest.raises(InvalidInput, match="continues another"):
        then.critical_path()
    part = isthmus.simulate(schedule, "torus:4x4", record="ops", after=t.free_ps, path_part=(0, 2 * len(schedule)))
    assert part.critical_path().end_ps[-1] == then.makespan_ps
    # Ranks that are alike are not told apart, and go on alike.
    schedule = isthmus.collective("allreduce", ranks=64, bytes=1 << 20, algorithm="ring")
    flat = isthmus.Level(L=1e-6, o_send=0.3e-6, o_recv=0.4e-6, g=0.5e-6, G=0.1e-9)
    ring = isthmus.simulate(schedule, flat)
    assert ring.simulated_ranks == 1
    again = isthmus.simulate(schedule, flat, after=ring.free_ps)
    assert (again.finish_ps == isthmus.simulate(schedule, flat, symmetry=False, after=ring.free_ps).finish_ps).all()
    assert again.makespan_ps > ring.makespan_ps


@pytest.mark.usefixtures("small")
def test_functions_of_recorded_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are those of the whole: functions, and what is computed between calls of two pieces."""
    program, _ = program_of(Random(3), 4, 600)
    monkeypatch.setattr(verb, "_MOST_AT_ONCE", 5_000)
    large = isthmus.advise(program, "torus:4x2", tune_seconds=0).predictions[0]
    assert len(large.timeline.schedule) < large.operations / 2
    (once,) = whole(monkeypatch, program, "torus:4x2").predictions
    assert len(large.calls) > 5
    assert {(c.name, c.location): (c.calls, c.messages) for c in large.calls} == {
        (c.name, c.location): (c.calls, c.messages) for c in once.calls
    }
    busy, waiting = ({c.name: getattr(c, of) for c in once.calls} for of in ("busy", "waiting"))
    for c in large.calls:
        assert (c.busy, c.waiting) == pytest.approx((busy[c.name], waiting[c.name]), rel=1e-3, abs=1e-7)


def test_what_is_kept_of_a_recording() -> None:
    """Functions, events and paths stay, and everything that is known of ranks; times of calls go."""
    program, _ = program_of(Random(1), 4, 20)
    kept = functions_only(program)
    before, now = program.recording, kept.recording
    assert before is not None
    assert now is not None
    for name in ("function", "event", "first", "path", "wall", "host"):
        assert np.array_equal(getattr(now, name), getattr(before, name))
    advice = [isthmus.advise(p, "torus:4x4", tune_seconds=0).json() for p in (kept, program)]
    assert advice[0] == advice[1]
    without = replace(program, recording=None)
    assert functions_only(without) is without


@pytest.mark.usefixtures("small")
def test_settings_that_are_not_looked_at_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queues and eager limits in the text of the whole, and why they are not in that of pieces."""
    program = stencil(16, 90)
    pieces = str(isthmus.advise(program, ["torus:4x4"], tune_seconds=0))
    assert "queues of MPI and eager limits: not looked at" in pieces.replace("\n  ", " ")
    assert "not looked at" not in str(whole(monkeypatch, program, "torus:4x4"))


@pytest.mark.usefixtures("small")
def test_settings_of_pieces_stand_for_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queues, limits and progress looked for in pieces of a regular program, beside those of the whole."""
    program = stencil(16, 90)
    monkeypatch.setattr(verb, "_SETTINGS_EXCERPT", 3_000)
    machine = isthmus.load("torus:4x4 L=2us o_send=1us o_recv=1us g=1us G=1ns/B S=8KiB")
    (p,) = isthmus.advise(program, [machine], tune_seconds=0).predictions
    with monkeypatch.context() as patch:
        patch.setattr(verb, "_MOST_AT_ONCE", 10**9)
        (known,) = isthmus.advise(program, [machine], tune_seconds=0).predictions
    found, expected = p.settings, known.settings
    assert found is not None
    assert expected is not None
    assert expected.excerpt is None
    assert found.excerpt is not None
    assert 0.1 < found.excerpt < 0.5
    assert found.queues.messages < expected.queues.messages
    for name in ("unexpected_most", "held_most", "posted_most", "buffered_most"):
        few, all_of_them = (int(getattr(one.queues, name).max()) for one in (found, expected))
        assert 0.5 * all_of_them <= few <= all_of_them
    assert len(expected.tried) > 0
    assert [(one.level, one.limit) for one in found.tried] == [(one.level, one.limit) for one in expected.tried]
    for few, one in zip(found.tried, expected.tried, strict=True):
        assert few.time + few.saving == pytest.approx(p.time)
        assert few.time == pytest.approx(one.time, rel=0.03)
    assert [one.limit for one in found.better] == [one.limit for one in expected.better]
    assert found.progress is not None
    assert expected.progress is not None
    assert found.progress.longer == pytest.approx(expected.progress.longer, rel=0.2, abs=0.02 * p.time)
    advice = isthmus.advise(program, [machine], tune_seconds=0)
    assert "of the operations: queues may be longer in the rest." in " ".join(str(advice).split())
    assert advice.json()["predictions"][0]["settings"]["excerpt"] == found.excerpt
