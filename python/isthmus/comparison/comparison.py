"""The result of compare: a table with a title, as text, JSON, data frame, picture or page."""

from __future__ import annotations

import itertools
import os
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .. import units
from ..errors import InvalidInput
from ..files import PICTURES
from ..tabular import Tabular
from ..views import view

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..machine import Machine
    from ..simulation.timeline import Timeline


#: Letters of a cell, beyond which it is folded; and rows of a part that are printed.
WIDEST, MOST = 60, 12


@dataclass(frozen=True, eq=False)
class Part:
    """One more table of a comparison, with the columns and units of the others.

    Attributes
    ----------
    title : str
    key : str
        Its name in JSON.
    rows : tuple of mapping
    """

    title: str
    key: str
    rows: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, eq=False)
class Comparison(Tabular):
    """Result of :func:`isthmus.compare`: two or more things side by side.

    Attributes
    ----------
    kind : {"machines", "tables", "times", "machines for a program"}
    names : tuple of str
        Labels of what is compared; the others are compared with the first.
    rows : tuple of mapping
        One row per value or share, all with the same keys; numbers in SI units, None for a missing value.
    units : mapping of str to str
        Units of columns that are numbers; ``"ratio"`` for relative changes.
    notes : tuple of str
        Caveats.
    bars : mapping of str to mapping of str to float
        Data of the picture: seconds by share, for every name; empty if there is nothing to draw.
    machines : mapping of str to Machine
        Machines that are compared, by name, for the pictures of their curves.
    parts : tuple of Part
        Of timelines: tables of ranks, of kinds of operations, and of the operations that differ most.
    timelines : mapping of str to Timeline
        Timelines that are compared, by name, for the picture of what their ranks did.
    """

    kind: str
    names: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    units: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    bars: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    machines: Mapping[str, Machine] = field(default_factory=dict)
    parts: tuple[Part, ...] = ()
    timelines: Mapping[str, Timeline] = field(default_factory=dict)

    def frame(self) -> Sequence[Mapping[str, Any]]:
        """Return the rows."""
        return self.rows

    def json(self) -> dict[str, Any]:
        """Return the comparison as plain numbers, lists and dicts."""
        out = {"kind": self.kind, "names": list(self.names), "rows": list(self.rows), "notes": list(self.notes)}
        return out | {part.key: list(part.rows) for part in self.parts}

    def cells(self, part: Part | None = None) -> tuple[list[str], list[list[str]]]:
        """Return the headings, and the rows as text; of a part, if one is given."""
        rows = self.rows if part is None else part.rows
        columns = list(rows[0]) if rows else []
        sized = [column for column in columns if self.units.get(column) == "B"]
        decimal = units.mixed(row[column] for row in rows for column in sized if row[column] is not None)
        return columns, [[self._cell(column, row[column], decimal) for column in columns] for row in rows]

    def _cell(self, column: str, value: Any, decimal: bool) -> str:
        if value is None:
            return "-"
        unit = self.units.get(column)
        if unit == "ratio":
            return units.percent(value, 1, sign=True)
        digits = None if unit == "B" else 4
        return str(value) if unit is None else units.text(float(value), unit, digits, decimal=decimal)

    def __str__(self) -> str:
        lines = [
            f"{self.kind}: {' and '.join(self.names)}",
            *(folded(*self.cells()) if self.rows else ["no differences"]),
        ]
        for part in self.parts:
            if part.rows:
                columns, rows = self.cells(part)
                lines += ["", part.title, *folded(columns, rows[:MOST]), *left_out(len(rows))]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def plot(self, path: str | os.PathLike[str] | None = None, kind: str | None = None) -> Figure:
        """Draw times as horizontal bars, one per name, or one kind of curves of machines.

        Parameters
        ----------
        path : path, optional
            File to write: .png, .svg or .pdf.
        kind : str, optional
            Of machines: ``"latency"`` (default), ``"bandwidth"``, ``"rate"``, ``"collective-allreduce"``, ...

        Raises
        ------
        InvalidInput
            If there is nothing to draw, or no such kind.
        """
        if self.machines:
            from ..plot.machine_charts import chart_named
            from ..plot.machine_curves import plot_chart

            return plot_chart(chart_named(self.machines, kind or "latency"), path)
        from ..plot.comparison import plot_bars

        if kind is not None:
            raise InvalidInput(f"{kind}: a comparison of {self.kind} has one kind of picture")
        if not self.bars:
            raise InvalidInput(
                f"a comparison of {self.kind} has no times to draw: write a page in .html, which has its table"
            )
        return plot_bars(self.bars, f"{' beside '.join(self.names)}", path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the comparison as a page (.html) or picture (.png, .svg, .pdf)."""
        suffix = os.path.splitext(os.fspath(path))[1].lower()
        if suffix in PICTURES:
            self.plot(path)
        elif suffix == ".html":
            view("Comparison.save")(self, path)
        else:
            raise InvalidInput(f"{os.fspath(path)}: must end in .html, {', '.join(PICTURES)}")


def left_out(rows: int) -> list[str]:
    """What follows the first rows of a part."""
    return [f"... and {rows - MOST:,} more, which a page (-o FILE.html) and --json have"] if rows > MOST else []


def folded(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table as lines, long cells folded."""
    folded = [[textwrap.wrap(cell, WIDEST) or [""] for cell in cells] for cells in (columns, *rows)]
    widths = [max(len(line) for cell in cells for line in cell) for cells in zip(*folded, strict=True)]
    return [
        "  ".join(f"{part:<{w}}" for part, w in zip(parts, widths, strict=True)).rstrip()
        for row in folded
        for parts in itertools.zip_longest(*row, fillvalue="")
    ]
