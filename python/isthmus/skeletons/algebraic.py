"""Algebraic multigrid: V-cycles whose levels are those of a hierarchy that is computed, with its messages."""

from __future__ import annotations

import functools
import warnings
from math import log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import InvalidInput
from ..extras import optional
from .multigrid import box
from .parts import Messages

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..multigrid import Operator
    from .steps import Steps

#: Rows of the problem whose hierarchy is computed, about; a rank has at least so many along an edge.
_ROWS, _EDGE = 2_000_000, 4
#: Rows, at most: 8 million take 6 GB.
_MOST = 1 << 24
#: Rows of a rank from which on a level is local: it exchanges with the ranks around it, however many there are.
_LOCAL = 50


class Product(NamedTuple):
    """A product with a matrix: messages before it, and nonzeros of each rank."""

    messages: Messages
    nonzeros: NDArray[np.float64]

    def grown(self, edge: float) -> Product:
        """The same where a rank has so many times as many points along an edge."""
        bytes = np.maximum(8, 8 * np.rint(self.messages.bytes * edge**2 / 8)).astype(np.int64)
        return Product(self.messages._replace(bytes=bytes), self.nonzeros * edge**3)

    @property
    def turned(self) -> Messages:
        """Of the transpose: what is received here is sent there."""
        return Messages(self.messages.target, self.messages.source, self.messages.bytes)


class Level(NamedTuple):
    """A level: mean rows of a rank, its matrix, and the interpolation from the next level, which the last has not."""

    rows: float
    matrix: Product
    interpolation: Product | None

    def grown(self, edge: float) -> Level:
        """The same where a rank has so many times as many points along an edge."""
        p = self.interpolation
        return Level(self.rows * edge**3, self.matrix.grown(edge), None if p is None else p.grown(edge))


def amg(
    b: Steps, points: int, products: int, sums: int, steps: int, compute: float, spread: float, seed: int
) -> None:  # fmt: skip
    """One step is an iteration: a V-cycle with a sweep before and after, products of the finest matrix, and sums."""
    found = levels(b.ranks, points)
    # A sweep before and one after the coarser levels, and a residual; on the coarsest level as many products.
    matrix = [3] * len(found)
    matrix[0] += products
    total = sum(times * one.matrix.nonzeros.sum() for times, one in zip(matrix, found, strict=True))
    total += sum(2 * one.interpolation.nonzeros.sum() for one in found if one.interpolation is not None)
    seconds = compute * b.ranks / total
    factor = np.maximum(0.0, 1 + spread * np.random.default_rng(seed).standard_normal(b.ranks))

    def send(messages: Messages) -> None:
        if len(messages.source):
            b.irecv(messages.target, messages.source, messages.bytes)
            b.isend(messages.source, messages.target, messages.bytes)
            b.waitall(waiting(messages))

    waits: dict[int, NDArray[np.int64]] = {}

    def waiting(messages: Messages) -> NDArray[np.int64]:
        if id(messages.bytes) not in waits:
            takes_part = np.zeros(b.ranks, np.bool_)
            takes_part[messages.source] = takes_part[messages.target] = True
            waits[id(messages.bytes)] = np.flatnonzero(takes_part)
        return waits[id(messages.bytes)]

    work: dict[int, tuple[NDArray[np.int64], NDArray[np.float64]]] = {}

    def multiply(one: Product) -> None:
        if id(one.nonzeros) not in work:
            ranks = np.flatnonzero(one.nonzeros)
            work[id(one.nonzeros)] = ranks, (seconds * one.nonzeros * factor)[ranks]
        b.compute(*work[id(one.nonzeros)])

    def product(one: Product, cut: bool = False) -> None:
        send(one.messages)
        if cut:
            b.cut()
        multiply(one)

    restrictions = [None if one.interpolation is None else one.interpolation.turned for one in found]
    for _ in range(steps):
        for _ in range(products):
            product(found[0].matrix, cut=True)
        for number, one in enumerate(found):
            fine = number == 0
            product(one.matrix, cut=fine)
            if one.interpolation is None:
                product(one.matrix, cut=fine)
                product(one.matrix, cut=fine)
            else:
                product(one.matrix, cut=fine)
                multiply(one.interpolation)
                send(restrictions[number])  # type: ignore[arg-type]
        for number in range(len(found) - 2, -1, -1):
            one = found[number]
            assert one.interpolation is not None
            product(one.interpolation, cut=number == 0)
            product(one.matrix, cut=number == 0)
        for _ in range(sums):
            b.allreduce(None, 8)


@functools.lru_cache(maxsize=2)
def levels(ranks: int, points: int) -> tuple[Level, ...]:
    """Levels of the Laplace equation on a cube of points a rank, the finest first.

    Up to some two million rows all are those of the hierarchy that PyAMG computes. Above that one is computed with
    fewer points a rank. Its coarse levels, of which a rank has a few rows and where who needs what depends on the
    number of ranks, are taken as they are; its local ones grow, messages as surfaces and computation as volumes, and
    the last of them stands, smaller each time, for the levels between.

    Raises
    ------
    InvalidInput
        If a rank would have fewer points than a level needs, and for more ranks than a hierarchy is computed for.
    """
    edge = points
    if ranks * points**3 > _ROWS:
        edge = max(_EDGE, int((_ROWS / ranks) ** (1 / 3) + 1e-9))
    edge = min(edge, points)
    if ranks * edge**3 > _MOST:
        raise InvalidInput(
            f"ranks={ranks:,}: a hierarchy of {ranks * edge**3:,} rows would be computed: must be at most "
            f"{_MOST // edge**3:,}, or fewer points"
        )
    computed = _computed(box(ranks), edge)
    if edge == points:
        return computed
    local = next((number for number, one in enumerate(computed) if one.rows < _LOCAL), len(computed))
    if not 0 < local < len(computed) - 1:
        raise InvalidInput(f"points={points}: on {ranks:,} ranks must be at most {edge}")
    growth = points / edge
    fine = [one.grown(growth) for one in computed[:local]]
    arrives, after = computed[local], computed[local + 1]
    ratio = max(arrives.rows / after.rows, 2.0)
    for _ in range(max(0, round(log(fine[-1].rows / arrives.rows) / log(ratio)) - 1)):
        fine.append(fine[-1].grown(ratio ** (-1 / 3)))
    return (*fine, *computed[local:])


@functools.lru_cache(maxsize=2)
def _computed(sides: tuple[int, int, int], edge: int) -> tuple[Level, ...]:
    pyamg = optional("pyamg", "skeletons of algebraic multigrid", "multigrid")
    from ..multigrid import boxes, hierarchy

    shape = tuple(side * edge for side in sides)
    matrix = pyamg.gallery.poisson(shape, format="csr")
    # It draws from NumPy's generator: the same hierarchy each time, and whoever uses that one goes on with it.
    before = np.random.get_state()
    np.random.seed(1)
    try:
        with warnings.catch_warnings():
            # Points without strong connections, on coarse levels.
            warnings.simplefilter("ignore")
            solver = pyamg.ruge_stuben_solver(matrix, CF="PMIS", interpolation="direct", max_coarse=9)
    finally:
        np.random.set_state(before)
    ranks = int(np.prod(sides))
    found = hierarchy(solver, boxes(shape, sides), parts=ranks)
    return tuple(
        Level(float(one.matrix.rows.sum()) / ranks, _product(one.matrix),
              None if one.interpolation is None else _product(one.interpolation))
        for one in found.levels
    )  # fmt: skip


def _product(operator: Operator) -> Product:
    e = operator.exchange
    columns = (np.asarray(one, np.int64) for one in (e.sources(), e.peer, e.bytes))
    return Product(Messages(*columns), operator.nonzeros.astype(np.float64))
