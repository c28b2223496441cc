"""One matrix of a solver, cut into parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..errors import InvalidInput
from ..schedule.columns import lengths
from ..schedule.pattern import Pattern

if TYPE_CHECKING:
    import scipy.sparse

#: Bytes of an element of a vector.
ELEMENT = 8


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Operator:
    """What the parts of a matrix hold, and what they send each other before it multiplies a vector.

    Attributes
    ----------
    rows, nonzeros : array of uint64, parts
    exchange : Pattern
        Who sends how many bytes of the vector to whom, one message each.
    """

    rows: NDArray[np.uint64]
    nonzeros: NDArray[np.uint64]
    exchange: Pattern

    def reversed(self) -> Operator:
        """Return the transpose: what is received here is sent there."""
        e = self.exchange
        turned = Pattern.of(e.ranks, source=e.peer, target=e.sources(), bytes=e.bytes, messages=e.messages)
        return Operator(self.rows, self.nonzeros, turned)

    @property
    def parts(self) -> int:
        return len(self.rows)

    @property
    def active(self) -> int:
        """Parts that own rows."""
        return int(np.count_nonzero(self.rows))

    @property
    def sends(self) -> NDArray[np.int64]:
        """Messages that each part sends."""
        return lengths(self.exchange.first).astype(np.int64)

    @property
    def receives(self) -> NDArray[np.int64]:
        """Messages that each part receives."""
        return np.bincount(self.exchange.peer, minlength=self.parts).astype(np.int64)

    @property
    def bytes_sent(self) -> NDArray[np.int64]:
        """Bytes that each part sends."""
        sums = np.concatenate([[0], np.cumsum(self.exchange.bytes, dtype=np.int64)])
        ends = self.exchange.first.astype(np.int64)
        out: NDArray[np.int64] = sums[ends[1:]] - sums[ends[:-1]]
        return out

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Operator):
            return NotImplemented
        return (
            np.array_equal(self.rows, other.rows)
            and np.array_equal(self.nonzeros, other.nonzeros)
            and self.exchange == other.exchange
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Operator: {int(self.rows.sum())} rows on {self.active} of {self.parts} parts>"

    @classmethod
    def of(
        cls,
        matrix: scipy.sparse.sparray | scipy.sparse.spmatrix,
        row_owner: ArrayLike,
        column_owner: ArrayLike,
        parts: int,
    ) -> Operator:
        """Count a sparse matrix.

        Parameters
        ----------
        matrix : sparse matrix of SciPy
            Entries that are stored count, zero or not.
        row_owner, column_owner : array of int
            The part that owns each row, and each element of the vector that is multiplied.
        parts : int

        Raises
        ------
        InvalidInput
            If owners are not of this matrix, or not below ``parts``.
        """
        if not 1 <= parts <= 1 << 31:
            raise InvalidInput(f"{parts} parts: must be from 1 to {1 << 31}")
        rows = matrix.tocsr()
        own, their = (np.ascontiguousarray(owner, np.uint32) for owner in (row_owner, column_owner))
        first, columns = (np.ascontiguousarray(a) for a in (rows.indptr, rows.indices))
        held, nonzeros, begin, source, elements = _core.count_parts(first, columns, own, their, parts)
        target = np.repeat(np.arange(parts, dtype=np.uint32), lengths(begin))
        exchange = Pattern.of(parts, source=source, target=target, bytes=elements * np.uint64(ELEMENT))
        return cls(held, nonzeros, exchange)
