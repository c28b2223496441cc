"""Terms of laws: a power of the parameter times a power of its logarithm to base 2."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log2

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Term:
    """``P^power log2(P)^logs``; the constant is the term with both 0."""

    power: Fraction
    logs: int = 0

    def __call__(self, size: float) -> float:
        return float(float(size) ** float(self.power) * log2(size) ** self.logs)

    def at(self, sizes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the term at many sizes."""
        out: NDArray[np.float64] = sizes ** float(self.power) * np.log2(sizes) ** self.logs
        return out

    @property
    def order(self) -> tuple[Fraction, int]:
        """Terms with a larger order grow faster."""
        return self.power, self.logs

    def text(self, parameter: str = "P") -> str:
        """Write the term, such as ``P^(2/3) log2(P)``; nothing for the constant."""
        words = []
        if self.power:
            bare = self.power.denominator == 1 and self.power > 0
            words.append(parameter if self.power == 1 else f"{parameter}^{self.power if bare else f'({self.power})'}")
        if self.logs:
            words.append(f"log2({parameter})" + ("" if self.logs == 1 else f"^{self.logs}"))
        return " ".join(words)


CONSTANT = Term(Fraction(0))

#: Powers, and the powers of the logarithm that go with each.
_PAIRS = {
    (1, 2): ("0",),
    (0, 1, 2): ("1/4", "1/3", "1/2", "2/3", "3/4", "1", "3/2", "2", "5/2"),
    (0, 1): ("5/4", "4/3", "3"),
    (0,): ("4/5", "5/3", "7/4", "9/4", "7/3", "8/3", "11/4"),
}

#: The terms that grow: those of Extra-P's performance-model normal form.
GROWING = tuple(
    sorted(
        (Term(Fraction(i), j) for logs, powers in _PAIRS.items() for i in powers for j in logs),
        key=lambda term: term.order,
    )
)
#: Their mirror images, which fall.
FALLING = tuple(Term(-term.power, term.logs) for term in GROWING if term.power)

SETS = {"growing": GROWING, "falling": FALLING, "both": (*FALLING, *GROWING)}


def terms_of(exponents: str) -> tuple[Term, ...]:
    """Return a set of terms by name.

    Raises
    ------
    InvalidInput
        If there is none of this name.
    """
    if exponents not in SETS:
        raise InvalidInput(f"exponents {exponents!r}: must be one of {', '.join(SETS)}")
    return SETS[exponents]
