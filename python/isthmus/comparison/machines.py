"""Machines beside each other: values that differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import units
from .comparison import Comparison

if TYPE_CHECKING:
    from ..machine import Machine


def compare_machines(machines: Sequence[Machine], names: Sequence[str]) -> Comparison:
    """Every value in which two of the machines differ, as text with its unit; "-" where a machine does not have it."""
    tables: list[dict[str, Any]] = []
    for machine in machines:
        known: dict[str, Any] = {
            "nodes": f"{machine.nodes:,}",
            "cores": f"{machine.cores:,}",
            "diameter": machine.topology.diameter()[0],
        }
        tables.append(known | {str(row["path"]): row["value"] for row in machine.frame()})
    paths = dict.fromkeys(path for table in tables for path in table)
    rows = []
    for path in paths:
        values = [table.get(path) for table in tables]
        if any(value != values[0] for value in values):
            cells = [None if value is None else str(value) for value in values]
            rows.append({"value of": path, **dict(zip(names, cells, strict=True))})
    given = [text for row in rows for name in names if (text := row[name]) is not None]
    words = iter(units.alike(given))
    rows = [row | {name: next(words) for name in names if row[name] is not None} for row in rows]
    return Comparison("machines", tuple(names), tuple(rows))
