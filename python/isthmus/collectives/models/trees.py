"""Costs of trees: down from an idle root, up from leaves that begin at once; by recurrence over subtrees."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from .cost import Work
from .fan_in import fan_in
from .shapes import Chain, subtrees

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from .parameters import Parameters

# A subtree: hashable, with `ranks`, `children` and `taken` (shapes.py).
Shape = Any


def down(
    p: Parameters,
    tree: Shape,
    bytes_to: Callable[[Shape], NDArray[np.int64]],
    copied: NDArray[np.int64] | None = None,
    root_too: bool = False,
) -> NDArray[np.int64]:
    """From the moment that the root may send until the last rank has what is for it, in picoseconds.

    A node sends to its children one after the other, at least max(o + (s-1)O, g + (s-1)G) apart. Every child is idle,
    so that it has the message o + L + o + (s-1) max(G, O) after its send began: R. M. Karp, A. Sahay, E. Santos,
    K. E. Schauser, Optimal broadcast and summation in the LogP model, SPAA 1993. Rendezvous changes nothing: receives
    are posted, and sends of one node do not wait for each other.

    Parameters
    ----------
    bytes_to
        Bytes of the message to the root of a subtree, one entry for each size.
    copied : array of int64, optional
        Picoseconds of a copy that nodes with children make when their processor does not send.
    root_too : bool
        Whether the root makes one, or only nodes between root and leaves.
    """
    return all_down(p, tree, bytes_to, copied, root_too)[tree]


def all_down(
    p: Parameters,
    tree: Shape,
    bytes_to: Callable[[Shape], NDArray[np.int64]],
    copied: NDArray[np.int64] | None = None,
    root_too: bool = False,
) -> dict[Shape, NDArray[np.int64]]:
    """The time of every subtree, from the moment when its root may send."""
    known: dict[Shape, NDArray[np.int64]] = {}
    zero = np.zeros(len(bytes_to(tree)), np.int64)
    for node in subtrees(tree):
        if isinstance(node, Chain):
            known[node] = (node.ranks - 1) * p.message(bytes_to(node)).step
            continue
        start, cpu, last = zero, zero, zero
        copy = zero if copied is None or not node.children or (node is tree and not root_too) else copied
        for child, count in node.children:
            m = p.message(bytes_to(child))
            apart = np.maximum(m.send, m.gap)
            # The processor makes the copy while the interface is busy with the first message.
            between = np.where(m.gap > m.send, copy, 0)
            copy = copy - between
            second = start + np.maximum(apart, m.send + between)
            final = start if count == 1 else second + apart * (count - 2)
            last = np.maximum(last, final + m.step + known[child])
            cpu = np.maximum(start + m.send + between, final + m.send)
            start = second + apart * (count - 1)
        known[node] = np.maximum(last, cpu + copy)
    return known


def up(
    p: Parameters,
    tree: Shape,
    bytes_from: Callable[[Shape], NDArray[np.int64]],
    reduced: NDArray[np.int64] | None,
    copied: NDArray[np.int64] | None = None,
    ahead: bool = False,
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """From the begin until the root has everything, in picoseconds, and whether the simulator finds the same.

    A node takes its children's messages, those of the smallest subtrees first, and sends one to its parent: the
    summation of Karp and others, SPAA 1993, where a message occupies the processor when it comes.

    The simulator may find more where messages of different subtrees come at the same moment and the interface is slower
    than the processor: which of them goes first depends on all that was before.

    By rendezvous, a message that waits for a reduction begins after it.

    Parameters
    ----------
    bytes_from
        Bytes of the message from the root of a subtree, one entry for each size.
    reduced : array of int64, optional
        Picoseconds of the reduction after each message, which the next receive waits for; None: there is none, and
        receives do not wait for each other.
    copied : array of int64, optional
        Picoseconds of a copy that nodes between root and leaves make at the begin.
    ahead : bool
        Whether receives are posted all at once, though messages are taken one after the other.
    """
    known: dict[Shape, NDArray[np.int64]] = {}
    zero = np.zeros(len(bytes_from(tree)), np.int64)
    exact = np.ones(len(zero), bool)
    for node in subtrees(tree):
        if isinstance(node, Chain):
            known[node] = (node.ranks - 1) * (p.message(bytes_from(node)).step + (zero if reduced is None else reduced))
            continue
        runs = []
        for child, count in node.taken:
            m = p.message(bytes_from(child))
            runs.append((known[child] + m.way, m, count))
        if reduced is not None:
            for (first, m, _), (second, _, _) in pairwise(runs):
                tied = (first == second) & (m.gap > m.recv_cpu) & (reduced > 0)
                exact[tied & (ahead | (bytes_from(tree) <= p.S))] = False
        begin = zero if copied is None or node is tree else copied
        each = zero if reduced is None else reduced
        asked = None if reduced is None or ahead or not node.taken else bytes_from(node.taken[0][0]) > p.S
        known[node] = fan_in(runs, each, begin, runs[0][1].way, reduced is not None, asked) if runs else zero
    return known[tree], exact


def busiest(
    tree: Shape,
    above: Callable[[Shape], Work],
    below: Callable[[Shape], Work],
    copied: NDArray[np.int64] | None = None,
) -> Work:
    """Work of the rank of a tree that has most.

    Parameters
    ----------
    above, below
        What an edge to the root of a subtree costs the rank above it, and that root.
    copied : array of int64, optional
        What ranks between root and leaves do besides.
    """
    known: dict[Shape, tuple[Work, Work]] = {}  # of the root of a subtree; of the busiest of all others in it
    for node in subtrees(tree):
        none = below(node).times(0)
        own, others = none, [none]
        if isinstance(node, Chain) and node.ranks > 1:
            own, others = above(node), [below(node)] + [below(node) + above(node)] * (node.ranks > 2)
        for child, count in node.children:
            own = own + above(child).times(count)
            root, rest = known[child]
            more = Work.of(copied) if copied is not None and child.ranks > 1 else none
            others += [root + below(child) + more, rest]
        known[node] = own, Work.most(others)
    return Work.most(known[tree])
