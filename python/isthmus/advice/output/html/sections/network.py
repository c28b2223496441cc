"""The section of the report on the network under load."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .....html.markup import (
    SHADES,
    Cell,
    Row,
    Section,
    folded,
    legend,
    line,
    paragraph,
    short,
    svg,
    table,
    ticks,
    words_at,
)
from .....plot.load_map import Field, Layout, LoadMap, load_map, spaced
from .....units import amount, percent, text
from ...sentences import model_words, seconds
from ...text import call_label, load_words, lost_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ....advice import Advice
    from ....analysis.links import LinkUse

#: Inches of the picture, pixels of an inch, cells of all fields that are drawn one by one, bars of the histogram.
_WIDTH, _INCH, _CELLS, _BARS = 9.3, 96.0, 24_000, 4 * SHADES


def network(advice: Advice) -> Section | None:
    p = advice.predictions[0]
    n = p.network
    if n is None:
        return None
    body = paragraph(f"{model_words(advice.model, advice.routing)} Links: {load_words(n)}.")
    body += paragraph(f"Lost to contention: {lost_words(n, p.span)}.")
    if not n.used:
        return Section("Network", "network", body)
    traffic = p.timeline.traffic
    assert traffic is not None
    load = traffic.utilisation
    most = float(load.max())
    found = load_map(traffic.machine.topology, load)
    if found is not None:
        body += "<h3>Load of links</h3>" + paragraph(found.caption) + load_picture(found, most)
    body += "<h3>Links by load</h3>" + histogram(load[load > 0], most) + scale(most)
    classes: list[Row] = [
        [
            c.name,
            Cell(text(c.bandwidth, "B/s", 3), c.bandwidth),
            Cell(f"{c.links:,}", c.links),
            Cell(f"{c.used:,}", c.used),
            Cell(percent(c.mean), c.mean),
            Cell(percent(c.most), c.most, c.most),
        ]
        for c in n.classes
    ]
    body += table(["links", "bandwidth", "number", "in use", "mean load of these", "maximum"], classes)
    body += "<h3>Hottest links</h3>" + _hottest(n.hottest)
    if n.calls:
        rows: list[Row] = [
            [
                Cell(c.name, note=c.location),
                Cell(seconds(c.lost), c.lost, c.lost / n.calls[0].lost),
                Cell(percent(c.lost / n.lost), c.lost),
                Cell(f"{c.messages:,}", c.messages),
                Cell(amount(c.bytes), c.bytes),
            ]
            for c in n.calls
        ]
        headings = ["sending call", "time lost", "share of the loss", "messages", "bytes"]
        body += "<h3>Time lost to contention, by call</h3>" + folded(headings, rows, "calls")
    return Section("Network", "network", body)


def _hottest(links: tuple[LinkUse, ...]) -> str:
    rows: list[Row] = []
    for use in links:
        hot = use.hot
        whom = ", ".join(f"{s.sender} to {s.receiver} ({amount(s.bytes)})" for s in use.streams)
        more = f" and {use.pairs - len(use.streams):,} more" if use.pairs > len(use.streams) else ""
        calls = ", ".join(call_label(c) for c in use.calls)
        rows.append(
            [
                Cell(f"{hot.link} ({hot.kind})", hot.link, note=f"{hot.source} to {hot.target}"),
                Cell(percent(hot.utilisation), hot.utilisation, hot.utilisation),
                Cell(amount(hot.bytes), hot.bytes),
                Cell(f"{use.messages:,}", use.messages),
                Cell(f"{whom}{more}", note=calls),
            ]
        )
    return table(["link", "load", "bytes", "messages", "pairs of ranks"], rows, left=(0, 4))


def scale(most: float) -> str:
    """The shades of loads."""
    keys = [("m0", "nothing")]
    keys += [(f"m{i + 1}", f"up to {percent(most * (i + 1) / SHADES)}") for i in range(SHADES)]
    return legend(keys)


def shade_of(load: NDArray[np.float64], most: float) -> NDArray[np.int64]:
    """0 for nothing, then equal steps up to the most; -1 where there is no link."""
    with np.errstate(invalid="ignore"):
        step = np.ceil(load / (most or 1.0) * SHADES * (1 - 1e-12))
    return np.where(np.isnan(load), -1, np.where(load > 0, np.clip(step, 1, SHADES), 0)).astype(np.int64)


def load_picture(drawn: LoadMap, most: float) -> str:
    """Fields of cells in shades."""
    layout = Layout(drawn, _WIDTH)
    total = sum(f.cells.size for f in drawn.fields)
    share = math.ceil(math.sqrt(total / _CELLS)) if total > _CELLS else 1
    parts: list[str] = []
    for f in drawn.fields:
        left, top, width, high = (v * _INCH for v in layout.box(f))
        rows, columns = f.cells.shape
        across, down = width / columns, high / rows
        if f.square:
            across = down = min(across, down)
        parts.append(words_at(left, top - (20 if f.notes else 6), f.title, kind="field"))
        parts += _cells(_coarse(f.cells, share), left, top, across * share, down * share, most)
        parts += _words(f, left, top, across, down)
    note = paragraph(f"Each cell shows the largest load of {share} x {share} neighbours.", "note")
    return svg(_WIDTH * _INCH, layout.height * _INCH + 4, parts, "Load of links", wide=True) + (
        note if share > 1 else ""
    )


def _coarse(cells: NDArray[np.float64], share: int) -> NDArray[np.float64]:
    """The largest of share x share neighbours."""
    out = cells
    for axis in (0, 1):
        out = np.fmax.reduceat(out, np.arange(0, out.shape[axis], share), axis=axis)
    return out


def _cells(cells: NDArray[np.float64], left: float, top: float, across: float, down: float, most: float) -> list[str]:
    shades = shade_of(cells, most)
    # Lines between cells, where these are large enough to be told apart.
    gap = 0.8 if min(across, down) > 6 else 0.0
    parts = []
    for shade in range(SHADES + 1):
        path = []
        for row in np.flatnonzero((shades == shade).any(axis=1)):
            on = np.flatnonzero(shades[row] == shade)
            runs = np.stack([on, on + 1], axis=1)
            if not gap:  # neighbours are one box
                new = np.flatnonzero(np.diff(on) > 1)
                runs = np.stack([on[np.append(0, new + 1)], on[np.append(new, -1)] + 1], axis=1)
            y = top + row * down
            for a, b in runs:
                x, wide = left + a * across, (b - a) * across - gap
                path.append(f"M{x:.1f} {y:.1f}h{wide:.1f}v{down - gap:.1f}h-{wide:.1f}z")
        if path:
            parts.append(f'<path class="m{shade}" d="{"".join(path)}"/>')
    return parts


def _words(f: Field, left: float, top: float, across: float, down: float) -> list[str]:
    rows, columns = f.cells.shape
    parts = []
    letters = max((len(w) for _, _, w in f.notes), default=0)
    starts, tops = (np.unique([n[i] for n in f.notes]) for i in (0, 1))
    room = float(np.diff(starts).min()) * across if len(starts) > 1 else columns * across
    gap = (float(np.diff(tops).min()) - f.block) * down if len(tops) > 1 else 20.0
    if f.notes and room >= 6.5 * letters and gap >= 11:
        parts += [words_at(left + x * across, top + y * down - 3, words) for x, y, words in f.notes]
    parts += [
        words_at(left + (x + 0.5) * across, top + rows * down + 15, w, "middle")
        for x, w in spaced(f.columns, across, 7 * max((len(w) for _, w in f.columns), default=0) + 10)
    ]
    parts += [words_at(left - 6, top + (y + 0.5) * down + 4, w, "end") for y, w in spaced(f.rows, down, 13)]
    if f.across:
        parts.append(words_at(left + columns * across / 2, top + rows * down + 31, f.across, "middle"))
    if f.down:
        x, y = left - 34, top + rows * down / 2
        parts.append(
            words_at(x, y, f.down, "middle").replace("<text", f'<text transform="rotate(-90 {x:.1f} {y:.1f})"')
        )
    return parts


def histogram(load: NDArray[np.float64], most: float) -> str:
    """A histogram of link loads, in the shades of the picture."""
    number, edges = np.histogram(load, _BARS, (0.0, most * (1 + 1e-9)))
    left, top, width, height = 58.0, 10.0, 560.0, 190.0
    tallest = float(number.max(initial=1))
    step = width / _BARS
    parts: list[Any] = []
    for tick in ticks(tallest):
        y = top + height * (1 - tick / tallest)
        parts += [line(left, y, left + width, y, "grid"), words_at(left - 8, y + 4, f"{tick:,.6g}", "end")]
    for i in np.flatnonzero(number):
        high = height * number[i] / tallest
        shade = int(shade_of(np.array([edges[i + 1]]), most)[0])
        x, y = left + i * step + 1, top + height - high
        parts.append(f'<path class="m{shade}" d="M{x:.1f} {y:.1f}h{step - 2:.1f}v{high:.1f}h-{step - 2:.1f}z"/>')
    mean = left + width * float(load.mean()) / most
    parts.append(line(mean, top, mean, top + height, "mean"))
    parts.append(line(left, top + height, left + width, top + height, "axis"))
    for tick in ticks(100 * most):
        parts.append(words_at(left + width * tick / (100 * most), top + height + 17, f"{short(tick)} %", "middle"))
    words = f"load of a link; dashed: the mean, {percent(float(load.mean()))}"
    parts.append(words_at(left + width / 2, top + height + 35, words, "middle"))
    return svg(640, top + height + 42, parts, "Links by load")
