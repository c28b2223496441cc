"""The profile of a recorded program: time and bytes of its calls by function, place, rank and size."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput
from ..lowering.pattern import pattern
from ..schedule import columns
from ..schedule.pattern import Pattern
from ..schedule.program import NULL, SENDS, EventKind, Program
from ..schedule.recording import NONE, Recording
from ..schedule.shape import Shape, shape
from ..tabular import Shown, Tabular
from ..views import view
from .by_function import FunctionTree, by_function

#: What functions are for, by name.
CATEGORIES = {
    "collective": "I?(Neighbor_)?(Barrier|Bcast|Gatherv?|Scatterv?|Allgatherv?|Alltoall[vw]?|Reduce|Allreduce"
    "|Reduce_scatter(_block)?|Scan|Exscan)",
    "message": r"I?[bsr]?send|I?m?recv|I?sendrecv(_replace)?|Start(all)?|P(ready|send|recv)\w*",
    "completion": r"(Wait|Test)(all|any|some)?|I?m?probe|Request_get_status\w*|Parrived",
    "one-sided": r"R?(put|get|accumulate|get_accumulate)|Fetch_and_op|Compare_and_swap|Win_\w+",
    "I/O": r"File_\w+|Register_datarep",
}
#: The same of libisthmus.
_OF_ISTHMUS = {
    "collective": "notify|barrier|barrier_of|broadcast|scatter|gather|gather_all|exchange_all|permute|(prefix_)?reduce"
    "|run|begin",
    "message": "request(_to)?|reply(_to)?|prepare|commit|handler|put_signal",
    "completion": "(test|wait)(_event|_all|_signal)?|(try_)?await|poll",
    "one-sided": r"(begin_)?(put|get)(_strided|_vector|_indexed)?|set|read|write|fence|atomic|(try_)?lock|unlock",
}
_CATEGORIES = {
    name: re.compile(f"MPI_({text})(_init)?(_c)?|isthmus_({_OF_ISTHMUS.get(name, '')})", re.IGNORECASE)
    for name, text in CATEGORIES.items()
}
# Their time is not part of that between them, which is what ranks are compared by.
_FRAME = re.compile("MPI_(Init(_thread)?|Finalize|Session_(init|finalize))|isthmus_(join|leave)")
_MAKING = re.compile("MPI_.*_init(_c)?")
_STARTING = re.compile("MPI_Start(all)?")
# Tables of all combinations are used up to so many elements.
_DENSE = 1 << 26
_LARGEST = 10


def category(function: str) -> str:
    """Return the category of a function: a key of CATEGORIES, or ``"other"``.

    Examples
    --------
    >>> category("MPI_Iallreduce"), category("MPI_Waitall"), category("MPI_Comm_split")
    ('collective', 'completion', 'other')
    >>> category("isthmus_put")
    'one-sided'
    """
    return next((name for name, pattern in _CATEGORIES.items() if pattern.fullmatch(function)), "other")


def _columns(table: Any) -> dict[str, NDArray[Any]]:
    return {f.name: getattr(table, f.name) for f in fields(table)}


@dataclass(frozen=True, eq=False, slots=True)
class CallTable(Tabular):
    """Sums over calls, one element per function, or per function and call site; the longest time comes first.

    Attributes
    ----------
    function, site : arrays of int
        Indices into ``functions`` and ``sites`` of the recording; site NONE: unknown, or (by function) all.
    calls : array of uint64
        Number of calls, including polls that found nothing.
    ranks : array of uint32
        Number of ranks that call.
    time, longest : arrays of float64
        Seconds of all calls, and of the longest one; nan if times are meaningless. A series of polls takes the time
        from the first to the last, and does not count as a longest call.
    waiting, communicating : arrays of float64
        Seconds of collectives until the last rank arrived, and after that; nan if unknown.
    sent, received : arrays of uint64
        Bytes passed to MPI and received from it.
    """

    function: NDArray[np.int64]
    site: NDArray[np.int64]
    calls: NDArray[np.uint64]
    ranks: NDArray[np.uint32]
    time: NDArray[np.float64]
    longest: NDArray[np.float64]
    waiting: NDArray[np.float64]
    communicating: NDArray[np.float64]
    sent: NDArray[np.uint64]
    received: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.function)

    def frame(self) -> dict[str, NDArray[Any]]:
        """The attributes as columns."""
        return _columns(self)


@dataclass(frozen=True, eq=False, slots=True)
class RankTable(Tabular):
    """Sums per rank. Times are in seconds; times in MPI are nan if they are meaningless.

    Attributes
    ----------
    wall : array of float64
        Time from the end of MPI_Init to the beginning of MPI_Finalize.
    mpi : array of float64
        Time in MPI between them; if several threads call MPI, the mean over these threads.
    waiting, collective : array of float64
        Part of ``mpi`` spent in collectives until the last rank arrived, and in collectives altogether.
    completion : array of float64
        Part of ``mpi`` spent waiting for or testing messages.
    computing : array of float64
        Processor time outside MPI, as in the Program.
    calls, sent, received : arrays of uint64
        Number of calls, bytes passed to MPI, and bytes received from it.
    partners : array of uint32
        Number of other ranks with which the rank exchanges messages.
    """

    wall: NDArray[np.float64]
    mpi: NDArray[np.float64]
    waiting: NDArray[np.float64]
    collective: NDArray[np.float64]
    completion: NDArray[np.float64]
    computing: NDArray[np.float64]
    calls: NDArray[np.uint64]
    sent: NDArray[np.uint64]
    received: NDArray[np.uint64]
    partners: NDArray[np.uint32]

    def frame(self) -> dict[str, NDArray[Any]]:
        """Return the attributes as columns, and the rank."""
        return {"rank": np.arange(len(self.wall)), **_columns(self)}

    @property
    def share(self) -> NDArray[np.float64]:
        """Share of each rank's time spent in MPI; nan if it is meaningless."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.wall > 0, self.mpi / self.wall, np.nan)


@dataclass(frozen=True, eq=False, slots=True)
class SizeTable(Tabular):
    """Counts of sizes: element 0 counts 0 bytes, element k sizes from ``low[k] = 2**(k - 1)`` to the next bound."""

    low: NDArray[np.uint64]
    number: NDArray[np.uint64]
    bytes: NDArray[np.uint64]

    def frame(self) -> dict[str, NDArray[Any]]:
        """The attributes as columns."""
        return _columns(self)

    @classmethod
    def of(cls, sizes: NDArray[np.uint64]) -> SizeTable:
        """Return the counts of these sizes."""
        return cls.summed([sizes])

    @classmethod
    def summed(cls, parts: Iterable[NDArray[np.uint64]]) -> SizeTable:
        """Return the counts of the sizes of several parts."""
        number, total = np.zeros(0), np.zeros(0)
        for sizes in parts:
            here = cls._places(sizes)
            more = max(int(here.max(initial=-1)) + 1 - len(number), 0)
            number, total = np.pad(number, (0, more)), np.pad(total, (0, more))
            number += np.bincount(here, minlength=len(number))
            total += np.bincount(here, sizes.astype(np.float64), len(total))
        low = np.where(np.arange(len(number)) > 0, 1 << np.maximum(np.arange(len(number)) - 1, 0), 0)
        return cls(low.astype(np.uint64), number.astype(np.uint64), total.astype(np.uint64))

    @staticmethod
    def _places(sizes: NDArray[np.uint64]) -> NDArray[np.int64]:
        place = np.frexp(sizes.astype(np.float64))[1].astype(np.int64)
        # Sizes just below a power of two beyond 2**53 are rounded up to it.
        place -= (place > 0) & (sizes < np.uint64(1) << np.maximum(place - 1, 0).astype(np.uint64))
        return place


@dataclass(frozen=True, eq=False, repr=False, slots=True, kw_only=True)
class Profile(Shown):
    """Profile of a recorded program, made by :func:`isthmus.profile`; ``print`` shows it as ``isthmus show`` does.

    Attributes
    ----------
    recording : Recording
        What was measured.
    rank : int or None
        Rank whose calls, sizes and pairs are counted; None: all ranks.
    oversubscribed : str or None
        Reason why times in MPI are meaningless and therefore nan; None if they are valid.
    functions, sites : CallTable
        Calls by function, and by function and call site.
    ranks : RankTable
        Table of all ranks.
    messages, collectives : SizeTable
        Messages between two ranks, by size; and calls of collectives, by the larger of the bytes that they put in and
        get out at a rank.
    pattern : Pattern
        Who sends how much to whom, without collectives.
    shape : Shape or None
        Regular structure of the pattern.
    pairs : list of (sender, receiver, bytes, messages)
        The ten pairs that exchange most.
    tree : FunctionTree or None
        Calls by function and its callers; None if no call paths were recorded.
    """

    recording: Recording
    rank: int | None
    oversubscribed: str | None
    functions: CallTable
    sites: CallTable
    ranks: RankTable
    messages: SizeTable
    collectives: SizeTable
    pattern: Pattern
    shape: Shape | None
    pairs: list[tuple[int, int, int, int]]
    tree: FunctionTree | None

    @property
    def imbalance(self) -> float:
        """Largest computation time of a rank divided by the mean; nan if nothing is computed."""
        mean = float(self.ranks.computing.mean())
        return float(self.ranks.computing.max()) / mean if mean > 0 else float("nan")

    def function_name(self, index: int) -> str:
        return self.recording.functions[index]

    def site_name(self, index: int) -> str:
        return self.recording.sites[index] if index != NONE else "unknown"

    def __repr__(self) -> str:
        return f"<Profile: {self.recording.ranks} ranks, {int(self.functions.calls.sum())} calls>"

    def __str__(self) -> str:
        text: str = view("Profile.__str__")(self)
        return text


def profile(program: Program, *, rank: int | None = None) -> Profile:
    """Summarise a recorded program: its calls, times, sizes and pairs.

    Parameters
    ----------
    program : Program
        Program with a recording.
    rank : int, optional
        Count only calls, sizes and pairs of this rank.

    Returns
    -------
    Profile

    Raises
    ------
    InvalidInput
        If the program was not recorded, or the rank does not exist.
    """
    recording = program.recording
    if recording is None:
        raise InvalidInput("the program was not recorded: a profile needs the times of its calls")
    if rank is not None and not 0 <= rank < recording.ranks:
        raise InvalidInput(f"rank {rank} does not exist: the program has ranks 0 to {recording.ranks - 1}")
    measured = recording.oversubscribed is None
    found = pattern(program)
    calls = _Calls(recording, rank)
    return Profile(
        recording=recording,
        rank=rank,
        oversubscribed=recording.oversubscribed,
        functions=_table(calls, measured, by_site=False),
        sites=_table(calls, measured, by_site=True),
        ranks=_ranks(_Calls(recording, None), found, measured),
        messages=SizeTable.summed(_message_sizes(program, rank)),
        collectives=SizeTable.summed(_collective_sizes(program, calls)),
        pattern=found,
        shape=shape(found),
        pairs=_largest(found, rank),
        tree=by_function(program, recording, calls, rank, measured),
    )


class _Calls:
    """Calls of a recording, of one rank or of all, but those by which MPI begins and ends.

    They are gone through a block at a time: which calls they are, and the rank of each. Columns of one number per call
    take much less memory than what is made of them.
    """

    def __init__(self, recording: Recording, rank: int | None) -> None:
        self.recording = recording
        self._first = recording.first.astype(np.int64)
        self._limits = (0, len(recording)) if rank is None else tuple(self._first[rank : rank + 2].tolist())
        self._frame = np.array([bool(_FRAME.fullmatch(name)) for name in recording.functions], np.bool_)

    def __iter__(self) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        begin, end = self._limits
        for block in columns.blocks(end - begin):
            function = self.recording.function[begin + block.start : begin + block.stop]
            part = begin + block.start + np.flatnonzero(~self._frame[function])
            yield part, np.searchsorted(self._first, part, side="right") - 1
            self.recording.drop()

    def sites(self) -> NDArray[np.int64]:
        """The site that stands for each site, unknown last: of calls on one line, the first with the same text."""
        first: dict[str, int] = {}
        named = [first.setdefault(name, i) for i, name in enumerate(self.recording.sites)]
        return np.array([*named, len(self.recording.sites)])


def _collective_sizes(program: Program, calls: _Calls) -> Iterator[NDArray[np.uint64]]:
    """Bytes that collectives send and receive; they are known by name, persistent ones by their starts."""
    recording = calls.recording
    making = np.array([bool(_MAKING.fullmatch(name)) for name in recording.functions], np.bool_)
    named = _in_category(recording, "collective") & ~making
    starting = np.array([bool(_STARTING.fullmatch(name)) for name in recording.functions], np.bool_)
    for part, _ in calls:
        function = recording.function[part]
        called: NDArray[np.bool_] = named[function]
        starts = np.flatnonzero(starting[function] & (recording.event[part] >= 0))
        called[starts] = program.kind[recording.event[part[starts]]] == EventKind.collective
        yield np.maximum(recording.sent[part[called]], recording.received[part[called]])


def _in_category(recording: Recording, *names: str) -> NDArray[np.bool_]:
    """The functions of these categories."""
    return np.array([category(name) in names for name in recording.functions], np.bool_)


def different(parts: Iterable[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the distinct keys of several parts, in ascending order."""
    found = np.empty(0, np.int64)
    for key in parts:
        most = int(key.max(initial=-1)) + 1
        there = np.unique(key) if most > max(_DENSE, len(key)) else np.flatnonzero(np.bincount(key, minlength=most))
        found = np.union1d(found, there)
    return found


def _table(calls: _Calls, measured: bool, *, by_site: bool) -> CallTable:
    """Sums over calls by their function, or by function and site."""
    recording = calls.recording
    sites = len(recording.sites) + 1
    site_of = calls.sites()

    def keys(part: NDArray[np.intp]) -> NDArray[np.int64]:
        function = recording.function[part].astype(np.int64)
        # NONE becomes the last one.
        return (
            function * sites + site_of[np.minimum(recording.site[part], np.uint32(sites - 1))] if by_site else function
        )

    there = different(keys(part) for part, _ in calls)
    size = len(there)
    sums = {
        name: np.zeros(size) for name in ("calls", "sent", "received", "time", "longest", "waiting", "rest", "split")
    }
    users = np.empty(0, np.int64)
    for part, rank_of in calls:
        group = np.searchsorted(there, keys(part))

        def total(name: str, values: NDArray[Any], which: Any = ..., group: NDArray[np.intp] = group) -> None:
            sums[name] += np.bincount(group[which], values[which].astype(np.float64), size)

        count = recording.count[part]
        total("calls", count)
        total("sent", recording.sent[part])
        total("received", recording.received[part])
        users = np.union1d(users, different([group * recording.ranks + rank_of]))
        if measured:
            wait, length = recording.wait[part], recording.end[part] - recording.begin[part]
            total("time", length)
            single = count == 1
            np.maximum.at(sums["longest"], group[single], length[single] * 1e-9)
            known = wait >= 0
            until = np.minimum(wait, length)
            total("waiting", until, known)
            total("rest", length - until, known)
            total("split", known)
    unknown = np.full(size, np.nan)
    time, longest, waiting, communicating = unknown, unknown, unknown, unknown
    if measured:
        time, longest, split = sums["time"] * 1e-9, sums["longest"], sums["split"] > 0
        waiting = np.where(split, sums["waiting"] * 1e-9, np.nan)
        communicating = np.where(split, sums["rest"] * 1e-9, np.nan)
    number, sent, received = sums["calls"], sums["sent"], sums["received"]
    order = np.lexsort((there, -number, -(sent + received), -np.nan_to_num(time)))
    function, site = np.divmod(there, sites) if by_site else (there, np.full(size, NONE))
    site = np.where(site == sites - 1, NONE, site) if by_site else site
    ranks = np.bincount(users // recording.ranks, minlength=size)
    columns_ = (number, ranks, time, longest, waiting, communicating, sent, received)
    types = (np.uint64, np.uint32, *[np.float64] * 4, np.uint64, np.uint64)
    ordered = (column[order].astype(kind) for column, kind in zip(columns_, types, strict=True))
    return CallTable(function[order], site[order], *ordered)


def _ranks(calls: _Calls, found: Pattern, measured: bool) -> RankTable:
    recording = calls.recording
    ranks = recording.ranks
    names = ("calls", "sent", "received", "mpi", "waiting", "collective", "completion")
    sums = {name: np.zeros(ranks) for name in names}
    collective, completion = _in_category(recording, "collective"), _in_category(recording, "completion")
    calling = np.empty(0, np.int64)
    for part, rank_of in calls:

        def total(name: str, values: NDArray[Any], which: Any = ..., rank_of: NDArray[np.intp] = rank_of) -> None:
            sums[name] += np.bincount(rank_of[which], values[which].astype(np.float64), ranks)

        for name in ("sent", "received"):
            total(name, getattr(recording, name)[part])
        total("calls", recording.count[part])
        if not measured:
            continue
        calling = np.union1d(calling, different([rank_of << 16 | recording.thread[part]]))
        function = recording.function[part]
        length, wait = recording.end[part] - recording.begin[part], recording.wait[part]
        known = wait >= 0
        together = known | collective[function]
        total("mpi", length)
        total("waiting", np.minimum(wait, length), known)
        total("collective", length, together)
        total("completion", length, completion[function] & ~together)
    threads = np.maximum(np.bincount(calling >> 16, minlength=ranks), 1)
    mpi, waiting, collecting, completing = (
        sums[name] * 1e-9 / threads if measured else np.full(ranks, np.nan) for name in names[3:]
    )
    number, sent, received = (sums[name].astype(np.uint64) for name in names[:3])
    partners = _partners(found)
    return RankTable(recording.wall, mpi, waiting, collecting, completing, found.load, number, sent, received, partners)


def _partners(found: Pattern) -> NDArray[np.uint32]:
    """The number of partners of each rank."""
    source, target = found.sources().astype(np.int64), found.peer.astype(np.int64)
    other = source != target
    source, target, ranks = source[other], target[other], found.ranks
    both = np.unique(np.concatenate([source * ranks + target, target * ranks + source])) // ranks
    return np.bincount(both, minlength=ranks).astype(np.uint32)


def _message_sizes(program: Program, rank: int | None) -> Iterator[NDArray[np.uint64]]:
    """Bytes of messages that are sent, put or fetched, by one rank or by all."""
    begin, end = (0, len(program)) if rank is None else (int(program.first[rank]), int(program.first[rank + 1]))
    for block in columns.blocks(end - begin):
        part = slice(begin + block.start, begin + block.stop)
        moving = columns.among(program.kind[part], SENDS) & (program.peer[part] != NULL)
        yield program.amount[part][moving]


def _largest(found: Pattern, rank: int | None) -> list[tuple[int, int, int, int]]:
    """The pairs that exchange most bytes."""
    source = found.sources()
    of = np.arange(len(source)) if rank is None else np.flatnonzero((source == rank) | (found.peer == rank))
    order = of[np.lexsort((of, -found.messages[of].astype(np.float64), -found.bytes[of].astype(np.float64)))]
    table = (source, found.peer, found.bytes, found.messages)
    return [tuple(int(column[i]) for column in table) for i in order[:_LARGEST]]  # type: ignore[misc]
