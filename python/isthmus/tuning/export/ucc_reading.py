"""Files of UCC, in the form that Isthmus writes, read back."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...errors import ParseError
from .ucc import TUNE

_TOKEN = re.compile(r"(\w+):(\d+)-(\d+|inf):host:(?:\[(\d+)-(\d+|inf)\]:)?inf:@(\w+)")


@dataclass(frozen=True)
class Rule:
    """A rule that holds for a team, in UCC's own sizes; ``last`` is None where it has no end."""

    collective: str
    first: int
    last: int | None
    algorithm: str


def holding(text: str, file: str, ranks: int) -> tuple[list[Rule], dict[str, str]]:
    """Rules and variables of a file, in the form that Isthmus writes, that hold for a number of ranks.

    Raises
    ------
    ParseError
        For anything else.
    """
    rules: list[Rule] = []
    variables: dict[str, str] = {}
    inside = True
    for number, line in enumerate(text.splitlines(), 1):
        sizes = re.search(r"team_size=(\d+)(?:-(\d+))?", line) if line.startswith("[") else None
        if line.startswith("["):
            inside = sizes is None or int(sizes[1]) <= ranks <= int(sizes[2] or sizes[1])
            continue
        name, equals, value = line.partition("=")
        if line and not (equals and name.startswith("UCC_")):
            raise ParseError(file, number, name, "expected a variable of UCC or a section")
        if not line or not inside:
            continue
        if name != TUNE:
            variables[name] = value
            continue
        for token in value.split("#"):
            found = _TOKEN.fullmatch(token)
            if found is None:
                raise ParseError(file, number, TUNE, f"{token!r} is not a rule that Isthmus writes")
            least, most = int(found[4] or 0), float(found[5] or "inf")
            if least <= ranks <= most:
                last = None if found[3] == "inf" else int(found[3])
                rules.append(Rule(found[1], int(found[2]), last, found[6]))
    return rules, variables


def at(value: str, size: int) -> str:
    """A variable's value at a size: that of the first range that holds it, at both ends."""
    for part in value.split(","):
        *sizes, found = part.split(":")
        low, _, high = (sizes[0] if sizes else "0-inf").partition("-")
        if int(low) <= size <= float(high):
            return found
    return "auto"
