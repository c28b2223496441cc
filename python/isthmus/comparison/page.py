"""A comparison as one page in HTML, without anything from elsewhere."""

from __future__ import annotations

import os
from html import escape
from typing import TYPE_CHECKING

from .. import units
from ..files import write_atomically

if TYPE_CHECKING:
    from .comparison import Comparison

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
