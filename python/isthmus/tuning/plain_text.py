"""Decision tables as plain text, for what reads them at run time: lines of words, without quotes or nesting.

The first line is ``isthmus decisions 1``, the version of the form; ``2`` where rows are of modes of synchronisation,
which a reader of version 1 would take for others. Every other line is one of these, its words separated by single
blanks; ``-`` stands for what is not known::

    about KEY TEXT                 provenance
    for KIND RANKS tuned|from      the rows that follow hold from so many ranks on,
    for KIND RANKS tuned|from SYNC for calls that name this mode of synchronisation: none, all-my, ...
    point BYTES ALGORITHM SECONDS RUNNER_UP SECONDS BOUND LOW HIGH
    rule BYTES ALGORITHM           from so many bytes on this algorithm

A program that wants decisions reads lines ``for`` and ``rule`` and skips the others. Lines ``point`` hold the rest, so
that TOML comes back as it was; rules follow from them, and a file in which they do not is refused. In words a blank is
``\\s``, a backslash ``\\\\``, and a control character ``\\xHH``. Lines end in ``\\n``, seconds are decimal numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..errors import InvalidInput, ParseError
from ..units import shown
from .choice import Choice
from .rule import KINDS
from .table import MODES, DecisionTable, Point, Provenance, Row

#: How files of this form begin; the version follows.
HEAD = "isthmus decisions "
VERSION, WITH_MODES = 1, 2
_KEYS = tuple(Provenance.__dataclass_fields__)
_ESCAPED = re.compile(r"[\\\s\x00-\x1f\x7f-\x9f\u2028\u2029]")
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?(e[+-]?[0-9]{1,3})?")


def format_plain(table: DecisionTable) -> str:
    """The text of a table; :func:`parse_plain` reads the same table back."""
    lines = [f"{HEAD}{WITH_MODES if table.modes else VERSION}"]
    lines += [f"about {key} {_escape(text)}" for key, text in vars(table.provenance).items() if text]
    for kind in KINDS:
        for mode, rows in [("", table.rows.get(kind, ())), *table.modes.get(kind, {}).items()]:
            for row in rows:
                lines.append(f"for {kind} {row.ranks} {'tuned' if row.tuned else 'from'} {mode}".rstrip())
                lines += [_point(p) for p in row.points]
                lines += [f"rule {rule.bytes} {_escape(str(rule.choice))}" for rule in row.rules]
    return "\n".join(lines) + "\n"


def _point(p: Point) -> str:
    low, high = (None, None) if p.interval is None else p.interval
    runner_up = "-" if p.runner_up is None else _escape(str(p.runner_up))
    words = [str(p.bytes), _escape(str(p.choice)), _time(p.seconds), runner_up, _time(p.runner_up_seconds)]
    return " ".join(["point", *words, _time(p.bound), _time(low), _time(high)])


def _time(seconds: float | None) -> str:
    return "-" if seconds is None else repr(float(seconds))


def _escape(text: str) -> str:
    def escaped(found: re.Match[str]) -> str:
        character = found[0]
        short = {" ": "\\s", "\\": "\\\\"}.get(character)
        return short or (f"\\x{ord(character):02x}" if ord(character) < 256 else f"\\u{ord(character):04x}")

    return _ESCAPED.sub(escaped, text)


def _unescape(text: str) -> str:
    def plain(found: re.Match[str]) -> str:
        code = found[1]
        return {"s": " ", "\\": "\\"}.get(code) or chr(int(code[1:], 16))

    if re.search(r"\\(?!s|\\|x[0-9a-f]{2}|u[0-9a-f]{4})", re.sub(r"\\\\", "", text)):
        raise InvalidInput(f"{shown(text)}: a backslash must be followed by s, a backslash, xHH or uHHHH")
    return re.sub(r"\\(s|\\|x[0-9a-f]{2}|u[0-9a-f]{4})", plain, text)


def parse_plain(text: str, file: str) -> DecisionTable:
    """Read the form above.

    Raises
    ------
    ParseError
        With file and line, for any line that is not of the form, and rules that do not follow from the points.
    """
    lines = enumerate(text.split("\n"), 1)
    number, first = next(lines)
    if first not in (f"{HEAD}{VERSION}", f"{HEAD}{WITH_MODES}"):
        known = f"this Isthmus reads '{HEAD}{VERSION}' and '{HEAD}{WITH_MODES}'"
        raise ParseError(file, 1, None, f"is {shown(first)}: {known}")
    about: dict[str, str] = {}
    rows: dict[str, list[Row]] = {}
    modes: dict[str, dict[str, list[Row]]] = {}
    try:
        blocks = _Blocks(lines)
        for number, words in blocks.heads():
            if words[0] == "about":
                _about(about, words)
                continue
            kind, ranks, tuned, mode = _head(words, first.endswith(str(WITH_MODES)))
            points, rules = blocks.body()
            row = Row(ranks, tuple(points), tuned)
            if [(rule.bytes, rule.choice) for rule in row.rules] != rules:
                raise InvalidInput("the rules of this row do not follow from its points: write the table anew")
            (modes.setdefault(kind, {}).setdefault(mode, []) if mode else rows.setdefault(kind, [])).append(row)
            blocks.number = number
        return DecisionTable(rows, Provenance(**about), modes)
    except InvalidInput as error:
        raise ParseError(file, blocks.number or number, None, str(error)) from None


class _Blocks:
    """The lines behind the first; ``number`` is that of the line that is looked at."""

    def __init__(self, lines: Iterator[tuple[int, str]]) -> None:
        self._lines = [(number, line) for number, line in lines if line]
        self._at = 0
        self.number = 0

    def heads(self) -> Iterator[tuple[int, list[str]]]:
        while self._at < len(self._lines):
            self.number, line = self._lines[self._at]
            self._at += 1
            yield self.number, line.split(" ")

    def body(self) -> tuple[list[Point], list[tuple[int, Choice]]]:
        """Points and rules up to the next head."""
        points: list[Point] = []
        rules: list[tuple[int, Choice]] = []
        head = self.number
        while self._at < len(self._lines) and self._lines[self._at][1].split(" ")[0] in ("point", "rule"):
            self.number, line = self._lines[self._at]
            self._at += 1
            words = line.split(" ")
            if words[0] == "rule":
                _count(words, 3)
                rules.append((_whole(words[1]), _choice(words[2])))
            elif rules:
                raise InvalidInput("a point follows a rule: points must come first")
            else:
                points.append(_read_point(words))
        self.number = head
        return points, rules


def _about(about: dict[str, str], words: Sequence[str]) -> None:
    _count(words, 3)
    if words[1] not in _KEYS:
        raise InvalidInput(f"about {shown(words[1])}: must be one of {', '.join(_KEYS)}")
    if words[1] in about:
        raise InvalidInput(f"about {words[1]} is given twice")
    about[words[1]] = _unescape(words[2])
    Provenance(**about)  # finds a source that there is not, while the line is known


def _head(words: Sequence[str], has_modes: bool) -> tuple[str, int, bool, str]:
    if words[0] != "for":
        raise InvalidInput(f"{shown(words[0])}: must be about, for, point or rule")
    mode = words[4] if has_modes and len(words) == 5 else ""
    if mode and mode not in MODES:
        raise InvalidInput(f"mode {shown(mode)}: must be one of {', '.join(MODES)}")
    _count(words[:4] if mode else words, 4)
    if words[1] not in KINDS:
        raise InvalidInput(f"collective {shown(words[1])}: must be one of {', '.join(KINDS)}")
    if words[3] not in ("tuned", "from"):
        raise InvalidInput(f"{shown(words[3])}: must be tuned or from")
    return words[1], _whole(words[2]), words[3] == "tuned", mode


def _read_point(words: Sequence[str]) -> Point:
    _count(words, 9)
    seconds, behind, bound, low, high = (_seconds(words[i]) for i in (3, 5, 6, 7, 8))
    if (low is None) != (high is None):
        raise InvalidInput("one end of an interval: expected two or none")
    interval = None if low is None or high is None else (low, high)
    runner_up = None if words[4] == "-" else _choice(words[4])
    return Point(_whole(words[1]), _choice(words[2]), seconds, runner_up, behind, bound, interval)


def _count(words: Sequence[str], needed: int) -> None:
    if len(words) != needed or not all(words):
        raise InvalidInput(f"{len(words)} words: a line {words[0]} must have {needed}, with single blanks")


def _choice(word: str) -> Choice:
    return Choice.of(_unescape(word))


def _whole(word: str) -> int:
    if not re.fullmatch("[0-9]{1,19}", word) or int(word) >= 2**63:
        raise InvalidInput(f"{shown(word)}: expected a whole number from 0")
    return int(word)


def _seconds(word: str) -> float | None:
    if word == "-":
        return None
    if not _NUMBER.fullmatch(word) or float(word) == float("inf"):
        raise InvalidInput(f"{shown(word)}: expected seconds from 0, or -")
    return float(word)
