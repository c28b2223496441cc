"""Pictures of a placement beside the one before: load of links, lengths of routes, tasks in space."""

from __future__ import annotations

import os
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from ..units import percent
from .chart import figure, legend, save, still_suffix
from .common import INK, MUTED, count, quantity
from .load_map import Layout, load_map
from .nodes import draw_nodes
from .task_space import graph_space
from .traffic import draw_field, load_colours

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from ..mapping.mapped import Mapped
    from ..mapping.metrics import Metrics

KINDS = ("load", "dilation", "placement")
#: Before and after: told apart also by those who are colour-blind (Okabe and Ito, 2008).
_BEFORE, _AFTER = "#E69F00", "#0072B2"
#: The same, to be seen on bars of it.
_BEFORE_LINE, _AFTER_LINE = "#8A5F00", "#003A5C"
# Inches: of a picture, between the columns, of the strip with the scale.
_WIDTH, _GAP, _SCALE = 12.8, 0.3, 1.3


def plot_mapped(mapped: Mapped, path: str | os.PathLike[str] | None = None, kind: str = "load") -> Figure:
    """Draw a placement beside the allocation's order.

    Parameters
    ----------
    mapped : Mapped
    path : path, optional
        File to write: .png, .svg or .pdf; by default none.
    kind : {"load", "dilation", "placement"}
        ``load``: bytes over every link, in per cent of the most before; on networks whose links have no places on
        paper, how many links carry how much. ``dilation``: bytes by links on their route. ``placement``: nodes in
        space, in colours by where their tasks are in the program: neighbours there have similar ones.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InvalidInput
        For another suffix or kind.
    """
    if kind not in KINDS:
        raise InvalidInput(f"a picture of a placement of kind {kind!r}: must be one of {', '.join(KINDS)}")
    suffix = still_suffix(path)
    before = mapped.before["default"]
    draw = {"load": _load, "dilation": _dilation, "placement": _placement}[kind]
    return save(draw(mapped, before, mapped.metrics), path, suffix)


def _facts(mapped: Mapped) -> str:
    p = mapped.placement
    parts = [f"{count(p.ranks)} ranks on {count(len(p.nodes))} nodes", quantity(mapped.metrics.bytes, "B")]
    return "  ·  ".join([*parts, p.machine.title, f"by {mapped.method}"])


def _gain(what: str, before: float, after: float) -> str:
    if not before:
        return what
    change = 100 * (after / before - 1)
    if abs(change) < 0.5:
        return f"{what}: as before"
    return f"{what}: {percent(abs(change) / 100, 0)} {'less' if change <= 0 else 'more'} than before"


def _load(mapped: Mapped, before: Metrics, after: Metrics) -> Any:
    from matplotlib.colors import Normalize

    topology = mapped.placement.machine.topology
    most = max(before.maximum_link_load, 1e-300)
    loads = [m.link_bytes / most for m in (before, after)]
    drawn = [load_map(topology, load, narrow=True, beside=loads) for load in loads]
    title = _gain("Most loaded link", before.maximum_link_load, after.maximum_link_load)
    if drawn[0] is None or drawn[1] is None:
        return _load_curves(mapped, before, after, title)
    wide = (_WIDTH - 0.56 - _SCALE - _GAP) / 2
    layouts = [Layout(d, wide) for d in drawn if d is not None]
    high = max(layout.height for layout in layouts)
    captions = [d.caption for d in drawn if d is not None]
    same = captions[0] == captions[1]
    caption = textwrap.wrap(captions[0] if same else f"Before: {captions[0]} After: {captions[1]}", 150)
    height = max(1.75 + high + 0.19 * len(caption), 4.4)
    fig, ax = figure(title, _facts(mapped), height)
    top = ax.get_position().y1 - 0.3 / height
    ax.remove()
    colours, norm = load_colours(), Normalize(0, 100 * max(1.0, after.maximum_link_load / most))
    for i, (d, layout, m) in enumerate(zip(drawn, layouts, (before, after), strict=True)):
        assert d is not None
        left = 0.28 + i * (wide + _GAP)
        words = f"{('before', 'after')[i]}: at most {quantity(m.maximum_link_load, 'B')}"
        fig.text(left / _WIDTH, top + 0.08 / height, words, size=12, weight="bold", color=INK, va="bottom")
        for f in d.fields:
            x, y, w, h = layout.box(f)
            box = ((left + x) / _WIDTH, top - (y + h) / height, w / _WIDTH, h / height)
            image = draw_field(fig.add_axes(box), f, colours, norm)
    fig.text(0.28 / _WIDTH, 0.14 / height, "\n".join(caption), size=9, color=MUTED, va="bottom", linespacing=1.35)
    bar = fig.add_axes((1 - (_SCALE - 0.25) / _WIDTH, top - 2.6 / height, 0.22 / _WIDTH, 2.4 / height))
    fig.colorbar(image, cax=bar)
    bar.yaxis.set_major_formatter(lambda v, _: f"{v:g} %")
    bar.tick_params(length=3, labelsize=9.5, labelcolor=INK)
    bar.spines[:].set_visible(False)
    bar.set_title("of the most\nbefore", size=9, color=MUTED, loc="left", pad=10)
    bar.set_xlabel("grey: none", size=9, color=MUTED, loc="left", labelpad=8)
    return fig


def _load_curves(mapped: Mapped, before: Metrics, after: Metrics, title: str) -> Any:
    fig, ax = figure(title, _facts(mapped), 6.4)
    rows = []
    for name, m, colour in (("before", before, _BEFORE), ("after", after, _AFTER)):
        load = np.sort(m.link_bytes[m.link_bytes > 0])[::-1]
        line = ax.step(np.arange(1, len(load) + 1), load, where="mid", color=colour, lw=2)[0]
        words = f"{name}: {count(len(load))} links, at most {quantity(m.maximum_link_load, 'B')}"
        rows.append((line, words))
    ax.set_ylim(bottom=0)
    ax.set_xlabel("links that carry something, most loaded first")
    ax.set_ylabel("bytes over the link")
    ax.yaxis.set_major_formatter(lambda v, _: quantity(v, "B") if v else "0")
    legend(fig, ax, rows, "Placement", 31)
    return fig


def _dilation(mapped: Mapped, before: Metrics, after: Metrics) -> Any:
    from matplotlib.patches import Patch

    title = _gain("Hop-bytes", before.hop_bytes, after.hop_bytes)
    fig, ax = figure(title, _facts(mapped), 6.4)
    rows: list[tuple[Any, str]] = []
    last = max(before.maximum_dilation, after.maximum_dilation)
    for i, (name, m, colour, line) in enumerate(
        (("before", before, _BEFORE, _BEFORE_LINE), ("after", after, _AFTER, _AFTER_LINE))
    ):
        share = np.zeros(last + 1)
        share[: len(m.dilation_bytes)] = 100 * m.dilation_bytes / max(m.bytes, 1e-300)
        ax.bar(np.arange(last + 1) + (i - 0.5) * 0.4, share, 0.4, color=colour, linewidth=0, zorder=2)
        rows.append((Patch(color=colour), f"{name}: mean {m.average_dilation:.3f}, at most {m.maximum_dilation}"))
        ax.axvline(m.average_dilation, color=line, lw=1.6, ls=(0, (3, 2)), zorder=3)
    ax.set_xlim(-0.6, last + 0.6)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("links on the route (dashed: mean of a byte)")
    ax.set_ylabel("share of bytes (%)")
    legend(fig, ax, rows, "Placement", 31)
    return fig


def _placement(mapped: Mapped, before: Metrics, after: Metrics) -> Any:
    colours, words = task_colours(mapped)
    high = 7.2
    fig, ax = figure("Tasks in the machine", _facts(mapped), high)
    top = ax.get_position().y1
    ax.remove()
    reading = ""
    box = np.union1d(before.placement.nodes, after.placement.nodes)
    for i, m in enumerate((before, after)):
        left = 0.02 + 0.49 * i
        panel = fig.add_axes((left, 0.09, 0.47, top - 0.14))
        name = f"{('before', 'after')[i]}: {m.average_dilation:.3f} links a byte"
        fig.text(left + 0.01, top - 0.02, name, size=12, weight="bold", color=INK, va="bottom")
        # A node has the mean colour of its tasks.
        p = m.placement
        place = np.searchsorted(p.nodes, p.node)
        tasks = np.bincount(place)
        mean = np.stack([np.bincount(place, colours[:, k]) / tasks for k in range(3)], axis=1)
        reading = draw_nodes(panel, p.machine, p.nodes, mean, box)
    fig.text(
        0.022, 0.03, "\n".join(textwrap.wrap(f"{words} {reading}", 165)), size=9, color=MUTED, va="bottom",
        linespacing=1.35,
    )  # fmt: skip
    return fig


def task_colours(mapped: Mapped) -> tuple[NDArray[np.float64], str]:
    """A colour of every task, shape (tasks, 3), and in words what it stands for."""
    coordinates, words = task_coordinates(mapped)
    low, high = coordinates.min(axis=0), coordinates.max(axis=0)
    unit = (coordinates - low) / np.maximum(high - low, 1e-300)
    if unit.shape[1] == 1:
        from matplotlib import colormaps

        return np.asarray(colormaps["viridis"](unit[:, 0]))[:, :3], f"Colours: {words}, from dark to light."
    grows = "red and green grow" if unit.shape[1] == 2 else "red, green and blue grow"
    unit = np.pad(unit[:, :3], ((0, 0), (0, max(0, 3 - unit.shape[1]))), constant_values=0.5)
    return 0.12 + 0.8 * unit, f"Colours: {words}; {grows} along them."


def task_coordinates(mapped: Mapped) -> tuple[NDArray[np.float64], str]:
    """Where tasks are in the program: as given, as recognised, or by their graph."""
    problem = mapped.problem
    if problem.coordinates is not None:
        return problem.coordinates, "coordinates of the tasks"
    found = problem.structure
    if found is not None:
        return found.coordinates.astype(np.float64), f"coordinates in what the tasks form ({found})"
    if len(problem.edges[0]):
        return graph_space(problem), "where tasks are in their graph, by the numbers of edges to some of them"
    return np.arange(problem.tasks, dtype=np.float64)[:, None], "number of the task"
