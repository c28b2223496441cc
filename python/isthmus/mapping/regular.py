"""Methods for regular patterns, and for tasks with coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..errors import InvalidInput
from .methods import method

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .problem import Problem
    from .structure import Structure

_GRIDS = "patterns with a structure, on nodes that form a box"
_PLACED = "patterns with a structure, or coordinates of the tasks"

#: Cells of a grid along each dimension, for coordinates that are not whole numbers.
_CELLS = 1 << 15


def _grid(problem: Problem) -> Structure | None:
    found: Structure | None = problem.structure
    return found if found is not None and "tree" not in found.dimensions else None


@method("fold", "a grid folded into the machine's dimensions, all factorisations compared", _GRIDS)
def _fold(problem: Problem, options: Mapping[str, Any]) -> NDArray[np.uint32] | None:
    found = _grid(problem)
    return None if found is None else _core.fold_map(problem.graph, problem.target, found.arrays)


#: Heuristics of Bhatele's framework for regular patterns.
HEURISTICS = {
    "maximum-overlap": "MXOVLP: the largest common box of tasks and nodes one to one, then what is left of both",
    "maximum-overlap-aligned": "MXOV+AL: the same with the longest dimensions alongside each other",
    "expand-from-corner": "EXCO: tasks and nodes by distance from a corner",
    "corners-to-centre": "COCE: tasks and nodes by distance from the nearest corner, corner by corner",
    "affine": "AFFN: coordinates scaled to the machine, conflicts to the nearest free node",
    "stepwise": "STEP: short lines of tasks one after another along short lines of nodes",
}


def _heuristic(problem: Problem, name: str) -> NDArray[np.uint32] | None:
    found = _grid(problem)
    return None if found is None else _core.grid_heuristic_map(name, found.arrays, problem.target)


def _register(name: str, words: str) -> None:
    @method(name, words, _GRIDS)
    def run(problem: Problem, options: Mapping[str, Any]) -> NDArray[np.uint32] | None:
        return _heuristic(problem, name)


for _name, _words in HEURISTICS.items():
    _register(_name, _words)


@method("regular", "the best of the heuristics of Bhatele's framework", _GRIDS)
def _regular(problem: Problem, options: Mapping[str, Any]) -> NDArray[np.uint32] | None:
    best, least = None, np.inf
    for name in HEURISTICS:
        place = _heuristic(problem, name)
        if place is not None and (cost := problem.hop_bytes(place)) < least:
            best, least = place, cost
    return best


def _coordinates(problem: Problem) -> NDArray[np.float64] | None:
    if problem.coordinates is not None:
        return np.ascontiguousarray(problem.coordinates, dtype=np.float64)
    return None if problem.structure is None else problem.structure.coordinates.astype(np.float64)


@method("geometric", "tasks and nodes halved together by their coordinates, halves flipped towards partners", _PLACED)
def _geometric(problem: Problem, options: Mapping[str, Any]) -> NDArray[np.uint32] | None:
    at = _coordinates(problem)
    return None if at is None else _core.geometric_map(problem.graph, at, problem.target)


@method("curve", "tasks and nodes in the order of a curve: hilbert, morton or snake", _PLACED, curve="hilbert")
def _curve(problem: Problem, options: Mapping[str, Any]) -> NDArray[np.uint32] | None:
    at = _coordinates(problem)
    if at is None:
        return None
    if not np.isfinite(at).all():
        raise InvalidInput("coordinates must be finite numbers")
    if problem.coordinates is None:
        cells = at.astype(np.uint32)
    else:
        at = at - at.min(axis=0)
        # One scale for all dimensions: a long domain stays long.
        cells = np.floor(at * ((_CELLS - 1) / max(float(at.max()), np.finfo(np.float64).tiny))).astype(np.uint32)
    return _core.curve_map(str(options["curve"]), np.ascontiguousarray(cells), problem.target)
