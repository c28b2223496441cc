"""Reading Open MPI's rules files, as the library reads them."""

from __future__ import annotations

import json
import re

from ...errors import ParseError
from ..libraries import openmpi as library
from .openmpi import Line, Rules

_NAMES = {number: name for names in library.NUMBERS.values() for name, number in names.items()}
_LATEST = (99, 0, 0)


def read_rules(text: str, file: str) -> tuple[Rules, int]:
    """The rules of a file and its version: 1, 2, or 3 for JSON.

    Raises
    ------
    ParseError
        If it is no rules file; the library would ignore it without a word.
    """
    if text.lstrip().startswith("{"):
        return _json(text, file), 3
    return _classic(text, file)


class _Numbers:
    """Whole numbers one after another; a comment ends its line."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.words = [
            (number, word)
            for number, line in enumerate(text.splitlines(), 1)
            for word in line.partition("#")[0].split()
        ]
        self.at = 0

    def next(self, what: str) -> int:
        if self.at == len(self.words):
            raise ParseError(self.file, None, None, f"the file ends where {what} is expected")
        line, word = self.words[self.at]
        if not re.fullmatch(r"\d{1,18}", word):
            raise ParseError(self.file, line, None, f"{word!r} instead of {what}: must be a whole number from 0")
        self.at += 1
        return int(word)

    @property
    def line(self) -> int:
        return self.words[self.at - 1][0]


def _classic(text: str, file: str) -> tuple[Rules, int]:
    version = 1
    match = re.match(r"rule-file-version-(\d+)", text)
    if match:
        version = int(match[1])
        text = text[match.end() :]
    numbers = _Numbers(text, file)
    rules: Rules = {}
    for _ in range(numbers.next("the number of collectives")):
        number = numbers.next("a collective")
        if number not in _NAMES:
            raise ParseError(file, numbers.line, None, f"collective {number}: must be one of {sorted(_NAMES)}")
        name = _NAMES[number]
        names = {algorithm.number: algorithm.name for algorithm in library.algorithms(name, _LATEST)}
        rows: dict[int, list[Line]] = {}
        for _ in range(numbers.next("the number of communicator sizes")):
            ranks = numbers.next("a communicator size")
            if rows and ranks <= max(rows):
                raise ParseError(
                    file, numbers.line, name, f"{ranks} ranks after {max(rows)}: numbers of ranks must ascend"
                )
            lines: list[Line] = []
            for _ in range(numbers.next("the number of message sizes")):
                size = numbers.next("a message size")
                if size <= lines[-1].size if lines else size != 0:
                    raise ParseError(
                        file, numbers.line, name, f"message size {size}: the first must be 0, and sizes must ascend"
                    )
                algorithm, fan, segment = (numbers.next(what) for what in ("an algorithm", "a fan-out", "a segment"))
                requests = numbers.next("a number of requests") if version > 1 else 0
                lines.append(Line(size, algorithm, names.get(algorithm, str(algorithm)), fan, segment, requests))
            rows[ranks] = lines
        rules[name] = rows
    return rules, version


def _json(text: str, file: str) -> Rules:
    try:
        data = json.loads(text)
        rules: Rules = {}
        for name, rows in data["collectives"].items():
            numbers = {a.name: a.number for a in library.algorithms(name, _LATEST)}
            rules[name] = {}
            for row in rows:
                lines = [
                    Line(
                        int(rule.get("msg_size_min", 0)),
                        numbers.get(rule["alg"], 0),
                        str(rule["alg"]),
                        *(int(rule.get(key, 0)) for key in (library.FAN, library.SEGMENT, library.REQUESTS)),
                    )
                    for rule in row["rules"]
                ]
                rules[name][int(row.get("comm_size_min", 0))] = lines
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ParseError(file, None, None, f"not rules of Open MPI in JSON: {error}") from None
    return rules
