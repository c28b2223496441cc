"""Pictures of simulations: what ranks did when.

Where there are few bars each is drawn; where there are many, the picture is a raster of pixels whose hue is what a rank
did most in that time and whose strength is how much of the time it worked.
"""

from __future__ import annotations

import math
import os
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from .chart import COMPUTE, HANDLE, ONE_SIDED, REDUCE, SEND, facts, figure, legend, save, still_suffix, title, unit_of
from .common import FAINT, INK, MUTED, ROUTE, quantity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Up to so many ranks and bars every bar is drawn, up to so many messages each message.
_RANKS, _BARS, _MESSAGES = 64, 20_000, 250
_ROWS, _COLUMNS = 1200, 1600

_WAIT = "#D9DEE3"
#: Groups of operations by number of their kind: words and colour.
_GROUPS = (
    ("compute", COMPUTE, (3,)),
    ("send (o, O)", SEND, (1,)),
    ("handle a message (o, O or G)", HANDLE, (2,)),
    ("put, get", ONE_SIDED, (4, 5)),
    ("copy, reduce", REDUCE, (6, 7)),
)


def plot_timeline(
    timeline: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    ranks: Any = None,
    window: tuple[float, float] | None = None,
) -> Figure:
    """Draw what ranks did when, a line per CPU stream.

    Up to 64 ranks every operation is a bar, with arrows for up to 250 messages, pale bars for waiting and the critical
    path; more ranks or operations become a raster, in which neighbouring ranks share a line where there are too many.

    Parameters
    ----------
    timeline : Timeline
        With ``record="ops"``.
    path : path, optional
        File to write: .png, .svg or .pdf; by default none.
    ranks : sequence of int, optional
        By default all.
    window : tuple of float, optional
        Begin and end in seconds, by default everything.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InvalidInput
        For another suffix, ranks that do not exist, and a simulation that did not record operations.
    """
    suffix = still_suffix(path)
    chosen = np.arange(timeline.ranks) if ranks is None else np.unique(np.atleast_1d(np.asarray(ranks)))
    bars = timeline.activities(chosen, window)
    low, high = (0, timeline.makespan_ps) if window is None else (round(window[0] * 1e12), round(window[1] * 1e12))
    high = max(high, low + 1)
    view = _View(timeline, chosen.astype(np.int64), bars, low, high)
    few = len(chosen) <= _RANKS and len(bars) <= _BARS
    fig = _gantt(view, window) if few else _raster(view)
    return save(fig, path, suffix)


class _View:
    """The part of a timeline that is drawn, with the scale of its axis of time."""

    def __init__(self, timeline: Any, ranks: Any, bars: Any, low: int, high: int) -> None:
        self.timeline, self.ranks, self.bars, self.low, self.high = timeline, ranks, bars, low, high
        self.power, self.unit = unit_of(high)
        # Lanes: the CPU streams of every rank that do anything, at least the first.
        keys = np.union1d(ranks * 256, bars.rank * 256 + bars.cpu)
        self.lanes = keys
        self.lane = np.searchsorted(keys, bars.rank * 256 + bars.cpu)

    def time(self, ps: Any) -> Any:
        return np.asarray(ps, float) / 10.0**self.power

    def group(self, kind: Any) -> Any:
        table = np.zeros(8, np.int64)
        for number, (_, _, kinds) in enumerate(_GROUPS):
            table[list(kinds)] = number
        return table[kind]


def _rank_axis(ax: Any, view: _View, rows: Any) -> None:
    """Ticks at ranks; ``rows``: the row of the first lane of each."""
    number = len(view.ranks)
    step = 1
    for step in (s * 10**p for p in range(8) for s in (1, 2, 4, 5)):
        if number / step <= 17:
            break
    shown = np.flatnonzero(view.ranks % step == 0) if number > 17 else np.arange(number)
    if len(shown) < 2:
        shown = np.linspace(0, number - 1, min(number, 9)).round().astype(int)
    ax.set_yticks(rows[shown], [f"{rank:,}" for rank in view.ranks[shown]])
    ax.set_ylabel("rank")


def _time_axis(ax: Any, view: _View) -> None:
    # What ends last ends before the edge.
    room = 0.004 * (view.high - view.low)
    ax.set_xlim(view.time(view.low), view.time(view.high + room))
    ax.set_xlabel(f"time ({view.unit})")


def _gantt(view: _View, window: tuple[float, float] | None) -> Any:
    from matplotlib.collections import PolyCollection
    from matplotlib.patches import Patch

    # Lanes of a rank touch, ranks are apart.
    rank_of = np.searchsorted(view.ranks, view.lanes // 256)
    height = 0.78 / np.bincount(rank_of, minlength=len(view.ranks))[rank_of]
    within = np.arange(len(view.lanes)) - np.searchsorted(rank_of, rank_of)
    bottom = rank_of - 0.39 + within * height
    inches = min(max(3.4, 1.7 + 0.34 * len(view.ranks)), 10.5)
    fig, ax = figure(title(view.timeline, "Timeline"), facts(view.timeline), inches)

    def boxes(lane: Any, begin: Any, end: Any, part: float, lift: float) -> Any:
        left, right = view.time(begin), view.time(end)
        low = bottom[lane] + lift * height[lane]
        high = low + part * height[lane]
        return np.stack([np.stack([left, low], 1), np.stack([right, low], 1), np.stack([right, high], 1),
                         np.stack([left, high], 1)], 1)  # fmt: skip

    keys: list[tuple[Any, str]] = []
    waiting = view.timeline.waits(view.ranks, window)
    if len(waiting):
        lane = np.minimum(np.searchsorted(view.lanes, waiting.rank * 256 + waiting.cpu), len(view.lanes) - 1)
        lane, begin, end = _merged(lane, waiting.begin, waiting.end)
        parts = boxes(lane, begin, end, 0.34, 0.33)
        ax.add_collection(PolyCollection(parts, facecolors=_WAIT, edgecolors="none", zorder=1), autolim=False)
    groups = view.group(view.bars.kind)
    narrow = (view.high - view.low) / 900
    for number, (words, colour, _) in enumerate(_GROUPS):
        which = np.flatnonzero(groups == number)
        if not len(which):
            continue
        begin, end = view.bars.begin[which], view.bars.end[which]
        # A thin white edge tells neighbours apart, where it does not eat them.
        edge = "white" if float(np.median(end - begin)) > 4 * narrow else "none"
        parts = boxes(view.lane[which], begin, end, 1.0, 0.0)
        ax.add_collection(
            PolyCollection(parts, facecolors=colour, edgecolors=edge, linewidths=0.4, zorder=2), autolim=False
        )
        keys.append((Patch(color=colour), words))
    if len(waiting):
        keys.append((Patch(color=_WAIT), "an operation waits"))
    middle = bottom + height / 2
    keys += _messages(ax, view, middle)
    keys += _critical(ax, view, middle)
    ax.set_ylim(len(view.ranks) - 0.4, -0.6)
    _rank_axis(ax, view, np.arange(len(view.ranks), dtype=float))
    _time_axis(ax, view)
    legend(fig, ax, keys, "CPU streams")
    return fig


def _merged(lane: Any, begin: Any, end: Any) -> tuple[Any, Any, Any]:
    """Intervals that overlap on a lane as one."""
    order = np.lexsort((begin, lane))
    lane, begin, end = lane[order], begin[order], end[order]
    span = int(end.max()) + 1
    if span > (2**62) // (int(lane.max()) + 1):
        return lane, begin, end
    reach = np.maximum.accumulate(end + lane * span)
    new = np.ones(len(lane), bool)
    new[1:] = begin[1:] + lane[1:] * span > reach[:-1]
    at = np.flatnonzero(new)
    return lane[at], begin[at], np.maximum.reduceat(end, at)


def _messages(ax: Any, view: _View, middle: Any) -> list[tuple[Any, str]]:
    """Lines from the begin of sends to the handling of their messages."""
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    bars = view.bars
    handled, own = np.flatnonzero(bars.send >= 0), np.flatnonzero(bars.send < 0)
    if not len(handled) or not len(own):
        return []
    at = own[np.minimum(np.searchsorted(bars.op[own], bars.send[handled]), len(own) - 1)]
    drawn = bars.op[at] == bars.send[handled]
    handled, at = handled[drawn], at[drawn]
    if not 0 < len(handled) <= _MESSAGES:
        return []
    ends = [np.stack([view.time(bars.begin[i]), middle[view.lane[i]]], 1) for i in (at, handled)]
    # Many lines are a web: paler then.
    alpha = 0.8 if len(at) <= 60 else 0.45
    lines = LineCollection(list(np.stack(ends, 1)), colors=INK, linewidths=0.7, alpha=alpha, zorder=3)
    ax.add_collection(lines, autolim=False)
    ax.scatter(*ends[1].T, s=9, color=INK, linewidths=0, zorder=3.1)
    return [(Line2D([0, 1], [0, 0], color=INK, lw=0.9, marker="o", ms=3, markevery=[1]), "message, to its receiver")]


def _critical(ax: Any, view: _View, middle: Any) -> list[tuple[Any, str]]:
    """The critical path, where it can be found."""
    from matplotlib.lines import Line2D

    t = view.timeline
    if t.deadlock is not None or getattr(t, "_options", None) is None:
        return []  # a simulation that was read from a file does not know its causes any more
    path = t.critical_path()
    first = np.searchsorted(view.lanes, view.ranks * 256)
    rank = np.asarray(path.rank, np.int64)
    place = np.minimum(np.searchsorted(view.ranks, rank), len(view.ranks) - 1)
    y = np.where(view.ranks[place] == rank, middle[first[place]], np.nan)
    # A step stays on its rank; the next one begins where it ends, so that the line crosses over at once.
    x = np.stack([view.time(path.begin_ps), view.time(path.end_ps)], 1).ravel()
    y = np.repeat(y, 2)
    wire = np.flatnonzero(np.isin(path.via, ("wire", "way")))
    following = np.minimum(wire + 1, len(rank) - 1)
    y[2 * wire + 1] = y[2 * following]
    ax.plot(x, y, color="white", lw=4.2, zorder=4, solid_joinstyle="round")
    ax.plot(x, y, color=ROUTE, lw=2.0, zorder=4.1, solid_joinstyle="round")
    return [(Line2D([0, 1], [0, 0], color=ROUTE, lw=2.2), "critical path")]


def coverage(row: Any, begin: Any, end: Any, rows: int, columns: int) -> Any:
    """The part of every cell that intervals cover.

    Parameters
    ----------
    row : ndarray of int
        Row of every interval.
    begin, end : ndarray of float
        In columns, within 0 to ``columns``.

    Returns
    -------
    ndarray of float, shape (rows, columns)
    """
    first = np.minimum(begin.astype(np.int64), columns - 1)
    last = np.minimum(end.astype(np.int64), columns - 1)
    base = row * columns
    size = rows * columns
    one = first == last
    out = np.bincount(base + first, np.where(one, end - begin, first + 1 - begin), size)
    out += np.bincount((base + last)[~one], (end - last)[~one], size)
    # Columns in between are covered whole: +1 where they begin, -1 where they end.
    steps = np.zeros((rows, columns + 1))
    whole = ~one
    np.add.at(steps, (row[whole], first[whole] + 1), 1.0)
    np.add.at(steps, (row[whole], last[whole]), -1.0)
    return out.reshape(rows, columns) + np.cumsum(steps, 1)[:, :columns]


def _raster(view: _View) -> Any:
    from matplotlib.patches import Patch

    # Lanes as rows; where there are too many, neighbours share one.
    lanes = len(view.lanes)
    share = math.ceil(lanes / _ROWS)
    rows = math.ceil(lanes / share)
    row = view.lane // share
    scale = _COLUMNS / (view.high - view.low)
    begin = np.clip((view.bars.begin - view.low) * scale, 0, _COLUMNS)
    end = np.clip((view.bars.end - view.low) * scale, 0, _COLUMNS)
    groups = view.group(view.bars.kind)
    cover = np.stack(
        [coverage(row[groups == g], begin[groups == g], end[groups == g], rows, _COLUMNS) for g in range(len(_GROUPS))]
    )
    cover /= np.bincount(np.arange(lanes) // share)[None, :, None]
    most = cover.argmax(0)
    palette = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for _, c, _ in _GROUPS], float)
    strength = np.clip(cover.sum(0), 0, 1)[..., None]
    pixels = np.rint(255 * (1 - strength) + palette[most] * strength).astype(np.uint8)
    fig, ax = figure(title(view.timeline, "Timeline"), facts(view.timeline), 8.4)
    box = (view.time(view.low), view.time(view.high), lanes - 0.5, -0.5)
    ax.imshow(pixels, extent=box, aspect="auto", interpolation="antialiased", interpolation_stage="rgba", zorder=1)
    _rank_axis(ax, view, np.searchsorted(view.lanes, view.ranks * 256).astype(float))
    _time_axis(ax, view)
    present = np.flatnonzero(np.bincount(groups, minlength=len(_GROUPS)))
    keys = [(Patch(color=_GROUPS[g][1]), _GROUPS[g][0]) for g in present]
    keys.append((Patch(facecolor="white", edgecolor=FAINT), "no work for the CPU"))
    legend(fig, ax, keys, "What a rank does most")
    pixel = f"A pixel is {quantity((view.high - view.low) / _COLUMNS * 1e-12, 's')}"
    pixel += f" of {share} CPU streams" if share > 1 else ""
    box = ax.get_position()
    fig.text(box.x1 + 0.016, box.y0, textwrap.fill(f"{pixel}; the paler, the less of it the CPU works.", 36), size=9,
             color=MUTED, va="bottom", linespacing=1.35)  # fmt: skip
    return fig
