"""Advice under models in which messages share links."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus import gallery
from isthmus.advice.analysis.what_if import changed
from isthmus.advice.output.html.sections import sections
from isthmus.advice.output.html.sections.network import load_picture, shade_of
from isthmus.cli import main
from isthmus.errors import InvalidInput
from isthmus.plot.load_map import load_map
from test_advise_report import Page

RING = "ring:16 link=1GB/s hop=0s cores=1 L=0s o=0s g=0s S=1GB name=plain"


def shifted(by: int, size: int = 1_000_001) -> isthmus.Program:
    """Every rank sends to the one `by` places on: each link that is used carries `by` messages."""
    rank = np.arange(16)
    b = isthmus.ProgramBuilder(16)
    with b.location("halo.c:50"):
        b.irecv(None, (rank - by) % 16, size)
        b.isend(None, (rank + by) % 16, size)
    with b.location("halo.c:61"):
        b.waitall(None)
    return b.build()


@pytest.fixture(scope="module")
def advice() -> isthmus.Advice:
    return isthmus.advise(shifted(3), RING, model="flow", name="shift")


@pytest.mark.parametrize("model", ["flow", "reserve", "packet"])
def test_what_contention_costs(model: str) -> None:
    (p,) = isthmus.advise(shifted(3), RING, model=model).predictions
    # A message takes 1 ms, and three share each link.
    assert p.time == pytest.approx(3e-3, rel=2e-3)
    found = p.what_if("contention")
    assert found is not None
    assert found.time == pytest.approx(1e-3)
    assert p.path is not None
    assert p.path["contention"] == pytest.approx(2e-3, rel=3e-3)
    assert sum(p.path.values()) == pytest.approx(p.time)
    assert sum(v or 0.0 for v in p.mean.values()) == pytest.approx(p.time)
    assert p.dominant == "contention"
    n = p.network
    assert n is not None
    assert (n.links, n.used, n.messages) == (32, 16, 16)
    assert n.bytes == pytest.approx(16 * 3e6, rel=1e-3)
    assert n.mean == pytest.approx(1, rel=3e-3)
    assert n.on_path == p.path["contention"]
    assert n.lost == p.timeline.lost_in_all_ps / 1e12


def test_hot_links_and_their_calls(advice: isthmus.Advice) -> None:
    (p,) = advice.predictions
    n = p.network
    assert n is not None
    for use in n.hottest:
        assert (use.messages, use.pairs, len(use.streams)) == (3, 3, 3)
        (call,) = use.calls
        assert (call.name, call.location, call.messages, call.bytes) == ("isend", "halo.c:50", 3, 3_000_003)
    (call,) = n.calls
    assert (call.location, call.messages) == ("halo.c:50", 16)
    assert call.lost == pytest.approx(n.lost)
    # The time on the path is that of the call in which the message is waited for.
    waited = next(c for c in p.calls if c.location == "halo.c:61")
    assert waited.path_shares["contention"] == pytest.approx(n.on_path)


def test_twice_the_bandwidth_is_that_of_links_too(advice: isthmus.Advice) -> None:
    bandwidth = next(s for s in advice.predictions[0].sensitivities if s.name == "bandwidth")
    assert {f: t / 3e-3 for f, t in bandwidth.curve.items() if f} == pytest.approx(
        {0.25: 0.25, 0.5: 0.5, 1: 1, 2: 2, 4: 4}
    )
    assert bandwidth.ten_percent == pytest.approx(0.1)
    assert not bandwidth.refined
    assert bandwidth.curve[0.0] == 0


def test_links_of_every_machine_can_be_changed() -> None:
    for name in gallery.machines():
        m = isthmus.load(name)
        slow = changed(m, {"bandwidth": 2.0, "latency": 3.0})
        assert slow.topology.links == m.topology.links
        for (kind, rate, latency), (same, slower, longer) in zip(
            m.topology.link_classes, slow.topology.link_classes, strict=True
        ):
            assert (same, slower, longer) == (kind, pytest.approx(rate / 2), pytest.approx(3 * latency))
        assert changed(m, {"bandwidth": 0.0}).topology.link_classes == m.topology.link_classes


def test_the_page_and_the_report(advice: isthmus.Advice, tmp_path: Path) -> None:
    page = str(advice)
    assert "contention (shared links)" in page
    assert "no contention (LogGOPS model)" in page
    assert "16 of 32 carry 48 MB; their utilisation is 100 % on average" in page
    assert "isend at halo.c:50" in page
    topics = {s.topic: s for s in advice.sentences}
    assert "Contention for links costs 2 ms (67 %)" in topics["contention"].text
    assert any("flow model" in note for note in advice.notes)
    assert any("Sensitivities are simulated at a few points" in note for note in advice.notes)
    assert not any("do not slow each other down" in note for note in advice.notes)
    found = Page(advice.html())
    assert found.open == []
    assert "network" in found.anchors
    body = next(s.body for s in sections.sections(advice) if s.anchor == "network")
    for words in ("Load of links", "Links by load", "Hottest links", "Time lost to contention", "halo.c:50"):
        assert words in body
    plain = json.loads(json.dumps(advice.json()))
    assert (plain["model"], plain["routing"]) == ("flow", "minimal")
    assert plain["predictions"][0]["network"]["hottest"][0]["hot"]["utilisation"] == pytest.approx(1)


def test_nothing_changes_without_a_model() -> None:
    advice = isthmus.advise(shifted(3), RING)
    (p,) = advice.predictions
    assert p.time == pytest.approx(1e-3)
    assert p.network is None
    assert p.what_if("contention") is None
    assert "network" not in Page(advice.html()).anchors
    with pytest.raises(InvalidInput, match=r"model = .fluid."):
        isthmus.advise(shifted(1), RING, model="fluid")
    with pytest.raises(InvalidInput, match=r"routing = .valiant."):
        isthmus.advise(shifted(1), RING, routing="valiant")


@pytest.mark.parametrize("spec", ["slimfly-q5", "dragonfly-small", "fattree-k4"])
def test_a_schedule_on_other_networks(spec: str) -> None:
    schedule = isthmus.collective("alltoall", ranks=16, bytes=10_000)
    advice = isthmus.advise(schedule, spec, ranks_per_node=1, model="reserve", routing="adaptive")
    (p,) = advice.predictions
    assert p.network is not None
    assert p.network.calls == ()
    assert all(use.calls == () for use in p.network.hottest)
    body = next(s.body for s in sections.sections(advice) if s.anchor == "network")
    assert ("Load of links" in body) == (spec != "slimfly-q5")
    assert "adaptive routes (reserve model)" in body


def test_no_message_between_nodes() -> None:
    b = isthmus.ProgramBuilder(2)
    b.compute(None, 1e-3)
    advice = isthmus.advise(b.build(), RING, model="flow")
    assert "none of 32 carries anything" in str(advice)
    assert Page(advice.html()).open == []


def test_shades() -> None:
    found = shade_of(np.array([np.nan, 0, 1e-9, 1 / 7, 1 / 7 + 1e-6, 1.0]), 1.0)
    assert found.tolist() == [-1, 0, 1, 1, 2, 7]


def test_large_networks_are_drawn_coarsely() -> None:
    t = isthmus.load("torus:32x32x32").topology
    load = np.random.default_rng(1).random(t.links)
    drawn = load_map(t, load)
    assert drawn is not None
    picture = load_picture(drawn, 1.0)
    assert len(picture) < 1_000_000
    assert "Each cell shows the largest load" in picture


def test_command(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shifted(2).save("app.h5")
    main(["advise", "app.h5", "--machine", RING, "--model", "flow", "--routing", "minimal", "-o", "report.html"])
    out, err = capsys.readouterr()
    assert err == ""
    assert "flow model" in out
    assert 'id="network"' in Path("report.html").read_text(encoding="utf-8")
