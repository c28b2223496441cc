"""Quantities with units at the border: text in, SI floats inside, text out.

Bytes are 8 bits; ``k M G T P`` are powers of 1000, ``Ki Mi Gi Ti`` powers of 1024; ``bit/s`` is a byte per second / 8.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Sequence

from .errors import InvalidInput

_PREFIX = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_SMALL = {"": 1.0, "m": 1e-3, "u": 1e-6, "µ": 1e-6, "n": 1e-9, "p": 1e-12}


def _with(prefixes: dict[str, float], suffix: str, factor: float = 1.0) -> dict[str, float]:
    return {prefix + suffix: scale * factor for prefix, scale in prefixes.items()}


# Spellings that each base unit allows, with their factor.
_SPELLINGS: dict[str, dict[str, float]] = {
    "": {"": 1.0},
    "B": _with({**_PREFIX, **_BINARY}, "B"),
    "B/s": {
        **_with({**_PREFIX, **_BINARY}, "B/s"),
        **_with({**_PREFIX, **_BINARY}, "bit/s", 1 / 8),
        **_with(_PREFIX, "b/s", 1 / 8),
    },
    "s": _with(_SMALL, "s"),
    "s/B": _with(_SMALL, "s/B"),
    "Hz": _with(_PREFIX, "Hz"),
    "flop/s": _with(_PREFIX, "flop/s"),
    "1/s": {"1/s": 1.0, **_with(_PREFIX, "/s")},
    "W": _with(_PREFIX, "W"),
    "J": _with(_PREFIX, "J"),
}
#: Base units.
UNITS = tuple(_SPELLINGS)
# What people read: the prefixes used for output, largest first.
_OUTPUT: dict[str, list[str]] = {
    "B": ["PB", "TB", "GB", "MB", "kB", "B"],
    "B/s": ["PB/s", "TB/s", "GB/s", "MB/s", "kB/s", "B/s"],
    "s": ["s", "ms", "us", "ns", "ps"],
    "s/B": ["s/B", "ms/B", "us/B", "ns/B", "ps/B"],
    "Hz": ["GHz", "MHz", "kHz", "Hz"],
    "flop/s": ["Eflop/s", "Pflop/s", "Tflop/s", "Gflop/s", "Mflop/s", "flop/s"],
    "1/s": ["G/s", "M/s", "k/s", "/s"],
    "W": ["MW", "kW", "W"],
    "J": ["TJ", "GJ", "MJ", "kJ", "J"],
    "": [""],
}
# What text without a unit lacks, and likely units: 5 for a latency is hardly 5 s. A number of bytes is one.
_NEEDED = {
    "s": "a time",
    "B/s": "a bandwidth",
    "s/B": "a time per byte",
    "Hz": "a frequency",
    "flop/s": "a rate",
    "W": "a power",
}
_LIKELY = {
    "s": ("ns", "us"),
    "B/s": ("GB/s", "Gbit/s"),
    "s/B": ("ns/B", "ps/B"),
    "Hz": ("GHz", "MHz"),
    "flop/s": ("Gflop/s", "Tflop/s"),
    "W": ("W", "kW"),
}
_SIZE = re.compile(r"[0-9.]+ [kKMGTP]?i?B")
_BINARY_SIZE = re.compile(r"[0-9.]+ [KMGT]iB(?![/\w])")
_NUMBER = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:[eE]([+-]?[0-9]{1,4}))?\s*(.*)", re.DOTALL)


def _scaled(mantissa: str, exponent: int, factor: float) -> float:
    """mantissa * 10**exponent * factor, rounded once where the factor is a power of ten: 0.2 us is 200 ns exactly."""
    power = round(math.log10(factor))
    if math.isclose(factor, 10.0**power, rel_tol=1e-12):
        return float(f"{mantissa}e{exponent + power}")
    return float(f"{mantissa}e{exponent}") * factor


def shown(value: object) -> str:
    """The value for a message, cut where nobody would read on (and where Python refuses to write out an integer)."""
    if isinstance(value, int) and not -(10**40) < value < 10**40:
        return "an integer of more than 40 digits"
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def _likely(match: re.Match[str], unit: str) -> str:
    """A likely quantity for a number without a unit."""
    digits = match[0].strip()
    if match[2] or float(digits) < 1e-2 or float(digits) >= 1e6:
        return f"{digits}{unit}"  # such numbers are in SI
    first, second = _LIKELY[unit]
    return f"{digits}{first} or {digits}{second}"


def parse(value: object, unit: str, *, plain: bool = False) -> float:
    """The number that a quantity stands for, in SI.

    Parameters
    ----------
    value : str, int or float
        ``"425 MB/s"``, ``"64ns"``; a number that is no text is in SI already. In text, 0 and bytes need no unit.
    unit : str
        Base unit: ``""``, ``"B"``, ``"B/s"``, ``"s"``, ``"s/B"``, ``"Hz"``, ``"flop/s"``, ``"1/s"`` (events), ``"W"``
        or ``"J"``.
    plain : bool
        Text without a unit is in SI too: for columns of numbers in files.

    Raises
    ------
    InvalidInput
        For anything else; the message lists the spellings that are allowed.

    Examples
    --------
    >>> parse("425 MB/s", "B/s")
    425000000.0
    >>> parse("200 Gbit/s", "B/s")
    25000000000.0
    """
    spellings = _SPELLINGS[unit]
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise InvalidInput(
            f"{shown(value)} is not a quantity: must be a number, or text such as '4{unit and ' ' + unit}'"
        )
    match, suffix = None, ""
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value.strip())
        suffix = match[3].strip() if match else ""
        if match is None or (suffix and suffix not in spellings):
            examples = ", ".join(_OUTPUT[unit] + [s for s in ("KiB", "MiB", "GiB") if s in spellings])
            allowed = f"a number with one of {examples}" if unit else "a plain number"
            raise InvalidInput(f"{shown(value)} is not a quantity: must be {allowed}")
        number = _scaled(match[1], int(match[2] or 0), spellings[suffix or unit])
    else:
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
    if not math.isfinite(number):
        raise InvalidInput(f"{shown(value)} is not finite: must be a number up to {sys.float_info.max:.2g}")
    # What is not above 0 is refused by others, or needs no unit.
    if match is not None and unit in _NEEDED and not suffix and number > 0 and not plain:
        raise InvalidInput(f"{shown(value)} has no unit: {_NEEDED[unit]} needs one, as {_likely(match, unit)}")
    return number


def text(value: float, unit: str, digits: int | None = None, *, decimal: bool = False) -> str:
    """A quantity for people, in the largest unit that keeps it at least 1.

    Parameters
    ----------
    value : float
        Number in SI.
    unit : str
        Base unit, as in :func:`parse`.
    digits : int, optional
        Significant digits; by default as many as :func:`parse` needs to return exactly ``value``.
    decimal : bool
        Powers of 1000 for multiples of 1024 B too, so that amounts in a column can be compared.

    Examples
    --------
    >>> text(4.25e8, "B/s")
    '425 MB/s'
    >>> text(65536, "B"), text(65536, "B", decimal=True)
    ('64 KiB', '65.536 kB')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value + 0.0:g} {_OUTPUT[unit][-1] if value else unit}".strip()
    outputs = _OUTPUT[unit]
    whole = value == round(value) and abs(value) < 1e6 and (digits is None or abs(value) < 10**digits)
    if unit == "B" and whole and value % 1000 and value % 1024:
        # 65535 B is read at a glance, 65.535 kB is not.
        outputs = ["B"]
    elif unit == "B" and not decimal and 1024 <= abs(value) < 2.0**50 and value % 1000 and value % 1024 == 0:
        outputs = ["TiB", "GiB", "MiB", "KiB"]
    best = outputs[-1]
    for spelling in outputs:
        if abs(value) >= _SPELLINGS[unit][spelling] * (1 - 1e-12):
            best = spelling
            break
    factor = _SPELLINGS[unit][best]
    scaled = value * round(1 / factor) if factor < 1 else value / factor
    if digits is not None:
        rounded = f"{scaled:.{digits}g}"
        if "e" in rounded:
            rounded = f"{float(rounded):.0f}"
        return f"{rounded} {best}".strip()
    for precision in range(3, 18):
        candidate = f"{scaled:.{precision}g}"
        if "e" not in candidate and parse(f"{candidate}{best}", unit) == value:
            return f"{candidate} {best}".strip()
    return f"{value!r} {unit}".strip()


def percent(part: float, decimals: int | None = None, *, sign: bool = False) -> str:
    """A part of a whole in percent, such as ``8.6 %``: all output writes shares so, with a space as SI asks.

    Parameters
    ----------
    part : float
        The share: 0.086 for 8.6 %.
    decimals : int, optional
        Digits after the point, for columns. By default one below 10 % and none above.
    sign : bool
        Write + before what is not negative, for differences.
    """
    value = 100 * part
    digits = decimals if decimals is not None else 1 if abs(value) < 9.95 else 0
    if value > 0 and not sign and value < (0.1 if decimals is None else 0.5 * 10**-digits):
        return f"< {10.0**-digits:.{digits}f} %"  # not 0, which would be wrong
    if abs(value) < (0.1 if decimals is None else 0.5 * 10**-digits):
        return "0 %" if decimals is None else f"{0:.{digits}f} %"
    return f"{value:{'+' if sign else ''}.{digits}f} %"


def mixed(sizes: Iterable[float], digits: int | None = None) -> bool:
    """Whether numbers of bytes, each by itself, would be in powers of 1000 here and of 1024 there."""
    words = {text(size, "B", digits) for size in sizes}
    return any(word.endswith("iB") for word in words) and any(word[-2] in "kMGTP" for word in words)


def column(sizes: Sequence[float], digits: int | None = None) -> list[str]:
    """Numbers of bytes that are read together, in one family of units: powers of 1000 if not all are multiples of 1024.

    Examples
    --------
    >>> column([8, 1024, 65536]), column([8, 1000, 65536])
    (['8 B', '1 KiB', '64 KiB'], ['8 B', '1 kB', '65.536 kB'])
    """
    decimal = mixed(sizes, digits)
    return [text(size, "B", digits, decimal=decimal) for size in sizes]


def alike(texts: Iterable[str]) -> list[str]:
    """Quantities as text, those that are numbers of bytes in one family of units.

    Examples
    --------
    >>> alike(["512 GB", "8 KiB", "2 us", "25 GB/s"])
    ['512 GB', '8.192 kB', '2 us', '25 GB/s']
    """
    given = list(texts)
    sizes = {word: parse(word, "B") for word in given if _SIZE.fullmatch(word)}
    if not mixed(sizes.values()):
        return given
    return [text(sizes[word], "B", decimal=True) if word in sizes else word for word in given]


def decimal(texts: Iterable[str]) -> list[str]:
    """Texts with the numbers of bytes in them in powers of 1000, as on a page whose axes and tables are all of these.

    Examples
    --------
    >>> decimal(["8 KiB", "up to 1 MiB", "25 GB/s"])
    ['8.192 kB', 'up to 1.049 MB', '25 GB/s']
    """
    return [_BINARY_SIZE.sub(lambda match: amount(parse(match[0], "B")), given) for given in texts]


def span(low: float, high: float) -> str:
    """One or two amounts of bytes, in powers of 1000 as all amounts of a report.

    Examples
    --------
    >>> span(9216, 15910), span(8, 8)
    ('9.216 kB to 15.91 kB', '8 B')
    """
    return amount(low) if low == high else f"{amount(low)} to {amount(high)}"


def amount(bytes: float) -> str:
    """Bytes for a column of a table: four digits, in powers of 1000 whatever the number, so that rows can be compared.

    Examples
    --------
    >>> amount(2**20), amount(2**20 + 1)
    ('1.049 MB', '1.049 MB')
    """
    return text(bytes, "B", 4, decimal=True)
