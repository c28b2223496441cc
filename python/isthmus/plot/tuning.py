"""What a tuner found: time by size with crossovers; the best algorithm by ranks and size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..units import text
from .chart import Target, figure, legend, save, size_axis, still_suffix
from .common import CLASSES, FAINT, MUTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..tuning.choice import Choice
    from ..tuning.sweep import Sweep


def draw_times(sweep: Sweep, target: Target, format: str | None = None) -> None:
    """Time by size: a line for each algorithm with its best options, the bound, and where the best one changes.

    Parameters
    ----------
    sweep : Sweep
    target : path or binary stream
        .png, .svg or .pdf.
    format : str, optional
        Of a stream.

    Raises
    ------
    InvalidInput
        For another suffix.
    """
    suffix = still_suffix(target, format)
    sizes = np.maximum(sweep.sizes, 1)
    names = _by_merit(sweep)
    row = sweep.row()
    fig, ax = figure(f"{sweep.collective} on {sweep.situation.ranks:,} ranks", _words(sweep), 6.4)
    rows: list[tuple[Any, str]] = []
    best = np.array([point.seconds for point in row.points], float)
    ax.plot(sizes, best, color=FAINT, linewidth=9, solid_capstyle="round", zorder=1)
    for number, (name, times) in enumerate(names.items()):
        colour, style = _look(number)
        (line,) = ax.plot(sizes, times, style, color=colour, marker="o", markersize=3.5, linewidth=1.6, zorder=3)
        rows.append((line, name))
    (line,) = ax.plot(sizes, np.where(sweep.bound > 0, sweep.bound, np.nan), ":", color=MUTED, linewidth=1.4, zorder=2)
    rows.append((line, "lower bound of all algorithms"))
    for low, high in zip(row.rules, row.rules[1:], strict=False):
        if low.choice.name != high.choice.name:
            ax.axvline(high.bytes, color=FAINT, linewidth=1, zorder=0)
            ax.annotate(
                text(high.bytes, "B", 3), (high.bytes, 1), xycoords=("data", "axes fraction"), xytext=(3, -3),
                textcoords="offset points", size=8.5, color=MUTED, va="top", rotation=90,
            )  # fmt: skip
    ax.set_yscale("log")
    ax.set_ylabel("predicted time")
    ax.yaxis.set_major_formatter(lambda y, _: text(y, "s", 3))
    size_axis(ax, sizes)
    legend(fig, ax, rows, "algorithm, with its best options")
    save(fig, target, suffix)


def draw_map(sweeps: Sequence[Sweep], target: Target, format: str | None = None) -> None:
    """The best algorithm of a collective by number of ranks and size; the options stand in the cells.

    Parameters
    ----------
    sweeps : sequence of Sweep
        Of one collective and the same sizes, on different numbers of ranks.
    target : path or binary stream
        .png, .svg or .pdf.
    format : str, optional
        Of a stream.

    Raises
    ------
    InvalidInput
        For another suffix.
    """
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    suffix = still_suffix(target, format)
    sweeps = sorted(sweeps, key=lambda s: s.situation.ranks)
    choices = [[s.choices[c] for c in s.best] for s in sweeps]
    names = list(dict.fromkeys(choice.name for line in choices for choice in line))
    sizes = np.maximum(sweeps[0].sizes, 1)
    height = 2.4 + 0.42 * len(sweeps)
    fig, ax = figure(f"{sweeps[0].collective}: the best algorithm", _words(sweeps[-1]), height)
    cells = np.array([[names.index(choice.name) for choice in line] for line in choices])
    colours = [CLASSES[k % len(CLASSES)] for k in range(len(names))]
    ax.pcolormesh(cells, cmap=ListedColormap(colours), vmin=-0.5, vmax=len(names) - 0.5, edgecolor="white", linewidth=1)
    for y, line in enumerate(choices):
        for begin, end, choice in _runs(line):
            words = _options(choice)
            if words and 7.5 * (end - begin) / len(line) * 12 > len(words):
                ax.text((begin + end) / 2, y + 0.5, words, ha="center", va="center", size=7.5, color="white")
    ax.set_yticks(np.arange(len(sweeps)) + 0.5, [f"{s.situation.ranks:,}" for s in sweeps])
    shown = range(0, len(sizes), max(1, len(sizes) // 8))
    ax.set_xticks([k + 0.5 for k in shown], [text(int(sweeps[0].sizes[k]), "B", 3) for k in shown])
    ax.set_ylabel("ranks")
    ax.set_xlabel("message size")
    legend(fig, ax, [(Patch(color=colour), name) for name, colour in zip(names, colours, strict=True)], "algorithm")
    save(fig, target, suffix)


def _by_merit(sweep: Sweep) -> dict[str, Any]:
    """Of every algorithm the best time at each size, NaN where none was predicted; the best somewhere first."""
    lines: dict[str, Any] = {}
    for c, choice in enumerate(sweep.choices):
        if not np.isnan(sweep.seconds[c]).all():
            known = lines.get(choice.name)
            lines[choice.name] = sweep.seconds[c] if known is None else np.fmin(known, sweep.seconds[c])
    best = np.fmin.reduce(list(lines.values()))
    order = sorted(lines, key=lambda name: (-int((lines[name] == best).sum()), name))
    return {name: lines[name] for name in order}


def _look(number: int) -> tuple[str, str]:
    """Colour and style of the line of that number."""
    return CLASSES[number % len(CLASSES)], ("-", "--", "-.")[number // len(CLASSES) % 3]


def _words(sweep: Sweep) -> str:
    words = sweep.situation.words()
    parts = [words["machine"], words["placement"], f"model {words['model']}"]
    return ", ".join(part for part in parts if part) + "; simulated where it may be best"


def _runs(line: list[Choice]) -> list[tuple[int, int, Choice]]:
    """Neighbouring cells with the same choice."""
    found: list[tuple[int, int, Choice]] = []
    for k, choice in enumerate(line):
        if found and found[-1][2] == choice:
            found[-1] = (found[-1][0], k + 1, choice)
        else:
            found.append((k, k + 1, choice))
    return found


def _options(choice: Choice) -> str:
    parts = (f"{key} {text(value, 'B', 3) if key == 'segment' and isinstance(value, int) else value}"
             for key, value in choice.options.items() if value)  # fmt: skip
    return ", ".join(parts)
