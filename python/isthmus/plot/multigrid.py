"""Pictures of hierarchies and of what their cycles cost, level by level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from ..schedule.summary import counted
from .chart import Target, figure, legend, save, still_suffix
from .common import CLASSES, INK, MUTED, ROUTE

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from ..multigrid import Hierarchy, Operator, Scenarios

#: Cells along a side of a picture of who sends to whom: more parts share cells.
_CELLS = 256


def plot_hierarchy(hierarchy: Hierarchy, target: Target = None, what: str = "levels") -> Figure:
    """Draw a hierarchy; see :meth:`isthmus.multigrid.Hierarchy.plot`.

    Raises
    ------
    InvalidInput
        For another picture or suffix.
    """
    if what not in ("levels", "exchange"):
        raise InvalidInput(f"{what!r}: must be levels or exchange")
    return (_levels if what == "levels" else _exchange)(hierarchy, target)


def _levels(hierarchy: Hierarchy, target: Target) -> Figure:
    suffix = still_suffix(target, None)
    words = "The most that one part sends for a product with the matrix (A), an interpolation (P), a restriction (R)."
    on = f"{counted(len(hierarchy), 'level')} on {counted(hierarchy.parts, 'part')}"
    fig, ax = figure(on, words, 6.4)
    # Messages above, the size of one below.
    box = ax.get_position()
    ax.set_position((box.x0, box.y0 + 0.5 * box.height, box.width, 0.5 * box.height))
    below = fig.add_axes((box.x0, box.y0, box.width, 0.44 * box.height))
    rows: list[tuple[Any, str]] = []
    frame = hierarchy.frame()
    at = np.arange(len(frame))
    for name, colour in zip("APR", CLASSES, strict=False):
        sends = np.array([row[f"{name}_sends"] or 0 for row in frame], float)
        size = np.array([row[f"{name}_bytes"] or 0 for row in frame], float)
        bars = ax.bar(at + 0.27 * ("APR".index(name) - 1), sends, 0.25, color=colour)
        mean = np.divide(size, sends, out=np.full(len(at), np.nan), where=sends > 0)
        below.plot(at, mean, color=colour, marker="o", markersize=3.5, linewidth=1.4)
        rows.append((bars, name))
    ax.set_xticks([])
    ax.set_ylabel("messages of a part", color=INK)
    below.set_xlim(ax.get_xlim())
    below.set_xticks(at, [f"{i}\n{row['rows']:,}" for i, row in enumerate(frame)])
    below.set_xlabel("level and its rows", color=INK)
    if any(row["A_sends"] for row in frame):  # one part alone sends nothing, which has no logarithm
        below.set_yscale("log")
    below.set_ylabel("bytes of one", color=INK)
    for side in ("top", "right"):
        below.spines[side].set_visible(False)
    legend(fig, ax, rows, "operator")
    return save(fig, target, suffix)


def _exchange(hierarchy: Hierarchy, target: Target) -> Figure:
    from matplotlib.colors import LogNorm

    suffix = still_suffix(target, None)
    count = len(hierarchy)
    wide = min(count, 5)
    deep = -(-count // wide)
    words = "Bytes for a product with each level's matrix."
    fig, first = figure(f"Who sends to whom on {counted(hierarchy.parts, 'part')}", words, 0.9 + 2.9 * deep)
    first.remove()
    images = [_image(level.matrix) for level in hierarchy.levels]
    most = max(float(np.nanmax(one, initial=8.0)) for one in images)
    drawn = None
    for i, one in enumerate(images):
        ax = fig.add_subplot(deep, wide, i + 1)
        shown = np.where(one > 0, one, np.nan)
        drawn = ax.imshow(shown, norm=LogNorm(8, max(most, 9)), cmap="viridis_r", interpolation="nearest")
        operator = hierarchy.levels[i].matrix
        ax.set_title(
            f"level {i}: {counted(operator.active, 'part')}, {counted(len(operator.exchange), 'pair')}",
            fontsize=8,
            color=INK,
        )
        ax.set_xticks([])
        ax.set_yticks([])
    fig.subplots_adjust(left=0.02, right=0.9, top=0.74 if deep == 1 else 0.82, bottom=0.03, hspace=0.2, wspace=0.08)
    bar = fig.colorbar(drawn, cax=fig.add_axes((0.92, 0.08, 0.012, 0.6)))
    bar.set_label("bytes", fontsize=8, color=MUTED)
    bar.ax.tick_params(labelsize=7)
    return save(fig, target, suffix)


def _image(operator: Operator) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Bytes from rows to columns, in at most so many cells."""
    exchange, parts = operator.exchange, operator.parts
    side = min(parts, _CELLS)
    rows = exchange.sources().astype(np.int64) * side // parts
    columns = exchange.peer.astype(np.int64) * side // parts
    flat = np.bincount(rows * side + columns, weights=exchange.bytes.astype(np.float64), minlength=side * side)
    return np.asarray(flat, np.float64).reshape(side, side)


def plot_scenarios(scenarios: Scenarios, target: Target = None) -> Figure:
    """Draw seconds of every level by all scenarios, and measured ones where they are known."""
    suffix = still_suffix(target, None)
    words = "Seconds of a cycle on every level, by each scenario of the model."
    if scenarios.best is not None:
        words += f" Thick: {scenarios.best}, nearest to what was measured (black)."
    fig, ax = figure("Cost of a cycle", words, 6.8)
    rows = _lines(ax, scenarios.levels, scenarios.best)
    if scenarios.measured is not None:
        at = np.arange(len(scenarios.measured))
        (line,) = ax.plot(at, scenarios.measured, color="black", marker="s", markersize=4, linewidth=2)
        rows.append((line, "measured"))
    if any((seconds > 0).any() for seconds in scenarios.levels.values()):
        ax.set_yscale("log")
    ax.set_xlabel("level", color=INK)
    ax.set_ylabel("seconds", color=INK)
    ax.set_xticks(np.arange(len(next(iter(scenarios.levels.values())))))
    legend(fig, ax, rows, "scenario")
    return save(fig, target, suffix)


def _lines(ax: Any, levels: Mapping[str, NDArray[np.float64]], best: str | None) -> list[tuple[Any, str]]:
    rows = []
    dashes = ("-", "--", ":")
    for i, (name, seconds) in enumerate(levels.items()):
        colour = ROUTE if name == best else CLASSES[i % len(CLASSES)]
        positive = np.where(np.asarray(seconds) > 0, seconds, np.nan)
        (line,) = ax.plot(
            np.arange(len(positive)), positive, color=colour, marker="o", markersize=3,
            linewidth=2.6 if name == best else 1.2, linestyle=dashes[i // len(CLASSES) % 3],
        )  # fmt: skip
        # Nearly all begin alike.
        rows.append((line, name.replace("alpha-beta-gamma +", "... +")))
    return rows
