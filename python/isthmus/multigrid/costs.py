"""What messages and computation cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from ..loading import load
from .reach import reach

if TYPE_CHECKING:
    from ..machine import Machine


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

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "gamma", "nearest", "flop", "links", "injection", "search", "contended",
                     "node_alpha", "node_beta"):  # fmt: skip
            if not 0 <= getattr(self, name) < np.inf:
                raise InvalidInput(f"{name} = {getattr(self, name)}: must be 0 or more")
        if self.farthest < self.nearest:
            raise InvalidInput(f"farthest = {self.farthest}: must be at least nearest = {self.nearest}")
        if not 1 <= self.hardware < np.inf:
            raise InvalidInput(f"hardware = {self.hardware}: must be at least 1")

    @classmethod
    def of(cls, machine: Machine | str, *, nodes: int | None = None, **others: float) -> Costs:
        """Take the costs of a machine's network.

        ``alpha`` is o_send + L + o_recv, ``beta`` G and ``gamma`` per_hop of the level ``network``, ``node_alpha`` and
        ``node_beta`` the same of the level ``node``; distances are those
        of the topology; ``flop`` is that of the largest working set of the node's table ``spmv``, 0 without one.

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
            "links": topology.links,
            "injection": (found.node.nic_bandwidth or 0.0) * found.node.nics,
            "search": found.level.network.queue or 0.0,
            "node_alpha": inside.o_send + inside.L + inside.o_recv,
            "node_beta": inside.G,
        }
        if nodes is not None:
            far_off, values["links"] = reach(found, nodes)
            values["farthest"] = max(far_off, nearest)
        unknown = set(others) - {*values, "hardware", "contended"}
        if unknown:
            raise InvalidInput(f"{min(unknown)}: no cost; costs are {', '.join([*values, 'hardware', 'contended'])}")
        return cls(**{**values, **others})
