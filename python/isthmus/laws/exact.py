"""Laws with rational coefficients that whole numbers follow without error.

On sizes that are squares or cubes, powers 1/2 or 1/3 are whole numbers, and on powers of two the logarithm is: there,
sums of such terms are solved for in rational numbers. A law is accepted if, for each size left out, the others
determine it and it gives the value left out exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np

from .terms import Term

#: Terms of an exact law, at most.
_MOST = 4
#: Sums that are tried, at most, with equally many terms.
_TRIED = 2000
#: The largest power.
_POWER = 3


def root(size: int, degree: int) -> int | None:
    """Return the whole root of a number, or None."""
    near = round(size ** (1 / degree))
    return near if near**degree == size else None


def value(term: Term, size: int) -> Fraction | None:
    """Return a term at a size if it is rational there."""
    base = root(size, term.power.denominator)
    if base is None or (term.logs and size.bit_count() != 1):
        return None
    return Fraction(Fraction(base) ** term.power.numerator * (size.bit_length() - 1) ** term.logs)


def _basis(sizes: Sequence[int]) -> list[Term]:
    """Terms that are rational at all sizes, slow ones first."""
    powers = {
        Fraction(i, degree)
        for degree in (1, 2, 3)
        if all(root(size, degree) for size in sizes)
        for i in range(_POWER * degree + 1)
    }
    logs = (0, 1, 2) if all(size.bit_count() == 1 for size in sizes) else (0,)
    return sorted((Term(power, j) for power in powers for j in logs), key=lambda t: (t.logs, t.power))


def _solve(rows: Sequence[Sequence[Fraction]], values: Sequence[int]) -> list[Fraction] | None:
    """Coefficients that give all values, if there are some and no others."""
    count = len(rows[0])
    table = [[*row, Fraction(value)] for row, value in zip(rows, values, strict=True)]
    for column in range(count):
        pivot = next((i for i in range(column, len(table)) if table[i][column]), None)
        if pivot is None:
            return None
        table[column], table[pivot] = table[pivot], table[column]
        scale = table[column][column]
        table[column] = [x / scale for x in table[column]]
        for i, row in enumerate(table):
            if i != column and row[column]:
                factor = row[column]
                table[i] = [x - factor * y for x, y in zip(row, table[column], strict=True)]
    if any(row[-1] for row in table[count:]):
        return None
    return [row[-1] for row in table[:count]]


def _likely(
    basis: Mapping[Term, object], sizes: Sequence[int], values: Sequence[int], count: int
) -> list[tuple[Term, ...]]:
    """Sums of so many terms that go through all values to rounding."""
    every = list(combinations(basis, count))
    if not every:
        return []
    at = np.asarray(sizes, np.float64)
    columns = {term: term.at(at) / max(float(term.at(at).max()), 1e-300) for term in basis}
    q = np.linalg.qr(np.array([np.stack([columns[t] for t in chosen], axis=1) for chosen in every]))[0]
    wanted = np.asarray(values, np.float64)
    off = wanted - (q @ (q.swapaxes(1, 2) @ wanted)[:, :, None])[:, :, 0]
    near = np.abs(off).max(axis=1) <= 1e-6 * max(float(np.abs(wanted).max()), 1e-300)
    return [chosen for chosen, good in zip(every, near, strict=True) if good]


def exact_laws(sizes: Sequence[int], values: Sequence[int]) -> list[dict[Term, Fraction]]:
    """Return the exact laws with the fewest terms, that with the slowest growth first; none if there are none.

    Laws that the sizes cannot tell from each other are all returned.
    """
    basis = {term: [value(term, size) for size in sizes] for term in _basis(sizes)}
    # Of hundreds of sums with three or four terms, one goes through a point more by chance: two are asked for.
    for count in range(1, min(_MOST, max(len(sizes) - 2, min(len(sizes) - 1, 2))) + 1):
        if comb(len(basis), count) > _TRIED:
            break
        found = []
        for chosen in _likely(basis, sizes, values, count):
            rows = [[x for x in row if x is not None] for row in zip(*(basis[t] for t in chosen), strict=True)]
            solved = _solve(rows, values)
            if solved is None or (count > 1 and not all(solved[1:])):
                continue
            # Each size left out: the others must tell the same law.
            left_out = range(len(sizes))
            if all(
                _solve([r for j, r in enumerate(rows) if j != i], [v for j, v in enumerate(values) if j != i]) == solved
                for i in left_out
            ):
                found.append(dict(zip(chosen, solved, strict=True)))
        if found:
            return sorted(found, key=lambda law: max(term.order for term in law))
    return []
