"""Segments that follow each other up a tree, to the picosecond: a recurrence over subtrees.

Every rank of a subtree begins at once, so that subtrees of the same shape are one: of deep trees there are few.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from .pipelines import Recurrence, Unclear
from .shapes import Chain, subtrees

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .parameters import Parameters
    from .segments import Segments
    from .trees import Shape


def summed(
    p: Parameters, tree: Shape, s: Segments, reduced: tuple[NDArray[np.int64], NDArray[np.int64]], window: int, at: int,
    orderly: bool = True,
) -> int | None:  # fmt: skip
    """Until the root has the sum of the last segments, of one size; None where the order of two events that are found
    out at once matters, or with too many messages.

    Parameters
    ----------
    reduced : pair of array of int64
        Picoseconds of the reduction of a segment, and of the last one.
    window : int
        Segments for which a rank has room while they wait for their reduction; 0: all.
    orderly : bool
        Whether children are taken in the order of ranks.
    """
    return _Up(p, s, reduced, window, at, orderly).run(tree)


class _Up(Recurrence):
    def __init__(
        self, p: Parameters, s: Segments, reduced: tuple[NDArray[np.int64], NDArray[np.int64]], window: int, at: int,
        orderly: bool,
    ) -> None:  # fmt: skip
        super().__init__(p, s, at)
        self.window, self.orderly = window, orderly
        self.reduced = self.of_each(reduced[0][at], reduced[1][at])
        self.begins: dict[Shape, array[int]] = {}  # of the sends of a subtree's root, by segment

    def tree(self, tree: Shape) -> int:
        """When the root has all sums."""
        end = 0
        for node in subtrees(tree):
            if isinstance(node, Chain):
                self.begins[node] = self._chain(node.ranks)
                continue
            streams = [
                (self.begins[child], number) for number, (child, count) in enumerate(node.taken) for _ in range(count)
            ]
            end, self.begins[node] = self._rank(streams, node is tree)
        return end

    def _chain(self, ranks: int) -> array[int]:
        """Rank by rank, until one passes segments on at the distances at which it gets them: so do all others."""
        times = self._rank([], False)[1]
        for rank in range(1, ranks):
            after = self._rank([(times, 0)], False)[1]
            later = after[0] - times[0]
            if all(a - b == later for a, b in zip(after, times, strict=True)):
                return array("q", [time + (ranks - 1 - rank) * later for time in after])
            times = after
        return times

    def _rank(self, streams: list[tuple[array[int], int]], root: bool) -> tuple[int, array[int]]:
        """When a rank is done, and when it begins to send each segment.

        ``streams``: when its children begin to send theirs, in the order in which it takes them, and a number that
        those have in common which follow each other and whose subtrees look alike.
        """
        width = len(streams)
        self.spend(1 + width)
        arrivals = sorted(
            (times[i], child, i) for child, (times, _) in enumerate(streams) for i in range(self.messages)
        )
        reductions = width * self.messages
        # Segments of the first child go to the place of the sum, those of others to rooms; the root's sum is there.
        direct = 0 if root else 1
        rooms = self.window or reductions
        posted: list[int] = [0] * reductions  # when the receive of a reduction is; -1: not yet
        readers: list[int] = []  # reductions out of rooms, in their order
        for n in range(reductions):
            if n % width >= direct:
                if len(readers) >= rooms:
                    posted[n] = -1
                readers.append(n)
        follows = {reader: readers[i + rooms] for i, reader in enumerate(readers) if i + rooms < len(readers)}
        handled = [-1] * reductions
        begins: array[int] = array("q")
        landed = self.landed([(time, i) for time, _, i in arrivals])
        cpu = sending = 0
        before = 0  # when the last reduction began
        taken = added = 0
        ready: list[int] = [] if width else [0] * self.messages  # when each segment may be sent
        sends = 0 if root else self.messages
        while taken < reductions or added < reductions or len(begins) < sends:
            # Next of each: time, when it was found out, which goes first of what is found out at once.
            options: list[tuple[int, int, int]] = []
            if taken < reductions:
                options.append((max(landed[taken], cpu), arrivals[taken][0], 0))
            if added < reductions and handled[added] >= 0 and posted[added] >= 0:
                found = max(handled[added], posted[added], before)
                options.append((max(found, cpu), found, 2))
            if len(begins) < min(sends, len(ready)):
                found = ready[len(begins)]
                options.append((max(found, cpu, sending), found, 1))
            options.sort()
            now, found, what = options[0]
            if len(options) > 1 and what == 0 and options[1][:2] == (now, found):
                raise Unclear
            if what == 0:
                _, child, i = arrivals[taken]
                self._compare(arrivals, taken, streams)
                handled[i * width + child] = now
                cpu = now + self.recv_cpu[i]
                taken += 1
            elif what == 2:
                i = added // width
                cpu = now + self.reduced[i]
                if added in follows:
                    posted[follows[added]] = cpu
                before = now
                added += 1
                if added % width == 0:
                    ready.append(now)
            else:
                i = len(begins)
                begins.append(now)
                cpu, sending = now + self.send[i], now + self.gap[i]
        return cpu, begins

    def _compare(self, arrivals: list[tuple[int, int, int]], taken: int, streams: list[tuple[array[int], int]]) -> None:
        """Messages of ranks that look alike, sent at the same time, go in the order of ranks.

        Where the interface is slower than the processor, others may be in between.
        """
        time, child, i = arrivals[taken]
        if taken + 1 == len(arrivals) or arrivals[taken + 1][0] != time:
            return
        (mine, number), (other, second) = streams[child], streams[arrivals[taken + 1][1]]
        at_once = mine == other and self.gap[i] <= self.recv_cpu[i]
        if not self.orderly or not (number == second or at_once):
            raise Unclear
