"""Costs of trees: down from an idle root, up from leaves that begin at once; by recurrence over the different subtrees."""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from .cost import Work

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from .parameters import Message, Parameters

# A subtree: hashable, with `ranks` and `children()`, in the order in which its root sends to them (shapes.py).
Shape = Any


def down(p: Parameters, tree: Shape, bytes_to: Callable[[Shape], NDArray[np.int64]]) -> NDArray[np.int64]:
    """From the moment that the root may send until the last rank has what is for it, in picoseconds.

    A node sends to its children one after the other, at least max(o + (s-1)O, g + (s-1)G) apart. Every child is idle, so
    that it has the message o + L + o + (s-1) max(G, O) after its send began: R. M. Karp, A. Sahay, E. Santos,
    K. E. Schauser, Optimal broadcast and summation in the LogP model, SPAA 1993. Rendezvous changes nothing: receives
    are posted, and sends of one node do not wait for each other.

    Parameters
    ----------
    bytes_to
        Bytes of the message to the root of a subtree, one entry for each size.
    """
    known: dict[Shape, NDArray[np.int64]] = {}
    zero = np.zeros(len(bytes_to(tree)), np.int64)

    def solve(node: Shape) -> NDArray[np.int64]:
        if node not in known:
            start, last = zero, zero
            for child, equal in groupby(node.children()):
                count = sum(1 for _ in equal)
                m = p.message(bytes_to(child))
                apart = np.maximum(m.send, m.gap)
                last = np.maximum(last, start + apart * (count - 1) + m.step + solve(child))
                start = start + apart * count
            known[node] = last
        return known[node]

    return solve(tree)


def up(
    p: Parameters,
    tree: Shape,
    bytes_from: Callable[[Shape], NDArray[np.int64]],
    reduced: NDArray[np.int64] | None,
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """From the begin until the root has everything, in picoseconds, and whether the simulator finds the same.

    It may find more where messages of different subtrees come at the same moment and the interface is slower than the
    processor: which of them goes first depends on all that was before.

    A node takes its children's messages, those of the smallest subtrees first, and sends one to its parent: the
    summation of Karp and others, SPAA 1993, where a message occupies the processor when it comes.

    Parameters
    ----------
    bytes_from
        Bytes of the message from the root of a subtree, one entry for each size.
    reduced : array of int64, optional
        Picoseconds of the reduction after each message, which the next receive waits for; None: there is none, and
        receives do not wait for each other.
    """
    known: dict[Shape, NDArray[np.int64]] = {}
    zero = np.zeros(len(bytes_from(tree)), np.int64)
    exact = np.ones(len(zero), bool)

    def solve(node: Shape) -> NDArray[np.int64]:
        if node not in known:
            runs = []
            for child, equal in groupby(reversed(node.children())):
                m = p.message(bytes_from(child))
                runs.append((solve(child) + m.way, m, sum(1 for _ in equal)))
            if reduced is not None:
                for (first, m, _), (second, _, _) in pairwise(runs):
                    exact[(first == second) & (m.gap > m.recv) & (reduced > 0)] = False
            known[node] = _fan_in(p, runs, zero if reduced is None else reduced, reduced is not None) if runs else zero
        return known[node]

    return solve(tree), exact


def busiest(tree: Shape, above: Callable[[Shape], Work], below: Callable[[Shape], Work]) -> Work:
    """Work of the rank of a tree that has most.

    Parameters
    ----------
    above, below
        What an edge to the root of a subtree costs the rank above it, and that root.
    """
    known: dict[Shape, tuple[Work, Work]] = {}  # of the root of a subtree; of the busiest of all others in it

    def solve(node: Shape) -> tuple[Work, Work]:
        if node not in known:
            none = below(node).times(0)
            own, others = none, [none]
            for child, equal in groupby(node.children()):
                own = own + above(child).times(sum(1 for _ in equal))
                root, rest = solve(child)
                others += [root + below(child), rest]
            known[node] = own, Work.most(others)
        return known[node]

    return Work.most(solve(tree))


def _fan_in(
    p: Parameters, runs: list[tuple[NDArray[np.int64], Message, int]], reduced: NDArray[np.int64], ordered: bool
) -> NDArray[np.int64]:
    """When a rank that has nothing else to do has taken messages, each with a reduction after it.

    ``runs`` are arrivals, messages and how many of them are equal, in the order in which the rank receives them;
    ``ordered`` says whether a receive waits for the reduction of the one before.
    """
    # Where messages come in the order in which they are received, it does not matter for the end which of the work that
    # is there goes first: the processor never waits while there is some.
    early = np.zeros(len(reduced), bool)
    for (before, _, _), (after, _, _) in pairwise(runs):
        early |= after < before
    cpu, interface = np.zeros_like(reduced), np.zeros_like(reduced)
    for arrival, m, count in runs:
        first = np.maximum(np.maximum(arrival, cpu), interface)
        last = first + np.maximum(m.gap, m.recv + reduced) * (count - 1)
        cpu, interface = last + m.recv + reduced, last + m.gap
    for at in np.flatnonzero(early):
        messages = [
            (int(arrival[at]), int(m.recv[at]), int(m.gap[at])) for arrival, m, count in runs for _ in range(count)
        ]
        if ordered:
            cpu[at] = _one_by_one(messages, int(reduced[at]), p.o_send + p.L)
        else:
            cpu[at] = _as_they_come(messages)
    return cpu


def _as_they_come(messages: list[tuple[int, int, int]]) -> int:
    cpu = interface = 0
    for arrival, recv, gap in sorted(messages, key=lambda m: m[0]):
        handled = max(arrival, cpu, interface)
        cpu, interface = handled + recv, handled + gap
    return cpu


def _one_by_one(messages: list[tuple[int, int, int]], reduced: int, way: int) -> int:
    """Where a message comes before one that is received before it: work goes in the order in which it was found out."""
    waiting = sorted(range(len(messages)), key=lambda i: messages[i][0])
    handled = [False] * len(messages)
    cpu = interface = 0
    turn = 0  # of the receive that is posted
    found = -1  # when its reduction was found out; -1: it has not been yet
    while turn < len(messages):
        if found < 0 and handled[turn]:
            found = cpu
        begin = max(messages[waiting[0]][0], cpu, interface) if waiting else -1
        if found >= 0 and (not waiting or (cpu, found) < (begin, messages[waiting[0]][0] - way)):
            cpu += reduced
            found = -1
            turn += 1
            continue
        message = waiting.pop(0)
        handled[message] = True
        _, recv, gap = messages[message]
        cpu, interface = begin + recv, begin + gap
        if message == turn:
            found = begin
    return cpu
