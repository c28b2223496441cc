"""The verb ``hierarchy``: matrices of all levels, cut into parts, become counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InvalidInput
from ..extras import optional
from ..tabular import Tabular
from .operators import Operator
from .partition import coarse_owner

if TYPE_CHECKING:
    pass

_HEAD = ("level", "rows", "nnz/row", "parts", "A sends", "A bytes", "P sends", "P bytes")


@dataclass(frozen=True, slots=True)
class GridLevel:
    """One level.

    Attributes
    ----------
    matrix : Operator
        The operator that is smoothed with.
    interpolation : Operator or None
        From the next coarser level to this one; restriction sends the same the other way round. None on the coarsest.
    """

    matrix: Operator
    interpolation: Operator | None


@dataclass(frozen=True, slots=True, repr=False)
class Hierarchy(Tabular):
    """The levels of a multigrid solver on many parts, finest first; made by :func:`hierarchy`."""

    levels: tuple[GridLevel, ...]

    def __post_init__(self) -> None:
        if not self.levels:
            raise InvalidInput("a hierarchy has at least one level")

    @property
    def parts(self) -> int:
        return self.levels[0].matrix.parts

    def __len__(self) -> int:
        """Number of levels."""
        return len(self.levels)

    def frame(self) -> Sequence[dict[str, Any]]:
        """Return a row per level: rows, nonzeros per row, parts with rows, the most that a part sends for A and P."""
        return [
            {
                "level": number,
                "rows": (rows := int(a.rows.sum())),
                "nonzeros_per_row": int(a.nonzeros.sum()) / max(rows, 1),
                "active": a.active,
                **_most("A", a),
                **_most("P", level.interpolation),
            }
            for number, level in enumerate(self.levels)
            for a in [level.matrix]
        ]

    def __repr__(self) -> str:
        return f"<Hierarchy: {len(self)} levels on {self.parts} parts>"

    def __str__(self) -> str:
        rows = [
            (
                str(row["level"]),
                str(row["rows"]),
                f"{row['nonzeros_per_row']:.1f}",
                str(row["active"]),
                *(_cell(row[f"{name}_{what}"]) for name in "AP" for what in ("sends", "bytes")),
            )
            for row in self.frame()
        ]
        widths = [max(len(row[i]) for row in (_HEAD, *rows)) for i in range(len(_HEAD))]
        lines = ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in (_HEAD, *rows)]
        return "\n".join(
            [f"Hierarchy of {len(self)} levels on {self.parts} parts; the most that one part sends:", *lines]
        )


def _cell(number: int | None) -> str:
    return "-" if number is None else str(number)


def _most(name: str, operator: Operator | None) -> dict[str, int | None]:
    sends = None if operator is None else int(operator.sends.max())
    bytes = None if operator is None else int(operator.bytes_sent.max())
    return {f"{name}_sends": sends, f"{name}_bytes": bytes}


def hierarchy(
    solver: Any,
    owner: ArrayLike,
    *,
    parts: int | None = None,
) -> Hierarchy:
    """Count what every level of a solver holds and exchanges when its rows are dealt out to parts.

    The matrices are those of one process; nothing is solved. Coarse rows are owned as :func:`coarse_owner` says, so the
    counts are those of a solver that coarsens each part's points as one process does: coarsening that does not depend
    on the partition, such as PMIS, gives nearly the same on real processes.

    Parameters
    ----------
    solver : MultilevelSolver of PyAMG, or sequence of matrices of SciPy
        Of a sequence, pairs (A, P) of matrix and interpolation from the next level, the last pair or matrix without P:
        ``[(A0, P0), (A1, P1), A2]``. So matrices of PETSc, MueLu, AMGCL and others can be given.
    owner : array of int, rows of the finest matrix
        The part of each row, such as from :func:`boxes`, METIS or KaHIP.
    parts : int, optional
        By default one more than the largest owner.

    Returns
    -------
    Hierarchy

    Raises
    ------
    InvalidInput
        If a matrix is not square, sizes of levels do not fit, a part owns no row of the finest level, or owners are not
        of this matrix.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> A = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(8, 8)).tocsr()
    >>> P = sp.csr_array(([1.0] * 8, ([0, 1, 2, 3, 4, 5, 6, 7], [0, 0, 1, 1, 2, 2, 3, 3])))
    >>> hierarchy([(A, P), P.T @ A @ P], [0, 0, 0, 0, 1, 1, 1, 1])
    <Hierarchy: 2 levels on 2 parts>
    """
    given = np.asarray(owner)
    if given.ndim != 1 or not len(given) or given.dtype.kind not in "iu" or int(given.min()) < 0:
        raise InvalidInput("owner: must be one part, a whole number from 0, for each row")
    of = given.astype(np.uint32)
    count = int(of.max()) + 1 if parts is None else parts
    held = np.bincount(of, minlength=count)
    if (held == 0).any():
        raise InvalidInput(f"part {int(np.argmin(held))} of {count} owns no row of the finest level")
    levels: list[GridLevel] = []
    matrices = list(_levels(solver))
    for number, (a, p) in enumerate(matrices):
        if a.shape[0] != a.shape[1]:
            raise InvalidInput(
                f"level {number}: the matrix has {a.shape[0]} rows and {a.shape[1]} columns: must be square"
            )
        if a.shape[0] != len(of):
            what = "owners are given for" if number == 0 else "the interpolation of the level above gives"
            raise InvalidInput(f"level {number}: the matrix has {a.shape[0]} rows, {what} {len(of)}")
        matrix = Operator.of(a, of, of, count)
        if number == len(matrices) - 1:
            levels.append(GridLevel(matrix, None))
            break
        if p is None:
            raise InvalidInput(f"level {number}: has no interpolation, and is not the last of {len(matrices)}")
        if p.shape[0] != a.shape[0]:
            raise InvalidInput(f"level {number}: interpolation to {p.shape[0]} rows, and the matrix has {a.shape[0]}")
        coarse = coarse_owner(p, of)
        levels.append(GridLevel(matrix, Operator.of(p, of, coarse, count)))
        of = coarse
    return Hierarchy(tuple(levels))


_Matrix = Any


def _levels(solver: Any) -> Iterable[tuple[_Matrix, _Matrix | None]]:
    """Matrix and interpolation of every level, whatever they come in."""
    issparse = optional("scipy.sparse", "hierarchies", "multigrid").issparse
    for number, level in enumerate(getattr(solver, "levels", solver)):
        if hasattr(level, "A"):
            pair = level.A, getattr(level, "P", None)
        elif issparse(level):
            pair = level, None
        elif isinstance(level, (tuple, list)) and len(level) in (1, 2):
            pair = level[0], (level[1] if len(level) == 2 else None)
        else:
            raise InvalidInput(
                f"level {number}: must be a sparse matrix of SciPy, or a pair of matrix and interpolation"
            )
        if not all(m is None or issparse(m) for m in pair):
            raise InvalidInput(f"level {number}: matrices must be sparse matrices of SciPy")
        yield pair
