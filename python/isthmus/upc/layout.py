"""Sizes of types, as far as constant expressions need them: those of the 64-bit systems that libisthmus runs on."""

from __future__ import annotations

from .types import Type, is_shared

_WORDS = {
    "char": 1,
    "_Bool": 1,
    "short": 2,
    "int": 4,
    "float": 4,
    "double": 8,
    "__int128": 16,
    "__int128_t": 16,
    "__uint128_t": 16,
}


def size_of(of: Type) -> tuple[int, int] | None:
    """Size and alignment; None where they are not known here."""
    if of.kind == "pointer":
        return (16, 8) if is_shared(of.target) else (8, 8)
    if of.kind == "enum":
        return 4, 4
    if of.kind == "void":
        return 1, 1
    if of.kind == "array":
        element = size_of(of.target)
        dimension = of.dimension
        if element is None or dimension is None or dimension.value is None or dimension.threads:
            return None
        return element[0] * dimension.value, element[1]
    if of.kind == "record":
        return _of_record(of)
    if of.kind != "basic":
        return None
    words = of.name.split()
    if "long" in words:
        size = 16 if "double" in words else 8
    else:
        known = [_WORDS[word] for word in words if word in _WORDS]
        if known:
            size = known[0]
        elif "unsigned" in words or "signed" in words:
            size = 4
        else:
            return None
    return (2 * size, size) if "_Complex" in words else (size, size)


def _of_record(of: Type) -> tuple[int, int] | None:
    record = of.record
    if record is None or record.members is None or record.attributes:
        return None
    at, most, largest = 0, 1, 0
    for _, member, bits in record.members:
        found = size_of(member)
        if found is None or bits:
            return None
        size, align = found
        at = (at + align - 1) // align * align + size
        most = max(most, align)
        largest = max(largest, size)
    total = largest if record.word == "union" else at
    return (total + most - 1) // most * most, most
