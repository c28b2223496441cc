"""Places that a running program asks libisthmus for: dimensions of its partition, coordinates of its ranks, hops.

Lines of words, separated by single blanks; the first is ``isthmus places 1``, the version of the form::

    machine NAME                                for people
    dimension NAME EXTENT [ring LENGTH]         of the smallest box that holds the job; part of a ring of the machine
    rank RANK node ID NAME core CORE at COORDINATES
    hops grid                                   hops follow from coordinates: a mesh or torus of nodes
    hops ID DIGITS                              else: those from a node to every node, a digit each (0-9, a-z, A-Z)

Where there are more than 2,048 nodes in use on another machine than a grid, hops are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .coordinates import is_grid
from .reading import Reading

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...machine.allocation import Allocation
    from ...machine.placement import Placement

#: How files of this form begin.
HEAD = "isthmus places 1"
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MOST_NODES = 2048


def text(placement: Placement, job: Allocation) -> str:
    return "".join(f"{line}\n" for line in _lines(placement, job))


def _lines(placement: Placement, job: Allocation) -> Iterator[str]:
    machine = placement.machine
    yield HEAD
    yield f"machine {machine.name}"
    names = machine.topology.dim_names
    for name, extent, ring in zip(names, job.dims, job.rings, strict=True):
        yield f"dimension {name} {extent}" + (f" ring {ring}" if ring else "")
    inside = machine.coordinates(placement.node).astype(np.int64) - np.array(job.origin)
    rows = (inside % np.array(machine.topology.dims)).tolist()
    ranks = zip(placement.node, placement.hosts(), placement.core, rows, strict=True)
    for rank, (node, host, core, at) in enumerate(ranks):
        yield f"rank {rank} node {node} {host} core {core} at {' '.join(map(str, at))}"
    if is_grid(machine) and machine.topology.switches == 0:
        yield "hops grid"
    elif len(nodes := placement.nodes) <= _MOST_NODES:
        for node in nodes:
            hops = np.asarray(machine.distance(node, nodes))
            if hops.max() >= len(_DIGITS):
                return
            yield f"hops {node} {''.join(_DIGITS[h] for h in hops)}"


def read(reading: Reading) -> Placement:
    entries = []
    for number, line in reading.lines():
        words = line.split()
        if words[0] != "rank":
            continue
        if len(words) < 8 or words[2] != "node" or words[5] != "core":
            reading.fail(number, None, "must be: rank RANK node ID NAME core CORE at COORDINATES")
        node = reading.id_or_name(words[4], number)
        core = reading.core(reading.whole(words[6], number, "core"), number)
        entries.append((number, reading.whole(words[1], number, "rank"), node, core))
    return reading.ranked(entries)
