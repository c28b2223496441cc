"""Pictures of overlap: the processor's share of a nonblocking collective by size and ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .chart import Target, figure, legend, save, size_axis, still_suffix
from .common import ramp

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..collectives.models.overlap import Overlap


def draw_overlap(overlap: Overlap, target: Target = None, format: str | None = None) -> Figure:
    """Draw the processor's share of a collective's time.

    Parameters
    ----------
    overlap : Overlap
    target : path or binary stream, optional
        .png, .svg or .pdf; by default none.
    format : str, optional
        Format of what is written to a stream.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InvalidInput
        For another suffix.
    """
    suffix = still_suffix(target, format)
    words = (
        "Share of the time in which the busiest processor works for the collective; the rest is free for computation."
    )
    fig, ax = figure(f"{overlap.collective} by {overlap.algorithm}: processor time", words, 5.4)
    colours = ramp(np.linspace(0.25, 1.0, len(overlap.ranks)))
    sizes = np.maximum(overlap.sizes, 1)
    rows: list[tuple[Any, str]] = []
    for ranks, share, colour in zip(overlap.ranks, overlap.share, colours, strict=True):
        (line,) = ax.plot(sizes, 100 * share, color=colour, marker="o", markersize=3, linewidth=1.6)
        rows.append((line, f"{ranks:,} ranks"))
    ax.set_ylabel("processor's share of the time, %")
    ax.set_ylim(0, None)
    size_axis(ax, sizes)
    legend(fig, ax, rows, "ranks")
    return save(fig, target, suffix)
