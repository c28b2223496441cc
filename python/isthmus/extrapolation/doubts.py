"""What is exact in all recordings and yet not proved at another number of ranks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from ..units import percent
from .charts import dims

if TYPE_CHECKING:
    from .blueprint import Blueprint

#: Names of sides and of grids in the text of a rule, with the number of sides.
_SIDES = re.compile(r"\b(?:[xyzw]|grid|torus)([234])")
#: Stands for all statements where doubts go by statement, which are numbered from 0.
ALL = -1


def kind(ranks: int, count: int) -> tuple[object, ...]:
    """What boxes have in common at which the same rules are likely: equal sides, and sides of 1 and of 2.

    Examples
    --------
    >>> kind(64, 3) == kind(125, 3), kind(64, 3) == kind(100, 3)
    (True, False)
    """
    sides = dims(ranks, count)
    return tuple(a == b for a, b in pairwise(sides)), sum(s == 1 for s in sides), 2 in sides


def boxes(blueprint: Blueprint) -> dict[int, set[int]]:
    """For each statement the numbers of sides of the boxes that its rules name."""
    out: dict[int, set[int]] = {}

    def named(number: int, texts: Iterable[str]) -> None:
        out.setdefault(number, set()).update(int(c) for text in texts for c in _SIDES.findall(text))

    named(ALL, [str(blueprint.role), *(f"{f.kind} {f.size} {f.members}" for f in blueprint.families if f is not None)])
    for step in blueprint.statements():
        named(
            step.number, [str(step.item or ""), *(str(rule) for name, rule in step.rules.items() if name != "before")]
        )
    return out


def _grown(blueprint: Blueprint, bits: int) -> set[str]:
    """Charts along which calls step, one for each bit of a rank, up to the last one of the largest recording."""
    last = {"bit": bits, "xor": 1 << (bits - 1)}
    return {
        step.item.chart.name
        for step in blueprint.statements()
        if step.item is not None and last.get(step.item.chart.name) == step.item.symbol[0]
    }


def sentence(blueprint: Blueprint, ranks: int, found: Mapping[int, set[str]]) -> str:
    """Why bytes that are exact in the recordings may differ at so many ranks; empty if nothing says so.

    Parameters
    ----------
    blueprint : Blueprint
    ranks : int
    found : mapping of int to set of str
        What rules said of themselves while the program was made, by statement, see :class:`.where.Where`.
    """
    labels = blueprint.labels()
    exact = {step.number: step.share for step in blueprint.statements() if labels[step.number] == "exact"}

    def share(numbers: Iterable[int]) -> float:
        chosen = set(numbers)
        return sum(exact.values()) if ALL in chosen else sum(exact.get(number, 0.0) for number in chosen)

    reasons: list[tuple[float, str]] = []
    used = boxes(blueprint)
    for count in sorted({c for counts in used.values() for c in counts}):
        if kind(ranks, count) not in {kind(size, count) for size in blueprint.sizes}:
            here = " x ".join(map(str, dims(ranks, count)))
            there = ", ".join(" x ".join(map(str, dims(size, count))) for size in blueprint.sizes)
            part = share(number for number, counts in used.items() if count in counts)
            reasons.append(
                (part, f"depend on a box of {here} ranks, and those recorded were of another kind ({there})")
            )
    known, wanted = ((size - 1).bit_length() for size in (blueprint.sizes[-1], ranks))
    grown = _grown(blueprint, known) if wanted > known else set()
    if grown:
        part = share(
            step.number for step in blueprint.statements() if step.item is not None and step.item.chart.name in grown
        )
        reasons.append((part, f"go along bits of the rank, of which {ranks:,} ranks have {wanted}, and those recorded "
                              f"{known} at most: steps along the others are not known"))  # fmt: skip
    for word, why in (
        ("divide", "come from a formula that gives a fraction here, as extents do not divide: it was rounded"),
        ("ranks", "are of ranks unlike all that were recorded"),
    ):
        numbers = [number for number, words in found.items() if word in words]
        if numbers:
            reasons.append((share(numbers), why))
    return "; ".join(f"{percent(part)} of the bytes {why}" for part, why in reasons if part > 0)
