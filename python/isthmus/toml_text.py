"""TOML with the lines on which keys stand, for messages."""

from __future__ import annotations

import os
import re
import tomllib
from typing import Any

from .errors import ParseError

_HEADER = re.compile(r"\s*(\[{1,2})\s*([^\[\]]+?)\s*\]{1,2}\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*([A-Za-z0-9_+-]+|"[^"]*"|'[^']*')\s*(?:\.\s*([A-Za-z0-9_+-]+))?\s*=""")


class Lines:
    """Finds the lines of keys: tomllib gives only lines of syntax errors.

    The second of several ``[[table]]`` is also known as ``table.1``.
    """

    def __init__(self, text: str) -> None:
        self.of: dict[str, int] = {}
        tables = [""]
        count: dict[str, int] = {}
        for number, line in enumerate(text.splitlines(), 1):
            header = _HEADER.match(line)
            if header:
                table = ".".join(part.strip().strip("\"'") for part in header[2].split("."))
                tables = [table]
                if header[1] == "[[":
                    tables.append(f"{table}.{count.setdefault(table, 0)}")
                    count[table] += 1
                for table in tables:
                    self._add(table, number)
                continue
            key = _KEY.match(line)
            if key:
                for table in tables:
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


def parse(text: str, file: str) -> dict[str, Any]:
    """The tables of a text; raises ParseError with file and line."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", str(error), re.DOTALL)
        line = int(match[2]) if match and match[2] else len(text.splitlines())
        raise ParseError(file, line, None, f"not TOML: {match[1] if match else error}") from None
    except RecursionError:
        raise ParseError(file, None, None, "not TOML: nested too deeply") from None
    except ValueError:
        # Python reads no longer integers, and tomllib passes its refusal on.
        raise ParseError(file, None, None, "not TOML: an integer of more than 4300 digits") from None


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file in UTF-8; raises ParseError, or OSError where it cannot be read."""
    file = os.fspath(path)
    with open(file, "rb") as stream:
        data = stream.read()
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ParseError(file, line, None, "not text: must be TOML in UTF-8") from None
