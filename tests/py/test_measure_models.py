"""Models of measured curves: lines and limits against what they were made of."""

from __future__ import annotations

import tomllib
from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus import Machine
from isthmus.measuring.fit import fit_limit, fit_line
from test_measure import _fake  # noqa: F401 - a fixture that pytest finds by its name


def rounds(value: float, noise: float, random: np.random.Generator) -> list[np.ndarray]:
    return [value * (1 + noise * random.standard_normal(8)) for _ in range(12)]


def test_lines_come_back_with_intervals_that_hold_them() -> None:
    random = np.random.default_rng(1)
    held = []
    for _ in range(60):
        a, b = 10 ** random.uniform(-7, -5), 10 ** random.uniform(-9, -7)
        points = {x: rounds(a + b * x, 0.03, random) for x in (0, 1, 4, 16, 64, 256, 1024)}
        model = fit_line(points, ("alone", "search"), "alone + search * length")
        assert model is not None
        assert model.numbers["alone"].value == pytest.approx(a, rel=0.05)
        assert model.numbers["search"].value == pytest.approx(b, rel=0.05)
        held += [a in model.numbers["alone"], b in model.numbers["search"]]
    assert np.mean(held) >= 0.9
    assert fit_line({1: rounds(1, 0, random)}, ("a", "b"), "") is None


def test_what_is_no_line_has_a_wide_interval_and_nothing_is_negative() -> None:
    random = np.random.default_rng(2)
    bent = fit_line({x: rounds(1 + x**2, 0.001, random) for x in range(1, 9)}, ("a", "b"), "a + b * x")
    assert bent is not None
    assert bent.numbers["b"].relative > 0.1
    falling = fit_line({x: rounds(2 - 0.1 * x, 0.01, random) for x in range(5)}, ("a", "b"), "a + b * x")
    assert falling is not None
    assert falling.numbers["b"].value == 0
    # One point that is disturbed moves nothing.
    points = {x: rounds(1 + 0.5 * x, 0.01, random) for x in range(8)}
    points[3] = rounds(20, 0.01, random)
    robust = fit_line(points, ("a", "b"), "a + b * x")
    assert robust is not None
    assert robust.numbers["b"].value == pytest.approx(0.5, rel=0.03)


@pytest.mark.parametrize("noise", [0.0, 0.03])
def test_limits_are_found_where_they_are_reached(noise: float) -> None:
    random = np.random.default_rng(3)
    for limit in (1.5, 3.2, 7.0):
        points = {k: rounds(min(k * 2.0, limit * 2), noise, random) for k in (1, 2, 3, 4, 6, 8, 12)}
        model = fit_limit(points, ("one", "node"), "min(senders * one, node)")
        assert model is not None
        assert model.numbers["one"].value == pytest.approx(2, rel=0.03)
        assert model.numbers["node"].value == pytest.approx(limit * 2, rel=0.03)
        assert model.numbers["node"].low <= limit * 2 * 1.01
    free = fit_limit({k: rounds(k * 2.0, noise, random) for k in (1, 2, 4, 8)}, ("one", "node"), "")
    assert free is not None
    assert [*free.numbers] == ["one"]
    assert fit_limit({}, ("one", "node"), "") is None


def test_models_go_into_the_machine_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """A probe of known numbers on four nodes of a ring, two ranks each."""
    monkeypatch.setenv("FAKE_HOSTS", "a b c d")
    monkeypatch.setenv("FAKE_RANKS", "8")
    monkeypatch.setenv("FAKE_AFFINITY", "0 1 0 1 0 1 0 1")
    plain = isthmus.load("ring:6 cores=4")
    base = Machine.from_dict(tomllib.loads(plain.toml()) | {"hostnames": "c,x,a,d,b,y"})
    found = isthmus.measure("here.toml", launch="mpirun -n 8", topology=base)
    here = isthmus.load("here.toml")
    assert here == found.machine
    hops = here.curves["hops-8"]
    # a and b are two links apart, a and d one, a and c two, b and d one, b and c two, c and d three.
    assert hops.x == (1.0, 2.0, 3.0)
    nearest, per_hop = hops.fitted["nearest"], hops.fitted["per_hop"]
    assert hops.formula == "nearest + per_hop * (hops - 1)"
    assert per_hop[1] <= per_hop[0] <= per_hop[2]
    assert per_hop[0] == pytest.approx(1e-7, rel=0.1)
    assert nearest[0] == pytest.approx(0.5e-6, rel=0.01)
    assert here.level.network.per_hop == pytest.approx(1e-7, rel=0.1)
    assert here.provenance("level.network.per_hop").interval is not None
    # L is that of neighbours: the level was measured between a and b.
    assert pytest.approx(1e-6 - 1e-7, rel=0.05) == here.level.network.L
    queue = here.curves["queue-unexpected-socket"]
    assert queue.fitted["search"][0] == pytest.approx(2e-9, rel=0.02)
    assert queue.fitted["alone"][0] == pytest.approx(0.5e-6, rel=0.02)
    assert here.curves["startup-init"].fitted["per_rank"][0] == pytest.approx(0.01, rel=0.02)
    assert here.curves["startup-init"].fitted["fixed"][0] == pytest.approx(0.1, rel=0.02)
    assert here.curves["memory-contacted"].fitted["per_peer"][0] == pytest.approx(2e5, rel=0.05)
    assert here.curves["memory-contacted"].fitted["per_process"][0] == pytest.approx(2.02e7, rel=0.01)
    assert "queue-unexpected-socket: alone" in str(here)
    assert "search 2 ns" in str(here)
    # Nobody says that the names of a file without names are those of these nodes.
    other = isthmus.measure(launch="mpirun -n 8", only="loggp,contention", quick=True, topology=plain)
    assert "hops-8" not in other.machine.curves
    assert any("does not have the names of these nodes" in text for text in other.missing)


def test_bad_models_are_refused() -> None:
    raw: dict[str, Any] = {
        "format": 2, "topology": {"kind": "ring", "dims": [2]},
        "curves": {"q": {"kind": "queue", "x": [1], "y": [2], "formula": "a", "fitted": {"a": [1.0, 2.0, 3.0]}}},
    }  # fmt: skip
    with pytest.raises(isthmus.ParseError, match=r"fitted\.a: must be a number and both ends of its interval"):
        Machine.from_dict(raw)
    raw["curves"]["q"]["fitted"]["a"] = [2.0, 1.0, 3.0]
    assert Machine.from_dict(raw).curves["q"].fitted == {"a": (2.0, 1.0, 3.0)}
    assert Machine.from_dict(raw) == Machine.from_dict(tomllib.loads(Machine.from_dict(raw).toml()))


def test_what_a_message_waits_for_behind_another_is_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_RANKS", "3")
    monkeypatch.setenv("FAKE_HOSTS", "red blue green")
    found = isthmus.measure(launch="mpirun -n 3", only="loggp", quick=True)
    assert found.machine.level.network.queue == pytest.approx(1e5, rel=0.02)
    assert found.machine.provenance("level.network.queue").status == "measured"
    monkeypatch.setenv("FAKE_HOSTS", "red blue")
    assert isthmus.measure(launch="mpirun -n 3", only="loggp", quick=True).machine.level.network.queue is None
