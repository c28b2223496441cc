"""The critical path of a part of a run, and the advice on programs that are too large for all of it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus.advice.analysis import prediction
from isthmus.errors import InvalidInput


def steps_of(ranks: int, steps: int, seed: int = 0) -> isthmus.Program:
    """Neighbours exchange what they compute, and now and then all sum: work that differs from step to step."""
    random = np.random.default_rng(seed)
    rank = np.arange(ranks)
    b = isthmus.ProgramBuilder(ranks)
    for step in range(steps):
        for by in (1, -1):
            b.irecv(None, (rank + by) % ranks, 40_000)
        with b.location("step.c:3"):
            b.compute(None, random.uniform(10e-6, 90e-6, ranks))
        for by in (1, -1):
            b.isend(None, (rank - by) % ranks, 40_000)
        with b.location("step.c:7"):
            b.waitall(None)
        if step % 5 == 4:
            b.allreduce(None, 8)
    return b.build()


@pytest.mark.parametrize("model", ["loggops", "flow"])
@pytest.mark.parametrize("noise", [None, isthmus.Noise(kind="exponential", period=1e-3, duration=2e-5)])
@pytest.mark.parametrize("spec", ["torus:4x4", "torus:4x2 cores=2"])
def test_the_end_of_a_path_is_that_of_the_whole(spec: str, noise: Any, model: str) -> None:
    """A part that ends with the run has the last steps of the whole path, and only those of its first moments may be
    missing."""
    schedule = isthmus.lower(steps_of(16, 40))
    options: dict[str, Any] = {"record": "ops", "noise": noise, "model": model}
    whole = isthmus.simulate(schedule, spec, **options).critical_path()
    first = len(schedule) // 2
    part = isthmus.simulate(schedule, spec, path_part=(first, len(schedule)), **options).critical_path()
    common = whole.begin_ps >= part.begin_ps[0]
    for name in ("begin_ps", "end_ps", "op", "rank", "via", "latency_ps", "noise_ps", "lost_ps"):
        assert np.array_equal(getattr(part, name), getattr(whole, name)[common]), name
    # Half of the operations are about half of the time.
    assert 0.4 < part.begin_ps[0] / part.end_ps[-1] < 0.6


def test_a_part_in_the_middle() -> None:
    """Its path has no holes, lies in the part, and computes as long as its operations do."""
    schedule = isthmus.lower(steps_of(16, 60))
    t = isthmus.simulate(schedule, "torus:4x4", record="ops", path_part=(len(schedule) // 3, len(schedule) // 3))
    path = t.critical_path()
    assert np.array_equal(path.begin_ps[1:], path.end_ps[:-1])
    assert sum(path.shares_ps.values()) == path.end_ps[-1] - path.begin_ps[0]
    # A third of what a program of messages alone would log is more of one that computes.
    for edge, share in ((path.begin_ps[0], 1 / 3), (path.end_ps[-1], 0.7)):
        assert edge / t.makespan_ps == pytest.approx(share, abs=0.06)
    computing = path.via == "compute"
    assert np.array_equal(path.begin_ps[computing], t.start_ps[path.op[computing].astype(np.int64)])
    with pytest.raises(InvalidInput, match="keeps only a part of the run"):
        t.sensitivities()
    with pytest.raises(InvalidInput, match='needs record="ops"'):
        isthmus.simulate(schedule, "torus:4x4", path_part=(0, 10))


def test_advice_on_a_large_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that is told of the whole run is the same; the critical path says which part it is of."""
    program = steps_of(16, 60)
    (small,) = isthmus.advise(program, "torus:4x4", tune_seconds=0).predictions
    monkeypatch.setattr(prediction, "MOST_RECORDED", small.timeline.executed // 4)
    advice = isthmus.advise(program, ["torus:4x4", "torus:8x2"], tune_seconds=0)
    large, other = advice.predictions
    assert (large.time, large.losses) == (small.time, small.losses)
    assert large.mean == pytest.approx(small.mean)
    assert [(s.low, s.high, s.messages, s.bytes) for s in large.sizes] == [
        (s.low, s.high, s.messages, s.bytes) for s in small.sizes
    ]
    was = {(c.name, c.location): c for c in small.calls}
    assert {(c.name, c.location) for c in large.calls} == set(was)
    for c in large.calls:
        one = was[c.name, c.location]
        assert (c.calls, c.messages, c.bytes) == (one.calls, one.messages, one.bytes)
        assert (c.busy, c.waiting) == pytest.approx((one.busy, one.waiting))
    assert large.part is not None
    assert large.path is not None
    assert sum(large.path.values()) == pytest.approx(large.span)
    assert sum(c.path for c in large.calls) == pytest.approx(large.span)
    assert large.span / large.time == pytest.approx(0.25, abs=0.05)
    assert other.path is None
    page = str(advice)
    assert "critical path (part of the run)" in page
    assert re.search(
        r"covers a part of the run, .* to .* of .*: the run has too many operations \([\d,]+\)", " ".join(page.split())
    )
    assert "cover" in next(note for note in advice.notes if "critical path" in note)
    assert "covers a part of the run" in advice.html()
    assert advice.json()["predictions"][0]["path_part"] == large.part
    assert small.part is None


def test_a_part_of_iterations_that_repeat() -> None:
    """Iterations that are equal to others were left out of the part too, and its path was empty."""
    program = isthmus.ProgramBuilder(8)
    for _ in range(200):
        for rank in range(8):
            program.compute(rank, 1e-6)
            program.send(rank, (rank + 1) % 8, 64)
            program.recv(rank, (rank - 1) % 8, 64)
    schedule = isthmus.lower(program.build())
    size = len(schedule)
    part = isthmus.simulate(schedule, "torus:4x2", record="ops", path_part=(size * 2 // 5, size // 3)).critical_path()
    assert len(part.begin_ps) > 0
    assert sum(part.shares_ps.values()) == part.end_ps[-1] - part.begin_ps[0]
    whole = isthmus.simulate(schedule, "torus:4x2")
    assert 0.25 < (part.end_ps[-1] - part.begin_ps[0]) / whole.makespan_ps < 0.45
