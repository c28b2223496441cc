"""Open MPI rankfiles: ``rank 3=node07 slot=1:5``, socket and core within the socket, as hwloc numbers them.

Source: mpirun(1) of Open MPI 4.1, "Rankfiles"; the same in PRRTE, which Open MPI 5 starts programs with. Sockets and
cores are logical: counted in the order of the hardware, whatever order the machine of a placement numbers its cores
in.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ...schedule.summary import counted
from .order import logical_core, numbered_core
from .reading import Reading

if TYPE_CHECKING:
    from ...machine.allocation import Allocation
    from ...machine.placement import Placement

_LINE = re.compile(r"rank\s+(\d+)\s*=\s*(\S+)\s+slots?\s*=\s*(\S+)", re.IGNORECASE)
# The first core of a list is taken: 1:0-2, 0:0,1 or 10-12.
_SLOT = re.compile(r"(?:(\d{1,9}):)?(\d{1,9}|\*)(?:[-,:*\d]*)")


def text(placement: Placement, job: Allocation) -> str:
    node = placement.machine.node
    socket, within = np.divmod(logical_core(node, placement.core), node.cores // node.sockets)
    rows = zip(placement.hosts(), socket.tolist(), within.tolist(), strict=True)
    return "".join(f"rank {r}={host} slot={socket}:{core}\n" for r, (host, socket, core) in enumerate(rows))


def read(reading: Reading) -> Placement:
    entries = []
    for number, line in reading.lines():
        found = _LINE.fullmatch(line)
        if not found:
            reading.fail(number, None, "expected 'rank NUMBER=HOST slot=SOCKET:CORE'")
        rank, host, slot = found.groups()
        node = reading.node(host, number)
        entries.append((number, reading.whole(rank, number, "rank"), node, _core(reading, slot, number)))
    return reading.ranked(entries)


def _core(reading: Reading, slot: str, line: int) -> int:
    found = _SLOT.fullmatch(slot)
    if not found:
        reading.fail(line, f"slot={slot}", "must be SOCKET:CORE, or cores such as 10-12")
    node = reading.machine.node
    per_socket = node.cores // node.sockets
    core = 0 if found[2] == "*" else int(found[2])
    if found[1] is None:
        socket, core = divmod(reading.core(core, line), per_socket)
    else:
        socket = int(found[1])
    if socket >= node.sockets or core >= per_socket:
        has = f"{counted(node.sockets, 'socket')} of {counted(per_socket, 'core')}"
        reading.fail(line, f"slot={slot}", f"nodes of {reading.machine.name} have {has}, counted from 0")
    return numbered_core(node, socket * per_socket + core)
