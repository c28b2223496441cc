"""Pictures of timelines, breakdowns and patterns: what is drawn, and that files appear whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("matplotlib")

import isthmus
from isthmus.errors import InvalidInput
from isthmus.plot import timeline
from isthmus.plot.matrix import plot_pattern

LEVEL = isthmus.Level(L=2.5e-6, o_send=1.5e-6, o_recv=1.5e-6, g=1e-6, G=6e-9)


def simulated(ranks: int, kind: str = "allreduce", size: int = 1000, **more: Any) -> isthmus.Timeline:
    return isthmus.simulate(isthmus.collective(kind, ranks=ranks, bytes=size), LEVEL, **{"record": "ops"} | more)


def words(fig: Any) -> list[str]:
    from matplotlib.text import Text

    return [t.get_text() for t in fig.findobj(Text) if t.get_text() and t.get_visible()]


def overlaps(fig: Any) -> list[tuple[str, str]]:
    """Words that cover each other, or leave the picture."""
    from matplotlib.text import Text

    renderer = fig.canvas.get_renderer()
    fig.draw(renderer)
    # Ticks beyond the limits of an axis exist, but are not drawn.
    boxes = []
    for t in fig.findobj(Text):
        box = t.get_window_extent(renderer)
        if t.get_text() and t.get_visible() and box.width > 0:
            boxes.append((t.get_text(), box))
    width, height = fig.canvas.get_width_height()
    for ax in fig.axes:
        low, high = ax.get_window_extent(renderer).intervalx
        bottom, top = ax.get_window_extent(renderer).intervaly
        hidden = [t for t, loc in zip(ax.get_xticklabels(), ax.get_xticks(), strict=True)
                  if not low - 1 <= ax.transData.transform((loc, 0))[0] <= high + 1]  # fmt: skip
        hidden += [t for t, loc in zip(ax.get_yticklabels(), ax.get_yticks(), strict=True)
                   if not bottom - 1 <= ax.transData.transform((0, loc))[1] <= top + 1]  # fmt: skip
        gone = {(h.get_text(), h.get_window_extent(renderer).bounds) for h in hidden}
        boxes = [(text, box) for text, box in boxes if (text, box.bounds) not in gone]
    bad = [(a, "the edge") for a, box in boxes if box.x0 < 0 or box.y0 < 0 or box.x1 > width or box.y1 > height]
    for i, (a, one) in enumerate(boxes):
        bad += [(a, b) for b, other in boxes[i + 1 :] if one.shrunk(0.98, 0.9).overlaps(other)]
    return bad


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_formats(tmp_path: Path, suffix: str) -> None:
    t = simulated(8)
    heads = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    for draw in (t.plot, t.plot_breakdown, lambda path: plot_pattern(isthmus.pattern(t.schedule), path)):
        path = tmp_path / f"a.{suffix}"
        draw(path)
        first = path.read_bytes()
        assert first.startswith(heads[suffix])
        draw(path)
        assert path.read_bytes() == first


@pytest.mark.parametrize(
    ("ranks", "kind"),
    [(1, "allreduce"), (2, "bcast"), (8, "bcast"), (40, "allreduce"), (64, "alltoall"), (65, "bcast"), (300, "gather")],
)
def test_words_do_not_overlap(tmp_path: Path, figures: list[Any], ranks: int, kind: str) -> None:
    t = simulated(ranks, kind)
    t.plot(tmp_path / "a.png")
    t.plot_breakdown(tmp_path / "b.png")
    plot_pattern(isthmus.pattern(t.schedule), tmp_path / "c.png")
    for fig in figures:
        assert overlaps(fig) == []


def bars(fig: Any) -> int:
    from matplotlib.collections import PolyCollection

    return sum(len(c.get_paths()) for c in fig.axes[0].findobj(PolyCollection) if c.get_zorder() == 2)


def test_bars_messages_and_the_critical_path(tmp_path: Path, figures: list[Any]) -> None:
    t = simulated(8, "bcast")
    t.plot(tmp_path / "a.png")
    t.save(tmp_path / "t.h5")
    isthmus.read(tmp_path / "t.h5").plot(tmp_path / "b.png")
    one, other = figures
    assert bars(one) == len(t.schedule)
    assert "critical path" in words(one)
    assert "message, to its receiver" in words(one)
    assert "an operation waits" in words(one)
    assert "compute" not in words(one)
    # A timeline from a file does not know its causes any more.
    assert "critical path" not in words(other)


def test_a_deadlock_is_said(tmp_path: Path, figures: list[Any]) -> None:
    s = isthmus.Schedule.of(2, rank=[0, 1, 0], kind=["recv", "recv", "calc"], peer=[1, 0, 0], seconds=1e-6)
    t = isthmus.simulate(s, LEVEL, record="ops")
    t.plot(tmp_path / "a.png")
    t.plot_breakdown(tmp_path / "b.png")
    assert "Timeline: deadlock after 1 µs" in words(figures[0])
    assert "Where the time goes: deadlock after 1 µs" in words(figures[1])


def test_ranks_and_window(tmp_path: Path, figures: list[Any]) -> None:
    t = simulated(100, "alltoall")
    t.plot(tmp_path / "a.png")
    assert figures[0].axes[0].images
    t.plot(tmp_path / "b.png", ranks=[5, 77, 99])
    assert not figures[1].axes[0].images
    assert [label.get_text() for label in figures[1].axes[0].get_yticklabels()] == ["5", "77", "99"]
    window = (0.2 * t.makespan, 0.4 * t.makespan)
    t.plot(tmp_path / "c.png", ranks=[5], window=window)
    low, high = figures[2].axes[0].get_xlim()
    assert low == pytest.approx(window[0] * 1e6)
    assert high == pytest.approx(window[1] * 1e6, rel=0.01)
    for wrong in ({"ranks": [100]}, {"window": (1, 0)}):
        with pytest.raises(InvalidInput):
            t.plot(tmp_path / "d.png", **wrong)


def test_streams_are_lanes(tmp_path: Path, figures: list[Any]) -> None:
    s = isthmus.Schedule.of(2, rank=[0, 0, 1], kind="calc", cpu=[0, 1, 0], seconds=1e-6)
    isthmus.simulate(s, LEVEL, record="ops").plot(tmp_path / "a.png")
    from matplotlib.collections import PolyCollection

    (found,) = [c for c in figures[0].axes[0].findobj(PolyCollection) if c.get_zorder() == 2]
    heights = [np.ptp(p.vertices[:, 1]) for p in found.get_paths()]
    assert heights == pytest.approx([0.39, 0.39, 0.78])


def test_breakdown_adds_up(tmp_path: Path, figures: list[Any]) -> None:
    t = simulated(6, "bcast", record="ranks")
    t.plot_breakdown(tmp_path / "a.png")
    tops = np.zeros(6)
    for patch in figures[0].axes[0].patches:
        tops[round(patch.get_x() + patch.get_width() / 2)] += patch.get_height()
    assert tops == pytest.approx(np.full(6, t.makespan * 1e6))
    shares = [text for text in words(figures[0]) if text.endswith(" %")]
    # Shares from 10 % on have no digit after the point.
    assert sum(float(text.split()[-2]) for text in shares if "<" not in text) == pytest.approx(100, abs=len(shares) / 2)


def test_very_many_ranks_share_lines(tmp_path: Path, figures: list[Any]) -> None:
    t = simulated(9000, "bcast")
    t.plot(tmp_path / "a.png")
    t.plot_breakdown(tmp_path / "b.png")
    plot_pattern(isthmus.pattern(t.schedule), tmp_path / "c.png")
    assert figures[0].axes[0].images[0].get_array().shape[:2] == (1125, 1600)
    assert any("of 8 CPU streams" in text.replace("\n", " ") for text in words(figures[0]))
    assert "rank (means of 3 neighbours)" in words(figures[1])
    assert "receiver (rank; a cell adds up 32 × 32 ranks)" in words(figures[2])
    for fig in figures:
        assert overlaps(fig) == []


@given(st.data())
@settings(max_examples=50, deadline=None)
def test_coverage(data: st.DataObject) -> None:
    """Against a loop over cells."""
    rows, columns = 3, 7
    number = data.draw(st.integers(0, 6))
    row = np.array(data.draw(st.lists(st.integers(0, rows - 1), min_size=number, max_size=number)), np.int64)
    places = st.lists(st.integers(0, 4 * columns), min_size=number, max_size=number)
    ends = np.sort(np.array([data.draw(places), data.draw(places)], float).reshape(2, number) / 4, axis=0)
    found = timeline.coverage(row, ends[0], ends[1], rows, columns)
    expected = np.zeros((rows, columns))
    for r, a, b in zip(row, *ends, strict=True):
        for c in range(columns):
            expected[r, c] += max(0.0, min(b, c + 1) - max(a, c))
    assert found == pytest.approx(expected)


def test_wrong_requests(tmp_path: Path) -> None:
    t = simulated(4)
    for draw in (t.plot, t.plot_breakdown, lambda p: plot_pattern(isthmus.pattern(t.schedule), p)):
        with pytest.raises(InvalidInput, match=r"\.png, \.svg, \.pdf"):
            draw(tmp_path / "a.html")
    with pytest.raises(InvalidInput, match="record='ops'"):
        simulated(4, record="ranks").plot(tmp_path / "a.png")
    with pytest.raises(InvalidInput, match="record='ranks'"):
        simulated(4, record="finish").plot_breakdown(tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []


def test_pattern_counts(tmp_path: Path, figures: list[Any]) -> None:
    p = isthmus.pattern(isthmus.collective("alltoall", ranks=5, bytes=100))
    plot_pattern(p, tmp_path / "a.png", what="messages")
    image = figures[0].axes[0].images[0].get_array()
    assert np.isnan(np.diag(np.ma.filled(image, np.nan))).all()
    assert np.nansum(np.ma.filled(image, np.nan)) == p.total_messages
