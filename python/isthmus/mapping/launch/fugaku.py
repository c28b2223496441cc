"""Rank maps of Fujitsu's job manager and MPI (Fugaku, FX1000, FX100): line i has the coordinates of rank i's node.

Source: Fugaku users' guide, "Rank assignment"; coordinate files of mpiexec (``--vcoordfile``). Coordinates are the
logical ones of the shape of the job, one to three: ``(1,0,3)``. On a machine of more dimensions (the physical network
has six) the file is for a job of one dimension, and has the places of nodes in the job: ``(7)``. What follows the
coordinates (``core=12``) is not read. Ranks on the same node take its cores in their order.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ...machine.machine import Machine
from .coordinates import inside, is_grid
from .reading import Reading

if TYPE_CHECKING:
    from ...machine.allocation import Allocation
    from ...machine.placement import Placement

_LINE = re.compile(r"\(\s*(\d+(?:\s*,\s*\d+)*)\s*\)(?:\s+\w+=\S+)*")


def _dimensions(machine: Machine) -> int:
    """Numbers in a line."""
    dims = len(machine.topology.dims)
    return dims if is_grid(machine) and dims <= 3 else 1


def text(placement: Placement, job: Allocation) -> str:
    machine = placement.machine
    if _dimensions(machine) == len(machine.topology.dims):
        rows = inside(placement, job)
    else:
        rows = job._index(placement.node)[:, None]
    return "".join(f"({','.join(map(str, row))})\n" for row in rows.tolist())


def read(reading: Reading) -> Placement:
    count = _dimensions(reading.machine)
    rows, lines = [], []
    for number, line in reading.lines():
        found = _LINE.fullmatch(line)
        if not found:
            reading.fail(number, None, f"expected the {count} coordinates of a node in parentheses")
        row = [reading.whole(word.strip(), number, "coordinate") for word in found[1].split(",")]
        if len(row) != count:
            reading.fail(number, None, f"{len(row)} coordinates: must be {count} for a job on {reading.machine.name}")
        rows.append(row)
        lines.append(number)
    if not rows:
        reading.fail(None, None, "the file has no ranks")
    if count == len(reading.machine.topology.dims):
        return reading.ordered(reading.at(rows, lines))
    return reading.ordered(np.array([reading.nth(row[0], number) for row, number in zip(rows, lines, strict=True)]))
