"""The law of a series: exact where whole numbers follow one, otherwise fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from ..errors import InvalidInput
from . import exact
from .regression import Form, forms
from .terms import CONSTANT, Term, terms_of

#: Sizes from which a law is fitted.
FEWEST = 3


@dataclass(frozen=True, slots=True)
class Prediction:
    """A value at a size.

    Attributes
    ----------
    value : float
    low, high : float
        Where it is expected: see :meth:`Law.predict`.
    exact : bool
        By a law that every given size follows exactly, and the only one of its length.
    beyond : float
        How many times the size is above the largest, or below the smallest, that was given; 1 within the range.
    """

    value: float
    low: float
    high: float
    exact: bool
    beyond: float


@dataclass(frozen=True, slots=True, repr=False)
class Law:
    """A value as a function of one parameter; made by :func:`fit`.

    Attributes
    ----------
    coefficients : mapping from Term to float or Fraction
        Fractions in exact laws.
    exact : bool
        Every size, left out, is predicted exactly by the others.
    left_out : mapping from int to float
        What the law gives at each size when its coefficients are found without it.
    error : float
        Root of the mean square of their relative errors.
    sizes : tuple of int
    name, parameter : str
    """

    coefficients: Mapping[Term, float | Fraction]
    exact: bool
    left_out: Mapping[int, float]
    error: float
    sizes: tuple[int, ...]
    name: str = "value"
    parameter: str = "P"
    _form: Form | None = field(default=None, repr=False)
    _others: tuple[Mapping[Term, Fraction] | Form, ...] = field(default=(), repr=False)

    @property
    def leading(self) -> Term:
        """The term that grows fastest."""
        return max((t for t, c in self.coefficients.items() if c), key=lambda t: t.order, default=CONSTANT)

    def __call__(self, size: float) -> float:
        """Return the value, whatever its sign."""
        return _value(self.coefficients, size)

    def predict(self, size: int) -> Prediction:
        """Return the value at a size, and where it is expected.

        The interval of a fitted law is that of 95 % of values if the form is right (Student's t), widened to what other
        forms say whose errors of points left out are not larger beyond chance (Fisher's F). That of an exact law goes
        over all exact laws of its length.

        Raises
        ------
        InvalidInput
            If the size is below 1, or the law gives less than 0 there.
        """
        if size < 1:
            raise InvalidInput(f"{self.parameter} = {size}: must be at least 1")
        here = self(size)
        if here < -1e-9 * max(map(abs, (float(c) for c in self.coefficients.values()))):
            raise InvalidInput(f"{self.name}: the law {self} gives {here:.4g} at {self.parameter} = {size}: "
                               "below 0, so it does not hold there")  # fmt: skip
        low, high = (here, here) if self._form is None else self._form.interval(size)
        more = [one(size) if isinstance(one, Form) else _value(one, size) for one in self._others]
        low, high = max(min([low, here, *more]), 0.0), max([high, here, *more])
        beyond = max(size / self.sizes[-1], self.sizes[0] / size, 1.0)
        return Prediction(max(here, 0.0), low, high, self.exact and low == high, beyond)

    def __str__(self) -> str:
        out = ""
        for term in sorted(self.coefficients, key=lambda t: t.order, reverse=True):
            number = self.coefficients[term]
            if not number and len(self.coefficients) > 1:
                continue
            size = f"{abs(number)}" if isinstance(number, Fraction) else f"{abs(number):.4g}"
            body = term.text(self.parameter)
            words = body if size == "1" and body else f"{size} {body}".strip()
            sign = "-" if number < 0 else "+"
            out += f" {sign} {words}" if out else words if number >= 0 else f"-{words}"
        return out or "0"

    def __repr__(self) -> str:
        return f"<Law: {self.name} = {self}>"


def _value(coefficients: Mapping[Term, float | Fraction], size: float) -> float:
    parts = [
        (number, exact.value(term, int(size)) if size == int(size) else None, term)
        for term, number in coefficients.items()
    ]
    if all(isinstance(number, Fraction) and known is not None for number, known, _ in parts):
        return float(sum((Fraction(number) * known for number, known, _ in parts if known is not None), Fraction(0)))
    return float(sum(float(number) * term(size) for number, _, term in parts))


def fit(
    values: Mapping[int, float],
    *,
    name: str = "value",
    parameter: str = "P",
    exponents: str | Sequence[Term] | None = None,
    terms: int = 2,
) -> Law:
    """Find the law of values at some sizes.

    Whole numbers are first given laws with rational coefficients, in powers P^(i/3), P^(i/2) and P^i up to P^3 where
    these are whole at all sizes, and log2(P) where sizes are powers of two: the shortest that predicts each size, left
    out, exactly. It has one or two terms, or up to four where sizes are two more than terms. Otherwise the form
    ``c0 + c1 P^i log2(P)^j`` is chosen from Extra-P's set of 42 pairs (i, j) by the error of points left out, with
    coefficients of the least relative errors; the constant alone unless a term halves that error. From 6 sizes on, two
    terms are taken where they halve it again.

    Parameters
    ----------
    values : mapping from int to float
        Value at each size; at least 3 sizes.
    name, parameter : str
        For messages.
    exponents : {"growing", "falling", "both"} or sequence of Term, optional
        Terms that are tried in fits: with powers from 0 on, their mirror images below 0, both, or those given. By
        default falling ones where the value at the largest size is below that at the smallest.
    terms : int
        Of a fitted law beside the constant, at most: 1 or 2.

    Returns
    -------
    Law

    Raises
    ------
    InvalidInput
        If there are too few sizes, or sizes or values are not numbers that a law can have.

    Notes
    -----
    Values with errors of 5 % at 4, 8, ..., 128, over 200 seeds and with one term: the power of the leading term, with a
    logarithm for 1/8, is within 1/4 of the true one in 98 to 100 % of cases; the term itself is found in 96 % (a
    constant), 89 % (log2 P), 58 % (P), 30 % (P^(1/2)) and 23 % (P log2 P). The value at 2,048 is in its interval in 84
    to 96 %; at 8, 27, 64 and 125 for that at 2,000 in 69 to 86 %.

    References
    ----------
    Calotoiu, Hoefler, Poke and Wolf, "Using automated performance modeling to find scalability bugs in complex codes",
    SC 2013: the normal form, and the program Extra-P.

    Examples
    --------
    >>> fit({4: 10, 16: 18, 64: 34, 256: 66})
    <Law: value = 4 P^(1/2) + 2>
    >>> law = fit({2: 1.01, 4: 1.98, 8: 3.03, 16: 4.01, 32: 4.96})
    >>> print(law.leading.text(), round(law.predict(1024).value, 1), law.predict(1024).beyond)
    log2(P) 10.0 32.0
    """
    sizes = sorted(values)
    if len(sizes) < FEWEST:
        raise InvalidInput(f"{name}: given at {len(sizes)} sizes: a law needs at least {FEWEST} different ones")
    if any(size != int(size) or size < 1 for size in sizes):
        raise InvalidInput(f"{name}: sizes must be whole numbers from 1")
    numbers = [values[size] for size in sizes]
    if not np.isfinite(np.asarray(numbers, np.float64)).all():
        raise InvalidInput(f"{name}: values must be finite numbers")
    at = tuple(int(size) for size in sizes)
    if exponents is None:
        exponents = "falling" if numbers[-1] < numbers[0] else "growing"
    tried = terms_of(exponents) if isinstance(exponents, str) else tuple(exponents)
    if terms not in (1, 2):
        raise InvalidInput(f"terms = {terms}: must be 1 or 2")
    if all(float(number).is_integer() for number in numbers):
        found = exact.exact_laws(at, [int(number) for number in numbers])
        if found:
            left = {size: float(number) for size, number in zip(at, numbers, strict=True)}
            return Law(found[0], True, left, 0.0, at, name, parameter, None, tuple(found[1:]))
    best, others = forms(tried, np.asarray(at, np.float64), np.asarray(numbers, np.float64), terms)
    coefficients = dict(zip(best.terms, map(float, best.coefficients), strict=True))
    left = dict(zip(at, map(float, best.left_out), strict=True))
    return Law(coefficients, False, left, best.error, at, name, parameter, best, tuple(others))
