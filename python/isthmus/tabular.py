"""Common methods of nouns for notebooks and data frames."""

from __future__ import annotations

import html
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .extras import Later, optional

if TYPE_CHECKING:
    import pandas
else:
    pandas = Later("pandas")

#: What stands in a row of a table.
Cell = str | int | float | bool | None


class Shown:
    """An object whose ``str`` is its report; notebooks show it."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f'<pre style="line-height:1.2">{html.escape(str(self))}</pre>'


class Tabular(Shown):
    """An object that can be read as a table."""

    __slots__ = ()

    @abstractmethod
    def frame(self) -> Mapping[str, Any] | Sequence[Mapping[str, Any]]:
        """Return the table as columns of equal length by name, or as rows."""

    def to_pandas(self) -> pandas.DataFrame:
        """Return the table of :meth:`frame` as a pandas data frame, in SI units unless a column says otherwise.

        Raises
        ------
        Unsupported
            If the package pandas is missing.
        """
        frames: pandas.DataFrame = optional("pandas", "data frames", "data").DataFrame(self.frame())
        return frames


class Table(Tabular, Sequence[Mapping[str, Any]]):
    """A sequence of rows with the same columns.

    Parameters
    ----------
    rows : sequence of mapping
        Rows with the same keys, in the order of the columns.
    """

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._rows = tuple(rows)

    def frame(self) -> Sequence[Mapping[str, Any]]:
        """Return the rows."""
        return self._rows

    def __getitem__(self, index: Any) -> Any:
        return Table(self._rows[index]) if isinstance(index, slice) else self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self._rows == other._rows

    __hash__ = None  # type: ignore[assignment]

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        names = list(self._rows[0]) if self._rows else []
        return names, [[_cell(row[name]) for name in names] for row in self._rows]

    def __str__(self) -> str:
        names, cells = self._cells()
        if not names:
            return "no rows"
        widths = [max(len(row[i]) for row in [names, *cells]) for i in range(len(names))]
        numeric = [all(isinstance(row[name], (int, float)) for row in self._rows) for name in names]

        def line(row: list[str]) -> str:
            padded = (c.rjust(w) if n else c.ljust(w) for c, w, n in zip(row, widths, numeric, strict=True))
            return "  ".join(padded).rstrip()

        return "\n".join(line(row) for row in [names, *cells])

    def __repr__(self) -> str:
        return f"<Table: {len(self)} row{'s' * (len(self) != 1)} of {', '.join(self._cells()[0])}>"

    def _repr_html_(self) -> str:
        names, cells = self._cells()
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in cells)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else str(value)
