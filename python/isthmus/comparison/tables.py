"""Decision tables beside each other: sizes at which they choose differently."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..tuning.compare import differences
from .comparison import Comparison

if TYPE_CHECKING:
    from ..tuning.decisions import Decisions


def compare_tables(
    first: Decisions, second: Decisions, names: Sequence[str], ranks: Iterable[int] | None = None
) -> Comparison:
    """A row per range of sizes in which the choices differ."""
    rows = tuple(
        {
            "collective": d.collective,
            "ranks": d.ranks,
            "from": d.low,
            "to": d.high,
            names[0]: None if d.first is None else str(d.first),
            names[1]: None if d.second is None else str(d.second),
        }
        for d in differences(first, second, ranks)
    )
    return Comparison("tables", tuple(names), rows, {"from": "B", "to": "B"})
