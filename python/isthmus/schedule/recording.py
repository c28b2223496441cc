"""The Recording: measurements of a run, beside the Program of what it did."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from ..units import percent
from . import columns
from .details import ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .counters import Counters

#: Site of a call whose place in the program is not known.
NONE = 0xFFFFFFFF
#: Bits of ``ending``: how a rank came to its end.
FINALIZED, ABORTED, SIGNALLED, EXITED, FULL, LOST_CALLS, LIMITED = 1, 2, 4, 8, 16, 32, 64
#: Share of the wall time below which processor time says that ranks had to wait for processors: MPI libraries wait by
#: polling, which takes a processor too.
_BUSY = 0.7

RANK_COLUMNS: dict[str, Any] = {
    "host": np.uint32,
    "cpus": np.uint32,
    "cpus_online": np.uint32,
    "ending": np.uint32,
    "wall": np.float64,
    "cpu": np.float64,
    "init": np.float64,
    "finalize": np.float64,
    "recorder": np.float64,
    "memory": np.int64,
    "lost": np.uint64,
    "clock_error": np.float64,
}
#: Where call paths are known: those of calls, the tree, and what is known of places beside their texts.
PATH_COLUMNS: dict[str, Any] = {"path": np.uint32, "path_parent": np.uint32, "path_site": np.uint32}
PATH_TEXTS = ("site_function", "site_module")
#: Columns of one element per rank, or of none where nothing is known.
OPTIONAL_RANK_COLUMNS: dict[str, Any] = {"cpus_shared": np.uint32, "signal": np.int32, "overhead": np.float64}
CALL_COLUMNS: dict[str, Any] = {
    "function": np.uint16,
    "site": np.uint32,
    "begin": np.int64,
    "end": np.int64,
    "count": np.uint32,
    "sent": np.uint64,
    "received": np.uint64,
    "peer": np.int32,
    "comm": np.uint32,
    "wait": np.int64,
    "thread": np.uint16,
    "event": np.int64,
}


@dataclass(frozen=True, eq=False, repr=False, slots=True, kw_only=True)
class Recording:
    """Measurements of a recorded run, as immutable columns with one element per rank or per call.

    Arrays are not copied. Times of calls are whole nanoseconds, other times are seconds.

    Attributes
    ----------
    command, directory, started, library : str
        Command, working directory, start time (ISO 8601, UTC), and the MPI library's name for itself.
    mpi : (int, int)
        Version of the MPI standard that the library implements; (0, 0) if unknown.
    version : str
        Version of Isthmus that made the recording.
    hosts : tuple of str
        Names of the distinct hosts.
    host : array of uint32, ranks
        Index into ``hosts``.
    cpus, cpus_online : arrays of uint32, ranks
        Number of processors that the rank may run on, and that its host has; 0: unknown.
    ending : array of uint32, ranks
        How the rank ended, as bits: FINALIZED 1, ABORTED 2, SIGNALLED 4, EXITED 8, FULL 16 (no room for later records),
        LOST_CALLS 32, LIMITED 64 (with FULL: because of the limit).
    wall, cpu : arrays of float64, ranks
        Seconds from the end of MPI_Init to the beginning of MPI_Finalize, or to the last known event of the rank, and
        processor seconds of the process until then; nan: unknown.
    init, finalize : arrays of float64, ranks
        Seconds in MPI_Init and MPI_Finalize; nan: not called, or unknown.
    recorder : array of float64, ranks
        Seconds that the recorder used in MPI_Init and MPI_Finalize.
    memory : array of int64, ranks
        Memory used by the recorder, bytes.
    lost : array of uint64, ranks
        Number of calls that were not recorded.
    clock_error : array of float64, ranks
        Largest error of the rank's times relative to those of rank 0, seconds.
    first : array of uint64, ranks + 1
        Calls of rank r are ``first[r]`` up to ``first[r + 1]``, in the order in which they began.
    function : array of uint16
        Index into ``functions``.
    site : array of uint32
        Index into ``sites``, or all ones: the place in the program's own code (see ``isthmus.recording.own``) where
        paths are known, else that of the call.
    begin, end : arrays of int64
        Nanoseconds since the start of the recording, by the clock of rank 0.
    count : array of uint32
        Number of calls that the element stands for: polls that found nothing are merged into one.
    sent, received : arrays of uint64
        Bytes of messages and collectives that the call passed to MPI, and received from it. Nonblocking receives count
        where they complete.
    peer : array of int32
        World rank of the partner if there is exactly one; otherwise -1.
    comm : array of uint32
        Communicator of the Program; 0 where there is none.
    wait : array of int64
        For collectives, nanoseconds until the last rank arrived; -1: unknown, or not a collective.
    thread : array of uint16
        Thread of the process, from 0.
    event : array of int64
        First event of the Program that results from this call; -1: none.
    functions, sites : tuples of str
        Names such as "MPI_Isend", and places such as "halo2d.c:57".
    untimed : dict of str to array of uint64, ranks
        Functions that are only counted.
    unmodelled : dict of str to int
        Functions whose effect the Program does not contain, with the number of calls.
    notes : tuple of str
        Other findings of the trace reader, as sentences.
    cpus_shared : array of uint32, ranks
        Processors that the ranks of the same host may run on, all together; empty: not known.
    signal : array of int32, ranks
        Signal that ended the rank, negative if another process sent it; 0: none that was seen; empty: not known.
    overhead : array of float64, ranks
        Seconds that the recorder took between calls, which no computation contains; empty: not known.
    path : array of uint32
        Call path of every call, or all ones; empty: not known.
    path_parent, path_site : arrays of uint32
        For every path, the path of its caller, which comes before it, or all ones; and the place in it, an index into
        ``sites``.
    site_function, site_module : tuples of str
        For every place, the function around it and the file that holds its code; empty: not known.
    counters : Counters or None
        Counts of processor counters between calls; None if nothing was counted.
    uncounted : tuple of str
        Reasons why requested counters are missing, as sentences.

    Raises
    ------
    InvalidInput
        If columns do not fit each other.
    """

    command: str
    directory: str
    started: str
    library: str
    mpi: tuple[int, int]
    version: str
    hosts: tuple[str, ...]
    host: NDArray[np.uint32]
    cpus: NDArray[np.uint32]
    cpus_online: NDArray[np.uint32]
    ending: NDArray[np.uint32]
    wall: NDArray[np.float64]
    cpu: NDArray[np.float64]
    init: NDArray[np.float64]
    finalize: NDArray[np.float64]
    recorder: NDArray[np.float64]
    memory: NDArray[np.int64]
    lost: NDArray[np.uint64]
    clock_error: NDArray[np.float64]
    first: NDArray[np.uint64]
    function: NDArray[np.uint16]
    site: NDArray[np.uint32]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    count: NDArray[np.uint32]
    sent: NDArray[np.uint64]
    received: NDArray[np.uint64]
    peer: NDArray[np.int32]
    comm: NDArray[np.uint32]
    wait: NDArray[np.int64]
    thread: NDArray[np.uint16]
    event: NDArray[np.int64]
    functions: tuple[str, ...]
    sites: tuple[str, ...]
    untimed: dict[str, NDArray[np.uint64]] = field(default_factory=dict)
    unmodelled: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    cpus_shared: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, np.uint32))
    path: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, np.uint32))
    path_parent: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, np.uint32))
    path_site: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, np.uint32))
    site_function: tuple[str, ...] = ()
    site_module: tuple[str, ...] = ()
    signal: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    overhead: NDArray[np.float64] = field(default_factory=lambda: np.empty(0, np.float64))
    counters: Counters | None = None
    uncounted: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        kinds = {**RANK_COLUMNS, **CALL_COLUMNS, **PATH_COLUMNS, **OPTIONAL_RANK_COLUMNS, "first": np.uint64}
        for name, dtype in kinds.items():
            object.__setattr__(self, name, columns.frozen(_column(name, getattr(self, name), dtype)))
        for name in ("hosts", "functions", "sites", "notes", "uncounted", *PATH_TEXTS):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        counted = {name: columns.frozen(_column(name, c, np.uint64)) for name, c in self.untimed.items()}
        object.__setattr__(self, "untimed", counted)
        self._check()
        self.drop()

    def drop(self) -> None:
        """Take the columns of calls that are mapped from files off the memory of the process; they are still there."""
        for name in (*CALL_COLUMNS, "path"):
            columns.drop(getattr(self, name))

    def _check(self) -> None:
        ranks, calls = self.ranks, len(self.function)
        per_rank = {name: getattr(self, name) for name in RANK_COLUMNS} | self.untimed
        per_rank |= {name: column for name in OPTIONAL_RANK_COLUMNS if len(column := getattr(self, name))}
        for name, column in per_rank.items():
            if len(column) != ranks:
                raise InvalidInput(f"{name} of a recording has {len(column)} elements for {ranks} ranks")
        for name in CALL_COLUMNS:
            if len(getattr(self, name)) != calls:
                raise InvalidInput(f"{name} of a recording has {len(getattr(self, name))} elements for {calls} calls")
        first = self.first
        if ranks < 1 or first[0] != 0 or first[-1] != calls or (first[1:] < first[:-1]).any():
            raise InvalidInput(f"first of a recording must rise from 0 to the number of calls, {calls}")
        for name, names, none in (
            ("host", self.hosts, False),
            ("function", self.functions, False),
            ("site", self.sites, True),
        ):
            column = getattr(self, name)
            for part in columns.blocks(len(column)):
                wrong = (column[part] >= len(names)) & ((column[part] != NONE) | (not none))
                if wrong.any():
                    at = part.start + int(np.argmax(wrong))
                    raise InvalidInput(
                        f"{name} {column[at]} of a recording (element {at}) does not exist: there are {len(names)}"
                    )
            columns.drop(column)
        self._check_paths()
        if self.counters is not None:
            self.counters.check(ranks, len(self.path_parent))
        if calls and (self.peer.max() >= ranks or self.peer.min() < -1):
            raise InvalidInput(f"a recording names a peer that is not one of its {ranks} ranks")

    def _check_paths(self) -> None:
        paths = len(self.path_parent)
        if not paths and not len(self.path):
            return
        for name, size in (
            ("path", len(self)),
            ("path_site", paths),
            *((name, len(self.sites)) for name in PATH_TEXTS),
        ):
            if len(getattr(self, name)) != size:
                raise InvalidInput(f"{name} of a recording has {len(getattr(self, name))} elements, not {size}")
        parts = (self.path[part] for part in columns.blocks(len(self.path)))
        if any(((part >= paths) & (part != NONE)).any() for part in parts):
            raise InvalidInput(f"a recording names a path that does not exist: there are {paths}")
        if ((self.path_parent >= np.arange(paths)) & (self.path_parent != NONE)).any():
            raise InvalidInput("a path of a recording comes before the path of its caller")
        if (self.path_site >= len(self.sites)).any():
            raise InvalidInput(
                f"path_site of a recording names a place that does not exist: there are {len(self.sites)}"
            )

    @property
    def ranks(self) -> int:
        return len(self.first) - 1

    def __len__(self) -> int:
        return len(self.function)

    def rank_of_calls(self) -> NDArray[np.uint32]:
        """Return the rank of every call."""
        return np.repeat(np.arange(self.ranks, dtype=np.uint32), columns.lengths(self.first))

    @property
    def oversubscribed(self) -> str | None:
        """A sentence why the times in MPI say little, or None if they can be trusted.

        That is where more ranks are on a host than processors they may run on, or where they got less than 70 % of
        their time on a processor.
        """
        for host, name in enumerate(self.hosts):
            here = np.flatnonzero(self.host == host)
            cpus = self._cpus_of(here)
            if 0 < cpus < len(here):
                return f"{len(here)} ranks on {name} shared {cpus} {'processor' if cpus == 1 else 'processors'}"
        known = np.isfinite(self.wall) & np.isfinite(self.cpu) & (self.wall > 0)
        wall, cpu = float(self.wall[known].sum()), float(self.cpu[known].sum())
        if wall > 0 and cpu < _BUSY * wall:
            return f"the ranks were on a processor for {percent(cpu / wall, 0)} of their time only"
        return None

    def _cpus_of(self, ranks: NDArray[np.intp]) -> int:
        """Processors that these ranks of one host may run on together; 0: not known."""
        if not len(ranks):
            return 0
        if len(self.cpus_shared):
            return int(self.cpus_shared[ranks].max())
        # Ranks that are bound to processors of their own add up, others have all of the host.
        return min(int(self.cpus_online[ranks].max()), int(self.cpus[ranks].sum()))

    def relabelled(self, to: NDArray[Any], events: NDArray[np.int64]) -> Recording:
        """Return the recording with rank r renumbered as ``to[r]`` and event i of the Program as ``events[i]``."""
        at = np.empty(self.ranks, np.int64)
        at[to] = np.arange(self.ranks)
        lengths = columns.lengths(self.first)
        order = ranges(self.first[at], lengths[at])
        changed: dict[str, Any] = {name: getattr(self, name)[at] for name in RANK_COLUMNS}
        changed |= {name: getattr(self, name)[order] for name in CALL_COLUMNS}
        changed["untimed"] = {name: column[at] for name, column in self.untimed.items()}
        changed["first"] = np.concatenate([[0], np.cumsum(lengths[at])]).astype(np.uint64)
        changed["peer"] = _renamed(changed["peer"], np.asarray(to, np.int32))
        changed["event"] = _renamed(changed["event"], events)
        changed |= {name: column[at] for name in OPTIONAL_RANK_COLUMNS if len(column := getattr(self, name))}
        if len(self.path):
            changed["path"] = self.path[order]
        if self.counters is not None:
            changed["counters"] = self.counters.relabelled(to)
        return replace(self, **changed)

    def differences(self, other: Recording) -> list[str]:
        """Return the names of the attributes in which two recordings differ."""

        def same(a: Any, b: Any) -> bool:
            if isinstance(a, np.ndarray):
                return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))
            if isinstance(a, dict):
                return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
            return bool(a == b)

        return [f.name for f in fields(self) if not same(getattr(self, f.name), getattr(other, f.name))]

    def __repr__(self) -> str:
        return f"<Recording: {self.ranks} ranks, {len(self)} calls of {self.command!r}>"


def _column(name: str, values: Any, dtype: Any) -> NDArray[Any]:
    if np.dtype(dtype).kind == "f":
        return columns.numbers(name, values)
    return columns.integers(name, values, dtype, np.iinfo(dtype).min)


def _renamed(column: NDArray[Any], to: NDArray[Any]) -> NDArray[Any]:
    """Elements that are indices, renamed; negative ones stay."""
    if not len(to):
        return column
    return np.where(column >= 0, to[np.maximum(column, 0)], column).astype(column.dtype)
