"""Programs in pieces: a skeleton says where it can be cut, and pieces are built one by one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import ReferenceType, ref

import numpy as np

from ..schedule.builder import ProgramBuilder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..schedule.program import Program

#: A call of a builder: its method and arguments.
_Call = tuple[str, tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True)
class _Request:
    """What a nonblocking call of a piece will return, by the number of the call."""

    number: int


class Steps(ProgramBuilder):
    """A builder to which skeletons say where the program can be cut."""

    def cut(self) -> None:
        """A piece may end: no request is open, no message under way, and ranks compute before they communicate.

        So no rank that is ahead sends to one that is in the piece before, but for little.
        """


@dataclass(frozen=True, eq=False)
class Pieces:
    """A program as pieces that follow each other, see :meth:`Steps.cut`.

    Attributes
    ----------
    ranks : int
    keys : tuple of hashable
        One for each piece; pieces with equal keys are the same program.
    shapes : tuple of hashable
        One for each piece; pieces with equal shapes are the same program but for the bytes of sums over all ranks.
    sizes : tuple of tuple of int
        For each piece the bytes of its blocking sums over all ranks, in their order.
    origin : str
        As of the program, see :class:`.schedule.program.Program`.
    """

    ranks: int
    keys: tuple[Hashable, ...]
    shapes: tuple[Hashable, ...]
    sizes: tuple[tuple[int, ...], ...]
    _calls: tuple[list[_Call], ...]
    _communicators: tuple[NDArray[np.int64], ...]
    origin: str = ""

    def __len__(self) -> int:
        return len(self.keys)

    def build(self, number: int, last: int | None = None) -> Program:
        """The program of one piece; ``last``: a rank that computes for 1,000 s at its end."""
        b = Steps(self.ranks)
        b.origin = self.origin
        for members in self._communicators:
            b.communicator(members)
        returned: list[Any] = []
        for name, arguments, more in self._calls[number]:
            known = [returned[one.number] if isinstance(one, _Request) else one for one in arguments]
            returned.append(getattr(b, name)(*known, **more))
        if last is not None:
            b.compute([last], 1000.0)
        return b.build()

    def sums(self, sizes: tuple[int, ...]) -> Program:
        """A program of nothing but sums over all ranks of so many bytes."""
        b = Steps(self.ranks)
        for size in sizes:
            b.allreduce(None, size)
        return b.build()


class Noted:
    """Notes the calls of a skeleton in place of :class:`Steps`, so that pieces can be built when it is their turn."""

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        self.origin = ""
        self._pieces: list[list[_Call]] = [[]]
        self._arrays = _Arrays()
        self._communicators: list[NDArray[np.int64]] = []

    def communicator(self, members: NDArray[np.int64]) -> int:
        """A number of a communicator, as :meth:`ProgramBuilder.communicator` gives it."""
        self._communicators.append(members)
        return len(self._communicators)

    def cut(self) -> None:
        """A piece ends."""
        self._pieces.append([])

    def __getattr__(self, name: str) -> Any:
        if not hasattr(ProgramBuilder, name):
            raise AttributeError(name)

        def note(*arguments: Any, **more: Any) -> _Request | None:
            piece = self._pieces[-1]
            kept = self._arrays.kept
            piece.append((name, tuple(map(kept, arguments)), {key: kept(value) for key, value in more.items()}))
            return _Request(len(piece) - 1) if more.get("nonblocking") else None

        return note

    def pieces(self) -> Pieces:
        """What was noted."""
        noted = tuple(piece for piece in self._pieces if piece)
        sizes = [[_size_of_sum(call) for call in piece] for piece in noted]
        keys = [tuple(_key(call) for call in piece) for piece in noted]
        shapes = [
            tuple(one if size is None else call[0] for one, size, call in zip(key, of, piece, strict=True))
            for key, of, piece in zip(keys, sizes, noted, strict=True)
        ]
        return Pieces(
            self.ranks,
            _numbered(keys),
            _numbered(shapes),
            tuple(tuple(size for size in of if size is not None) for of in sizes),
            noted,
            tuple(self._communicators),
            self.origin,
        )


class _Arrays:
    """Arrays, of which equal ones are kept once: a skeleton that makes them anew in each step takes no more memory."""

    def __init__(self) -> None:
        # By its id, an array that was seen, and the one that is kept for it.
        self._seen: dict[int, tuple[ReferenceType[NDArray[Any]], NDArray[Any]]] = {}
        self._alike: dict[Hashable, list[NDArray[Any]]] = {}

    def kept(self, value: Any) -> Any:
        """The array that is kept for this one; any other value as it is."""
        if not isinstance(value, np.ndarray):
            return value
        # Whoever passes an array in every step has it compared once. One that is gone may leave its id to another.
        if (seen := self._seen.get(id(value))) is not None and seen[0]() is value:
            return seen[1]
        one = self._equal(value)
        self._seen[id(value)] = ref(value), one
        return one

    def _equal(self, value: NDArray[Any]) -> NDArray[Any]:
        # Arrays are compared whole, but only those that are alike in a few elements.
        few = value.reshape(-1)[:: max(1, value.size // 16)].tobytes()
        alike = self._alike.setdefault((value.dtype.str, value.shape, few), [])
        for one in alike:
            if np.array_equal(one, value):
                return one
        alike.append(value)
        return value


def _numbered(keys: Sequence[Hashable]) -> tuple[int, ...]:
    numbers: dict[Hashable, int] = {}
    return tuple(numbers.setdefault(key, len(numbers)) for key in keys)


def _size_of_sum(call: _Call) -> int | None:
    """Bytes of a blocking sum over all ranks, which all wait for; None for other calls."""
    name, arguments, more = call
    if name != "allreduce" or more or len(arguments) != 2 or arguments[0] is not None:
        return None
    return arguments[1] if isinstance(arguments[1], int) else None


def _key(call: _Call) -> Hashable:
    """Calls with equal keys do the same."""
    name, arguments, more = call
    return (name, *((which, _of(value)) for which, value in (*enumerate(arguments), *more.items())))


def _of(value: Any) -> Hashable:
    # Equal arrays are one, see _Arrays. Other values may be equal to its id: the name of the type tells them apart.
    if isinstance(value, np.ndarray):
        return "array", id(value)
    return value if isinstance(value, Hashable) else repr(value)
