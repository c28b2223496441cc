"""Machines beside each other: values that differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import units
from .comparison import Comparison

if TYPE_CHECKING:
    from ..machine import Machine

#: Kinds of curves whose numbers are compared in the table; the page has all.
_KINDS = ("latency", "bandwidth", "rate", "stream", "collective", "startup", "memory")


def compare_machines(machines: Sequence[Machine], names: Sequence[str]) -> Comparison:
    """Every value in which two of the machines differ, as text with its unit; "-" where a machine does not have it."""
    tables: list[dict[str, Any]] = []
    for machine in machines:
        known: dict[str, Any] = {
            "nodes": f"{machine.nodes:,}",
            "cores": f"{machine.cores:,}",
            "diameter": machine.topology.diameter()[0],
        }
        tables.append(known | {str(row["path"]): row["value"] for row in machine.frame()} | _points(machine, machines))
    paths = dict.fromkeys(path for table in tables for path in table)
    rows = []
    for path in paths:
        values = [table.get(path) for table in tables]
        if any(value != values[0] for value in values):
            cells = [None if value is None else str(value) for value in values]
            rows.append({"value of": path, **dict(zip(names, cells, strict=True))})
    given = [text for row in rows for name in names if (text := row[name]) is not None]
    curves = any(machine.curves for machine in machines)
    # The sizes at which curves are compared are in powers of 1000.
    words = iter(units.decimal(given) if curves else units.alike(given))
    rows = [row | {name: next(words) for name in names if row[name] is not None} for row in rows]
    beside = dict(zip(names, machines, strict=True))
    notes = ("a page (-o FILE.html) has the pictures of all curves",) if curves else ()
    return Comparison("machines", tuple(names), tuple(rows), notes=notes, machines=beside)


def _points(machine: Machine, machines: Sequence[Machine]) -> dict[str, str]:
    """First, middle and last point of the curves of the kinds above that a machine has, at places that all have."""
    out = {}
    for name, curve in machine.curves.items():
        for key, (value, _, _) in curve.fitted.items():
            out[f"curves.{name} {key}"] = units.text(value, curve.y_unit, 4)
        if curve.kind not in _KINDS:
            continue
        others = [set(other.curves[name].x) for other in machines if name in other.curves]
        common = sorted(set(curve.x).intersection(*others))
        for x in dict.fromkeys(common[i] for i in (0, len(common) // 2, -1) if common):
            at = units.text(x, curve.x_unit, 4, decimal=True) if curve.x_unit else f"{x:g} {curve.x_label}".strip()
            y = curve.y[curve.x.index(x)]
            out[f"curves.{name} at {at}"] = units.text(y, curve.y_unit, 4, decimal=True) if curve.y_unit else f"{y:.4g}"
    return out
