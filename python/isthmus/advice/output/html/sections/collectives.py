"""The section of the report on algorithms of collectives."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from .....html.markup import Cell, Row, Section, paragraph, table
from .....units import percent
from ...sentences import seconds
from ...words import best_words, now_words, size_words, source_words, whole_words
from ..svg import bars

if TYPE_CHECKING:
    from ....advice import Advice
    from ....collectives.tuner import Compared


def collectives(advice: Advice) -> Section | None:
    """Calls with the algorithm that the library takes and the best that was found."""
    found = advice.predictions[0].choices
    if found is None or not found.compared:
        return None
    rows: list[Row] = [
        [
            Cell(size_words(c), note=_calls(c)),
            Cell(now_words(c), note=f"{seconds(c.now_seconds)} per call"),
            Cell(seconds(c.cost), c.cost, c.cost / found.before, percent(c.cost / found.before)),
            Cell(best_words(c), note="" if c.best_seconds is None else f"{seconds(c.best_seconds)} per call"),
            Cell(seconds(c.saving) if c.saving > 0 else "", c.saving, note=_taken(c.taken, c.saving)),
            Cell("" if c.bound is None else seconds(c.use.per_rank * c.bound), c.bound),
        ]
        for c in found.compared
    ]
    body = paragraph(
        "Calls that take much of the time, not counting late ranks. Each is simulated alone on the places of its "
        f"ranks: with the current algorithm ({source_words(found)}), and with the best of all algorithms and options "
        "that were tried."
    )
    headings = ["calls", "current", "total time", "best", "saving", "lower bound"]
    body += table(headings, rows, left=(0, 1, 3))
    body += "<h3>The whole program</h3>" + paragraph(whole_words(found))
    if found.tuned:
        drawn = [("with the current algorithms", "simulated", found.before, escape(seconds(found.before)))]
        if found.table is not None:
            drawn.append(("with better ones", "simulated", found.after, escape(seconds(found.after))))
        body += bars(drawn, found.before)
    if found.table is not None:
        body += paragraph(
            f"isthmus advise --export-collectives FILE writes the file that makes {found.library.words} use them."
        )
    for note in found.notes:
        body += paragraph(note, "note")
    return Section("Collectives", "collectives", body)


def _calls(c: Compared) -> str:
    use = c.use
    each = "" if use.per_rank == use.calls else f", {use.per_rank:,} per rank"
    return f"{use.calls:,} calls on {use.ranks:,} ranks{each}"


def _taken(taken: bool, saving: float) -> str:
    return "" if taken or saving <= 0 else "not in the program"
