"""The TOML form of a machine: reading with line numbers, writing with provenance."""

from __future__ import annotations

import os
import re
import tomllib
from typing import Any

from .. import units
from ..errors import ParseError
from ..files import write_atomically
from .description import FORMAT, Description, normalise
from .kinds import KINDS
from .parts import Level, Node, Noise

_HEADER = re.compile(r"\s*\[{1,2}\s*([^\[\]]+?)\s*\]{1,2}\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*([A-Za-z0-9_+-]+|"[^"]*"|'[^']*')\s*(?:\.\s*([A-Za-z0-9_+-]+))?\s*=""")


class _Lines:
    """Where keys stand: tomllib tells lines of syntax errors only."""

    def __init__(self, text: str) -> None:
        self.of: dict[str, int] = {}
        table = ""
        for number, line in enumerate(text.splitlines(), 1):
            header = _HEADER.match(line)
            if header:
                table = ".".join(part.strip().strip("\"'") for part in header[1].split("."))
                self._add(table, number)
                continue
            key = _KEY.match(line)
            if key:
                parts = [table, key[1].strip("\"'"), key[2]]
                self._add(".".join(p for p in parts if p), number)

    def _add(self, path: str, number: int) -> None:
        # [links.x] is also where "links" is first spoken of.
        while path:
            self.of.setdefault(path, number)
            path = path.rpartition(".")[0]

    def __call__(self, path: str) -> int | None:
        # An inner key of an inline table, or a missing key, is reported at what encloses it.
        while path:
            if path in self.of:
                return self.of[path]
            path = path.rpartition(".")[0]
        return None


def parse_toml(text: str, file: str) -> Description:
    """Read the TOML form of a machine; raises ParseError with file, line and field."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", str(error), re.DOTALL)
        line = int(match[2]) if match and match[2] else len(text.splitlines())
        raise ParseError(file, line, None, f"not TOML: {match[1] if match else error}") from None
    except RecursionError:
        raise ParseError(file, None, None, "not TOML: nested too deeply") from None
    except ValueError:
        # Python reads no longer integers, and tomllib passes its refusal on.
        raise ParseError(file, None, None, "not TOML: an integer of more than 4300 digits") from None
    return normalise(raw, file, _Lines(text), folder=os.path.dirname(file))


def read_toml(path: str | os.PathLike[str]) -> Description:
    """Read a machine file; raises ParseError, or OSError where it cannot be read."""
    file = os.fspath(path)
    with open(file, "rb") as stream:
        data = stream.read()
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ParseError(file, line, None, "not text: TOML in UTF-8 is allowed") from None
    return parse_toml(text, file)


def format_toml(description: Description) -> str:
    """The TOML form, every number in a readable unit with its source and status; :func:`parse_toml` reads it back."""
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
    """Write the TOML form; the file is either complete or as it was before."""
    write_atomically(path, format_toml(description))
