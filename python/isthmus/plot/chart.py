"""Charts on paper: a title, an axes, a legend beside it."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path
from typing import Any

from ..errors import InvalidInput
from ..files import replacing
from .common import FAINT, INK, MUTED, count, quantity

_SUFFIXES = (".png", ".svg", ".pdf")
_WIDTH, _DPI = 12.8, 110
# Okabe and Ito (2008): told apart also by those who are colour-blind.
COMPUTE, SEND, HANDLE, REDUCE, ONE_SIDED = "#009E73", "#0072B2", "#E69F00", "#CC79A7", "#56B4E9"


def still_suffix(path: str | os.PathLike[str]) -> str:
    """Suffix of a file, or InvalidInput."""
    suffix = Path(path).suffix.lower()
    if suffix not in _SUFFIXES:
        raise InvalidInput(f"{os.fspath(path)}: suffix {suffix!r}; allowed are {', '.join(_SUFFIXES)}")
    return suffix


def save(fig: Any, path: str | os.PathLike[str], suffix: str) -> None:
    """Write a figure, whole or not at all, the same bytes every time."""
    import matplotlib

    constant: dict[str, dict[str, Any]] = {
        ".png": {"Software": None},
        ".svg": {"Date": None},
        ".pdf": {"CreationDate": None},
    }
    settings: Any = {"font.family": "DejaVu Sans", "svg.hashsalt": "isthmus", "svg.fonttype": "path"}
    with replacing(path) as name, open(name, "wb") as file, matplotlib.rc_context(settings):
        fig.savefig(file, format=suffix[1:], metadata=constant[suffix])


def figure(headline: str, words: str, height: float) -> tuple[Any, Any]:
    """A figure with its title and an axes; the legend's place is on the right."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    fig = Figure(figsize=(_WIDTH, height), dpi=_DPI, facecolor="white")
    FigureCanvasAgg(fig)
    fig.text(0.022, 1 - 0.27 / height, headline, size=17, weight="bold", color=INK, va="top")
    rows = textwrap.wrap(words, 150)
    fig.text(0.022, 1 - 0.66 / height, "\n".join(rows), size=10, color=MUTED, va="top", linespacing=1.4)
    top = 1 - (0.85 + 0.23 * len(rows)) / height
    bottom = 0.62 / height
    ax = fig.add_axes((0.075, bottom, 0.685, top - bottom))
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(colors=INK, labelsize=10, color=FAINT)
    ax.xaxis.label.set(color=INK, size=11)
    ax.yaxis.label.set(color=INK, size=11)
    return fig, ax


def legend(fig: Any, ax: Any, rows: list[tuple[Any, str]], heading: str) -> None:
    """Swatches and words to the right of the axes."""
    handles, labels = [h for h, _ in rows], [textwrap.fill(text, 36) for _, text in rows]
    box = ax.get_position()
    made = fig.legend(
        handles, labels, title=heading, loc="upper left", bbox_to_anchor=(box.x1 + 0.012, box.y1 + 0.012),
        frameon=False, fontsize=9.5, labelcolor=INK, alignment="left", handlelength=1.6, handleheight=1.0,
        labelspacing=0.75,
    )  # fmt: skip
    made.get_title().set(size=10, weight="bold", color=INK)


def unit_of(ps: int) -> tuple[int, str]:
    """Power of ten of a unit in picoseconds, and its name, for times up to this."""
    return max((p, u) for p, u in ((0, "ps"), (3, "ns"), (6, "µs"), (9, "ms"), (12, "s")) if 10**p <= max(ps, 1))


def facts(timeline: Any) -> str:
    """What ran, in one line."""
    t = timeline
    parts = [f"{count(t.ranks)} rank{'s' * (t.ranks != 1)}", f"{count(len(t.schedule))} operations"]
    parts.append(f"{count(t.messages)} messages, {quantity(t.bytes, 'B')}")
    machine = getattr(t.machine, "title", None)
    return "  ·  ".join([*parts, machine or "LogGOPS parameters"])


def title(timeline: Any, what: str) -> str:
    """What is shown, and how long all of it took."""
    if timeline.deadlock is not None:
        return f"{what}: deadlock after {quantity(timeline.makespan, 's')}"
    return f"{what}: makespan {quantity(timeline.makespan, 's')}"
