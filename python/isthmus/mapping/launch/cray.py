"""Cray MPICH rank orders: the ranks of the first node, of the second, and so on, separated by commas.

Source: grid_order(1) and intro_mpi(3) of the HPE Cray Programming Environment, MPICH_RANK_REORDER_METHOD=3. The
launcher has to fill node after node in the order of the job (Slurm's block distribution), so every node but the last
must have the same number of ranks. Cores are not in the file: the ranks of a node take the places that the launcher
bound, in order.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InvalidInput
from .order import slot_order
from .reading import Reading

if TYPE_CHECKING:
    from ...machine.allocation import Allocation
    from ...machine.placement import Placement

# What tells how many ranks a node has: a comment of ours, or of others.
PER_NODE = re.compile(r"^\s*#.*--ntasks-per-node[= ]([0-9]{1,9})\b", re.MULTILINE)
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


def text(placement: Placement, job: Allocation) -> str:
    counts = np.bincount(job._index(placement.node), minlength=len(job))
    full = int(counts[0])
    filled, rest = divmod(placement.ranks, full) if full else (0, 0)
    expected = np.zeros_like(counts)
    expected[:filled] = full
    expected[filled : filled + 1] = rest
    if not np.array_equal(counts, expected):
        at = int(np.argmax(counts != expected))
        name = placement.machine.hostnames[job.nodes[at]]
        raise InvalidInput(
            f"{counts[at]} ranks on {name}, {full} on the first node: a Cray rank order fills node after node with "
            "the same number of ranks; write a Slurm hostfile (slurm) instead"
        )
    order = slot_order(placement, job)
    lines = [",".join(map(str, order[i : i + full])) for i in range(0, len(order), full)]
    return "\n".join([f"# --ntasks-per-node={full}", *lines, ""])


def read(reading: Reading) -> Placement:
    ranks: list[int] = []
    lines: list[int] = []
    for number, line in reading.lines():
        for word in re.split(r"[\s,]+", line.strip(", \t")):
            found = _RANGE.fullmatch(word)
            if not found:
                reading.fail(number, None, f"{word!r}: must be a rank or a range such as 0-15")
            first = int(found[1])
            last = first if found[2] is None else int(found[2])
            if abs(last - first) >= 1 << 24:
                reading.fail(number, word, "more than any machine has ranks")
            # Ranges may run downwards.
            ranks.extend(range(first, last + 1) if first <= last else range(first, last - 1, -1))
            lines.extend([number] * (len(ranks) - len(lines)))
    job, cores = reading.job, reading.machine.node.cores
    if found := PER_NODE.search(reading.text):
        per_node = max(int(found[1]), 1)
    elif reading.given:
        per_node = job.ranks_per_node
    else:
        # The whole machine is the job, and the ranks are spread evenly over it.
        per_node = min(-(-len(ranks) // len(job)), cores)
    if len(ranks) > per_node * len(job):
        whose = "the job" if reading.given else reading.machine.name
        reading.fail(None, None, f"{len(ranks)} ranks do not fit: {whose} has {len(job)} nodes of {per_node} places")
    node = job.nodes[np.arange(len(ranks)) // per_node].tolist()
    core = (np.arange(len(ranks)) % per_node % cores).tolist()
    return reading.ranked(list(zip(lines, ranks, node, core, strict=True)))
