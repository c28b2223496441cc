"""GOAL files with results of LogGOPSim (built with a stable sort), to the nanosecond."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import isthmus
from oracles import goal_text, loggops

GOAL = Path(__file__).parents[1] / "data" / "goal"
CASES = json.loads((GOAL / "expected.json").read_text())
FILES = sorted({case["file"] for case in CASES})
NANO = 1000


def test_all_cases_are_there() -> None:
    assert len(CASES) == 64
    assert FILES == sorted(path.name for path in GOAL.glob("*.goal"))
    assert not any(case["stuck"] for case in CASES)


@pytest.mark.parametrize("file", FILES)
def test_makespans_are_those_of_loggopsim(file: str) -> None:
    schedule = isthmus.read(GOAL / file)
    for case in CASES:
        if case["file"] != file:
            continue
        p, ns = case["params"], 1e-9
        level = isthmus.Level(
            L=p["L"] * ns, o_send=p["o"] * ns, o_recv=p["o"] * ns, g=p["g"] * ns, G=p["G"] * ns, O=p["O"] * ns, S=p["S"]
        )
        for symmetry in (True, False):
            t = isthmus.simulate(schedule, level, symmetry=symmetry)
            assert t.deadlock is None
            assert t.makespan_ps == case["makespan_ns"] * NANO, p


@pytest.mark.parametrize("file", FILES)
def test_the_oracle_has_them_too(file: str) -> None:
    ranks = goal_text.read(GOAL / file)
    for case in CASES:
        if case["file"] == file:
            p = case["params"]
            slow = loggops.simulate(
                ranks, loggops.Parameters(L=p["L"], o_send=p["o"], o_recv=p["o"], g=p["g"], G=p["G"], O=p["O"], S=p["S"])
            )
            assert (slow.makespan, slow.stuck) == (case["makespan_ns"], []), p
