"""Published crossovers that studies of sizes compare with."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..errors import InvalidInput


@dataclass(frozen=True)
class Claim:
    """A published crossover: a name and the range of ranks in which it lies, or none, or nothing to predict from.

    Attributes
    ----------
    name : str
    range : (float, float) or None
        None: no crossover.
    open : bool
        What is published does not suffice for a prediction; results only show how they depend on assumptions.
    ratios : tuple of (int, float)
        Published times of the second machine over those of the first, by number of ranks.
    """

    name: str
    range: tuple[float, float] | None
    open: bool = False
    ratios: tuple[tuple[int, float], ...] = ()


def claim(text: str) -> Claim:
    """Read ``NAME none`` or ``NAME LEAST..MOST``, with ``?`` behind it where nothing can be predicted.

    Ratios of times may follow, as ``4096:1.15``.

    Raises
    ------
    InvalidInput
        For anything else.
    """
    found = re.fullmatch(r"([\w-]+) (?:none|([0-9]+)\.\.([0-9]+))( \?)?((?: [0-9]+:[0-9]+(?:\.[0-9]+)?)*)", text)
    if found is None or (found[2] and not 0 < int(found[2]) <= int(found[3])):
        raise InvalidInput(f"claim {text!r}: must be NAME none or NAME LEAST..MOST, ' ?' behind it if it is open")
    ratios = [pair.split(":") for pair in found[5].split()]
    ends = (float(found[2]), float(found[3])) if found[2] else None
    return Claim(found[1], ends, bool(found[4]), tuple((int(ranks), float(ratio)) for ranks, ratio in ratios))
