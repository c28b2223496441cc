"""The Schedule: a DAG of operations per rank, between whatever produces communication and whatever consumes it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..errors import InvalidInput
from ..tabular import Tabular
from ..units import text
from ..views import view
from . import columns
from .operation import ALL_ONES as ALL_ONES
from .operation import OPS as OPS
from .operation import SLICE as SLICE
from .operation import SLICES as SLICES
from .operation import START_BIT as START_BIT
from .operation import OpKind as OpKind
from .rank import RankOperations
from .summary import counted


class Dependencies(NamedTuple):
    """Operation ``op[i]`` waits for ``on[i]``: until it has started where ``start[i]``, else until it is done."""

    op: NDArray[np.int64]
    on: NDArray[np.int64]
    start: NDArray[np.bool_]


class Schedule(Tabular):
    """An immutable DAG of operations per rank; made by :meth:`of`, ``lower``, ``collective`` and ``read``.

    Parameters
    ----------
    arrays : _core.ScheduleArrays
        The arrays in the core. Attributes are read-only views of the same memory.

    Notes
    -----
    Operations of a rank are contiguous and numbered from 0 within it; independent ones are posted in this order.
    Operation ``i`` of rank ``r`` is ``ops[op_first[r] + i]``. Its dependants are ``edges[edge_first[r] + first_edge]``
    up to the first edge of the next operation: 31 bits of number within the rank, and the highest bit if the dependant
    may start when the operation has started.
    """

    __slots__ = ("__weakref__", "_arrays", "_ops", "_slices")

    def __init__(self, arrays: _core.ScheduleArrays) -> None:
        self._arrays = arrays
        self._ops = arrays.ops.view(OPS)
        self._slices = arrays.slices.view(SLICES)

    @classmethod
    def of(
        cls,
        ranks: int,
        *,
        rank: ArrayLike,
        kind: ArrayLike,
        amount: ArrayLike = 0,
        seconds: ArrayLike | None = None,
        peer: ArrayLike = 0,
        tag: ArrayLike = 0,
        comm: ArrayLike = 0,
        cpu: ArrayLike = 0,
        nic: ArrayLike = 0,
        mode: ArrayLike = 0,
        op: ArrayLike | None = None,
        on: ArrayLike | None = None,
        start: ArrayLike = False,
        buffers: Mapping[str, ArrayLike] | None = None,
        slices: NDArray[Any] | None = None,
    ) -> Schedule:
        """Make a schedule from columns, each with one element per operation or one for all.

        Parameters
        ----------
        ranks : int
        rank : array of int
            Rank of each operation, in any order; operations of one rank keep the order in which they are given.
        kind : array of str or int
            Names or numbers of :class:`OpKind`.
        amount : array of int
            Bytes; picoseconds of a calc if ``seconds`` is not given.
        seconds : array of float, optional
            Duration of each calc, rounded to picoseconds; ignored for other operations.
        peer : array of int
            The other rank of send, recv, put and get; -1: receive from any. Ignored for other operations.
        tag, comm : array of int
            Tag and communicator of messages; tag -1: receive any tag.
        cpu, nic : array of int
            CPU stream and network interface, 0 to 255.
        mode : array of int
            For a reduce: 0 where ``to = to (+) from``, 1 where ``to = from (+) to``. For a send: 0 eager or not by its
            size, 1 eager, 2 rendezvous.
        op, on : array of int, optional
            Operation ``op[i]`` waits for operation ``on[i]`` of the same rank, numbered from 0 as given here.
        start : array of bool
            True: wait until that operation has started; False: until it is done.
        buffers : mapping of str to int or array of int, optional
            Names and sizes of buffers in bytes, one size for all ranks or one per rank.
        slices : structured array of ``SLICES``, optional
            Parts of buffers that operations read and write; buffer 0xFFFFFFFF: none.

        Returns
        -------
        Schedule

        Raises
        ------
        InvalidInput
            If columns differ in length or numbers are out of range. Call :meth:`validate` to check for cycles and
            unmatched messages.

        Examples
        --------
        >>> s = Schedule.of(2, rank=[0, 1, 1], kind=["send", "recv", "calc"], peer=[1, 0, 0], amount=8,
        ...                 seconds=1e-6, op=2, on=1)
        >>> print(s)
        Schedule of 2 ranks, 3 operations (1 send, 1 recv, 1 calc), 8 B in 1 message, 1 us of computation, 1 dependency
        """
        if (op is None) != (on is None):
            raise InvalidInput("op and on belong together: give both or neither")
        u4, u8 = np.uint32, np.uint64
        table: dict[str, NDArray[Any]] = {
            "rank": columns.integers("rank", rank, u4),
            "kind": columns.kinds("kind", kind, OpKind),
            "amount": columns.integers("amount", amount, u8),
            "peer": columns.integers("peer", peer, u4, -1),
            "tag": columns.integers("tag", tag, u4, -1),
            "comm": columns.integers("comm", comm, u4),
            "cpu": columns.integers("cpu", cpu, np.uint8),
            "nic": columns.integers("nic", nic, np.uint8),
            "mode": columns.integers("mode", mode, np.uint8),
        }
        if seconds is not None:
            table["seconds"] = columns.numbers("seconds", seconds)
        count = columns.length(table)
        table.setdefault("seconds", np.empty(0))
        pairs = {
            "op": columns.integers("op", () if op is None else op, u8),
            "on": columns.integers("on", () if on is None else on, u8),
        }
        begin = columns.integers("start", start, np.uint8)
        number = columns.length(pairs | {"start": begin})
        pairs = {name: np.ascontiguousarray(np.broadcast_to(column, number)) for name, column in pairs.items()}
        ranks = _rank_count(ranks)
        names, sizes = _buffer_sizes(ranks, buffers or {})
        if slices is None:
            places = np.empty(0, np.uint8)
        elif slices.dtype == SLICES and slices.shape == (count,):
            places = np.ascontiguousarray(slices).view(np.uint8)
        else:
            raise InvalidInput(f"slices have shape {slices.shape}: must be {count} of dtype SLICES")
        return cls(
            _core.ScheduleArrays.of_columns(
                ranks, count, **table, **pairs, start=begin, buffer_names=names, buffer_bytes=sizes, slices=places
            )
        )

    @property
    def arrays(self) -> _core.ScheduleArrays:
        """Arrays of the schedule in the core."""
        return self._arrays

    @property
    def ranks(self) -> int:
        return self._arrays.ranks

    @property
    def ops(self) -> NDArray[Any]:
        """Operations of all ranks, one after another: a structured array of dtype ``OPS``."""
        return self._ops

    @property
    def op_first(self) -> NDArray[np.uint64]:
        """Index of each rank's first operation, then the number of operations: ranks + 1 elements."""
        return self._arrays.op_first

    @property
    def edge_first(self) -> NDArray[np.uint64]:
        """Index of each rank's first edge, then the number of edges: ranks + 1 elements."""
        return self._arrays.edge_first

    @property
    def edges(self) -> NDArray[np.uint32]:
        """Dependants of all operations; see the notes of the class."""
        return self._arrays.edges

    @property
    def buffers(self) -> dict[str, NDArray[np.uint64]]:
        """Size of each named buffer on each rank, bytes."""
        names = self._arrays.buffer_names
        table = self._arrays.buffer_bytes.reshape(self.ranks, len(names))
        return {name: table[:, i] for i, name in enumerate(names)}

    @property
    def slices(self) -> NDArray[Any]:
        """Parts of buffers, one element of dtype ``SLICES`` per operation; empty if operations name no buffers."""
        return self._slices

    def __len__(self) -> int:
        return len(self._ops)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schedule):
            return NotImplemented
        a, b = self._arrays, other._arrays
        return (
            a.buffer_names == b.buffer_names
            and np.array_equal(a.op_first, b.op_first)
            and np.array_equal(a.edge_first, b.edge_first)
            and np.array_equal(_words(a.ops), _words(b.ops))
            and np.array_equal(a.edges, b.edges)
            and np.array_equal(a.buffer_bytes, b.buffer_bytes)
            and np.array_equal(_words(a.slices), _words(b.slices))
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        a = self._arrays
        return _again, (a.op_first, a.ops, a.edge_first, a.edges, a.buffer_names, a.buffer_bytes, a.slices)

    def __copy__(self) -> Schedule:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Schedule:
        return self

    def __repr__(self) -> str:
        size = f"{counted(len(self), 'operation')}, {counted(len(self.edges), 'dependency')}"
        return f"<Schedule: {counted(self.ranks, 'rank')}, {size}>"

    def __str__(self) -> str:
        number = np.bincount(self._ops["kind"], minlength=len(OpKind) + 1)
        amount = self._ops["amount"]
        parts = [f"Schedule of {counted(self.ranks, 'rank')}", counted(len(self), "operation")]
        if len(self):
            parts[-1] += " (" + ", ".join(f"{number[kind]} {kind.name}" for kind in OpKind if number[kind]) + ")"
        moving = [OpKind.send, OpKind.put, OpKind.get]
        if messages := int(number[moving].sum()):
            size = sum(int(amount[self._ops["kind"] == kind].sum()) for kind in moving if number[kind])
            parts.append(f"{text(size, 'B')} in {counted(messages, 'message')}")
        if number[OpKind.calc]:
            picoseconds = amount[self._ops["kind"] == OpKind.calc].sum(dtype=np.float64)
            parts.append(f"{text(float(picoseconds) * 1e-12, 's', 4)} of computation")
        if self.buffers:
            parts.append("buffers " + " ".join(self.buffers))
        return ", ".join([*parts, counted(len(self.edges), "dependency")])

    def dependencies(self) -> Dependencies:
        """Return all dependencies as columns, numbered as ``ops``: the op, on and start of :meth:`of`."""
        op_first, edge_first = self.op_first.view(np.int64), self.edge_first.view(np.int64)
        # Edges of an operation end where those of the next one begin, also at the end of a rank.
        begin = self._ops["first_edge"] + np.repeat(edge_first[:-1], columns.lengths(op_first))
        on = np.repeat(np.arange(len(self)), columns.lengths(np.append(begin, len(self.edges))))
        to = np.repeat(op_first[:-1], columns.lengths(edge_first))
        to += self.edges & ~np.uint32(START_BIT)
        return Dependencies(to, on, self.edges >= START_BIT)

    def frame(self) -> dict[str, NDArray[Any]]:
        """Return all operations as columns, one row per operation.

        Returns
        -------
        dict of str to array
            rank, op (its number within the rank), kind in words, and peer, tag, comm, amount (bytes; calc:
            picoseconds), needs, cpu, nic and mode of ``OPS``.
        """
        of = columns.lengths(self.op_first)
        words = np.array(["", *(kind.name for kind in OpKind)])
        return {
            "rank": np.repeat(np.arange(self.ranks), of),
            "op": np.arange(len(self)) - np.repeat(self.op_first[:-1].view(np.int64), of),
            "kind": words[self._ops["kind"]],
            **{name: self._ops[name] for name in ("peer", "tag", "comm", "amount", "needs", "cpu", "nic", "mode")},
        }

    def rank(self, rank: int) -> RankOperations:
        """Return the operations of one rank and their dependencies in readable form.

        Examples
        --------
        >>> s = Schedule.of(2, rank=[0, 1, 1], kind=["send", "recv", "calc"], peer=[1, 0, 0], amount=8, op=2, on=1)
        >>> print(s.rank(1))
        rank 1
          0: recv 8 B from 0 tag 0
          1: calc 8 ps requires 0
        """
        if not 0 <= rank < self.ranks:
            raise InvalidInput(f"rank {rank} does not exist: ranks are 0 to {self.ranks - 1}")
        first, end = int(self.op_first[rank]), int(self.op_first[rank + 1])
        return RankOperations(rank, self._ops[first:end], self.edges[self.edge_first[rank] : self.edge_first[rank + 1]])

    def requires(self, rank: int, operation: int) -> list[tuple[int, bool]]:
        """Return the operations that one waits for (numbers within the rank), and whether only for their start."""
        return self.rank(rank).requires(operation)

    def relabel(self, permutation: ArrayLike) -> Schedule:
        """Return the schedule with rank ``r`` renumbered as ``permutation[r]``.

        Raises
        ------
        InvalidInput
            If it is not a permutation of the ranks.
        """
        return Schedule(self._arrays.relabel(columns.integers("permutation", permutation, np.uint32)))

    def one_sided(self, access: str, *, ask: bool = False, tell: bool = True) -> Schedule:
        """Replace messages that carry bytes by puts or gets, as runtimes of PGAS languages move data.

        Parameters
        ----------
        access : {"put", "get"}
            "put": the sender puts the data and announces them with a message of 0 bytes, whose receive replaces that of
            the data. "get": the sender announces the data with a message of 0 bytes; the receiver gets them and sends
            another one when the sender may change them.
        ask : bool
            Who is accessed always announces first that its buffer is free, or that the data are there. If False, it
            does so only if its receive (put) or send (get) waits for something; other buffers count as free, and other
            data as there, from the start.
        tell : bool
            If False, messages that announce the end of an access are left out where nothing in the schedule depends on
            them: who uses the data afterwards has to know otherwise that they are there, or may be changed.

        Raises
        ------
        InvalidInput
            If there are wildcards, or messages that do not match or differ in size.
        """
        return Schedule(self._arrays.one_sided(access, bool(ask), bool(tell)))

    def with_protocol(self, protocol: str) -> Schedule:
        """Return the schedule with all messages "eager", by "rendezvous", or by "size" as the machine chooses."""
        modes = {"size": 0, "eager": 1, "rendezvous": 2}
        if protocol not in modes:
            raise InvalidInput(f"protocol {protocol!r}: must be one of {', '.join(modes)}")
        return Schedule(self._arrays.with_protocol(modes[protocol]))

    def validate(self) -> None:
        """Check that the schedule can run: ranges, cycles, and messages that match.

        Raises
        ------
        InvalidInput
            Naming rank, operation and reason.
        """
        _core.validate(self._arrays)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        compression: str = "auto",
        unit: str = "ns",
        seconds_per_byte: float | None = None,
    ) -> None:
        """Write a file atomically; its suffix determines the format.

        Parameters
        ----------
        path : path
            ``.h5`` or ``.hdf5``: HDF5; ``.goal``: GOAL text; ``.bin``: binary GOAL.
        compression : {"auto", "gzip", "none"}
            For HDF5, see :mod:`isthmus.schedule.hdf5`.
        unit : {"ns", "ps", "us", "ms", "s"}
            Unit of times in GOAL, to which they are rounded.
        seconds_per_byte : float, optional
            In GOAL, copy and reduce become calc with this time per byte.

        Raises
        ------
        InvalidInput
            If the suffix is another one.
        Unsupported
            If the format cannot represent an operation.
        """
        suffix = os.path.splitext(path)[1]
        if suffix in (".h5", ".hdf5"):
            view("Schedule.save")(self, path, compression=compression)
        elif suffix in (".goal", ".bin"):
            from .goal import write_goal

            write_goal(self._arrays, path, binary=suffix == ".bin", unit=unit, seconds_per_byte=seconds_per_byte)
        else:
            raise InvalidInput(f"{os.fspath(path)!r} ends in {suffix!r}: must end in .h5, .hdf5, .goal or .bin")


def _again(*arrays: Any) -> Schedule:
    """A schedule from its arrays, as pickles hold them."""
    return Schedule(_core.ScheduleArrays.of(*arrays))


def _words(records: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Bytes of records, whose size is a multiple of 8, as fewer numbers to compare."""
    return records.view(np.uint64)


def _rank_count(ranks: int) -> int:
    if not isinstance(ranks, (int, np.integer)) or not 1 <= ranks < ALL_ONES:
        raise InvalidInput(f"ranks is {ranks!r}: must be a whole number from 1 to {ALL_ONES - 1}")
    return int(ranks)


def together(schedules: Sequence[Schedule], *, under_way: int = 0) -> Schedule:
    """Combine several schedules on the same ranks, started in order.

    Parameters
    ----------
    schedules : sequence of Schedule
    under_way : int
        Largest number of schedules in progress at once on a rank; 1: one after the other, 0: no limit.

    Returns
    -------
    Schedule
        Messages of different schedules have different tags. If several have buffers, those of schedule i are named
        "name.i".

    Raises
    ------
    InvalidInput
        If there are no schedules, their numbers of ranks differ, or receives accept any tag.

    Examples
    --------
    >>> import isthmus
    >>> once = isthmus.collective("bcast", ranks=4, bytes=1000)
    >>> print(together([once, once], under_way=1))
    Schedule of 4 ranks, 14 operations (6 send, 6 recv, 2 calc), 6 kB in 6 messages, 0 s of computation, 16 dependencies
    """
    if not isinstance(under_way, (int, np.integer)) or not 0 <= under_way < 2**32:
        raise InvalidInput(f"under_way is {under_way!r}: must be a whole number from 0")
    return Schedule(_core.ScheduleArrays.together([s.arrays for s in schedules], int(under_way)))


def _buffer_sizes(ranks: int, buffers: Mapping[str, ArrayLike]) -> tuple[list[str], NDArray[np.uint64]]:
    """Names, and sizes of every rank's buffers one after another."""
    table = np.empty((ranks, len(buffers)), np.uint64)
    for i, (name, size) in enumerate(buffers.items()):
        column = columns.integers(f"size of buffer {name}", size, np.uint64)
        if len(column) not in (1, ranks):
            raise InvalidInput(
                f"buffer {name} has {len(column)} sizes: must have one, or one for each of {ranks} ranks"
            )
        table[:, i] = column
    return list(buffers), table.reshape(-1)
