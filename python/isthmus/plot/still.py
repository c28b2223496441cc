"""Pictures on paper: PNG, SVG and PDF by Matplotlib, without its global state."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

from .common import INK, MUTED
from .layout import fit, key_rows, line_colours, line_width, mix
from .scene import Lines, Marks, Notes, Panel, Scene, Shapes, project

WIDTH, HEIGHT, DPI = 12.8, 8.4, 110
_LEFT, _RIGHT, _BOTTOM = 0.022, 0.742, 0.085  # of the space for drawings, parts of the figure
_SIDE = 0.76
_SHAPES = {"circle": "o", "square": "s", "diamond": "D", "triangle": "^"}


def figure(scene: Scene) -> Any:
    """Draw a scene.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    fig = Figure(figsize=(WIDTH, HEIGHT), dpi=DPI, facecolor="white")
    FigureCanvasAgg(fig)
    y = 0.968
    fig.text(_LEFT, y, scene.title, size=17, weight="bold", color=INK, va="top")
    y -= 0.047
    if scene.subtitle:
        fig.text(_LEFT, y, scene.subtitle, size=11, color=INK, va="top")
        y -= 0.034
    rows = textwrap.wrap(scene.facts, 150)
    fig.text(_LEFT, y, "\n".join(rows), size=10, color=MUTED, va="top", linespacing=1.4)
    y -= 0.013 + 0.027 * len(rows)
    caption = textwrap.wrap(scene.caption.strip(), 165)
    fig.text(_LEFT, 0.02, "\n".join(caption), size=9, color=MUTED, va="bottom", linespacing=1.35)
    bottom = max(_BOTTOM, 0.045 + 0.021 * len(caption))
    for panel in scene.panels:
        x0, y0, w, h = panel.box
        wide, high = _RIGHT - _LEFT, y - bottom
        box = (_LEFT + x0 * wide, bottom + y0 * high, w * wide, h * high)
        if panel.axes is not None:
            box = (box[0] + 0.055, box[1] + 0.045, box[2] - 0.055, box[3] - 0.06)
        elif panel.title:
            box = (box[0], box[1], box[2], box[3] - 0.03)
        draw_panel(fig, scene, panel, box)
    draw_keys(fig, scene, y)
    return fig


def draw_panel(fig: Any, scene: Scene, panel: Panel, box: tuple[float, float, float, float]) -> None:
    """Draw one panel in its box, parts of the figure."""
    ax = fig.add_axes(box)
    low, high, scale = fit(panel, box[2] * WIDTH * 72, box[3] * HEIGHT * 72)
    if panel.axes is not None:
        low, high = panel.bounds()
        span = high - low
        ax.set(xlabel=panel.axes[0], ylabel=panel.axes[1])
        ax.spines[["top", "right"]].set_visible(False)
        ax.ticklabel_format(style="plain", axis="y")
        ax.set_xlim(low[0] - 0.02 * span[0], high[0] + 0.02 * span[0])
        ax.set_ylim(low[1], high[1] + 0.06 * span[1])
        ax.tick_params(colors=INK, labelsize=10)
        ax.xaxis.get_major_locator().set_params(integer=True)
    else:
        ax.set_xlim(low[0], high[0])
        ax.set_ylim(low[1], high[1])
        ax.set_xticks([])
        ax.set_yticks([])
        ax.patch.set_visible(False)
        for spine in ax.spines.values():
            spine.set_visible(panel.framed)
            spine.set_color("#C3CCD4")
    if panel.title:
        fig.text(box[0], box[1] + box[3] + 0.008, panel.title, size=10.5, weight="bold", color=INK, va="bottom")
    for item in panel.items:
        draw_item(ax, scene, item, scale)


def draw_item(ax: Any, scene: Scene, item: Any, scale: float) -> None:
    """Draw lines, marks, shapes or words."""
    from matplotlib.collections import LineCollection, PolyCollection

    if isinstance(item, Lines):
        paths, colours = [project(p) for p in item.paths], line_colours(scene, item)
        if item.values is not None:  # large values on top
            order = np.argsort(np.nan_to_num(item.values, nan=-np.inf), kind="stable")
            paths, colours = [paths[i] for i in order], [colours[i] for i in order]
        ax.add_collection(
            LineCollection(
                paths,
                colors=colours,
                linewidths=line_width(item),
                alpha=item.alpha,
                linestyles=(0, (2.2, 1.8)) if item.dashed else "solid",
                zorder=item.order,
                gid=item.name or None,
                capstyle="butt" if item.dashed else "round",
            ),
            autolim=False,
        )
    elif isinstance(item, Shapes):
        ax.add_collection(
            PolyCollection(
                [project(p) for p in item.polygons],
                facecolors=item.face,
                edgecolors=item.edge,
                linewidths=item.width,
                alpha=item.alpha,
                zorder=item.order,
                gid=item.name or None,
            ),
            autolim=False,
        )
    elif isinstance(item, Marks):
        size = float(np.clip(item.size * scale, *item.limits))
        at = project(item.points)
        ax.scatter(
            at[:, 0],
            at[:, 1],
            s=size**2,
            c=item.color,
            marker=_SHAPES[item.shape],
            edgecolors=item.edge,
            linewidths=min(1.2, 0.07 * size) if item.edge == "white" else 1.2,
            zorder=item.order,
            gid=item.name or None,
        )
    else:
        assert isinstance(item, Notes)
        vertical = {"top": "top", "middle": "center", "bottom": "bottom"}[item.anchor[1]]
        for point, text in zip(project(item.points), item.texts, strict=True):
            ax.text(
                *point,
                text,
                size=item.size,
                color=item.color,
                ha=item.anchor[0],
                va=vertical,
                weight="bold" if item.bold else "normal",
                zorder=item.order,
                linespacing=1.2,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.2} if item.backing else None,
            )


def draw_keys(fig: Any, scene: Scene, top: float) -> None:
    """Draw the legend at the side and, where lines have values, the bar of their colours."""
    ax = fig.add_axes((_SIDE, 0.02, 0.985 - _SIDE, top - 0.02))
    high = (top - 0.02) * HEIGHT * 72
    ax.set_xlim(0, (0.985 - _SIDE) * WIDTH * 72)
    ax.set_ylim(0, high)
    ax.axis("off")
    y = high - 8
    if scene.values is not None:
        low, top_value = scene.values
        ax.text(0, y, scene.values_label, size=10, weight="bold", color=INK, va="center")
        for i in range(48):
            ax.fill(
                [i * 4, i * 4 + 4.4, i * 4 + 4.4, i * 4],
                [y - 24, y - 24, y - 12, y - 12],
                color=mix(i / 47),
                lw=0,
            )
        ax.text(0, y - 34, f"{low:.4g}", size=9, color=INK, va="center")
        ax.text(192, y - 34, f"{top_value:.4g}", size=9, color=INK, va="center", ha="right")
        y -= 58
    for key, rows in key_rows(scene.keys, 40):
        if key.swatch == "heading":
            y -= 8
        draw_swatch(ax, key.swatch, key.color, y)
        left = 0 if key.swatch in ("heading", "text") else 27
        heading = key.swatch == "heading"
        for row in rows:
            ax.text(
                left,
                y,
                row,
                size=10 if heading else 9,
                va="center",
                color=INK,
                weight="bold" if heading else "normal",
            )
            y -= 14
        y -= 3.5


def draw_swatch(ax: Any, swatch: str, color: str, y: float) -> None:
    """Draw the sample before the words of a legend entry."""
    if swatch in ("line", "dash"):
        ax.plot([1, 20], [y, y], color=color, lw=2.4, ls="-" if swatch == "line" else (0, (2.2, 1.4)))
    elif swatch in ("dot", *_SHAPES):
        ax.plot([10.5], [y], marker=_SHAPES.get(swatch, "o"), ms=8, color=color, mec="white", mew=0.6)
