"""Whether two programs make the same calls: numbers of requests and communicators, and computation, do not matter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..schedule.event import SENDS, EventKind
from .streams import ADDRESSED, Registry, Stream, stream

if TYPE_CHECKING:
    from ..schedule.program import Program


class Difference(NamedTuple):
    """The first call that differs."""

    rank: int
    call: int
    one: str
    other: str

    def __str__(self) -> str:
        return f"rank {self.rank}, call {self.call}: {self.one} against {self.other}"


class Deviation(NamedTuple):
    """How far a program is from a recording.

    Attributes
    ----------
    first : str
        The first call that differs; empty if none does.
    cells : int
        Cells of the matrix of messages, from rank to rank, with other bytes.
    bytes : float
        Largest error of what a rank sends, over what it sends.
    collectives : bool
        Each kind of collective is called as often.
    """

    first: str
    cells: int
    bytes: float
    collectives: bool


def deviation(recorded: Program, made: Program) -> Deviation:
    """How far a program of as many ranks is from a recording."""
    registry = Registry()
    matrices, sent, counts = [], [], []
    for program in (recorded, made):
        one = stream(program, registry)
        sends = np.isin(one.kind, SENDS) & (one.peer >= 0)
        key, index = np.unique(one.rank[sends] * one.ranks + one.peer[sends], return_inverse=True)
        total = np.bincount(index.reshape(-1), one.amount[sends], len(key))
        matrices.append(dict(zip(key.tolist(), total.tolist(), strict=True)))
        sent.append(np.bincount(one.rank[sends], one.amount[sends], one.ranks))
        counts.append(np.bincount(program.what[program.kind == EventKind.collective], minlength=16))
    cells = sum(matrices[0].get(key) != matrices[1].get(key) for key in matrices[0].keys() | matrices[1].keys())
    error = float(np.max(np.abs(sent[1] - sent[0]) / np.maximum(sent[0], 1)))
    found = difference(recorded, made)
    return Deviation("" if found is None else str(found), cells, error, bool((counts[0] == counts[1]).all()))


def difference(one: Program, other: Program) -> Difference | None:
    """The first call that differs between two programs, None if there is none.

    Calls are the same if they do the same in the same place to the same peers with the same bytes, on communicators of
    the same ranks, and waits wait for the same calls.
    """
    registry = Registry()
    mine, theirs = stream(one, registry), stream(other, registry)
    for rank in range(min(mine.ranks, theirs.ranks)):
        a, b = _calls(mine, registry, rank), _calls(theirs, registry, rank)
        if a != b:
            at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
            return Difference(rank, at, *(_words(calls[at]) if at < len(calls) else "nothing" for calls in (a, b)))
    if mine.ranks != theirs.ranks:
        return Difference(min(mine.ranks, theirs.ranks), 0, f"{mine.ranks} ranks", f"{theirs.ranks} ranks")
    return None


def _words(call: tuple[Any, ...]) -> str:
    """A call of :func:`_calls` for people."""
    name, location, phase, peer, tag, amount, together, numbers, waits = call
    words = [
        str(name),
        f"at {location}" if location else "",
        f"in {phase}" if phase else "",
        *([] if waits else [f"peer {peer}", f"tag {tag}", f"{amount:,} bytes"]),
    ]
    words.append(f"on a communicator of {len(together) // 4:,} ranks" if together else "")
    words.append(f"numbers {', '.join(map(str, numbers))}" if numbers else "")
    words.append(f"waits for {len(waits)} calls" if waits else "")
    return ", ".join(filter(None, words))


def _calls(one: Stream, registry: Registry, rank: int) -> list[tuple[object, ...]]:
    program = one.program
    out: list[tuple[object, ...]] = []
    opened: dict[int, int] = {}
    for at in range(int(one.first[rank]), int(one.first[rank + 1]) - 1):
        call = registry.calls[one.call[at]]
        kind, amount = call.kind, int(one.amount[at])
        numbers = one.numbers(at)
        comm = int(program.comm[one.event[at]])
        together = program.members(comm).tobytes() if comm else b""
        waits: tuple[int, ...] = ()
        if kind in (EventKind.wait, EventKind.test):
            waits = (opened.get(int(one.request[at]), -1),)
        elif kind in (EventKind.waitall, EventKind.waitany):
            wanted = numbers if one.detail[at] else tuple(opened)
            waits = tuple(opened.get(w, -1) for w in wanted)
            waits = tuple(sorted(waits)) if kind == EventKind.waitall else waits
            numbers = ()
        elif call.opens:
            opened[int(one.request[at])] = len(out)
        if kind == EventKind.sendrecv and comm and numbers[0] >= 0:
            numbers = (int(program.members(comm)[numbers[0]]), *numbers[1:])
        if kind == EventKind.comm_create:
            made = int(program.amount[one.event[at]])
            numbers = tuple(program.members(made).tolist()) if amount >= 0 else ()
            amount = 0
        if kind == EventKind.waitall:
            opened = {r: o for r, o in opened.items() if o not in waits}
        elif kind == EventKind.wait or (kind == EventKind.test and amount):
            opened.pop(int(one.request[at]), None)
        elif kind == EventKind.waitany:
            opened.pop(one.numbers(at)[amount], None)
        root = int(one.peer[at]) if kind in ADDRESSED or kind == EventKind.collective else 0
        out.append((call.name, call.location, call.phase, root, int(one.tag[at]), amount, together, numbers, waits))
    return out
