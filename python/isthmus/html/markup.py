"""Pieces of HTML and SVG: text that is escaped, tables, bars, axes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from ..units import percent, text

#: Shades of a scale, from little to much.
SHADES = 7
#: Rows of long tables: at once, and with those to unfold.
_ROWS, _MOST_ROWS = 12, 200


@dataclass(frozen=True)
class Section:
    """One part of the report; ``body`` is HTML, whose texts are escaped already."""

    title: str
    anchor: str
    body: str


@dataclass(frozen=True)
class Cell:
    """One cell of a table.

    Attributes
    ----------
    words, note : str
        What is shown, and what is shown beside it in small.
    number : float, optional
        By which its column is sorted.
    bar : float, optional
        Length of a bar below, 0 to 1.
    """

    words: str
    number: float | None = None
    bar: float | None = None
    note: str = ""


Row = list[Cell | str]


def amount(value: float | None, time: float, bar: bool = True) -> Cell:
    """Seconds, and what part of the time they are."""
    if value is None:
        return Cell("", -1.0)
    part = value / time
    return Cell(text(value, "s", 3), value, part if bar else None, percent(part, 1))


def paragraph(words: str, kind: str = "") -> str:
    """Words as a paragraph."""
    return f'<p class="{kind}">{escape(words)}</p>' if kind else f"<p>{escape(words)}</p>"


def table(
    headings: Sequence[str], rows: Iterable[Sequence[Cell | str]], *, left: Iterable[int] = (0,), sort: bool = True
) -> str:
    """A table in a frame that scrolls sideways where it is too wide.

    Parameters
    ----------
    headings : sequence of str
    rows : sequences of Cell or str
    left : indices
        Columns of words; the others are numbers.
    sort : bool
        May readers sort it by a click on a heading?
    """
    words = set(left)
    head = "".join(
        f'<th scope="col" class="{"w" if i in words else "n"}">{escape(heading)}</th>'
        for i, heading in enumerate(headings)
    )
    body = []
    for row in rows:
        cells = []
        for i, given in enumerate(row):
            cell = given if isinstance(given, Cell) else Cell(given)
            number = "" if cell.number is None else f' data-n="{cell.number:.9g}"'
            bar = ""
            if cell.bar is not None:
                bar = f'<span class="bar"><i style="width:{100 * min(max(cell.bar, 0), 1):.1f}%"></i></span>'
            note = f"<small>{escape(cell.note)}</small>" if cell.note else ""
            cells.append(f'<td class="{"w" if i in words else "n"}"{number}>{escape(cell.words)}{note}{bar}</td>')
        body.append(f"<tr>{''.join(cells)}</tr>")
    kind = "sortable" if sort else ""
    return (
        f'<div class="wide"><table class="{kind}"><thead><tr>{head}</tr></thead>'
        f"<tbody>\n{chr(10).join(body)}\n</tbody></table></div>"
    )


def folded(headings: list[str], rows: list[Row], what: str, left: Iterable[int] = (0,)) -> str:
    """A table of the first rows, and those that follow to unfold."""
    left = tuple(left)
    body = table(headings, rows[:_ROWS], left=left)
    if more := rows[_ROWS:_MOST_ROWS]:
        words = f"{len(more):,} more {what}"
        words += f" of {len(rows) - _ROWS:,}" if len(rows) > _MOST_ROWS else ""
        body += f"<details><summary>{words}</summary>{table(headings, more, left=left)}</details>"
    return body


def svg(width: float, height: float, parts: Iterable[str], label: str, *, wide: bool = False) -> str:
    """A drawing that fits its column; a wide one scrolls sideways on narrow screens instead of shrinking."""
    kind = "wide drawing" if wide else "drawing"
    return (
        f'<div class="{kind}"><svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(label)}" '
        f'style="max-width:{width:g}px">\n{chr(10).join(parts)}\n</svg></div>'
    )


def words_at(x: float, y: float, words: str, anchor: str = "start", kind: str = "") -> str:
    """Text in a drawing."""
    css = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{css}>{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<path class="{kind}" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"/>'


def legend(entries: Iterable[tuple[str, str]]) -> str:
    """Swatches by class, and words."""
    items = "".join(f'<li><i class="swatch {kind}"></i>{escape(words)}</li>' for kind, words in entries)
    return f'<ul class="legend">{items}</ul>'


def ticks(most: float, count: int = 5) -> list[float]:
    """Round numbers from 0 up to the largest that is shown."""
    if most <= 0:
        return [0.0]
    raw = most / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(s * power for s in (1, 2, 2.5, 5, 10) if s * power >= raw * 0.999)
    return [step * i for i in range(math.floor(most / step * 1.0001) + 1)]


def unit_of(seconds: float) -> tuple[float, str]:
    """The unit in which times up to this are counted."""
    for size, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")):
        if seconds >= size:
            return size, name
    return 1e-12, "ps"


def short(value: float) -> str:
    """A number of an axis."""
    return f"{value:.6g}"
