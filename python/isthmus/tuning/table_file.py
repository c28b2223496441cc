"""Decision tables in files: TOML and JSON with the same content; :mod:`.plain_text` is the third form."""

from __future__ import annotations

import json
import math
import os
from typing import Any

from .. import filekinds
from ..errors import InvalidInput, ParseError
from ..files import write_atomically
from ..toml_text import Lines, parse, read_text
from ..units import shown
from .choice import Choice
from .rule import KINDS
from .table import MODES, DecisionTable, Point, Provenance, Row

FORMAT = "isthmus decision table"
#: Written and read; 2 has flavours in choices, which a reader of version 1 would take for options of algorithms; 3 says
#: library, source and sync of the table and intervals of times; 4 has rows of modes of synchronisation.
VERSIONS = (1, 2, 3, 4)
_TIMES = ("seconds", "runner_up_seconds", "bound")
_POINT = ("bytes", "algorithm", "seconds", "runner_up", "runner_up_seconds", "bound", "interval")


def write(table: DecisionTable, path: str | os.PathLike[str]) -> None:
    """Write a table; the file is either complete or as it was before."""
    from .plain_text import format_plain

    forms = {".json": format_json, ".txt": format_plain}
    write_atomically(path, forms.get(os.path.splitext(os.fspath(path))[1].lower(), format_toml)(table))


def read(path: str | os.PathLike[str]) -> DecisionTable:
    """Read a table; raises ParseError with file, line and field, or OSError."""
    file = os.fspath(path)
    filekinds.require(path, (filekinds.TABLE,), "a decision table")
    text = read_text(path)
    from .plain_text import HEAD, parse_plain

    if text.startswith(HEAD):
        return parse_plain(text, file)
    if file.endswith(".json") or text.lstrip().startswith("{"):
        return _Reader(file, lambda field: None).table(_json(text, file))
    return _Reader(file, Lines(text)).table(parse(text, file))


def content(table: DecisionTable) -> dict[str, Any]:
    """The table as plain data, as it stands in files."""
    provenance = {key: value for key, value in vars(table.provenance).items() if value}
    choices = {choice for *_, p in table.entries() for choice in (p.choice, p.runner_up) if choice is not None}
    version = 2 if any(choice.parts[1] for choice in choices) else 1
    if any(provenance.get(key) for key in ("library", "source", "sync")) or any(
        p.interval is not None for *_, p in table.entries()
    ):
        version = 3
    if table.modes:
        version = 4
    out: dict[str, Any] = {"format": FORMAT, "version": version}
    if provenance:
        out["provenance"] = provenance
    for kind in _kinds(table):
        out[kind] = [
            {
                "ranks": row.ranks,
                **({"sync": mode} if mode else {}),
                "sizes": "tuned" if row.tuned else "from",
                "rules": [_point(p) for p in row.points],
            }
            for mode, rows in [("", table.rows.get(kind, ())), *table.modes.get(kind, {}).items()]
            for row in rows
        ]
    return out


def _kinds(table: DecisionTable) -> list[str]:
    return [kind for kind in KINDS if kind in table.rows or kind in table.modes]


def format_json(table: DecisionTable) -> str:
    return json.dumps(content(table), indent=1, allow_nan=False) + "\n"


def format_toml(table: DecisionTable) -> str:
    """One line a decision, so that differences show in ``diff`` and review."""
    data = content(table)
    lines = [f'format = "{FORMAT}"', f"version = {data['version']}"]
    if "provenance" in data:
        lines += [
            "",
            "[provenance]",
            *(f"{key} = {json.dumps(text, ensure_ascii=False)}" for key, text in data["provenance"].items()),
        ]
    for kind in _kinds(table):
        for row in data[kind]:
            mode = [f'sync = "{row["sync"]}"'] if "sync" in row else []
            lines += ["", f"[[{kind}]]", f"ranks = {row['ranks']}", *mode, f'sizes = "{row["sizes"]}"', "rules = ["]
            for point in row["rules"]:
                pairs = ", ".join(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in point.items())
                lines.append(f"  {{ {pairs} }},")
            lines.append("]")
    # JSON escapes DEL not, TOML wants it escaped.
    return "\n".join(lines).replace("\x7f", "\\u007f") + "\n"


def _point(p: Point) -> dict[str, Any]:
    values = (p.bytes, str(p.choice), p.seconds, None if p.runner_up is None else str(p.runner_up))
    interval = None if p.interval is None else list(p.interval)
    pairs = zip(_POINT, (*values, p.runner_up_seconds, p.bound, interval), strict=True)
    return {key: value for key, value in pairs if value is not None}


def _json(text: str, file: str) -> dict[str, Any]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = next(key for i, (key, _) in enumerate(pairs) if key in dict(pairs[:i]))
            raise ParseError(file, None, twice, "is given twice in the same table")
        return found

    def no(constant: str) -> Any:
        raise ParseError(file, None, None, f"{constant} is not a number in JSON")

    try:
        found = json.loads(text, object_pairs_hook=unique, parse_constant=no)
    except json.JSONDecodeError as error:
        raise ParseError(file, error.lineno, None, f"not JSON: {error.msg}") from None
    except ParseError:
        raise
    except (ValueError, RecursionError):
        raise ParseError(file, None, None, "not JSON: a number is too long or nesting too deep") from None
    if not isinstance(found, dict):
        raise ParseError(file, None, None, "not a decision table: expected an object at the top")
    return found


class _Reader:
    """Reads plain data strictly: unknown keys and wrong types are errors."""

    def __init__(self, file: str, line: Any) -> None:
        self.file = file
        self.line = line

    def error(self, field: str, message: str) -> ParseError:
        return ParseError(self.file, self.line(field), field, message)

    def table(self, data: dict[str, Any]) -> DecisionTable:
        if data.get("format") != FORMAT:
            raise ParseError(
                self.file, self.line("format"), None, f'not a decision table: format = "{FORMAT}" is missing'
            )
        version = data.get("version")
        if version not in VERSIONS or isinstance(version, bool):
            known = " and ".join(map(str, VERSIONS))
            raise self.error("version", f"is {shown(version)}: this Isthmus reads versions {known}")
        rows: dict[str, list[Row]] = {}
        modes: dict[str, dict[str, list[Row]]] = {}
        for key, value in data.items():
            if key in KINDS:
                for mode, row in self.rows(key, value):
                    (modes.setdefault(key, {}).setdefault(mode, []) if mode else rows.setdefault(key, [])).append(row)
            elif key not in ("format", "version", "provenance"):
                raise self.error(key, f"is neither provenance nor a collective: must be one of {', '.join(KINDS)}")
        try:
            return DecisionTable(rows, self.provenance(data.get("provenance", {})), modes)
        except InvalidInput as error:
            raise ParseError(self.file, None, None, str(error)) from None

    def provenance(self, value: Any) -> Provenance:
        allowed = tuple(Provenance.__dataclass_fields__)
        self.keys("provenance", value, allowed, ())
        for key, text in value.items():
            if not isinstance(text, str):
                raise self.error(f"provenance.{key}", f"is {shown(text)}: expected a text")
        try:
            return Provenance(**value)
        except InvalidInput as error:
            raise self.error("provenance.source", str(error)) from None

    def keys(self, field: str, value: Any, allowed: tuple[str, ...], needed: tuple[str, ...]) -> None:
        if not isinstance(value, dict):
            raise self.error(field, f"is {shown(value)}: expected a table")
        for key in value:
            if key not in allowed:
                raise self.error(f"{field}.{key}", f"is not known here: must be one of {', '.join(allowed)}")
        for key in needed:
            if key not in value:
                raise self.error(field, f"{key} is missing")

    def rows(self, kind: str, value: Any) -> list[tuple[str, Row]]:
        """Rows with their modes of synchronisation, "" for those of none."""
        if not isinstance(value, list):
            raise self.error(kind, f"is {shown(value)}: expected a list of tables")
        out = []
        for number, item in enumerate(value):
            field = f"{kind}.{number}"
            self.keys(field, item, ("ranks", "sync", "sizes", "rules"), ("ranks", "rules"))
            mode = item.get("sync", "")
            if "sync" in item and mode not in MODES:
                raise self.error(f"{field}.sync", f"is {shown(mode)}: must be one of {', '.join(MODES)}")
            ranks = self.whole(f"{field}.ranks", item["ranks"])
            sizes = item.get("sizes", "tuned")
            if sizes not in ("tuned", "from"):
                raise self.error(f"{field}.sizes", f'is {shown(sizes)}: must be "tuned" or "from"')
            if not isinstance(item["rules"], list):
                raise self.error(f"{field}.rules", f"is {shown(item['rules'])}: expected a list of tables")
            points = [self.point(f"{field}.rules", number, point) for number, point in enumerate(item["rules"])]
            try:
                out.append((mode, Row(ranks, tuple(points), sizes == "tuned")))
            except InvalidInput as error:
                raise self.error(field, str(error)) from None
        return out

    def point(self, field: str, number: int, value: Any) -> Point:
        where = f"{field}[{number}]"
        self.keys(where, value, _POINT, ("bytes", "algorithm"))
        times = {}
        for key in _TIMES:
            time = value.get(key)
            if time is not None and (
                isinstance(time, bool) or not isinstance(time, (int, float)) or not 0 <= time < math.inf
            ):
                raise self.error(where, f"{key} is {shown(time)}: expected seconds from 0")
            times[key] = None if time is None else float(time)
        runner_up = value.get("runner_up")
        try:
            return Point(
                self.whole(where, value["bytes"], "bytes "),
                Choice.of(_word(value["algorithm"])),
                runner_up=None if runner_up is None else Choice.of(_word(runner_up)),
                interval=self.interval(where, value.get("interval")),
                **times,
            )
        except InvalidInput as error:
            raise self.error(where, str(error)) from None

    def interval(self, where: str, value: Any) -> tuple[float, float] | None:
        if value is None:
            return None
        numbers = value if isinstance(value, list) else []
        if len(numbers) != 2 or any(isinstance(n, bool) or not isinstance(n, (int, float)) for n in numbers):
            raise self.error(where, f"interval is {shown(value)}: expected two times in seconds")
        return float(numbers[0]), float(numbers[1])

    def whole(self, field: str, value: object, name: str = "") -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
            raise self.error(field, f"{name}is {shown(value)}: expected a whole number from 0")
        return value


def _word(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"algorithm {shown(value)}: expected a text such as 'knomial,radix=4'")
    return value
