"""Trees: broadcast, reduction, scatter and gather over binomial, k-nomial and flat ones, and what is made of two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .cost import Cost, Work
from .forms import form
from .pipelines import followed, undisturbed
from .reductions import summed
from .segments import Segments
from .shapes import Chain, Chains, Flat, Fork, Kary, Knomial, subtrees
from .streams import stream_down, stream_up
from .trees import busiest, down, up

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .parameters import Parameters


def _tree(algorithm: str, ranks: int, radix: int, dims: tuple[int, ...] = ()) -> Any:
    if algorithm == "fork":
        return Fork.whole(ranks, tuple(dims))
    if algorithm in ("linear", "binomial"):
        return Flat(ranks) if algorithm == "linear" else Knomial.whole(ranks)
    if algorithm in ("knomial", "reduce_bcast"):
        return Knomial.whole(ranks, radix)
    if algorithm in ("chain", "pipeline"):
        return Chains(ranks, 1 if algorithm == "pipeline" else radix)
    return Kary(ranks, 2 if algorithm == "binary" else radix)


def _exactly(sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.ones(len(sizes), bool)


def broadcast(p: Parameters, tree: Any, sizes: NDArray[np.int64], segment: int = 0) -> Cost:
    """The message goes down a tree: for the binomial one ⌈log₂ P⌉ (2o + L + (s-1)G) if g + (s-1)G is less."""
    s = Segments(p, sizes, segment)
    work = busiest(tree, lambda _: s.work("send"), lambda _: s.work("recv"))
    time, exact = undisturbed(p, tree, s)
    # By rendezvous a segment also waits for the receive of its own, which may be posted after it.
    exact = exact & (s.whole <= p.S) | (s.count == 1)
    if not exact.all():
        time = np.where(exact, time, stream_down(p, tree, s))
        # Segments by rendezvous begin when receives are posted: no recurrence tells when.
        for at in np.flatnonzero(~exact & (s.whole <= p.S) & p.follow):
            found = followed(p, tree, s, int(at))
            if found is not None:
                time[at], exact[at] = found, True
    return Cost(time, work, exact)


def reduction(
    p: Parameters, tree: Any, sizes: NDArray[np.int64], segment: int = 0, window: int = 0, orderly: bool = True,
    one_by_one: bool = False,
) -> Cost:  # fmt: skip
    """The vector goes up a tree, reduced after each message. ``orderly``: children are taken in the order of ranks,
    which is that of messages that come at the same time; ``one_by_one``: every receive is posted after the reduction
    before it. By rendezvous, there is no exact form where some are posted ahead and others are not."""
    s = Segments(p, sizes, segment)
    reduced = p.reduced(s.whole) * (s.count - 1) + p.reduced(s.rest)
    work = busiest(tree, lambda _: s.work("recv") + Work.of(reduced), lambda _: s.work("send"))
    whole = s.count == 1
    time, exact = up(p, tree, lambda _: sizes, p.reduced(sizes), ahead=not one_by_one)
    exact = exact & whole & (orderly | (s.first.gap <= s.first.recv_cpu))
    exact = exact & (one_by_one | (window == 0) | (sizes <= p.S) | (_most_children(tree) <= 1))
    if not whole.all():
        time = np.where(whole, time, stream_up(p, tree, s))
        for at in np.flatnonzero(~whole & (s.whole <= p.S) & p.follow):
            found = summed(p, tree, s, (p.reduced(s.whole), p.reduced(s.rest)), window, int(at), orderly)
            if found is not None:
                time[at], exact[at] = found, True
    return Cost(time, work, exact)


def _most_children(tree: Any) -> int:
    return max(1 if isinstance(node, Chain) else sum(count for _, count in node.children) for node in subtrees(tree))


def up_and_down(p: Parameters, tree: Any, sizes: NDArray[np.int64], bytes_down: NDArray[np.int64]) -> Cost:
    """A reduction to the root, then a broadcast from it."""
    m, back, reduced = p.message(sizes), p.message(bytes_down), p.reduced(sizes)
    work = busiest(
        tree, lambda _: Work.recv(m) + Work.of(reduced) + Work.send(back), lambda _: Work.send(m) + Work.recv(back)
    )
    time, exact = up(p, tree, lambda _: sizes, reduced)
    return Cost(time + down(p, tree, lambda _: bytes_down), work, exact)


_TREES = ("binomial", "linear", "knomial", "kary", "binary", "chain", "pipeline", "fork")


@form(*(("bcast", name) for name in _TREES))
def _bcast(
    p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str, radix: int = 2, segment: int = 0,
    dims: tuple[int, ...] = (),
) -> Cost:  # fmt: skip
    return broadcast(p, _tree(algorithm, ranks, radix, dims), sizes, segment)


@form(*(("reduce", name) for name in _TREES))
def _reduce(
    p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str, radix: int = 2, segment: int = 0,
    window: int = 0, dims: tuple[int, ...] = (),
) -> Cost:  # fmt: skip
    # Rooms of other trees differ between their ranks.
    one_by_one = algorithm in ("binomial", "linear") or (window == 1 and algorithm in ("knomial", "chain", "pipeline"))
    return reduction(p, _tree(algorithm, ranks, radix, dims), sizes, segment, window, one_by_one=one_by_one)


@form(("allreduce", "binomial"), ("allreduce", "linear"), ("allreduce", "reduce_bcast"))
def _allreduce(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str, radix: int = 2) -> Cost:
    return up_and_down(p, _tree(algorithm, ranks, radix), sizes, sizes)


@form(("barrier", "binomial"), ("barrier", "linear"), ("barrier", "knomial"), ("barrier", "kary"))
def _barrier(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str, radix: int = 2) -> Cost:
    return up_and_down(p, _tree(algorithm, ranks, radix), sizes * 0, sizes * 0)


def scattering(p: Parameters, tree: Any, sizes: NDArray[np.int64]) -> Cost:
    """Every message has the blocks of a subtree: 2o + L on each of the levels, all bytes through the root's interface.
    Ranks between root and leaves copy their own block from what they have got."""
    copied = p.copied(sizes)
    work = busiest(
        tree,
        lambda child: Work.send(p.message(child.ranks * sizes)),
        lambda child: Work.recv(p.message(child.ranks * sizes)),
        copied,
    )
    return Cost(down(p, tree, lambda child: child.ranks * sizes, copied), work, _exactly(sizes))


def gathering(p: Parameters, tree: Any, sizes: NDArray[np.int64]) -> Cost:
    """The tree upwards; a node sends when it has the blocks of its whole subtree."""
    copied = p.copied(sizes)
    work = busiest(
        tree,
        lambda child: Work.recv(p.message(child.ranks * sizes)),
        lambda child: Work.send(p.message(child.ranks * sizes)),
        copied,
    )
    time, exact = up(p, tree, lambda child: child.ranks * sizes, None, copied)
    return Cost(time, work, exact)


@form(("scatter", "binomial"), ("scatter", "linear"), ("scatter", "knomial"))
def _scatter(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str, radix: int = 2) -> Cost:
    return scattering(p, _tree(algorithm, ranks, radix), sizes)


@form(("gather", "binomial"), ("gather", "linear"), ("gather", "knomial"))
def _gather(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str, radix: int = 2) -> Cost:
    return gathering(p, _tree(algorithm, ranks, radix), sizes)


@form(("allgather", "linear"))
def _allgather(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str) -> Cost:
    """Everything to rank 0, all of it back to everyone."""
    tree = Flat(ranks)
    block, whole = p.message(sizes), p.message(ranks * sizes)
    work = busiest(tree, lambda _: Work.recv(block) + Work.send(whole), lambda _: Work.send(block) + Work.recv(whole))
    time, exact = up(p, tree, lambda _: sizes, sizes * 0)
    return Cost(time + down(p, tree, lambda _: ranks * sizes), work, exact)


@form(("reduce_scatter", "linear"))
def _reduce_scatter(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str) -> Cost:
    """A reduction to rank 0, the blocks from there; rank 0 copies its own."""
    tree = Flat(ranks)
    whole, block = p.message(ranks * sizes), p.message(sizes)
    reduced, copied = p.reduced(ranks * sizes), p.copied(sizes)
    if ranks == 1:
        return Cost(sizes * 0, Work.none(len(sizes)), _exactly(sizes))
    root = (Work.recv(whole) + Work.of(reduced) + Work.send(block)).times(ranks - 1) + Work.of(copied)
    time, exact = up(p, tree, lambda _: ranks * sizes, reduced)
    time = time + down(p, tree, lambda _: sizes, copied, root_too=True)
    return Cost(time, Work.most([root, Work.send(whole) + Work.recv(block)]), exact)
