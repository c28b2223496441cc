"""The TOML form of a machine: reading with line numbers, writing with provenance."""

from __future__ import annotations

import os
from typing import Any

from .. import units
from ..files import write_atomically
from ..toml_text import Lines, parse, read_text
from .description import FORMAT, Description, normalise
from .kinds import KINDS
from .measured import curve_table, measured_table
from .parts import Level, Node, Noise, Provenance


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
        return value if p is None else {"value": value} | _provenance(p, unit)

    out: dict[str, Any] = {"format": _format(description)}
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
    if v["measured"] is not None:
        out["measured"] = measured_table(v["measured"])
    if v["curves"]:
        out["curves"] = {name: curve_table(curve) for name, curve in v["curves"].items()}
    return tomli_w.dumps(out, multiline_strings=False)


def _format(description: Description) -> int:
    """The lowest version of the form that has what is to be written."""
    v = description.values
    tables = [(Node, v["node"]), *((Level, table) for table in v["level"].values())]
    new = v["measured"] is not None or v["curves"] or any(_is_new(*pair) for pair in tables)
    new = new or any(p.interval or p.samples or p.method for p in description.provenance.values())
    if v["node"].keys() & _LATEST or (v["measured"] is not None and v["measured"].transport):
        return FORMAT
    return 2 if new else 1


#: Fields that came with version 2, besides those that are lists of records; fields of a node that came with version 3.
_LATER, _LATEST = {"O_recv"}, {"start", "copy", "reduce"}


def _is_new(cls: type, table: dict[str, Any]) -> bool:
    fields = cls.__dataclass_fields__  # type: ignore[attr-defined]
    return any(key in _LATER or "of" in fields[key].metadata for key in table)


def _provenance(p: Provenance, unit: str) -> dict[str, Any]:
    """What is known of a number, besides its value."""
    out: dict[str, Any] = {k: t for k, t in (("source", p.source), ("status", p.status), ("note", p.note)) if t}
    if p.interval is not None:
        out["interval"] = [units.text(end, unit) if unit else end for end in p.interval]
    if p.samples is not None:
        out["samples"] = p.samples
    return out | ({"method": p.method} if p.method else {})


def _part(table: dict[str, Any], path: str, cls: type, leaf: Any) -> dict[str, Any]:
    meta = {name: f.metadata for name, f in cls.__dataclass_fields__.items()}  # type: ignore[attr-defined]
    out: dict[str, Any] = {}
    for key, value in table.items():
        if "of" in meta[key]:
            records = [{k: x for k, x in vars(record).items() if x is not None} for record in value]
            out[key] = [_part(one, f"{path}.{key}.{i}", meta[key]["of"], leaf) for i, one in enumerate(records)]
        else:
            out[key] = leaf(f"{path}.{key}", value, meta[key]["unit"])
    return out


def _cable(edge: list[Any]) -> list[Any]:
    """Without the unknown entries, which TOML cannot hold, at the end; inner ones as the text 'default'."""
    while len(edge) > 2 and edge[-1] is None:
        edge = edge[:-1]
    return ["default" if entry is None else entry for entry in edge]


def write_toml(description: Description, path: str | os.PathLike[str]) -> None:
    """Write the TOML form atomically."""
    write_atomically(path, format_toml(description))
