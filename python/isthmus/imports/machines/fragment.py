"""The TOML-form dictionaries that importers return."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any

Edge = list[Any]
"""``[from, to, bandwidth in B/s per direction or None, latency in s or None, cables]``"""


def machine_name(path: str) -> str:
    """Make a machine name of lower-case letters, digits and ``-`` from the stem of a path."""
    stem = PurePath(path.replace("\\", "/")).name.split(".", 1)[0]
    return re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-") or "imported"


def source(kind: str, path: str) -> dict[str, str]:
    """Return the ``[sources]`` table of an import; its key is ``import``."""
    return {"import": f"{kind} file {PurePath(path).name or path}"}


def network(
    kind: str,
    path: str,
    title: str,
    nodes: list[str],
    switches: list[str],
    edges: list[Edge],
    notes: list[str],
) -> dict[str, Any]:
    """Return a machine of an explicit graph; every cable stands once, in either direction."""
    machine: dict[str, Any] = {"format": 1, "name": machine_name(path), "title": title}
    if notes:
        machine["notes"] = notes
    machine["sources"] = source(kind, path)
    machine["topology"] = {"kind": "graph", "nodes": nodes, "switches": switches, "edges": edges}
    return machine


def node(kind: str, path: str, table: dict[str, Any], notes: list[str], **tables: dict[str, Any]) -> dict[str, Any]:
    """Return the fragment of a machine that describes one node, to be merged into a machine."""
    fragment: dict[str, Any] = {"format": 1}
    if notes:
        fragment["notes"] = notes
    fragment["sources"] = source(kind, path)
    fragment["node"] = table
    fragment.update(tables)
    return fragment
