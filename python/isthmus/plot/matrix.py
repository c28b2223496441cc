"""Pictures of patterns: the matrix of senders and receivers."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from .chart import figure, save, still_suffix
from .common import INK, count, quantity

# Cells of a side; more ranks share them.
_CELLS = 1024


def plot_pattern(pattern: Any, path: str | os.PathLike[str], *, what: str = "bytes") -> None:
    """Draw who sends how much to whom, on a logarithmic scale.

    Parameters
    ----------
    pattern : Pattern
        Of more than 1024 ranks neighbours are added up.
    path : path
        File to write: .png, .svg or .pdf.
    what : {"bytes", "messages"}

    Raises
    ------
    InvalidInput
        For another suffix.
    """
    from matplotlib.colors import LinearSegmentedColormap, LogNorm

    suffix = still_suffix(path)
    ranks = pattern.ranks
    share = math.ceil(ranks / _CELLS)
    side = math.ceil(ranks / share)
    cell = pattern.sources().astype(np.int64) // share * side + pattern.peer // share
    sums = np.bincount(cell, pattern.bytes if what == "bytes" else pattern.messages, side * side).reshape(side, side)
    words = f"{count(ranks)} ranks  ·  {count(pattern.total_messages)} messages, {quantity(pattern.total_bytes, 'B')}"
    words += f"  ·  {count(len(pattern))} pairs"
    words += f"  ·  a cell is {share} × {share} ranks" if share > 1 else ""
    fig, ax = figure("Who sends how much to whom", words, 9.2)
    some = sums[sums > 0]
    low, high = (float(some.min()), float(some.max())) if len(some) else (1.0, 1.0)
    colours = LinearSegmentedColormap.from_list("blues", ["#CFE3F1", "#56A0CE", "#0B4F87", "#0A2E57"])
    # One value only takes a scale around it.
    norm = LogNorm(low, high) if high > low else LogNorm(high / 10, high * 10)
    image = ax.imshow(
        np.where(sums > 0, sums, np.nan),
        extent=(-0.5, side * share - 0.5, side * share - 0.5, -0.5),
        cmap=colours, norm=norm, interpolation="nearest" if side <= 512 else "antialiased",
    )  # fmt: skip
    ax.set_xlim(-0.5, ranks - 0.5)
    ax.set_ylim(ranks - 0.5, -0.5)
    ax.spines[["top", "right"]].set_visible(True)
    ax.spines[["top", "right"]].set_color(ax.spines["left"].get_edgecolor())
    ax.set_xlabel("receiver (rank)")
    ax.set_ylabel("sender (rank)")
    for axis in (ax.xaxis, ax.yaxis):
        axis.get_major_locator().set_params(integer=True)
        axis.set_major_formatter(lambda x, _: f"{x:,.0f}")
    ax.set_anchor("W")
    if len(some):
        _scale(fig, ax, image, low, high, "B" if what == "bytes" else "", what)
    save(fig, path, suffix)


def _scale(fig: Any, ax: Any, image: Any, low: float, high: float, unit: str, what: str) -> None:
    ax.apply_aspect()
    box = ax.get_position()
    bar = fig.add_axes((box.x1 + 0.03, box.y1 - 0.42, 0.018, 0.4))
    fig.colorbar(image, cax=bar)
    bar.minorticks_off()
    bar.set_title(f"{what} of a pair", size=10, weight="bold", color=INK, loc="left", pad=10)
    ticks = [low] if high == low else np.geomspace(low, high, 5)
    bar.set_yticks(ticks, [quantity(float(t), unit).strip() for t in ticks], size=9.5, color=INK)
    bar.tick_params(length=3)
    bar.spines[:].set_visible(False)
