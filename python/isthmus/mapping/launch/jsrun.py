"""Explicit resource files of IBM's jsrun (Summit, Sierra): ``rank: 5: { host: 2; cpu: {5} }``.

Source: IBM Spectrum LSF Job Step Manager, "Explicit Resource File (ERF) format"; OLCF, "ERF CPU Indexing". Hosts are
counted from 1 in the job. CPUs are logical: hardware threads of the cores that a job may use, ``threads`` of each
core in a row.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...errors import InvalidInput
from ...units import shown
from .order import logical_core, numbered_core
from .reading import Reading

if TYPE_CHECKING:
    from ...machine.allocation import Allocation
    from ...machine.placement import Placement

_PREAMBLE = re.compile(r"(?!rank\s*:)([a-z_-]+)(?:\s+\d+)?\s*:\s*(.*)")
_RANK = re.compile(r"rank\s*:\s*\{?\s*(\d+)\s*(?:-\s*(\d+)\s*)?\}?\s*:\s*\{(.*)\}\s*(?::\s*app\s*\d+)?")
_KEY = re.compile(r"\s*([a-z]+)\s*:\s*([^;]*?)\s*(?:;|$)")
_SET = re.compile(r"\{([^{}]*)\}")


def text(placement: Placement, job: Allocation, *, threads: int = 1) -> str:
    _check(threads)
    host = job._index(placement.node) + 1
    oversubscribe = "allow" if placement.shared else "error"
    head = (
        "cpu_index_using: logical\noverlapping_rs: allow\n"
        f"oversubscribe_cpu: {oversubscribe}\nlaunch_distribution: packed\n"
    )
    rows = []
    for rank, (h, c) in enumerate(
        zip(host.tolist(), logical_core(placement.machine.node, placement.core).tolist(), strict=True)
    ):
        cpus = f"{c * threads}" if threads == 1 else f"{c * threads}-{(c + 1) * threads - 1}"
        rows.append(f"rank: {rank}: {{ host: {h}; cpu: {{{cpus}}} }}\n")
    return head + "".join(rows)


def read(reading: Reading, *, threads: int = 1) -> Placement:
    _check(threads)
    entries = []
    for number, line in reading.lines():
        if found := _PREAMBLE.fullmatch(line):
            if found[1] == "cpu_index_using" and found[2] != "logical":
                reading.fail(number, "cpu_index_using", f"is {shown(found[2])}: must be logical")
            continue
        found = _RANK.fullmatch(line)
        if not found:
            reading.fail(number, None, "expected 'rank: NUMBER: { host: NUMBER; cpu: {NUMBERS} }'")
        first = reading.whole(found[1], number, "rank")
        last = first if found[2] is None else reading.whole(found[2], number, "rank")
        keys = dict(_KEY.findall(found[3]))
        node = _host(reading, keys, number)
        sets = [s.strip() for s in _SET.findall(keys.get("cpu", ""))] or [keys.get("cpu", "")]
        if len(sets) != last - first + 1:
            reading.fail(number, "cpu", f"{len(sets)} sets for {last - first + 1} ranks: give one for each")
        for rank, cpus in enumerate(sets, first):
            lowest = reading.whole(re.split(r"[-,\s]", cpus, maxsplit=1)[0], number, "cpu")
            core = reading.core(lowest // threads, number)
            entries.append((number, rank, node, numbered_core(reading.machine.node, core)))
    return reading.ranked(entries)


def _host(reading: Reading, keys: dict[str, str], line: int) -> int:
    if "hostname" in keys:
        return reading.node(keys["hostname"], line)
    index = reading.whole(keys.get("host", "").strip("{} "), line, "host")
    if index == 0:
        reading.fail(line, "host", "is 0: must be 1 or more")
    return reading.nth(index - 1, line)


def _check(threads: int) -> None:
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= 8:
        raise InvalidInput(f"threads = {shown(threads)}: must be 1 to 8 hardware threads of a core")
