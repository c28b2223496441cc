"""Pictures of simulations: where the time of ranks went."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInput
from ..simulation.words import WORDS
from ..units import percent
from .chart import COMPUTE, HANDLE, SEND, facts, figure, legend, save, stack_ranks, still_suffix, title, unit_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = {
    "compute": COMPUTE,
    "send_overhead": SEND,
    "recv_overhead": HANDLE,
    "gap": "#56B4E9",
    "latency": "#F0E442",
    "late_sender": "#CC79A7",
    "late_receiver": "#7A5195",
    "noise": "#26323D",
    "contention": "#8B1E3F",
    "idle": "#E4E8EC",
}


def plot_breakdown(timeline: Any, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw where the time of every rank went: stacked bars, or for more than 64 ranks an area over them.

    Parameters
    ----------
    timeline : Timeline
        With ``record="ranks"`` or ``"ops"``.
    path : path, optional
        File to write: .png, .svg or .pdf; by default none.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InvalidInput
        For another suffix, and a simulation that recorded finish times only.
    """
    suffix = still_suffix(path)
    if timeline.record == "finish":
        raise InvalidInput("a breakdown needs a simulation with record='ranks' or 'ops'; this one has record='finish'")
    return save(_breakdown(timeline), path, suffix)


def _breakdown(timeline: Any) -> Any:
    from matplotlib.patches import Patch

    t = timeline
    power, unit = unit_of(t.makespan_ps)
    total = sum(float(v.sum(dtype=float)) for v in t.breakdown_ps.values()) or 1.0
    names = [name for name in _COLOURS if t.breakdown_ps[name].any()]
    fig, ax = figure(title(t, "Where the time goes"), facts(t), 6.4)
    parts, rows = [], []
    for name in names:
        colour = _COLOURS[name]
        parts.append((t.breakdown_ps[name] / 10.0**power, colour))
        part = float(t.breakdown_ps[name].sum(dtype=float)) / total
        rows.append((Patch(color=colour), f"{WORDS[name]}: {percent(part)}"))
    streams = stack_ranks(ax, t.ranks, parts) > 1.5 * t.makespan_ps / 10.0**power
    ax.set_ylabel(f"time ({unit}{', CPU streams added up' if streams else ''})")
    # The first share is at the bottom, in the legend too.
    legend(fig, ax, rows[::-1], "Mean over all ranks")
    return fig
