"""Charts on paper: a title, an axes, a legend beside it."""

from __future__ import annotations

import math
import os
import textwrap
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from .. import units
from ..errors import InvalidInput
from ..files import PICTURES, replacing
from .common import FAINT, INK, MUTED, count, quantity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDTH, _DPI = 12.8, 110
# Inches to the left of the axes, for its numbers, and to the right, for the legend.
LEFT, RIGHT = 0.96, 3.07
# Up to so many ranks each has a bar; more than this share one step.
_BARS, _STEPS = 64, 4000
# Okabe and Ito (2008): told apart also by those who are colour-blind.
COMPUTE, SEND, HANDLE, REDUCE, ONE_SIDED = "#009E73", "#0072B2", "#E69F00", "#CC79A7", "#56B4E9"


#: A file to write, or a binary stream; None: the figure is returned and nothing is written.
Target = str | os.PathLike[str] | IO[bytes] | None


def still_suffix(target: Target, format: str | None = None) -> str:
    """Return the suffix of a file or the format of a stream; raises InvalidInput for others."""
    if target is None:
        return ".png"
    if isinstance(target, (str, os.PathLike)):
        suffix, got = Path(target).suffix.lower(), f"{os.fspath(target)}: suffix"
    else:
        suffix, got = f".{format}", "a stream: format"
    if suffix not in PICTURES:
        raise InvalidInput(f"{got} {suffix!r}; must be one of {', '.join(PICTURES)}")
    return suffix


def save(fig: Figure, target: Target, suffix: str) -> Figure:
    """Write a figure, to a file atomically and reproducibly to the byte; returns it."""
    import matplotlib

    if target is None:
        return fig
    constant: dict[str, dict[str, Any]] = {
        ".png": {"Software": None},
        ".svg": {"Date": None},
        ".pdf": {"CreationDate": None},
    }
    settings: Any = {"font.family": "DejaVu Sans", "svg.hashsalt": "isthmus", "svg.fonttype": "path"}
    options: Any = {"format": suffix[1:], "metadata": constant[suffix]}
    with matplotlib.rc_context(settings):
        if isinstance(target, (str, os.PathLike)):
            with replacing(target) as name, open(name, "wb") as file:
                fig.savefig(file, **options)
        else:
            fig.savefig(target, **options)
    return fig


def figure(headline: str, words: str, height: float, width: float = _WIDTH) -> tuple[Any, Any]:
    """Make a figure with a title and axes, and space for the legend on the right."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    fig = Figure(figsize=(width, height), dpi=_DPI, facecolor="white")
    FigureCanvasAgg(fig)
    left = 0.28 / width
    fig.text(left, 1 - 0.27 / height, headline, size=17, weight="bold", color=INK, va="top")
    rows = textwrap.wrap(words, int(150 * width / _WIDTH))
    fig.text(left, 1 - 0.66 / height, "\n".join(rows), size=10, color=MUTED, va="top", linespacing=1.4)
    top = 1 - (0.85 + 0.23 * len(rows)) / height
    bottom = 0.62 / height
    ax = fig.add_axes((LEFT / width, bottom, 1 - (LEFT + RIGHT) / width, top - bottom))
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(colors=INK, labelsize=10, color=FAINT)
    ax.xaxis.label.set(color=INK, size=11)
    ax.yaxis.label.set(color=INK, size=11)
    return fig, ax


def legend(
    fig: Any, ax: Any, rows: list[tuple[Any, str]], heading: str, letters: int = 36, handle: float = 1.6
) -> None:
    """Swatches and words to the right of the axes, in rows of so many letters; swatches of so many letters."""
    handles, labels = [h for h, _ in rows], [textwrap.fill(text, letters) for _, text in rows]
    box = ax.get_position()
    made = fig.legend(
        handles, labels, title=heading, loc="upper left", bbox_to_anchor=(box.x1 + 0.012, box.y1 + 0.012),
        frameon=False, fontsize=9.5, labelcolor=INK, alignment="left", handlelength=handle, handleheight=1.0,
        labelspacing=0.75,
    )  # fmt: skip
    made.get_title().set(size=10, weight="bold", color=INK)


def size_axis(ax: Any, sizes: Any) -> bool:
    """A logarithmic axis of message sizes in bytes, with about nine ticks, and a faint grid.

    Returns whether sizes on it are in powers of 1000.
    """
    ax.set_xscale("log", base=2)
    shown = sizes[:: max(1, -(-len(sizes) // 9))]
    words = units.column([int(size) for size in shown], 3)
    ax.set_xticks(shown, words, minor=False)
    ax.minorticks_off()
    ax.set_xlabel("message size")
    ax.tick_params(colors=INK)
    ax.grid(color="#EEF2F5", linewidth=0.8)
    ax.set_axisbelow(True)
    return any(word[-2] in "kMGTP" for word in words)


def stack_ranks(ax: Any, ranks: int, parts: list[tuple[Any, str]]) -> float:
    """Stack bars, or for more than 64 ranks areas over them: a column of numbers and a colour each. The largest sum."""
    share = math.ceil(ranks / _STEPS)
    edges = np.append(np.arange(0, ranks, share), ranks)
    base = np.zeros(len(edges) - 1)
    few = ranks <= _BARS
    for column, colour in parts:
        values = np.add.reduceat(column, edges[:-1]) / np.diff(edges)
        if few:
            ax.bar(np.arange(ranks), values, 0.86, base, color=colour, linewidth=0, zorder=2)
        else:
            ax.stairs(base + values, edges - 0.5, baseline=base, fill=True, color=colour, linewidth=0, zorder=2)
        base = base + values
    ax.set_xlim(-0.5 - 0.1 * few, ranks - 0.5 + 0.1 * few)
    ax.set_ylim(0, 1.02 * float(base.max(initial=1e-9)))
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
    ax.set_xlabel("rank" if share == 1 else f"rank (means of {share} neighbours)")
    return float(base.max(initial=0))


def unit_of(ps: int) -> tuple[int, str]:
    """Power of ten of a unit in picoseconds, and its name, for times up to this."""
    return max((p, u) for p, u in ((0, "ps"), (3, "ns"), (6, "µs"), (9, "ms"), (12, "s")) if 10**p <= max(ps, 1))


def facts(timeline: Any) -> str:
    """Return what was simulated or carried out, in one line."""
    t = timeline
    parts = [f"{count(t.ranks)} rank{'s' * (t.ranks != 1)}", f"{count(len(t.schedule))} operations"]
    parts.append(f"{count(t.messages)} messages, {quantity(t.bytes, 'B')}")
    ran = getattr(t, "ran", None)
    if ran is not None:
        return "  ·  ".join([*parts, f"measured: {ran.launch}, {ran.library}"])
    machine = getattr(t.machine, "title", None)
    return "  ·  ".join([*parts, machine or "LogGOPS parameters"])


def title(timeline: Any, what: str) -> str:
    """Return what is shown, and how long the run took."""
    if timeline.deadlock is not None:
        return f"{what}: deadlock after {quantity(timeline.makespan, 's')}"
    return f"{what}: makespan {quantity(timeline.makespan, 's')}"
