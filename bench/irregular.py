"""Schedules in which no two ranks do the same at the same time: every step begins with computation of 5 to 10 us."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import isthmus

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]  # senders, receivers


def steps(ranks: int, exchanges: list[Pairs], size: int, seed: int = 1, clock: int = 1) -> isthmus.Schedule:
    """In every step all ranks compute, then send and receive; the next step waits for all of it.

    Times of computation are whole multiples of ``clock`` picoseconds: of 1000 in recordings.
    """
    random = np.random.default_rng(seed)
    rank, kind, amount, peer, tag, op, on = ([] for _ in range(7))
    count, before = 0, None
    everyone = np.arange(ranks)
    for number, (source, target) in enumerate(exchanges):
        calc = count + everyone
        send = count + ranks + np.arange(len(source))
        recv = send + len(source)
        rank += [everyone, source, target]
        kind += [np.full(ranks, 3), np.full(len(source), 1), np.full(len(source), 2)]
        amount += [
            random.integers(5_000_000 // clock, 10_000_000 // clock, ranks) * clock,
            np.full(2 * len(source), size),
        ]
        peer += [np.zeros(ranks, np.int64), target, source]
        tag += [np.full(ranks + 2 * len(source), number)]
        if before is not None:
            op += [calc[before[0]]]
            on += [before[1]]
        op += [send, recv]
        on += [calc[source], calc[target]]
        before = np.concatenate([source, target]), np.concatenate([send, recv])
        count += ranks + 2 * len(source)
    columns = {"rank": rank, "kind": kind, "amount": amount, "peer": peer, "tag": tag, "op": op, "on": on}
    return isthmus.Schedule.of(ranks, **{name: np.concatenate(parts) for name, parts in columns.items()})


def dissemination(ranks: int) -> isthmus.Schedule:
    all_ranks = np.arange(ranks)
    return steps(ranks, [(all_ranks, (all_ranks + (1 << k)) % ranks) for k in range((ranks - 1).bit_length())], 8)


def halo(ranks: int, dimensions: int, iterations: int, clock: int = 1) -> isthmus.Schedule:
    """On a torus of as many ranks on every side as fit."""
    side = round(ranks ** (1 / dimensions))
    grid = np.arange(side**dimensions).reshape((side,) * dimensions)
    there = [np.roll(grid, way, axis).ravel() for axis in range(dimensions) for way in (1, -1)]
    pairs = np.tile(grid.ravel(), 2 * dimensions), np.concatenate(there)
    return steps(grid.size, [pairs] * iterations, 1024, clock=clock)


def sparse(ranks: int, iterations: int) -> isthmus.Schedule:
    """Every rank sends to six others at random, other ones in each iteration."""
    random = np.random.default_rng(2)
    source = np.repeat(np.arange(ranks), 6)
    return steps(ranks, [(source, random.integers(0, ranks, len(source))) for _ in range(iterations)], 256)


def search(ranks: int, levels: int) -> isthmus.Schedule:
    """A search of a graph: from level to level, other ranks have work, a few of them much."""
    random = np.random.default_rng(3)
    exchanges = []
    for _ in range(levels):
        source = np.repeat(np.arange(ranks), np.minimum(random.zipf(1.8, ranks) - 1, 64))
        exchanges.append((source, random.integers(0, ranks, len(source))))
    return steps(ranks, exchanges, 64)


def master(workers: int, rounds: int) -> isthmus.Schedule:
    """Rank 0 gives tasks to all others and takes what they send back."""
    others = np.arange(1, workers + 1)
    zero = np.zeros(workers, np.int64)
    return steps(workers + 1, [(zero, others), (others, zero)] * rounds, 128)


def chained(ranks: int, source: NDArray[np.int64], target: NDArray[np.int64]) -> isthmus.Schedule:
    """A rank computes when it has all that is sent to it, and sends then."""
    edges = len(source)
    recv, send, calc = np.arange(edges), edges + np.arange(edges), 2 * edges + np.arange(ranks)
    work = np.random.default_rng(4).integers(5_000_000, 10_000_000, ranks)
    return isthmus.Schedule.of(
        ranks,
        rank=np.concatenate([target, source, np.arange(ranks)]),
        kind=np.repeat([2, 1, 3], [edges, edges, ranks]),
        amount=np.concatenate([np.full(2 * edges, 512), work]),
        peer=np.concatenate([source, target, np.zeros(ranks, np.int64)]),
        op=np.concatenate([calc[target], send]),
        on=np.concatenate([recv, calc[source]]),
    )


def sweep(ranks: int) -> isthmus.Schedule:
    """A wave from one corner of a square to the other."""
    side = math.isqrt(ranks)
    grid = np.arange(side * side).reshape(side, side)
    source = np.concatenate([grid[:-1].ravel(), grid[:, :-1].ravel()])
    target = np.concatenate([grid[1:].ravel(), grid[:, 1:].ravel()])
    return chained(side * side, source, target)


def tree(ranks: int) -> isthmus.Schedule:
    """Every rank hears from one before it, whichever: some have many that hear from them, most have none."""
    target = np.arange(1, ranks)
    source = np.random.default_rng(5).integers(0, target)
    return chained(ranks, source, target)


# Name, schedule; is it part of --quick?
CASES: tuple[tuple[str, Callable[[], isthmus.Schedule], bool], ...] = (
    ("jittered dissemination 1,000", lambda: dissemination(1000), True),
    ("jittered dissemination 65,536", lambda: dissemination(65536), True),
    ("jittered dissemination 1,000,000", lambda: dissemination(1000000), False),
    ("halo 2-D 256^2", lambda: halo(65536, 2, 5), True),
    ("halo 2-D 1,000^2", lambda: halo(1000000, 2, 2), False),
    ("halo 3-D 10^3", lambda: halo(1000, 3, 50), True),
    ("halo 3-D 40^3", lambda: halo(64000, 3, 5), True),
    ("halo 3-D 40^3, whole ns", lambda: halo(64000, 3, 5, 1000), True),
    ("halo 3-D 100^3", lambda: halo(1000000, 3, 1), False),
    ("sparse exchange 65,536", lambda: sparse(65536, 5), True),
    ("graph search 65,536", lambda: search(65536, 8), True),
    ("sweep 1,000^2", lambda: sweep(1000000), False),
    ("random tree 1,000,000", lambda: tree(1000000), False),
    ("master and 4,095 workers", lambda: master(4095, 20), True),
)
