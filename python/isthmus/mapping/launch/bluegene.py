"""IBM Blue Gene mapfiles: line i has the coordinates of rank i in the partition, then t, its place on the node.

Sources: "Mapping processes on Blue Gene" (NCAR) for ``x y z t`` of Blue Gene/L and /P; IBM "Blue Gene/Q Application
Development" (SG24-7948), appendix A, for ``a b c d e t``. t counts the ranks of a node from 0 in the order of their
cores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...machine.placement import Placement
from .coordinates import inside, needs_grid
from .order import place_on_node
from .reading import Reading

if TYPE_CHECKING:
    from ...machine.allocation import Allocation


def text(placement: Placement, job: Allocation) -> str:
    needs_grid(placement.machine, "a Blue Gene mapfile")
    rows = np.column_stack([inside(placement, job), place_on_node(placement, job)])
    return "".join(" ".join(map(str, row)) + "\n" for row in rows.tolist())


def read(reading: Reading) -> Placement:
    needs_grid(reading.machine, "a Blue Gene mapfile")
    columns = len(reading.machine.topology.dims) + 1
    rows, lines = [], []
    for number, line in reading.lines():
        words = line.split()
        if len(words) != columns:
            reading.fail(
                number,
                None,
                f"{len(words)} numbers: must be {columns - 1} coordinates on {reading.machine.name} and t",
            )
        rows.append(
            [reading.whole(word, number, "coordinate" if i < columns - 1 else "t") for i, word in enumerate(words)]
        )
        lines.append(number)
    if not rows:
        reading.fail(None, None, "the file has no ranks")
    node = reading.at([row[:-1] for row in rows], lines)
    place = np.array([row[-1] for row in rows])
    # More ranks than cores share them: hardware threads.
    most = np.maximum(reading.machine.node.cores, np.unique(node, return_inverse=True, return_counts=True)[2].max())
    if (wrong := place >= most).any():
        row = int(np.argmax(wrong))
        reading.fail(lines[row], "t", f"is {place[row]}: must be 0 to {most - 1}")
    return Placement(reading.machine, node, place % reading.machine.node.cores)
