"""Counts of a hierarchy as the C programs write them: a text with a line per operator and rank."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from ..errors import ParseError
from ..schedule.pattern import Pattern
from .hierarchy import GridLevel, Hierarchy
from .operators import ELEMENT, Operator

_FIRST = "isthmus hierarchy 1"


def read_counts(path: str | os.PathLike[str]) -> Hierarchy:
    """Read what ``solvers/write.c`` writes, where the format is described.

    Raises
    ------
    ParseError
        With the line that is wrong, for a file that is damaged, cut off or of another version.
    OSError
        For a file that cannot be opened.
    """
    return _Reader(os.fspath(path)).hierarchy()


class _Reader:
    """The lines of a file."""

    def __init__(self, path: str) -> None:
        self.path = path
        with open(path, encoding="utf-8", errors="replace") as stream:
            self.lines = stream.read().splitlines()
        self.at = 0

    def fail(self, what: str) -> ParseError:
        return ParseError(self.path, self.at, None, what)

    def next(self) -> list[str]:
        if self.at >= len(self.lines):
            raise self.fail("the file ends here: expected more lines up to 'end'")
        self.at += 1
        return self.lines[self.at - 1].split()

    def number(self, word: str) -> int:
        try:
            found = int(word)
        except ValueError:
            raise self.fail(f"{word!r}: expected a whole number") from None
        if not 0 <= found < 1 << 62:
            raise self.fail(f"{word}: must be a whole number from 0")
        return found

    def hierarchy(self) -> Hierarchy:
        if " ".join(self.next()) != _FIRST:
            raise self.fail(f"expected {_FIRST!r}")
        facts: dict[str, float | str] = {}
        ranks = 0
        operators: dict[tuple[int, str], Operator] = {}
        while (words := self.next()) != ["end"]:
            if words[:1] == ["solver"]:
                facts["solver"] = " ".join(words[1:])
            elif words[:1] == ["fact"] and len(words) == 3:
                facts[words[1]] = float(words[2])
            elif words[:1] == ["ranks"] and len(words) == 2:
                ranks = self.number(words[1])
            elif words[:1] == ["operator"] and len(words) == 5 and ranks:
                key = self.number(words[1]), words[2]
                if words[2] not in "APR" or key in operators:
                    raise self.fail(f"operator {words[2]} of level {words[1]}: expected A, P or R, once a level")
                operators[key] = self.operator(ranks, self.number(words[3]))
            else:
                raise self.fail(f"{' '.join(words)[:40]!r}: expected fact, operator or end")
        count = sum(name == "A" for _, name in operators)
        levels = []
        for number in range(count):
            a, p = operators.get((number, "A")), operators.get((number, "P"))
            if a is None or (p is None) != (number == count - 1):
                raise self.fail(f"level {number} of {count}: expected A on every level, and P on all but the last")
            levels.append(GridLevel(a, p, operators.get((number, "R"))))
        if not levels:
            raise self.fail("expected at least one level")
        return Hierarchy(tuple(levels), facts)

    def operator(self, ranks: int, rows: int) -> Operator:
        held, nonzeros = np.zeros(ranks, np.uint64), np.zeros(ranks, np.uint64)
        source: list[NDArray[np.int64]] = []
        partners: list[NDArray[np.int64]] = []
        for rank in range(ranks):
            words = self.next()
            if len(words) < 3 or words[0] != str(rank):
                raise self.fail(f"expected rank {rank}, its rows and nonzeros")
            held[rank], nonzeros[rank] = self.number(words[1]), self.number(words[2])
            try:
                pairs = np.array([word.split(":") for word in words[3:]], np.int64).reshape(-1, 2)
            except ValueError:
                raise self.fail("expected PARTNER:ELEMENTS behind rows and nonzeros") from None
            if (pairs < 0).any() or (pairs[:, 0] >= ranks).any() or (pairs[:, 0] == rank).any():
                raise self.fail(f"a partner of rank {rank}: must be another of {ranks} ranks")
            source.append(np.full(len(pairs), rank))
            partners.append(pairs)
        if int(held.sum()) != rows:
            raise self.fail(f"ranks hold {int(held.sum())} rows: expected {rows}")
        every = np.concatenate(partners)
        exchange = Pattern.of(
            ranks, source=np.concatenate(source), target=every[:, 0], bytes=every[:, 1].astype(np.uint64) * ELEMENT
        )
        return Operator(held, nonzeros, exchange)
