"""Segments that follow each other down a tree, to the picosecond.

In closed form where every rank is through with a segment before the next one comes; otherwise by a recurrence over
ranks that get segments at different times. Ranks with the same subtree that get them at the same distances are one, so
that long chains and deep trees have few.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from typing import TYPE_CHECKING

import numpy as np

from .segments import Segments, apart
from .shapes import Chain, subtrees
from .trees import Shape, down

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .parameters import Parameters

#: Messages up to which a recurrence is followed, for one size.
MOST = 2000


def undisturbed(p: Parameters, tree: Shape, s: Segments) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """(S-1) k max(o, g + (s-1)G) of the k sends of the root, and the way of the last segment; and whether it is so.

    It is where no rank has a send left when the next segment comes: k-nomial trees mostly, as ranks below the root have
    fewer sends, chains where the gap is longer than both overheads.
    """
    m, last = s.first, s.last
    step, short = apart(m), apart(last)
    needs: dict[Shape, NDArray[np.int64]] = {}  # from the segment before to the last one, at least
    for node in subtrees(tree):
        if isinstance(node, Chain):
            sooner = m.recv - last.recv
            passing = _own(s, 1) + (node.ranks - 2) * sooner if node.ranks > 1 else 0
            needs[node] = np.maximum(_own(s, 0) + (node.ranks - 1) * sooner, passing)
            continue
        place = 0
        # The last segment is shorter, and so comes sooner after the one before on every further rank.
        sooner = m.recv - last.recv if node is not tree else np.zeros_like(m.recv)
        need = np.zeros_like(m.recv)
        for child, count in node.children:
            place += count
            need = np.maximum(need, needs[child] + sooner + (place - 1) * (step - short))
        needs[node] = need if node is tree else np.maximum(need, _own(s, place))
    sends = sum(count for _, count in tree.children)
    between = sends * step
    return (s.count - 1) * between + down(p, tree, lambda _: s.rest), needs[tree] <= between


def _own(s: Segments, sends: int) -> NDArray[np.int64]:
    """Time by which the previous segment must precede the last one at a rank with this many sends."""
    m = s.first
    if sends == 0:
        return np.asarray(np.maximum(m.recv, m.gap))
    step = apart(m)
    interface = m.recv - s.last.recv + sends * step
    return np.asarray(np.maximum.reduce([m.recv + (sends - 1) * step + m.send, interface, m.gap]))


def followed(p: Parameters, tree: Shape, s: Segments, at: int) -> int | None:
    """Until the last rank has the last segment, of one size; None where the order is not the same for all of two events
    that are found out at once, or with too many messages."""
    return _Down(p, s, at).run(tree)


class Unclear(Exception):
    """Too many messages, or two that could go first."""


class Recurrence(ABC):
    """Segments of one size, of which it is known when each is where."""

    def __init__(self, p: Parameters, s: Segments, at: int) -> None:
        self.messages = int(s.count[at])
        self.way = self.of_each(s.first.way[at], s.last.way[at])
        self.send = self.of_each(s.first.send[at], s.last.send[at])
        self.recv_cpu = self.of_each(s.first.recv_cpu[at], s.last.recv_cpu[at])
        self.ahead = self.of_each(s.first.ahead[at], s.last.ahead[at])
        self.gap = self.of_each(s.first.gap[at], s.last.gap[at])
        self.left = MOST

    def of_each(self, long: np.int64, short: np.int64) -> list[int]:
        """A time of every segment: all but the last are equal."""
        return [int(long)] * (self.messages - 1) + [int(short)]

    def landed(self, begins: list[tuple[int, int]]) -> list[int]:
        """When a rank's processor can have each message, by when its send began, in this order, and its segment."""
        interface = 0
        found = []
        for begin, segment in begins:
            come = max(begin + self.way[segment], interface)
            interface = come + self.gap[segment]
            found.append(come + self.ahead[segment])
        return found

    def run(self, tree: Shape) -> int | None:
        """When the last rank is done, in picoseconds; None where that is not known."""
        if self.messages * (1 + sum(count for _, count in tree.children)) > MOST:
            return None
        try:
            return self.tree(tree)
        except Unclear:
            return None

    @abstractmethod
    def tree(self, tree: Shape) -> int:
        """The same; raises Unclear."""

    def spend(self, several: int) -> None:
        """Follow some messages, as many for every segment."""
        self.left -= several * self.messages
        if self.left < 0:
            raise Unclear


class _Down(Recurrence):
    """Subtrees by the times at which the rank above begins to send each segment to their root, from the first on."""

    def __init__(self, p: Parameters, s: Segments, at: int) -> None:
        super().__init__(p, s, at)
        self.known: dict[tuple[Shape, bytes], int] = {}

    def tree(self, tree: Shape) -> int:
        """From the root, which has all segments."""
        sends = sum(count for _, count in tree.children)
        self.spend(sends)
        begins = [array("q") for _ in range(sends)]
        cpu = interface = 0
        for i in range(self.messages):
            for child in begins:
                begin = max(cpu, interface)
                child.append(begin)
                cpu, interface = begin + self.send[i], begin + self.gap[i]
        return max([cpu, *self._children(tree, begins)])

    def _children(self, node: Shape, begins: list[array[int]]) -> list[int]:
        shapes = [child for child, count in node.children for _ in range(count)]
        return [times[0] + self._below(shape, times) for shape, times in zip(shapes, begins, strict=True)]

    def _below(self, node: Shape, times: array[int]) -> int:
        first = times[0]
        times = array("q", [time - first for time in times])
        key = (node, times.tobytes())
        if key not in self.known:
            self.known[key] = self._chain(node.ranks, times) if isinstance(node, Chain) else self._one(node, times)
        return self.known[key]

    def _one(self, node: Shape, times: array[int]) -> int:
        sends = sum(count for _, count in node.children)
        cpu, begins = self._rank(times, sends)
        return max([cpu, *self._children(node, begins)])

    def _chain(self, ranks: int, times: array[int]) -> int:
        """Rank by rank, until one passes segments on at the distances at which it gets them: so do all others."""
        end = begin = 0
        for rank in range(1, ranks):
            cpu, (sent,) = self._rank(times, 1)
            end = max(end, begin + cpu)
            begin += sent[0]
            after = array("q", [time - sent[0] for time in sent])
            if after == times:
                begin += (ranks - 1 - rank) * sent[0]
                end = max(end, begin - sent[0] + cpu)
                break
            times = after
        return max(end, begin + self._rank(times, 0)[0])

    def _rank(self, times: array[int], sends: int) -> tuple[int, list[array[int]]]:
        """When a rank is done and when it begins each send to each of so many others."""
        self.spend(1 + sends)
        begins = [array("q") for _ in range(sends)]
        landed = self.landed(list(zip(times, range(len(times)), strict=True)))
        cpu = sending = 0
        handled: list[int] = []
        done = 0
        messages, all_sends = self.messages, self.messages * sends
        taken = 0
        while taken < messages or done < all_sends:
            come = max(landed[taken], cpu) if taken < messages else -1
            segment = done // sends if sends else taken
            go = max(cpu, sending) if segment < taken else -1
            if come >= 0 and (go < 0 or come <= go):
                # At the same moment what was found out first goes first: the message when its send began.
                message_first = come < go or go < 0 or times[taken] < handled[segment]
                if come == go and times[taken] == handled[segment]:
                    raise Unclear
            else:
                message_first = False
            if message_first:
                handled.append(come)
                cpu = come + self.recv_cpu[taken]
                taken += 1
            else:
                begins[done % sends].append(go)
                cpu, sending = go + self.send[segment], go + self.gap[segment]
                done += 1
        return cpu, begins
