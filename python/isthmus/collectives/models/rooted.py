"""Trees: broadcast, reduction, scatter and gather over binomial, k-nomial and flat ones, and what is made of two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .cost import Cost, Work
from .forms import form
from .shapes import Flat, Knomial
from .trees import busiest, down, up

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .parameters import Parameters

_KINDS = {"binomial": Knomial.whole, "linear": Flat}


def _exactly(sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.ones(len(sizes), bool)


def broadcast(p: Parameters, tree: Any, sizes: NDArray[np.int64]) -> Cost:
    """The message goes down a tree: for the binomial one ⌈log₂ P⌉ (2o + L + (s-1)G) if o and g + (s-1)G are the less."""
    m = p.message(sizes)
    work = busiest(tree, lambda _: Work.send(m), lambda _: Work.recv(m))
    return Cost(down(p, tree, lambda _: sizes), work, _exactly(sizes))


def reduction(p: Parameters, tree: Any, sizes: NDArray[np.int64]) -> Cost:
    """The vector goes up a tree, reduced after each message."""
    m, reduced = p.message(sizes), p.reduced(sizes)
    work = busiest(tree, lambda _: Work.recv(m) + Work.of(reduced), lambda _: Work.send(m))
    time, exact = up(p, tree, lambda _: sizes, reduced)
    return Cost(time, work, exact)


def up_and_down(p: Parameters, tree: Any, sizes: NDArray[np.int64], bytes_down: NDArray[np.int64]) -> Cost:
    """A reduction to the root, then a broadcast from it."""
    m, back, reduced = p.message(sizes), p.message(bytes_down), p.reduced(sizes)
    work = busiest(
        tree, lambda _: Work.recv(m) + Work.of(reduced) + Work.send(back), lambda _: Work.send(m) + Work.recv(back)
    )
    time, exact = up(p, tree, lambda _: sizes, reduced)
    return Cost(time + down(p, tree, lambda _: bytes_down), work, exact)


@form(("bcast", "binomial"), ("bcast", "linear"))
def _bcast(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str) -> Cost:
    return broadcast(p, _KINDS[algorithm](ranks), sizes)


@form(("reduce", "binomial"), ("reduce", "linear"))
def _reduce(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str) -> Cost:
    return reduction(p, _KINDS[algorithm](ranks), sizes)


@form(("allreduce", "binomial"), ("allreduce", "linear"))
def _allreduce(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str) -> Cost:
    return up_and_down(p, _KINDS[algorithm](ranks), sizes, sizes)


@form(("barrier", "binomial"), ("barrier", "linear"))
def _barrier(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str) -> Cost:
    return up_and_down(p, _KINDS[algorithm](ranks), sizes * 0, sizes * 0)


def scattering(p: Parameters, tree: Any, sizes: NDArray[np.int64]) -> Cost:
    """Every message has the blocks of a subtree: 2o + L on each of the levels, all bytes through the root's interface."""
    work = busiest(
        tree,
        lambda child: Work.send(p.message(child.ranks * sizes)),
        lambda child: Work.recv(p.message(child.ranks * sizes)),
    )
    return Cost(down(p, tree, lambda child: child.ranks * sizes), work, _exactly(sizes))


def gathering(p: Parameters, tree: Any, sizes: NDArray[np.int64]) -> Cost:
    """The same upwards; a node sends when it has the blocks of all of its subtree."""
    work = busiest(
        tree,
        lambda child: Work.recv(p.message(child.ranks * sizes)),
        lambda child: Work.send(p.message(child.ranks * sizes)),
    )
    time, exact = up(p, tree, lambda child: child.ranks * sizes, None)
    return Cost(time, work, exact)


@form(("scatter", "binomial"), ("scatter", "linear"))
def _scatter(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str) -> Cost:
    return scattering(p, _KINDS[algorithm](ranks), sizes)


@form(("gather", "binomial"), ("gather", "linear"))
def _gather(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str) -> Cost:
    return gathering(p, _KINDS[algorithm](ranks), sizes)


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
    """A reduction to rank 0, the blocks from there."""
    tree = Flat(ranks)
    whole, block = p.message(ranks * sizes), p.message(sizes)
    reduced = p.reduced(ranks * sizes)
    work = busiest(
        tree,
        lambda _: Work.recv(whole) + Work.of(reduced) + Work.send(block),
        lambda _: Work.send(whole) + Work.recv(block),
    )
    time, exact = up(p, tree, lambda _: ranks * sizes, reduced)
    return Cost(time + down(p, tree, lambda _: sizes), work, exact)
