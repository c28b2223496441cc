"""Slurm nodelist expressions such as ``tux[0-3,7],login1,rack[1-2]n[01-16]``.

The form is the one of ``scontrol show hostnames`` (Slurm documentation, scontrol(1) and
slurm.conf(5)): names separated by commas or blanks, with any number of bracketed lists of numbers
and ranges in each. Ranges keep the zero padding of their lower end, and of several brackets the
last one runs fastest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import product

from isthmus.errors import InvalidInput

MAX_NAMES = 16_777_216
"""Largest number of names an expression may stand for (2**24)."""

# Slurm holds range ends in an unsigned long; 18 digits always fit.
_MAX_DIGITS = 18

_SEPARATORS = ", \t\r\n"
_NUMBER = re.compile(r"[0-9]+")

# A number or an inclusive range: lower end, upper end, digits to pad to.
_Range = tuple[int, int, int]


class HostlistError(InvalidInput):
    """A broken nodelist expression.

    Attributes
    ----------
    column : int
        Position of the defect in the expression, counted from 1.
    """

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message, column)
        self.message = message
        self.column = column

    def __str__(self) -> str:
        return f"column {self.column}: {self.message}"


def expand(expression: str, *, limit: int = MAX_NAMES) -> list[str]:
    """List the names that a nodelist expression stands for, in order.

    Parameters
    ----------
    expression : str
        For example ``"tux[0-3,7],login1"``. An empty expression stands for no names.
    limit : int
        Refuse expressions of more names than this, before any of them is built.

    Returns
    -------
    list of str
        Names in the order of the expression; a name given twice appears twice.

    Raises
    ------
    HostlistError
        Unbalanced or empty brackets, a range that is not a number or runs downwards, an empty
        name, or more than `limit` names. The error knows its column.
    """
    groups: list[list[str | list[_Range]]] = []
    total = 0
    position = 0
    while True:
        position = _skip_separators(expression, position, first=not groups)
        if position >= len(expression):
            break
        start = position
        group, position = _read_name(expression, position)
        count = 1
        for part in group:
            if not isinstance(part, str):
                count *= sum(high - low + 1 for low, high, _ in part)
        total += count
        if total > limit:
            raise HostlistError(
                f"the expression stands for {total:,} names or more; at most {limit:,} are allowed",
                start + 1,
            )
        groups.append(group)
    names: list[str] = []
    for group in groups:
        names.extend(_expand_group(group))
    return names


def compress(names: Iterable[str]) -> str:
    """Write names as one nodelist expression, keeping their order.

    Unlike ``scontrol show hostlist`` nothing is sorted, because the order of an allocation is
    the order of its ranks: ``expand(compress(names)) == list(names)``.

    Parameters
    ----------
    names : iterable of str
        Node names without commas, brackets or blanks.

    Returns
    -------
    str
        Expression with runs of consecutive numbers folded into ranges, in every dimension.

    Raises
    ------
    InvalidInput
        An empty name, or one with a character that an expression cannot hold.
    """
    items = [_split_name(name) for name in names]
    widest = max((len(fields) for _, fields in items), default=0)
    # From the last field to the first: an inner bracket must be complete before two names
    # that differ in an outer number can be seen to share it.
    for back in range(1, widest + 1):
        items = _fold(items, back)
    return ",".join(_join(literals, fields) for literals, fields in items)


def _skip_separators(text: str, position: int, *, first: bool) -> int:
    """Step over one comma and any blanks; two commas in a row enclose an empty name."""
    commas = 0
    while position < len(text) and text[position] in _SEPARATORS:
        if text[position] == ",":
            commas += 1
            if first or commas > 1:
                raise HostlistError("empty name before ','", position + 1)
        position += 1
    if commas and position >= len(text):
        raise HostlistError("empty name after the last ','", len(text))
    return position


def _read_name(text: str, position: int) -> tuple[list[str | list[_Range]], int]:
    """Read one name with its brackets; return its parts and the position after it."""
    parts: list[str | list[_Range]] = []
    start = position
    while position < len(text) and text[position] not in _SEPARATORS:
        char = text[position]
        if char == "]":
            raise HostlistError("']' without a '[' before it", position + 1)
        if char == "[":
            if position > start:
                parts.append(text[start:position])
            ranges, position = _read_bracket(text, position)
            parts.append(ranges)
            start = position
        else:
            position += 1
    if position > start:
        parts.append(text[start:position])
    return parts, position


def _read_bracket(text: str, opening: int) -> tuple[list[_Range], int]:
    closing = text.find("]", opening)
    if closing < 0:
        raise HostlistError("'[' is never closed by ']'", opening + 1)
    ranges: list[_Range] = []
    position = opening + 1
    for entry in text[opening + 1 : closing].split(","):
        ranges.append(_read_range(entry, position))
        position += len(entry) + 1
    return ranges, closing + 1


def _read_range(entry: str, position: int) -> _Range:
    """Read ``7`` or ``01-16``; `position` is where the entry starts, counted from 0."""
    low_text, dash, high_text = entry.partition("-")
    if not dash:
        high_text = low_text
    for text in (low_text, high_text):
        if not _NUMBER.fullmatch(text):
            got = f"got {entry!r}" if entry else "got nothing"
            raise HostlistError(f"{got}; brackets hold numbers and ranges such as [0-3,7]", position + 1)
        if len(text) > _MAX_DIGITS:
            raise HostlistError(f"a number of {len(text)} digits; must be at most {_MAX_DIGITS}", position + 1)
    low, high = int(low_text), int(high_text)
    if high < low:
        raise HostlistError(f"range {entry} must ascend", position + 1)
    return low, high, len(low_text)


def _expand_group(group: list[str | list[_Range]]) -> list[str]:
    choices: list[list[str]] = []
    for part in group:
        if isinstance(part, str):
            choices.append([part])
        else:
            choices.append([str(n).zfill(width) for low, high, width in part for n in range(low, high + 1)])
    return ["".join(combination) for combination in product(*choices)]


# A name cut at its numbers: n + 1 literal pieces around n fields. A field is a number, or the
# bracketed list that numbers were folded into.
_Item = tuple[tuple[str, ...], tuple[str, ...]]


def _split_name(name: str) -> _Item:
    if not name:
        raise InvalidInput("a node name must have at least one character")
    bad = next((char for char in name if char in "[]" or char in _SEPARATORS), None)
    if bad is not None:
        raise InvalidInput(f"node name {name!r} holds {bad!r}; it must not have commas, brackets or blanks")
    literals: list[str] = []
    fields: list[str] = []
    end = 0
    for match in _NUMBER.finditer(name):
        if len(match.group()) > _MAX_DIGITS:
            continue  # stays part of the literal: expand() would refuse it in a bracket
        literals.append(name[end : match.start()])
        fields.append(match.group())
        end = match.end()
    literals.append(name[end:])
    return tuple(literals), tuple(fields)


def _fold(items: list[_Item], back: int) -> list[_Item]:
    """Merge neighbours that differ only in the field `back` places from the end."""
    folded: list[_Item] = []
    run: list[str] = []
    shape: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]] | None = None

    def close() -> None:
        if shape is not None:
            literals, before, after = shape
            folded.append((literals, (*before, _ranges(run), *after)))

    for literals, fields in items:
        if len(fields) < back:
            close()
            shape = None
            folded.append((literals, fields))
            continue
        cut = len(fields) - back
        key = (literals, fields[:cut], fields[cut + 1 :])
        if key != shape:
            close()
            shape, run = key, []
        run.append(fields[cut])
    close()
    return folded


def _ranges(numbers: list[str]) -> str:
    """Fold ``["01", "02", "07"]`` into ``[01-02,07]``; one number stays bare."""
    if len(numbers) == 1:
        return numbers[0]
    pieces: list[str] = []
    low = high = numbers[0]
    for number in numbers[1:]:
        # expand() pads to the width of the lower end, hence the comparison as text
        if number == str(int(high) + 1).zfill(len(low)):
            high = number
            continue
        pieces.append(low if low == high else f"{low}-{high}")
        low = high = number
    pieces.append(low if low == high else f"{low}-{high}")
    return f"[{','.join(pieces)}]"


def _join(literals: tuple[str, ...], fields: tuple[str, ...]) -> str:
    return "".join(piece for pair in zip(literals, (*fields, ""), strict=True) for piece in pair)
