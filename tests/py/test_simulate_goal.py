"""GOAL files with results of LogGOPSim (built with a stable sort), to the nanosecond."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import isthmus
from oracles import goal_text, loggops

GOAL = Path(__file__).parents[1] / "data" / "goal"
CASES = json.loads((GOAL / "expected.json").read_text())
FILES = sorted({case["file"] for case in CASES})
NANO = 1000


def cases(file: str) -> Iterator[tuple[dict[str, int], int]]:
    """Parameters in ns and the makespan in ns."""
    for case in CASES:
        if case["file"] == file:
            p = dict(case["params"])
            o = p.pop("o")
            yield p | {"o_send": o, "o_recv": o}, case["makespan_ns"]


def test_all_cases_are_there() -> None:
    assert len(CASES) == 64
    assert set(FILES) == {path.name for path in GOAL.glob("*.goal")}
    assert not any(case["stuck"] for case in CASES)


@pytest.mark.parametrize("file", FILES)
def test_makespans_are_those_of_loggopsim(file: str) -> None:
    schedule = isthmus.read(GOAL / file)
    for p, makespan in cases(file):
        level = isthmus.Level(**{name: value if name == "S" else value * 1e-9 for name, value in p.items()})
        for symmetry in (True, False):
            t = isthmus.simulate(schedule, level, receive="loggopsim", symmetry=symmetry)
            assert t.deadlock is None
            assert t.makespan_ps == makespan * NANO, p


@pytest.mark.sampled(6)
@pytest.mark.parametrize("file", FILES)
def test_the_oracle_has_them_too(file: str) -> None:
    ranks = goal_text.read(GOAL / file)
    for p, makespan in cases(file):
        slow = loggops.simulate(ranks, loggops.Parameters(**p), whole=True)
        assert (slow.makespan, slow.stuck) == (makespan, []), p
