"""Traces in the Trace Event Format, which Perfetto and chrome://tracing show.

A rank is a process, its CPU streams are threads. What a stream does is a complete event ("X"), a message a flow ("s",
"f") from the slice of its send to the slice in which it is handled, waiting an asynchronous slice ("b", "e"). Times are
microseconds with six digits: exact picoseconds.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from ..files import replacing
from ..schedule.columns import lengths
from ..schedule.schedule import ALL_ONES, OpKind
from .activity import Activities, Window, activities, chosen_ranks, need_ops, waits, window_ps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .timeline import Timeline

# Events that are put into words at once.
_BLOCK = 1 << 15
_NAMES = {kind: kind.name for kind in OpKind} | {OpKind.recv: "handle"}
_SLICE = (
    '{"ph":"X","name":"%s","cat":"%s","pid":%d,"tid":%d,"ts":%d.%06d,"dur":%d.%06d,"args":{"op":%d,"bytes":%d,'
    '"peer":%d,"tag":%d}}'
)
_WORK = '{"ph":"X","name":"%s","cat":"%s","pid":%d,"tid":%d,"ts":%d.%06d,"dur":%d.%06d,"args":{"op":%d%s}}'
_FLOW = (
    '{"ph":"s","name":"message","cat":"message","id":%d,"pid":%d,"tid":%d,"ts":%d.%06d,"args":{"bytes":%d,"tag":%d,'
    '"peer":%d}},\n'
    '{"ph":"f","bp":"e","name":"message","cat":"message","id":%d,"pid":%d,"tid":%d,"ts":%d.%06d,"args":{"bytes":%d,'
    '"tag":%d,"peer":%d}}'
)
_WAIT = (
    '{"ph":"b","name":"%s","cat":"waiting","id":%d,"pid":%d,"tid":%d,"ts":%d.%06d,"args":{"op":%d,"peer":%d}},\n'
    '{"ph":"e","name":"%s","cat":"waiting","id":%d,"pid":%d,"tid":%d,"ts":%d.%06d}'
)
_WAITS = {
    OpKind.recv: "wait for message",
    OpKind.send: "wait for receiver",
    OpKind.put: "put on its way",
    OpKind.get: "get on its way",
}


def write_chrome(
    timeline: Timeline,
    path: str | os.PathLike[str],
    *,
    ranks: Sequence[int] | NDArray[np.integer[Any]] | None = None,
    window: Window | None = None,
) -> None:
    """Write a trace atomically.

    Parameters
    ----------
    timeline : Timeline
        With ``record="ops"``.
    path : path
        ``.json``, or ``.json.gz`` for a compressed one, which Perfetto reads too.
    ranks : sequence of int, optional
        Ranks to draw, by default all; only messages between them are drawn.
    window : tuple of float, optional
        Begin and end in seconds; only events that overlap it are written. By default all are.

    Raises
    ------
    InvalidInput
        If the simulation did not record operations, the suffix is another one, or a rank does not exist.
    """
    name = os.fspath(path)
    if not name.endswith((".json", ".json.gz")):
        raise InvalidInput(f"{name!r}: must end in .json or .json.gz")
    need_ops(timeline, "a trace")
    chosen = chosen_ranks(timeline, ranks)
    begin, end = window_ps(timeline, window)
    with replacing(path) as temporary, open(temporary, "wb") as file:
        if name.endswith(".gz"):
            # Without name and time: the same trace is the same file.
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=3, mtime=0) as packed:
                _write(timeline, packed, chosen, begin, end)
        else:
            _write(timeline, file, chosen, begin, end)


def _write(timeline: Timeline, file: IO[bytes] | gzip.GzipFile, ranks: NDArray[np.int64], begin: int, end: int) -> None:
    file.write(b'{"displayTimeUnit":"ns","otherData":{"producer":"isthmus"},"traceEvents":[\n')
    for number, block in enumerate(_blocks(timeline, ranks, begin, end)):
        file.write((block if number == 0 else ",\n" + block).encode("ascii"))
    file.write(b"\n]}\n")


def _blocks(timeline: Timeline, ranks: NDArray[np.int64], begin: int, end: int) -> Iterator[str]:
    """Events, some at a time. Slices come before the flows, which belong to the slice that came last at their time."""
    did = activities(timeline, ranks, begin, end)
    yield from _names(ranks, did)
    first = timeline.schedule.op_first.view(np.int64)
    local = np.arange(len(timeline.schedule)) - np.repeat(first[:-1], lengths(first))
    for part in _parts(did):
        yield from _slices(timeline, part, local)
    own = did.pick(did.send < 0)
    for part in _parts(did.pick(did.send >= 0)):
        yield from _flows(timeline, part, own)
    for part in _parts(waits(timeline, ranks, begin, end)):
        yield from _waits(timeline, part, local)


def _parts(bars: Activities) -> Iterator[Activities]:
    for at in range(0, len(bars), _BLOCK):
        yield bars.pick(np.arange(at, min(at + _BLOCK, len(bars))))


def _lines(template: str, *columns: NDArray[Any] | Iterable[Any]) -> Iterator[str]:
    rows = zip(*(c.tolist() if isinstance(c, np.ndarray) else c for c in columns), strict=True)
    text = ",\n".join([template % row for row in rows])
    if text:
        yield text


def _time(ps: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Whole microseconds and the rest."""
    return ps // 1_000_000, ps % 1_000_000


def _names(ranks: NDArray[np.int64], did: Activities) -> Iterator[str]:
    """Names and order of the tracks."""
    event = '{"ph":"M","name":"%s","pid":%d,"args":{"%s":%s}}'
    for at in range(0, len(ranks), _BLOCK):
        lines = []
        for rank in ranks[at : at + _BLOCK].tolist():
            lines.append(event % ("process_name", rank, "name", json.dumps(f"rank {rank}")))
            lines.append(event % ("process_sort_index", rank, "sort_index", rank))
        yield ",\n".join(lines)
    threads = np.unique(did.rank * 256 + did.cpu)
    streams = '{"ph":"M","name":"thread_name","pid":%d,"tid":%d,"args":{"name":"CPU stream %d"}}'
    order = '{"ph":"M","name":"thread_sort_index","pid":%d,"tid":%d,"args":{"sort_index":%d}}'
    for at in range(0, len(threads), _BLOCK):
        part = threads[at : at + _BLOCK]
        yield from _lines(streams + ",\n" + order, *(part // 256, part % 256, part % 256) * 2)


def _slices(timeline: Timeline, bars: Activities, local: NDArray[np.int64]) -> Iterator[str]:
    ops = timeline.schedule.ops
    message = np.isin(bars.kind, (OpKind.send, OpKind.recv, OpKind.put, OpKind.get))
    for which, template in ((message, _SLICE), (~message, _WORK)):
        b = bars.pick(which)
        names = [_NAMES[OpKind(kind)] for kind in range(1, len(OpKind) + 1)]
        kinds = [names[kind - 1] for kind in b.kind.tolist()]
        rest: list[Any]
        if template is _SLICE:
            # Receives may be of any tag: the send has one.
            message_op = ops[np.where(b.send < 0, b.op, b.send)]
            number = np.where(b.op < 0, -1, local[b.op])
            rest = [number, message_op["amount"], _peers(timeline, b), message_op["tag"]]
        else:
            sizes = ops["amount"][b.op].tolist()
            calc = (b.kind == OpKind.calc).tolist()
            rest = [local[b.op], ["" if c else f',"bytes":{s}' for c, s in zip(calc, sizes, strict=True)]]
        yield from _lines(template, kinds, kinds, b.rank, b.cpu, *_time(b.begin), *_time(b.end - b.begin), *rest)


def _peers(timeline: Timeline, bars: Activities) -> NDArray[np.int64]:
    """The rank at the other end of messages; -1: a receive from any that never got one."""
    first = timeline.schedule.op_first.view(np.int64)
    got = np.where((bars.kind == OpKind.recv) & (bars.send < 0), timeline.partner[bars.op], bars.send)
    sender = np.searchsorted(first, got, side="right") - 1
    peer = timeline.schedule.ops["peer"][bars.op].astype(np.int64)
    return np.where(got >= 0, sender, np.where(peer == ALL_ONES, -1, peer))


def _flows(timeline: Timeline, handled: Activities, own: Activities) -> Iterator[str]:
    """Arrows of messages of which both slices are drawn."""
    if not len(own):
        return
    at = np.minimum(np.searchsorted(own.op, handled.send), len(own) - 1)
    drawn = own.op[at] == handled.send
    handled, at = handled.pick(drawn), at[drawn]
    send = timeline.schedule.ops[handled.send]
    yield from _lines(
        _FLOW,
        *(handled.send, own.rank[at], own.cpu[at], *_time(own.begin[at]), send["amount"], send["tag"], handled.rank),
        *(handled.send, handled.rank, handled.cpu, *_time(handled.begin), send["amount"], send["tag"], own.rank[at]),
    )


def _waits(timeline: Timeline, bars: Activities, local: NDArray[np.int64]) -> Iterator[str]:
    words = {int(kind): name for kind, name in _WAITS.items()}
    names = [words[kind] for kind in bars.kind.tolist()]
    yield from _lines(
        _WAIT,
        *(names, bars.op, bars.rank, bars.cpu, *_time(bars.begin), local[bars.op], _peers(timeline, bars)),
        *(names, bars.op, bars.rank, bars.cpu, *_time(bars.end)),
    )
