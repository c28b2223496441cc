"""Flux task maps: ``[[nodeid, nnodes, ppn, repeat], ...]``, nodes counted from 0 in the job.

Source: Flux RFC 34. A block places ``ppn`` tasks on each of ``nnodes`` nodes from ``nodeid`` on, ``repeat`` times over.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from ...units import shown
from .reading import Reading

if TYPE_CHECKING:
    from ...machine.allocation import Allocation
    from ...machine.placement import Placement

_MOST = 1 << 24


def text(placement: Placement, job: Allocation) -> str:
    return json.dumps(blocks(job._index(placement.node).tolist()), separators=(",", ":")) + "\n"


def blocks(nodes: list[int]) -> list[list[int]]:
    """The task map of ranks on nodes, counted in the job.

    Examples
    --------
    >>> blocks([0, 0, 1, 1, 0, 0, 1, 1])
    [[0, 2, 2, 2]]
    """
    out: list[list[int]] = []
    at = 0
    while at < len(nodes):
        end = at
        while end < len(nodes) and nodes[end] == nodes[at]:
            end += 1
        node, count = nodes[at], end - at
        at = end
        last = out[-1] if out else None
        if last and last[0] + last[1] == node and last[2] == count and last[3] == 1:
            last[1] += 1
        else:
            out.append([node, 1, count, 1])
    return _folded(out)


def _folded(found: list[list[int]]) -> list[list[int]]:
    out: list[list[int]] = []
    for block in found:
        if out and out[-1][:3] == block[:3]:
            out[-1][3] += 1
        else:
            out.append(block)
    return out


def read(reading: Reading) -> Placement:
    try:
        found = json.loads(reading.text)
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        message = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        reading.fail(line, None, f"not JSON ({message}): expected [[nodeid,nnodes,ppn,repeat],...]")
    if isinstance(found, dict):
        if found.get("version") != 1:
            reading.fail(None, "version", f"is {shown(found.get('version'))}: must be 1")
        found = found.get("map")
    if not isinstance(found, list):
        reading.fail(None, None, "expected a task map [[nodeid,nnodes,ppn,repeat],...]")
    nodes = [_nodes(reading, block, number) for number, block in enumerate(found)]
    if sum(map(len, nodes)) > _MOST:
        reading.fail(None, None, f"more than {_MOST:,} tasks: more than any machine has")
    place = np.concatenate(nodes) if nodes else np.zeros(0, np.int64)
    return reading.ordered(reading.job.nodes[place])


def _nodes(reading: Reading, block: Any, number: int) -> Any:
    """Nodes of the tasks of a block, in the order of their ranks."""
    field = f"block {number}"
    if not isinstance(block, list) or len(block) != 4 or not all(type(n) is int for n in block):
        reading.fail(None, field, f"is {shown(block)}: must be four whole numbers: nodeid, nnodes, ppn and repeat")
    node, count, per_node, repeat = block
    if node < 0 or min(count, per_node, repeat) < 1:
        reading.fail(None, field, f"is {shown(block)}: nodeid must be 0 or more, the others 1 or more")
    if node + count > len(reading.job):
        reading.fail(
            None, field, f"goes up to node {node + count - 1}: nodes of the job are 0 to {len(reading.job) - 1}"
        )
    if count * per_node * repeat > _MOST:
        reading.fail(None, field, f"more than {_MOST:,} tasks: more than any machine has")
    return np.tile(np.repeat(np.arange(node, node + count), per_node), repeat)
