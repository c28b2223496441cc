"""The profile of a recorded program: what its calls took and moved, by function, by place, by rank and by size."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from ..schedule.pattern import Pattern, pattern
from ..schedule.program import NULL, SENDS, EventKind
from ..schedule.shape import Shape, shape
from ..tabular import Shown, Tabular
from .by_function import FunctionTree, by_function
from .recording import NONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..schedule.program import Program
    from .recording import Recording

#: What functions are for, by name.
CATEGORIES = {
    "collective": "I?(Neighbor_)?(Barrier|Bcast|Gatherv?|Scatterv?|Allgatherv?|Alltoall[vw]?|Reduce|Allreduce"
    "|Reduce_scatter(_block)?|Scan|Exscan)",
    "message": r"I?[bsr]?send|I?m?recv|I?sendrecv(_replace)?|Start(all)?|P(ready|send|recv)\w*",
    "completion": r"(Wait|Test)(all|any|some)?|I?m?probe|Request_get_status\w*|Parrived",
    "one-sided": r"R?(put|get|accumulate|get_accumulate)|Fetch_and_op|Compare_and_swap|Win_\w+",
    "I/O": r"File_\w+|Register_datarep",
}
_CATEGORIES = {name: re.compile(f"MPI_({text})(_init)?(_c)?", re.IGNORECASE) for name, text in CATEGORIES.items()}
# Their time is not part of that between them, which is what ranks are compared by.
_FRAME = re.compile("MPI_(Init(_thread)?|Finalize|Session_(init|finalize))")
_MAKING = re.compile("MPI_.*_init(_c)?")
_STARTING = re.compile("MPI_Start(all)?")
# Tables of all combinations are used up to so many elements.
_DENSE = 1 << 26
_LARGEST = 10


def category(function: str) -> str:
    """What a function is for: a key of CATEGORIES, or ``"other"``.

    Examples
    --------
    >>> category("MPI_Iallreduce"), category("MPI_Waitall"), category("MPI_Comm_split")
    ('collective', 'completion', 'other')
    """
    return next((name for name, pattern in _CATEGORIES.items() if pattern.fullmatch(function)), "other")


def _columns(table: Any) -> dict[str, NDArray[Any]]:
    return {f.name: getattr(table, f.name) for f in fields(table)}


@dataclass(frozen=True, eq=False, slots=True)
class CallTable(Tabular):
    """Sums over calls, one element per function, or per function and place; those that took most come first.

    Attributes
    ----------
    function, site : arrays of int
        Indices into ``functions`` and ``sites`` of the recording; site NONE: not known, or (by function) all.
    calls : array of uint64
        With polls that found nothing.
    ranks : array of uint32
        Ranks that call.
    time, longest : arrays of float64
        Seconds of all calls, and of the longest one; nan where times mean nothing. A series of polls takes the time
        from the first to the last, and is no call that could be the longest.
    waiting, communicating : arrays of float64
        Seconds of collectives until the last rank arrived, and after that; nan where that is not known.
    sent, received : arrays of uint64
        Bytes put into MPI and got out of it.
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
    """One element per rank. Times are seconds; those in MPI are nan where they mean nothing.

    Attributes
    ----------
    wall : array of float64
        From the end of MPI_Init to the begin of MPI_Finalize.
    mpi : array of float64
        In MPI between them; where several threads call MPI, on average over those.
    waiting, collective : array of float64
        Of this, in collectives until the last rank arrived, and in collectives altogether.
    completion : array of float64
        Of this, waiting for or testing messages.
    computing : array of float64
        Processor time outside MPI, as the Program has it.
    calls, sent, received : arrays of uint64
        Calls, bytes put into MPI and got out of it.
    partners : array of uint32
        Other ranks to which or from which messages go.
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
        """The attributes as columns, and the rank."""
        return {"rank": np.arange(len(self.wall)), **_columns(self)}

    @property
    def share(self) -> NDArray[np.float64]:
        """Share of MPI in the time of each rank; nan where it means nothing."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.wall > 0, self.mpi / self.wall, np.nan)


@dataclass(frozen=True, eq=False, slots=True)
class SizeTable(Tabular):
    """How often sizes occur: element 0 is of 0 bytes, element k of sizes from ``low[k] = 2**(k - 1)`` to the next."""

    low: NDArray[np.uint64]
    number: NDArray[np.uint64]
    bytes: NDArray[np.uint64]

    def frame(self) -> dict[str, NDArray[Any]]:
        """The attributes as columns."""
        return _columns(self)

    @classmethod
    def of(cls, sizes: NDArray[np.uint64]) -> SizeTable:
        """Count sizes."""
        place = np.frexp(sizes.astype(np.float64))[1].astype(np.int64)
        # Sizes just below a power of two beyond 2**53 are rounded up to it.
        place -= (place > 0) & (sizes < np.uint64(1) << np.maximum(place - 1, 0).astype(np.uint64))
        number = np.bincount(place)
        total = np.bincount(place, sizes.astype(np.float64), len(number))
        low = np.where(np.arange(len(number)) > 0, 1 << np.maximum(np.arange(len(number)) - 1, 0), 0)
        return cls(low.astype(np.uint64), number.astype(np.uint64), total.astype(np.uint64))


@dataclass(frozen=True, eq=False, repr=False, slots=True, kw_only=True)
class Profile(Shown):
    """Sums of a recording; made by ``profile``, ``str`` of it is the report of ``isthmus show``.

    Attributes
    ----------
    recording : Recording
        What was measured.
    rank : int or None
        The rank whose calls, sizes and pairs these are; None: all.
    oversubscribed : str or None
        Why the times in MPI mean nothing; they are nan then.
    functions, sites : CallTable
        By function, and by function and place.
    ranks : RankTable
        Of all ranks.
    messages, collectives : SizeTable
        Messages between two ranks, by size; and calls of collectives, by the larger of the bytes that they put in and
        get out at a rank.
    pattern : Pattern
        Who sends how much to whom, collectives not counted.
    shape : Shape or None
        The regular pattern in it.
    pairs : list of (sender, receiver, bytes, messages)
        The ten that exchange most.
    tree : FunctionTree or None
        By function, by who called it; None where no call paths were recorded.
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
        """Computing of the rank that computes most over the mean; nan where nothing is computed."""
        mean = float(self.ranks.computing.mean())
        return float(self.ranks.computing.max()) / mean if mean > 0 else float("nan")

    def function_name(self, index: int) -> str:
        return self.recording.functions[index]

    def site_name(self, index: int) -> str:
        return self.recording.sites[index] if index != NONE else "unknown"

    def __repr__(self) -> str:
        return f"<Profile: {self.recording.ranks} ranks, {int(self.functions.calls.sum())} calls>"

    def __str__(self) -> str:
        from .profile_text import report

        return report(self)


def profile(program: Program, *, rank: int | None = None) -> Profile:
    """Sum up what a program recorded did.

    Parameters
    ----------
    program : Program
        With a recording.
    rank : int, optional
        Only calls, sizes and pairs of this rank.

    Returns
    -------
    Profile

    Raises
    ------
    InvalidInput
        For a program that was not recorded, and a rank that does not exist.
    """
    recording = program.recording
    if recording is None:
        raise InvalidInput("the program was not recorded: a profile needs the times of its calls")
    if rank is not None and not 0 <= rank < recording.ranks:
        raise InvalidInput(f"rank {rank} does not exist: the program has ranks 0 to {recording.ranks - 1}")
    measured = recording.oversubscribed is None
    found = pattern(program)
    rank_of = recording.rank_of_calls()
    part = _between(recording)
    ranks = _ranks(recording, rank_of, part, found, measured)
    if rank is not None:
        part = part[rank_of[part] == rank]
    key, sites = _function_and_site(recording)
    collective = _collective_calls(program, recording)[part]
    moved = np.maximum(recording.sent[part], recording.received[part])
    return Profile(
        recording=recording,
        rank=rank,
        oversubscribed=recording.oversubscribed,
        functions=_table(recording, key[part] // sites, rank_of[part], part, measured, None),
        sites=_table(recording, key[part], rank_of[part], part, measured, sites),
        ranks=ranks,
        messages=SizeTable.of(_message_sizes(program, rank)),
        collectives=SizeTable.of(moved[collective]),
        pattern=found,
        shape=shape(found),
        pairs=_largest(found, rank),
        tree=by_function(program, recording, part, rank, measured),
    )


def _function_and_site(recording: Recording) -> tuple[NDArray[np.int64], int]:
    """A number of each call for its function and its site, and the number of sites, unknown included.

    Calls on one line of the source may have several addresses: they count for the first site with the same text.
    """
    first: dict[str, int] = {}
    sites = len(recording.sites) + 1
    named = [first.setdefault(name, i) for i, name in enumerate(recording.sites)]
    # NONE becomes the last one.
    site = np.array([*named, sites - 1])[np.minimum(recording.site, np.uint32(sites - 1))]
    return recording.function.astype(np.int64) * sites + site, sites


def _between(recording: Recording) -> NDArray[np.intp]:
    """Calls but those by which MPI begins and ends."""
    frame = np.array([bool(_FRAME.fullmatch(name)) for name in recording.functions], np.bool_)
    return np.flatnonzero(~frame[recording.function])


def _collective_calls(program: Program, recording: Recording) -> NDArray[np.bool_]:
    """Which calls are collectives: by name, but of persistent ones the starts, and not what makes the request."""
    named = _in_category(recording, "collective")
    making = np.array([bool(_MAKING.fullmatch(name)) for name in recording.functions], np.bool_)
    starting = np.array([bool(_STARTING.fullmatch(name)) for name in recording.functions], np.bool_)
    called: NDArray[np.bool_] = (named & ~making)[recording.function]
    starts = np.flatnonzero(starting[recording.function] & (recording.event >= 0))
    called[starts] = program.kind[recording.event[starts]] == EventKind.collective
    return called


def _in_category(recording: Recording, *names: str) -> NDArray[np.bool_]:
    """Which functions are of these categories."""
    return np.array([category(name) in names for name in recording.functions], np.bool_)


def _numbered(key: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The different keys in ascending order, and which of them each element is."""
    most = int(key.max(initial=-1)) + 1
    if most > _DENSE:
        return np.unique(key, return_inverse=True)
    there = np.flatnonzero(np.bincount(key, minlength=most))
    number = np.zeros(most, np.int64)
    number[there] = np.arange(len(there))
    return there, number[key]


def _table(
    recording: Recording,
    key: NDArray[np.int64],
    rank_of: NDArray[np.uint32],
    part: NDArray[np.intp],
    measured: bool,
    sites: int | None,
) -> CallTable:
    """Sums over some calls of the recording, by their key: a function, or a function and one of so many sites."""
    there, group = _numbered(key)
    size = len(there)
    count, wait = recording.count[part], recording.wait[part]
    length = recording.end[part] - recording.begin[part]
    users = _numbered(group * recording.ranks + rank_of)[0] // recording.ranks

    def total(values: NDArray[Any], which: Any = ...) -> NDArray[np.float64]:
        sums: NDArray[Any] = np.bincount(group[which], values[which].astype(np.float64), size)
        return sums

    unknown = np.full(size, np.nan)
    time = longest = waiting = communicating = unknown
    if measured:
        time, longest = total(length) * 1e-9, np.zeros(size)
        single = count == 1
        np.maximum.at(longest, group[single], length[single] * 1e-9)
        known = wait >= 0
        until = np.minimum(wait, length)
        split = np.bincount(group[known], minlength=size) > 0
        waiting = np.where(split, total(until, known) * 1e-9, np.nan)
        communicating = np.where(split, total(length - until, known) * 1e-9, np.nan)
    calls, sent, received = (total(column) for column in (count, recording.sent[part], recording.received[part]))
    order = np.lexsort((there, -calls, -(sent + received), -np.nan_to_num(time)))
    function, site = (there, np.full(size, NONE)) if sites is None else np.divmod(there, sites)
    if sites is not None:
        site = np.where(site == sites - 1, NONE, site)
    columns_ = (calls, np.bincount(users, minlength=size), time, longest, waiting, communicating, sent, received)
    types = (np.uint64, np.uint32, *[np.float64] * 4, np.uint64, np.uint64)
    ordered = (column[order].astype(kind) for column, kind in zip(columns_, types, strict=True))
    return CallTable(function[order], site[order], *ordered)


def _ranks(
    recording: Recording, rank_of: NDArray[np.uint32], part: NDArray[np.intp], found: Pattern, measured: bool
) -> RankTable:
    ranks = recording.ranks
    rank_of, function = rank_of[part], recording.function[part]

    def total(values: NDArray[Any], which: Any = ...) -> NDArray[np.float64]:
        sums: NDArray[Any] = np.bincount(rank_of[which], values[which].astype(np.float64), ranks)
        return sums

    mpi = waiting = collective = completion = np.full(ranks, np.nan)
    if measured:
        threads: Any = 1
        if recording.thread.any():
            calling = _numbered(rank_of.astype(np.int64) << 16 | recording.thread[part])[0] >> 16
            threads = np.maximum(np.bincount(calling, minlength=ranks), 1)
        length, wait = recording.end[part] - recording.begin[part], recording.wait[part]
        known = wait >= 0
        together = known | _in_category(recording, "collective")[function]
        completing = _in_category(recording, "completion")[function]
        mpi, waiting, collective, completion = (
            total(values, which) * 1e-9 / threads
            for values, which in (
                (length, ...),
                (np.minimum(wait, length), known),
                (length, together),
                (length, completing & ~together),
            )
        )
    calls, sent, received = (
        total(column[part]).astype(np.uint64) for column in (recording.count, recording.sent, recording.received)
    )
    return RankTable(
        recording.wall, mpi, waiting, collective, completion, found.load, calls, sent, received, _partners(found)
    )


def _partners(found: Pattern) -> NDArray[np.uint32]:
    """How many other ranks each rank sends to or receives from."""
    source, target = found.sources().astype(np.int64), found.peer.astype(np.int64)
    other = source != target
    source, target, ranks = source[other], target[other], found.ranks
    both = np.unique(np.concatenate([source * ranks + target, target * ranks + source])) // ranks
    return np.bincount(both, minlength=ranks).astype(np.uint32)


def _message_sizes(program: Program, rank: int | None) -> NDArray[np.uint64]:
    """Bytes of every message that is sent, put or fetched, by one rank or by all."""
    part = slice(None) if rank is None else slice(int(program.first[rank]), int(program.first[rank + 1]))
    moving = np.isin(program.kind[part], SENDS) & (program.peer[part] != NULL)
    sizes: NDArray[np.uint64] = program.amount[part][moving]
    return sizes


def _largest(found: Pattern, rank: int | None) -> list[tuple[int, int, int, int]]:
    """The pairs that exchange most bytes."""
    source = found.sources()
    of = np.arange(len(source)) if rank is None else np.flatnonzero((source == rank) | (found.peer == rank))
    order = of[np.lexsort((of, -found.messages[of].astype(np.float64), -found.bytes[of].astype(np.float64)))]
    table = (source, found.peer, found.bytes, found.messages)
    return [tuple(int(column[i]) for column in table) for i in order[:_LARGEST]]  # type: ignore[misc]
