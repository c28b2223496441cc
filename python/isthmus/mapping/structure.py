"""The regular pattern behind a communication graph: grids, tori, stencils, hypercubes, all-to-all in rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from .. import _core
from ..errors import InvalidInput
from ..schedule.pattern import Pattern
from ..units import percent

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, slots=True)
class Structure:
    """Regular structure found by :func:`structure`.

    Attributes
    ----------
    kind : str
        "ring", "line", "grid" (all dimensions open), "torus" (all periodic), "mixed grid", "hypercube", "all-to-all",
        "all-to-all in rows" (complete graphs along some dimensions), "tree"; "copies of ..." where the first
        dimension numbers parts that do not exchange anything.
    extents : tuple of int
        Largest first; for a tree, its number of tasks.
    periodic : tuple of bool
        Dimension by dimension.
    dimensions : tuple of str
        Dimension by dimension "path", "cycle", "complete", "independent" or "tree".
    stencil : str
        "star": neighbours along one dimension (5 points in 2-D, 7 in 3-D, 9 in 4-D); "box": along several at once (9
        points in 2-D, 27 in 3-D); "mixed": only some of these.
    coordinates : array of uint32, shape (tasks, dimensions)
        Coordinates of every task; for a tree, its depth-first number.
    explained : float
        Share of the bytes that follow the structure.
    filled : float
        Number of tasks divided by number of cells: less than 1 if tasks are missing from the grid.
    """

    kind: str
    extents: tuple[int, ...]
    periodic: tuple[bool, ...]
    dimensions: tuple[str, ...]
    stencil: str
    coordinates: NDArray[np.uint32] = field(repr=False)
    explained: float
    filled: float
    arrays: _core.StructureArrays = field(repr=False)

    @classmethod
    def of_arrays(cls, arrays: _core.StructureArrays) -> Structure:
        """Make a structure from the result of the core."""
        dimensions, extents = tuple(arrays.kinds), tuple(arrays.extents)
        coordinates = arrays.coordinates
        return cls(
            kind=_kind(dimensions, extents),
            extents=extents,
            periodic=tuple(d in ("cycle", "complete") for d in dimensions),
            dimensions=dimensions,
            stencil=arrays.stencil,
            coordinates=coordinates,
            explained=arrays.explained,
            filled=len(coordinates) / float(np.prod(np.array(extents, dtype=np.float64))),
            arrays=arrays,
        )

    @property
    def points(self) -> int:
        """Points of the stencil away from boundaries, including the task itself."""
        lines = sum(d in ("path", "cycle") for d in self.dimensions)
        return 3**lines if self.stencil == "box" else 2 * lines + 1

    def __str__(self) -> str:
        shape = " x ".join(
            f"{e}{' periodic' if d == 'cycle' and self.kind == 'mixed grid' else ''}"
            for e, d in zip(self.extents, self.dimensions, strict=True)
        )
        parts = [f"{self.kind} {shape}"]
        if self.stencil == "mixed":
            parts.append("some diagonals")
        elif any(d in ("path", "cycle") for d in self.dimensions) and self.kind not in ("ring", "line", "hypercube"):
            parts.append(f"{self.points}-point stencil")
        if self.filled < 1:
            parts.append(f"{percent(self.filled, 1)} of its cells have tasks")
        if self.explained < 1:
            parts.append(f"{percent(self.explained, 1)} of the bytes go along it")
        return ", ".join(parts)


def _kind(dimensions: tuple[str, ...], extents: tuple[int, ...]) -> str:
    if dimensions[0] == "independent":
        return f"copies of {_kind(dimensions[1:], extents[1:])}"
    found = set(dimensions)
    if "tree" in found:
        return "tree"
    if "complete" in found:
        return "all-to-all" if len(dimensions) == 1 else "all-to-all in rows"
    if len(dimensions) == 1:
        return "ring" if "cycle" in found else "line"
    if len(dimensions) > 2 and set(extents) == {2}:
        return "hypercube"
    return {frozenset({"path"}): "grid", frozenset({"cycle"}): "torus"}.get(frozenset(found), "mixed grid")


def structure(pattern: Pattern, *, least_explained: float = 0.9) -> Structure | None:
    """Find the regular structure of a communication graph, regardless of how tasks are numbered.

    Recognised exactly are grids and tori of up to 32 dimensions (open, periodic or both, with or without diagonals),
    rings, hypercubes, all-to-all along rows and columns, trees, and several copies of one of these. Grids in two to
    four dimensions are also recognised with missing or extra tasks or pairs. If the bytes of pairs differ greatly,
    light pairs may be ignored.

    Parameters
    ----------
    pattern : Pattern
        Both directions of a pair are summed; bytes within a task are ignored.
    least_explained : float
        Share of the bytes that must follow the structure.

    Returns
    -------
    Structure or None
        None if no regular structure is found.

    Notes
    -----
    Cartesian products are factored in linear time after Imrich and Peterin (2007); stencils with diagonals are reduced
    to them by the Cartesian skeleton of Hammack and Imrich (2009). A cycle of 4 is the product of two paths of 2: the
    graph of a torus 4 x 4 x 4 is that of the hypercube with 64 tasks, and is called so.

    Examples
    --------
    >>> import numpy as np
    >>> rank = np.random.default_rng(1).permutation(24).reshape(6, 4)
    >>> pairs = [(rank[:-1], rank[1:]), (rank[:, :-1], rank[:, 1:])]
    >>> source, target = (np.concatenate([p[i].ravel() for p in pairs]) for i in range(2))
    >>> print(structure(Pattern.of(24, source=source, target=target, bytes=1000)))
    grid 6 x 4, 5-point stencil
    """
    if not 0 < least_explained <= 1:
        raise InvalidInput(f"least_explained is {least_explained}: must be above 0 and at most 1")
    graph = _core.pattern_graph(pattern.first, pattern.peer, pattern.bytes)
    return of_graph(graph, least_explained)[0]


def of_graph(
    graph: _core.TaskGraph, least_explained: float = 0.9, seconds: float = float("inf")
) -> tuple[Structure | None, float]:
    """Return the structure of a graph of the core, and the approximate processor time by counted steps.

    The structure is also None if the search would take more than ``seconds``.
    """
    arrays, spent = _core.recognise(graph, least_explained, seconds)
    return None if arrays is None else Structure.of_arrays(arrays), spent
