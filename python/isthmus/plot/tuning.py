"""Pictures of tuning: time by size with crossovers; the best algorithm by ranks and size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..units import column, text
from .chart import Target, figure, legend, save, size_axis, still_suffix
from .common import CLASSES, FAINT, INK, MUTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from ..tuning.choice import Choice
    from ..tuning.search.result import Sweep

#: Times beyond this multiple of the best are not drawn.
_FAR = 10


def draw_times(sweep: Sweep, target: Target = None, format: str | None = None) -> Figure:
    """Time by size: a line for each algorithm with its best options, the bound, and where the best one changes.

    Parameters
    ----------
    sweep : Sweep
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
    sizes = np.maximum(sweep.sizes, 1)
    names = _by_merit(sweep)
    row = sweep.row()
    fig, ax = figure(f"{sweep.collective} on {sweep.scenario.ranks:,} ranks", _words(sweep), 6.4)
    rows: list[tuple[Any, str]] = []
    best = np.array([point.seconds for point in row.points], float)
    ax.plot(sizes, best, color=FAINT, linewidth=9, solid_capstyle="round", zorder=1)
    for (name, times), colour in zip(names.items(), CLASSES, strict=False):
        (line,) = ax.plot(sizes, times, color=colour, marker="o", markersize=3.5, linewidth=1.6, zorder=3)
        rows.append((line, name))
    (line,) = ax.plot(sizes, np.where(sweep.bound > 0, sweep.bound, np.nan), ":", color=MUTED, linewidth=1.4, zorder=2)
    rows.append((line, "lower bound of all algorithms"))
    if more := sum(1 for name in {choice.name for choice in sweep.choices} if name not in names):
        rows.append((ax.plot([], [], " ")[0], f"{more} more, not near the best"))
    decimal = size_axis(ax, sizes)
    for low, high in zip(row.rules, row.rules[1:], strict=False):
        if low.choice.name != high.choice.name:
            ax.axvline(high.bytes, color=FAINT, linewidth=1, zorder=0)
            ax.annotate(
                _boundary(high.bytes, decimal), (high.bytes, 1), xycoords=("data", "axes fraction"), xytext=(3, -3),
                textcoords="offset points", size=8.5, color=MUTED, va="top", rotation=90,
            )  # fmt: skip
    ax.set_yscale("log")
    ax.set_ylabel("predicted time")
    ax.yaxis.set_major_formatter(lambda y, _: text(y, "s", 3))
    legend(fig, ax, rows, "algorithm, with its best options")
    return save(fig, target, suffix)


def draw_map(sweeps: Sequence[Sweep], target: Target = None, format: str | None = None) -> Figure:
    """The best algorithm of a collective by number of ranks and size; the options stand in the cells.

    Parameters
    ----------
    sweeps : sequence of Sweep
        Sweeps of one collective with the same sizes on different numbers of ranks.
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
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    suffix = still_suffix(target, format)
    sweeps = sorted(sweeps, key=lambda s: s.scenario.ranks)
    choices = [[s.choices[c] for c in s.best] for s in sweeps]
    names = list(dict.fromkeys(choice.name for line in choices for choice in line))
    sizes = np.maximum(sweeps[0].sizes, 1)
    height = 2.4 + 0.42 * len(sweeps)
    fig, ax = figure(f"{sweeps[0].collective}: the best algorithm", _words(sweeps[-1]), height)
    cells = np.array([[names.index(choice.name) for choice in line] for line in choices])
    colours = [CLASSES[k % len(CLASSES)] for k in range(len(names))]
    ax.pcolormesh(cells, cmap=ListedColormap(colours), vmin=-0.5, vmax=len(names) - 0.5)
    ax.hlines(range(1, len(sweeps)), 0, len(sizes), color="white", linewidth=2)
    shown = range(0, len(sizes), max(1, len(sizes) // 8))
    labels = column([int(sweeps[0].sizes[k]) for k in shown], 3)
    decimal = any(label[-2] in "kMGTP" for label in labels)
    for y, line in enumerate(choices):
        for begin, end, choice in _runs(line):
            ax.vlines(end, y, y + 1, color="white", linewidth=1)
            words = _options(choice, decimal)
            if words and 7.5 * (end - begin) / len(line) * 12 > len(words):
                ink = _on(colours[names.index(choice.name)])
                ax.text((begin + end) / 2, y + 0.5, words, ha="center", va="center", size=8.5, color=ink)
    ax.set_yticks(np.arange(len(sweeps)) + 0.5, [f"{s.scenario.ranks:,}" for s in sweeps])
    ax.set_xticks([k + 0.5 for k in shown], labels)
    ax.set_ylabel("ranks")
    ax.set_xlabel("message size")
    legend(fig, ax, [(Patch(color=colour), name) for name, colour in zip(names, colours, strict=True)], "algorithm")
    return save(fig, target, suffix)


def _by_merit(sweep: Sweep) -> dict[str, Any]:
    """Best time of every algorithm at each size; those that are best most often come first.

    NaN where none was predicted or it is far from the best: what is known there is a matter of chance, since only what
    may be best is simulated. No more algorithms than there are colours.
    """
    lines: dict[str, Any] = {}
    for c, choice in enumerate(sweep.choices):
        if not np.isnan(sweep.seconds[c]).all():
            known = lines.get(choice.name)
            lines[choice.name] = sweep.seconds[c] if known is None else np.fmin(known, sweep.seconds[c])
    best = np.fmin.reduce(list(lines.values()))
    near = {name: _joined(np.where(times <= _FAR * best, times, np.nan)) for name, times in lines.items()}
    shown = [name for name, times in near.items() if np.isfinite(times).any()]
    order = sorted(shown, key=lambda name: (-int((near[name] == best).sum()), np.nanmin(near[name] / best), name))
    return {name: near[name] for name in order[: len(CLASSES)]}


def _words(sweep: Sweep) -> str:
    words = sweep.scenario.words()
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


def _joined(times: Any) -> Any:
    """Without times that have no neighbour to draw a line to."""
    known = np.pad(np.isfinite(times), 1)
    return np.where(known[:-2] | known[2:] | (len(times) == 1), times, np.nan)


def _boundary(bytes: int, decimal: bool) -> str:
    """A size between those of the axis, in its family of units."""
    if decimal:
        return text(bytes, "B", 3, decimal=True)
    power = max((bytes.bit_length() - 1) // 10, 0)
    return f"{bytes / 1024**power:.3g} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[min(power, 4)]}"


def _on(colour: str) -> str:
    """A readable text colour: white, or ink on a light colour."""
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "white"


def _options(choice: Choice, decimal: bool) -> str:
    parts = (
        f"{key} {text(value, 'B', 3, decimal=decimal) if key == 'segment' and isinstance(value, int) else value}"
        for key, value in choice.options.items()
        if value
    )
    return ", ".join(parts)
