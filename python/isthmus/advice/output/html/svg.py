"""Drawings of the report, as SVG whose colours are classes: they follow light, dark and print."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ....html.markup import SHADES, legend, line, short, svg, ticks, unit_of, words_at
from ....schedule.pattern import Pattern
from ....simulation.critical import critical_path
from ....simulation.words import WORDS
from ....units import percent, text
from ...advice import TIME_CLASSES, Advice, Prediction
from ...analysis.path_shares import Parameters, path_steps
from ..sentences import interesting_ranks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

#: More ranks share columns of the breakdown and cells of the matrix.
_COLUMNS, _CELLS = 128, 96
#: Bars and messages of a timeline that can be told apart.
_BARS, _MESSAGES = 900, 160
#: Kinds of operations by number, as classes.
_KINDS = ("", "send", "handle", "compute", "put", "put", "reduce", "reduce")
_KIND_WORDS = {
    "compute": WORDS["compute"],
    "send": WORDS["send_overhead"],
    "handle": WORDS["recv_overhead"],
    "put": "put, get",
    "reduce": "copy, reduce",
}


def breakdown(p: Prediction) -> str:
    """Where the time of every rank goes: a column for each, or for neighbours together."""
    ranks = p.timeline.ranks
    share = math.ceil(ranks / _COLUMNS)
    edges = np.arange(0, ranks, share)
    count = np.diff(np.append(edges, ranks))
    size, unit = unit_of(p.time)
    left, top, width, height = 52.0, 10.0, 850.0, 230.0
    scale = height / p.time
    step = width / len(edges)
    gap = 0.12 * step if step > 4 else 0.0
    parts = []
    for tick in ticks(p.time / size):
        y = top + height - tick * size * scale
        parts += [line(left, y, left + width, y, "grid"), words_at(left - 8, y + 4, short(tick), "end")]
    parts.append(words_at(left - 8, top + height + 32, unit, "end"))
    base = np.zeros(len(edges))
    present = [name for name, values in p.by_rank.items() if values is not None and values.any()]
    for name in present:
        values = np.add.reduceat(p.by_rank[name], edges) / count  # type: ignore[arg-type]
        path = []
        for i in np.flatnonzero(values * scale >= 0.05):
            x, y = left + i * step + gap / 2, top + height - (base[i] + values[i]) * scale
            path.append(f"M{x:.1f} {y:.1f}h{step - gap:.1f}v{values[i] * scale:.1f}h-{step - gap:.1f}z")
        parts.append(f'<path class="f-{name}" d="{"".join(path)}"/>')
        base += values
    for rank in _some_ranks(np.arange(ranks), 16):
        parts.append(words_at(left + (rank // share + 0.5) * step, top + height + 16, f"{rank:,}", "middle"))
    axis = "rank" if share == 1 else f"rank (each column is the mean of {share})"
    parts.append(words_at(left + width / 2, top + height + 32, axis, "middle"))
    return svg(910, 280, parts, "Where the time of every rank goes", wide=True) + legend(
        (f"f-{name}", TIME_CLASSES[name]) for name in present
    )


def _some_ranks(ranks: NDArray[np.int64], most: int) -> list[int]:
    """Round ranks to label."""
    step = next(s * 10**e for e in range(9) for s in (1, 2, 4, 5) if len(ranks) / (s * 10**e) <= most)
    return [int(r) for r in ranks if r % step == 0]


def timeline(p: Prediction) -> tuple[str, str]:
    """Activities of some ranks over time with the critical path, and a caption. Needs the operations."""
    t = p.timeline
    ranks = np.array(interesting_ranks(p))
    low, high = _window(p, ranks)
    bars = t.activities(ranks, (low / 1e12, high / 1e12))
    # A stream with more than one is drawn as one: the report is about ranks.
    row = np.searchsorted(ranks, bars.rank)
    size, unit = unit_of(high / 1e12)
    left, top, width, pitch = 60.0, 8.0, 900.0, 20.0
    height = pitch * len(ranks)
    scale = width / (high - low)

    def x(ps: Any) -> Any:
        return left + (np.clip(ps, low, high) - low) * scale

    parts = []
    step = ticks((high - low) / 1e12 / size, 6)[1]
    for number in range(math.ceil(low / 1e12 / size / step - 1e-9), math.floor(high / 1e12 / size / step + 1e-9) + 1):
        at = float(x(number * step * size * 1e12))
        parts += [line(at, top, at, top + height, "grid")]
        parts.append(words_at(at, top + height + 16, short(number * step), "middle"))
    parts.append(words_at(left + width / 2, top + height + 32, f"time ({unit})", "middle"))
    for i, rank in enumerate(ranks):
        parts.append(words_at(left - 8, top + (i + 0.5) * pitch + 4, f"{rank:,}", "end"))
    parts.append(f'<path class="idle" d="{_boxes(left, width, top, pitch, len(ranks))}"/>')
    present = []
    for kind, name in (("compute", (3,)), ("handle", (2,)), ("send", (1,)), ("put", (4, 5)), ("reduce", (6, 7))):
        chosen = np.flatnonzero(np.isin(bars.kind, name))
        if not len(chosen):
            continue
        present.append(kind)
        begin, end = x(bars.begin[chosen]), x(bars.end[chosen])
        path = [
            f"M{a:.1f} {top + r * pitch + 3:.1f}h{max(b - a, 0.3):.1f}v{pitch - 6:.1f}H{a:.1f}z"
            for a, b, r in zip(begin, end, row[chosen], strict=True)
        ]
        parts.append(f'<path class="k-{kind}" d="{"".join(path)}"/>')
    parts += _arrows(bars, row, x, top, pitch)
    parts += _path(p, ranks, low, high, x, top, pitch)
    whole = high - low >= t.makespan_ps
    chosen_words = (
        "All ranks"
        if len(ranks) == t.ranks
        else "The ranks with most of the critical path, and those that compute most and least"
    )
    window = (
        "the whole run"
        if whole
        else f"{text(low / 1e12, 's', 3)} to {text(high / 1e12, 's', 3)}, where messages take most of the critical path"
    )
    keys = [(f"k-{kind}", _KIND_WORDS[kind]) for kind in present] + [("idle", "waiting")]
    drawing = svg(970, top + height + 40, parts, "Timeline", wide=True)
    return drawing + legend([*keys, ("f-path", "critical path")]), f"{chosen_words}; {window}."


def _boxes(left: float, width: float, top: float, pitch: float, rows: int) -> str:
    return "".join(
        f"M{left:.1f} {top + i * pitch + 7:.1f}h{width:.1f}v{pitch - 14:.1f}h-{width:.1f}z" for i in range(rows)
    )


def _window(p: Prediction, ranks: NDArray[np.int64]) -> tuple[int, int]:
    """All of the time, or the part of it with few enough bars in which messages take most of the critical path."""
    t = p.timeline
    number = len(t.activities(ranks))
    parts = math.ceil(number / _BARS)
    if parts <= 1 or p.path_of_ranks is None:
        return 0, t.makespan_ps
    path = critical_path(t)
    # Of a part of the run there are no bars, or no path, before and after it.
    first, last = (0, t.makespan_ps) if p.part is None else (int(path.begin_ps[0]), int(path.end_ps[-1]))
    edges = np.linspace(first, last, parts + 1)
    messages = path_steps(t, path, Parameters(p.machine, p.placement, t.ranks)).time[:, 1:].sum(axis=1)
    found, _ = np.histogram((path.begin_ps + path.end_ps) / 2, bins=edges, weights=messages)
    best = int(found.argmax())
    return int(edges[best]), max(int(edges[best + 1]), int(edges[best]) + 1)


def _arrows(bars: Any, row: NDArray[np.int64], x: Any, top: float, pitch: float) -> list[str]:
    """Messages between ranks that are shown, where there are few enough."""
    handled = np.flatnonzero(bars.send >= 0)
    own = np.flatnonzero(bars.send < 0)
    if not len(own):
        return []
    at = own[np.minimum(np.searchsorted(bars.op[own], bars.send[handled]), len(own) - 1)]
    known = bars.op[at] == bars.send[handled]
    handled, at = handled[known], at[known]
    if not 0 < len(handled) <= _MESSAGES:
        return []
    middle = top + (row + 0.5) * pitch
    path = [
        f"M{x(bars.begin[i]):.1f} {middle[i]:.1f}L{x(bars.begin[j]):.1f} {middle[j]:.1f}"
        for i, j in zip(at, handled, strict=True)
    ]
    return [f'<path class="message" d="{"".join(path)}"/>']


def _path(p: Prediction, ranks: NDArray[np.int64], low: int, high: int, x: Any, top: float, pitch: float) -> list[str]:
    """The critical path where it is on ranks that are shown."""
    path = critical_path(p.timeline)
    seen = np.flatnonzero((path.end_ps >= low) & (path.begin_ps <= high))
    rank = path.rank[seen].astype(np.int64)
    place = np.minimum(np.searchsorted(ranks, rank), len(ranks) - 1)
    shown = ranks[place] == rank
    begin, end = x(path.begin_ps[seen]), x(path.end_ps[seen])
    y = top + (place + 0.5) * pitch
    out, last = [], None
    for a, b, height, drawn in zip(begin, end, y, shown, strict=True):
        if drawn:
            start = f"M{a:.1f} {height:.1f}" if last is None else (f"L{a:.1f} {height:.1f}" if last != height else "")
            out.append(f"{start}H{b:.1f}")
        last = height if drawn else None
    return [f'<path class="path-edge" d="{"".join(out)}"/><path class="path" d="{"".join(out)}"/>'] if out else []


def matrix(found: Pattern) -> tuple[str, str]:
    """Bytes between ranks in shades of a logarithmic scale, and a caption."""
    ranks = found.ranks
    share = math.ceil(ranks / _CELLS)
    side = math.ceil(ranks / share)
    cell = found.sources().astype(np.int64) // share * side + found.peer // share
    sums = np.bincount(cell, found.bytes, side * side).reshape(side, side)
    low, high = (float(sums[sums > 0].min()), float(sums.max())) if (sums > 0).any() else (1.0, 1.0)
    spread = math.log(high / low)
    level = np.zeros(sums.shape, np.int64)
    with np.errstate(divide="ignore"):
        position = np.log(sums / low) / spread if spread else np.ones(sums.shape)
    level[sums > 0] = 1 + np.minimum((np.clip(position[sums > 0], 0, 1) * SHADES).astype(np.int64), SHADES - 1)
    left, top, width = 60.0, 24.0, 480.0
    step = width / side
    parts = [f'<rect class="paper" x="{left:g}" y="{top:g}" width="{width:g}" height="{width:g}"/>']
    for shade in range(1, SHADES + 1):
        path = []
        for row in range(side):
            # Neighbours of one shade are one box.
            on = np.concatenate([[False], level[row] == shade, [False]])
            edges = np.flatnonzero(on[1:] != on[:-1])
            for a, b in edges.reshape(-1, 2):
                x, y = left + a * step, top + row * step
                path.append(f"M{x:.1f} {y:.1f}h{(b - a) * step:.1f}v{step:.1f}H{x:.1f}z")
        if path:
            parts.append(f'<path class="m{shade}" d="{"".join(path)}"/>')
    parts.append(f'<rect class="frame" x="{left:g}" y="{top:g}" width="{width:g}" height="{width:g}"/>')
    for rank in _some_ranks(np.arange(ranks), 8):
        at = (rank // share + 0.5) * step
        parts += [words_at(left + at, top + width + 17, f"{rank:,}", "middle")]
        parts.append(words_at(left - 7, top + at + 4, f"{rank:,}", "end"))
    parts.append(words_at(left + width / 2, top + width + 36, "receiver (rank)", "middle"))
    parts.append(words_at(left - 44, top - 10, "sender (rank)"))
    bounds = [low * math.exp(spread * i / SHADES) for i in range(SHADES + 1)]
    keys = [(f"m{i + 1}", f"from {text(bounds[i], 'B', 2)}") for i in range(SHADES) if (level == i + 1).any()]
    words = f"a cell is {share} x {share} ranks" if share > 1 else "a cell is a pair of ranks"
    return svg(550, top + width + 44, parts, "Bytes between ranks") + legend(keys), words


def sensitivity(advice: Advice) -> str:
    """Time against latency, bandwidth and overhead, each from a quarter to four times of what it is."""
    p = advice.predictions[0]
    left, top, width, height = 58.0, 12.0, 400.0, 220.0
    curves = {s.name: {f: t / p.time for f, t in s.curve.items() if f > 0} for s in p.sensitivities}
    values = [v for curve in curves.values() for v in curve.values()]
    low, high = min(*values, 0.98), max(*values, 1.02)
    room = 0.06 * (high - low)
    low, high = low - room, high + room

    def x(factor: float) -> float:
        return left + width * (math.log2(factor) + 2) / 4

    def y(value: float) -> float:
        return top + height * (high - value) / (high - low)

    parts = []
    for factor in (0.25, 0.5, 1.0, 2.0, 4.0):
        parts += [line(x(factor), top, x(factor), top + height, "grid")]
        parts.append(words_at(x(factor), top + height + 17, f"x {factor:g}", "middle"))
    step = next(s * 10.0**e for e in range(-4, 3) for s in (1, 2, 5) if (high - low) / (s * 10.0**e) <= 6)
    for i in range(math.ceil(low / step), math.floor(high / step) + 1):
        value = i * step
        parts += [line(left, y(value), left + width, y(value), "grid")]
        parts.append(
            words_at(left - 8, y(value) + 4, f"{100 * (value - 1):+.6g} %" if abs(value - 1) > 1e-9 else "0", "end")
        )
    parts.append(line(left, y(1.0), left + width, y(1.0), "axis"))
    parts.append(words_at(left + width / 2, top + height + 36, "cost relative to the machine", "middle"))
    for name, curve in curves.items():
        points = "L".join(f"{x(f):.1f} {y(v):.1f}" for f, v in curve.items())
        parts.append(f'<path class="curve c-{name}" d="M{points}"/>')
        parts += [f'<circle class="dot f-{name}" cx="{x(f):.1f}" cy="{y(v):.1f}" r="3.2"/>' for f, v in curve.items()]
    names = {"latency": "latency", "bandwidth": "time per byte and message (1 / bandwidth)", "overhead": "overhead"}
    return svg(470, top + height + 44, parts, "Time against costs of messages") + legend(
        (f"f-{name}", names[name]) for name in curves
    )


def waterfall(steps: Sequence[tuple[str, str, float]], time: float) -> str:
    """From nothing to the time: words, class and seconds of each part, in rows."""
    rows, base = [], 0.0
    for words, kind, value in steps:
        start = 100 * base / time
        part = 100 * value / time
        rows.append(
            f'<li><span class="label">{words}</span><span class="track"><i class="{kind}" '
            f'style="margin-left:{start:.2f}%;width:{max(part, 0.0):.2f}%"></i></span>'
            f'<span class="value">{text(value, "s", 3)}<small>{percent(part / 100, 1)}</small></span></li>'
        )
        base += value
    total = '<span class="track"><i class="sum" style="width:100%"></i></span>'
    total += f'<span class="value">{text(time, "s", 3)}<small>100 %</small></span>'
    rows.append(f'<li class="total"><span class="label">predicted time</span>{total}</li>')
    return f'<ul class="bars">{"".join(rows)}</ul>'


def bars(rows: Sequence[tuple[str, str, float, str]], most: float) -> str:
    """A bar a row: words, class, value and what it says."""
    out = []
    for words, kind, value, says in rows:
        part = 100 * value / most if most else 0.0
        out.append(
            f'<li><span class="label">{words}</span><span class="track"><i class="{kind}" '
            f'style="width:{min(max(part, 0.0), 100.0):.2f}%"></i></span><span class="value">{says}</span></li>'
        )
    return f'<ul class="bars">{"".join(out)}</ul>'
