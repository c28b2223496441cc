"""Slurm hostfiles of ``srun --distribution=arbitrary``: one host a task, in the order of the ranks.

Source: srun(1), "--distribution" and SLURM_HOSTFILE. When read, ``node07*4`` stands for four tasks, and node lists
such as ``node[00-03]`` for one task on each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...hostlist import HostlistError, expand
from ...units import shown
from . import hostfile
from .reading import Reading

if TYPE_CHECKING:
    from ...machine.allocation import Allocation
    from ...machine.placement import Placement


def text(placement: Placement, job: Allocation) -> str:
    return hostfile.text(placement, job)


def read(reading: Reading) -> Placement:
    nodes: list[int] = []
    most = 1 << 24
    for number, line in reading.lines():
        hosts, star, times = line.partition("*")
        count = reading.whole(times.strip(), number, "number of tasks") if star else 1
        try:
            # Most lines are one name, and there may be a million.
            names = expand(hosts, limit=most) if "[" in hosts or "," in hosts else [hosts.strip()]
        except HostlistError as error:
            reading.fail(number, shown(hosts), error.message)
        if len(nodes) + count * len(names) > most:
            reading.fail(number, None, f"more than {most:,} tasks: more than any machine has")
        for name in names:
            nodes.extend([reading.node(name, number)] * count)
    return reading.ordered(nodes)
