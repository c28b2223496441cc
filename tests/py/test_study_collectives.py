"""Studies of collectives: points, findings, and what the catalogue asks for."""

from __future__ import annotations

from typing import Any

import pytest

import isthmus
from isthmus import InvalidInput
from isthmus.studies.collectives import KIND, measure
from isthmus.studies.collectives_page import label, summarise

MACHINE = "torus-4x4x4"


def point(**given: Any) -> dict[str, Any]:
    """A point with the defaults of the kind."""
    out = {p.name: p.default for p in KIND.parameters}
    return {**out, "machine": MACHINE, "collective": "bcast", "ranks": 32, "bytes": 64, **given}


def test_a_point_is_the_simulation_of_its_collective() -> None:
    schedule = isthmus.collective("bcast", ranks=32, bytes=64, algorithm="ring", access="put", sync=("none", "all"))
    machine = isthmus.load(MACHINE)
    expected = isthmus.simulate(schedule, machine, machine.allocate(4, ranks_per_node=8)).makespan
    assert measure(point(algorithm="ring", access="put", sync="none-all"))["time"] == expected
    # Ranks by node change the time.
    assert measure(point(algorithm="ring", access="put", sync="none-all", per_node=1))["time"] != expected


def test_work_is_not_counted_and_noise_is() -> None:
    once = measure(point(collective="allreduce", algorithm="recursive_doubling"))["time"]
    steps = point(collective="allreduce", algorithm="recursive_doubling", work=1e-3, count=20)
    assert measure(steps)["time"] == pytest.approx(once, rel=0.2)
    noisy = measure({**steps, "noise": "periodic,period=1ms,duration=100us"})["time"]
    assert noisy > measure(steps)["time"] + 90e-6


def test_too_many_ranks_are_refused() -> None:
    with pytest.raises(InvalidInput, match="ranks = 1000: 64 nodes hold 512"):
        measure(point(ranks=1000))


def test_labels_tell_flavours_apart() -> None:
    assert label(point(algorithm="knomial:radix=4")) == "knomial radix 4"
    assert label(point(access="put", sync="none", count=8)) == "default, put, loose, 8 x, all under way"


def row(time: float, **given: Any) -> dict[str, Any]:
    return {**point(**given), "time": time, "messages": 1}


def exchange(times: dict[int, dict[str, float]]) -> list[dict[str, Any]]:
    return [
        row(t, machine="ranger", collective="alltoall", ranks=256, bytes=size, algorithm=a)
        for size, by in times.items()
        for a, t in by.items()
    ]


def test_findings_judge_what_was_computed() -> None:
    radix2, flat = "bruck:radix=2", "linear"
    published = exchange(
        {8: {radix2: 1.0, flat: 10.0}, 256: {radix2: 1.0, flat: 1.5}, 512: {radix2: 2.0, flat: 1.8},
         16384: {radix2: 261.0, flat: 188.0}}
    )  # fmt: skip
    found = summarise(published).findings
    assert {name: f.verdict for name, f in found.items()} == dict.fromkeys(
        ("exchange-small", "exchange-crossover", "exchange-large"), "agrees"
    )
    assert "28 % less" in found["exchange-large"].ours
    other = exchange(
        {8: {radix2: 1.0, flat: 1.1}, 256: {radix2: 1.0, flat: 1.5}, 512: {radix2: 1.0, flat: 1.8},
         16384: {radix2: 1.0, flat: 2.0}}
    )  # fmt: skip
    assert {f.verdict for f in summarise(other).findings.values()} == {"differs"}
    assert summarise(exchange({512: {radix2: 1.0}})).findings == {}


def test_trees_are_compared_with_the_best_one() -> None:
    def trees(times: dict[str, float], machine: str, ranks: int, bytes: int) -> list[dict[str, Any]]:
        return [row(t, machine=machine, ranks=ranks, bytes=bytes, algorithm=a) for a, t in times.items()]

    rows = trees({"knomial:radix=4": 1.0, "knomial:radix=8": 1.2, "chain": 9.0}, "jaguar-xt4", 2048, 8)
    rows += trees({"knomial:radix=4": 2.0, "chain": 1.0}, "jaguar-xt4", 2048, 32768)
    rows += trees({"knomial:radix=4": 1.0, "knomial:radix=8": 1.05}, "ranger", 1024, 8)
    found = summarise(rows).findings
    assert {name: f.verdict for name, f in found.items()} == {
        "bcast-sun": "partly", "bcast-xt4": "agrees", "bcast-wrong": "agrees"
    }  # fmt: skip


@pytest.mark.parametrize("name", ["upc-bcast", "upc-reduce", "upc-exchange", "upc-scatter", "upc-pipelined"])
def test_algorithms_of_the_catalogue_exist_and_findings_are_published(name: str) -> None:
    study = isthmus.Study.load(name)
    points = study.points
    for algorithm in {p["algorithm"] for p in points}:
        small = {**points[0], "machine": MACHINE, "ranks": 8, "algorithm": algorithm}
        assert measure(small)["time"] > 0
    # Whatever times there are, what is found belongs to something published.
    found = summarise([{**p, "time": 1.0 + i, "messages": 1} for i, p in enumerate(points)]).findings
    assert set(found) == {p.name for p in study.published}
