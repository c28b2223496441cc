"""Messages in segments along trees: times that the simulator does not go below, for where there is no exact form.

What one segment is waiting for is what came before it, so that the order of work follows from all that was. The times
are the longest of chains that no order avoids: the way of the first segment, the work of one rank for all segments (of
its processor, or of its interface), the way of the last segment from there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .cost import Cost, Work
from .forms import form
from .segments import Segments, apart
from .shapes import Chain, subtrees
from .trees import Shape, all_down

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .parameters import Parameters


def stream_down(p: Parameters, tree: Shape, s: Segments) -> NDArray[np.int64]:
    """From the begin until the last rank has the last segment, at least."""
    tails = all_down(p, tree, lambda _: s.rest)
    known: dict[Shape, NDArray[np.int64]] = {}  # from the arrival of the first segment
    before = s.count - 1
    for node in subtrees(tree):
        if isinstance(node, Chain):
            known[node] = _chain_down(node.ranks, s)
            continue
        root = node is tree
        children = sum(count for _, count in node.children)
        first, received = (0, 0) if root else (s.first.recv, before * s.first.recv_cpu + s.last.recv_cpu)
        time = np.zeros_like(s.rest) if root else _received(s)
        place = 0
        for child, count in node.children:
            place += count
            # The way of the first segment, and what the child has to do from then on.
            time = np.maximum(time, first + (place - 1) * apart(s.first) + s.first.way + known[child])
            # Before the last segment, the interface sends all others, the processor also receives.
            interface = first + before * children * apart(s.first) + (place - 1) * apart(s.last)
            processor = received + before * children * s.first.send + (place - 1) * s.last.send
            time = np.maximum(time, np.maximum(interface, processor) + s.last.step + tails[child])
        known[node] = time
    return known[tree]


def _received(s: Segments) -> NDArray[np.int64]:
    """From the arrival of the first segment, what processor and interface need to have them all."""
    before = s.count - 1
    by_processor = before * s.first.recv_cpu + s.last.recv_cpu
    return np.asarray(np.maximum(by_processor, before * s.first.gap + s.last.recv))


def _chain_down(ranks: int, s: Segments) -> NDArray[np.int64]:
    """The rank before the last receives and sends all segments."""
    before = s.count - 1
    received: NDArray[np.int64] = before * s.first.recv_cpu + s.last.recv_cpu
    if ranks == 1:
        return _received(s)
    work = np.maximum(s.first.recv + before * apart(s.first), received + before * s.first.send)
    return np.asarray((ranks - 2) * s.first.step + work + s.last.step)


def stream_up(p: Parameters, tree: Shape, s: Segments) -> NDArray[np.int64]:
    """From the begin until the root has the sum of the last segments, at least."""
    one, rest = p.reduced(s.whole), p.reduced(s.rest)
    before = s.count - 1
    known: dict[Shape, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}  # first and last segment may be sent
    zero = np.zeros_like(s.rest)
    for node in subtrees(tree):
        if isinstance(node, Chain):
            links = node.ranks - 1
            work = before * (s.first.recv_cpu + one + s.first.send) if links else before * apart(s.first)
            known[node] = links * (s.first.step + one), work + links * (s.last.step + rest)
            continue
        children = sum(count for _, count in node.children)
        if not children:
            known[node] = zero, zero if node is tree else before * apart(s.first)
            continue
        first, last = zero, zero
        for child, _ in node.children:
            begun, ended = known[child]
            first = np.maximum(first, begun + s.first.step + one)
            last = np.maximum(last, ended + s.last.step + rest)
        earliest = np.minimum.reduce([known[child][0] for child, _ in node.children]) + s.first.way
        first = np.maximum(first, earliest + children * (s.first.recv_cpu + one))
        sent = zero if node is tree else before * s.first.send
        work = children * (before * (s.first.recv_cpu + one) + s.last.recv_cpu + rest)
        known[node] = first, np.maximum(last, earliest + work + sent)
    return known[tree][1]


@form(("bcast", "double_tree"), ("bcast", "split_binary"))
def _spread(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str, segment: int = 0) -> Cost:
    """Every rank but the root receives all segments, and what is received is sent by some rank: the rank that has
    most to do has at least the average."""
    return _busiest(ranks, _average(p, ranks, sizes, segment, 1 if ranks == 2 else 2, sizes * 0))


@form(("reduce", "double_tree"), ("reduce", "split_binary"))
def _sum(
    p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str, segment: int = 0, window: int = 0
) -> Cost:
    """The stream backwards, with reductions."""
    return _busiest(ranks, _average(p, ranks, sizes, segment, 1 if ranks == 2 else 2, p.reduced(sizes)))


@form(("allreduce", "double_tree"))
def _both(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str, segment: int = 0) -> Cost:
    """Both, one after the other."""
    up = _average(p, ranks, sizes, segment, 2, p.reduced(sizes))
    return _busiest(ranks, up + _average(p, ranks, sizes, segment, 2, sizes * 0))


def _average(
    p: Parameters, ranks: int, sizes: NDArray[np.int64], segment: int, parts: int, reduced: NDArray[np.int64]
) -> Work:
    half = Segments(p, sizes // parts, segment)
    # A part without bytes may be left out.
    count = np.where(sizes >= parts, parts, 0 if parts > 1 else 1)
    # Reductions are rounded one by one.
    added = np.maximum(reduced - parts * half.count, 0)
    each = (half.work("send") + half.work("recv")).times(count) + Work.of(added)
    return Work(each.cpu * (ranks - 1) // ranks)


def _busiest(ranks: int, average: Work) -> Cost:
    return Cost(average.cpu, average, np.full(len(average.cpu), ranks == 1))
