"""The common form of figures in studies: a sheet with a title and panels."""

from __future__ import annotations

import textwrap
from typing import Any

from ..plot.common import CLASSES, FAINT, INK, MUTED, ROUTE, ramp
from ..units import text

__all__ = ["CLASSES", "FAINT", "INK", "MUTED", "ROUTE", "bytes_axis", "heading", "key", "ramp", "sheet", "style"]

_WIDTH, _DPI = 12.8, 110


def sheet(
    title: str, words: str, rows: int, columns: int, *, height: float = 4.2, share: bool = False
) -> tuple[Any, Any]:
    """A figure and its axes as an array of rows and columns; height is of a row, inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    lines = textwrap.wrap(words, 150)
    head = 0.78 + 0.21 * len(lines)
    whole = head + rows * height
    fig = Figure(figsize=(_WIDTH, whole), dpi=_DPI, facecolor="white")
    FigureCanvasAgg(fig)
    left = 0.28 / _WIDTH
    fig.text(left, 1 - 0.25 / whole, title, size=17, weight="bold", color=INK, va="top")
    fig.text(left, 1 - 0.64 / whole, "\n".join(lines), size=10, color=MUTED, va="top", linespacing=1.4)
    axes = fig.subplots(
        rows, columns, squeeze=False, sharey=share,
        gridspec_kw={
            "left": 0.95 / _WIDTH, "right": 1 - 0.28 / _WIDTH, "bottom": 0.62 / whole, "top": 1 - (head + 0.2) / whole,
            "wspace": 0.12 if share else 0.27, "hspace": 0.85 / (height - 0.85),
        },
    )  # fmt: skip
    for ax in axes.flat:
        style(ax)
    return fig, axes


def style(ax: Any) -> None:
    """The look of all axes."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(colors=INK, labelsize=9, color=FAINT, which="both")
    ax.xaxis.label.set(color=INK, size=10)
    ax.yaxis.label.set(color=INK, size=10)
    ax.grid(color="#EEF2F5", linewidth=0.8)
    ax.set_axisbelow(True)


def heading(ax: Any, words: str) -> None:
    """The title of one panel."""
    ax.set_title(words, loc="left", color=INK, size=11, weight="bold")


def bytes_axis(ax: Any, sizes: list[int]) -> None:
    """A logarithmic axis of message sizes, with ticks at some of these."""
    ax.set_xscale("log", base=2)
    step = max(1, -(-len(sizes) // 6))
    # The largest has a tick.
    shown = sizes[::-1][::step]
    ax.set_xticks(shown, [text(s, "B", 3) if s < 1024 else _binary(s) for s in shown], minor=False)
    ax.minorticks_off()
    ax.set_xlabel("message size")


def _binary(size: int) -> str:
    for power, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= power:
            return f"{size / power:.4g} {unit}"
    return f"{size} B"


def key(ax: Any, title: str = "", **more: Any) -> None:
    """A legend inside the axes."""
    made = ax.legend(
        title=title or None, frameon=True, framealpha=0.9, edgecolor="none", fontsize=8.5, labelcolor=INK,
        alignment="left", handlelength=1.8, **more,
    )  # fmt: skip
    if made is not None:
        made.get_title().set(size=9, weight="bold", color=INK)
        made.set_zorder(5)
