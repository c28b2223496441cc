"""Whole numbers as functions of the number of ranks, the sides of a grid of them and numbers of the problem.

A formula is a sum of products of powers with rational coefficients, rounded down where that is written. It is taken
from runs only if each of them, left out, is given exactly by the others. Where no formula is, the normal form of
:mod:`isthmus.laws` is fitted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from math import lcm, log2

from .. import laws
from ..errors import InvalidInput
from ..laws.exact import root
from .charts import dims

#: Powers of each variable in a product.
_POWERS = (1, -1, 2, -2, 3, -3)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Product:
    """A product of powers of variables; the constant 1 where there are none."""

    powers: tuple[tuple[str, Fraction], ...] = ()

    def at(self, values: Mapping[str, int]) -> Fraction | float:
        """The value, as a fraction where it is one."""
        out: Fraction | float = Fraction(1)
        for name, power in self.powers:
            if name == "log2P" and name not in values:
                out = float(out) * log2(values["P"]) ** float(power)
                continue
            base = root(values[name], power.denominator)
            out = out * (Fraction(base) ** power.numerator if base is not None else float(values[name]) ** float(power))
        return out

    @property
    def weight(self) -> float:
        """How complicated it is."""
        return sum(abs(p) + (p < 0) * 0.25 + (p.denominator > 1) * 0.5 for _, p in self.powers)

    def __str__(self) -> str:
        words = []
        for name, power in self.powers:
            bare = power.denominator == 1 and power > 0
            words.append(name if power == 1 else f"{name}^{power if bare else f'({power})'}")
        return " ".join(words)


@dataclass(frozen=True)
class Formula:
    """A sum of products with coefficients.

    Attributes
    ----------
    terms : tuple of (coefficient, Product)
    label : {"exact", "fitted", "guessed"}
    down : bool
        The sum is rounded down; otherwise to the nearest whole number.
    error : float
        Relative error of runs left out, of fitted ones.
    """

    terms: tuple[tuple[Fraction | float, Product], ...]
    label: str = "exact"
    down: bool = False
    error: float = 0.0

    def __call__(self, values: Mapping[str, int]) -> float:
        total = sum((coefficient * term.at(values) for coefficient, term in self.terms), Fraction(0))
        if self.down:
            return int(total // 1)
        if isinstance(total, float):
            return total
        return float(total) if total.denominator > 1 else int(total)

    @property
    def constant(self) -> bool:
        """Whether it is a number."""
        return all(not term.powers for _, term in self.terms)

    def __str__(self) -> str:
        out = ""
        for coefficient, term in self.terms:
            size = abs(coefficient)
            number = repr(round(size, 12)) if isinstance(size, float) else str(size)
            body = str(term)
            words = body if number == "1" and body else f"{number} {body}".strip()
            sign = "-" if coefficient < 0 else "+"
            out += f" {sign} {words}" if out else words if sign == "+" else f"-{words}"
        words = f"floor({out})" if self.down else out or "0"
        return words if self.label == "exact" else f"{words} ({self.label})"


def constant(number: float, label: str = "exact") -> Formula:
    """A formula that is one number."""
    exact = Fraction(int(number)) if number == int(number) else float(number)
    return Formula(((exact, Product()),), label)


def parse(text: str) -> Formula:
    """The formula of a text such as ``2 P - 2`` or ``floor(1024 n P^(-1/3))``.

    Raises
    ------
    ValueError
        For a text that is none.

    Examples
    --------
    >>> print(parse("2 P - 2")({"P": 8}), parse("floor(1000 P^(-1/3))")({"P": 27}))
    14 333
    """
    text, label = text.strip(), "exact"
    for word in ("fitted", "guessed"):
        if text.endswith(f" ({word})"):
            text, label = text.removesuffix(f" ({word})"), word
    down = text.startswith("floor(") and text.endswith(")")
    inner = text[6:-1] if down else text
    terms: list[tuple[Fraction | float, Product]] = []
    for sign, body in re.findall(r"(^-?|(?<= )[+-] )(.*?)(?= [+-] |$)", inner.strip()):
        coefficient: Fraction | float = Fraction(1)
        powers: list[tuple[str, Fraction]] = []
        if not body:
            raise ValueError(text)
        for i, word in enumerate(body.split()):
            base, _, power = word.partition("^")
            if _VARIABLE.fullmatch(base):
                powers.append((base, Fraction(power.strip("()")) if power else Fraction(1)))
            elif i == 0 and not power:
                coefficient = float(word) if "." in word or "e" in word else Fraction(word)
            else:
                raise ValueError(text)
        terms.append((-coefficient if "-" in sign else coefficient, Product(tuple(powers))))
    if not terms:
        raise ValueError(text)
    return Formula(tuple(terms), label, down)


def variables(ranks: int, parameters: Mapping[str, int], sides: Sequence[int] = (2, 3, 4)) -> dict[str, int]:
    """What formulas may name: P, log2P where it is whole, sides such as ``x3`` of a grid of three, and parameters."""
    out = {"P": ranks, **parameters}
    if ranks.bit_count() == 1:
        out["log2P"] = ranks.bit_length() - 1
    for count in sides:
        out |= {f"{'xyzw'[i]}{count}": side for i, side in enumerate(dims(ranks, count))}
    return out


@dataclass(eq=False)
class _Tried:
    """A product with its values at all runs; in whole numbers but for a factor, as thousands of products are tried."""

    term: Product
    values: tuple[Fraction, ...]
    column: list[int]
    #: Simple, with a negative power: a side may be divided by it with rounding.
    falls: bool


@lru_cache(maxsize=64)
def _products(
    names: tuple[str, ...], first: tuple[Product, ...], given: tuple[tuple[tuple[str, int], ...], ...]
) -> list[_Tried]:
    """Products to try, simple ones first, none that another has the values of."""
    runs = [dict(one) for one in given]
    out = list(first)
    single = [Product(((name, Fraction(power)),)) for name in names for power in _POWERS]
    for degree in (2, 3):
        if all(root(run["P"], degree) for run in runs):
            single += [Product((("P", Fraction(i, degree)),)) for i in range(-3 * degree, 3 * degree + 1) if i % degree]
    pairs = [
        Product(((a, Fraction(i)), (b, Fraction(j)))) for a, b in combinations(names, 2)
        for i, j in product((1, -1, 2, -2, 3), (1, -1, -2, 2)) if (i > 0 or j > 0 or a[-1] == b[-1] or a == "P")
    ]  # fmt: skip
    out += sorted([*single, *pairs], key=lambda p: p.weight)
    kept, seen = [], set()
    for one in out:
        values = tuple(v for v in (one.at(run) for run in runs) if isinstance(v, Fraction))
        if len(values) < len(runs):
            continue
        scaled = tuple(v / values[0] for v in values)
        if scaled not in seen and len(set(scaled)) > 1:
            seen.add(scaled)
            whole = lcm(*(value.denominator for value in values))
            falls = one.weight <= 3.5 and any(p < 0 for _, p in one.powers)
            kept.append(_Tried(one, values, [int(value * whole) for value in values], falls))
    return kept


def formula(
    runs: Sequence[Mapping[str, int]], values: Sequence[float], *, prefer: Sequence[Product] = (), name: str = "value",
    measured: bool = False,
) -> Formula:  # fmt: skip
    """The formula of a value at some runs.

    Parameters
    ----------
    runs : sequence of mapping
        Variables of each run, see :func:`variables`.
    values : sequence of int
    prefer : sequence of Product
        Products that are tried before others.
    measured : bool
        Values are times or means: no exact formula is tried, and none that may fall below 0.
    """
    if len(set(values)) == 1:
        return constant(values[0], "exact" if len(values) > 1 else "guessed")
    whole = all(value == int(value) for value in values)
    names = [n for n in runs[0] if all(n in run for run in runs) and len({run[n] for run in runs}) > 1]
    if whole and len(runs) >= 2 and names and not measured:
        given = dict.fromkeys(["P", *names, *(name for one in prefer for name, _ in one.powers)])
        used = tuple(tuple((n, run[n]) for n in given) for run in runs)
        found = _exact(runs, [int(v) for v in values], _products(tuple(names), tuple(prefer), used))
        if found is not None:
            return found
    return _fitted(runs, values, name, measured)


def _exact(runs: Sequence[Mapping[str, int]], values: Sequence[int], products: Sequence[_Tried]) -> Formula | None:
    first = values[0]
    for one in products:
        begin = one.column[0]
        if first and all(v * begin == first * c for v, c in zip(values, one.column, strict=True)):
            return Formula(((Fraction(first) / one.values[0], one.term),), "exact" if len(runs) > 2 else "fitted")
    if len(runs) >= 3:
        for one in products:
            begin = one.column[0]
            at = next(i for i in range(1, len(runs)) if one.column[i] != begin)
            rise, run = values[at] - first, one.column[at] - begin
            if not rise or any(
                (v - first) * run != rise * (c - begin) for v, c in zip(values, one.column, strict=True)
            ):
                continue
            slope = Fraction(rise) / (one.values[at] - one.values[0])
            offset = first - slope * one.values[0]
            if slope.denominator == 1 or offset.denominator == 1:
                return Formula(((slope, one.term), (offset, Product())), "exact")
    if min(values) > 4:
        for one in products:
            if one.falls:
                low = max(v / c for v, c in zip(values, one.values, strict=True))
                high = min((v + 1) / c for v, c in zip(values, one.values, strict=True))
                if low < high and (whole := _roundest(low, high)) is not None:
                    return Formula(((whole, one.term),), "fitted", True)
    return None


def _roundest(low: Fraction | float, high: Fraction | float) -> Fraction | None:
    """The whole number from ``low`` to below ``high`` that has the most factors 2, if there is one."""
    first, last = -int(-low // 1), -int(-high // 1) - 1
    if first > last:
        return None
    step = 1
    while -(-first // (2 * step)) * 2 * step <= last:
        step *= 2
    return Fraction(-(-first // step) * step)


def _fitted(runs: Sequence[Mapping[str, int]], values: Sequence[float], name: str, measured: bool) -> Formula:
    """Extra-P's normal form in P; what has fewer sizes than a law needs keeps the mean."""
    by_ranks: dict[int, list[float]] = {}
    for run, value in zip(runs, values, strict=True):
        by_ranks.setdefault(run["P"], []).append(float(value))
    if len(by_ranks) < laws.FEWEST:
        return constant(sum(map(float, values)) / len(values), "guessed")
    means = {ranks: sum(v) / len(v) for ranks, v in by_ranks.items()}
    found = laws.fit(means, name=name)
    if measured and any(float(coefficient) < 0 for coefficient in found.coefficients.values()):
        return _power(means)
    terms = []
    for term, coefficient in found.coefficients.items():
        powers = [("P", term.power)] if term.power else []
        powers += [("log2P", Fraction(term.logs))] if term.logs else []
        if coefficient:
            terms.append((coefficient, Product(tuple(powers))))
    return Formula(tuple(terms), "fitted", error=found.error)


def _power(means: Mapping[int, float]) -> Formula:
    """The multiple of one term that has the least relative errors of sizes left out: it has the sign of the values."""
    best: tuple[float, float, laws.Term] | None = None
    for term in (*laws.terms_of("falling"), *laws.terms_of("growing")):
        if term.logs:
            continue
        ratios = {ranks: value / term(ranks) for ranks, value in means.items()}
        errors = []
        for left_out, value in means.items():
            others = [ratio for ranks, ratio in ratios.items() if ranks != left_out]
            errors.append(abs(sum(others) / len(others) * term(left_out) - value) / max(abs(value), 1e-300))
        error = (sum(e * e for e in errors) / len(errors)) ** 0.5
        if best is None or error < best[0]:
            best = error, sum(ratios.values()) / len(ratios), term
    assert best is not None
    return Formula(((best[1], Product((("P", best[2].power),))),), "fitted", error=best[0])


def check(one: Formula, values: Mapping[str, int], what: str) -> float:
    """The value of a formula that must not be negative.

    Raises
    ------
    InvalidInput
        If it is, or if the formula names what is not given.
    """
    for _, term in one.terms:
        for name, _power in term.powers:
            if name not in values and name != "log2P":
                raise InvalidInput(f"{what}: the formula {one} names {name}, which is not given")
    number = one(values)
    if number < 0 and not one.constant:
        raise InvalidInput(f"{what}: the formula {one} gives {number:.6g} at P = {values['P']:,}: below 0, so the "
                           "program cannot be extrapolated to so many ranks")  # fmt: skip
    return number
