"""Coordinates of ranks within a job, for launchers of tori."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import Unsupported

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...machine.allocation import Allocation
    from ...machine.machine import Machine
    from ...machine.placement import Placement


def is_grid(machine: Machine) -> bool:
    """Return whether the interconnect is a linear array, ring, mesh or torus."""
    return "wrap" in machine.description.values["topology"]


def needs_grid(machine: Machine, what: str) -> None:
    """Refuse machines whose nodes have no coordinates on a torus or mesh."""
    if not is_grid(machine):
        raise Unsupported(
            f"{what} for {machine.name}, a {machine.topology.kind}: it needs the coordinates of a torus or mesh; "
            "write a table, rankfile or Slurm hostfile, which hold names"
        )


def inside(placement: Placement, job: Allocation) -> NDArray[np.int64]:
    """Coordinates of the nodes of all ranks within the job, shape (ranks, dimensions)."""
    machine = placement.machine
    absolute = machine.coordinates(placement.node).astype(np.int64)
    relative: NDArray[np.int64] = (absolute - np.array(job.origin)) % np.array(machine.topology.dims)
    return relative
