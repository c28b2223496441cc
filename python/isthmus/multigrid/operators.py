"""One matrix of a solver, cut into parts."""

from __future__ import annotations

from dataclasses import dataclass, field
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
    _most: tuple[int, int, int, int] | None = field(default=None, init=False)

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
    def most(self) -> tuple[int, int, int, int]:
        """The most messages that a part sends and receives, and the most bytes that it sends and receives."""
        if self._most is not None:
            return self._most
        into = np.bincount(self.exchange.peer, weights=self.exchange.bytes, minlength=self.parts)
        numbers = (self.sends, self.receives, self.bytes_sent, into)
        sends, receives, sent, received = (int(one.max(initial=0)) for one in numbers)
        # Models ask many times, and this takes a pass over all messages.
        object.__setattr__(self, "_most", (sends, receives, sent, received))
        return sends, receives, sent, received

    def gathered(self, root: NDArray[np.uint32], column_root: NDArray[np.uint32] | None = None) -> Operator:
        """Return what is left when parts give their rows to others.

        Parameters
        ----------
        root : array of uint32, parts
            To whom each part gives its rows; to itself where it keeps them.
        column_root : array of uint32, parts, optional
            The same of what is multiplied, by default as rows: not for an interpolation whose other side stays.

        Notes
        -----
        An element that several parts of one root need is counted once for each, so bytes are at most these.
        """
        e = self.exchange
        # A message goes from who owns an element to who owns a row.
        source = (root if column_root is None else column_root)[e.sources()]
        target = root[e.peer]
        kept = source != target
        sums = (
            np.bincount(root, weights=one, minlength=self.parts).astype(np.uint64) for one in (self.rows, self.nonzeros)
        )
        joined = Pattern.of(self.parts, source=source[kept], target=target[kept], bytes=e.bytes[kept])
        # All that two roots exchange goes in one message.
        one = Pattern.of(self.parts, source=joined.sources(), target=joined.peer, bytes=joined.bytes)
        rows, nonzeros = sums
        return Operator(rows, nonzeros, one)

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
