"""The options of a problem and of hypre's BoomerAMG for it."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import click

from ..errors import InvalidInput
from .multigrid_inputs import named_numbers
from .options import several, shared

_OPTIONS = several(
    click.argument("problem", metavar="PROBLEM"),
    shared("points"),
    shared("launch"),
    shared("coarsening"),
    shared("interpolation"),
    shared("elements"),
    shared("aggressive"),
    shared("threshold"),
    shared("unknowns"),
    shared("option"),
    shared("directory", "; by default /tmp"),
    shared("mpicc"),
)


def of_problem(function: Callable[..., Any]) -> Callable[..., Any]:
    """The argument PROBLEM with all that belongs to it, as keywords of the functions that take a problem: ``given``."""

    @_OPTIONS
    @functools.wraps(function)
    def wrapped(
        *args: Any, problem: str, points: str | None, launch: str | None, coarsening: str, interpolation: str,
        elements: int, aggressive: int, threshold: float, unknowns: int | None, more: tuple[str, ...],
        directory: str | None, mpicc: str | None, **rest: Any,
    ) -> Any:  # fmt: skip
        given = {
            "problem": _matrix(problem) if os.path.splitext(problem)[1] in (".mtx", ".npz", ".gz") else problem,
            "points": _points(points), "launch": launch, "coarsening": coarsening, "interpolation": interpolation,
            "elements": elements, "aggressive": aggressive, "threshold": threshold, "unknowns": unknowns,
            "options": named_numbers("--option", more, "KEY=NUMBER"), "directory": directory, "mpicc": mpicc,
        }  # fmt: skip
        return function(*args, given=given, **rest)

    return wrapped


def _points(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    words = text.lower().split("x")
    if not all(word.isdigit() for word in words):
        raise InvalidInput(f"--points {text}: expected numbers such as 40x40x40")
    return tuple(int(word) for word in words)


def _matrix(path: str) -> Any:
    """A matrix of a file: Matrix Market, or SciPy's .npz."""
    from ..errors import ParseError
    from ..extras import optional

    sparse = optional("scipy.sparse", "matrices", "multigrid")
    try:
        if path.endswith(".npz"):
            return sparse.load_npz(path)
        return sparse.csr_array(optional("scipy.io", "matrices", "multigrid").mmread(path))
    except (ValueError, KeyError, TypeError) as error:
        raise ParseError(path, None, None, f"is no matrix in Matrix Market or .npz form: {error}") from None


def parts_of_rows(text: str) -> Any:
    """The parts of rows that a file has, as METIS and KaHIP write them; a name that is none of a file is left."""
    from ..errors import ParseError

    if not os.path.splitext(text)[1] and not os.path.isfile(text):
        return text
    parts = []
    with open(text, encoding="utf-8", errors="replace") as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip().isdigit():
                raise ParseError(text, number, None, f"{line.strip()[:40]!r}: expected the part of a row, from 0")
            parts.append(int(line))
    if not parts:
        raise ParseError(text, None, None, "is empty: expected the part of a row on every line")
    return parts
