"""A comparison as one page in HTML, without anything from elsewhere."""

from __future__ import annotations

import os
from html import escape
from typing import TYPE_CHECKING

from .. import units
from ..files import write_atomically

if TYPE_CHECKING:
    from .comparison import Comparison

#: Rows of a table; a page has to stay one that browsers open.
_MOST_ROWS = 2000
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em;color:#26323D}"
    "table{border-collapse:collapse}th,td{padding:.25em 1em .25em 0;text-align:left;border-bottom:1px solid #E4E8EC}"
)


def save(found: Comparison, path: str | os.PathLike[str]) -> None:
    """Write the page."""
    write_atomically(path, page(found))


def page(found: Comparison) -> str:
    """The text of the page."""
    columns, rows = found.cells()
    if found.machines:
        from ..html.markup import table as sortable
        from .machine_page import side_by_side

        rows = [units.decimal(row) for row in rows]
        differences = sortable(columns, rows, left=range(len(columns))) if rows else "<p>No differences.</p>"
        return side_by_side(found.machines, differences)
    if found.parts:
        return _of_times(found)
    title = escape(" and ".join(found.names))
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "\n".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    table = (
        f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>" if rows else "<p>No differences.</p>"
    )
    notes = "".join(f"<p>{escape(note)}</p>" for note in found.notes)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head>\n<body><h1>{title}</h1>\n{table}\n{notes}</body></html>\n"
    )


def _of_times(found: Comparison) -> str:
    """Timelines one above the other on one axis of time, then the tables."""
    from ..html.markup import paragraph, table
    from .frame import drawing, page

    sections: list[tuple[str, str]] = []
    if found.timelines:
        import io

        from ..plot.chart import save as write
        from ..plot.timeline import plot_timeline

        longest = max(timeline.makespan for timeline in found.timelines.values()) or 1e-12
        body = ""
        for i, (name, timeline) in enumerate(found.timelines.items()):
            stream = io.BytesIO()
            write(plot_timeline(timeline, window=(0.0, longest)), stream, ".svg")
            body += f"<h3>{escape(name)} ({timeline.source})</h3>" + drawing(stream.getvalue(), f"timeline{i}", name)
        sections.append(("What ranks did", body))
    columns, rows = found.cells()
    notes = "".join(paragraph(note) for note in found.notes)
    sections.append(("Where the time goes", table(columns, rows) + notes))
    for part in found.parts:
        if part.rows:
            columns, rows = found.cells(part)
            more = len(rows) - _MOST_ROWS
            after = paragraph(f"{more:,} more are in --json.") if more > 0 else ""
            sections.append((part.title, table(columns, rows[:_MOST_ROWS]) + after))
    return page("Timelines", " and ".join(found.names), sections)
