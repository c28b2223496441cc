"""The page of machines compared over numbers of ranks; one file without others."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

from ..files import write_atomically
from ..html.markup import paragraph, table

if TYPE_CHECKING:
    from .sizes import SizeComparison


def save(found: SizeComparison, path: str | os.PathLike[str]) -> None:
    """Write the page."""
    write_atomically(path, page(found))


def page(found: SizeComparison) -> str:
    """The text of the page."""
    from ..plot.chart import save as write
    from .frame import drawing
    from .frame import page as framed

    stream = io.BytesIO()
    write(found.plot(), stream, ".svg")
    said = "".join(map(paragraph, found.sentences()))
    sections = [("Which machine, up to which size", said + drawing(stream.getvalue(), "sizes", found.program))]
    sections += [(words[0].upper() + words[1:], table(heads, rows)) for words, heads, rows in found.tables()]
    notes = (*found.left_out, *found.notes)
    sections.append(("What was assumed", "".join(map(paragraph, notes))))
    return framed("Machines over sizes", f"{found.program} on {' and '.join(found.names)}", sections)
