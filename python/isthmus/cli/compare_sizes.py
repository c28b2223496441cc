"""isthmus compare PROGRAM --machine A --machine B --ranks 16..1024."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from .. import units
from ..errors import InvalidInput
from .families import parse_family
from .inputs import parse_level, parse_placement
from .output import print_json, print_table

if TYPE_CHECKING:
    from ..comparison.sizes import SizeComparison
    from ..machine import Level, Machine


@dataclass(frozen=True)
class Asked:
    """What the options of the command say of machines and sizes."""

    machines: tuple[str, ...]
    scaling: str | None
    reference: str | None
    memory_bound: str | None
    ranks: list[int] | None
    placement: str | None
    nodes: str | None
    ranks_per_node: int | None
    progress: bool | None


def compare_over_sizes(
    things: tuple[str, ...], asked: Asked, options: dict[str, Any], output: str | None, drawn: list[str], as_json: bool
) -> None:
    """Compare, print and write.

    Raises
    ------
    InvalidInput
        For options that do not go together.
    """
    from ..comparison.over_sizes import compare_sizes
    from ..loading import load
    from ..progress import Reporter

    if len(things) != 1:
        raise InvalidInput(
            f"{len(things)} things: with --machine, one program is compared on the machines over --ranks"
        )
    if len(asked.machines) < 2:
        raise InvalidInput(f"--machine {asked.machines[0]}: is given once: name two or more to compare")
    if asked.nodes is not None or asked.placement not in (None, "block", "cyclic"):
        raise InvalidInput(
            "--nodes and files of --placement belong to one number of ranks; leave them out over --ranks"
        )
    family, ranks = parse_family(things[0], asked.scaling, asked.ranks)
    machines = [_machine(text) for text in asked.machines]
    reference = None if asked.reference is None else load(asked.reference)
    bound = None if asked.memory_bound is None else _share(asked.memory_bound)
    if bound is not None and reference is None:
        raise InvalidInput(
            "--memory-bound: needs --reference MACHINE, where that share of computation is bound by memory"
        )

    def places(machine: Machine | Level, size: int) -> Any:
        return parse_placement(machine, size, asked.placement, None, asked.ranks_per_node)

    placed = asked.placement is not None or asked.ranks_per_node is not None
    shown = sys.stderr.isatty() if asked.progress is None else asked.progress
    report = Reporter(len(ranks) * len(machines), None, "comparing", "simulations", at_once=True) if shown else None
    try:
        found = compare_sizes(
            family, machines, _names(asked.machines), ranks, reference=reference, bound=bound,
            places=places if placed else None, report=None if report is None else lambda done, _: report(done),
            **options,
        )  # fmt: skip
    finally:
        if report is not None:
            report.close()
    files = [*([] if output is None else [output]), *drawn]
    for path in files:
        found.save(path)
    if as_json:
        print_json(found.json() | {"files": files})
        return
    _print(found)
    for path in files:
        click.echo(f"wrote {path}")


def _print(found: SizeComparison) -> None:
    for number, (words, heads, rows) in enumerate(found.tables()):
        click.echo(f"\n{words}" if number else words)
        print_table(heads, rows, right=heads)
    click.echo("")
    for sentence in found.sentences():
        click.echo(sentence)
    for note in (*found.left_out, *found.notes):
        click.echo(f"note: {note}")


def _machine(text: str) -> Machine | Level:
    from ..loading import load

    level = parse_level(text)
    return load(text) if level is None else level


def _names(texts: tuple[str, ...]) -> list[str]:
    """Names that differ: those of files without their folders."""
    names = [os.path.basename(text) if os.path.exists(text) else text for text in texts]
    again = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if again is not None:
        raise InvalidInput(f"--machine {again}: is given twice")
    return names


def _share(text: str) -> tuple[float, float]:
    """A share, or least..most."""
    low, dots, high = text.partition("..")
    try:
        ends = units.parse(low, ""), units.parse(high if dots else low, "")
    except InvalidInput:
        ends = (-1.0, -1.0)
    if not re.fullmatch(r"[0-9.]+(\.\.[0-9.]+)?", text) or not 0 <= ends[0] <= ends[1] <= 1:
        raise InvalidInput(f"--memory-bound {text}: must be a share from 0 to 1, or two such as 0.6..0.9")
    return ends
