"""Crossovers of studies: where times in closed form have them, with the verdicts that follow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isthmus.comparison.parts import PARTS
from isthmus.errors import InvalidInput
from isthmus.studies.claims import claim
from isthmus.studies.sizes import KIND
from isthmus.studies.sizes_page import grouped, messages, summarise

SIZES = [64, 128, 256, 512, 1024]


def rows(said: str, power: float, at: float, **changed: Any) -> list[dict[str, Any]]:
    """The reference takes (P / at)^power times as long as the other machine."""
    out = []
    for ranks in SIZES:
        for machine, time in (("red:L=1us", 10 * (ranks / at) ** power), ("blue", 10.0)):
            parts = dict.fromkeys(PARTS, 0.0) | {"cores": time}
            out.append({"claim": said, "program": "cg", "machine": machine, "ranks": ranks, "scaling": "weak",
                        "reference": "red", "memory_bound": 0.5, "model": "loggops", "time": time,
                        **parts, **changed})  # fmt: skip
    return out


def test_claims() -> None:
    assert claim("cth none").range is None
    assert claim("sage 500..600").range == (500, 600)
    assert claim("amg 4000..5000 ? 4096:1.154 8192:0.251").ratios == ((4096, 1.154), (8192, 0.251))
    assert claim("amg 4000..5000 ?").open
    for text in ("cth", "sage 600..500", "sage 0..5", "amg none 5", "amg none 4096:x"):
        with pytest.raises(InvalidInput, match="must be NAME none or NAME LEAST"):
            claim(text)


@pytest.mark.parametrize("power", [0.1, 0.5, 1.0])
def test_crossovers_of_powers(power: float) -> None:
    """Times that follow powers cross where these do, whatever the sizes between which they are interpolated."""
    (case,) = grouped(rows("x 250..350", power, 300.0))
    assert case.crossover == pytest.approx(300)
    assert summarise(rows("x 250..350", power, 300.0)).findings["x"].verdict == "agrees"


@pytest.mark.parametrize(
    ("said", "at", "verdict"),
    [
        ("x 500..600", 360, "agrees"),
        ("x 500..600", 300, "differs"),
        ("x 500..600", 2000, "differs"),
        ("x none", 2000, "agrees"),
        ("x none", 300, "differs"),
        ("x 2000..3000", 5000, "open"),
        ("x 200..300 ?", 250, "open"),
    ],
)
def test_verdicts(said: str, at: float, verdict: str) -> None:
    assert summarise(rows(said, 0.5, at)).findings["x"].verdict == verdict


def test_other_assumptions_and_ratios() -> None:
    said = "x 250..350 1024:0.5"
    both = rows(said, 0.5, 900.0) + rows(said, 0.5, 300.0, memory_bound=0.9)
    found = summarise(both).findings
    assert found["x"].verdict == "partly"
    assert "With other assumptions: 300 (90 % bound by memory)" in found["x"].ours
    assert found["x-times"].verdict == "differs"
    right = summarise(rows("x none 1024:0.5", 1.0, 512.0)).findings["x-times"]
    assert right.verdict == "agrees"
    summarise(both).draw()


def test_measure() -> None:
    point = {"claim": "x none", "program": "cg:steps=2,compute=1ms", "machine": "cielo", "ranks": 32, "scaling": "weak",
             "reference": "redsky", "memory_bound": 0.5, "model": "loggops"}  # fmt: skip
    found = KIND.measure(point)
    assert sum(found[name] for name in PARTS) == pytest.approx(found["time"])
    # Two steps of a millisecond on Red Sky: half by STREAM of a core, half by its peak rate.
    assert found["memory"] == pytest.approx(1e-3 * (30.946 / 8) / (54.906 / 16), rel=1e-3)
    assert found["cores"] == pytest.approx(1e-3 * (93.76 / 8) / (153.6 / 16), rel=1e-3)
    with pytest.raises(InvalidInput, match="redsky has 18,544 cores"):
        KIND.measure(point | {"machine": "redsky", "ranks": 20_000})


def test_messages_of_programs() -> None:
    """What the talk says of CTH: up to six partners, 3 MB; the matrix of a stencil in a line is its two diagonals."""
    cth = messages("cth:cells=107,variables=33,exchanges=2,sums=9,steps=1")
    partners = np.bincount(cth.sources())
    assert partners.max() == 6
    assert (cth.bytes / cth.messages == 8 * 33 * 107**2).all()
    sage = messages("sage:cells=17500")
    assert set((sage.peer.astype(int) - sage.sources().astype(int)).tolist()) == {-1, 1}


def test_figure(tmp_path: Path) -> None:
    """For each program a panel of crossovers, its key beside it, and a panel of messages."""
    found = summarise(rows("x 250..350", 0.5, 300.0) + rows("y none", 0.5, 300.0, program="stencil"))
    figure = found.draw()
    assert [len(ax.collections) for ax in figure.axes] == [0, 0, 1] * 2
    assert len(figure.axes[2].collections[0].get_offsets()) == len(messages("cg").peer)
    for curves, beside in zip(figure.axes[::3], figure.axes[1::3], strict=True):
        assert curves.get_legend() is None
        assert len(beside.get_legend().get_texts()) == len(curves.get_lines()) - 1
    figure.savefig(tmp_path / "figure.png")


@pytest.mark.parametrize(
    ("first", "other", "verdict"),
    [(2000, 100, "partly"), (100, 2000, "partly"), (2000, 5000, "differs"), (100, 50, "differs")],
)
def test_published_between_assumptions(first: float, other: float, verdict: str) -> None:
    """Assumptions on both sides of the published crossover are said; on one side they are not."""
    found = summarise(rows("x 500..600", 0.5, first) + rows("x 500..600", 0.5, other, memory_bound=0.9)).findings["x"]
    assert ("between those of different assumptions" in found.ours) == (verdict == "partly")
    assert found.verdict == verdict
