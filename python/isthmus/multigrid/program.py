"""The verb ``program``: cycles of a multigrid solver as a Program, with the messages of a hierarchy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from ..errors import InvalidInput
from ..schedule.builder import ProgramBuilder
from ..schedule.program import Program
from .cycle import FLOPS, SMOOTHERS, check_shape, exchanges_of, exchanges_on
from .gathering import Gathering, all_copies, groups
from .hierarchy import Hierarchy
from .products import Copies, Product
from .redistribution import gathered, roots

#: Events of the largest program; some 65 B each are taken while it is built.
MOST = 200_000_000
COARSEST = ("smooth", "gather", "allgather")


def program(
    hierarchy: Hierarchy,
    flop: float = 0.0,
    *,
    cycles: int = 1,
    shape: str = "V",
    smoother: str = "jacobi",
    sweeps: tuple[int, int] = (1, 1),
    degree: int = 2,
    coarsest: str = "smooth",
    switches: Mapping[int, int] | None = None,
    redundant: bool = False,
) -> Program:
    """Build what the ranks of a solver do in its cycles: a rank for each part of a hierarchy.

    It is the cycle that :func:`cycle` models. On every level a rank sends for each product with the matrix what its
    neighbours need, one message each, waits for what it needs, and computes two operations for each of its nonzeros:
    for sweeps of the smoother and once for the residual. Interpolation does the same with its own neighbours and
    nonzeros. Restriction by the transpose of interpolation computes first, and sends parts of sums the other way; with
    a restriction of its own it is as interpolation. A rank without rows on a level does nothing there, and goes on.

    Parameters
    ----------
    hierarchy : Hierarchy
    flop : float
        Seconds of a floating-point operation of a sparse product, such as ``Costs.of(machine).flop``; 0: messages only.
    cycles : int
        Cycles, each of which is an iteration of the program.
    shape : {"V", "W", "F", "hypre-W"}
        Coarser levels are visited once; twice; by an F-cycle and then a V-cycle.
    smoother : str
        ``"jacobi"``, ``"l1-jacobi"``, ``"gauss-seidel"`` (hybrid: within parts), each with one product and exchange in
        a sweep, ``"symmetric-gauss-seidel"`` with two products and one exchange, ``"chebyshev"`` with ``degree`` of
        both.
    sweeps : pair of int
        Before and after the coarser levels.
    degree : int
        Of Chebyshev's polynomial.
    coarsest : {"smooth", "gather", "allgather"}
        On the coarsest level: all sweeps and a residual, as the model has it; or the right side is gathered on one
        rank, which solves with dense factors (two operations for each of rows^2 entries), and the solution scattered;
        or it is gathered on all ranks that have rows there, and each solves. Nothing is solved twice in a row.
    switches : mapping from int to int, optional
        Levels to the number of parts on which they and coarser ones are, such as ``redistribute(...).switches``: the
        right side is gathered on the roots before such a level, and the solution scattered behind it.
    redundant : bool
        All ranks of a group get the right side and compute what its root does; nothing is scattered. Each exchanges
        with one rank of every other group.

    Returns
    -------
    Program
        Its phases are the levels, its locations what is done there, such as ``level 2 residual``.

    Raises
    ------
    InvalidInput
        If a number or a name is not allowed, levels cannot be gathered so, or the hierarchy is extrapolated.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from isthmus import Level, simulate
    >>> from isthmus.multigrid import boxes, hierarchy, program
    >>> A = sp.csr_array(np.eye(8) * 2 - np.eye(8, k=1) - np.eye(8, k=-1))
    >>> made = program(hierarchy([A], boxes((8,), 4)))
    >>> round(simulate(made, Level(o_send=1e-6)).makespan * 1e6, 3)  # three exchanges of two messages
    6.0
    """
    exchanges = exchanges_of(smoother, sweeps, degree)
    check_shape(shape)
    if cycles < 1:
        raise InvalidInput(f"cycles = {cycles}: must be at least 1")
    if not 0 <= flop < 1:
        raise InvalidInput(f"flop = {flop}: must be seconds from 0 to below 1")
    if coarsest not in COARSEST:
        raise InvalidInput(f"coarsest {coarsest!r}: must be one of {', '.join(COARSEST)}")
    b = ProgramBuilder(hierarchy.parts)
    writer = _Writer(
        b, *_levels(b, hierarchy, flop, switches or {}, redundant, coarsest), shape, exchanges, SMOOTHERS[smoother]
    )
    events = cycles * writer.events()
    if events > MOST:
        raise InvalidInput(
            f"the program would have {events:,} events: must be at most {MOST:,}, which take 13 GB; take fewer cycles, "
            "or a V-cycle"
        )
    for number in range(cycles):
        b.iteration(None, number)
        writer.visit(0, shape)
    return b.build()


@dataclass(frozen=True, slots=True)
class _Level:
    """What is done on a level: products with its operators, and how its vectors come to it."""

    matrix: Product
    restriction: Product | None
    interpolation: Product | None
    gathering: Gathering | None


@dataclass(frozen=True, slots=True)
class _Solve:
    """A dense solution on the coarsest level."""

    gathering: Gathering
    ranks: np.ndarray
    seconds: float


def _levels(
    b: ProgramBuilder, hierarchy: Hierarchy, flop: float, switches: Mapping[int, int], redundant: bool, coarsest: str
) -> tuple[list[_Level], _Solve | None]:
    now = hierarchy
    copies: Copies = {}
    out: list[_Level] = []
    # The hierarchy refuses levels that do not exist before anything is built.
    gathered(hierarchy, switches)
    for number in range(len(hierarchy)):
        gathering = None
        if number in switches:
            rows = now.levels[number].matrix.rows
            root = roots(rows, switches[number])
            gathering = Gathering.of(b, groups(rows, root, copies, redundant=redundant), redundant=redundant)
            now = gathered(now, {number: switches[number]})
            if redundant:
                copies = all_copies(rows, root, copies)
        out.append(_level(now, number, flop, copies, gathering))
    if coarsest == "smooth":
        return out, None
    last = now.levels[-1].matrix
    everywhere = coarsest == "allgather"
    found = groups(last.rows, np.full(last.parts, np.argmax(last.rows > 0), np.uint32), copies, redundant=False)
    if found:
        ranks = found[0].members[: None if everywhere else 1]
    else:
        only = int(np.argmax(last.rows > 0))
        ranks = copies.get(only, np.array([only], np.uint32))
    solve = FLOPS * float(last.rows.sum()) ** 2 * flop
    return out, _Solve(Gathering.of(b, found, redundant=everywhere), ranks, solve)


def _level(now: Hierarchy, number: int, flop: float, copies: Copies, gathering: Gathering | None) -> _Level:
    one = now.levels[number]
    p, own = one.interpolation, one.own_restriction
    down = up = None
    if p is not None:
        up = Product.of(p, flop, copies)
        down = Product.of(p, flop, copies, transposed=True) if own is None else Product.of(own, flop, copies)
    return _Level(Product.of(one.matrix, flop, copies), down, up, gathering)


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes visits of levels into a program."""

    b: ProgramBuilder
    levels: list[_Level]
    solve: _Solve | None
    shape: str
    exchanges: tuple[int, int]
    #: Products with the matrix for each of these.
    products: int

    def events(self) -> int:
        """Events of all products of a cycle."""
        total = 0
        for number, one in enumerate(self.levels):
            solved = self.solve is not None and number == len(self.levels) - 1
            exchanges, times = exchanges_on(self.shape, number, len(self.levels), self.exchanges)
            total += 0 if solved else (exchanges + times) * one.matrix.events
            total += times * sum(p.events for p in (one.restriction, one.interpolation) if p is not None)
        return total

    def visit(self, number: int, shape: str) -> None:
        """A level and the coarser ones."""
        before, after = self.exchanges
        if number == len(self.levels) - 1:
            self.coarsest(number)
            return
        self.smooth(number, before)
        # BoomerAMG comes to a level once and goes down from there twice; the finest level begins once.
        for _ in range(2 if shape == "hypre-W" and number else 1):
            self.below(number, shape)
            self.smooth(number, after)

    def below(self, number: int, shape: str) -> None:
        """What a level takes from the coarser ones."""
        one = self.levels[number]
        self.times(number, "residual", 1, one.matrix)
        self.times(number, "restriction", 1, one.restriction)
        below = self.levels[number + 1].gathering
        if below is not None:
            with self.at(number + 1, "gather"):
                below.there(self.b)
        solved = self.solve is not None and number + 2 == len(self.levels)
        for each in ("V",) if solved else {"W": ("W", "W"), "F": ("F", "V")}.get(shape, (shape,)):
            self.visit(number + 1, each)
        if below is not None and not below.redundant:
            with self.at(number + 1, "scatter"):
                below.back(self.b)
        self.times(number, "interpolation", 1, one.interpolation)

    def coarsest(self, number: int) -> None:
        if self.solve is None:
            self.smooth(number, sum(self.exchanges))
            self.times(number, "residual", 1, self.levels[number].matrix)
            return
        with self.at(number, "solve"):
            self.solve.gathering.there(self.b)
            if self.solve.seconds:
                self.b.compute(self.solve.ranks, self.solve.seconds)
            self.solve.gathering.back(self.b)

    def smooth(self, number: int, count: int) -> None:
        matrix = self.levels[number].matrix
        self.times(number, "smoothing", count, replace(matrix, seconds=self.products * matrix.seconds))

    def times(self, number: int, what: str, count: int, product: Product | None) -> None:
        if product is None or not count:
            return
        with self.at(number, what):
            for _ in range(count):
                product.add(self.b)

    @contextmanager
    def at(self, number: int, what: str) -> Iterator[None]:
        """Events of a level, and what they are for."""
        with self.b.phase(f"level {number}"), self.b.location(f"level {number} {what}"):
            yield
