"""What commands print: JSON for programs, tables for people."""

from __future__ import annotations

import functools
import json
import math
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click

from ..errors import InvalidInput
from ..visible import visible

IMPORT_OPTIONS = ("root", "topology", "nodes")


def json_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """The option --json, which every command has."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON (numbers in SI units).")(function)


def machine_argument(
    function: Callable[..., Any], otherwise: Callable[[str], Any | None] = lambda text: None
) -> Callable[..., Any]:
    """The argument MACHINE with the options of reading it; the function gets a Machine as ``machine``.

    ``otherwise`` may make something else of the text, before it is taken for a machine.
    """

    @click.argument("machine", metavar="MACHINE")
    @click.option(
        "--from", "format", metavar="FORMAT", help="Format of a foreign file, where its content does not tell."
    )
    @click.option("--node", metavar="FILE", help="hwloc or NCCL XML of one node, instead of the machine's own.")
    @click.option(
        "--import",
        "options",
        metavar="KEY=VALUE",
        multiple=True,
        help="Option of an importer: root=SWITCH of several Slurm trees, topology=NAME of a topology.yaml, "
        "nodes=LIST of a flat one.",
    )
    @functools.wraps(function)
    def wrapped(
        *args: Any, machine: str, format: str | None, node: str | None, options: tuple[str, ...], **rest: Any
    ) -> Any:
        from ..loading import load

        named = dict(option.partition("=")[::2] for option in options)
        for key, value in named.items():
            if not value or key not in IMPORT_OPTIONS:
                raise InvalidInput(f"--import {key}: allowed are {'=..., '.join(IMPORT_OPTIONS)}=...")
        other = otherwise(machine)
        loaded = load(machine, format=format, node=node, **named) if other is None else other
        return function(*args, machine=loaded, **rest)

    return wrapped


def print_json(value: Any) -> None:
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
    columns: Sequence[str], rows: Iterable[Sequence[object]], right: Sequence[str] = (), wrap: Sequence[str] = ()
) -> None:
    """A table; columns in ``wrap`` fold at the width of the terminal, the others never do."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    width = line_width() or 10_000
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in columns:
        table.add_column(
            column, justify="right" if column in right else "left", no_wrap=column not in wrap, overflow="fold"
        )
    for row in rows:
        # A table is as wide as what is shown.
        table.add_row(*(visible(str(cell)) for cell in row))
    console = Console(width=width, highlight=False, markup=False)
    with console.capture() as captured:
        console.print(table)
    # Tables pad their last column; files and diffs are better off without.
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))
