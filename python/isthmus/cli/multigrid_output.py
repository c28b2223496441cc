"""What the commands of isthmus multigrid, and isthmus show, print of hierarchies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .options import pictures
from .output import print_json

if TYPE_CHECKING:
    from ..multigrid import Hierarchy


def told(hierarchy: Hierarchy, output: str | None, as_json: bool) -> None:
    """Write and print a hierarchy."""
    if output is not None:
        hierarchy.save(output)
    if as_json:
        print_json(summary(hierarchy) | ({} if output is None else {"file": output}))
        return
    click.echo(str(hierarchy))
    if output is not None:
        click.echo(f"wrote {output}")


def summary(hierarchy: Hierarchy) -> dict[str, Any]:
    """A hierarchy for programs."""
    return {
        "noun": "hierarchy",
        "parts": hierarchy.parts,
        "facts": dict(hierarchy.facts),
        "levels": list(hierarchy.frame()),
    }


def show_hierarchy(hierarchy: Hierarchy, output: str | None, plot: tuple[str, ...], as_json: bool) -> None:
    """Print a hierarchy, or draw it."""
    kinds = ("levels", "exchange")
    drawn = [*pictures("-o", () if output is None else (output,), kinds), *pictures("--plot", plot, kinds)]
    for kind, path in drawn:
        hierarchy.plot(path, kind)
    if as_json:
        print_json(summary(hierarchy) | ({"files": [path for _, path in drawn]} if drawn else {}))
        return
    if not drawn:
        click.echo(str(hierarchy))
    for _, path in drawn:
        click.echo(f"wrote {path}")
