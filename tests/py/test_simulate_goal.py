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


def test_what_a_start_frees_comes_before_what_an_end_frees(tmp_path: Path) -> None:
    """As LogGOPSim (76451de) has it: L=700 o=300 g=500 G=2 O=1 S=1000; by default the order is that of the schedule."""
    goal = tmp_path / "both.goal"
    goal.write_text(
        "num_ranks 2\nrank 0 {\nl1: calc 4500\nl2: send 900b to 1 tag 4\nl3: send 1b to 1 tag 0\n"
        "l2 requires l1\nl3 irequires l1\n}\n"
        "rank 1 {\nl1: recv 900b from 0 tag 4\nl2: recv 1b from 0 tag 0\n}\n"
    )
    level = isthmus.Level(L=700e-9, o_send=300e-9, o_recv=300e-9, g=500e-9, G=2e-9, O=1e-9, S=1000)
    for receive, ends in (("loggopsim", [6199, 8098]), ("loggp", [7098, 8098])):
        found = isthmus.simulate(isthmus.read(goal), level, receive=receive)
        assert found.finish_ps.tolist()[0] == 1000 * ends[0]
        if receive == "loggopsim":
            assert found.finish_ps.tolist() == [1000 * end for end in ends]
