"""Whether recordings that isthmus skeleton fit is given are of one program, by the commands that they keep."""

from __future__ import annotations

import os
import re
import shlex
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import click

from ..errors import InvalidInput
from ..mpi.command import program_of
from ..visible import visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..schedule.program import Program


class Ran(NamedTuple):
    """What a recording says that was run."""

    file: str
    ranks: int
    parameters: Mapping[str, int]
    program: str
    arguments: tuple[str, ...]


def check_commands(given: Sequence[tuple[str, Program, Mapping[str, int]]], grows: bool) -> None:
    """Refuse recordings of different programs; a note where arguments differ and no number of the problem says so.

    Recordings that keep no command, as those of other tools, and commands that cannot be taken apart are let pass.

    Parameters
    ----------
    given : sequence of (str, Program, mapping)
        File, program and numbers of the problem.
    grows : bool
        The problem is known to grow with the ranks, so that arguments may differ.

    Raises
    ------
    InvalidInput
        If programs have different names. The number of ranks may be part of a name; where numbers of the problem are
        given, what is behind the first letters may differ too.
    """
    ran = [found for file, program, parameters in given if (found := _ran(file, program, parameters)) is not None]
    for other in ran[1:]:
        if not _same_program(ran[0], other):
            first = ran[0]
            raise InvalidInput(
                visible(
                    f"{first.file} is a recording of {first.program}, {other.file} of {other.program}: a skeleton is "
                    "fitted to recordings of one program"
                )
            )
    if grows:
        return
    first_of: dict[tuple[tuple[str, int], ...], Ran] = {}
    for one in ran:
        first = first_of.setdefault(tuple(sorted(one.parameters.items())), one)
        differ = _differ(first, one)
        if differ is not None:
            a, b = (" ".join(map(shlex.quote, words)) or "none" for words in differ)
            click.echo(
                visible(
                    f"isthmus: note: arguments of {one.program} differ ({first.file}: {a}, {one.file}: {b}): if they "
                    f"change the problem, name it behind each file, as {one.file}:n=64"
                ),
                err=True,
            )
            return


def _ran(file: str, program: Program, parameters: Mapping[str, int]) -> Ran | None:
    if program.recording is None:
        return None
    try:
        words = program_of(shlex.split(program.recording.command))
    except ValueError:
        return None
    return Ran(file, program.ranks, parameters, os.path.basename(words[0]), words[1:]) if words else None


def _same(a: str, ranks_a: int, b: str, ranks_b: int) -> bool:
    """Whether two words are equal but for the number of ranks in them."""
    return a == b or _plain(a, ranks_a) == _plain(b, ranks_b)


def _plain(word: str, ranks: int) -> str:
    return re.sub(rf"(?<!\d)0*{ranks}(?!\d)", "P", word)


def _same_program(a: Ran, b: Ran) -> bool:
    if _same(a.program, a.ranks, b.program, b.ranks):
        return True
    stems = {re.sub(r"[\W\d_].*", "", one.program) for one in (a, b)}
    return a.parameters != b.parameters and len(stems) == 1 and "" not in stems


def _differ(a: Ran, b: Ran) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The arguments that differ; None where these are the number of ranks, or the sides of a grid of them."""
    if len(a.arguments) != len(b.arguments):
        return a.arguments, b.arguments
    pairs = [(x, y) for x, y in zip(a.arguments, b.arguments, strict=True) if not _same(x, a.ranks, y, b.ranks)]
    if not pairs:
        return None
    mine, others = tuple(x for x, _ in pairs), tuple(y for _, y in pairs)
    # Sides that are equal in both are not among these.
    sides = [prod(map(int, words)) for words in (mine, others) if all(word.isdecimal() for word in words)]
    grid = len(sides) == 2 and all(sides) and a.ranks % sides[0] == b.ranks % sides[1] == 0
    return None if grid and a.ranks * sides[1] == b.ranks * sides[0] else (mine, others)
