"""Programs that overlap: what those of ``examples/overlap`` exchange and compute, and in which order.

Loops run as ``isthmus::pipeline`` carries them out. What a tile computes is cut where exchanges under way are looked
at, ``tests`` times: in simulation, as in a program without a thread for progress, they advance there only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .halos import square
from .multigrid import box
from .parts import Box, parted, rows_and_columns, shared_out, work

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .steps import Steps

    #: Seconds of each rank.
    Seconds = NDArray[np.float64]
    #: What waits for an exchange.
    Wait = Callable[[], None]

_DOUBLE = 8
#: Part of an iteration of conjugate gradients that is the product with the matrix; with the pipelined method, which
#: changes six vectors instead of three.
_PRODUCT, _PIPELINED_PRODUCT = 0.4, 0.3
#: Numbers that an iteration sums up in one call.
_SUMS = 2


def computed(b: Steps, seconds: Seconds, tests: int, look: Wait | None = None) -> None:
    """Computation of the ranks that have any, during which exchanges under way are looked at."""
    busy = np.flatnonzero(seconds)
    if not len(busy):
        return
    who, each = (None if len(busy) == b.ranks else busy), seconds[busy] / (tests + 1)
    for part in range(tests + 1):
        b.compute(who, each)
        if look is not None and part < tests:
            look()


def looped(
    b: Steps, items: int, tiles: int, window: int, tests: int, start: Callable[[int, bool], Wait],
    produce: Seconds, finish: Seconds, look: Wait | None = None,
) -> None:  # fmt: skip
    """A pipelined loop over items, in so many tiles, or in as many as there are items.

    Parameters
    ----------
    start : callable
        Begins the exchange of so many items, nonblocking or not, and returns what waits for it.
    produce, finish : array of float
        Computation of each rank for all items before, and after, their exchanges.
    look : callable, optional
        What a test does beside letting exchanges advance.
    """
    from ..schedule.tiling import steps

    tiles = min(tiles, items)
    counts = [*parted(items, tiles)]
    waits: list[Wait] = []
    for step, tile in steps(tiles, window):
        if step == "start":
            waits.append(start(counts[tile], tiles > 1))
        elif step == "wait":
            waits[tile]()
        else:
            seconds = (produce if step == "produce" else finish) * (counts[tile] / items)
            computed(b, seconds, tests if tiles > 1 else 0, look)


def waiting(b: Steps, request: Any) -> Wait:
    """What waits for a collective of all ranks; nothing for a blocking one."""

    def wait() -> None:
        if request is not None:
            b.wait(None, request)

    return wait


def compress(
    b: Steps, blocks: int, bytes: int, uneven: float, tiles: int, window: int, tests: int, steps: int,
    compute: float, spread: float, seed: int,
) -> None:  # fmt: skip
    """Compressed blocks are gathered on rank 0: sizes first, bytes at the next test, exchange or wait."""
    ranks, seconds = b.ranks, work(b.ranks, compute, spread, seed)
    factors = 1 + uneven * np.random.default_rng((seed, 1)).standard_normal((steps, blocks, ranks))
    sizes = np.maximum(1, bytes * factors).astype(np.int64)
    for step in range(steps):
        begun = 0
        follow: list[Wait] = []  # bytes of the last tile, if they have yet to begin

        def start(count: int, nonblocking: bool, step: int = step, follow: list[Wait] = follow) -> Wait:
            nonlocal begun
            counts = sizes[step, begun : begun + count].sum(0)
            begun += count
            while follow:
                follow.pop()()
            told = waiting(b, b.allgather(None, _DOUBLE, nonblocking=nonblocking))
            gathered: list[Wait] = []

            def bytes_follow() -> None:
                told()
                gathered.append(waiting(b, b.gather(None, counts=counts, nonblocking=nonblocking)))

            follow.append(bytes_follow)

            def wait() -> None:
                if not gathered:
                    follow.pop()()
                gathered[0]()

            return wait

        def look(follow: list[Wait] = follow) -> None:
            while follow:
                follow.pop()()

        b.cut()
        looped(b, blocks, tiles, window, tests, start, seconds, np.zeros(ranks), look)


def osem(
    b: Steps, points: int, subsets: int, tiles: int, window: int, tests: int, steps: int, compute: float,
    spread: float, seed: int,
) -> None:  # fmt: skip
    """Slabs of an image are projected back and summed up over all ranks, then projected forward for the next subset."""
    seconds = work(b.ranks, compute / subsets, spread, seed)

    def start(planes: int, nonblocking: bool) -> Wait:
        return waiting(b, b.allreduce(None, planes * points**2 * _DOUBLE, nonblocking=nonblocking))

    for _ in range(steps * subsets):
        b.cut()
        looped(b, points, tiles, window, tests, start, seconds / 2, seconds / 2)


def summa(
    b: Steps, points: int, panel: int, tiles: int, window: int, tests: int, steps: int, compute: float,
    spread: float, seed: int,
) -> None:  # fmt: skip
    """Panels of A go along the rows of a grid of ranks, those of B along its columns, then they are multiplied."""
    ranks, seconds = b.ranks, work(b.ranks, compute, spread, seed)
    rows, columns = square(ranks)
    (row, _), (column, _) = rows_and_columns(b, Box((rows, columns)))
    panels = -(-points // panel)
    high, wide = -(-points // rows), -(-points // columns)
    shared_out(b, -(-points // high) * -(-points // wide), "blocks of the matrices", alike=True)
    for _ in range(steps):
        begun = 0

        def start(count: int, nonblocking: bool) -> Wait:
            nonlocal begun
            waits = []
            for i in range(begun, begun + count):
                width = min(panel, points - i * panel)
                x, y = i * panel // wide, i * panel // high
                for root, comm, size in ((x, row, high), (y, column, wide)):
                    at = width * size * _DOUBLE
                    waits.append(waiting(b, b.bcast(None, at, root=root, comm=comm, nonblocking=nonblocking)))
            begun += count

            def wait() -> None:
                for one in waits:
                    one()

            return wait

        b.cut()
        looped(b, panels, tiles, window, tests, start, np.zeros(ranks), seconds)


def cholesky(
    b: Steps, points: int, panel: int, ahead: int, tests: int, steps: int, compute: float, spread: float, seed: int
) -> None:
    """Columns of tiles, dealt out in turn: factored, sent to all, and their products subtracted from those behind."""
    ranks = b.ranks
    columns = -(-points // panel)
    shared_out(b, columns, "columns of tiles")
    owner = np.arange(columns) % ranks
    rows = points - panel * np.arange(columns)
    width = np.minimum(panel, rows)
    # Operations for a panel, and for the product of one before it that is subtracted from it.
    factor = width**3 / 3 + (rows - width) * width**2
    update = 2.0 * rows * width * panel
    operations = (factor + update * np.arange(columns)).sum() / ranks
    rate = work(ranks, compute, spread, seed) / operations

    def seconds(column: int, operations: float) -> Seconds:
        out = np.zeros(ranks)
        out[owner[column]] = operations * rate[owner[column]]
        return out

    def send(k: int, nonblocking: bool) -> Wait:
        bytes = int(rows[k] * width[k]) * _DOUBLE
        return waiting(b, b.bcast(None, bytes, root=int(owner[k]), nonblocking=nonblocking))

    for _ in range(steps):
        computed(b, seconds(0, factor[0]), 0)
        wait = send(0, bool(ahead))
        for k in range(columns):
            wait()
            b.cut()
            more = k + 1 < columns
            if more:
                computed(b, seconds(k + 1, update[k + 1] + factor[k + 1]), 0)
                if ahead:
                    wait = send(k + 1, True)
            behind = np.bincount(owner[k + 2 :], update[k + 2 :], ranks) * rate
            computed(b, behind, tests if ahead else 0)
            if more and not ahead:
                wait = send(k + 1, False)


def poisson(
    b: Steps, points: int, extents: int, pipelined: int, hidden: int, tests: int, steps: int, compute: float,
    spread: float, seed: int,
) -> None:  # fmt: skip
    """Conjugate gradients: faces behind the points inside; the sum of the pipelined method behind the product."""
    faces = _Faces(b, points, extents)
    seconds = work(b.ranks, compute, spread, seed) * faces.share
    product = seconds * (_PIPELINED_PRODUCT if pipelined else _PRODUCT)
    for _ in range(steps):
        b.cut()
        if pipelined:
            added = waiting(b, b.allreduce(None, _SUMS * _DOUBLE, nonblocking=bool(hidden)))
            faces.exchange(product, bool(hidden), tests)
            added()
            b.compute(None, seconds - product)
            continue
        faces.exchange(product, bool(hidden), tests)
        for _ in range(2):
            b.compute(None, (seconds - product) / 2)
            b.allreduce(None, _SUMS * _DOUBLE)


def heat(b: Steps, points: int, hidden: int, tests: int, steps: int, compute: float, spread: float, seed: int) -> None:
    """An explicit scheme: in every step faces go to up to six neighbours, behind the points inside."""
    faces = _Faces(b, points, 3)
    seconds = work(b.ranks, compute, spread, seed) * faces.share
    for _ in range(steps):
        b.cut()
        faces.exchange(seconds, bool(hidden), tests)


class _Faces:
    """A cube of points in blocks of ranks, and the exchange of their faces as a neighbourhood collective."""

    def __init__(self, b: Steps, points: int, extents: int) -> None:
        self._b = b
        sides = box(b.ranks) if extents == 3 else (*square(b.ranks), 1) if extents == 2 else (b.ranks, 1, 1)
        grid = Box(sides)
        place = np.unravel_index(np.arange(b.ranks), sides)
        ends = [[points * (at + i) // side for i in (0, 1)] for at, side in zip(place, sides, strict=True)]
        size = np.stack([end - begin for begin, end in ends])
        own = size.prod(0)
        shared_out(b, int(np.count_nonzero(own)), "blocks of points")
        #: Points of a rank over their mean.
        self.share: Seconds = own * b.ranks / points**3
        inner = size.copy()
        triples: list[list[int]] = [[] for _ in range(b.ranks)]
        for axis in range(3):
            for step in (-1, 1):
                there = [0, 0, 0]
                there[axis] = step
                source, target = grid.neighbours(*there)
                inner[axis, source] -= 1
                bytes = own[source] // np.maximum(1, size[axis, source]) * _DOUBLE
                for rank, other, amount in zip(source.tolist(), target.tolist(), bytes.tolist(), strict=True):
                    triples[rank] += [other, amount, amount]
        self._triples = triples
        #: Part of a rank's points that need no neighbour.
        self._inside: Seconds = np.maximum(inner, 0).prod(0) / np.maximum(1, own)

    def exchange(self, seconds: Seconds, hidden: bool, tests: int) -> None:
        """Exchange faces, and compute: what is inside meanwhile, if hidden."""
        wait = waiting(self._b, self._b.neighbor_alltoall(None, self._triples, nonblocking=hidden))
        if not hidden:
            self._b.compute(None, seconds)
            return
        computed(self._b, seconds * self._inside, tests)
        wait()
        self._b.compute(None, seconds * (1 - self._inside))
