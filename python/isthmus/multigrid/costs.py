"""What messages and computation cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from ..loading import load
from .reach import reach

if TYPE_CHECKING:
    from ..machine import Machine

#: Bytes of a matrix for an operation of a product: 12 of a nonzero, whose value is multiplied and added.
_BYTES = 6.0


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
    links : float
        Links of the network; 0 where not known.
    injection : float
        Bytes per second that all processes of a node together send; 0 where not known.
    search : float
        Seconds that a receive takes for each that was posted before it and each that arrives (``q`` of ``q n^2``).
    contended : float
        Seconds of a byte on a link that others use, too (``c`` of byte-hops).
    node_alpha, node_beta : float
        Seconds of a message, and of a byte, between processes of a node; both 0 where not known.
    classes : tuple of (float, float)
        Classes of sizes, as caches make them: the most bytes of a matrix and its vectors, and seconds of an operation
        on them, the smallest first; 0 bytes: any size. ``flop`` counts beyond the last, and where there are none.
    """

    alpha: float
    beta: float
    gamma: float = 0.0
    nearest: int = 0
    farthest: int = 0
    flop: float = 0.0
    hardware: float = 1.0
    links: float = 0
    injection: float = 0.0
    search: float = 0.0
    contended: float = 0.0
    node_alpha: float = 0.0
    node_beta: float = 0.0
    classes: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "gamma", "nearest", "flop", "links", "injection", "search", "contended",
                     "node_alpha", "node_beta"):  # fmt: skip
            if not 0 <= getattr(self, name) < np.inf:
                raise InvalidInput(f"{name} = {getattr(self, name)}: must be 0 or more")
        if self.farthest < self.nearest:
            raise InvalidInput(f"farthest = {self.farthest}: must be at least nearest = {self.nearest}")
        if not 1 <= self.hardware < np.inf:
            raise InvalidInput(f"hardware = {self.hardware}: must be at least 1")
        if any(size < 0 or not 0 <= time < np.inf for size, time in self.classes):
            raise InvalidInput(f"classes = {self.classes}: must be bytes and seconds, 0 or more")

    def flop_of(self, size: float) -> float:
        """Return seconds of an operation of a product whose matrix and vectors take so many bytes.

        Examples
        --------
        >>> costs = Costs(alpha=0, beta=0, flop=8e-10, classes=((1e6, 3e-10),))
        >>> costs.flop_of(5e5), costs.flop_of(5e6)
        (3e-10, 8e-10)
        """
        return next((time for most, time in self.classes if not most or size <= most), self.flop)

    def with_flop_of(self, machine: Machine, processes: int) -> Costs:
        """Return costs with the time of an operation, estimated where it is not known.

        A product is bound by memory: a nonzero takes 12 bytes for two operations, and all processes of a node share its
        memory bandwidth. Without that, too, costs stay as they are.
        """
        if self.flop or self.classes or not machine.node.memory_bandwidth:
            return self
        return replace(self, flop=_BYTES * max(processes, 1) / machine.node.memory_bandwidth)

    @classmethod
    def of(cls, machine: Machine | str, *, nodes: int | None = None, **others: float) -> Costs:
        """Take the costs of a machine's network.

        ``alpha`` is o_send + L + o_recv, ``beta`` G and ``gamma`` per_hop of the level ``network``, ``node_alpha`` and
        ``node_beta`` the same of the level ``node``; distances are those of the topology; ``classes`` are those of the
        node's table ``spmv``, ``flop`` that of the largest, 0 without one.

        Parameters
        ----------
        machine : Machine or str
        nodes : int, optional
            Of the job: ``farthest`` and ``links`` are then those of :func:`isthmus.multigrid.reach`; by default those
            of the whole machine.
        **others : float
            Attributes that are given in place of the machine's.

        Raises
        ------
        InvalidInput
            If there is no such machine or attribute.
        """
        found = load(machine) if isinstance(machine, str) else machine
        level, topology = found.level.network, found.topology
        inside = found.level.node
        far = topology.diameter()
        nearest = min(topology.distance(0, 1), 2) if topology.nodes > 1 else 0
        values: dict[str, Any] = {
            "alpha": level.o_send + level.L + level.o_recv,
            "beta": level.G,
            "gamma": level.per_hop,
            "nearest": nearest,
            "farthest": max(int(far[0] if isinstance(far, tuple) else far), nearest),
            "flop": found.node.spmv[-1].time_per_flop if found.node.spmv else 0.0,
            "classes": tuple((one.up_to, one.time_per_flop) for one in found.node.spmv),
            "links": topology.links,
            "injection": (found.node.nic_bandwidth or 0.0) * found.node.nics,
            "search": found.level.network.queue or 0.0,
            "node_alpha": inside.o_send + inside.L + inside.o_recv,
            "node_beta": inside.G,
        }
        if nodes is not None:
            far_off, values["links"] = reach(found, nodes)
            values["farthest"] = max(far_off, nearest)
        if "flop" in others:
            values["classes"] = ()
        unknown = set(others) - {*values, "hardware", "contended"}
        if unknown:
            raise InvalidInput(f"{min(unknown)}: no cost; costs are {', '.join([*values, 'hardware', 'contended'])}")
        return cls(**{**values, **others})
