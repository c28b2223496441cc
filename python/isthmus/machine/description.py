"""The canonical description of a machine: nested dicts of plain SI values, and the provenance of each.

All readers (TOML, one-line specifications, importers) hand their raw, unit-carrying dicts to :func:`normalise`, which
knows every field, its unit and its range; all errors about a machine's contents come from here.
"""

from __future__ import annotations

import dataclasses
import math
import os
import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NoReturn

from .. import units
from ..errors import InvalidInput, ParseError
from ..hostlist import expand
from .kinds import KINDS, Parameter, kind_named
from .measured import curves_of, measured_of
from .parts import STATUSES, Level, Node, Noise, Piece, Provenance

#: The newest version of the TOML form; version 1 has no intervals, records, curves and table [measured], version 2 no
#: times of starts, copies and reductions, and no transport.
FORMAT = 3
LEVELS = ("socket", "node", "network")
_LINK_FIELDS = {"bandwidth": "B/s", "latency": "s"}
_PROVENANCE_KEYS = {"value", "source", "status", "note", "interval", "samples", "method"}
_TOP = (
    "format",
    "name",
    "title",
    "notes",
    "compute_nodes",
    "hostnames",
    "sources",
    "topology",
    "links",
    "node",
    "level",
    "noise",
    "measured",
    "curves",
)

Line = Callable[[str], int | None]


def _no_line(path: str) -> int | None:
    return None


@dataclasses.dataclass(frozen=True)
class Description:
    """A machine in plain values, such as ``values["node"]["cores"] == 4``, and their known provenance by path."""

    values: dict[str, Any]
    provenance: dict[str, Provenance]
    sources: dict[str, str]
    # Where it came from, for errors that show when the machine is built.
    file: str = dataclasses.field(default="machine", compare=False)
    line: Line = dataclasses.field(default=_no_line, compare=False, repr=False)

    def without_lines(self) -> Description:
        """Return a copy that no longer finds the line of a value."""
        return dataclasses.replace(self, line=_no_line)

    def fail(self, path: str, message: str) -> NoReturn:
        """Raise a ParseError about a value."""
        raise ParseError(self.file, self.line(path), path, message)


class Reader:
    """Checks the parts of a raw description, whose file, lines and folder its messages and paths go by."""

    def __init__(self, file: str, line: Line = _no_line, folder: str = "") -> None:
        self.file = file
        self.folder = folder
        self.line = line
        self.provenance: dict[str, Provenance] = {}
        self.sources: dict[str, str] = {}

    def fail(self, path: str, message: str) -> NoReturn:
        raise ParseError(self.file, self.line(path), path or None, message)

    def table(self, value: Any, path: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            self.fail(path, f"is {units.shown(value)}: must be a table")
        return value

    def unknown(self, path: str, key: str, allowed: Any) -> NoReturn:
        self.fail(f"{path}.{key}" if path else key, f"unknown key: must be one of {', '.join(allowed)}")

    def plain(self, value: Any, path: str, unit: str | None = None) -> Any:
        """The value of ``{ value = ..., source = ..., status = ..., note = ... }``, whose rest is kept apart.

        ``unit`` is that of a number; only numbers have an interval.
        """
        if not isinstance(value, dict):
            return value
        for key in value:
            if key not in _PROVENANCE_KEYS:
                self.unknown(path, key, sorted(_PROVENANCE_KEYS))
        if "value" not in value:
            self.fail(path, "has no value: must be { value = ..., source = ..., status = ... }")
        source, status, note = (value.get(k, d) for k, d in (("source", ""), ("status", "stated"), ("note", "")))
        if not isinstance(source, str) or (source and source not in self.sources):
            allowed = ", ".join(self.sources) or "none, as [sources] is empty"
            self.fail(path, f"source {source!r} is not a key of [sources]: must be one of {allowed}")
        if status not in STATUSES:
            self.fail(path, f"status {status!r}: must be one of {', '.join(STATUSES)}")
        if not isinstance(note, str):
            self.fail(path, f"note {note!r}: must be text")
        method, samples = value.get("method", ""), value.get("samples")
        if not isinstance(method, str):
            self.fail(path, f"method {method!r}: must be text")
        if samples is not None:
            samples = self.integer(samples, path, 1)
        interval = self.interval(value.get("interval"), value["value"], path, unit)
        self.provenance[path] = Provenance(source, status, note, interval, samples, method)
        return value["value"]

    def interval(self, given: Any, value: Any, path: str, unit: str | None) -> tuple[float, float] | None:
        """Both ends of ``interval = [low, high]``, between which the value lies."""
        if given is None:
            return None
        if unit is None:
            self.fail(path, "has an interval, but only numbers can have one")
        if not isinstance(given, list) or len(given) != 2:
            self.fail(path, f"interval {units.shown(given)}: must be [low, high]")
        low, high = (self.number(end, path, unit) for end in given)
        if not low <= self.number(value, path, unit) <= high:
            self.fail(path, f"interval {units.shown(given)} does not hold the value, {units.shown(value)}")
        return low, high

    def text(self, value: Any, path: str) -> str:
        if not isinstance(value, str):
            self.fail(path, f"is {units.shown(value)}: must be text")
        return value

    def integer(self, value: Any, path: str, least: int = 0) -> int:
        if isinstance(value, str) and re.fullmatch(r"[0-9]{1,10}", value):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**32:
            self.fail(path, f"is {units.shown(value)}: must be a whole number from {least} to {2**32 - 1}")
        return int(value)

    def number(self, value: Any, path: str, unit: str) -> float:
        try:
            number = units.parse(value, unit)
        except InvalidInput as error:
            self.fail(path, str(error))
        if number < 0:
            self.fail(path, f"is {units.shown(value)}: must be a number from 0")
        return number

    def names(self, value: Any, path: str) -> list[str]:
        if not isinstance(value, list) or not all(isinstance(v, str) and v for v in value):
            self.fail(path, f"is {units.shown(value)}: must be a list of names")
        return value

    def path(self, value: Any, path: str) -> str:
        """A file, beside the one that names it; absolute, so that the machine can be saved anywhere."""
        text = self.text(value, path)
        if "\0" in text:
            self.fail(path, f"is {units.shown(text)}: must be the name of a file")
        return os.path.abspath(os.path.join(self.folder, text)) if text else ""

    def hostnames(self, value: Any) -> str:
        text = self.text(value, "hostnames")
        try:
            names = expand(text) if text else []
        except InvalidInput as error:
            self.fail("hostnames", f"is {units.shown(text)}: {error}")
        if len(set(names)) < len(names):
            twice = next(name for name, count in Counter(names).items() if count > 1)
            self.fail("hostnames", f"is {units.shown(text)}: {twice} names two nodes, but names must differ")
        return text

    def extents(self, value: Any, path: str) -> list[int]:
        if isinstance(value, int) and not isinstance(value, bool):
            value = [value]
        if isinstance(value, str):
            value = value.split("x")
        if not isinstance(value, list) or not 1 <= len(value) <= 16:
            self.fail(path, f"is {units.shown(value)}: must be 1 to 16 extents such as 8x8x16")
        return [self.integer(v, path, 1) for v in value]

    def matrix(self, value: Any, path: str, unit: str) -> tuple[tuple[float, ...], ...]:
        if isinstance(value, str):
            value = [row.split(",") for row in value.split(";")]
        if not isinstance(value, (list, tuple)) or not value or not all(isinstance(r, (list, tuple)) for r in value):
            self.fail(path, "must be a square list of lists of numbers")
        if any(len(row) != len(value) for row in value):
            self.fail(path, f"{len(value)} rows: each must have {len(value)} columns")
        return tuple(tuple(self.number(v, path, unit) for v in row) for row in value)

    def parameter(self, p: Parameter, value: Any, path: str) -> Any:
        if p.type == "int":
            return self.integer(value, path)
        if p.type == "extents":
            if value == [] and not p.required:
                return value
            return self.extents(value, path)
        if p.type == "wrap":
            if not isinstance(value, list) or not all(isinstance(v, bool) for v in value):
                self.fail(path, f"is {units.shown(value)}: must be a list of true and false")
            return value
        if p.type == "word":
            if value not in p.choices:
                self.fail(path, f"is {units.shown(value)}: must be one of {', '.join(p.choices)}")
            return value
        if p.type == "cables":
            if not isinstance(value, list) or not all(isinstance(v, list) for v in value):
                self.fail(path, "must be a list of [from, to, bandwidth, latency, count]")
            return value
        if p.type == "names":
            return self.names(value, path)
        if p.type == "file":
            return self.path(value, path)
        return self.text(value, path)

    def topology(self, raw: Any) -> dict[str, Any]:
        table = self.table(raw, "topology")
        if "kind" not in table:
            self.fail("topology.kind", f"is missing: must be one of {', '.join(KINDS)}")
        name = self.text(self.plain(table["kind"], "topology.kind"), "topology.kind")
        try:
            kind = kind_named(name)
        except InvalidInput as error:
            self.fail("topology.kind", str(error))
        out: dict[str, Any] = {"kind": kind.name}
        allowed = {p.name: p for p in kind.parameters}
        for key, value in table.items():
            if key == "kind":
                continue
            if key not in allowed:
                self.unknown("topology", key, ["kind", *allowed])
            path = f"topology.{key}"
            unit = "" if allowed[key].type == "int" else None
            out[key] = self.parameter(allowed[key], self.plain(value, path, unit), path)
        for p in kind.parameters:
            if p.name in out:
                continue
            if p.required:
                self.fail(f"topology.{p.name}", f"is missing: {kind.name} needs it ({p.doc}), as in {kind.example}")
            out[p.name] = list(p.default) if isinstance(p.default, tuple) else p.default
        return out

    def part(self, raw: Any, path: str, cls: type) -> dict[str, Any]:
        """The fields of a dataclass of parts.py that a table gives."""
        fields = {f.name: f for f in dataclasses.fields(cls)}
        out: dict[str, Any] = {}
        for key, value in self.table(raw, path).items():
            if key not in fields:
                self.unknown(path, key, fields)
            where = f"{path}.{key}"
            meta = fields[key].metadata
            if "of" in meta:
                is_piece = meta["of"] is Piece
                out[key] = self.pieces(value, where) if is_piece else self.records(value, where, meta["of"])
                continue
            words = "choices" in meta or key in ("stream", "file")
            value = self.plain(value, where, None if words else meta["unit"])
            if "choices" in meta:
                if value not in meta["choices"]:
                    self.fail(where, f"is {units.shown(value)}: must be one of {', '.join(meta['choices'])}")
            elif "least" in meta and not meta["unit"]:
                value = self.integer(value, where, meta["least"])
            elif key == "stream":
                value = self.matrix(value, where, meta["unit"])
            elif key == "file":
                value = self.path(value, where)
            else:
                value = self.number(value, where, meta["unit"])
                if value < meta.get("least", 0):
                    allowed = units.text(meta["least"], meta["unit"])
                    self.fail(where, f"is {units.text(value, meta['unit'])}: must be a number from {allowed}")
            out[key] = value
        return out

    def records(self, raw: Any, path: str, cls: type) -> tuple[Any, ...]:
        """Several tables of one dataclass, ``[[path]]``; each ascends in its first field, 0 meaning any size."""
        if not isinstance(raw, list):
            self.fail(path, f"is {units.shown(raw)}: must be a list of tables")
        made = tuple(cls(**self.part(table, f"{path}.{i}", cls)) for i, table in enumerate(raw))
        first = dataclasses.fields(cls)[0].name
        order = [getattr(one, first) or math.inf for one in made]
        for i, (a, b) in enumerate(pairwise(order), 1):
            if a >= b:
                self.fail(f"{path}.{i}.{first}", "must be more than in the table before")
        return made

    def pieces(self, value: Any, path: str) -> tuple[Piece, ...]:
        """The pieces of a level, as tables or as in a specification: ``8KiB:L=2us:G=1ns/B;64KiB:L=5us:G=0.1ns/B``."""
        if isinstance(value, str):
            words = [piece.split(":") for piece in value.split(";")]
            if any("=" in first or not all("=" in word for word in rest) for first, *rest in words):
                self.fail(path, f"is {units.shown(value)}: must be pieces such as 8KiB:L=2us:G=1ns/B;64KiB:L=5us")
            value = [{"above": first} | dict(word.split("=", 1) for word in rest) for first, *rest in words]
        if not isinstance(value, list):
            self.fail(path, f"is {units.shown(value)}: must be a list of tables with above, L, o_send, ...")
        out: list[Piece] = []
        for i, table in enumerate(value):
            where = f"{path}.{i}"
            piece = self.part(table, where, Piece)
            if "above" not in piece:
                self.fail(where, "has no above: expected the bytes above which it holds, such as 8 KiB")
            before = out[-1].above if out else 0.0
            if piece["above"] <= before or piece["above"] % 1:
                self.fail(
                    f"{where}.above",
                    f"is {units.text(piece['above'], 'B')}: must be whole bytes above those of the piece before, "
                    f"{units.text(before, 'B')}",
                )
            after = piece.get("after", 1.0)
            if not 1 <= after <= piece["above"] or after % 1:
                self.fail(
                    f"{where}.after",
                    f"is {units.text(after, 'B')}: must be a whole number of bytes from 1 to above, "
                    f"{units.text(piece['above'], 'B')}",
                )
            out.append(Piece(**piece))
        return tuple(out)


def normalise(raw: dict[str, Any], file: str, line: Line = _no_line, *, folder: str = "") -> Description:
    """Check a raw description and convert every value to SI units.

    Parameters
    ----------
    raw : dict
        Content as read, in the form of a machine's TOML file.
    file : str
        Name of the input in error messages.
    line : callable
        Returns the line of a dotted path such as ``"node.cores"``, or None.
    folder : str
        Folder to which relative paths in the description refer.

    Raises
    ------
    ParseError
        If a key is unknown, a parameter is missing, or a value has the wrong type, unit or range.
    """
    reader = Reader(file, line, folder)
    for key in raw:
        if key not in _TOP:
            reader.unknown("", key, _TOP)
    if raw.get("format", FORMAT) not in range(1, FORMAT + 1) or isinstance(raw.get("format"), (bool, float)):
        reader.fail("format", f"is {raw['format']!r}: this version of Isthmus reads formats 1 to {FORMAT}")
    for key, value in reader.table(raw.get("sources", {}), "sources").items():
        reader.sources[key] = reader.text(value, f"sources.{key}")
    notes = raw.get("notes", [])
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        reader.fail("notes", "must be a list of texts")
    values: dict[str, Any] = {
        "name": reader.text(raw.get("name", ""), "name"),
        "title": reader.text(raw.get("title", ""), "title"),
        "notes": notes,
        "hostnames": reader.hostnames(raw.get("hostnames", "")),
    }
    if "topology" not in raw:
        reader.fail("topology", "is missing: a machine needs an interconnect")
    values["topology"] = reader.topology(raw["topology"])
    compute = raw.get("compute_nodes")
    values["compute_nodes"] = None
    if compute is not None:
        values["compute_nodes"] = reader.integer(reader.plain(compute, "compute_nodes", ""), "compute_nodes", 1)
    values["links"] = {}
    for name, table in reader.table(raw.get("links", {}), "links").items():
        link: dict[str, float] = {}
        for key, value in reader.table(table, f"links.{name}").items():
            path = f"links.{name}.{key}"
            if key not in _LINK_FIELDS:
                reader.unknown(f"links.{name}", key, _LINK_FIELDS)
            unit = _LINK_FIELDS[key]
            link[key] = reader.number(reader.plain(value, path, unit), path, unit)
            if key == "bandwidth" and link[key] == 0:
                reader.fail(path, "is 0: must be a positive bandwidth")
        values["links"][name] = link
    values["node"] = node = reader.part(raw.get("node", {}), "node", Node)
    numa, sockets, cores = node.get("numa", node.get("sockets", 1)), node.get("sockets", 1), node.get("cores")
    if numa % sockets:
        reader.fail("node.numa", f"is {numa}: must be a multiple of sockets = {sockets}")
    if cores is not None and cores % numa:
        reader.fail("node.cores", f"is {cores}: must be a multiple of numa = {numa}")
    if cores is None and numa > 1:
        reader.fail("node.cores", f"is missing: {numa} NUMA domains need a multiple of {numa} cores")
    if node.get("stream") is not None and len(node["stream"]) != numa:
        reader.fail("node.stream", f"has {len(node['stream'])} rows: must have one for each of the {numa} NUMA domains")
    for key in ("copy", "reduce"):
        for i, one in enumerate(node.get(key, ())):
            if one.bytes % 1:
                reader.fail(f"node.{key}.{i}.bytes", f"is {units.text(one.bytes, 'B')}: must be whole bytes")
    if numa > 1:
        node.setdefault("numa", numa)
    values["level"] = {}
    for name, table in reader.table(raw.get("level", {}), "level").items():
        if name not in LEVELS:
            reader.unknown("level", name, LEVELS)
        values["level"][name] = reader.part(table, f"level.{name}", Level)
    values["noise"] = noise = reader.part(raw.get("noise", {}), "noise", Noise)
    kind = noise.get("kind", "none")
    needed = {"none": (), "periodic": ("period", "duration"), "exponential": ("period", "duration"), "file": ("file",)}
    for key in noise:
        if key not in ("kind", *needed[kind]):
            fitting = ", ".join(other for other, keys in needed.items() if key in keys)
            reader.fail(f"noise.{key}", f"does not apply to noise of kind {kind}, only to {fitting}")
    for key in needed[kind]:
        if key not in noise:
            reader.fail(f"noise.{key}", f"is missing: noise of kind {kind} needs it")
    if kind in ("periodic", "exponential") and not 0 <= noise["duration"] < noise["period"]:
        reader.fail(
            "noise.duration", f"is {noise['duration']:g} s: must be less than the period, {noise['period']:g} s"
        )
    values["measured"] = measured_of(reader, raw.get("measured"))
    values["curves"] = curves_of(reader, raw.get("curves"))
    return Description(values, reader.provenance, reader.sources, file, line)
