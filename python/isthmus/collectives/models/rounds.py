"""Rounds in which every rank does the same: one rank's clock stands for all."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .cost import Cost, Work

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from .parameters import Parameters


@dataclass(frozen=True)
class Round:
    """A message sent and one received by every rank, then reductions and a copy; ``count`` times after each other.

    With ``more``, several messages are under way at once, those of ``sizes`` first.

    Attributes
    ----------
    sizes, copied, each of reduced and more : array of int64
        Bytes, one entry for each size of the collective; None for nothing.
    """

    sizes: NDArray[np.int64] | None
    reduced: tuple[NDArray[np.int64], ...] = ()
    copied: NDArray[np.int64] | None = None
    count: int = 1
    more: tuple[NDArray[np.int64], ...] = ()


class Clock:
    """When processor and interface of a rank are free, in picoseconds, one entry for each size."""

    def __init__(self, p: Parameters, sizes: int) -> None:
        self.p = p
        self.cpu = np.zeros(sizes, np.int64)
        self.sending = np.zeros(sizes, np.int64)
        self.receiving = np.zeros(sizes, np.int64)
        self.work = Work.none(sizes)

    def rounds(self, r: Round) -> None:
        """All of a Round."""
        done = 0
        before = None
        while done < r.count:
            start = self.cpu.copy()
            self._one(r)
            done += 1
            # From the second round on, interfaces stand to the processor as the round before left them, sooner or
            # later; from then on every round takes the same.
            state = (np.maximum(self.sending - self.cpu, 0), np.maximum(self.receiving - self.cpu, 0))
            if before is not None and all((a == b).all() for a, b in zip(state, before, strict=True)):
                rest = (self.cpu - start) * (r.count - done)
                self.cpu, self.sending, self.receiving = (t + rest for t in (self.cpu, self.sending, self.receiving))
                break
            before = state
        self.work = self.work + self.work_of(r).times(r.count)

    def _one(self, r: Round) -> None:
        if r.more and r.sizes is not None:
            self._several((r.sizes, *r.more))
        elif r.sizes is not None:
            m = self.p.message(r.sizes)
            start = np.maximum(self.cpu, self.sending)
            come = np.maximum(start + m.way, self.receiving)
            handled = np.maximum(come + m.ahead, start + m.send)
            self.cpu = handled + m.recv_cpu
            self.sending = start + m.gap
            # The send by rendezvous is done when its message is met, which is when ours is.
            self.sending = np.where(r.sizes > self.p.S, np.maximum(self.sending, handled), self.sending)
            self.receiving = come + m.gap
        self.cpu = self.cpu + self.computed(r)

    def _several(self, ways: tuple[NDArray[np.int64], ...]) -> None:
        messages = [self.p.message(sizes) for sizes in ways]
        for at in range(len(self.cpu)):
            costs = [(int(m.send[at]), int(m.ahead[at]), int(m.recv_cpu[at]), int(m.gap[at])) for m in messages]
            clock = (int(self.cpu[at]), int(self.sending[at]), int(self.receiving[at]))
            self.cpu[at], self.sending[at], self.receiving[at] = all_at_once(costs, clock, int(messages[0].way[at]))

    def computed(self, r: Round) -> NDArray[np.int64]:
        """Picoseconds of reductions and copies."""
        total = np.zeros_like(self.cpu)
        for reduced in r.reduced:
            total += self.p.reduced(reduced)
        if r.copied is not None:
            total += self.p.copied(r.copied)
        return total

    def work_of(self, r: Round) -> Work:
        """Work of one of the rounds of a Round."""
        work = Work.of(self.computed(r))
        if r.sizes is not None:
            m = self.p.message(r.sizes)
            work = work + Work.send(m) + Work.recv(m)
        for sizes in r.more:
            m = self.p.message(sizes)
            work = work + Work.send(m) + Work.recv(m)
        return work


def all_at_once(costs: list[tuple[int, int, int, int]], clock: tuple[int, int, int], way: int) -> tuple[int, int, int]:
    """Messages of which everybody sends as many, and gets them as they are sent; the clock after the last.

    ``costs`` are what each takes of the sender's processor, of time before the receiver's processor can have it, of
    that, and of the interface; ``clock`` is when processor, sending and receiving interface are free.
    """
    cpu, sending, receiving = clock
    under_way: deque[int] = deque()
    sent = handled = 0
    while handled < len(costs):
        begin = max(cpu, sending) if sent < len(costs) else -1
        come = max(under_way[0], cpu) if under_way else -1
        # At the same moment a send goes first: it has been there from the begin.
        if come < 0 or 0 <= begin <= come:
            send, ahead, _, gap = costs[sent]
            receiving = max(begin + way, receiving)
            under_way.append(receiving + ahead)
            cpu, sending, receiving = begin + send, begin + gap, receiving + gap
            sent += 1
        else:
            under_way.popleft()
            cpu = come + costs[handled][2]
            handled += 1
    return cpu, sending, receiving


def least(p: Parameters, r: Round, sizes: int) -> NDArray[np.int64]:
    """A lower bound of a Round for any order of its messages: all the work of the processor, or all that is to
    be done after the first message has come."""
    clock = Clock(p, sizes)
    work = clock.work_of(r)
    if r.sizes is None:
        return work.cpu * r.count
    messages = [p.message(one) for one in (r.sizes, *r.more)]
    taken = np.add.reduce([m.recv_cpu for m in messages]) + np.minimum.reduce([m.ahead for m in messages])
    passed = np.add.reduce([m.gap for m in messages]) + np.minimum.reduce([m.recv - m.gap for m in messages])
    come = messages[0].way + np.maximum(taken, passed) + clock.computed(r)
    return np.asarray(np.maximum(work.cpu, come) * r.count)


def symmetric(p: Parameters, rounds: Iterable[Round], sizes: int, exact: bool | NDArray[np.bool_] = True) -> Cost:
    """Cost of rounds, one after the other, of ranks that all begin at once.

    Several messages at once may go in another order where ranks are not quite alike: then the time is the least one.
    """
    clock = Clock(p, sizes)
    shortest = np.zeros(sizes, np.int64)
    free = False
    for r in rounds:
        clock.rounds(r)
        shortest = shortest + least(p, r, sizes)
        free = free or bool(r.more)
    right = np.broadcast_to(np.asarray(exact), clock.cpu.shape)
    return Cost(np.where(right | (not free), clock.cpu, shortest), clock.work, right)
