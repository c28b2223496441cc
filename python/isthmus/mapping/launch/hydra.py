"""Host files of MPICH's launcher: ``node07:2 binding=user:1,0``, hosts in the order of their ranks.

The processors of a host's ranks follow ``binding``. MPICH gives the hosts their ranks one after the other; where ranks
of a host do not follow each other, a comment has the host of each rank, counted from 0, for the option ``-rankmap``
that MPICH 5 has. Source: the host files and options of Hydra, MPICH 4.0 and 5.0 (``mpiexec -help``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from .reading import Reading

if TYPE_CHECKING:
    from ...machine.allocation import Allocation
    from ...machine.placement import Placement

#: The comment with the value of -rankmap.
RANKMAP = re.compile(r"^# -rankmap (\(vector,([0-9,]+)\))$", re.MULTILINE)
_HOST = re.compile(r"([^\s:]+)(?::([0-9]{1,9}))?((?:\s+\S+)*)")
_BINDING = re.compile(r"binding=user:([0-9+,]+)")


def text(placement: Placement, job: Allocation, bind: bool = True) -> str:
    nodes, host = np.unique(placement.node, return_inverse=True)
    first = np.unique(host, return_index=True)[1]
    number = np.argsort(np.argsort(first))[host]  # hosts in the order of their first ranks
    out = []
    if (np.diff(number) < 0).any():
        out.append(f"# -rankmap (vector,{','.join(map(str, number.tolist()))})")
    names = placement.machine.hostnames
    for index in np.argsort(first):
        cores = placement.core[host == index].tolist()
        binding = f" binding=user:{','.join(map(str, cores))}" if bind else ""
        out.append(f"{names[nodes[index]]}:{len(cores)}{binding}")
    return "".join(f"{line}\n" for line in out)


def read(reading: Reading, bind: bool = True) -> Placement:
    nodes: list[int] = []
    cores: list[list[int] | None] = []
    counts: list[int] = []
    for number, line in reading.lines():
        found = _HOST.fullmatch(line)
        if not found:
            reading.fail(number, None, "expected 'HOST:RANKS binding=user:CORE,...'")
        nodes.append(reading.node(found[1], number))
        counts.append(int(found[2] or 1))
        bound = _BINDING.search(found[3])
        cores.append(None if bound is None else _cores(reading, bound[1], counts[-1], number))
    if bind and any(cores) and not all(cores):
        reading.fail(None, None, "some hosts have a binding and some have none: give all of them one, or none")
    host = np.repeat(np.arange(len(nodes)), counts)
    given = RANKMAP.search(reading.text)
    if given is not None:
        host = np.array([int(word) for word in given[2].split(",") if word])
        if len(host) != sum(counts) or (np.bincount(host, minlength=len(nodes)) != counts).any():
            reading.fail(None, "-rankmap", "does not give every host as many ranks as its line does")
    node = np.array(nodes, dtype=np.uint32)[host]
    if not (bind and any(cores)):
        return reading.ordered(node)
    left = [iter(own or ()) for own in cores]
    return reading.ranked([(0, rank, int(node[rank]), next(left[h])) for rank, h in enumerate(host)])


def _cores(reading: Reading, words: str, ranks: int, line: int) -> list[int]:
    """The first core of each rank."""
    parts = [part.partition("+")[0] for part in words.split(",")]
    if len(parts) != ranks:
        reading.fail(line, f"binding=user:{words}", f"must have a core for each of {ranks} ranks")
    return [reading.core(reading.whole(part, line, "core"), line) for part in parts]
