"""The verb ``hierarchy``: matrices of all levels, cut into parts, become counts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InvalidInput
from ..extras import optional
from ..schedule.summary import counted
from ..tabular import Tabular
from ..views import view
from .operators import Operator
from .partition import coarse_owner

#: The fact that says what a hierarchy was extrapolated from.
EXTRAPOLATED = "extrapolated"
#: The fact of how many fine levels of an enlarged hierarchy are made up: who sends to whom is not known on them.
LOCAL_LEVELS = "local_levels"
_HEAD = ("level", "rows", "nnz/row", "parts", "A sends", "A bytes", "P sends", "P bytes", "R sends", "R bytes")


@dataclass(frozen=True, slots=True)
class GridLevel:
    """One level.

    Attributes
    ----------
    matrix : Operator
        The operator that is smoothed with.
    interpolation : Operator or None
        From the next coarser level to this one. None on the coarsest.
    own_restriction : Operator or None
        Where restriction is not the transpose of interpolation.
    """

    matrix: Operator
    interpolation: Operator | None
    own_restriction: Operator | None = None

    @property
    def restriction(self) -> Operator | None:
        """To the next coarser level; the transpose of interpolation has its rows, and its messages the other way."""
        if self.own_restriction is not None or self.interpolation is None:
            return self.own_restriction
        return self.interpolation.reversed()


@dataclass(frozen=True, slots=True, repr=False)
class Hierarchy(Tabular):
    """The levels of a multigrid solver on many parts, finest first; made by :func:`hierarchy` and :func:`boomeramg`.

    Attributes
    ----------
    levels : tuple of GridLevel
    facts : mapping
        What else is known, in SI units: ``solver``, seconds of its ``setup`` and of a ``cycle``, if they were measured.
    """

    levels: tuple[GridLevel, ...]
    facts: Mapping[str, float | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.levels:
            raise InvalidInput("a hierarchy has at least one level")

    @property
    def parts(self) -> int:
        return self.levels[0].matrix.parts

    def __len__(self) -> int:
        """Number of levels."""
        return len(self.levels)

    def check_exchanges(self) -> None:
        """Refuse a hierarchy of which only numbers are known, not who sends to whom.

        Raises
        ------
        InvalidInput
            If it is extrapolated.
        """
        if EXTRAPOLATED in self.facts:
            raise InvalidInput("the hierarchy is extrapolated: who sends to whom in it is not known")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an HDF5 file (``.h5`` or ``.hdf5``), whole or not at all."""
        if os.path.splitext(path)[1] not in (".h5", ".hdf5"):
            raise InvalidInput(f"{os.fspath(path)!r} must end in .h5 or .hdf5: hierarchies are saved as HDF5")
        view("Hierarchy.save")(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Hierarchy:
        """Read a file of :meth:`save`, or counts that a program wrote with ``isthmus_hypre_write``.

        Raises
        ------
        ParseError
            For a file that is damaged, of another kind or of a version to come.
        OSError
            For a file that cannot be opened.
        """
        found: Hierarchy = view("Hierarchy.load")(path)
        return found

    def plot(self, path: str | os.PathLike[str], what: str = "levels") -> None:
        """Draw ``"levels"``, messages and their sizes on every level, or ``"exchange"``, who sends to whom on each."""
        view("Hierarchy.plot")(self, path, what)

    def frame(self) -> Sequence[dict[str, Any]]:
        """Return a row per level: rows, nonzeros per row, parts with rows, the most a part sends for A, P and R."""
        return [
            {
                "level": number,
                "rows": (rows := int(a.rows.sum())),
                "nonzeros_per_row": int(a.nonzeros.sum()) / max(rows, 1),
                "active": a.active,
                **_most("A", a),
                **_most("P", level.interpolation),
                **_most("R", level.restriction),
            }
            for number, level in enumerate(self.levels)
            for a in [level.matrix]
        ]

    def __repr__(self) -> str:
        return f"<Hierarchy: {counted(len(self), 'level')} on {counted(self.parts, 'part')}>"

    def __str__(self) -> str:
        rows = [
            (
                str(row["level"]),
                str(row["rows"]),
                f"{row['nonzeros_per_row']:.1f}",
                str(row["active"]),
                *(_cell(row[f"{name}_{what}"]) for name in "APR" for what in ("sends", "bytes")),
            )
            for row in self.frame()
        ]
        widths = [max(len(row[i]) for row in (_HEAD, *rows)) for i in range(len(_HEAD))]
        lines = ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in (_HEAD, *rows)]
        solver = f", {self.facts['solver']}" if "solver" in self.facts else ""
        solver += f", extrapolated {self.facts[EXTRAPOLATED]}" if EXTRAPOLATED in self.facts else ""
        return "\n".join(
            [
                f"Hierarchy of {counted(len(self), 'level')} on {counted(self.parts, 'part')}{solver}; "
                "the most that one part sends:",
                *lines,
            ]
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

    The matrices are those of one process; nothing is solved. A coarse row stays with the part that owns it on the level
    above, or, where that is not known, is owned as :func:`coarse_owner` says. So the counts are those of a solver that
    coarsens each part's points as one process does: coarsening that does not depend on the partition, such as PMIS,
    gives nearly the same on real processes.

    Parameters
    ----------
    solver : MultilevelSolver of PyAMG, or sequence of matrices of SciPy
        Of a sequence, pairs (A, P) of matrix and interpolation from the next level, the last pair or matrix without P:
        ``[(A0, P0), (A1, P1), A2]``. So matrices of PETSc, MueLu, AMGCL and others can be given. A third element, or
        PyAMG's ``splitting``, tells which rows are those of the next level, in their order: nonzero for these; or None.
        A fourth, or PyAMG's ``R``, is the restriction where it is not the transpose of P.
    owner : array of int, rows of the finest matrix
        The part of each row, such as from :func:`boxes` or :func:`cut` (METIS, KaHIP).
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
    for number, (a, p, chosen, r) in enumerate(matrices):
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
        if r is not None and r.shape != p.shape[::-1]:
            raise InvalidInput(
                f"level {number}: restriction of {r.shape[1]} rows to {r.shape[0]}, and interpolation of {p.shape[1]} "
                f"to {p.shape[0]}"
            )
        coarse = coarse_owner(p, of) if chosen is None else of[_chosen(chosen, p, number)]
        own = None if r is None or _same_places(r, p.T) else Operator.of(r, coarse, of, count)
        levels.append(GridLevel(matrix, Operator.of(p, of, coarse, count), own))
        of = coarse
    return Hierarchy(tuple(levels))


_Matrix = Any


def _chosen(splitting: Any, p: _Matrix, number: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Rows that are those of the next level."""
    found = np.flatnonzero(np.asarray(splitting))
    if len(np.asarray(splitting)) != p.shape[0] or len(found) != p.shape[1]:
        raise InvalidInput(f"level {number}: {len(found)} rows go to a next level of {p.shape[1]}: must be as many")
    return found


def _same_places(one: _Matrix, other: _Matrix) -> bool:
    """Whether two matrices have their entries in the same places."""
    ours, theirs = one.tocsr(), other.tocsr()
    if ours.nnz != theirs.nnz or (ours.indptr != theirs.indptr).any():
        return False
    ours, theirs = ours.sorted_indices(), theirs.sorted_indices()
    return bool((ours.indices == theirs.indices).all())


def _levels(solver: Any) -> Iterable[tuple[_Matrix, _Matrix | None, Any, _Matrix | None]]:
    """Matrix, interpolation, choice of coarse rows and restriction of every level, whatever they come in."""
    issparse = optional("scipy.sparse", "hierarchies", "multigrid").issparse
    for number, level in enumerate(getattr(solver, "levels", solver)):
        if hasattr(level, "A"):
            found = level.A, getattr(level, "P", None), getattr(level, "splitting", None), getattr(level, "R", None)
        elif issparse(level):
            found = level, None, None, None
        elif isinstance(level, (tuple, list)) and 1 <= len(level) <= 4:
            found = (*level, None, None, None)[:4]
        else:
            raise InvalidInput(
                f"level {number}: must be a sparse matrix of SciPy, or a pair of matrix and interpolation"
            )
        if not all(m is None or issparse(m) for m in (*found[:2], found[3])):
            raise InvalidInput(f"level {number}: matrices must be sparse matrices of SciPy")
        yield found
