"""Counts of hierarchies for studies: those that come with Isthmus, and those that a solver here computes."""

from __future__ import annotations

import functools
import json
import warnings
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import numpy as np

from ..errors import InvalidInput
from ..extras import optional
from ..multigrid import GridLevel, Hierarchy, Operator, boomeramg, boxes, hierarchy
from ..multigrid.outline import made
from ..schedule.pattern import Pattern

_PREFIX = "levels-"
_FORMAT = 1


def names() -> list[str]:
    """Names of the counts that come with Isthmus."""
    folder = files(__package__) / "data"
    found = (entry.name for entry in folder.iterdir())
    return sorted(n.removeprefix(_PREFIX).removesuffix(".json") for n in found if n.startswith(_PREFIX))


@functools.lru_cache(maxsize=8)
def _file(name: str) -> Mapping[str, Any]:
    if name not in names():
        raise InvalidInput(f"no counts of {name}: must be one of {', '.join(names())}")
    found: Mapping[str, Any] = json.loads((files(__package__) / "data" / f"{_PREFIX}{name}.json").read_text("utf-8"))
    assert found["format"] == _FORMAT
    return found


def cuts(name: str) -> list[int]:
    """Numbers of parts into which a hierarchy was cut."""
    return sorted(map(int, _file(name)["cuts"]))


@functools.lru_cache(maxsize=32)
def shipped(name: str, parts: int) -> Hierarchy:
    """Return a hierarchy that comes with Isthmus, cut into parts: its numbers are exact, who sends to whom is made up.

    Raises
    ------
    InvalidInput
        If there is none of that name, or it was not cut into so many parts.
    """
    found = _file(name)
    levels = found["cuts"].get(str(parts))
    if levels is None:
        raise InvalidInput(f"{name} is not cut into {parts} parts: into {', '.join(map(str, cuts(name)))}")
    order = found["quantities"]

    def operator(numbers: list[int]) -> Any:
        return made(dict(zip(order, numbers, strict=True)), parts)

    return Hierarchy(
        tuple(GridLevel(operator(one["A"]), operator(one["P"]) if "P" in one else None) for one in levels),
        {"solver": found["solver"]},
    )


@functools.lru_cache(maxsize=2)
def _pyamg(side: int) -> Any:
    pyamg = optional("pyamg", "hierarchies", "multigrid")
    matrix = pyamg.gallery.poisson((side,) * 3, format="csr")
    # It draws from NumPy's generator: the same hierarchy in every process, and whoever uses that one goes on with it.
    before = np.random.get_state()
    np.random.seed(1)
    try:
        return pyamg.ruge_stuben_solver(matrix, CF="PMIS", interpolation="classical", max_coarse=2)
    finally:
        np.random.set_state(before)


@functools.lru_cache(maxsize=4)
def computed(solver: str, side: int, parts: int, coarsening: str = "hmis", problem: str = "laplace7") -> Hierarchy:
    """Return the hierarchy of a problem on a cube of points, computed here and cut into boxes.

    Parameters
    ----------
    solver : {"hypre", "pyamg"}
        BoomerAMG with extended interpolation of 4 elements, or PyAMG with PMIS and classical interpolation.
    side : int
        Points along each dimension.
    parts : int
    coarsening, problem : str
        Of hypre; PyAMG's problem is the Laplace equation.
    """
    if solver == "hypre":
        return boomeramg(problem, (side,) * 3, coarsening=coarsening, parts=parts)
    with warnings.catch_warnings():
        # Points without strong connections, on coarse levels.
        warnings.simplefilter("ignore")
        solved = _pyamg(side)
    return hierarchy(solved, boxes((side,) * 3, parts), parts=parts)


def side_by_side(one: Hierarchy, jobs: int, vectors: int = 1) -> Hierarchy:
    """Return a hierarchy of several jobs that do the same at the same time, each with so many vectors at once."""

    def copied(operator: Operator) -> Operator:
        e, parts = operator.exchange, operator.parts
        offset = np.repeat(np.arange(jobs, dtype=np.int64) * parts, len(e))
        exchange = Pattern.of(
            parts * jobs, source=np.tile(e.sources(), jobs) + offset, target=np.tile(e.peer, jobs) + offset,
            bytes=np.tile(e.bytes, jobs) * np.uint64(vectors),
        )  # fmt: skip
        work = np.tile(operator.nonzeros, jobs) * np.uint64(vectors)
        return Operator(np.tile(operator.rows, jobs), work, exchange)

    return Hierarchy(
        tuple(
            GridLevel(copied(level.matrix), None if level.interpolation is None else copied(level.interpolation))
            for level in one.levels
        ),
        one.facts,
    )
