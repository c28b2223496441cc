"""A decision: the size from which a collective uses an algorithm."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..errors import InvalidInput
from ..schedule.event import COLLECTIVES
from .choice import Choice

#: Collectives that decisions are made for. Their sizes are those of :func:`isthmus.collective`: of the vector (bcast,
#: reduce, allreduce, scan, exscan), or of one rank's block (the others).
KINDS = COLLECTIVES
#: Collectives that "all" stands for: those that need no counts.
ALL = tuple(kind for kind in KINDS if kind != "neighbor_alltoall")


@dataclass(frozen=True)
class Rule:
    """An algorithm for sizes from this number of bytes up to the next rule."""

    bytes: int
    choice: Choice


def merged(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Merge neighbours with the same algorithm; of rules that begin at the same size, keep the last."""
    out: list[Rule] = []
    for rule in rules:
        if out and out[-1].bytes == rule.bytes:
            out.pop()
        if not out or out[-1].choice != rule.choice:
            out.append(rule)
    return tuple(out)


def kinds_of(collective: str | Iterable[str]) -> list[str]:
    """The collectives to tune that a user names, each once; "all" stands for all of them."""
    given = [collective] if isinstance(collective, str) else list(collective)
    kinds = [kind for name in given for kind in (ALL if name == "all" else (name,))]
    wrong = [kind for kind in kinds if kind not in ALL]
    if wrong or not kinds:
        raise InvalidInput(
            f"collective to tune {', '.join(map(repr, wrong)) or 'none'}: must be one of all, {', '.join(ALL)}"
        )
    return list(dict.fromkeys(kinds))
