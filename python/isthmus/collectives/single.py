"""The verb ``collective``: the schedule of a single collective."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..errors import InvalidInput
from ..schedule.schedule import Schedule
from .flavours import flavoured, split
from .order import require_order
from .registry import Choice, named

_LARGEST = {"ranks": 2**32 - 2, "bytes": 2**63 - 1, "root": 2**32 - 2}


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
    """Return the schedule of one collective call on all ranks.

    Parameters
    ----------
    kind : str
        barrier, bcast, reduce, allreduce, gather, allgather, scatter, alltoall, reduce_scatter, scan, exscan or
        neighbor_alltoall.
    ranks : int
    bytes : int
        Size in bytes: of the vector for bcast, reduce, allreduce, scan and exscan; of one rank's block for gather,
        allgather, scatter, alltoall and reduce_scatter.
    algorithm : str or (str, dict), optional
        One of :func:`algorithms`, by default the first, and its options, which :func:`describe` lists. ``access``,
        ``sync`` and ``protocol`` among the options take precedence over the arguments of these names.
    root : int
        Root of bcast, reduce, gather and scatter.
    counts : array of int, optional
        Bytes in place of equal blocks. gather, allgather, scatter, reduce_scatter: of each rank's block; alltoall: a
        matrix, from rank i to rank j in row i and column j; neighbor_alltoall (which needs it): a row of sender,
        receiver and bytes for every message.
    in_place : bool
        The contribution of a rank to its own result is already in place (MPI_IN_PLACE), so that own blocks are not
        copied.
    buffers : bool
        Operations name the parts of the buffers "input", "output" and "scratch" that they read and write. If False,
        data that a rank packs for a message are copied by one operation for each message in which they arrived.
    access : {"message", "put", "get"}
        How data move: by messages, or by puts or gets with messages of 0 bytes that say when data are there and when
        buffers are free (:meth:`isthmus.Schedule.one_sided`).
    sync : {"none", "my", "all"} or pair of them
        What ranks wait for on entry and on exit, as in UPC. "all": for all ranks, by a barrier (strict). "my": for what
        their own data need; before a put its target says that the buffer is free. "none" (loose): buffers that receive
        first count as free, and on exit nobody is told that an access has ended unless something waits for it.
    protocol : {"size", "eager", "rendezvous"}
        Protocol of messages: chosen by size, as the machine does, or always the same.
    count : int
        Number of calls, started one after the other, each with its own buffers.
    under_way : int
        Largest number of calls in progress at once on a rank; 0: no limit.
    ordered : bool
        The operator does not commute; algorithms that do not combine operands in rank order are refused.

    Returns
    -------
    Schedule
        Its messages have tag 0 and communicator 0.

    Raises
    ------
    InvalidInput
        If a name is unknown (the message lists the known ones), the root is not a rank, or counts do not fit.

    Examples
    --------
    >>> print(collective("allreduce", ranks=4, bytes=1000, algorithm="ring"))
    Schedule of 4 ranks, 60 operations (24 send, 24 recv, 12 reduce), 6 kB in 24 messages, 80 dependencies
    """
    numbers = {name: number(name, value) for name, value in (("ranks", ranks), ("bytes", bytes), ("root", root))}
    algorithm, flavour = split(algorithm)
    if ordered:
        require_order(kind, algorithm, ranks=numbers["ranks"], root=numbers["root"])
    access, protocol = flavour.get("access", access), flavour.get("protocol", protocol)
    sync = flavour.get("sync", sync)
    name, options = named(algorithm)
    made = Schedule(
        _core.collective_schedule(
            kind,
            name,
            **numbers,
            counts=flat(kind, numbers["ranks"], counts),
            options=options,
            in_place=bool(in_place),
            buffers=bool(buffers),
        )
    )
    if (access, sync, protocol, count) == ("message", "my", "size", 1):
        return made
    barrier = partial(collective, "barrier", ranks=numbers["ranks"])
    return flavoured(made, barrier, access, sync, protocol, count, under_way)


def number(name: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidInput(f"{name} is {value!r}: expected a whole number") from None
    if not 0 <= number <= _LARGEST[name]:
        raise InvalidInput(f"{name} is {number}: must be 0 to {_LARGEST[name]}")
    return number


def flat(kind: str, ranks: int, counts: ArrayLike | None) -> NDArray[np.int64]:
    if counts is None:
        return np.empty(0, np.int64)
    given = np.asarray(counts)
    if given.size == 0:
        given = given.astype(np.int64)
    if given.dtype.kind not in "iu" or (given.size and int(given.max()) > _LARGEST["bytes"]):
        raise InvalidInput(f"counts of {kind} have type {given.dtype}: must be whole numbers below 2^63")
    shape = {"alltoall": (ranks, ranks), "neighbor_alltoall": (len(given) if given.ndim else 0, 3)}.get(kind, (ranks,))
    if given.shape != shape and not (kind == "neighbor_alltoall" and given.size == 0):
        raise InvalidInput(f"counts of {kind} have shape {given.shape}: expected {shape}")
    return np.ascontiguousarray(given, dtype=np.int64).reshape(-1)
