"""The page of how the time of a program varies in a queue; one file without others."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

import numpy as np

from ..files import write_atomically
from ..html.markup import Cell, Row, paragraph, table
from ..queueing.workload import duration
from ..units import percent, text

if TYPE_CHECKING:
    from ..queueing import Variation

_HEADINGS = ["policy", "ranks", "alone", "beside other jobs", "with noise", "90 % of the times up to", "done after"]


def save(found: Variation, path: str | os.PathLike[str]) -> None:
    """Write the page."""
    write_atomically(path, page(found))


def page(found: Variation) -> str:
    """The text of the page."""
    from ..plot.chart import save as write
    from .frame import drawing
    from .frame import page as framed

    stream = io.BytesIO()
    write(found.plot(), stream, ".svg")
    columns, cells = found.cells()
    sections = [
        ("Times by size", paragraph(_widest(found)) + drawing(stream.getvalue(), "times", found.program)),
        ("Times, and where their variance comes from", table(columns, [list(row) for row in cells])),
        ("What other jobs and noise add", table(_HEADINGS, _added(found))),
        ("What was assumed", "".join(map(paragraph, found.notes))),
    ]
    return framed("Variation in a queue", f"{found.program} on {found.machine}", sections)


def _widest(found: Variation) -> str:
    """The row whose times differ most, and why."""
    row = max(found.rows, key=lambda one: one.spread)
    if row.spread < 1e-12:
        return "All times of a size are the same."
    name, share = max(row.shares().items(), key=lambda item: item[1])
    return (
        f"Times differ most on {row.ranks:,} ranks under {row.policy}: their standard deviation is "
        f"{percent(row.spread)} of the mean, and {percent(share)} of the variance comes from {name}."
    )


def _added(found: Variation) -> list[Row]:
    rows: list[Row] = []
    for row in found.rows:
        alone, loaded, noisy = (float(values.mean()) for values in (row.placed, row.loaded, row.times))
        late, (done, error) = float(np.quantile(row.times, 0.9)), row.total(found.times)
        by = f" +- {duration(error)}" if np.isfinite(error) else ""
        rows.append(
            [
                row.policy,
                Cell(f"{row.ranks:,}", row.ranks),
                *(Cell(text(value, "s", 4), value) for value in (alone, loaded, noisy, late)),
                Cell(f"{duration(done)}{by}", done),
            ]
        )
    return rows
