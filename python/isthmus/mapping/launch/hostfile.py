"""Open MPI sequential hostfiles: one host a line, line i for rank i.

Source: mpirun(1) of Open MPI 4.1 and PRRTE, "--map-by seq". A list of cores may follow the host; it is read, and of
several cores the first is taken, but not written: rankfiles say it better.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .reading import Reading

if TYPE_CHECKING:
    from ...machine.allocation import Allocation
    from ...machine.placement import Placement

_CORES = re.compile(r"(\d{1,9})[-,\d]*")


def text(placement: Placement, job: Allocation) -> str:
    return "".join(f"{host}\n" for host in placement.hosts())


def read(reading: Reading) -> Placement:
    nodes, cores = [], []
    for number, line in reading.lines():
        host, _, rest = line.partition(" ")
        nodes.append(reading.node(host, number))
        if not rest:
            continue
        found = _CORES.fullmatch(rest.strip())
        if not found:
            reading.fail(number, None, f"{rest.strip()!r} after the host: must be a list of cores such as 0,1")
        cores.append((number, len(nodes) - 1, nodes[-1], reading.core(int(found[1]), number)))
    if cores and len(cores) < len(nodes):
        reading.fail(None, None, f"{len(cores)} of {len(nodes)} hosts have cores: give cores for all hosts or for none")
    return reading.ranked(cores) if cores else reading.ordered(nodes)
