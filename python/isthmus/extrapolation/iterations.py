"""Loops whose iterations differ by rank: which iteration of which loop each call of each rank belongs to.

In a loop over panels the owner of a panel sends and the others receive, so that each rank has another order of calls.
All calls of a loop become one body, each of them taken or not, and all ranks have the same iterations: a rank begins
one where it goes back in the body, and a receive is not in an earlier one than its send.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..schedule.event import EventKind
from .matching import RECEIVES, SENDS
from .observe import Group, Observed, find_waits
from .outline import BITS, Reading, Repeat, Statement, Step, first_bits, line_of, number, steps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from .streams import Registry, Stream

#: Calls of all recordings, different calls, and times that ranks come to calls, at most.
_CALLS, _SYMBOLS, _VISITS = 1_500_000, 240, 4_000_000
#: Rounds in which calls are moved to where fewer go back.
_ROUNDS = 30
#: Calls of a rank that go back more, at most, in orders that are compared by their messages.
_NEAR = 1.5

Path = tuple[int, ...]


def in_turns(
    streams: Sequence[Stream], masks: Sequence[NDArray[np.int64]], registry: Registry,
    runs: Sequence[Mapping[str, int]],
) -> tuple[list[list[Step]], list[Observed]] | None:  # fmt: skip
    """One outline for all ranks, and all runs along it; None where it would be too large."""
    if sum(len(one.call) for one in streams) > _CALLS:
        return None
    tokens = [one.call * BITS + first_bits(mask) for one, mask in zip(streams, masks, strict=True)]
    known = np.unique(np.concatenate(tokens))
    if len(known) > _SYMBOLS:
        return None
    symbols = [np.searchsorted(known, some) for some in tokens]
    follows = np.zeros((len(known), len(known)))
    for one, some in zip(streams, symbols, strict=True):
        inside = one.rank[1:] == one.rank[:-1]
        np.add.at(follows, (some[:-1][inside], some[1:][inside]), 1 / one.ranks)
    lines = [line_of(registry.calls[token // BITS].location) for token in known.tolist()]
    shared = [
        all(
            len(set(np.bincount(one.rank[some == i], minlength=one.ranks).tolist())) == 1
            for one, some in zip(streams, symbols, strict=True)
        )
        and registry.calls[token // BITS].kind == EventKind.collective
        and registry.calls[token // BITS].family == 0
        for i, token in enumerate(known.tolist())
    ]
    outlines = [_Outline(known, follows, place, shared) for place in _places(follows, lines)]
    # Of orders that go back as rarely, the one in which messages are received in the iteration that sends them.
    outline = min(outlines, key=lambda one: one.late(streams[0], symbols[0].tolist())) if outlines[1:] else outlines[0]
    number([outline.body])
    observed = []
    for one, some, run in zip(streams, symbols, runs, strict=True):
        groups = outline.groups(one, some)
        if groups is None:
            return None
        found = Observed(one, run, groups)
        find_waits(found, [outline.body])
        observed.append(found)
    return [outline.body], observed


def _places(follows: NDArray[np.float64], lines: Sequence[tuple[str, int]]) -> list[NDArray[np.int64]]:
    """Where calls stand in orders in which as few calls as possible follow one that stands behind them."""
    orders = [_settled(order, follows) for order in (sorted(range(len(lines)), key=lambda i: lines[i]),
                                                     _greedy(follows))]  # fmt: skip
    least = min(_back(order, follows) for order in orders)
    out = []
    for order in orders[: 1 + (orders[0] != orders[1])]:
        if _back(order, follows) < least + _NEAR:
            place = np.empty(len(lines), np.int64)
            place[order] = np.arange(len(lines))
            out.append(place)
    return out


def _greedy(follows: NDArray[np.float64]) -> list[int]:
    """Calls that more follow than come before, first (Eades, Lin and Smyth, 1993)."""
    weight = follows - np.diag(np.diag(follows))
    left = list(range(len(weight)))
    begin: list[int] = []
    end: list[int] = []
    while left:
        part = weight[np.ix_(left, left)]
        out, into = part.sum(1), part.sum(0)
        if (out == 0).any():
            at = int(np.flatnonzero(out == 0)[-1])
            end.append(left.pop(at))
        else:
            begin.append(left.pop(int(np.argmax(out - into))))
    return begin + end[::-1]


def _back(order: Sequence[int], follows: NDArray[np.float64]) -> float:
    """How many calls follow one that stands behind them in the order."""
    return float(np.tril(follows[np.ix_(order, order)], -1).sum())


def _settled(order: Sequence[int], follows: NDArray[np.float64]) -> list[int]:
    """The order after each call was moved to the place where fewest go back, until none moves."""
    order = list(order)
    for _ in range(_ROUNDS):
        moved = False
        for symbol in list(order):
            rest = [other for other in order if other != symbol]
            # What goes back if it stands before all of them, and what each place further on changes.
            change = follows[rest, symbol] * -1.0 + follows[symbol, rest]
            cost = np.concatenate([[follows[rest, symbol].sum()], follows[rest, symbol].sum() + np.cumsum(change)])
            now, best = order.index(symbol), int(np.argmin(cost))
            if cost[best] < cost[now] - 1e-9:
                order = [*rest[:best], symbol, *rest[best:]]
                moved = True
        if not moved:
            break
    return order


@dataclass(eq=False)
class _Loop:
    """A loop of the outline: its number, and places of the first and the last call."""

    number: int
    first: int
    last: int


class _Outline:
    """The body for all ranks, and how calls are read along it."""

    def __init__(
        self, known: NDArray[np.int64], follows: NDArray[np.float64], place: NDArray[np.int64], shared: Sequence[bool]
    ) -> None:
        self.place = place.tolist()
        self.symbol = np.argsort(place).tolist()
        self.known = known.tolist()
        back = [
            (self.place[v], self.place[u])
            for u, v in zip(*(some.tolist() for some in np.nonzero(follows)), strict=True)
            if self.place[v] <= self.place[u]
        ]
        self.anchors = {self.place[i] for i, all_ in enumerate(shared) if all_}
        self.paths: list[Path] = [()] * len(self.known)
        self.loops = 0
        self.statements: dict[int, Statement] = {}
        self.repeats: dict[int, Repeat] = {}
        self.body = self._build(0, len(self.known) - 1, back, ())

    def _build(self, first: int, last: int, back: Sequence[tuple[int, int]], path: Path) -> list[Step]:
        """Steps of the places from first to last; ways back between them become loops."""
        merged: list[_Loop] = []
        for low, high in sorted(back):
            if merged and low <= merged[-1].last:
                merged[-1].last = max(merged[-1].last, high)
            else:
                merged.append(_Loop(0, low, high))
        out: list[Step] = []
        at = first
        for loop in merged:
            out += [self._statement(p, path) for p in range(at, loop.first)]
            loop.number, self.loops = self.loops, self.loops + 1
            inner = (*path, loop.number)
            anchors = [p for p in self.anchors if loop.first <= p <= loop.last]
            # Calls that all ranks make alike part an outer loop; what goes back between two of them is an inner one.
            within = [(a, b) for a, b in back if loop.first <= a and b <= loop.last
                      and not any(a <= p <= b for p in anchors)]  # fmt: skip
            if anchors:
                body = self._build(loop.first, loop.last, within, inner)
            else:
                body = [self._statement(p, inner) for p in range(loop.first, loop.last + 1)]
            repeat = self.repeats[loop.number] = Repeat(body)
            out.append(repeat)
            at = loop.last + 1
        return out + [self._statement(p, path) for p in range(at, last + 1)]

    def _statement(self, place: int, path: Path) -> Statement:
        symbol = self.symbol[place]
        self.paths[symbol] = path
        token = self.known[symbol]
        made = self.statements[symbol] = Statement(token // BITS, token % BITS - 1)
        return made

    # Reading.

    def groups(self, stream: Stream, symbols: NDArray[np.int64]) -> list[Group] | None:
        """Each rank's calls along the outline."""
        given = symbols.tolist()
        where = self._iterations(stream, given)
        counts: dict[tuple[int, Path], int] = {}
        for symbol, vector in zip(given, where, strict=True):
            path = self.paths[symbol]
            for depth, iteration in enumerate(vector):
                key = path[depth], vector[:depth]
                counts[key] = max(counts.get(key, 0), iteration + 1)
        if self._visits(self.body, (), counts) * stream.ranks > _VISITS:
            return None
        numbers = {repeat.number: loop for loop, repeat in self.repeats.items()}
        symbol_of = {statement.number: symbol for symbol, statement in self.statements.items()}
        out = []
        for rank in range(stream.ranks):
            first, last = int(stream.first[rank]), int(stream.first[rank + 1])
            called = {(given[at], where[at]): at - first for at in range(first, last)}
            reading = Reading()
            for step in steps(self.body):
                if isinstance(step, Statement):
                    reading.taken[step.number], reading.inner[step.number] = [], []
                else:
                    reading.counts[step.number] = []
            self._read(self.body, (), counts, called, numbers, symbol_of, reading)
            out.append(Group(np.array([rank], np.int64), 0, reading, last - first))
        return out

    def _visits(self, body: Sequence[Step], vector: Path, counts: Mapping[tuple[int, Path], int]) -> int:
        total = 0
        loops = {id(repeat): loop for loop, repeat in self.repeats.items()}
        for step in body:
            if isinstance(step, Statement):
                total += 1
                continue
            for i in range(counts.get((loops[id(step)], vector), 0)):
                total += self._visits(step.body, (*vector, i), counts)
                if total > _VISITS:
                    return total
        return total

    def _read(
        self, body: Sequence[Step], vector: Path, counts: Mapping[tuple[int, Path], int],
        called: Mapping[tuple[int, Path], int], numbers: Mapping[int, int], symbol_of: Mapping[int, int],
        reading: Reading,
    ) -> None:  # fmt: skip
        inner = vector[-1] if vector else 0
        for step in body:
            if isinstance(step, Statement):
                reading.taken[step.number].append(called.get((symbol_of[step.number], vector), -1))
                reading.inner[step.number].append(inner)
                continue
            count = counts.get((numbers[step.number], vector), 0)
            reading.counts[step.number].append(count)
            for i in range(count):
                self._read(step.body, (*vector, i), counts, called, numbers, symbol_of, reading)

    def late(self, stream: Stream, given: Sequence[int]) -> int:
        """How many receives are in a later iteration than their send."""
        where = self._iterations(stream, given)
        count = 0
        for at, send in _senders(stream).items():
            common = _common(self.paths[given[at]], self.paths[given[send]])
            count += where[at][:common] != where[send][:common]
        return count

    def _iterations(self, stream: Stream, given: Sequence[int]) -> list[Path]:
        """The iterations of the loops around each call."""
        sender = _senders(stream)
        where: list[Path | None] = [None] * len(given)
        next_ = stream.first[:-1].tolist()
        ends = stream.first[1:].tolist()
        waiting: dict[int, int] = {}
        ready = list(range(stream.ranks))[::-1]
        forced = False
        while True:
            if not ready:
                # A receive whose send is in no recording, or comes later by our reading: it goes on without.
                left = [rank for rank in range(stream.ranks) if next_[rank] < ends[rank]]
                if not left:
                    break
                ready, forced = [left[0]], True
                waiting = {at: rank for at, rank in waiting.items() if rank != left[0]}
            rank = ready.pop()
            while (at := next_[rank]) < ends[rank]:
                send = sender.get(at)
                if where[at] is None:
                    where[at] = self._next(given, where, at, at == int(stream.first[rank]))
                    if at in waiting:
                        ready.append(waiting.pop(at))
                if send is not None and send != at and not forced:
                    theirs = where[send]
                    if theirs is None:
                        waiting[send] = rank
                        break
                    where[at] = self._raised(given[at], where[at] or (), given[send], theirs)
                forced = False
                next_[rank] += 1
        return [one or () for one in where]

    def _next(self, given: Sequence[int], where: Sequence[Path | None], at: int, first: bool) -> Path:
        """The iterations of a call after those of the call before it."""
        path = self.paths[given[at]]
        if first:
            return (0,) * len(path)
        before, old = self.paths[given[at - 1]], where[at - 1] or ()
        common = _common(before, path)
        if self.place[given[at]] > self.place[given[at - 1]]:
            return (*old[:common], *(0,) * (len(path) - common))
        return (*old[: common - 1], old[common - 1] + 1, *(0,) * (len(path) - common))

    def _raised(self, symbol: int, mine: Path, other: int, theirs: Path) -> Path:
        """The iterations of a receive, not before those of its send."""
        common = _common(self.paths[symbol], self.paths[other])
        if theirs[:common] > mine[:common]:
            return (*theirs[:common], *(0,) * (len(mine) - common))
        return mine


def _common(one: Path, other: Path) -> int:
    """Loops that two calls are in together."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def _senders(stream: Stream) -> dict[int, int]:
    """For each call that waits for a message, the call that sends it: the first unreceived one of its kind."""
    program = stream.program
    sends: dict[tuple[int, int, int, int], list[int]] = {}
    receives: dict[tuple[int, int, int, int], list[int]] = {}
    comm = np.where(stream.event >= 0, program.comm[np.maximum(stream.event, 0)], 0).tolist()
    kinds, peers, tags, ranks = (column.tolist() for column in (stream.kind, stream.peer, stream.tag, stream.rank))
    for at in np.flatnonzero(np.isin(stream.kind, (*SENDS, *RECEIVES))).tolist():
        kind = kinds[at]
        if kind in SENDS and peers[at] >= 0:
            sends.setdefault((ranks[at], peers[at], comm[at], tags[at]), []).append(at)
        if kind in RECEIVES and peers[at] >= 0:
            receives.setdefault((peers[at], ranks[at], comm[at], tags[at]), []).append(at)
        elif kind == EventKind.sendrecv:
            source, tag, *_ = stream.numbers(at)
            if source >= 0:
                world = int(program.members(comm[at])[source]) if comm[at] else source
                receives.setdefault((world, ranks[at], comm[at], tag), []).append(at)
    out = {}
    for key, some in receives.items():
        for at, send in zip(some, sends.get(key, ()), strict=False):
            if kinds[at] != EventKind.irecv:
                out[at] = send
    return out


__all__ = ["in_turns"]
