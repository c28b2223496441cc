"""A tuning as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..units import mixed, percent, text
from .search.result import RULES, Source

if TYPE_CHECKING:
    from .search.result import Sweep
    from .tune import Tuning


#: What was simulated, by model.
MODELS = {
    "loggops": "Model loggops: messages do not compete for links.",
    "flow": "Model flow: messages share links fairly.",
    "reserve": "Model reserve: messages occupy links one after another.",
    "packet": "Model packet: messages are packets that queue at links.",
}


def report(tuning: Tuning) -> str:
    """Decisions with times, margins and bounds, and what was not simulated."""
    lines = [f"{tuning.table} in {tuning.wall:.1f} s", MODELS[tuning.table.provenance.model]]
    decimal = mixed(size for found in tuning.sweeps for size in found.sizes)
    for found in tuning.sweeps:
        lines += ["", *_sweep(found, decimal)]
    return "\n".join(lines)


def _sweep(found: Sweep, decimal: bool) -> list[str]:
    ranks = found.scenario.ranks
    rows = [("bytes", "algorithm", "time", "second best", "slower by", "bound")]
    for i, point in enumerate(found.row().points):
        mark = "" if found.source[found.best[i], i] == Source.simulated else " ~"
        rows.append(
            (
                text(point.bytes, "B", decimal=decimal),
                str(point.choice),
                text(point.seconds or 0.0, "s", 4) + mark,
                "" if point.runner_up is None else str(point.runner_up),
                "" if point.margin is None else percent(point.margin, 1),
                text(point.bound or 0.0, "s", 4),
            )
        )
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    right = (True, False, True, False, True, True)
    lines = [f"{found.collective} on {ranks} ranks{f', sync={found.mode}' if found.mode else ''}"]
    for row in rows:
        cells = (
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        )
        lines.append(("  " + "  ".join(cells)).rstrip())
    if (found.source[found.best, range(len(found.sizes))] == Source.between).any():
        lines.append("  ~ interpolated between simulated sizes: the schedules are too large to simulate all of them")
    return [*lines, *_effort(found)]


def _effort(found: Sweep) -> list[str]:
    """Numbers of candidates that were simulated and skipped, with reasons."""
    lines = [
        f"  {len(found.choices)} candidates, {found.simulations} of {found.source.size} simulations were run; left out:"
    ]
    lines += [f"    {count} by {RULES[rule]}" for rule, count in found.left_out.items()]
    between = int((found.source == Source.between).sum())
    if between:
        lines.append(f"    {between} predicted from simulations at other sizes")
    return lines
