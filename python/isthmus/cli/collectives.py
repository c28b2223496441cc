"""Reads --collectives: algorithms of a program's collectives, by kind or from a decision table."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidInput
from ..one_line import parse_algorithm
from ..visible import visible
from .tune_table import read_decisions

if TYPE_CHECKING:
    from ..tuning.decisions import Decisions


def parse_collectives(given: tuple[str, ...], ranks_per_node: int | None = None) -> dict[str, Any] | Decisions | None:
    """Algorithms from ``kind=algorithm``, ``kind=algorithm:option=value`` and the name of a table or library.

    Parameters
    ----------
    given : tuple of str
    ranks_per_node : int, optional
        By which libraries take collectives apart.

    Returns
    -------
    dict, Decisions or None
        What ``collectives=`` of :func:`isthmus.lower` takes; None where nothing is given.
    """
    chosen: dict[str, Any] = {}
    table: Decisions | None = None
    for text in given:
        kind, equals, algorithm = text.partition("=")
        if equals and kind and ":" not in kind and algorithm and not os.path.exists(text):
            chosen[kind] = parse_algorithm(algorithm)
        elif (equals and ":" not in kind) or not _names_decisions(text):
            raise InvalidInput(
                f"--collectives {text}: must be kind=algorithm, such as allreduce=ring, or a decision table (.toml, "
                ".json), openmpi or mpich"
            )
        elif table is not None:
            raise InvalidInput(f"--collectives {text}: give one decision table only")
        else:
            table = read_decisions(text, ranks_per_node or 1)
    if table is None or not chosen:
        return table or chosen or None
    from ..tuning.programs import Given, InTurn

    return InTurn(Given(chosen), table)


def _names_decisions(text: str) -> bool:
    from ..tuning.defaults import LIBRARIES

    library = re.split("[-:]", text, maxsplit=1)[0]
    return os.path.exists(text) or text.lower().endswith((".toml", ".json")) or library in LIBRARIES


def tell_replaced(collectives: Any, program: Any) -> None:
    """Say on standard error which decisions of a table cannot be followed on the program's communicators."""
    from ..schedule.program import Program
    from ..tuning.decisions import Decisions, rules_for

    if isinstance(collectives, Decisions) and isinstance(program, Program):
        for replaced in rules_for(collectives, program)[1]:
            click.echo(visible(f"note: {replaced}"), err=True)
