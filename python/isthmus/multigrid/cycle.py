"""What a cycle of a multigrid solver costs on every level, by models of messages and of computation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from ..tabular import Tabular
from ..units import text
from .costs import Costs
from .hierarchy import Hierarchy
from .operators import Operator

if TYPE_CHECKING:
    from ..machine import Machine

#: Products with the matrix for each exchange of a sweep. Of Chebyshev a sweep has as many exchanges as its degree, of
#: the others one; symmetric Gauss-Seidel goes forth and back with the elements of others that it got before.
SMOOTHERS = {"jacobi": 1, "l1-jacobi": 1, "gauss-seidel": 1, "symmetric-gauss-seidel": 2, "chebyshev": 1}
CYCLES = ("V", "W", "F", "hypre-W")
#: Floating-point operations of a nonzero in a product.
FLOPS = 2
PENALTIES = ("alpha", "gamma", "beta", "links", "injection", "queue", "contention")


@dataclass(frozen=True, slots=True, repr=False)
class Cycle(Tabular):
    """Seconds of a cycle on every level; made by :func:`cycle`.

    Attributes
    ----------
    compute, smooth, transfer : array of float64, levels
        Computation; messages of smoothing and the residual; messages of restriction to the next level and interpolation
        back.
    """

    compute: np.ndarray[Any, np.dtype[np.float64]]
    smooth: np.ndarray[Any, np.dtype[np.float64]]
    transfer: np.ndarray[Any, np.dtype[np.float64]]

    @property
    def communication(self) -> float:
        """Seconds of all messages of a cycle."""
        return float(self.smooth.sum() + self.transfer.sum())

    @property
    def seconds(self) -> float:
        return float(self.compute.sum()) + self.communication

    def frame(self) -> Sequence[dict[str, Any]]:
        """Return a row per level: compute, smooth, transfer and their sum in seconds."""
        return [
            {"level": i, "compute": float(c), "smooth": float(s), "transfer": float(t), "seconds": float(c + s + t)}
            for i, (c, s, t) in enumerate(zip(self.compute, self.smooth, self.transfer, strict=True))
        ]

    def __repr__(self) -> str:
        return f"<Cycle: {len(self.compute)} levels, {text(self.seconds, 's', 4)}>"

    def __str__(self) -> str:
        head = ("level", "compute", "smooth", "transfer", "all")
        rows = [
            (str(r["level"]), *(text(r[k], "s", 3) for k in ("compute", "smooth", "transfer", "seconds")))
            for r in self.frame()
        ]
        sums = [
            text(float(x), "s", 3) for x in (self.compute.sum(), self.smooth.sum(), self.transfer.sum(), self.seconds)
        ]
        lines = [head, *rows, ("sum", *sums)]
        widths = [max(len(row[i]) for row in lines) for i in range(len(head))]
        return "\n".join("  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in lines)


def cycle(
    hierarchy: Hierarchy,
    costs: Costs | Machine | str,
    *,
    penalties: Sequence[str] = (),
    cores: int = 1,
    threads: int = 1,
    speedup: float | None = None,
    shape: str = "V",
    smoother: str = "jacobi",
    sweeps: tuple[int, int] = (1, 1),
    degree: int = 2,
) -> Cycle:
    """Model a cycle, by default a V-cycle with a sweep of the smoother before and after the coarse levels.

    On every level the part with the most messages, and that with the most bytes, decide: ``max(sends) alpha +
    max(bytes) beta``, three times for smoothing and the residual and once each for restriction and interpolation.
    Computation is two operations for a nonzero, of the part that has most. With ``gamma`` above 0, alpha is that of the
    farthest nodes: ``alpha + (farthest - nearest) gamma``.

    Parameters
    ----------
    hierarchy : Hierarchy
    costs : Costs, Machine or str
    penalties : sequence of str
        - ``"alpha"``, ``"gamma"``: a message, or a link, costs as many times more as processes of a node are active on
          the level: ``ceil(cores active / parts)``
        - ``"beta"``: a byte costs ``hardware`` times more
        - ``"links"``: instead, ``hardware + messages / links`` times more, with the messages of all parts
        - ``"injection"``: bytes of a node's active processes take at least ``bytes / injection`` (max-rate)
        - ``"queue"``: each exchange takes ``search receives^2`` more
        - ``"contention"``: each exchange takes ``contended`` more for the bytes that a link passes on average, where
          messages go half of the way to the farthest nodes
    cores : int
        Processes of a node.
    threads : int
        Threads of a process: the hierarchy is that of as many fewer parts.
    speedup : float, optional
        How many times faster all threads of a process compute than one; by default ``threads``. The paper takes the
        memory bandwidth of so many cores over that of one.
    shape : {"V", "W", "F", "hypre-W"}
        Level i, the finest being 0, is visited once, 2^i or i + 1 times. In BoomerAMG's W-cycle (``"hypre-W"``) a level
        goes to the next coarser one as often as in a W-cycle, but is smoothed once between two visits of that, and the
        coarsest level is visited once for two visits in a W-cycle.
    smoother : str
        ``"jacobi"``, ``"l1-jacobi"``, ``"gauss-seidel"`` (hybrid: within parts), each with one product and exchange in
        a sweep, ``"symmetric-gauss-seidel"`` with two products and one exchange, as in hypre, ``"chebyshev"`` with
        ``degree`` of both.
    sweeps : pair of int
        Before and after the coarser levels; the coarsest level has both.
    degree : int
        Of Chebyshev's polynomial.

    Returns
    -------
    Cycle

    Raises
    ------
    InvalidInput
        If there is no such penalty, or a number is below 1.

    References
    ----------
    Gahvari, Baker, Schulz, Yang, Jordan and Gropp, "Modeling the performance of an algebraic multigrid cycle on HPC
    platforms", ICS 2011; Gahvari, Gropp, Jordan, Schulz and Yang, "Algebraic multigrid on a dragonfly network: first
    experiences on a Cray XC30", PMBS 2014; Gropp, Olson and Samfass, "Modeling MPI communication performance on SMP
    nodes", EuroMPI 2016; Bienz, Gropp and Olson, "Improving performance models for irregular point-to-point
    communication", EuroMPI 2018.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from isthmus.multigrid import Costs, boxes, cycle, hierarchy
    >>> A = sp.csr_array(np.eye(8) * 2 - np.eye(8, k=1) - np.eye(8, k=-1))
    >>> found = cycle(hierarchy([A], boxes((8,), 4)), Costs(alpha=1e-6, beta=1e-9))
    >>> round(found.communication * 1e6, 3)  # three exchanges of two messages of 8 B
    6.048
    """
    paid = costs if isinstance(costs, Costs) else Costs.of(costs)
    for name in penalties:
        if name not in PENALTIES:
            raise InvalidInput(f"penalty {name!r}: must be one of {', '.join(PENALTIES)}")
    for name, number in (("cores", cores), ("threads", threads)):
        if number < 1:
            raise InvalidInput(f"{name} = {number}: must be at least 1")
    faster = float(threads) if speedup is None else speedup
    if not 0 < faster < np.inf:
        raise InvalidInput(f"speedup = {speedup}: must be above 0")
    check_shape(shape)
    around = exchanges_of(smoother, sweeps, degree)
    count = len(hierarchy)
    compute, smooth, transfer = (np.zeros(count) for _ in range(3))
    for i, level in enumerate(hierarchy.levels):
        exchanges, times = exchanges_on(shape, i, count, around)
        here = _crowded(paid, level.matrix, penalties, cores)
        smooth[i] = (exchanges + times) * exchange_seconds(here, level.matrix, penalties, cores)
        work = (SMOOTHERS[smoother] * exchanges + times) * int(level.matrix.nonzeros.max())
        if level.interpolation is not None:
            p = level.interpolation
            transfer[i] = times * exchange_seconds(here, p, penalties, cores)
            if level.own_restriction is not None:
                transfer[i] += times * exchange_seconds(here, level.own_restriction, penalties, cores)
                work += times * (int(level.own_restriction.nonzeros.max()) + int(p.nonzeros.max()))
            else:
                transfer[i] += times * exchange_seconds(here, p, penalties, cores, back=True)
                work += times * 2 * int(p.nonzeros.max())
        compute[i] = FLOPS * work * paid.flop_of(working_set(level.matrix)) / faster
    return Cycle(compute, smooth, transfer)


def working_set(matrix: Operator) -> int:
    """Return bytes of the largest part of a matrix, with two vectors: 12 a nonzero, 20 a row."""
    most = int(np.argmax(matrix.nonzeros))
    return 12 * int(matrix.nonzeros[most]) + 20 * int(matrix.rows[most])


def check_shape(shape: str) -> None:
    """Refuse a shape of cycles that there is not."""
    if shape not in CYCLES:
        raise InvalidInput(f"shape {shape!r}: must be one of {', '.join(CYCLES)}")


def visits(shape: str, level: int) -> int:
    """Return how often a cycle goes from a level to the next coarser one."""
    return {"V": 1, "F": level + 1}.get(shape, 1 << level)


def exchanges_on(shape: str, level: int, levels: int, exchanges: tuple[int, int]) -> tuple[int, int]:
    """Return exchanges of all sweeps on a level of so many in a cycle, and how often its residual is taken.

    ``exchanges``: in the sweeps before and after the coarser levels.
    """
    before = after = times = visits(shape, level)
    if shape == "hypre-W" and level > 0:
        before //= 2
        if level + 1 == levels:
            after = times = before
    return before * exchanges[0] + after * exchanges[1], times


def exchanges_of(smoother: str, sweeps: tuple[int, int], degree: int) -> tuple[int, int]:
    """Return exchanges in the sweeps before and after the coarser levels."""
    if smoother not in SMOOTHERS:
        raise InvalidInput(f"smoother {smoother!r}: must be one of {', '.join(SMOOTHERS)}")
    if min(sweeps) < 0 or degree < 1:
        raise InvalidInput(f"sweeps = {sweeps}, degree = {degree}: must be at least 0 and 1")
    each = degree if smoother == "chebyshev" else 1
    return sweeps[0] * each, sweeps[1] * each


def _crowded(costs: Costs, matrix: Operator, penalties: Sequence[str], cores: int) -> Costs:
    """The costs where several processes of a node are active at once."""
    active = -(-cores * matrix.active // matrix.parts)
    return replace(
        costs,
        alpha=costs.alpha * (active if "alpha" in penalties else 1),
        gamma=costs.gamma * (active if "gamma" in penalties else 1),
    )


def exchange_seconds(
    costs: Costs, operator: Operator, penalties: Sequence[str] = (), cores: int = 1, *, back: bool = False
) -> float:
    """Return seconds of one exchange of a vector; with ``back`` of that of the transpose."""
    sends, receives, sent, received = operator.most
    if back:
        sends, receives, sent = receives, sends, received
    beta = costs.beta
    if "links" in penalties:
        if not costs.links:
            raise InvalidInput("penalty 'links': the number of links is not known; give links=")
        beta *= costs.hardware + len(operator.exchange) / costs.links
    elif "beta" in penalties:
        beta *= costs.hardware
    if "injection" in penalties:
        if not costs.injection:
            raise InvalidInput("penalty 'injection': the rate of a node is not known; give injection=")
        beta = max(beta, -(-cores * operator.active // operator.parts) / costs.injection)
    alpha = costs.alpha + (costs.farthest - costs.nearest) * costs.gamma
    seconds = sends * alpha + sent * beta
    if "queue" in penalties:
        seconds += costs.search * receives**2
    if "contention" in penalties:
        if not costs.links:
            raise InvalidInput("penalty 'contention': the number of links is not known; give links=")
        seconds += costs.contended * int(operator.exchange.bytes.sum()) * 0.5 * costs.farthest / costs.links
    return seconds
