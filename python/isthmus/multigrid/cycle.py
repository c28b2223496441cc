"""What a cycle of a multigrid solver costs on every level, by models of messages and of computation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from ..loading import load
from ..tabular import Tabular
from ..units import text
from .hierarchy import Hierarchy
from .operators import Operator

if TYPE_CHECKING:
    from ..machine import Machine

#: Products with the matrix of a level in a cycle: a sweep of the smoother before, one after, and the residual.
_PRODUCTS = 3
#: Floating-point operations of a nonzero in a product.
_FLOPS = 2
_PENALTIES = ("alpha", "gamma", "beta", "links")


@dataclass(frozen=True, kw_only=True, slots=True)
class Costs:
    """What messages and computation cost; made by hand or by :meth:`of`.

    Attributes
    ----------
    alpha, beta, gamma : float
        Seconds of a message between the nearest nodes, of a byte, and of a link of the route.
    nearest, farthest : int
        Links between the nearest nodes, between which ``alpha`` was measured, and between the farthest ones.
    flop : float
        Seconds of a floating-point operation of a sparse product, on one core.
    hardware : float
        How many times the bandwidth that MPI reaches the links have, at least 1.
    links : int
        Links of the network; 0 where not known.
    """

    alpha: float
    beta: float
    gamma: float = 0.0
    nearest: int = 0
    farthest: int = 0
    flop: float = 0.0
    hardware: float = 1.0
    links: int = 0

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "gamma", "nearest", "flop", "links"):
            if not 0 <= getattr(self, name) < np.inf:
                raise InvalidInput(f"{name} = {getattr(self, name)}: must be 0 or more")
        if self.farthest < self.nearest:
            raise InvalidInput(f"farthest = {self.farthest}: must be at least nearest = {self.nearest}")
        if not 1 <= self.hardware < np.inf:
            raise InvalidInput(f"hardware = {self.hardware}: must be at least 1")

    @classmethod
    def of(cls, machine: Machine | str, **others: float) -> Costs:
        """Take the costs of a machine's network.

        ``alpha`` is o_send + L + o_recv, ``beta`` G and ``gamma`` per_hop of the level ``network``; distances are those
        of the topology; ``flop`` is that of the largest working set of the node's table ``spmv``, 0 without one.

        Parameters
        ----------
        machine : Machine or str
        **others : float
            Attributes that are given in place of the machine's.

        Raises
        ------
        InvalidInput
            If there is no such machine or attribute.
        """
        found = load(machine) if isinstance(machine, str) else machine
        level, topology = found.level.network, found.topology
        far = topology.diameter()
        nearest = min(topology.distance(0, 1), 2) if topology.nodes > 1 else 0
        values: dict[str, Any] = {
            "alpha": level.o_send + level.L + level.o_recv,
            "beta": level.G,
            "gamma": level.per_hop,
            "nearest": nearest,
            "farthest": max(int(far[0] if isinstance(far, tuple) else far), nearest),
            "flop": found.node.spmv[-1].time_per_flop if found.node.spmv else 0.0,
            "links": topology.links,
        }
        unknown = set(others) - {*values, "hardware"}
        if unknown:
            raise InvalidInput(f"{min(unknown)}: no cost; costs are {', '.join([*values, 'hardware'])}")
        return cls(**{**values, **others})


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
) -> Cycle:
    """Model a V-cycle with a sweep of the smoother before and after the coarse levels.

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
    cores : int
        Processes of a node.
    threads : int
        Threads of a process: the hierarchy is that of as many fewer parts.
    speedup : float, optional
        How many times faster all threads of a process compute than one; by default ``threads``. The paper takes the
        memory bandwidth of so many cores over that of one.

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
    experiences on a Cray XC30", PMBS 2014.

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
        if name not in _PENALTIES:
            raise InvalidInput(f"penalty {name!r}: must be one of {', '.join(_PENALTIES)}")
    for name, number in (("cores", cores), ("threads", threads)):
        if number < 1:
            raise InvalidInput(f"{name} = {number}: must be at least 1")
    faster = float(threads) if speedup is None else speedup
    if not 0 < faster < np.inf:
        raise InvalidInput(f"speedup = {speedup}: must be above 0")
    count = len(hierarchy)
    compute, smooth, transfer = (np.zeros(count) for _ in range(3))
    for i, level in enumerate(hierarchy.levels):
        here = _crowded(paid, level.matrix, penalties, cores)
        smooth[i] = _PRODUCTS * _exchange(here, level.matrix, penalties)
        work = _PRODUCTS * int(level.matrix.nonzeros.max())
        if level.interpolation is not None:
            transfer[i] = 2 * _exchange(here, level.interpolation, penalties)
            work += 2 * int(level.interpolation.nonzeros.max())
        compute[i] = _FLOPS * work * paid.flop / faster
    return Cycle(compute, smooth, transfer)


def _crowded(costs: Costs, matrix: Operator, penalties: Sequence[str], cores: int) -> Costs:
    """The costs where several processes of a node are active at once."""
    active = -(-cores * matrix.active // matrix.parts)
    return replace(
        costs,
        alpha=costs.alpha * (active if "alpha" in penalties else 1),
        gamma=costs.gamma * (active if "gamma" in penalties else 1),
    )


def _exchange(costs: Costs, operator: Operator, penalties: Sequence[str]) -> float:
    """Seconds of one exchange of a vector."""
    beta = costs.beta
    if "links" in penalties:
        if not costs.links:
            raise InvalidInput("penalty 'links': the number of links is not known; give links=")
        beta *= costs.hardware + len(operator.exchange) / costs.links
    elif "beta" in penalties:
        beta *= costs.hardware
    alpha = costs.alpha + (costs.farthest - costs.nearest) * costs.gamma
    return int(operator.sends.max()) * alpha + int(operator.bytes_sent.max()) * beta
