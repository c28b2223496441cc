"""Pictures of patterns: the matrix of senders and receivers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from .chart import Target, figure, legend, save, still_suffix
from .common import FAINT, INK, count, quantity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..schedule.pattern import Pattern

# Cells of a side, at most: each has more than a pixel. More ranks share them.
_CELLS = 512
# Up to so many ranks the cells have numbers, lines between them, and every rank its tick.
_NUMBERED, _LINED, _LABELLED = 12, 32, 24
_COLOURS = ("#B9DDE0", "#4FB0C6", "#2163A6", "#0B1F57")
_UNITS = {"bytes": "B", "messages": ""}


def plot_pattern(
    pattern: Pattern,
    target: Target = None,
    *,
    what: str = "bytes",
    note: str = "",
    size: tuple[float, float] | None = None,
    format: str | None = None,
) -> Figure:
    """Draw who sends how much to whom, on a logarithmic scale.

    Parameters
    ----------
    pattern : Pattern
        Beyond 512 ranks neighbours are added up; the axes say so.
    target : path or binary stream, optional
        File to write: .png, .svg or .pdf; by default none.
    what : {"bytes", "messages"}
    note : str
        Words to add under the title.
    size : (float, float), optional
        Width and height in inches.
    format : {"png", "svg", "pdf"}, optional
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
    if what not in _UNITS:
        raise InvalidInput(f"a matrix of {what!r}: must be 'bytes' or 'messages'")
    return save(_matrix(pattern, what, note, size), target, suffix)


def _matrix(pattern: Pattern, what: str, note: str, size: tuple[float, float] | None) -> Any:
    from matplotlib.colors import LinearSegmentedColormap, LogNorm

    ranks = pattern.ranks
    share = 1 << max(0, math.ceil(math.log2(ranks / _CELLS)))
    side = math.ceil(ranks / share)
    cell = pattern.sources().astype(np.int64) // share * side + pattern.peer // share
    sums = np.bincount(cell, pattern.bytes if what == "bytes" else pattern.messages, side * side).reshape(side, side)
    words = f"{count(ranks)} rank{'s' * (ranks != 1)}  ·  {count(pattern.total_messages)} messages, "
    words += f"{quantity(pattern.total_bytes, 'B')}  ·  {count(len(pattern))} pairs"
    width, height = size or (11.6, 9.2)
    fig, ax = figure("Who sends how much to whom", f"{words}  ·  {note}" if note else words, height, width)
    some = sums[sums > 0]
    low, high = (float(some.min()), float(some.max())) if len(some) else (1.0, 1.0)
    colours = LinearSegmentedColormap.from_list("sea", _COLOURS)
    # A single value is in the middle of a scale around it.
    norm = LogNorm(low, high) if high > low else LogNorm(high / 10, high * 10)
    image = ax.imshow(
        np.where(sums > 0, sums, np.nan), extent=(-0.5, side * share - 0.5, side * share - 0.5, -0.5), cmap=colours,
        norm=norm, interpolation="nearest",
    )  # fmt: skip
    ax.set_xlim(-0.5, ranks - 0.5)
    ax.set_ylim(ranks - 0.5, -0.5)
    ax.spines[["top", "right"]].set_visible(True)
    ax.spines[["top", "right"]].set_color(FAINT)
    blocks = f"; a cell adds up {share} × {share} ranks" if share > 1 else ""
    ax.set_xlabel(f"receiver (rank{blocks})")
    ax.set_ylabel(f"sender (rank{blocks})")
    ticks = np.arange(0, ranks, _step(ranks))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_ticks(ticks, [count(int(t)) for t in ticks])
    if ranks <= _LINED:
        _lines(ax, ranks)
    ax.set_anchor("NW")
    ax.apply_aspect()
    if ranks <= _NUMBERED:
        _numbers(ax, sums, norm, what)
    _legend(fig, ax, image if len(some) else None, low, high, what, share)
    return fig


def _step(ranks: int) -> int:
    """From tick to tick: a power of two where that divides the ranks, otherwise 1, 2 or 5 times a power of ten."""
    if ranks <= _LABELLED:
        return 1
    steps = (1 << k for k in range(40)) if ranks % 8 == 0 else (m * int(10**k) for k in range(12) for m in (1, 2, 5))
    return next(step for step in steps if ranks / step <= 12)


def _lines(ax: Any, ranks: int) -> None:
    from matplotlib.collections import LineCollection

    at = np.arange(ranks - 1) + 0.5
    ends = np.array([-0.5, ranks - 0.5])
    across = np.stack(np.broadcast_arrays(ends, at[:, None]), -1)
    lines = [*across, *across[..., ::-1]]
    ax.add_collection(LineCollection(lines, colors=FAINT, linewidths=0.6 if ranks <= 24 else 0.3), autolim=False)


def _numbers(ax: Any, sums: Any, norm: Any, what: str) -> None:
    inches = ax.get_position().width * ax.figure.get_figwidth() / len(sums)
    for i, j in zip(*np.nonzero(sums), strict=True):
        dark = norm(sums[i, j]) > 0.45
        words = quantity(float(sums[i, j]), _UNITS[what]).strip()
        # About seven letters, each 0.6 of the size wide.
        letters = min(11.0, 0.9 * inches * 72 / 7 / 0.6)
        ax.text(j, i, words, size=letters, ha="center", va="center", color="white" if dark else INK)


def _legend(fig: Any, ax: Any, image: Any, low: float, high: float, what: str, share: int) -> None:
    """The scale of colours, and what white says."""
    from matplotlib.patches import Patch

    box = ax.get_position()
    of = f"of {share} × {share} ranks" if share > 1 else "of a pair"
    if image is None or low == high:
        rows = [(Patch(facecolor="white", edgecolor=FAINT), "none")]
        if image is not None:
            rows.insert(0, (Patch(color=image.cmap(image.norm(low))), quantity(low, _UNITS[what]).strip()))
        legend(fig, ax, rows, f"{what} {of}")
        return
    width, height = fig.get_size_inches()
    tall = 0.4 * box.height
    bar = fig.add_axes((box.x1 + 0.35 / width, box.y1 - 0.35 / height - tall, 0.22 / width, tall))
    fig.colorbar(image, cax=bar)
    bar.minorticks_off()
    bar.set_title(f"{what} {of}", size=10, weight="bold", color=INK, loc="left", pad=10)
    ticks = _scale(low, high)
    bar.set_yticks(ticks, [quantity(float(t), _UNITS[what]).strip() for t in ticks], size=9.5, color=INK)
    bar.tick_params(length=3)
    bar.spines[:].set_visible(False)
    fig.text(box.x1 + 0.35 / width, box.y1 - 0.5 / height - tall, "white: none", size=9.5, color=INK, va="top")


def _scale(low: float, high: float) -> Any:
    """Round numbers from low to high, as many as fit."""
    decades = math.log10(high / low)
    steps = (1,) if decades > 3 else (1, 3) if decades > 1.5 else (1, 2, 5) if decades > 0.7 else range(1, 10)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = np.array([m * 10.0**k for k in powers for m in steps])
    ticks = ticks[(ticks >= low) & (ticks <= high)]
    ticks = ticks[:: math.ceil(len(ticks) / 9)] if len(ticks) else ticks
    return ticks if len(ticks) > 1 else np.array([low, high])
