"""The Pattern: who sends how much to whom, whatever the order."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..errors import InvalidInput, Unsupported
from ..extras import Later
from ..tabular import Tabular
from ..units import text
from ..views import view
from . import columns
from .summary import counted

if TYPE_CHECKING:
    import scipy.sparse
else:
    scipy = Later("scipy")


#: Most ranks of a dense matrix: 2 GiB.
_DENSE = 1 << 14


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Pattern(Tabular):
    """Bytes and messages between ranks, summed per pair and direction; made by ``pattern`` and :meth:`of`.

    Attributes
    ----------
    first : array of uint64, ranks + 1
        Partners that rank r sends to are ``peer[first[r] : first[r + 1]]``, in ascending order.
    peer : array of uint32
    bytes : array of uint64
        From the rank to this partner.
    messages : array of uint64
        From the rank to this partner.
    load : array of float64, ranks
        Seconds of computation of each rank.
    """

    first: NDArray[np.uint64]
    peer: NDArray[np.uint32]
    bytes: NDArray[np.uint64]
    messages: NDArray[np.uint64]
    load: NDArray[np.float64]

    def __post_init__(self) -> None:
        for f in fields(self):
            object.__setattr__(self, f.name, columns.frozen(getattr(self, f.name)))

    @classmethod
    def of(
        cls,
        ranks: int,
        *,
        source: ArrayLike,
        target: ArrayLike,
        bytes: ArrayLike,
        messages: ArrayLike = 1,
        load: ArrayLike = 0.0,
    ) -> Pattern:
        """Make a pattern from transfers in any order; each column has one element per transfer or one for all.

        Parameters
        ----------
        source, target : array of int
            Sending and receiving ranks; transfers with the same source and target are summed.
        bytes, messages : array of int
        load : array of float
            Seconds of computation of each rank.

        Raises
        ------
        InvalidInput
            If columns differ in length or ranks are out of range.

        Examples
        --------
        >>> print(Pattern.of(4, source=[0, 0, 3], target=[1, 1, 0], bytes=[8, 8, 1000]))
        Pattern of 4 ranks, 3 messages of 1016 B between 2 pairs, at most 1 partner of a rank
        """
        table = {
            "source": columns.integers("source", source, np.uint32),
            "target": columns.integers("target", target, np.uint32),
            "bytes": columns.integers("bytes", bytes, np.uint64),
            "messages": columns.integers("messages", messages, np.uint64),
        }
        count = columns.length(table)
        for name in ("source", "target"):
            table[name] = np.ascontiguousarray(np.broadcast_to(table[name], count))
        seconds = columns.numbers("load", load)
        if len(seconds) not in (1, ranks):
            raise InvalidInput(f"load has {len(seconds)} elements: must be one for each of {ranks} ranks")
        first, peer, sizes, numbers, _ = _core.pattern_of_transfers(ranks, **table)
        return cls(first, peer, sizes, numbers, np.broadcast_to(seconds, ranks).copy())

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Pattern:
        """Read the pattern of an undirected METIS graph; see :func:`isthmus.imports.graphs.metis.read_metis`."""
        found: Pattern = view("Pattern.read")(path)
        return found

    @property
    def ranks(self) -> int:
        return len(self.first) - 1

    @property
    def total_bytes(self) -> int:
        return int(self.bytes.sum())

    @property
    def total_messages(self) -> int:
        return int(self.messages.sum())

    def __len__(self) -> int:
        """Number of pairs of ranks, each direction counted."""
        return len(self.peer)

    def sources(self) -> NDArray[np.uint32]:
        """Return the sending rank of each element of ``peer``."""
        return np.repeat(np.arange(self.ranks, dtype=np.uint32), columns.lengths(self.first))

    def frame(self) -> dict[str, NDArray[Any]]:
        """Return all pairs as columns, one row per pair: source, target, bytes, messages."""
        return {"source": self.sources(), "target": self.peer, "bytes": self.bytes, "messages": self.messages}

    @classmethod
    def from_scipy(
        cls,
        matrix: scipy.sparse.spmatrix | scipy.sparse.sparray | ArrayLike,
        *,
        messages: scipy.sparse.spmatrix | scipy.sparse.sparray | ArrayLike | None = None,
        scale: float | None = None,
    ) -> Pattern:
        """Make a pattern from a sparse or dense matrix of senders by receivers.

        Parameters
        ----------
        matrix : sparse matrix or array of SciPy, or array, shape (ranks, ranks)
            Row i, column j: bytes from rank i to rank j. Entries may be floats, such as the weights of a graph.
        messages : the same, optional
            Numbers of messages; by default one for every nonzero entry.
        scale : float, optional
            Bytes that an entry of 1 stands for. By default 1 if all entries are whole numbers; otherwise chosen so that
            the largest entry becomes 2**40, which preserves proportions to 12 digits.

        Raises
        ------
        InvalidInput
            If the matrix is not square, an entry is negative or not a number, or a sum exceeds 2**63.

        Examples
        --------
        >>> print(Pattern.from_scipy([[0, 8], [1000, 0]]))
        Pattern of 2 ranks, 2 messages of 1008 B between 2 pairs, at most 1 partner of a rank
        """
        from .matrices import entries

        ranks, source, target, amount = entries(matrix, scale, "matrix")
        if messages is None:
            return cls.of(ranks, source=source, target=target, bytes=amount)
        others, row, column, number = entries(messages, 1.0, "messages")
        if others != ranks:
            raise InvalidInput(f"messages has {others} ranks, the matrix {ranks}: expected the same number")
        none = np.zeros(1, np.uint64)
        return cls.of(
            ranks,
            source=np.concatenate([source, row]),
            target=np.concatenate([target, column]),
            bytes=np.concatenate([amount, np.broadcast_to(none, len(row))]),
            messages=np.concatenate([np.broadcast_to(none, len(source)), number]),
        )

    def to_scipy(self, what: str = "bytes") -> scipy.sparse.csr_array:
        """Return ``"bytes"`` or ``"messages"`` as a sparse matrix; :meth:`from_scipy` reads it.

        Raises
        ------
        Unsupported
            If the package SciPy is missing.
        """
        from .matrices import sparse

        if what not in ("bytes", "messages"):
            raise InvalidInput(f"a matrix of {what!r}: must be 'bytes' or 'messages'")
        return sparse(self.first, self.peer, getattr(self, what))

    def matrix(self, what: str = "bytes") -> NDArray[np.uint64]:
        """Return ``"bytes"`` or ``"messages"`` as a dense matrix of senders by receivers.

        Raises
        ------
        Unsupported
            If there are too many ranks for a dense matrix.
        """
        if what not in ("bytes", "messages"):
            raise InvalidInput(f"a matrix of {what!r}: must be 'bytes' or 'messages'")
        if self.ranks > _DENSE:
            raise Unsupported(
                f"a dense matrix of {self.ranks} ranks exceeds {_DENSE}: use the rows first, peer, {what}"
            )
        out = np.zeros((self.ranks, self.ranks), np.uint64)
        out[self.sources(), self.peer] = getattr(self, what)
        return out

    def symmetric(self) -> Pattern:
        """Return the symmetric pattern: both directions of a pair carry the sum of the two."""
        source = self.sources()
        other = source != self.peer
        both = {
            "source": np.concatenate([source, self.peer[other]]),
            "target": np.concatenate([self.peer, source[other]]),
            "bytes": np.concatenate([self.bytes, self.bytes[other]]),
            "messages": np.concatenate([self.messages, self.messages[other]]),
        }
        return Pattern.of(self.ranks, **both, load=self.load)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pattern):
            return NotImplemented
        return all(np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Pattern: {counted(self.ranks, 'rank')}, {counted(len(self), 'pair')}>"

    def __str__(self) -> str:
        partners = int(columns.lengths(self.first).max())
        parts = [
            f"Pattern of {counted(self.ranks, 'rank')}",
            f"{counted(self.total_messages, 'message')} of {text(self.total_bytes, 'B')} "
            f"between {counted(len(self), 'pair')}",
            f"at most {counted(partners, 'partner')} of a rank",
        ]
        if self.load.any():
            parts.append(
                f"load {text(float(self.load.mean()), 's', 4)} on average, at most {text(self.load.max(), 's', 4)}"
            )
        return ", ".join(parts)
