"""Raw traces as recorder/trace.h describes them: one file per thread of a process, read into columns.

Only the heads of records are walked one by one; what is behind them is gathered with NumPy, a kind at a time.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _core
from ..errors import ParseError
from ..schedule.details import ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAGIC, VERSION, ORDER, HEADER_BYTES = b"ISTHMTRC", 3, 0x01020304, 8192
#: Versions that are read. In the first, calls had places and no paths; in the second, there were no counters.
VERSIONS = (1, 2, 3)
#: Ranks and tags that are no numbers.
ANY, NULL, ROOT, OUTSIDE, MANY, NO_RANK = -1, -2, -3, -4, -5, -6
#: Kinds of records.
CALL, POLLS, COMM, SITE, COUNT, MARK, NAME, PATH, COUNTED = range(1, 10)
#: Counters of the processor, at most.
COUNTERS = 4
#: Forms of calls.
PLAIN, MESSAGE, DONE, COLLECTIVE, RMA, START, CREATED, IO = range(8)
#: Flags of requests that completed.
CANCELLED, RECEIVED, FREED = 1, 2, 4
#: Collectives that Programs do not have, and flags of collectives.
OTHER_COLLECTIVE = 32
#: Of one-sided accesses: done when their call ends, at the target too.
#: Flags ``derived``; what was begun counts as no call: another record ends it.
DONE_AT_ONCE, BEGUN = 2, 4
IN_PLACE, INTER, PERSISTENT, CREATED_ONLY, ORDERED, CONTINUED = 1, 2, 4, 8, 16, 32
#: Kinds of one-sided calls.
(
    PUT, GET, ACCUMULATE, GET_ACCUMULATE, FENCE, POST, WIN_START, COMPLETE, WIN_WAIT, LOCK, LOCK_ALL, UNLOCK,
    UNLOCK_ALL, FLUSH, FLUSH_ALL, FLUSH_LOCAL, FLUSH_LOCAL_ALL, SYNC, WIN_TEST,
) = range(1, 20)  # fmt: skip
#: Marks.
ITERATION, OFF, ON, PHASE = range(1, 5)
#: Folded calls: those that found nothing, and those that had nothing to do.
WAITING, IDLE = range(2)
#: What the recorder takes for a call, in ``costs`` of the header: by form, and of folded calls, for reading processor
#: time, which calls that last ``LONG`` ns or more have, and of messages that open a request.
COST_POLL, COST_CLOCK, COST_OPENING = 8, 9, 10
LONG = 10_000
#: How call paths were found, in ``paths`` of the header.
PATHS_FOLLOWED, PATHS_PLACES = 1, 2
#: Modes of sends.
STANDARD, SYNCHRONOUS, BUFFERED, READY, PARTITIONED = range(5)

_SYNC = [("local_ns", "=i8"), ("offset_ns", "=i8"), ("error_ns", "=i8")]
HEADER = np.dtype([
    ("magic", "S8"), ("version", "=u4"), ("order", "=u4"), ("used", "=u8"), ("lost", "=u8"), ("flags", "=u4"),
    ("signal", "=u4"), ("rank", "=i4"), ("ranks", "=i4"), ("thread", "=u4"), ("pid", "=u4"), ("cpus", "=u4"),
    ("cpus_online", "=u4"), ("threads_given", "=u4"), ("world_local", "=u4"), ("started_ns", "=i8"),
    ("started_realtime_ns", "=i8"), ("init_begin", "=i8"), ("init_end", "=i8"), ("finalize_begin", "=i8"),
    ("finalize_end", "=i8"), ("last_ns", "=i8"), ("cpu_ns", "=i8"), ("recorder_ns", "=i8"), ("recorder_bytes", "=i8"),
    ("sync", _SYNC, 2), ("mpi_version", "=u4"), ("mpi_subversion", "=u4"), ("affinity", "=u4", 16), ("host", "S256"),
    ("library", "S512"), ("command", "V2048"), ("directory", "S512"), ("ended_ns", "=i8"), ("tail_cpu_ns", "=i8"),
    ("signal_sender", "=i4"), ("costs", "=i4", 17), ("counters", "S24", COUNTERS), ("counter_error", "=i4"),
    ("counter_paranoid", "=i4"), ("counter_ns", "=i4"), ("paths", "=i4"),
])  # fmt: skip
_HEAD = [("kind", "=u2"), ("unused", "=u2"), ("words", "=u4")]
CALL_RECORD = np.dtype([
    *_HEAD, ("function", "=u2"), ("form", "=u2"), ("path", "=u4"), ("begin", "=i8"), ("end", "=i8"),
    ("cpu_gap", "=i8"), ("n", "=u4"), ("error", "=i4"),
])  # fmt: skip
MESSAGE_ITEM = np.dtype([
    ("request", "=u4"), ("direction", "=u2"), ("mode", "=u2"), ("peer", "=i4"), ("tag", "=i4"), ("asked_peer", "=i4"),
    ("asked_tag", "=i4"), ("comm", "=u8"), ("bytes", "=u8"), ("world", "=i4"), ("derived", "=u4"),
])  # fmt: skip
DONE_ITEM = np.dtype([("request", "=u4"), ("flags", "=u4"), ("peer", "=i4"), ("tag", "=i4"), ("bytes", "=u8")])
COLLECTIVE_ITEM = np.dtype([
    ("request", "=u4"), ("kind", "=u2"), ("flags", "=u2"), ("root", "=i4"), ("counts", "=u4"), ("comm", "=u8"),
    ("bytes", "=u8"), ("sent", "=u8"), ("received", "=u8"),
])  # fmt: skip
RMA_ITEM = np.dtype([
    ("request", "=u4"), ("kind", "=u2"), ("derived", "=u2"), ("peer", "=i4"), ("world", "=i4"), ("comm", "=u8"),
    ("window", "=u8"), ("bytes", "=u8"), ("fetched", "=u8"),
])  # fmt: skip
CREATED_ITEM = np.dtype([("id", "=u8"), ("parent", "=u8"), ("window", "=u8"), ("request", "=u4"), ("freed", "=u4")])
IO_ITEM = np.dtype([("bytes", "=i8"), ("write", "=i8"), ("comm", "=i8")])
POLLS_RECORD = np.dtype([
    *_HEAD, ("function", "=u2"), ("what", "=u2"), ("path", "=u4"), ("count", "=u8"), ("begin", "=i8"),
    ("end", "=i8"), ("inside", "=i8"), ("cpu_gap", "=i8"),
])  # fmt: skip
COMM_RECORD = np.dtype([
    *_HEAD, ("id", "=u8"), ("parent", "=u8"), ("ranks", "=u4"), ("remote", "=u4"), ("rank", "=i4"), ("topology", "=u4"),
])  # fmt: skip
SITE_RECORD = np.dtype([*_HEAD, ("id", "=u8"), ("address", "=u8"), ("offset", "=u8")])
COUNT_RECORD = np.dtype([*_HEAD, ("function", "=u8"), ("count", "=u8")])
MARK_RECORD = np.dtype([
    *_HEAD, ("what", "=u4"), ("unused2", "=u4"), ("value", "=i8"), ("at", "=i8"), ("cpu_gap", "=i8")
])  # fmt: skip
NAME_RECORD = np.dtype([*_HEAD, ("id", "=u8")])
PATH_RECORD = np.dtype([*_HEAD, ("id", "=u4"), ("parent", "=u4"), ("site", "=u4"), ("unused2", "=u4")])
COUNTED_RECORD = np.dtype([
    *_HEAD, ("before", "=u4"), ("after", "=u4"), ("intervals", "=u8"), ("ns", "=i8"), ("value", "=i8", COUNTERS)
])  # fmt: skip

_RECORDS = {
    CALL: CALL_RECORD, POLLS: POLLS_RECORD, COMM: COMM_RECORD, SITE: SITE_RECORD, COUNT: COUNT_RECORD,
    MARK: MARK_RECORD, NAME: NAME_RECORD, PATH: PATH_RECORD, COUNTED: COUNTED_RECORD,
}  # fmt: skip
#: What stands behind a call, by form.
ITEMS = {
    MESSAGE: MESSAGE_ITEM, DONE: DONE_ITEM, COLLECTIVE: COLLECTIVE_ITEM, RMA: RMA_ITEM, START: MESSAGE_ITEM,
    CREATED: CREATED_ITEM, IO: IO_ITEM,
}  # fmt: skip
# Forms of which a call has n items; of others it has one.
_SEVERAL = (MESSAGE, DONE, START)
#: Columns of what happened, in order: calls, folded polls and marks.
STEP = np.dtype([
    ("kind", "u1"), ("form", "u1"), ("function", "u2"), ("path", "u4"), ("begin", "i8"), ("end", "i8"),
    ("cpu_gap", "i8"), ("count", "u4"), ("error", "i4"), ("inside", "i8"), ("value", "i8"), ("own", "i8"),
])  # fmt: skip


class Communicator(NamedTuple):
    """A communicator as one rank describes it; ``local`` is empty if rank 0 of the group describes it."""

    id: int
    parent: int
    rank: int
    local: tuple[int, ...]
    remote: tuple[int, ...]


class Place(NamedTuple):
    """The place of a call; without an address, ``offset`` is a line of the file ``module``."""

    address: int
    offset: int
    module: str
    symbol: str


@dataclass
class Items:
    """Items of calls of one form: a structured array, and the step that each belongs to."""

    step: NDArray[np.int64]
    item: NDArray[Any]


@dataclass
class Trace:
    """The records of one thread.

    Attributes
    ----------
    header : structured scalar of HEADER
    steps : structured array of STEP
        Calls, folded polls and marks in their order. ``value`` is of marks, whose ``form`` is what they mark; of folded
        calls ``form`` says which they are, and ``value`` how long the thread was off the processor between them.
        ``own`` is what the recorder took before the step: since the step before, or between folded calls too.
    items : dict of int to Items
        Items by form of call; items of starts stand with those of messages.
    counts : array of int64
        Counts of the collectives that have some, one list after another.
    groups : array of int32, and groups_length : array of int64
        Ranks of posts and starts, one list after another, and how long that of each item of RMA is.
    sites : dict of int to Place
    paths : dict of int to (int, int)
        Every path, in the order in which they were made: the path of the caller (0: none) and the site in it.
    counted : structured array of COUNTED_RECORD
        What counters of the processor counted.
    whole : bool
        False for a file that ends before what its header announces.
    own_after : int
        Nanoseconds that the recorder took after the last step.
    """

    path: str
    header: Any
    steps: NDArray[Any]
    items: dict[int, Items]
    counts: NDArray[np.int64]
    groups: NDArray[np.int32]
    groups_length: NDArray[np.int64]
    comms: list[Communicator] = field(default_factory=list)
    sites: dict[int, Place] = field(default_factory=dict)
    paths: dict[int, tuple[int, int]] = field(default_factory=dict)
    functions: dict[int, str] = field(default_factory=dict)
    untimed: dict[int, int] = field(default_factory=dict)
    counted: NDArray[Any] = field(default_factory=lambda: np.empty(0, COUNTED_RECORD))
    whole: bool = True
    own_after: int = 0


def nothing() -> Trace:
    """The trace of a rank that left none."""
    items = {form: Items(np.empty(0, np.int64), np.empty(0, dtype)) for form, dtype in ITEMS.items() if form != START}
    return Trace(
        "", np.zeros(1, HEADER)[0], np.empty(0, STEP), items, np.empty(0, np.int64), np.empty(0, np.int32),
        np.empty(0, np.int64),
    )  # fmt: skip


def sites_alone(sites: Iterable[int]) -> dict[int, tuple[int, int]]:
    """The paths of traces that have none: every site is one, of its own number."""
    return {site: (0, site) for site in sites}


#: Words up to which files are read rather than mapped, which takes longer for a few.
_READ_WHOLE = 1 << 13
#: Numbers (of nanoseconds) from here on are none, and jobs have fewer ranks, and ranks no more threads.
_MOST, _MOST_RANKS, _MOST_THREADS, _MOST_SIGNAL = 1 << 62, 1 << 24, (1 << 16) - 1, 127


def _times() -> dict[str, int]:
    """Fields of the header that hold nanoseconds, and where they begin."""
    fields: Mapping[str, Any] = HEADER.fields or {}
    return {name: at for name, (dtype, at, *_) in fields.items() if dtype == np.dtype("=i8") or name == "sync"}


#: Where those stand among the header's words of 8 bytes.
_NANOSECONDS = np.array([at // 8 + i for name, at in _times().items() for i in range(HEADER[name].itemsize // 8)])
assert not any(at % 8 for at in (HEADER.itemsize, *_times().values()))


def read_header(path: str | os.PathLike[str]) -> Any:
    """The header of a raw trace.

    Raises
    ------
    ParseError
        For a file that is none, or of another version or byte order.
    """
    name = os.fspath(path)
    with open(path, "rb") as stream:
        data = stream.read(HEADER_BYTES)
    if not data.startswith(MAGIC):
        raise ParseError(name, None, "byte 0", f"not a raw trace: it does not begin with {MAGIC.decode()}")
    if len(data) < HEADER_BYTES:
        raise ParseError(
            name, None, f"byte {len(data)}", f"the header of {HEADER_BYTES} bytes is cut off: nothing was recorded"
        )
    header = np.frombuffer(data, HEADER, 1)[0]
    if header["order"] != ORDER:
        swapped = int(header["order"].byteswap()) == ORDER
        what = "in the byte order of another kind of machine: read it on one" if swapped else "damaged"
        raise ParseError(name, None, "byte 12", f"the trace is {what}")
    if header["version"] not in VERSIONS:
        raise ParseError(
            name,
            None,
            "byte 8",
            f"the trace has version {header['version']}: this Isthmus reads versions {VERSIONS[0]} to {VERSIONS[-1]}",
        )
    _check_header(name, header)
    return header


def _check_header(path: str, header: Any) -> None:
    """Numbers that no recorder writes would take memory, or time, without end."""
    fields: Mapping[str, Any] = HEADER.fields or {}
    rank, ranks = int(header["rank"]), int(header["ranks"])
    numbers = np.frombuffer(header.tobytes(), np.int64)[_NANOSECONDS]
    if rank >= 0 and not rank < ranks <= _MOST_RANKS:
        at = fields["rank"][1]
        raise ParseError(path, None, f"byte {at}", f"the header is damaged: rank {rank} of {ranks}")
    if int(header["thread"]) > _MOST_THREADS:
        at = fields["thread"][1]
        raise ParseError(path, None, f"byte {at}", f"the header is damaged: thread {header['thread']}")
    if int(header["signal"]) > _MOST_SIGNAL:
        at = fields["signal"][1]
        raise ParseError(path, None, f"byte {at}", f"the header is damaged: signal {header['signal']}")
    if int(numbers.min()) > -_MOST and int(numbers.max()) < _MOST:
        return
    for name, at in _times().items():
        values = np.frombuffer(header[name].tobytes(), np.int64)
        if ((values <= -_MOST) | (values >= _MOST)).any():
            raise ParseError(path, None, f"byte {at}", f"the header is damaged: {name} is {values.tolist()}")


def read_trace(path: str | os.PathLike[str]) -> Trace:
    """All that one file holds; a file that is cut off is read up to its last whole record.

    Raises
    ------
    ParseError
        Naming file and byte of a record that cannot be one.
    """
    (trace,) = read_pieces(path, [0], read_header(path))
    return trace


def read_pieces(path: str | os.PathLike[str], begins: Sequence[int], header: Any) -> Iterator[Trace]:
    """Reads pieces that begin at these words, those of :func:`pieces`, in order.

    Tables that a piece needs may stand in an earlier one: each has those of all up to it. ``header`` is that of
    :func:`read_header`, as below: files of many ranks are small, and opening them takes longer than reading.

    Raises
    ------
    ParseError
        Naming file and byte of a record that cannot be one.
    """
    name = os.fspath(path)
    words = _words(name, int(header["used"]))
    before: Trace | None = None
    for begin, end in itertools.pairwise([*begins, len(words)]):
        reader = _Reader(name, np.asarray(words[begin:end]), HEADER_BYTES + 8 * begin)
        trace = reader.trace(header, whole=end < len(words) or (begin + reader.end) * 8 == int(header["used"]))
        if before is not None:
            trace.steps["own"][:1] += before.own_after
            trace.sites, trace.functions = before.sites | trace.sites, before.functions | trace.functions
            trace.paths = before.paths | trace.paths
        before = trace
        yield trace


def pieces(path: str | os.PathLike[str], records: int, header: Any) -> tuple[list[int], int]:
    """Words at which pieces of at least so many records begin, between which no request is open that completes later.

    The largest number of a request is returned, too, of files that are more than one piece; 0 of others.
    """
    name, used = os.fspath(path), int(header["used"])
    if records >= _length(name, used):
        return [0], 0
    words = _words(name, used)
    begins, last = _core.raw_pieces(words, records)
    return begins.tolist(), last


def _length(path: str, used: int) -> int:
    """How many words of records a file has."""
    return min((os.path.getsize(path) - HEADER_BYTES) // 8, used // 8)


def _words(path: str, used: int) -> NDArray[np.uint64]:
    size = _length(path, used)
    if size == 0:
        return np.empty(0, np.uint64)
    if size <= _READ_WHOLE:
        return np.fromfile(path, np.uint64, size, offset=HEADER_BYTES)
    return np.memmap(path, np.uint64, "r", HEADER_BYTES, (size,))


class _Reader:
    def __init__(self, path: str, words: NDArray[np.uint64], origin: int = HEADER_BYTES) -> None:
        self.path = path
        self.words = words
        self.origin = origin
        self.at = self._walk()
        heads = words[self.at]
        self.kind = (heads & np.uint64(0xFFFF)).astype(np.uint8)
        self.length = (heads >> np.uint64(32)).astype(np.int64)
        self._check((heads & np.uint64(0xFFFF)) - np.uint64(1) >= len(_RECORDS), "a record of unknown kind")
        for kind, record in _RECORDS.items():
            short = (self.kind == kind) & (self.length * 8 < record.itemsize)
            self._check(short, "a record too short for its kind")

    def _walk(self) -> NDArray[np.int64]:
        """Offsets of records; ``end`` becomes the end of the last whole one."""
        found, self.end, without = _core.raw_records(self.words)
        if without >= 0:
            raise ParseError(self.path, None, f"byte {self.origin + 8 * without}", "a record without a length")
        return found

    def _check(self, wrong: NDArray[np.bool_], reason: str, at: NDArray[np.int64] | None = None) -> None:
        if wrong.any():
            place = self.origin + 8 * int((self.at if at is None else at)[np.argmax(wrong)])
            raise ParseError(self.path, None, f"byte {place}", reason)

    def _gather(self, at: NDArray[np.int64], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Structures of this type that begin at these words."""
        return _core.raw_gather(self.words, at, dtype.itemsize // 8).view(dtype)

    def _of(self, kind: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Words where records of this kind begin, and the records."""
        at = self.at[self.kind == kind]
        return at, self._gather(at, _RECORDS[kind])

    def trace(self, header: Any, whole: bool) -> Trace:
        kind = self.kind[(self.kind == CALL) | (self.kind == POLLS) | (self.kind == MARK)]
        steps = np.zeros(len(kind), STEP)
        steps["kind"] = kind
        at, calls = self._of(CALL)
        self._check(calls["form"] >= IO + 1, "a call of unknown form", at)
        # Most traces hold calls only.
        where: Any = ... if len(calls) == len(steps) else kind == CALL
        for name in ("form", "function", "path", "begin", "end", "cpu_gap", "error"):
            steps[name][where] = calls[name]
        steps["count"] = 1
        where = np.flatnonzero(kind == POLLS)
        at_polls, polls = self._of(POLLS)
        for name in ("function", "path", "begin", "end", "cpu_gap", "inside"):
            steps[name][where] = polls[name]
        steps["form"][where] = polls["what"]
        steps["value"][where] = self._asleep(at_polls, polls)
        steps["count"][where] = np.minimum(polls["count"], 0xFFFFFFFF)
        where = np.flatnonzero(kind == MARK)
        marks = self._of(MARK)[1]
        for name, source in (("form", "what"), ("begin", "at"), ("end", "at"), ("cpu_gap", "cpu_gap"), ("value",) * 2):
            steps[name][where] = marks[source]
        steps["count"][where] = 0
        items, tail = self._items(at, calls, np.flatnonzero(kind == CALL))
        # A call that starts several collectives, or in the middle of which handlers run, is one, however many records
        # it has.
        for form, flags, more in (
            (COLLECTIVE, "flags", CONTINUED),
            (MESSAGE, "derived", BEGUN),
            (RMA, "derived", BEGUN),
        ):
            steps["count"][items[form].step[items[form].item[flags] & more != 0]] = 0
        trace = Trace(self.path, header, steps, items, *tail, whole=whole)
        trace.own_after = _take_own(trace)
        self._tables(trace)
        return trace

    def _asleep(self, at: NDArray[np.int64], polls: NDArray[Any]) -> NDArray[np.int64]:
        """Off the processor between folded calls: up to version 2 known of those only that had nothing to do."""
        size = POLLS_RECORD.itemsize // 8
        idle = polls["what"] == IDLE
        self._check(idle & (polls["words"] <= size), "a record too short for its kind", at)
        asleep = np.zeros(len(at), np.int64)
        known = polls["words"] > size
        asleep[known] = self.words[at[known] + size].view(np.int64)
        return asleep

    def _items(
        self, at: NDArray[np.int64], calls: NDArray[Any], step: NDArray[np.int64]
    ) -> tuple[dict[int, Items], tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]]:
        """Items by form, and what stands behind them: counts of collectives, groups of one-sided calls."""
        begin = CALL_RECORD.itemsize // 8
        room = calls["words"].astype(np.int64) - begin
        found: dict[int, Items] = {}
        counts, groups = np.empty(0, np.int64), np.empty(0, np.int32)
        groups_length = np.empty(0, np.int64)
        for form, dtype in ITEMS.items():
            of = np.flatnonzero(calls["form"] == form)
            if not len(of):  # most forms do not occur in a small trace
                found[form] = Items(np.empty(0, np.int64), np.empty(0, dtype))
                continue
            size = dtype.itemsize // 8
            n = calls["n"][of].astype(np.int64) if form in _SEVERAL else np.ones(len(of), np.int64)
            self._check(n * size > room[of], "a call too short for its content", at[of])
            owner = np.repeat(of, n)
            offset = ranges(np.zeros(len(of)), n)
            items = Items(step[owner], self._gather(at[owner] + begin + size * offset, dtype))
            if form == COLLECTIVE:
                behind = items.item["counts"].astype(np.int64)
                self._check(size + behind > room[of], "a collective too short for its counts", at[of])
                counts = self.words[ranges(at[of] + begin + size, behind)].view(np.int64)
            if form == RMA:
                ranked = np.isin(items.item["kind"], (POST, WIN_START))
                groups_length = np.where(ranked, calls["n"][of], 0).astype(np.int64)
                self._check(size + (groups_length + 1) // 2 > room[of], "a call too short for its group", at[of])
                groups = self.words.view(np.int32)[ranges(2 * (at[of] + begin + size), groups_length)]
            found[form] = items
        found[MESSAGE] = _merged(found[MESSAGE], found.pop(START))
        return found, (counts, groups, groups_length)

    def _tables(self, trace: Trace) -> None:
        for at, record in zip(*self._of(COMM), strict=True):
            sizes = (int(record["ranks"]), int(record["remote"]))
            if 2 * COMM_RECORD.itemsize // 8 + sum(sizes) > 2 * int(record["words"]):
                self._check(np.array([True]), "a communicator too short for its members", np.array([at]))
            first = 2 * (int(at) + COMM_RECORD.itemsize // 8)
            members = self.words.view(np.int32)[first : first + sum(sizes)].tolist()
            groups = tuple(members[: sizes[0]]), tuple(members[sizes[0] :])
            trace.comms.append(Communicator(int(record["id"]), int(record["parent"]), int(record["rank"]), *groups))
        for at, record in zip(*self._of(SITE), strict=True):
            module, symbol = (*self._texts(at, record, SITE_RECORD), "", "")[:2]
            trace.sites[int(record["id"])] = Place(int(record["address"]), int(record["offset"]), module, symbol)
        paths = self._of(PATH)[1]
        listed = zip(*(paths[name].tolist() for name in ("id", "parent", "site")), strict=True)
        trace.paths = {id: (parent, site) for id, parent, site in listed} or sites_alone(trace.sites)
        for at, record in zip(*self._of(NAME), strict=True):
            trace.functions[int(record["id"])] = self._texts(at, record, NAME_RECORD)[0]
        trace.counted = self._of(COUNTED)[1]
        for record in self._of(COUNT)[1]:
            function = int(record["function"])
            trace.untimed[function] = trace.untimed.get(function, 0) + int(record["count"])

    def _texts(self, at: np.int64, record: Any, dtype: np.dtype[Any]) -> list[str]:
        """Texts behind a record, which end with NUL."""
        data = self.words[int(at) + dtype.itemsize // 8 : int(at) + int(record["words"])].tobytes()
        return [text.decode(errors="replace") for text in data.split(b"\0")]


def _take_own(trace: Trace) -> int:
    """Fill ``own`` of the steps of a trace; what comes after the last one is returned."""
    steps, costs = trace.steps, trace.header["costs"].astype(np.int64)
    if not costs.any() or not len(steps):
        return 0
    call, polls = steps["kind"] == CALL, steps["kind"] == POLLS
    after = np.where(call, costs[np.minimum(steps["form"], IO)], 0)
    messages = trace.items[MESSAGE]
    after[messages.step[messages.item["request"] != 0]] = costs[COST_OPENING]
    after[polls] = costs[COST_POLL]
    # Reading processor time after a call that took long is not in the processor time of the gap, where that is known.
    lasted, gap = steps["end"][:-1] - steps["begin"][:-1], steps["begin"][1:] - steps["end"][:-1]
    clock = call[:-1] & (lasted > LONG) & (gap <= LONG)
    steps["own"][1:] = after[:-1] + costs[COST_CLOCK] * clock
    steps["own"][polls] += costs[COST_POLL] * (steps["count"][polls].astype(np.int64) - 1)
    return int(after[-1])


def _merged(a: Items, b: Items) -> Items:
    """Items of two forms in the order of their steps."""
    if not len(b.step):
        return a
    step = np.concatenate([a.step, b.step])
    order = np.argsort(step, kind="stable")
    return Items(step[order], np.concatenate([a.item, b.item])[order])
