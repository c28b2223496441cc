"""The Program: what each rank does, in terms of MPI, as columns of events."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InvalidInput
from ..tabular import Tabular
from ..views import view
from . import columns
from .event import ANY as ANY
from .event import EVENT_COLUMNS as EVENT_COLUMNS
from .event import NO_COMMUNICATOR as NO_COMMUNICATOR
from .event import NONE as NONE
from .event import NULL as NULL
from .event import OPTIONAL_COLUMNS as OPTIONAL_COLUMNS
from .event import PEERED as PEERED
from .event import REDUCTIONS as REDUCTIONS
from .event import ROOTED as ROOTED
from .event import SENDS as SENDS
from .event import TABLES as TABLES
from .event import CollectiveKind as CollectiveKind
from .event import Event as Event
from .event import EventKind as EventKind
from .recording import Recording
from .summary import counted


def _empty(dtype: type[np.generic]) -> NDArray[Any]:
    return np.empty(0, dtype)


@dataclass(frozen=True, eq=False, repr=False, slots=True, kw_only=True)
class Program(Tabular):
    """The events of each rank in terms of MPI, as immutable columns.

    Make one with :class:`ProgramBuilder` or :func:`isthmus.read`. Arrays are not copied.

    Attributes
    ----------
    first : array of uint64, ranks + 1
        Events of rank r are ``first[r]`` up to ``first[r + 1]``, in their order.
    kind : array of uint8
        :class:`EventKind`.
    what : array of uint8
        :class:`CollectiveKind` of a collective, otherwise 0.
    peer : array of int32
        Rank within the communicator, ``ANY`` or ``NULL``; root of a collective; flush and unlock: ``ANY`` for all.
    tag : array of int32
        Tag of point-to-point messages, or ``ANY``; for reductions 1 where the operator does not commute, 0 where it
        does or is not known.
    comm : array of uint32
        Communicator; comm_create: the parent; one-sided: the window's.
    amount : array of uint64
        Bytes; compute: picoseconds; waitany: index of the completed request; test: 1 if completed; comm_create: the new
        communicator, all ones if the rank is in none; iteration: its number.
    request : array of uint32
        From 1, unique among those open on the rank; 0: none.
    detail : array of uint32
        0: none; otherwise ``details[detail]`` numbers follow there. sendrecv: source, receive tag, receive bytes;
        waitall and waitany: requests (waitall without: all open ones); gather, allgather, scatter, reduce_scatter:
        bytes of every rank's block; alltoall: bytes to each, then bytes from each; neighbor_alltoall: triples of
        neighbour, bytes to it, bytes from it.
    details : array of int64
        Element 0 is unused. By default there are none.
    comm_first, comm_ranks : arrays of uint64 and uint32
        Members of communicator c are ``comm_ranks[comm_first[c] : comm_first[c + 1]]``; communicator 0 is the world,
        which is all that there is by default.
    location, phase : arrays of uint32
        Indices into ``locations`` and ``phases``, all ones for none; empty where nothing is known.
    locations, phases : tuples of str
    recording : Recording or None
        What was measured, if the program was recorded. It is ignored when programs are compared for equality.
    origin : str
        What is to be said beside results, as a sentence: from where a program was extrapolated, or that the problem of
        a skeleton has no part for some of its ranks. It is ignored when programs are compared.

    Raises
    ------
    InvalidInput
        If columns do not fit each other. Call :meth:`validate` to check that the program makes sense.
    """

    first: NDArray[np.uint64]
    kind: NDArray[np.uint8]
    what: NDArray[np.uint8]
    peer: NDArray[np.int32]
    tag: NDArray[np.int32]
    comm: NDArray[np.uint32]
    amount: NDArray[np.uint64]
    request: NDArray[np.uint32]
    detail: NDArray[np.uint32]
    details: NDArray[np.int64] = field(default_factory=partial(_empty, np.int64))
    comm_first: NDArray[np.uint64] = field(default_factory=partial(_empty, np.uint64))
    comm_ranks: NDArray[np.uint32] = field(default_factory=partial(_empty, np.uint32))
    location: NDArray[np.uint32] = field(default_factory=partial(_empty, np.uint32))
    phase: NDArray[np.uint32] = field(default_factory=partial(_empty, np.uint32))
    locations: tuple[str, ...] = ()
    phases: tuple[str, ...] = ()
    recording: Recording | None = None
    origin: str = ""

    def __post_init__(self) -> None:
        defaults = {
            "details": np.zeros(1, np.int64),
            "comm_first": np.array([0, max(len(self.first) - 1, 0)], np.uint64),
            "comm_ranks": np.arange(len(self.first) - 1, dtype=np.uint32),
        }
        if len(self.comm_first):
            del defaults["comm_first"], defaults["comm_ranks"]
        for name, dtype in {**EVENT_COLUMNS, **OPTIONAL_COLUMNS, **TABLES}.items():
            given = getattr(self, name)
            if not len(given) and name in defaults:
                given = defaults[name]
            column = columns.integers(name, given, dtype, np.iinfo(dtype).min)
            object.__setattr__(self, name, columns.frozen(column))
        object.__setattr__(self, "locations", tuple(self.locations))
        object.__setattr__(self, "phases", tuple(self.phases))
        from .program_checks import check_columns, check_recording

        check_columns(self)
        if self.recording is not None:
            check_recording(self, self.recording)

    @property
    def ranks(self) -> int:
        return len(self.first) - 1

    @property
    def communicators(self) -> int:
        """Number of communicators, including the world."""
        return len(self.comm_first) - 1

    def __len__(self) -> int:
        return len(self.kind)

    def drop(self) -> None:
        """Take the columns that are mapped from files off the memory of the process; they are still there."""
        for name in (*EVENT_COLUMNS, *OPTIONAL_COLUMNS, "details"):
            columns.drop(getattr(self, name))
        if self.recording is not None:
            self.recording.drop()

    def members(self, comm: int) -> NDArray[np.uint32]:
        """Return the world ranks of a communicator, in its order."""
        if not 0 <= comm < self.communicators:
            raise InvalidInput(f"communicator {comm} does not exist: there are {self.communicators}")
        return self.comm_ranks[self.comm_first[comm] : self.comm_first[comm + 1]]

    def rank_of_events(self) -> NDArray[np.uint32]:
        """Return the rank of every event."""
        return np.repeat(np.arange(self.ranks, dtype=np.uint32), columns.lengths(self.first))

    def expanded(self, index: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the details of the events ``index``, one after another, and how many each event has (or 0)."""
        from .details import expand

        return expand(self.details, self.detail[index])

    def frame(self) -> dict[str, NDArray[Any]]:
        """Return all events as columns, one row per event.

        Returns
        -------
        dict of str to array
            rank, event (its number within the rank), kind and what in words, peer, tag, comm, amount and request; also
            location and phase in words, if known.
        """
        of = columns.lengths(self.first)
        kinds, whats = (np.array(["", *(member.name for member in words)]) for words in (EventKind, CollectiveKind))
        out: dict[str, NDArray[Any]] = {
            "rank": np.repeat(np.arange(self.ranks), of),
            "event": np.arange(len(self)) - np.repeat(self.first[:-1].view(np.int64), of),
            "kind": kinds[self.kind],
            "what": whats[self.what],
        }
        out |= {name: getattr(self, name) for name in ("peer", "tag", "comm", "amount", "request")}
        for name, words in (("location", self.locations), ("phase", self.phases)):
            index = getattr(self, name)
            if len(index):
                out[name] = np.array([*words, ""])[np.where(index == NONE, len(words), index)]
        return out

    def events(self, rank: int) -> list[Event]:
        """Return the events of one rank in readable form; ``str`` of each is a line.

        Examples
        --------
        >>> import isthmus
        >>> b = isthmus.ProgramBuilder(2)
        >>> b.send(0, 1, 8)
        >>> b.recv(1, 0, 8)
        >>> b.allreduce(None, 1000)
        >>> for event in b.build().events(1):
        ...     print(event)
        recv 8 B from 0 tag 0
        allreduce 1 kB
        """
        from .events import events_of

        return events_of(self, rank)

    def validate(self) -> None:
        """Check that the program makes sense.

        Raises
        ------
        InvalidInput
            Naming rank, event within the rank, and reason: a peer outside its communicator, a rank outside the
            communicator that it uses, a request that is unknown or opened twice, details that do not fit, collectives
            that the members of a communicator do not call alike.
        """
        from .program_checks import check_meaning

        check_meaning(self)

    def relabel(self, permutation: ArrayLike) -> Program:
        """Return the program with rank ``r`` renumbered as ``permutation[r]``.

        Point-to-point messages keep their partners. The world is in the order of the new ranks, other communicators
        keep the order of their members. A recording is relabelled too.

        Raises
        ------
        InvalidInput
            If it is not a permutation of the ranks.
        """
        from .details import relabelled

        return relabelled(self, columns.integers("permutation", permutation, np.uint32))

    def save(self, path: str | os.PathLike[str], *, compression: str = "auto") -> None:
        """Write an HDF5 file (``.h5`` or ``.hdf5``), atomically.

        Parameters
        ----------
        compression : {"auto", "gzip", "none"}
            See :mod:`isthmus.schedule.hdf5`.
        """
        if os.path.splitext(path)[1] not in (".h5", ".hdf5"):
            raise InvalidInput(f"{os.fspath(path)!r} must end in .h5 or .hdf5: programs are saved as HDF5")
        view("Program.save")(self, path, compression=compression)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Program):
            return NotImplemented
        names = [f.name for f in fields(self) if f.name not in ("detail", "details", "recording", "origin")]
        if not all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names):
            return False
        # Where details lie does not matter, what they are does.
        if not np.array_equal(self.detail != 0, other.detail != 0):
            return False
        index = np.flatnonzero(self.detail)
        mine, theirs = self.expanded(index), other.expanded(index)
        return all(np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Program: {counted(self.ranks, 'rank')}, {counted(len(self), 'event')}>"

    def __str__(self) -> str:
        from .tally import Tally

        return str(Tally.of(self))
