"""A plain table with a header: rank, node (a name or an id), and core.

Columns are separated by blanks or commas. Lines may come in any order. Without a column ``core`` the ranks of a node
take its cores in their order.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from .reading import Reading

if TYPE_CHECKING:
    from ...machine.allocation import Allocation
    from ...machine.placement import Placement

_COLUMNS = ("rank", "node", "core")


def text(placement: Placement, job: Allocation) -> str:
    lines = [f"{r}\t{h}\t{c}\n" for r, (h, c) in enumerate(zip(placement.hosts(), placement.core, strict=True))]
    return "\t".join(_COLUMNS) + "\n" + "".join(lines)


def read(reading: Reading) -> Placement:
    lines = reading.lines()
    number, header = next(lines, (None, ""))
    if number is None:
        reading.fail(None, None, "the file has no ranks")
    columns = [{"host": "node"}.get(c, c) for c in _words(header.lower())]
    for column in columns:
        if column not in _COLUMNS or columns.count(column) > 1:
            reading.fail(number, None, f"column {column!r} in the header: must be rank, node or core, each once")
    for column in _COLUMNS[:2]:
        if column not in columns:
            reading.fail(number, None, f"the header has no column {column}: expected at least rank and node")
    entries = []
    for number, line in lines:
        words = _words(line)
        if len(words) != len(columns):
            reading.fail(number, None, f"{len(words)} columns, but the header has {len(columns)}")
        cell = dict(zip(columns, words, strict=True))
        node = reading.id_or_name(cell["node"], number)
        core = reading.core(reading.whole(cell["core"], number, "core"), number) if "core" in cell else 0
        entries.append((number, reading.whole(cell["rank"], number, "rank"), node, core))
    placement = reading.ranked(entries)
    return placement if "core" in columns else reading.ordered(np.asarray(placement.node))


def _words(line: str) -> list[str]:
    return re.split(r"\s*,\s*|\s+", line)
