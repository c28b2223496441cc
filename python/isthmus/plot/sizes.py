"""Machines over numbers of ranks: times, efficiency, and where they differ."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .chart import save, still_suffix
from .common import CLASSES, FAINT, INK, MUTED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Ticks of sizes; more do not fit under a panel.
_TICKS = 8
#: Times that differ by more than this factor are drawn on a logarithmic axis.
_LOGARITHMIC = 5
#: Colours of parts: those of machines are the first of CLASSES.
_PARTS = ("#0072B2", "#56B4E9", "#009E73", "#F0E442", "#CC79A7", "#E69F00", "#7A5195", "#D55E00", "#8C6D31", "#26323D",
          "#9AA5AE")  # fmt: skip


def plot_sizes(
    words: str,
    names: Sequence[str],
    ranks: Sequence[int],
    curves: Mapping[str, tuple[Sequence[float], Sequence[float | None]]],
    why: Mapping[str, Sequence[Mapping[str, float]]],
    crossed: Sequence[tuple[float, float | None, float | None]],
    title: Callable[[str], str],
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw times and efficiency of machines over ranks, and for each machine but the first the parts of its difference.

    Parameters
    ----------
    words : str
        Title.
    names : sequence of str
        Machines.
    ranks : sequence of int
    curves : mapping of str to (seconds, efficiencies)
        By machine, one each for each number of ranks.
    why : mapping of str to sequence of mapping
        By machine and number of ranks: seconds by part, beside ``ranks`` and ``longer``, which is their sum.
    crossed : sequence of (ranks, low, high)
        Crossovers, with the range in which they may lie.
    title : callable
        From a part to what it is called.
    path : path, optional
        File to write: .png, .svg or .pdf; by default none.
    """
    from matplotlib.figure import Figure

    suffix = still_suffix(path)
    figure: Any = Figure(figsize=(12.8, 5.2 + 4.2 * len(why)), layout="constrained", facecolor="white")
    figure.suptitle(words, x=0.01, ha="left", size=15, weight="bold", color=INK)
    grid = figure.add_gridspec(1 + len(why), 2)
    times, efficiency = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[0, 1])
    for i, name in enumerate(names):
        seconds, efficiencies = curves[name]
        colour = CLASSES[i % len(CLASSES)]
        times.plot(ranks, seconds, "o-", ms=4, lw=1.8, color=colour, label=name)
        known = [np.nan if value is None else 100 * value for value in efficiencies]
        efficiency.plot(ranks, known, "o-", ms=4, lw=1.8, color=colour, label=name)
    for at, low, high in crossed:
        if low is not None and high is not None:
            times.axvspan(low, high, color=FAINT, alpha=0.45, lw=0)
        times.axvline(at, color=MUTED, lw=1, ls="--")
    values = [value for seconds, _ in curves.values() for value in seconds]
    if min(values) > 0 and max(values) > _LOGARITHMIC * min(values):
        times.set_yscale("log")
    efficiency.set_ylim(bottom=0)
    for axes, label in ((times, "time (s)"), (efficiency, "efficiency (%)")):
        axes.set_ylabel(label)
        axes.legend(frameon=False)
        _sizes(axes, ranks)
    for line, (name, rows) in enumerate(why.items(), 1):
        _stack(figure.add_subplot(grid[line, :]), ranks, name, names[0], rows, title)
    found: Figure = save(figure, path, suffix)
    return found


def _sizes(axes: Any, ranks: Sequence[int]) -> None:
    from matplotlib.ticker import NullLocator

    axes.set_xscale("log", base=2)
    step = -(-len(ranks) // _TICKS)
    axes.set_xticks(ranks[::step], [f"{size:,}" for size in ranks[::step]])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("ranks")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#EEF2F5", linewidth=0.8)
    axes.set_axisbelow(True)


def _stack(
    axes: Any,
    ranks: Sequence[int],
    name: str,
    first: str,
    rows: Sequence[Mapping[str, float]],
    title: Callable[[str], str],
) -> None:
    """What makes it slower above the axis, what makes it faster below; a mark for both together."""
    parts = [part for part in rows[0] if part not in ("ranks", "longer") and any(row[part] for row in rows)]
    most = max((abs(row[part]) for row in rows for part in (*parts, "longer")), default=0.0)
    power, unit = next(((p, u) for p, u in ((1, "s"), (1e-3, "ms"), (1e-6, "us")) if most >= p), (1e-9, "ns"))
    place = np.arange(len(ranks))
    above, below = np.zeros(len(ranks)), np.zeros(len(ranks))
    for number, part in enumerate(parts):
        values = np.array([row[part] for row in rows]) / power
        base = np.where(values >= 0, above, below)
        axes.bar(place, values, 0.7, bottom=base, color=_PARTS[number % len(_PARTS)], label=title(part))
        above += np.maximum(values, 0)
        below += np.minimum(values, 0)
    axes.plot(place, [row["longer"] / power for row in rows], "D", color=INK, ms=5, label="in all")
    axes.axhline(0, color=INK, lw=0.8)
    axes.set_xticks(place, [f"{size:,}" for size in ranks])
    axes.set_xlabel("ranks")
    axes.set_ylabel(f"time of {name} beyond {first} ({unit})")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1), fontsize=9)
