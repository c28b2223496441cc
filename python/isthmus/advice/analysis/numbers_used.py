"""The numbers of a machine that a prediction rests on, and their provenance."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from ... import units
from ...machine import Level
from ...schedule.schedule import OpKind
from .path_shares import Parameters

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...machine import Allocation, Machine
    from ...machine.placement import Placement
    from ...schedule.schedule import Schedule

#: What a number may be; the better known first. "default": the machine does not say, and a typical value stands in.
ORDER = ("measured", "exact", "derived", "stated", "estimated", "recalled", "default")
#: What counts as having a source that was read.
SOURCED = ("measured", "exact", "derived")
_LEVELS = ("socket", "node", "network")


@dataclass(frozen=True)
class Used:
    """One number of a machine; ``value`` with its unit, ``path`` as in the TOML form."""

    path: str
    value: str
    status: str
    source: str
    note: str


def levels_used(schedule: Schedule, machine: Machine, placement: Allocation | Placement) -> tuple[str, ...]:
    """Levels at which messages pass, the nearest first."""
    ops = schedule.ops
    sending = np.flatnonzero(np.isin(ops["kind"], (OpKind.send, OpKind.put, OpKind.get)))
    first = schedule.op_first.view(np.int64)
    # A million messages tell as much as all.
    sending = sending[:: 1 + len(sending) // 1_000_000]
    if not len(sending):
        return ()
    a, b = np.searchsorted(first, sending, side="right") - 1, ops["peer"][sending].astype(np.int64)
    near = Parameters(machine, placement, schedule.ranks).level(a, b)
    return tuple(_LEVELS[i] for i in np.unique(near))


def copies(schedule: Schedule) -> bool:
    """Whether bytes are copied or reduced."""
    return bool(np.isin(schedule.ops["kind"], (OpKind.copy, OpKind.reduce)).any())


def numbers_used(machine: Machine, levels: Sequence[str], copied: bool) -> tuple[Used, ...]:
    """The numbers of the machine that a simulation reads: of the interconnect, nodes and levels.

    ``levels``: at which messages pass; ``copied``: are bytes copied or reduced?
    """
    rows = {row["path"]: row for row in machine.frame()}
    out = []

    def add(path: str, value: str, follows: Iterable[str] = ()) -> None:
        row = rows.get(path)
        if row is not None:
            out.append(Used(path, value, row["status"], row["source"], row["note"]))
            return
        # What is not given follows from other numbers, of which the one known worst counts, or is a default.
        given = [rows[name] for name in follows if name in rows]
        if not given:
            out.append(Used(path, value, "default", "", "not given: a typical value"))
            return
        worst = max(given, key=lambda row: ORDER.index(row["status"]))
        names = ", ".join(row["path"] for row in given)
        out.append(Used(path, value, worst["status"], worst["source"], f"follows from {names}"))

    topology = [path for path in rows if path.startswith("topology.")]
    if "network" in levels:
        add("topology", machine.topology.spec, topology)
    for name in ("cores", "sockets"):
        add(f"node.{name}", str(getattr(machine.node, name)))
    links = [path for path in rows if path.startswith("links.")]
    for level in levels:
        for field in fields(Level):
            number = getattr(getattr(machine.level, level), field.name)
            if field.name == "pieces" or number is None:
                continue
            follows: list[str] = []
            if level == "network" and field.name == "G":
                follows = [path for path in links if path.endswith("bandwidth")] + ["node.nic_bandwidth"]
            elif level == "network" and field.name == "per_hop":
                follows = ["links.default.latency"]
            elif field.name == "per_hop":
                continue
            # A cost of 0 that nobody gave is a parameter that the model does not use.
            if number == 0 and f"level.{level}.{field.name}" not in rows:
                continue
            add(f"level.{level}.{field.name}", units.text(number, field.metadata["unit"], 4, decimal=True), follows)
        for path in (path for path in rows if path.startswith(f"level.{level}.pieces.")):
            add(path, str(rows[path]["value"]))
    if copied and machine.node.memory_bandwidth:
        add("node.memory_bandwidth", units.text(machine.node.memory_bandwidth, "B/s", 4))
    return tuple(out)


def quality(used: Iterable[Used]) -> str:
    """The provenance of the numbers in a few words."""
    number = Counter(u.status for u in used)
    return ", ".join(f"{number[status]} {status}" for status in ORDER if number[status])


def sourced(used: Iterable[Used]) -> float:
    """Part of them that stands in a source that was read, was computed from such, or measured."""
    statuses = [u.status for u in used]
    return sum(status in SOURCED for status in statuses) / len(statuses) if statuses else 1.0
