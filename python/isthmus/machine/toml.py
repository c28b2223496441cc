"""The TOML form of a machine: reading with line numbers, writing with provenance."""

from __future__ import annotations

import os
from typing import Any

from .. import units
from ..files import write_atomically
from ..toml_text import Lines, parse, read_text
from .description import FORMAT, Description, normalise
from .kinds import KINDS
from .parts import Level, Node, Noise


def parse_toml(text: str, file: str) -> Description:
    """Read the TOML form of a machine; raises ParseError with file, line and field."""
    return normalise(parse(text, file), file, Lines(text), folder=os.path.dirname(file))


def read_toml(path: str | os.PathLike[str]) -> Description:
    """Read a machine file; raises ParseError, or OSError where it cannot be read."""
    return parse_toml(read_text(path), os.fspath(path))


def format_toml(description: Description) -> str:
    """Format as TOML, every number in a readable unit with its source and status; :func:`parse_toml` reads it."""
    import tomli_w

    v = description.values

    def leaf(path: str, value: Any, unit: str = "") -> Any:
        if isinstance(value, float):
            value = units.text(value, unit)
        elif isinstance(value, tuple):
            value = [list(row) for row in value]
        p = description.provenance.get(path)
        if p is None:
            return value
        return {"value": value} | {k: t for k, t in (("source", p.source), ("status", p.status), ("note", p.note)) if t}

    out: dict[str, Any] = {"format": FORMAT}
    out |= {key: v[key] for key in ("name", "title", "notes", "hostnames") if v[key]}
    if v["compute_nodes"] is not None:
        out["compute_nodes"] = leaf("compute_nodes", v["compute_nodes"])
    if description.sources:
        out["sources"] = description.sources
    kind = KINDS[v["topology"]["kind"]]
    out["topology"] = {"kind": kind.name}
    for p in kind.parameters:
        value = v["topology"][p.name]
        path = f"topology.{p.name}"
        default = list(p.default) if isinstance(p.default, tuple) else p.default
        if p.required or value != default or path in description.provenance:
            if p.type == "cables":
                value = [_cable(edge) for edge in value]
            out["topology"][p.name] = leaf(path, value)
    if v["links"]:
        unit = {"bandwidth": "B/s", "latency": "s"}
        out["links"] = {
            name: {key: leaf(f"links.{name}.{key}", value, unit[key]) for key, value in link.items()}
            for name, link in v["links"].items()
        }
    for key, cls in (("node", Node), ("noise", Noise)):
        if v[key]:
            out[key] = _part(v[key], key, cls, leaf)
    if v["level"]:
        out["level"] = {name: _part(table, f"level.{name}", Level, leaf) for name, table in v["level"].items()}
    return tomli_w.dumps(out, multiline_strings=False)


def _part(table: dict[str, Any], path: str, cls: type, leaf: Any) -> dict[str, Any]:
    unit = {name: f.metadata["unit"] for name, f in cls.__dataclass_fields__.items()}  # type: ignore[attr-defined]
    return {key: leaf(f"{path}.{key}", value, unit[key]) for key, value in table.items()}


def _cable(edge: list[Any]) -> list[Any]:
    """Without the unknown entries, which TOML cannot hold, at the end; inner ones as the text 'default'."""
    while len(edge) > 2 and edge[-1] is None:
        edge = edge[:-1]
    return ["default" if entry is None else entry for entry in edge]


def write_toml(description: Description, path: str | os.PathLike[str]) -> None:
    """Write the TOML form atomically."""
    write_atomically(path, format_toml(description))
