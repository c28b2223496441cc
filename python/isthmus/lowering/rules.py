"""Rules of ``lower``: which algorithm a collective takes up to which number of ranks and bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ..collectives import Choice, named
from ..collectives.flavours import split
from ..errors import InvalidInput
from ..schedule.program import Program

#: Limits up to which an algorithm is taken, None for any number: of bytes, or of ranks and bytes.
Rule = tuple[int | None, Choice] | tuple[int | None, int | None, Choice]
#: An algorithm for all sizes, or a list of rules.
Rules = Choice | Sequence[Rule]


class Decided(Protocol):
    """A source of choices for every number of ranks: a :class:`isthmus.DecisionTable` or a library's choices."""

    def for_program(self, program: Program) -> Mapping[str, Rules]:
        """Return rules for the numbers of ranks on which the program calls collectives."""
        ...


#: What ``collectives=`` of verbs takes.
Collectives = Mapping[str, Rules] | Decided


def triples(kind: str, choice: Rules) -> list[tuple[int | None, int | None, Choice]]:
    """A choice for a collective as rules: most ranks, most bytes and algorithm; None: any number."""
    allowed = "must be an algorithm, or pairs of most bytes and algorithm"
    if isinstance(choice, str) or (isinstance(choice, tuple) and len(choice) == 2 and isinstance(choice[0], str)):
        choice = [(None, choice)]
    if not isinstance(choice, Sequence):
        raise InvalidInput(f"rule {choice!r} of {kind}: {allowed}")
    out: list[tuple[int | None, int | None, Choice]] = []
    rules: Sequence[Any] = choice
    for rule in rules:
        shaped = isinstance(rule, (tuple, list)) and len(rule) in (2, 3) and isinstance(rule[-1], (str, tuple, list))
        algorithm: Any = (rule[-1] if isinstance(rule[-1], str) else tuple(rule[-1])) if shaped else ""
        if not named(split(algorithm)[0])[0]:
            raise InvalidInput(f"rule {rule!r} of {kind}: {allowed}")
        limits = [_limit(kind, rule, value) for value in rule[:-1]]
        ranks, most = limits if len(limits) == 2 else (None, limits[0])
        out.append((ranks, most, algorithm))
    return out


def _limit(kind: str, rule: Any, value: Any) -> int | None:
    if value is None:
        return None
    if not isinstance(value, (int, np.integer)) or not 0 <= value < 2**63:
        raise InvalidInput(
            f"rule {rule!r} of {kind}: its most bytes must be a whole number below 2^63, or None for any"
        )
    return int(value)
