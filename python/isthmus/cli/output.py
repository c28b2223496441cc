"""Output of commands: JSON for programs, tables for people."""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click

from ..visible import visible

#: Where a command keeps what its inputs were extrapolated from.
_MARKS = "isthmus.extrapolated"


def mark(what: str, origin: str) -> None:
    """Say on standard error where an input comes from, such as extrapolation; the JSON of the command says so too."""
    context = click.get_current_context(silent=True)
    if context is not None:
        marks = context.meta.setdefault(_MARKS, {})
        if what in marks:
            return
        marks[what] = origin
    click.echo(f"isthmus: note: {what}: {origin}", err=True)


def print_json(value: Any) -> None:
    context = click.get_current_context(silent=True)
    marks = context.meta.get(_MARKS) if context is not None else None
    if marks and isinstance(value, dict):
        for what, origin in marks.items():
            key = "extrapolated" if origin.startswith(("extrapolated", "interpolated")) else "origin"
            known = value.get(key, {})
            # A program says in its summary itself where it comes from.
            value = {**value, key: known | {what: origin}} if isinstance(known, dict) else value
    try:
        text = json.dumps(value, indent=2, default=_plain, allow_nan=False)
    except ValueError:
        # JSON has no infinity, which overflowing input reaches.
        text = json.dumps(_finite(json.loads(json.dumps(value, default=_plain))), indent=2)
    click.echo(text)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> Any:
    """NumPy numbers and arrays, dataclasses."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    raise TypeError(f"{type(value).__name__} has no JSON form")


def line_width() -> int | None:
    """Columns of the terminal; None into a pipe or a file, where lines are as long as they need to be."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    right: Sequence[str] = (),
    wrap: Sequence[str] = (),
    most: int | None = None,
) -> None:
    """A table; columns in ``wrap`` fold at the width of the terminal, and at ``most`` letters into a pipe too."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    width = line_width() or 10_000
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in columns:
        table.add_column(
            column,
            justify="right" if column in right else "left",
            no_wrap=column not in wrap,
            overflow="fold",
            max_width=most if column in wrap else None,
        )
    for row in rows:
        # A table is as wide as what is shown.
        table.add_row(*(visible(str(cell)) for cell in row))
    console = Console(width=width, highlight=False, markup=False)
    with console.capture() as captured:
        console.print(table)
    # Tables pad their last column; files and diffs are better off without.
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))
