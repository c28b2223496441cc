"""All forms fitted by least squares of relative errors, with the errors of points left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from .terms import CONSTANT, Term

#: A law with one term more must reduce the error of points left out to this share.
PARSIMONY = 0.5
#: Forms with the same number of terms whose error is at most so many times the least are taken for possible: the root
#: of Fisher's F that is exceeded in 5 % of cases, for 1, 2, ... degrees of freedom of both.
POSSIBLE = (12.7, 4.36, 3.05, 2.53, 2.25, 2.07, 1.95, 1.85, 1.78, 1.73)
#: An error below which laws are not told apart.
_NOISE = 1e-9
#: Sizes from which sums of two terms are tried.
_SIZES_OF_TWO = 6
#: See :func:`student`.
_T = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131),
    *(2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


def student(freedom: int) -> float:
    """Student's t that is exceeded on either side in 5 % of cases, for so many degrees of freedom, from 1."""
    return _T[freedom - 1] if freedom <= len(_T) else 1.96


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """One form, fitted.

    Attributes
    ----------
    terms : tuple of Term
        The constant first.
    coefficients : array of float64
    error : float
        Root of the mean square of the relative errors of points left out.
    left_out : array of float64
        What the form, fitted to the others, gives at each size.
    spread : float
        Standard deviation of a relative error: that of the residuals, or the error of points left out if it is larger.
    inverse : array
        (A^T A)^-1 of the weighted terms, for intervals.
    """

    terms: tuple[Term, ...]
    coefficients: NDArray[np.float64]
    error: float
    left_out: NDArray[np.float64]
    spread: float
    freedom: int
    inverse: NDArray[np.float64]

    def __call__(self, size: float) -> float:
        return float(sum(c * term(size) for c, term in zip(self.coefficients, self.terms, strict=True)))

    def interval(self, size: float) -> tuple[float, float]:
        """Return where a value is expected in 95 % of cases if the form is right."""
        row = np.array([term(size) for term in self.terms])
        here = self(size)
        quantile = student(self.freedom)
        # The error of a new value is relative to it, that of the law is not.
        wide = quantile * self.spread * float(np.sqrt(here**2 + row @ self.inverse @ row))
        return here - wide, here + wide


def _fitted(chosen: Sequence[tuple[Term, ...]], sizes: NDArray[np.float64], values: NDArray[np.float64]) -> list[Form]:
    """Fit forms with equally many terms."""
    columns = {term: term.at(sizes) for form in chosen for term in form}
    weights = 1 / np.maximum(np.abs(values), 1e-3 * max(float(np.abs(values).max()), 1e-300))
    tables = np.array([np.stack([columns[t] for t in form], axis=1) for form in chosen]) * weights[:, None]
    # Columns of equal length, so that coefficients of large powers are not lost.
    scales = np.linalg.norm(tables, axis=1)
    q, r = np.linalg.qr(tables / scales[:, None, :])
    wanted = values * weights
    count, points = tables.shape[2], len(values)
    out = []
    for i, form in enumerate(chosen):
        if np.abs(np.diag(r[i])).min() < 1e-9:
            continue
        inner = q[i].T @ wanted
        residual = wanted - q[i] @ inner
        slack = 1 - (q[i] ** 2).sum(axis=1)
        if slack.min() < 1e-9:
            continue
        apart = residual / slack
        back = np.linalg.inv(r[i]) / scales[i][:, None]
        freedom = points - count
        error = float(np.sqrt(np.mean(apart**2)))
        spread = max(error, float(np.sqrt(residual @ residual / freedom)))
        out.append(Form(form, back @ inner, error, values - apart / weights, spread, freedom, back @ back.T))
    return out


def forms(
    terms: Sequence[Term], sizes: NDArray[np.float64], values: NDArray[np.float64], most: int = 2
) -> tuple[Form, list[Form]]:
    """Return the form that is chosen, and others with as many terms that are possible.

    The constant comes first, then constant and one term, then, for at least 6 sizes, constant and two terms: more terms
    are taken if they halve the error of points left out.
    """
    usable = [term for term in terms if not (term.logs and float(sizes.min()) <= 1)]
    best = _fitted([(CONSTANT,)], sizes, values)[0]
    others: list[Form] = []
    for count in range(1, min(most, 2 if len(sizes) >= _SIZES_OF_TWO else 1) + 1):
        found = _fitted([(CONSTANT, *more) for more in combinations(usable, count)], sizes, values)
        if not found:
            continue
        first = min(found, key=lambda form: form.error)
        if best.error > _NOISE and first.error <= PARSIMONY * best.error:
            best = first
            bound = POSSIBLE[min(first.freedom, len(POSSIBLE)) - 1] * first.error + _NOISE
            others = [one for one in found if one is not first and one.error <= bound]
    return best, others
