"""Collectives and their algorithms: schedules of single ones, and the registry that lowering chooses from."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..errors import InvalidInput
from .flavours import flavoured, split

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ..schedule.schedule import Schedule

#: What an algorithm is: it writes the operations of ``call.rank`` into ``out``.
Algorithm = Callable[["_core.CollectiveCall", "_core.CollectiveOut"], Any]

#: How an algorithm is chosen: by name, or by name and options.
Choice = str | tuple[str, Mapping[str, Any]]

# Algorithms written in Python; the core looks them up here.
_functions: dict[tuple[str, str], Algorithm] = {}


class Registered(str):
    """An algorithm written in Python: the name by which it is chosen, and the function itself.

    It stands wherever the name of an algorithm may, and :func:`isthmus.prove` proves it. Calling it calls the function.

    Attributes
    ----------
    kind : str
        Collective that it carries out.
    function : callable
    """

    kind: str
    function: Algorithm

    def __new__(cls, kind: str, name: str, function: Algorithm) -> Registered:
        made = super().__new__(cls, name)
        made.kind, made.function = kind, function
        return made

    def __call__(self, call: _core.CollectiveCall, out: _core.CollectiveOut) -> Any:
        return self.function(call, out)

    def __repr__(self) -> str:
        return f"<Registered: {self.kind} by {str(self)!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return register, (self.kind, str(self), self.function)


#: Options that are times: seconds here, picoseconds in the core.
_TIMES = ("latency", "overhead", "gap")
_LARGEST = {"ranks": 2**32 - 2, "bytes": 2**63 - 1, "root": 2**32 - 2}


def algorithms(kind: str) -> tuple[str, ...]:
    """Names of the algorithms of a collective, its default first.

    Examples
    --------
    >>> algorithms("scan")
    ('recursive_doubling', 'linear', 'binomial')
    """
    return tuple(_core.collective_algorithms(kind))


def describe(kind: str, name: str | None = None) -> _core.AlgorithmInfo:
    """What an algorithm does, where it is published and which options it takes; by default the default.

    Examples
    --------
    >>> describe("barrier", "dissemination").words
    'in round k every rank tells the one 2^k further'
    """
    return _core.collective_algorithm_info(kind, name or "")


def register(kind: str, name: str, function: Algorithm) -> Registered:
    """Add an algorithm, for all that takes names of algorithms; one that was added before is replaced.

    On the command line, ``--plugin FILE`` runs a Python file that calls this function.

    Parameters
    ----------
    kind : str
        Collective, such as ``"bcast"``.
    name : str
        By which it is chosen.
    function : callable
        Called as ``function(call, out)`` for every rank, twice: once to count operations, once to write them.
        ``call`` has ``kind``, ``rank``, ``ranks``, ``root``, ``bytes``, ``in_place`` and ``counts`` (an array, empty
        where the collective has none). ``out.send(to, bytes)``, ``out.recv(source, bytes)``, ``out.copy(bytes)`` and
        ``out.reduce(bytes)`` append an operation and return its number; ``out.require(op, on)`` makes ``op`` wait until
        ``on`` is done, ``out.require_start(op, on)`` until it has started. Ranks are those of the communicator.
        Operations that no other waits for are what the collective ends with. ``at=`` and ``into=``, pairs of a buffer
        ("input", "output" or "scratch") and an offset, say what is read and written, for proofs and real runs; a
        reduction is ``into = into (+) at``, with ``first=True`` ``into = at (+) into``.

    Returns
    -------
    Registered
        The name, which knows its collective and function; :func:`isthmus.prove` takes it with the arguments of a call.

    Raises
    ------
    InvalidInput
        For an unknown collective, or the name of a textbook algorithm.

    Examples
    --------
    A broadcast along the chain of ranks, root 0 only:

    >>> def chain(call, out):
    ...     got = out.recv(call.rank - 1, call.bytes) if call.rank > 0 else None
    ...     if call.rank + 1 < call.ranks:
    ...         sent = out.send(call.rank + 1, call.bytes)
    ...         if got is not None:
    ...             out.require(sent, got)
    >>> mine = register("bcast", "my chain", chain)
    >>> print(collective("bcast", ranks=4, bytes=8, algorithm=mine))
    Schedule of 4 ranks, 6 operations (3 send, 3 recv), 24 B in 3 messages, 2 dependencies
    """
    if not callable(function):
        raise InvalidInput(f"algorithm {name!r} of {kind} is {function!r}: a function of call and out is needed")
    _core.register_collective(kind, name)
    _functions[kind, name] = function
    return Registered(kind, name, function)


def collective(
    kind: str,
    *,
    ranks: int,
    bytes: int = 0,
    algorithm: Choice | None = None,
    root: int = 0,
    counts: ArrayLike | None = None,
    in_place: bool = True,
    buffers: bool = False,
    access: str = "message",
    sync: str | Sequence[str] = "my",
    protocol: str = "size",
    count: int = 1,
    under_way: int = 0,
    ordered: bool = False,
) -> Schedule:
    """What all ranks do when they call one collective.

    Parameters
    ----------
    kind : str
        barrier, bcast, reduce, allreduce, gather, allgather, scatter, alltoall, reduce_scatter, scan, exscan or
        neighbor_alltoall.
    ranks : int
    bytes : int
        bcast, reduce, allreduce, scan, exscan: of the vector; gather, allgather, scatter, alltoall, reduce_scatter: of
        one rank's block.
    algorithm : str or (str, dict), optional
        One of :func:`algorithms`, by default the first, and its options; :func:`describe` says which there are.
        ``access``, ``sync`` and ``protocol`` among the options count before the arguments of these names.
    root : int
        Root of bcast, reduce, gather and scatter.
    counts : array of int, optional
        Bytes in place of equal blocks. gather, allgather, scatter, reduce_scatter: of each rank's block; alltoall: a
        matrix, from rank i to rank j in row i and column j; neighbor_alltoall (which needs it): a row of sender,
        receiver and bytes for every message.
    in_place : bool
        What a rank contributes to its own result is there already (MPI_IN_PLACE): no copies of own blocks.
    buffers : bool
        Operations say which parts of the buffers "input", "output" and "scratch" they read and write. Without, what a
        rank packs for a message is copied by one operation for each message that it came with.
    access : {"message", "put", "get"}
        How data move: by messages, or by puts or gets with messages of 0 bytes that say when data are there and when
        buffers are free (:meth:`isthmus.Schedule.one_sided`).
    sync : {"none", "my", "all"} or pair of them
        What ranks wait for on entry and on exit, as in UPC. "all": for all ranks, by a barrier (strict). "my": for what
        their own data need; before a put its target says that the buffer is free. "none" (loose): buffers that receive
        first count as free; on exit as "my".
    protocol : {"size", "eager", "rendezvous"}
        Protocol of messages: chosen by size, as the machine does, or always the same.
    count : int
        So many of the collective, one begun after the other, each with its own buffers.
    under_way : int
        At most so many of them at once on a rank; 0: all.
    ordered : bool
        The operator does not commute: algorithms that do not combine operands in the order of ranks are refused.

    Returns
    -------
    Schedule
        Its messages have tag 0 and communicator 0.

    Raises
    ------
    InvalidInput
        For unknown names (the message lists the allowed ones), a root that is no rank, and counts that do not fit.

    Examples
    --------
    >>> print(collective("allreduce", ranks=4, bytes=1000, algorithm="ring"))
    Schedule of 4 ranks, 60 operations (24 send, 24 recv, 12 reduce), 6 kB in 24 messages, 80 dependencies
    """
    from ..schedule.schedule import Schedule

    numbers = {name: _number(name, value) for name, value in (("ranks", ranks), ("bytes", bytes), ("root", root))}
    algorithm, flavour = split(algorithm)
    if ordered:
        from .order import require_order

        require_order(kind, algorithm, ranks=numbers["ranks"], root=numbers["root"])
    access, protocol = flavour.get("access", access), flavour.get("protocol", protocol)
    sync = flavour.get("sync", sync)
    name, options = named(algorithm)
    made = Schedule(
        _core.collective_schedule(
            kind,
            name,
            **numbers,
            counts=_flat(kind, numbers["ranks"], counts),
            options=options,
            in_place=bool(in_place),
            buffers=bool(buffers),
        )
    )
    if (access, sync, protocol, count) == ("message", "my", "size", 1):
        return made
    return flavoured(made, access, sync, protocol, count, under_way)


def named(algorithm: Choice | None) -> tuple[str, list[tuple[str, list[int]]]]:
    """Name and options of a choice, as the core takes them; an empty name is the default.

    Raises
    ------
    InvalidInput
        For what is neither a name nor a pair of name and options, and for options that are no numbers.
    """
    if algorithm is None:
        return "", []
    if isinstance(algorithm, str):
        return algorithm, []
    if not (
        isinstance(algorithm, Sequence)
        and len(algorithm) == 2
        and isinstance(algorithm[0], str)
        and isinstance(algorithm[1], Mapping)
    ):
        raise InvalidInput(f"algorithm {algorithm!r}: a name, or a pair of a name and its options, is allowed")
    return algorithm[0], [(str(key), _values(str(key), value)) for key, value in algorithm[1].items()]


def _values(name: str, value: Any) -> list[int]:
    """An option's numbers, times in picoseconds."""
    out = []
    for one in value if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str) else [value]:
        if name in _TIMES and isinstance(one, (int, float, np.number)) and 0 <= one < 9e6:
            out.append(round(float(one) * 1e12))
            continue
        try:
            number = operator.index(one)
        except TypeError:
            number = -1
        if not 0 <= number < 2**63:
            raise InvalidInput(f"option {name} = {one!r}: whole numbers below 2^63 are allowed")
        out.append(number)
    return out


def _number(name: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidInput(f"{name} is {value!r}: a whole number is needed") from None
    if not 0 <= number <= _LARGEST[name]:
        raise InvalidInput(f"{name} is {number}: 0 to {_LARGEST[name]} is allowed")
    return number


def _flat(kind: str, ranks: int, counts: ArrayLike | None) -> NDArray[np.int64]:
    if counts is None:
        return np.empty(0, np.int64)
    given = np.asarray(counts)
    if given.size == 0:
        given = given.astype(np.int64)
    if given.dtype.kind not in "iu" or (given.size and int(given.max()) > _LARGEST["bytes"]):
        raise InvalidInput(f"counts of {kind} have type {given.dtype}: whole numbers below 2^63 are allowed")
    shape = {"alltoall": (ranks, ranks), "neighbor_alltoall": (len(given) if given.ndim else 0, 3)}.get(kind, (ranks,))
    if given.shape != shape and not (kind == "neighbor_alltoall" and given.size == 0):
        raise InvalidInput(f"counts of {kind} have shape {given.shape}: {shape} is needed")
    return np.ascontiguousarray(given, dtype=np.int64).reshape(-1)
