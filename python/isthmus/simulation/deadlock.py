"""Deadlock as a result: what waits, for whom, in which cycle, and what arrived instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, overload

import numpy as np

from ..schedule.schedule import ALL_ONES, OpKind
from ..units import text
from .waits_for import Places, answers, find_cycle

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .timeline import Timeline

T = TypeVar("T")

# Lines of a text; what is more is counted.
_SHOWN = 8


@dataclass(frozen=True)
class Waiting:
    """An operation that waits forever.

    Attributes
    ----------
    rank, op : int
        Operation ``op`` of the rank.
    kind : OpKind
    peer, tag : int or None
        Peer and tag of messages; None: any, or not a message.
    comm, bytes : int
    started : bool
        True: a posted receive, or a send that waits for its receive. False: it waits for operations of its own rank.
    reason : str
        What the operation waits for, as in ``waits to receive from rank 1``.
    hint : str
        Why that does not happen, if known.
    """

    rank: int
    op: int
    kind: OpKind
    peer: int | None
    tag: int | None
    comm: int
    bytes: int
    started: bool
    reason: str
    hint: str

    def __str__(self) -> str:
        return f"rank {self.rank} {self.reason} ({self.words})" + (f": {self.hint}" if self.hint else "")

    @property
    def words(self) -> str:
        """The operation, as in ``recv, operation 3, tag 0``."""
        parts = [self.kind.name, f"operation {self.op}"]
        if self.kind in (OpKind.send, OpKind.recv):
            parts.append(f"tag {'any' if self.tag is None else self.tag}")
            parts += [f"comm {self.comm}"] if self.comm else []
        return ", ".join(parts)


@dataclass(frozen=True)
class Orphan:
    """A message to ``rank`` that was never received; ``op`` is its send on rank ``source``.

    If it uses rendezvous, its data were never sent.
    """

    rank: int
    source: int
    op: int
    tag: int
    comm: int
    bytes: int

    def __str__(self) -> str:
        comm = f", comm {self.comm}" if self.comm else ""
        return (
            f"{text(self.bytes, 'B')} from rank {self.source} to rank {self.rank} "
            f"(send, operation {self.op}, tag {self.tag}{comm})"
        )


class _Lazy(Sequence[T]):
    """Elements made when somebody looks at them: there may be millions."""

    def __len__(self) -> int:
        raise NotImplementedError

    def _make(self, index: int) -> T:
        raise NotImplementedError

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        which = range(len(self))[index]
        return [self._make(i) for i in which] if isinstance(which, range) else self._make(which)

    def __iter__(self) -> Iterator[T]:
        return (self._make(i) for i in range(len(self)))

    def __repr__(self) -> str:
        more = f", ... {len(self) - _SHOWN} more" if len(self) > _SHOWN else ""
        return f"[{', '.join(map(repr, self[:_SHOWN]))}{more}]"


class Orphans(_Lazy[Orphan]):
    """Messages that were never received, by receiver."""

    def __init__(self, timeline: Timeline) -> None:
        self._schedule = timeline.schedule
        self.rank, self._source, self._op, _ = timeline._orphans

    def __len__(self) -> int:
        return len(self.rank)

    def _make(self, index: int) -> Orphan:
        source, number = int(self._source[index]), int(self._op[index])
        op = self._schedule.ops[int(self._schedule.op_first[source]) + number]
        return Orphan(int(self.rank[index]), source, number, int(op["tag"]), int(op["comm"]), int(op["amount"]))

    def of(self, rank: int) -> list[Orphan]:
        """Return the first of the messages to a rank."""
        begin, end = np.searchsorted(self.rank, [rank, rank + 1])
        return self[int(begin) : min(int(end), int(begin) + 1000)]


class _Waiting(_Lazy[Waiting]):
    """Operations that wait; ``which``: their positions among the started ones, then the blocked ones."""

    def __init__(self, deadlock: Deadlock, which: Sequence[int]) -> None:
        self._deadlock = deadlock
        self._which = which

    def __len__(self) -> int:
        return len(self._which)

    def _make(self, index: int) -> Waiting:
        return self._deadlock._waiting(self._which[index])


class Deadlock:
    """Why a simulation ended before everything was done; ``str`` explains it.

    Attributes
    ----------
    time : float
        Time at which the simulation got stuck, seconds.
    waiting : sequence of Waiting
        Started operations that wait for another rank, by rank; then operations that wait for others of their own rank.
    cycle : sequence of Waiting
        A cycle of operations, one per rank: each waits for something that its peer does only after the next operation
        of the cycle. Empty if there is no cycle.
    orphans : sequence of Orphan
        Messages that arrived and were never received.
    """

    def __init__(self, timeline: Timeline) -> None:
        self._schedule = timeline.schedule
        self.time = timeline.makespan
        rank, op, started = (column.astype(np.int64) for column in timeline._stuck)
        begun = started != 0
        self._rank = rank
        self._started = Places(rank[begun], op[begun])
        self._blocked = Places(rank[~begun], op[~begun])
        self.orphans = Orphans(timeline)
        self.waiting: Sequence[Waiting] = _Waiting(self, range(len(rank)))

    @cached_property
    def _answers(self) -> NDArray[np.int64]:
        return answers(self._schedule, self._started, self._blocked)

    @cached_property
    def _circle(self) -> list[int]:
        return find_cycle(self._schedule, self._started, self._blocked, self._answers)

    @property
    def cycle(self) -> Sequence[Waiting]:
        return _Waiting(self, self._circle)

    def _waiting(self, index: int) -> Waiting:
        started = index < len(self._started.rank)
        places = self._started if started else self._blocked
        at = index if started else index - len(self._started.rank)
        rank, number = int(places.rank[at]), int(places.op[at])
        op = self._schedule.ops[int(self._schedule.op_first[rank]) + number]
        kind = OpKind(op["kind"])
        message = kind in (OpKind.send, OpKind.recv)
        peer = None if not message or op["peer"] == ALL_ONES else int(op["peer"])
        tag = None if not message or op["tag"] == ALL_ONES else int(op["tag"])
        if not started:
            reason, hint = self._wait_of_blocked(rank, number), ""
        else:
            who = "any rank" if peer is None else f"rank {peer}"
            reason = f"waits to receive from {who}" if kind == OpKind.recv else f"waits for {who} to receive"
            hint = self._hint(at, rank, kind, peer)
        return Waiting(rank, number, kind, peer, tag, int(op["comm"]), int(op["amount"]), started, reason, hint)

    def _wait_of_blocked(self, rank: int, number: int) -> str:
        begin, end = np.searchsorted(self._blocked.rank, [rank, rank + 1])
        open_ = set(self._blocked.op[begin:end].tolist())
        begin, end = np.searchsorted(self._started.rank, [rank, rank + 1])
        begun = set(self._started.op[begin:end].tolist())
        for on, until_start in self._schedule.requires(rank, number):
            if on in open_ or (on in begun and not until_start):
                return f"waits for its operation {on}"
        return "waits for operations of its own"

    def _hint(self, at: int, rank: int, kind: OpKind, peer: int | None) -> str:
        verb = "sends" if kind == OpKind.recv else "receives"
        if (answer := int(self._answers[at])) >= 0:
            other, op = int(self._blocked.rank[answer]), int(self._blocked.op[answer])
            return f"rank {other} {verb} it in operation {op}, which waits too"
        if peer is None:
            reason = f"no operation is left that {verb} it"
        elif self._is_stuck(peer):
            reason = f"rank {peer} has no operation left that {verb} it"
        else:
            reason = f"rank {peer} has finished"
        if kind == OpKind.recv and (instead := self._instead(rank, peer)):
            reason += f"; what has arrived is {instead}"
        return reason

    def _is_stuck(self, rank: int) -> bool:
        begin, end = np.searchsorted(self._rank, [rank, rank + 1])
        return bool(end > begin)

    def _instead(self, rank: int, peer: int | None) -> Orphan | None:
        """A message to the rank that nobody received, rather of the peer than of another."""
        arrived = self.orphans.of(rank)
        return next((o for o in arrived if o.source == peer), next(iter(arrived), None))

    def __str__(self) -> str:
        ranks = 1 + int(np.count_nonzero(np.diff(self._rank)))
        lines = [
            f"deadlock after {text(self.time, 's', 4)}: {ranks:,} of {self._schedule.ranks:,} ranks wait forever; "
            f"operations not done: {len(self.waiting):,}"
        ]
        cycle = self.cycle
        if cycle:
            lines.append(f"  {len(cycle):,} rank{'' if len(cycle) == 1 else 's'} in a cycle:")
            lines += [f"    rank {w.rank} {w.reason} ({w.words}) →" for w in cycle[:_SHOWN]]
            lines += [f"    {len(cycle) - _SHOWN:,} more →"] if len(cycle) > _SHOWN else []
            lines.append(f"    rank {cycle[0].rank}")
        outside = np.ones(len(self._started.rank), bool)
        outside[self._circle] = False
        others = np.flatnonzero(outside)
        title = "also waiting" if cycle else "waiting"
        lines += _listed(title, [str(self._waiting(int(i))) for i in others[:_SHOWN]], len(others))
        if not len(self._started.rank):
            # A cycle of dependencies within a rank, which validate() would have told.
            lines += _listed("waiting", [str(w) for w in self.waiting[:_SHOWN]], len(self.waiting))
        lines += _listed("messages never received", list(map(str, self.orphans[:_SHOWN])), len(self.orphans))
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Deadlock: {len(self.waiting)} operations not done>"


def _listed(title: str, lines: list[str], number: int) -> list[str]:
    """The lines under a title, and how many more there are."""
    if not lines:
        return []
    more = [f"    {number - len(lines):,} more"] if number > len(lines) else []
    return [f"  {title}:", *(f"    {line}" for line in lines), *more]
