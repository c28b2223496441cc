"""Studies from TOML."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from .. import filekinds, units
from ..errors import InvalidInput, ParseError
from ..toml_text import Lines, parse, read_text
from .parameters import Kind, kind_named
from .study import Published, Study, complete, read_values

FORMAT = 1
_TEXTS = ("name", "title", "kind", "reproduces", "about")
_KEYS = ("format", *_TEXTS, "seconds", "quick_seconds", "grid", "quick", "published")


def catalogue() -> list[str]:
    """Names of the studies that come with Isthmus."""
    folder = files(__package__) / "catalogue"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load(what: str | os.PathLike[str]) -> Study:
    """A study of the catalogue by its name, or of a TOML file.

    Raises
    ------
    InvalidInput
        There is neither.
    ParseError
        The file is malformed: unknown keys, wrong values, missing parameters.
    """
    text = os.fspath(what)
    if text in catalogue():
        return parse_study((files(__package__) / "catalogue" / f"{text}.toml").read_text("utf-8"), f"{text}.toml")
    if not os.path.exists(text):
        raise InvalidInput(f"{text}: must be a file or a study of the catalogue: {', '.join(catalogue())}")
    filekinds.require(text, (filekinds.STUDY,), "a study in TOML")
    return parse_study(read_text(text), text)


class _Reader:
    """The tables of a file and the lines of their keys."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.lines = Lines(text)
        self.raw = parse(text, file)

    def wrong(self, path: str, message: str) -> ParseError:
        return ParseError(self.file, self.lines(path), path or None, message)

    def only(self, table: Mapping[str, Any], allowed: tuple[str, ...], path: str = "") -> None:
        for key in table:
            if key not in allowed:
                raise self.wrong(f"{path}{key}", f"unknown key; must be one of {', '.join(allowed)}")

    def text(self, table: Mapping[str, Any], key: str, path: str = "", *, needed: bool = False) -> str:
        if key not in table:
            if needed:
                raise self.wrong(path.rstrip("."), f"{key} is missing")
            return ""
        if not isinstance(table[key], str):
            raise self.wrong(f"{path}{key}", f"{units.shown(table[key])}: must be a text")
        return " ".join(table[key].split())

    def seconds(self, key: str) -> float | None:
        value = self.raw.get(key)
        if value is None:
            return None
        try:
            return units.parse(value, "s")
        except InvalidInput as error:
            raise self.wrong(key, str(error)) from None

    def tables(self, key: str) -> list[dict[str, Any]]:
        value = self.raw.get(key, [])
        if isinstance(value, dict):
            value = [value]
        if not isinstance(value, list) or not all(isinstance(table, dict) for table in value):
            raise self.wrong(key, f"must be written as tables [[{key}]]")
        return value

    def values(self, kind: Kind, table: Mapping[str, Any], path: str) -> dict[str, tuple[Any, ...]]:
        out = {}
        for key, given in table.items():
            try:
                out[key] = read_values(kind, key, given, "")
            except InvalidInput as error:
                raise self.wrong(f"{path}.{key}", str(error).removeprefix(": ")) from None
        return out


def parse_study(text: str, file: str) -> Study:
    """Read the TOML form of a study; raises ParseError with file, line and key."""
    reader = _Reader(text, file)
    raw = reader.raw
    reader.only(raw, _KEYS)
    if raw.get("format") != FORMAT:
        raise reader.wrong("format", f"must be {FORMAT}")
    words = {key: reader.text(raw, key, needed=key in ("name", "kind")) for key in _TEXTS}
    if not words["name"] or not all(c.isalnum() or c in "-_." for c in words["name"]):
        raise reader.wrong("name", f"{units.shown(words['name'])}: may have only letters, digits, - _ .")
    words["title"] = words["title"] or words["name"]
    try:
        kind = kind_named(words["kind"])
    except InvalidInput as error:
        raise reader.wrong("kind", str(error)) from None
    grids, fast_grids = [], []
    for number, given in enumerate(reader.tables("grid")):
        path = f"grid.{number}" if isinstance(raw["grid"], list) else "grid"
        table = dict(given)
        quick = table.pop("quick", True)
        if not isinstance(quick, bool):
            raise reader.wrong(f"{path}.quick", f"{units.shown(quick)}: must be true or false")
        if quick:
            fast_grids.append(number)
        try:
            grids.append(complete(kind, reader.values(kind, table, path)))
        except InvalidInput as error:
            raise reader.wrong(path, str(error)) from None
    if not grids:
        raise reader.wrong("", "the file has no [[grid]]: a study needs at least one")
    published = []
    for number, table in enumerate(reader.tables("published")):
        path = f"published.{number}."
        reader.only(table, ("name", "statement", "source"), path)
        published.append(
            Published(*(reader.text(table, k, path, needed=True) for k in ("name", "statement", "source")))
        )
    fast = raw.get("quick")
    if fast is not None and not isinstance(fast, dict):
        raise reader.wrong("quick", "must be a table [quick]")
    if not fast_grids:
        raise reader.wrong("grid", "quick = false in every grid: leave one for the quick form")
    return Study(
        **words,
        grids=tuple(grids),
        published=tuple(published),
        seconds=reader.seconds("seconds"),
        fast=None if fast is None else reader.values(kind, fast, "quick"),
        fast_grids=tuple(fast_grids),
        fast_seconds=reader.seconds("quick_seconds"),
    )
