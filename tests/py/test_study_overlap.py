"""Studies of programs that overlap: points by closed forms, and findings that follow from what was computed."""

from __future__ import annotations

from typing import Any

import pytest

import isthmus
from isthmus import InvalidInput
from isthmus.studies.overlap import KIND, computation, measure
from isthmus.studies.overlap_page import summarise
from isthmus.studies.reading import load

#: A network that takes nothing of processors, and one that takes 1 ns of them for a byte.
FREE = (
    "fattree:k=4,n=2 name=free cores=1 network.L=0s network.o_send=0s network.o_recv=0s network.g=0s network.G=10ns/B"
)
BUSY = f"{FREE} network.O=1ns/B".replace("free", "busy")
PROGRAM = "osem:points=32,subsets=1,compute=1s"


def point(**given: Any) -> dict[str, Any]:
    out = {p.name: p.default for p in KIND.parameters}
    return {**out, "claim": "osem", "program": PROGRAM, "machine": FREE, "ranks": 2, "way": "blocking", **given}


def test_blocking_is_the_sum() -> None:
    """Two ranks: half a second each, and one exchange of 32^3 numbers, 10 ns a byte."""
    found = measure(point())
    assert found["computation"] == pytest.approx(0.5)
    assert found["work"] == pytest.approx(1)
    assert found["time"] == pytest.approx(0.5 + 32**3 * 8 * 10e-9, rel=0.01)
    assert (found["tiles"], found["window"]) == (1, 1)


def test_what_hides_is_searched_for() -> None:
    """The best of all tilings that were tried is no worse than any of them, and leaves nearly nothing here."""
    free = measure(point(way="thread"))
    assert free["time"] < 0.5 + 0.2 * (measure(point())["time"] - 0.5)
    fixed = [measure(point(way="thread", tiles=tiles)) for tiles in (2, 4, 8)]
    assert [one["tiles"] for one in fixed] == [2, 4, 8]
    assert free["time"] <= min(one["time"] for one in fixed)
    # What the processor does for a byte cannot be hidden: O at both ends.
    left = measure(point(way="tests", machine=BUSY))["time"] - 0.5
    assert left >= 32**3 * 8 * 2e-9 * 0.99
    assert left < 0.5 * (measure(point(machine=BUSY))["time"] - 0.5)


def test_programs_without_loops() -> None:
    """They are blocking by a switch; parameters hold at ``base`` ranks."""
    text = "poisson:points=32,steps=3,compute=8ms"
    both = [measure(point(program=text, ranks=8, base=4, way=way)) for way in ("blocking", "thread")]
    assert [one["computation"] for one in both] == pytest.approx([3 * 4e-3] * 2)
    assert both[1]["time"] < both[0]["time"]
    program = isthmus.example("poisson:ranks=8,points=32,steps=3,compute=4ms,hidden=0")
    machine = isthmus.load(FREE)
    expected = isthmus.simulate(program, machine, machine.allocate(8, ranks_per_node=1)).makespan
    assert both[0]["time"] == expected
    assert computation(program).sum() == pytest.approx(both[0]["work"])


def test_algorithms_are_taken() -> None:
    text = "compress:blocks=8,bytes=100kB,compute=1ms"
    times = [measure(point(program=text, ranks=8, algorithms=one))["time"] for one in ("", "gather=linear")]
    assert times[0] != times[1]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"program": "osem:tiles=4"}, "tiles is set by the study"),
        ({"program": "cg"}, "'cg': has none of tiles, hidden, ahead"),
        ({"algorithms": "linear"}, "algorithms 'linear': must be COLLECTIVE=ALGORITHM"),
        ({"ranks": 17}, "ranks = 17: 16 nodes hold 16"),
    ],
)
def test_what_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        measure(point(**given))


def row(claim: str, way: str, time: float, **given: Any) -> dict[str, Any]:
    results = {"time": time, "computation": 1.0, "work": given.get("ranks", 2) * 1.0, "tiles": 4, "window": 1}
    return {**point(claim=claim, way=way), **results, **given}


def verdicts(rows: list[dict[str, Any]]) -> dict[str, str]:
    return {name: found.verdict for name, found in summarise(rows).findings.items()}


def test_findings() -> None:
    """Each statement agrees with what is as published, and not with what is otherwise."""
    blocking = row("ninety", "blocking", 2.0)
    assert verdicts([blocking, row("ninety", "tests", 1.05)]) == {"ninety": "agrees"}
    assert verdicts([blocking, row("ninety", "tests", 1.05), row("ninety", "thread", 1.2)]) == {"ninety": "partly"}
    assert verdicts([blocking, row("ninety", "tests", 1.5)]) == {"ninety": "differs"}
    assert verdicts([blocking]) == {}
    for claim in ("fft-overhead", "osem"):
        assert verdicts([row(claim, "blocking", 2.0), row(claim, "tests", 1.9)]) == {claim: "agrees"}
        assert verdicts([row(claim, "blocking", 2.0), row(claim, "tests", 2.1)]) == {claim: "differs"}
    many = {"ranks": 32768}
    for time, verdict in ((0.83, "agrees"), (0.6, "differs")):
        rows = [row("fft-scale", "blocking", 1.0, **many), row("fft-scale", "tests", time, **many)]
        assert verdicts(rows) == {"fft-scale": verdict}
    assert verdicts([row("fft-scale", "blocking", 1.0), row("fft-scale", "tests", 0.83)]) == {"fft-scale": "open"}
    up = [row("speed-up", way, time, ranks=n) for n in (8, 16) for way, time in (("blocking", 2.0), ("tests", 1.5))]
    assert verdicts(up) == {"speed-up": "agrees"}
    assert verdicts([{**one, "time": one["time"] * one["ranks"] ** 2} for one in up]) == {"speed-up": "differs"}


def test_table_and_figure() -> None:
    """Hidden and gained shares; one panel for each program and machine."""
    rows = [
        row("osem", "blocking", 2.0),
        row("osem", "tests", 1.25),
        row("speed-up", "blocking", 1.0, program="heat:points=8"),
    ]
    summary = summarise(rows)
    assert summary.rows[1][-2:] == ["75 %", "38 %"]
    assert summary.rows[0][-2:] == ["", ""]
    assert summary.rows[0][2] == "free"
    figure = summary.draw()
    shown = [ax.get_title("left") for ax in figure.axes if ax.get_visible()]
    assert shown == ["osem on free", "heat on free"]
    other = {**rows[0], "program": PROGRAM.replace("1s", "2s")}
    words = summarise([*rows[:2], other, {**other, "way": "tests"}]).findings["osem"].ours
    assert "osem (compute=1s) on free: 75 % (2); osem (compute=2s) on free" in words


@pytest.mark.parametrize("name", ["nbc-applications", "upc-applications"])
def test_studies_of_the_catalogue(name: str) -> None:
    """All statements are among the claims of points, and can be judged; one small point of each program runs."""
    found = load(name)
    points = found.points
    claims = {one["claim"] for one in points}
    assert {one.name for one in found.published} == claims
    for program in {one["program"]: one for one in points}.values():
        if program["ranks"] <= 32:
            assert measure({**program, "way": "blocking"})["time"] > 0
