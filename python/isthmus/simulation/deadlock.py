"""Deadlock as a result: what waits, for whom, in which circle, and what arrived instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ..schedule.schedule import ALL_ONES, OpKind
from ..schedule.summary import counted
from ..units import text
from .waits_for import answers, find_cycle

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .timeline import Timeline

# Lines of a text; what is more is counted.
_SHOWN = 8


@dataclass(frozen=True)
class Waiting:
    """An operation that waits for ever.

    Attributes
    ----------
    rank, op : int
        Operation ``op`` of the rank.
    kind : OpKind
    peer, tag : int or None
        Of messages; None: any, or not a message.
    comm, bytes : int
    started : bool
        A posted receive or a sent message; otherwise it waits for operations of its own rank.
    reason : str
        What it waits for.
    """

    rank: int
    op: int
    kind: OpKind
    peer: int | None
    tag: int | None
    comm: int
    bytes: int
    started: bool
    reason: str

    def __str__(self) -> str:
        return f"rank {self.rank} {self.reason} ({self.words})"

    @property
    def words(self) -> str:
        """The operation, as in ``recv, operation 3, tag 0``."""
        parts = [self.kind.name, f"operation {self.op}"]
        if self.kind in (OpKind.send, OpKind.recv):
            parts.append(f"tag {'any' if self.tag is None else self.tag}")
            parts += [f"comm {self.comm}"] if self.comm else []
        return ", ".join(parts)


@dataclass(frozen=True)
class Orphan:
    """A message that arrived at ``rank`` and that nobody received; ``op`` is its send, of rank ``source``."""

    rank: int
    source: int
    op: int
    tag: int
    comm: int
    bytes: int

    def __str__(self) -> str:
        comm = f", comm {self.comm}" if self.comm else ""
        return (
            f"{text(self.bytes, 'B')} from rank {self.source} to rank {self.rank} "
            f"(send, operation {self.op}, tag {self.tag}{comm})"
        )


class _Lazy[T](Sequence[T]):
    """Elements made when somebody looks at them: there may be millions."""

    def __len__(self) -> int:
        raise NotImplementedError

    def _make(self, index: int) -> T:
        raise NotImplementedError

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self._make(i) for i in range(len(self))[index]]
        return self._make(range(len(self))[index])

    def __iter__(self) -> Iterator[T]:
        return (self._make(i) for i in range(len(self)))

    def __repr__(self) -> str:
        more = f", ... {len(self) - _SHOWN} more" if len(self) > _SHOWN else ""
        return f"[{', '.join(map(repr, self[:_SHOWN]))}{more}]"
