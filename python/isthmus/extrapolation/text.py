"""Blueprints as text: to read, to edit, and to read back.

A file begins with ``isthmus skeleton 1``. Lines within a loop are two blanks further in than its ``loop``; the numbers
of a call are two blanks further in than the call. ``#`` begins a comment, on a line of its own.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ParseError
from ..schedule.event import CollectiveKind, EventKind
from ..units import percent
from . import rules as r
from . import windows
from .blueprint import Blueprint, Repeat, Statement, Step
from .charts import Grid, chart_of
from .families import Family
from .formulas import constant, parse
from .streams import END, OPENING, Call
from .vocabulary import Item

if TYPE_CHECKING:
    from .rules import Rule

HEAD = "isthmus skeleton 1"
#: Names of calls with their kinds.
_KINDS = {"end": (END, 0)} | {
    kind.name: (int(kind), 0) for kind in EventKind if kind.name not in ("compute", "collective")
}
_KINDS |= {kind.name: (int(EventKind.collective), int(kind)) for kind in CollectiveKind}
_FIELDS = (
    "when", "peer", "open", "bytes", "tag", "source", "source_tag", "received", "list", "width", "joins", "done",
    "before",
)  # fmt: skip


# Writing.


def text(blueprint: Blueprint) -> str:
    """The blueprint as text."""
    labels = blueprint.labels()
    out = [
        HEAD,
        "# Exact formulas give every recording from the others; fitted ones: by regression; guessed: by chance.",
    ]
    for name, ranks, parameters in blueprint.source:
        given = "".join(f" {key}={value}" for key, value in sorted(parameters.items()))
        out.append(f"recording {json.dumps(name)} ranks={ranks}{given}")
    out += [f"parameter {name} {value}" for name, value in sorted(blueprint.parameters.items())]
    for number, family in enumerate(blueprint.families):
        if family is not None:
            out += _family(number, family)
    if not (isinstance(blueprint.role, r.Same) and len(blueprint.roles) == 1):
        out.append(f"role of ranks: {blueprint.role}")
    for number, body in enumerate(blueprint.roles):
        out.append(f"role {number}")
        _body(body, 1, labels, out)
    return "\n".join(out) + "\n"


def _family(number: int, family: Family) -> list[str]:
    kind = family.kind
    if kind == "table":
        kind = f"table {r.runs(family.colors)}"
    elif family.size is not None:
        kind = f"{kind} {family.size}"
    guess = " (guessed)" if family.guessed else ""
    return [f"communicators {number}: {kind}{guess}", f"  members: {family.members}"]


def _body(body: Sequence[Step], depth: int, labels: dict[int, str], out: list[str]) -> None:
    blank = "  " * depth
    for step in body:
        if isinstance(step, Repeat):
            out.append(f"{blank}loop {step.number} times: {step.times}")
            _body(step.body, depth + 1, labels, out)
            continue
        if step.share > 0 or labels[step.number] != "exact":
            out.append(
                f"{blank}# {labels[step.number]}" + (f", {percent(step.share)} of the bytes" if step.share > 0 else "")
            )
        out.append(blank + _call(step))
        for name in _FIELDS:
            rule = step.rules.get(name)
            if rule is None or (isinstance(rule, r.Same) and str(rule) == _default(name)):
                continue
            out.append(f"{blank}  {name}: {rule}")


def _default(name: str) -> str:
    return {"when": "1", "joins": "1", "open": "0", "tag": "0"}.get(name, "")


def _call(step: Statement) -> str:
    call = step.call
    words = [call.name.removeprefix("i") if call.opens and call.kind == EventKind.collective else call.name]
    words += ["nonblocking"] if call.opens and call.kind == EventKind.collective else []
    words += ["listed"] if call.listed else []
    words += [f"at {json.dumps(call.location)}"] if call.location else []
    words += [f"in {json.dumps(call.phase)}"] if call.phase else []
    words += [f"on {call.family}"] if call.family else []
    words += [f"creates {call.creates}"] if call.creates else []
    words += [f"peer {step.item}"] if step.item else []
    words += [f"share {step.share:.12g}"] if step.share else []
    if step.waits is not None:
        by, lists = step.waits
        given = " / ".join(",".join(f"{n}-{age}" if age else str(n) for n, age in one) for one in lists)
        words.append(f"for {by} {given}".rstrip())
    return f"{step.number} " + " ".join(words)


# Reading.


class _Lines:
    """Lines that are not comments, with how far they are in."""

    def __init__(self, path: str, content: str) -> None:
        self.path = path
        self.lines = [
            (number, (len(line) - len(line.lstrip(" "))) // 2, line.strip())
            for number, line in enumerate(content.splitlines(), 1)
            if line.strip() and not line.lstrip().startswith("#")
        ]
        self.at = 0

    def peek(self) -> tuple[int, int, str] | None:
        return self.lines[self.at] if self.at < len(self.lines) else None

    def error(self, message: str, number: int | None = None) -> ParseError:
        line = (
            number if number is not None else self.lines[min(self.at, len(self.lines) - 1)][0] if self.lines else None
        )
        return ParseError(self.path, line, None, message)


def read(path: str | os.PathLike[str]) -> Blueprint:
    """Read a blueprint.

    Raises
    ------
    ParseError
        With the line, for what is none.
    """
    with open(path, encoding="utf-8", errors="replace") as stream:
        return parse_text(stream.read(), os.fspath(path))


def parse_text(content: str, path: str = "text") -> Blueprint:
    """The blueprint of a text."""
    lines = _Lines(path, content)
    if not content.startswith("isthmus skeleton "):
        raise ParseError(path, 1, None, f"must begin with '{HEAD}'")
    if content.splitlines()[0].strip() != HEAD:
        raise ParseError(
            path, 1, None, f"{content.splitlines()[0].strip()!r}: this version of Isthmus reads '{HEAD}' only"
        )
    lines.at = 1
    sources: list[tuple[str, int, dict[str, int]]] = []
    parameters: dict[str, int] = {}
    families: list[Family | None] = [None]
    role: Rule = r.Same(constant(0))
    roles: list[list[Step]] = []
    while (line := lines.peek()) is not None:
        number, depth, words = line
        if depth:
            raise lines.error(f"{words!r}: is further in than what stands before it allows")
        lines.at += 1
        if found := re.fullmatch(r'recording ("(?:[^"\\]|\\.)*") ranks=(\d+)((?: \w+=-?\d+)*)', words):
            given = dict(pair.split("=") for pair in found[3].split())
            sources.append((json.loads(found[1]), int(found[2]), {key: int(value) for key, value in given.items()}))
        elif found := re.fullmatch(r"parameter (\w+) (-?\d+)", words):
            parameters[found[1]] = int(found[2])
        elif found := re.fullmatch(r"communicators (\d+): (.*)", words):
            if int(found[1]) != len(families):
                raise lines.error(f"communicators {found[1]}: must have the number {len(families)}", number)
            families.append(_read_family(lines, found[2], number))
        elif found := re.fullmatch(r"role of ranks: (.*)", words):
            role = _rule(lines, found[1], number)
        elif re.fullmatch(r"role \d+", words):
            roles.append(_read_body(lines, 1))
        else:
            raise lines.error(f"{words!r}: must be a recording, a parameter, communicators or a role", number)
    if not sources or not roles:
        raise ParseError(path, None, None, "has no recordings or no roles: must be a skeleton of isthmus skeleton fit")
    blueprint = Blueprint(tuple(sources), parameters, families, role, roles)
    for step in blueprint.statements():
        if step.call.family >= len(families) or step.call.creates >= len(families):
            wrong = max(step.call.family, step.call.creates)
            raise ParseError(path, None, None, f"call {step.number} names communicators {wrong}, which are not there")
    return blueprint


def _read_family(lines: _Lines, words: str, number: int) -> Family:
    members: Rule = r.Same(constant(1))
    following = lines.peek()
    if following is not None and following[2].startswith("members: "):
        lines.at += 1
        members = _rule(lines, following[2].removeprefix("members: "), following[0])
    guessed = (words.endswith(" (guessed)") and not words.startswith(("blocks", "modulo"))) or words.endswith(
        ") (guessed)") or bool(re.fullmatch(r"blocks .*? \(guessed\)", words))  # fmt: skip
    try:
        if words.startswith("table "):
            return Family("table", members, colors=tuple(r.unruns(words.removeprefix("table "))))
        kind, _, rest = words.partition(" ")
        if kind in ("blocks", "modulo"):
            return Family(kind, members, parse(rest), guessed=guessed)
        if kind == "lines":
            name, axes = rest.split()
            if not isinstance(chart_of(name), Grid) or not axes.isdigit():
                raise ValueError(words)
        elif kind == "by":
            r.Feature(*rest.split(" ", 1))
        elif words not in ("all", "self"):
            raise ValueError(words)
    except (ValueError, TypeError):
        raise lines.error(
            f"{words!r}: must be all, self, lines GRID AXES, blocks N, modulo N, by FEATURE or table", number
        ) from None
    return Family(words, members)


def _read_body(lines: _Lines, depth: int) -> list[Step]:
    out: list[Step] = []
    while (line := lines.peek()) is not None and line[1] == depth:
        number, _, words = line
        lines.at += 1
        if found := re.fullmatch(r"loop (\d+) times: (.*)", words):
            times = _rule(lines, found[2], number)
            body = _read_body(lines, depth + 1)
            if not body:
                raise lines.error("the loop is empty", number)
            out.append(Repeat(times, body, int(found[1])))
        else:
            out.append(_read_call(lines, words, number, depth))
    return out


_CALL = re.compile(
    r'(?P<number>\d+) (?P<name>\w+)(?P<nonblocking> nonblocking)?(?P<listed> listed)?(?: at (?P<at>"(?:[^"\\]|\\.)*"))?'
    r'(?: in (?P<in>"(?:[^"\\]|\\.)*"))?(?: on (?P<on>\d+))?(?: creates (?P<creates>\d+))?(?: peer (?P<peer>\S+))?'
    r"(?: share (?P<share>\S+))?(?: for (?P<by>\w+) ?(?P<waits>.*))?"
)


def _read_call(lines: _Lines, words: str, number: int, depth: int) -> Statement:
    found = _CALL.fullmatch(words)
    if found is None or found["name"] not in _KINDS:
        raise lines.error(
            f"{words!r}: must be a loop, or NUMBER CALL [at PLACE] [in PHASE] [on COMMUNICATORS] [peer STEP]", number
        )
    kind, what = _KINDS[found["name"]]
    opens = bool(found["nonblocking"]) or kind in (EventKind.isend, EventKind.irecv)
    assert not opens or kind in OPENING
    call = Call(
        kind, what, json.loads(found["at"]) if found["at"] else "", json.loads(found["in"]) if found["in"] else "",
        int(found["on"] or 0), opens, bool(found["listed"]), int(found["creates"] or 0)
    )  # fmt: skip
    try:
        item = _item(found["peer"]) if found["peer"] else None
        waits = None
        if found["by"]:
            lists = [
                tuple(
                    (int(n), int(age or 0))
                    for n, _, age in (part.partition("-") for part in one.split(",") if part.strip())
                )
                for one in found["waits"].split("/")
            ]  # fmt: skip
            waits = found["by"], lists
    except ValueError:
        raise lines.error(f"{words!r}: the peer or what is waited for cannot be read", number) from None
    step = Statement(call, item, int(found["number"]), {}, waits, float(found["share"] or 0))
    while (line := lines.peek()) is not None and line[1] == depth + 1:
        name, colon, rest = line[2].partition(": ")
        if name not in _FIELDS or not colon:
            raise lines.error(f"{line[2]!r}: must be one of {', '.join(_FIELDS)}, a colon, and a rule")
        lines.at += 1
        step.rules[name] = _rule(lines, rest, line[0])
    step.rules.setdefault("when", r.Same(constant(1)))
    if kind == EventKind.comm_create:
        step.rules.setdefault("joins", r.Same(constant(1)))
    return step


def _item(words: str) -> Item:
    name, _, steps = words.partition("(")
    if not steps.endswith(")"):
        raise ValueError(words)
    chart = chart_of(name)
    symbol = tuple(map(int, steps[:-1].split(",")))
    if len(symbol) != (len(chart.order) if isinstance(chart, Grid) else 1):
        raise ValueError(words)
    return Item(chart, symbol)


def _rule(lines: _Lines, words: str, number: int) -> Rule:
    try:
        return rule(words)
    except (ValueError, IndexError, KeyError, TypeError, ZeroDivisionError):
        allowed = ", ".join(_READERS)
        message = f"{words[:80]!r}: is no rule: must be a formula such as 8 P^2 - 8, or one of {allowed}"
        raise lines.error(message, number) from None


def rule(words: str) -> Rule:
    """The rule of a text.

    Raises
    ------
    ValueError
        For a text that is none.
    """
    form, _, rest = words.strip().partition(" ")
    return _READERS[form](rest.strip()) if form in _READERS else r.Same(parse(words))


def _cases(rest: str) -> Rule:
    head, _, parts = rest.partition(": ")
    feature = r.Feature(*head.split(" ", 1))
    chart, _, axes = feature.argument.partition(" ")
    rules: dict[int, Rule] = {}
    for part in parts.split("; "):
        label, _, inner = part.partition(": ")
        rules[int(label)] = rule(inner)
    if feature.name in ("edge", "far", "sum", "odd"):
        if not isinstance(chart_of(feature.argument), Grid):
            raise ValueError(rest)
    elif feature.name in r.ITERATED:
        grid = chart_of(chart)
        if not isinstance(grid, Grid) or not axes.isdigit() or max(map(int, axes)) >= len(grid.order):
            raise ValueError(rest)
    elif feature.name in ("out", "two"):
        _item(feature.argument)
    elif feature.name in ("is", "mod", "place"):
        int(feature.argument)
    elif feature.name not in ("first", "last", "ends", "bits"):
        raise ValueError(rest)
    return r.Cases(feature, rules)


def _affine(rest: str) -> Rule:
    base, *parts = rest.split(", ")
    values = dict.fromkeys(("rank", "visit", "inner"), constant(0))
    modulus = None
    for part in parts:
        name, _, inner = part.partition(" (" if part.startswith("modulo") else " * (")
        if not inner.endswith(")"):
            raise ValueError(rest)
        if name == "modulo":
            modulus = parse(inner[:-1])
        else:
            values[name] = values[name] and parse(inner[:-1])
    return r.Affine(parse(base), values["rank"], values["visit"], values["inner"], modulus)


def _listed(rest: str) -> Rule:
    by, _, values = rest.partition(" ")
    if by not in ("visit", "inner"):
        raise ValueError(rest)
    return r.Listed(tuple(r.unruns(values)), by)


def _doubling(rest: str, halves: bool = False) -> Rule:
    by, _, base = rest.partition(" ")
    if by not in ("visit", "inner"):
        raise ValueError(rest)
    return r.Doubling(parse(base), by, halves)


def _block(rest: str) -> Rule:
    found = re.fullmatch(
        r"(floor|first|ceil) (\d+) of (\S+) (.*?)(?: turn ([+-]\d+) start ([+-]\d+) every \((.*)\))?", rest
    )
    if found is None:
        raise ValueError(rest)
    grid = chart_of(found[3])
    if not isinstance(grid, Grid):
        raise ValueError(rest)
    axes, totals = zip(*(part.split(": ") for part in found[4].split(", ")), strict=True)
    period = None if found[7] in (None, "0") else parse(found[7])
    return r.Block(int(found[2]), grid, tuple(map(int, axes)), tuple(map(parse, totals)), found[1],
                   int(found[5] or 0), int(found[6] or 0), period)  # fmt: skip


def _step(rest: str) -> Rule:
    chart, _, inner = rest.partition(" ")
    if chart not in ("rank", "ring", "xor"):
        raise ValueError(rest)
    return r.Step(chart, rule(inner))


def _spread(rest: str) -> Rule:
    kind, _, more = rest.partition(" ")
    mean, _, deciles = more.partition(" times ")
    if kind not in ("whole", "real"):
        raise ValueError(rest)
    return r.Spread(parse(mean), tuple(map(float, deciles.split())), kind == "whole")


def _table(rest: str) -> Rule:
    rows, _, values = rest.partition("=")
    return r.Table(np.array(r.unruns(rows), np.int64), tuple(tuple(r.unruns(row)) for row in values.split("|")))


_READERS: dict[str, Callable[[str], Rule]] = {
    "by": _cases,
    "affine": _affine,
    "list": _listed,
    "doubling": _doubling,
    "halving": lambda rest: _doubling(rest, True),
    "block": _block,
    "windows": windows.read,
    "peer": lambda rest: r.Peer(_item(rest)),
    "step": _step,
    "turn": lambda rest: r.Turn(),
    "even": lambda rest: r.Even(parse(rest)),
    "spread": _spread,
    "table": _table,
}

__all__ = ["HEAD", "parse_text", "read", "rule", "text"]
