"""Recurrences: what one rank does, operation by operation, where all ranks do the same at the same time.

A message that this rank sends stands for the one that it gets from the rank which does the same on its other side. Time
is that of the number of operations of one rank, whatever the number of ranks; no closed expression is known.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from .parameters import Parameters

#: Operations of a rank up to which a recurrence is followed.
MOST = 5000

_SEND, _RECV, _REDUCE = range(3)
_OPERATION, _MESSAGE, _LANDED, _MET, _ANSWER = range(5)


class OneRank:
    """A rank's operations in the order in which the algorithm writes them.

    The n-th message that is sent is like the one that the n-th receive takes. Sizes are numbers of kinds of messages
    (:func:`follow`).

    Parameters
    ----------
    answered : bool
        Messages go to ranks that have nothing else to do than to answer them: the n-th receive takes that answer.
    """

    def __init__(self, answered: bool = False) -> None:
        self.answered = answered
        self.kinds: list[int] = []
        self.sizes: list[int] = []
        self.waits: list[int] = []
        self.after: list[list[tuple[int, bool]]] = []  # who waits for it: operation, whether for its start only
        self.sends: list[int] = []
        self.receives: list[int] = []
        self.followed = False  # whether something waits for a receive to be posted

    def send(self, size: int, on: Iterable[int] = (), on_start: Iterable[int] = ()) -> int:
        """Append a send that waits for others; returns its number."""
        self.sends.append(len(self.kinds))
        return self._add(_SEND, size, on, on_start)

    def recv(self, size: int, on: Iterable[int] = (), on_start: Iterable[int] = ()) -> int:
        """Append a receive that waits for others; returns its number."""
        self.receives.append(len(self.kinds))
        return self._add(_RECV, size, on, on_start)

    def reduce(self, size: int, on: Iterable[int] = ()) -> int:
        """Append a reduction that waits for others; returns its number."""
        return self._add(_REDUCE, size, on, ())

    def _add(self, kind: int, size: int, on: Iterable[int], on_start: Iterable[int]) -> int:
        number = len(self.kinds)
        self.kinds.append(kind)
        self.sizes.append(size)
        self.after.append([])
        waits = 0
        for start, ones in ((False, on), (True, on_start)):
            for one in ones:
                self.after[one].append((number, start))
                self.followed |= start and self.kinds[one] == _RECV
                waits += 1
        self.waits.append(waits)
        return number


@dataclass(frozen=True)
class _Costs:
    """Picoseconds of one size of the collective, by kind of message."""

    way: int
    send: list[int]
    ahead: list[int]
    recv_cpu: list[int]
    gap: list[int]
    reduced: list[int]
    eager: list[bool]


class _Run:
    """The events of one rank; each that finds processor or interface taken comes again when they are free."""

    def __init__(self, rank: OneRank, costs: _Costs) -> None:
        self.rank, self.costs = rank, costs
        self.cpu = self.sending = self.receiving = 0
        self.waits = list(rank.waits)
        partner = zip(rank.sends, rank.receives, strict=True)
        self.receive_of = dict(partner)
        self.send_of = {receive: send for send, receive in self.receive_of.items()}
        self.posted: dict[int, tuple[int, int]] = {}
        self.arrived: set[int] = set()
        self.queue: list[tuple[int, int, int, int]] = []
        self.found: list[int] = []  # when each event was found out
        self.tie = False

    def run(self) -> None:
        """All events, in the order of their times, then in that in which they were found out; until that is unclear."""
        self._go([op for op, waits in enumerate(self.waits) if waits == 0], 0)
        while self.queue:
            time, number, what, op = heapq.heappop(self.queue)
            if what == _MET:
                self._meet(op, time)
                continue
            if what == _ANSWER:
                heapq.heappush(self.queue, (time + self.costs.way, self._number(time), _MESSAGE, op))
                continue
            kind = self.rank.kinds[op]
            if kind == _RECV:
                self._post(op, time, number)
                continue
            if what == _MESSAGE:
                size = self.rank.sizes[self.receive_of[op]]
                come = max(time, self.receiving)
                self.receiving = come + self.costs.gap[size]
                heapq.heappush(self.queue, (come + self.costs.ahead[size], number, _LANDED, op))
                continue
            free = self.cpu
            if kind == _SEND and what != _LANDED:
                free = max(free, self.sending)
            if free > time:
                heapq.heappush(self.queue, (free, number, what, op))
                continue
            if self.queue and self.queue[0][0] == time and self._unclear(number, what, self.queue[0]):
                self.tie = True
                return
            if what == _LANDED:
                self._message(op, time, number)
            else:
                self._operation(op, time)

    def _unclear(self, number: int, what: int, other: tuple[int, int, int, int]) -> bool:
        """If a message and something else are found out at the same time, ranks differ in which goes first."""
        return self.found[number] == self.found[other[1]] > 0 and (what == _LANDED) != (other[2] == _LANDED)

    def _number(self, time: int) -> int:
        self.found.append(time)
        return len(self.found) - 1

    def _operation(self, op: int, time: int) -> None:
        size = self.rank.sizes[op]
        if self.rank.kinds[op] == _REDUCE:
            self.cpu = time + self.costs.reduced[size]
            return self._release(op, time, True, True)
        self.cpu = time + self.costs.send[size]
        self.sending = time + self.costs.gap[size]
        what, there = _MESSAGE, time + self.costs.way
        if self.rank.answered:
            what, there = _ANSWER, there + self.costs.ahead[size] + self.costs.recv_cpu[size]
        heapq.heappush(self.queue, (there, self._number(time), what, op))
        return self._release(op, time, True, self.costs.eager[size])

    def _message(self, op: int, time: int, number: int) -> None:
        receive = self.receive_of[op]
        size = self.rank.sizes[receive]
        self.cpu = time + self.costs.recv_cpu[size]
        if receive not in self.posted:
            self.arrived.add(receive)
        elif self.posted[receive] > (time, number):
            heapq.heappush(self.queue, (*self.posted[receive], _MET, receive))
        else:
            self._meet(receive, time)

    def _meet(self, receive: int, time: int) -> None:
        self._release(receive, time, False, True)
        send = self.send_of[receive]
        if not self.rank.answered and not self.costs.eager[self.rank.sizes[send]]:
            self.cpu, self.sending = max(self.cpu, time), max(self.sending, time)
            self._release(send, time, False, True)

    def _release(self, op: int, time: int, started: bool, done: bool) -> None:
        ready = []
        for other, start in self.rank.after[op]:
            if started if start else done:
                self.waits[other] -= 1
                if self.waits[other] == 0:
                    ready.append(other)
        self._go(ready, time)

    def _go(self, ready: list[int], time: int) -> None:
        kinds = self.rank.kinds
        for op in sorted(ready, key=lambda one: (kinds[one], one)):
            number, begin = self._number(time), max(time, self.cpu)
            if kinds[op] == _SEND:
                begin = max(begin, self.sending)
            if kinds[op] == _RECV and not self.rank.followed:
                self._post(op, begin, number)
            else:
                heapq.heappush(self.queue, (begin, number, _OPERATION, op))

    def _post(self, op: int, time: int, number: int) -> None:
        """Ahead of its time, as long as nothing waits for that."""
        self.posted[op] = (time, number)
        if not self.rank.followed:
            if op in self.arrived:
                heapq.heappush(self.queue, (time, number, _MET, op))
            return
        self._release(op, time, True, False)
        if op in self.arrived:
            self._meet(op, time)


def follow(
    p: Parameters, rank: OneRank, sizes: Sequence[NDArray[np.int64]], times: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """When a rank is done, one entry for each size of the collective, and whether the simulator finds the same.

    Parameters
    ----------
    sizes : sequence of array of int64
        Bytes of each kind of messages and reductions.
    times : array of int64
        A time which is not gone below: what is answered where ranks are not all alike in the order of what they do.
    """
    messages, reduced = [p.message(one) for one in sizes], [p.reduced(one) for one in sizes]
    found, right = times.copy(), np.zeros(len(times), bool)
    for at in range(len(times)):
        costs = _Costs(
            int(messages[0].way[at]),
            [int(m.send[at]) for m in messages],
            [int(m.ahead[at]) for m in messages],
            [int(m.recv_cpu[at]) for m in messages],
            [int(m.gap[at]) for m in messages],
            [int(one[at]) for one in reduced],
            [bool(one[at] <= p.S) for one in sizes],
        )
        run = _Run(rank, costs)
        run.run()
        if not run.tie:
            found[at], right[at] = run.cpu, True
    return found, right
