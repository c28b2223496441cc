"""HDF5 files of hierarchies: for each operator a group of columns, such as ``level_0/A/rows``."""

from __future__ import annotations

import os

import numpy as np

from ..errors import InvalidInput
from ..schedule.hdf5_columns import Column, Reader, write_columns
from ..schedule.pattern import Pattern
from .hierarchy import GridLevel, Hierarchy
from .operators import Operator

#: The version of the HDF5 format that has hierarchies.
_VERSION = 6


def write_hierarchy(hierarchy: Hierarchy, path: str | os.PathLike[str]) -> None:
    """Write a hierarchy; see :meth:`Hierarchy.save`."""
    columns = []
    for number, level in enumerate(hierarchy.levels):
        for name, operator in (("A", level.matrix), ("P", level.interpolation), ("R", level.own_restriction)):
            if operator is not None:
                columns += _columns(f"level_{number}/{name}", operator)
    facts = [name for name, value in hierarchy.facts.items() if isinstance(value, float)]
    words = [name for name, value in hierarchy.facts.items() if isinstance(value, str)]
    columns += [
        Column("facts/names", facts, "", "of what else is known"),
        Column("facts/values", np.array([hierarchy.facts[name] for name in facts], np.float64), "SI", ""),
        Column("facts/words", [f"{name}={hierarchy.facts[name]}" for name in words], "", "what is known in words"),
    ]
    attributes = {"levels": len(hierarchy), "parts": hierarchy.parts}
    write_columns(path, "hierarchy", columns, attributes, version=_VERSION)


def _columns(group: str, operator: Operator) -> list[Column]:
    exchange = operator.exchange
    return [
        Column(f"{group}/rows", operator.rows, "", "of each part"),
        Column(f"{group}/nonzeros", operator.nonzeros, "", "of each part"),
        Column(f"{group}/sends", np.diff(exchange.first.astype(np.int64)).astype(np.uint64), "", "of each part"),
        Column(f"{group}/to", exchange.peer, "", "partners of one part after another"),
        Column(f"{group}/bytes", exchange.bytes, "B", "of the message to each"),
    ]


def read_columns(reader: Reader) -> Hierarchy:
    """Read a hierarchy from an open file.

    Raises
    ------
    ParseError
        For a file that is damaged.
    """
    count, parts = reader.attribute("levels", int), reader.attribute("parts", int)
    if count < 1 or parts < 1:
        raise reader.fail("levels", f"{count} levels on {parts} parts: must be at least 1")
    levels = []
    for number in range(count):
        group = f"level_{number}"
        own = _operator(reader, f"{group}/R", parts) if reader.has(f"{group}/R/rows") else None
        p = None if number == count - 1 else _operator(reader, f"{group}/P", parts)
        levels.append(GridLevel(_operator(reader, f"{group}/A", parts), p, own))
    names = reader.texts("facts/names")
    values = reader.column("facts/values", np.float64, len(names))
    words = (text.partition("=") for text in reader.texts("facts/words"))
    facts: dict[str, float | str] = {name: value for name, _, value in words}
    facts |= zip(names, map(float, values), strict=True)
    return Hierarchy(tuple(levels), facts)


def _operator(reader: Reader, group: str, parts: int) -> Operator:
    rows, nonzeros, sends = (
        reader.column(f"{group}/{name}", np.uint64, parts) for name in ("rows", "nonzeros", "sends")
    )
    to = reader.column(f"{group}/to", np.uint32)
    sizes = reader.column(f"{group}/bytes", np.uint64, len(to))
    if int(sends.max()) > len(to) or int(sends.sum()) != len(to):
        raise reader.fail(f"{group}/sends", f"{len(to)} partners do not fit the numbers of sends")
    source = np.repeat(np.arange(parts, dtype=np.uint32), sends.astype(np.int64))
    try:
        exchange = Pattern.of(parts, source=source, target=to, bytes=sizes)
    except InvalidInput as error:
        raise reader.fail(f"{group}/to", str(error)) from None
    return Operator(rows, nonzeros, exchange)
