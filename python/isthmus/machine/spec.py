"""One-line specifications: ``torus:8x8x16 link=425MB/s hop=64ns cores=4``."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any

from .. import units
from ..errors import InvalidInput, ParseError, Unsupported
from ..named import split
from .description import LEVELS, Description, Reader, normalise
from .kinds import KINDS, Kind, Links, kind_named, spec_of
from .parts import Level, Node, Piece

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .._core import Topology

_LEVEL_FIELDS = [f.name for f in dataclasses.fields(Level) if f.metadata.get("of", Piece) is Piece]
_NODE_FIELDS = [f.name for f in dataclasses.fields(Node) if "of" not in f.metadata]
_TOP = {"name": "name", "title": "title", "compute": "compute_nodes", "hosts": "hostnames"}


def _topology(text: str, token: str, others: list[str] | None = None) -> dict[str, Any]:
    """Reads the first word; options of the machine between its parameters go to ``others``."""
    name, _, rest = token.partition(":")
    try:
        kind = kind_named(name)
    except InvalidInput as error:
        raise ParseError(text, None, "topology", str(error)) from None
    out: dict[str, Any] = {"kind": kind.name}
    for i, part in enumerate(split(rest) if rest else []):
        key, equals, value = part.partition("=")
        if not equals:
            if i > 0 or (not kind.parameters[0].required and kind.name != "graph"):
                raise ParseError(text, None, part, f"expected key=value, as in {kind.example}")
            key, value = kind.parameters[0].name, part
        try:
            parameter = kind.parameter(key)
        except InvalidInput as error:
            if others is not None and _paths(key):
                others.append(part)
                continue
            raise ParseError(text, None, key, str(error)) from None
        if key in out:
            raise ParseError(text, None, key, "is given twice")
        if parameter.type in ("cables", "wrap", "names"):
            raise ParseError(text, None, key, "has no place in a specification: must be TOML")
        if not value:
            raise ParseError(
                text, None, key, f"has no value: must be key=value ({parameter.doc}), as in {kind.example}"
            )
        if (
            parameter.type == "extents"
            and kind.parameters[0].name == key
            and any(p.type == "wrap" for p in kind.parameters)
        ):
            _grid(text, kind, value, out)
        else:
            out[key] = value
    return out


def _grid(text: str, kind: Kind, value: str, out: dict[str, Any]) -> None:
    """Extents with the suffixes m and t, which say per dimension whether it wraps around."""
    extents, wrap, default = [], [], kind.name in ("torus", "ring")
    for part in value.split("x"):
        match = re.fullmatch(r"([0-9]{1,10})([mt]?)", part)
        if match is None:
            raise ParseError(
                text,
                None,
                "dims",
                f"is {value!r}: must be extents such as 8x8x16, each with m (mesh) or t (torus) behind it if need be",
            )
        extents.append(int(match[1]))
        wrap.append(match[2] == "t" if match[2] else default)
    out["dims"] = extents
    if any(w != default for w in wrap):
        out["wrap"] = wrap


def _place(raw: dict[str, Any], path: str, value: str, text: str, key: str) -> None:
    *tables, last = path.split("\0")
    at = raw
    for name in tables:
        at = at.setdefault(name, {})
    if last in at:
        raise ParseError(text, None, key, "is given twice")
    at[last] = value


def _paths(key: str) -> list[str]:
    """Paths of the description that an option sets; none for an unknown one. Components are joined by NUL."""
    head, dot, tail = key.partition(".")
    if dot and not tail:
        return []
    if key in _TOP:
        return [_TOP[key]]
    if head in ("link", "hop"):
        field = "bandwidth" if head == "link" else "latency"
        return [f"links\0{tail or 'default'}\0{field}"]
    if key in _NODE_FIELDS:
        return [f"node\0{key}"]
    if head == "noise":
        return [f"noise\0{tail or 'kind'}"]
    level, field = (head, tail) if tail else ("network", key)
    if level in LEVELS and field == "o":
        return [f"level\0{level}\0o_send", f"level\0{level}\0o_recv"]
    if level in LEVELS and field in _LEVEL_FIELDS:
        return [f"level\0{level}\0{field}"]
    return []


def parse_topology(spec: str, links: Links) -> Topology:
    """Make the interconnect of a specification; ``links`` gives name, bandwidth and latency of each link class."""
    values = normalise({"topology": _topology(spec, spec)}, spec).values["topology"]
    return KINDS[values["kind"]].build(values, links)


def parse_spec(text: str) -> Description:
    """Read a one-line specification.

    The first word is the interconnect, ``kind:parameter[,key=value...]``; the others, behind commas or blanks, are
    ``key=value``: ``link`` and
    ``hop`` (bandwidth and latency of all links; ``link.x``, ``hop.global`` of one class), the fields of a node
    (``cores``, ``sockets``, ``nics``, ``memory``, ...), LogGP parameters of the network (``L o g G O S per_hop o_send
    o_recv O_recv``, and ``pieces`` such as ``8KiB:L=2us:G=1ns/B;64KiB:L=5us`` for larger messages; ``socket.L``,
    ``node.o`` of the other levels), ``noise`` (``noise.period``, ...), ``compute`` (usable
    nodes), ``hosts`` (node names), ``name``.

    Raises
    ------
    ParseError
        The message names the option and what is allowed.
    """
    if re.search("[\ud800-\udfff]", text):
        raise ParseError(ascii(text), None, None, "not text: must be a specification in UTF-8")
    words = text.split()
    if not words:
        raise ParseError("specification", None, None, f"is empty: write, for example, {KINDS['torus'].example}")
    text = " ".join(words)  # messages have one line
    others: list[str] = []
    raw: dict[str, Any] = {"topology": _topology(text, words[0], others)}
    for word in [*others, *words[1:]]:
        _set(raw, text, word)
    return normalise(raw, text)


def changed(description: Description, text: str, parameters: str) -> Description:
    """Return a copy of a machine with values replaced by ``key=value,...``, the keys of a specification.

    ``link`` and ``hop`` without a class apply to all links, even to those with values of their own.

    Raises
    ------
    ParseError
        If a key is unknown or a value is not allowed.
    """
    import tomllib

    from .toml import format_toml

    given: dict[str, Any] = {}
    for word in split(parameters):
        _set(given, text, word)
    raw = tomllib.loads(format_toml(description))
    for field in given.get("links", {}).get("default", {}):
        for link in raw.get("links", {}).values():
            link.pop(field, None)
    _merge(raw, given)
    return normalise(raw, text)


def _merge(raw: dict[str, Any], given: dict[str, Any]) -> None:
    """Put values in place of others, whose sources go with them."""
    for key, value in given.items():
        if isinstance(value, dict):
            _merge(raw.setdefault(key, {}), value)
        else:
            raw[key] = value


def _set(raw: dict[str, Any], text: str, word: str) -> None:
    """One option of a machine, into its raw description."""
    key, equals, value = word.partition("=")
    if not equals or not value:
        raise ParseError(text, None, word, "expected key=value without blanks, as in link=425MB/s")
    paths = _paths(key)
    if not paths:
        allowed = [
            "link",
            "hop",
            "link.CLASS",
            "hop.CLASS",
            *_TOP,
            *_NODE_FIELDS,
            "o",
            *_LEVEL_FIELDS,
            "socket.L, node.L, ...",
            "noise, noise.period, noise.duration, noise.file",
        ]
        raise ParseError(text, None, key, f"unknown option: must be one of {', '.join(allowed)}")
    for path in paths:
        _place(raw, path, value, text, key)


def format_pieces(pieces: Iterable[Piece]) -> str:
    """Return the pieces of a level as one word, ``8KiB:L=2us:G=1ns/B;64KiB:L=5us:G=0.1ns/B``; :func:`parse_pieces`
    reads it back."""
    words = []
    for piece in pieces:
        word = units.text(piece.above, "B")
        for field in dataclasses.fields(Piece):
            value = getattr(piece, field.name)
            if field.name != "above" and value != field.default:
                word += f":{field.name}={units.text(value, field.metadata['unit'])}"
        words.append(word)
    return ";".join(words).replace(" ", "")


def parse_pieces(text: str) -> tuple[Piece, ...]:
    """Read the pieces of a level from one word; raises ParseError."""
    return Reader(text).pieces(text, "pieces")


def _option(key: str, value: Any, unit: str) -> str:
    if key.endswith("pieces"):
        value = format_pieces(value)
    elif isinstance(value, tuple):
        value = ";".join(",".join(units.text(v, unit) for v in row) for row in value)
    elif isinstance(value, float):
        value = units.text(value, unit)
    return f"{key}={str(value).replace(' ', '')}"


def spec_or_name(description: Description) -> str:
    """Return the specification, or the name of a machine that has none."""
    try:
        return format_spec(description)
    except Unsupported:
        return str(description.values["name"] or description.file)


def format_spec(description: Description) -> str:
    """Return the specification of a machine, without notes, provenance, and curves; :func:`parse_spec` reads it back.

    Raises Unsupported if the network was given cable by cable in TOML, if a field is a list of records, or if the name
    of a file cannot be written in a specification.
    """
    v = description.values
    topology = v["topology"]
    parts = [("node", Node, v["node"]), *((f"level.{name}", Level, table) for name, table in v["level"].items())]
    for path, cls, table in parts:
        for field in dataclasses.fields(cls):
            if field.metadata.get("of", Piece) is not Piece and table.get(field.name):
                raise Unsupported(f"{path}.{field.name} has no place in a specification: write TOML")
    for file in (topology.get("file") or "", v["noise"].get("file", "")):
        if re.search(r"[\s,=]", file):
            raise Unsupported(f"{file!r} has blanks, commas or '=', which a specification cannot hold: write TOML")
    if topology["kind"] == "graph" and not topology["file"]:
        raise Unsupported("a network given cable by cable has no specification in one line: write TOML")
    words = [spec_of(KINDS[topology["kind"]], topology)]
    for name, link in v["links"].items():
        suffix = "" if name == "default" else f".{name}"
        words += [
            _option(key + suffix, link[field], unit)
            for key, field, unit in (("link", "bandwidth", "B/s"), ("hop", "latency", "s"))
            if field in link
        ]
    unit_of = {f.name: f.metadata["unit"] for cls in (Node, Level) for f in dataclasses.fields(cls)}
    words += [_option(key, value, unit_of[key]) for key, value in v["node"].items()]
    for level, fields in v["level"].items():
        prefix = "" if level == "network" else f"{level}."
        words += [_option(prefix + key, value, unit_of[key]) for key, value in fields.items()]
    for key, value in v["noise"].items():
        words.append(_option("noise" if key == "kind" else f"noise.{key}", value, "s"))
    if v["hostnames"]:
        # Blanks separate names as commas do.
        v = {**v, "hostnames": re.sub(r"[,\s]+", ",", v["hostnames"].strip())}
    words += [f"{key}={v[path]}" for key, path in _TOP.items() if v[path] and len(str(v[path]).split()) == 1]
    return " ".join(words)
