"""Checks of a single call on a :class:`ProgramBuilder`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from .program import ANY, NULL, PEERED, ROOTED, SENDS, CollectiveKind, EventKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PEERED, _SENDS, _ROOTED = frozenset(PEERED), frozenset(SENDS), frozenset(ROOTED)
#: Kinds whose peer may be ANY.
_WILD = frozenset({EventKind.recv, EventKind.irecv, EventKind.flush, EventKind.unlock})


class CallChecks:
    """Refuses calls that no other call could make right.

    Parameters
    ----------
    ranks : int
    members : list of array of uint32
        World ranks of every communicator; the builder appends new ones.
    """

    def __init__(self, ranks: int, members: list[NDArray[np.uint32]]) -> None:
        self._ranks, self._members = ranks, members
        self._sets: dict[int, frozenset[int]] = {}

    def check(self, kind: int, what: int, rank: int, peer: int, tag: int, comm: int, called: str = "peer") -> None:
        """One call. ``called`` is ``"source"`` for the receiving half of a sendrecv."""
        if rank >= self._ranks:
            raise InvalidInput(f"rank {rank} does not exist: ranks are 0 to {self._ranks - 1}")
        size = self._ranks
        wrong = ""
        if comm >= len(self._members):
            wrong = f"communicator {comm} does not exist: there are {len(self._members)}"
        elif comm:
            size = len(self._members[comm])
            if comm not in self._sets:
                self._sets[comm] = frozenset(self._members[comm].tolist())
            if rank not in self._sets[comm]:
                wrong = f"the rank is not in communicator {comm}"
        if not wrong and not 0 <= peer < size:
            if kind not in _PEERED:
                called = "root"
            if what in _ROOTED if kind not in _PEERED else peer != NULL and (peer != ANY or kind not in _WILD):
                wrong = f"{called} {peer} in communicator {comm} of size {size}"
        if not wrong and tag < 0 and kind in _SENDS:
            wrong = f"tag {tag}: a message needs a tag from 0"
        if wrong:
            name = "sendrecv" if called == "source" else (CollectiveKind(what) if what else EventKind(kind)).name
            raise InvalidInput(f"rank {rank} ({name}): {wrong}")

    def check_columns(self, kind: int, what: int, table: dict[str, NDArray[Any]], called: str = "peer") -> None:
        """Check arrays in the same way."""
        rank, peer, tag, comm = (table[name] for name in ("rank", "peer", "tag", "comm"))
        # ANY and NULL may stand in columns of unsigned numbers.
        peer, tag = (column.view(np.int32) if column.itemsize == 4 else column for column in (peer, tag))
        rows = np.broadcast_arrays(rank, peer, tag, comm)

        def refuse(some: NDArray[np.intp]) -> None:
            for at in some.tolist():
                one = [int(row[at]) for row in rows]
                self.check(kind, what, one[0], one[1], one[2], one[3], called)

        def where(wrong: NDArray[np.bool_]) -> NDArray[np.intp]:
            return np.flatnonzero(np.broadcast_to(wrong, rows[0].shape))

        refuse(where((rank >= self._ranks) | (comm >= len(self._members)))[:1])
        size: Any = self._ranks
        if comm.any():
            members = [np.uint64(c * self._ranks) + self._members[c] for c in np.unique(comm).tolist()]
            here = comm.astype(np.uint64) * np.uint64(self._ranks) + rank
            refuse(where(np.isin(here, np.concatenate(members), invert=True))[:1])
            size = np.array([len(members) for members in self._members])[comm]
        strange = where((peer < 0) | (peer >= size) | (tag < 0))
        if len(strange):
            # Among calls that look alike, such as receives from any rank, one stands for all.
            alike = np.stack([row[strange].astype(np.int64) for row in rows[1:]])
            refuse(strange[np.sort(np.unique(alike, axis=1, return_index=True)[1])])
