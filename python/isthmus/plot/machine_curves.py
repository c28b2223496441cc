"""Pictures of machines: charts of measured and modelled curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..units import text
from .chart import LEFT, Target, figure, legend, save, still_suffix
from .common import FAINT, INK, MUTED
from .machine_charts import Chart, chart_named

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..machine import Machine

#: Ticks of an axis in one unit.
_TICKS = 8
_DASHES: tuple[Any, ...] = ((0, (5, 1.6)), (0, (1.6, 1.2)), (0, (6, 1.5, 1.5, 1.5)))


def plot_chart(chart: Chart, target: Target = None, format: str | None = None) -> Figure:
    """Draw one chart.

    Parameters
    ----------
    chart : Chart
    target : path or binary stream, optional
        .png, .svg or .pdf; by default none.
    format : str, optional
        Format of what is written to a stream.

    Returns
    -------
    matplotlib.figure.Figure
    """
    suffix = still_suffix(target, format)
    if chart.cells:
        return save(_cells(chart), target, suffix)
    hollow = any(any(line.few) for line in chart.lines)
    fig, ax = figure(chart.title, chart.words + (" Hollow marks: fewer than six samples." if hollow else ""), 6.2)
    box = ax.get_position()
    ax.set_position((box.x0 + 0.012, box.y0, box.width - 0.012, box.height))
    rows: list[tuple[Any, str]] = []
    for line in chart.lines:
        x, y = np.asarray(line.x, float), np.asarray(line.y, float)
        if not chart.linear:
            x = np.maximum(x, _least(chart))
        if line.mark:
            if len(line.low):
                ax.fill_between(x, line.low, line.high, color=line.colour, alpha=0.18, linewidth=0, zorder=2)
            mark = {"marker": line.mark, "markersize": 4.5, "linewidth": 1.1}
            (drawn,) = ax.plot(x, y, color=line.colour, zorder=3, **mark)
            few = np.array(line.few, bool) if len(line.few) else np.zeros(len(x), bool)
            ax.plot(x[few], y[few], line.mark, markersize=4, color="white", markeredgecolor=line.colour, zorder=4)
        else:
            (drawn,) = ax.plot(
                x, y, color=line.colour, linewidth=2.2, alpha=0.6, linestyle=_DASHES[line.dash % 3], zorder=1.5
            )
        rows.append((drawn, line.label))
    _axes(ax, chart)
    legend(fig, ax, rows, "", 29, 3.4)
    return save(fig, target, suffix)


def _least(chart: Chart) -> float:
    """Where 0 is drawn on a logarithmic axis: half of the least number above it."""
    above = [x for line in chart.lines for x in line.x if x > 0]
    return min(above, default=1.0) / 2


def _axes(ax: Any, chart: Chart) -> None:
    ax.set_xlabel(chart.x_label)
    ax.set_ylabel(chart.y_label)
    ax.grid(color="#EEF2F5", linewidth=0.8)
    ax.set_axisbelow(True)
    numbers = sorted(
        {x for line in chart.lines for x in line.x if line.mark} or {x for li in chart.lines for x in li.x}
    )
    top = max((y for line in chart.lines for y in line.y), default=1.0)
    if chart.linear:
        ax.set_ylim(0, 1.08 * top)
        ax.set_xlim(min(numbers) - 0.3, max(numbers) + 0.3)
        ax.xaxis.get_major_locator().set_params(integer=True)
    else:
        ax.set_xscale("log", base=10 if chart.x_unit else 2)
        shares = chart.y_unit == ""
        ax.set_yscale("linear" if shares else "log")
        if shares:
            ax.set_ylim(0, max(1.02, 1.08 * top))
        if chart.x_unit == "B":
            every = [x for line in chart.lines for x in line.x]
            _bytes(ax, min(every), max(every))
        elif not chart.x_unit:
            shown = numbers[:: max(1, -(-len(numbers) // _TICKS))]
            zero = _least(chart)
            ax.set_xticks([max(x, zero) for x in shown], [f"{x:,.0f}" for x in shown])
            ax.minorticks_off()
    if chart.x_unit == "s":
        ax.xaxis.set_major_formatter(lambda x, _: text(float(f"{x:.4g}"), "s", 3))
    if chart.y_unit:
        ax.yaxis.set_major_formatter(
            lambda y, _: text(float(f"{y:.4g}"), chart.y_unit, 3, decimal=True) if y > 0 else "0"
        )
        if not chart.linear:
            _few_decades(ax)
    else:
        ax.yaxis.set_major_formatter(lambda y, _: f"{100 * y:.0f} %")


def _few_decades(ax: Any) -> None:
    """Where an axis spans few decades, 2 and 5 have ticks too."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = ax.get_ylim()
    if high / max(low, 1e-300) < 1e4:
        ax.yaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0) if high / low < 300 else (1.0, 3.0)))
    ax.yaxis.set_minor_formatter(NullFormatter())


def _bytes(ax: Any, low: float, high: float) -> None:
    """Powers of ten, about eight of them; 2 and 5 too where there are few. Like all amounts in powers of 1000."""
    first, last = int(np.floor(np.log10(max(low, 1)))), int(np.ceil(np.log10(max(high, 10))))
    step = max(1, -(-(last - first) // _TICKS))
    between = (1, 2, 5) if last - first < 3 else (1,)
    shown = [float(m * 10**k) for k in range(first, last + 1, step) for m in between]
    shown = [size for size in shown if low / 1.5 <= size <= 1.5 * high] or [low, high]
    ax.set_xticks(shown, [text(size, "B", 3, decimal=True) for size in shown])
    ax.minorticks_off()


def _cells(chart: Chart) -> Figure:
    """Matrices side by side, each number in its cell."""
    width = 12.8
    fig, ax = figure(chart.title, chart.words, 6.2, width)
    box = ax.get_position()
    ax.remove()
    count = len(chart.cells)
    each = (1 - 2 * LEFT / width) / count
    top = max(value for _, rows in chart.cells for row in rows for value in row)
    for i, (label, rows) in enumerate(chart.cells):
        at = fig.add_axes((LEFT / width + i * each, box.y0, 0.86 * each, box.height - 0.05))
        size = len(rows)
        edges = np.arange(size + 1) - 0.5
        at.pcolormesh(edges, edges, np.array(rows), cmap="Blues", vmin=0, vmax=1.15 * top, edgecolors="white")
        at.set_aspect("equal")
        at.invert_yaxis()
        for a in range(size):
            for b in range(size) if size <= 16 else ():
                ink = "white" if rows[a][b] > 0.65 * top else INK
                words = text(rows[a][b], chart.y_unit, 3)
                at.text(b, a, words, ha="center", va="center", color=ink, size=11 if size <= 4 else 7)
        at.set_title(label if count > 1 else "", loc="left", size=11, color=MUTED)
        at.set_xticks(range(size))
        at.set_yticks(range(size))
        at.set_xlabel(chart.x_label, color=INK)
        at.set_ylabel(chart.y_label if i == 0 else "", color=INK)
        at.tick_params(length=0, colors=INK)
        for side in at.spines.values():
            side.set_color(FAINT)
    return fig  # type: ignore[no-any-return]


def plot_machine(machine: Machine, name: str, target: Target = None, format: str | None = None) -> Figure:
    """Draw one chart of a machine; see :meth:`Machine.plot`."""
    return plot_chart(chart_named({machine.name: machine}, name), target, format)
