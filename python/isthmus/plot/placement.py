"""Pictures of a placement beside the one before: load of links, lengths of routes, tasks in space."""

from __future__ import annotations

import os
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from .chart import figure, legend, save, still_suffix
from .common import INK, MUTED, count, quantity
from .load_map import Layout, load_map
from .scene import project
from .traffic import draw_field, load_colours

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..mapping.mapped import Mapped
    from ..mapping.metrics import Metrics

KINDS = ("load", "dilation", "placement")
#: Before and after: told apart also by those who are colour-blind (Okabe and Ito, 2008).
_BEFORE, _AFTER = "#E69F00", "#0072B2"
# Inches: of a picture, between the columns, of the strip with the scale.
_WIDTH, _GAP, _SCALE = 12.8, 0.3, 1.3
#: Nodes up to which all are drawn; of more, those that a reader in front of the machine sees.
_ALL = 4096


def plot_mapped(mapped: Mapped, path: str | os.PathLike[str], kind: str = "load") -> None:
    """Draw a placement beside the allocation's order.

    Parameters
    ----------
    mapped : Mapped
    path : path
        File to write: .png, .svg or .pdf.
    kind : {"load", "dilation", "placement"}
        ``load``: bytes over every link, in per cent of the most before; on networks whose links have no places on
        paper, how many links carry how much. ``dilation``: bytes by links on their route. ``placement``: nodes in
        space, in colours by where their tasks are in the program: neighbours there have similar ones.

    Raises
    ------
    InvalidInput
        For another suffix or kind.
    """
    if kind not in KINDS:
        raise InvalidInput(f"a picture of a placement of kind {kind!r}: allowed are {', '.join(KINDS)}")
    suffix = still_suffix(path)
    before = mapped.before["default"]
    draw = {"load": _load, "dilation": _dilation, "placement": _placement}[kind]
    save(draw(mapped, before, mapped.metrics), path, suffix)


def _facts(mapped: Mapped) -> str:
    p = mapped.placement
    parts = [f"{count(p.ranks)} ranks on {count(len(p.nodes))} nodes", quantity(mapped.metrics.bytes, "B")]
    return "  ·  ".join([*parts, p.machine.title, f"by {mapped.method}"])


def _gain(what: str, before: float, after: float) -> str:
    if not before:
        return what
    change = 100 * (after / before - 1)
    return f"{what}: {abs(change):.0f} % {'less' if change <= 0 else 'more'} than before"


def _load(mapped: Mapped, before: Metrics, after: Metrics) -> Any:
    from matplotlib.colors import Normalize

    topology = mapped.placement.machine.topology
    most = max(before.maximum_link_load, 1e-300)
    drawn = [load_map(topology, m.link_bytes / most) for m in (before, after)]
    title = _gain("Most loaded link", before.maximum_link_load, after.maximum_link_load)
    if drawn[0] is None or drawn[1] is None:
        return _load_curves(mapped, before, after, title)
    wide = (_WIDTH - 0.56 - _SCALE - _GAP) / 2
    layouts = [Layout(d, wide) for d in drawn if d is not None]
    high = max(layout.height for layout in layouts)
    caption = textwrap.wrap(drawn[0].caption, 150)
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
    bar.set_title("of the most\nbefore", size=9, color=MUTED, loc="left")
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
    for i, (name, m, colour) in enumerate((("before", before, _BEFORE), ("after", after, _AFTER))):
        share = np.zeros(last + 1)
        share[: len(m.dilation_bytes)] = 100 * m.dilation_bytes / max(m.bytes, 1e-300)
        ax.bar(np.arange(last + 1) + (i - 0.5) * 0.4, share, 0.4, color=colour, linewidth=0, zorder=2)
        rows.append((Patch(color=colour), f"{name}: mean {m.average_dilation:.3f}, at most {m.maximum_dilation}"))
        ax.axvline(m.average_dilation, color=colour, lw=1.4, ls=(0, (3, 2)), zorder=1)
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
    for i, m in enumerate((before, after)):
        left = 0.02 + 0.49 * i
        panel = fig.add_axes((left, 0.09, 0.47, top - 0.14))
        panel.set_axis_off()
        panel.set_aspect("equal")
        name = f"{('before', 'after')[i]}: {m.average_dilation:.3f} links a byte"
        fig.text(left + 0.01, top - 0.02, name, size=12, weight="bold", color=INK, va="bottom")
        _nodes(panel, m, colours)
    fig.text(0.022, 0.03, "\n".join(textwrap.wrap(words, 165)), size=9, color=MUTED, va="bottom", linespacing=1.35)
    return fig


def _nodes(ax: Any, m: Metrics, colours: NDArray[np.float64]) -> None:
    p = m.placement
    # A node has the mean colour of its tasks.
    place = np.searchsorted(p.nodes, p.node)
    tasks = np.bincount(place)
    mean = np.stack([np.bincount(place, colours[:, k]) / tasks for k in range(3)], axis=1)
    at = spatial(p.machine.coordinates(p.nodes).astype(np.int64), p.machine.topology.dims)
    if len(at) > _ALL:
        seen = _visible(at)
        at, mean = at[seen], mean[seen]
    # The farthest first.
    order = np.lexsort((at[:, 0], at[:, 2], -at[:, 1]))
    points = project(at[order].astype(np.float64))
    low, high = points.min(axis=0), points.max(axis=0)
    span = float(max(*(high - low), 1.0))
    area = (440.0 / (span + 1)) ** 2 * 0.5
    ax.scatter(
        points[:, 0], points[:, 1], s=min(area, 160.0), c=mean[order], marker="o", edgecolors="white",
        linewidths=min(0.6, 0.05 * area**0.5),
    )  # fmt: skip
    ax.set_xlim(low[0] - 0.8, high[0] + 0.8)
    ax.set_ylim(low[1] - 0.8, high[1] + 0.8)


def spatial(coordinates: NDArray[np.int64], dims: tuple[int, ...]) -> NDArray[np.int64]:
    """Coordinates in three dimensions: of more, dimension i + 3 runs within dimension i; of fewer, the rest is 0."""
    out = np.zeros((len(coordinates), 3), np.int64)
    for axis in range(3):
        for d in range(axis, len(dims), 3):
            out[:, axis] = out[:, axis] * dims[d] + coordinates[:, d]
    return out


def _visible(at: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Those that nothing hides from a reader in front of, above and to the right of them."""
    seen = np.zeros(len(at), bool)
    for axis, sign in ((0, 1), (1, -1), (2, 1)):
        others = [d for d in range(3) if d != axis]
        order = np.lexsort((-sign * at[:, axis], at[:, others[1]], at[:, others[0]]))
        line = at[order][:, others]
        first = np.concatenate([[True], (line[1:] != line[:-1]).any(axis=1)])
        seen[order[first]] = True
    return seen


def task_colours(mapped: Mapped) -> tuple[NDArray[np.float64], str]:
    """A colour of every task, shape (tasks, 3), and in words what it stands for."""
    coordinates, words = task_coordinates(mapped)
    low, high = coordinates.min(axis=0), coordinates.max(axis=0)
    unit = (coordinates - low) / np.maximum(high - low, 1e-300)
    if unit.shape[1] == 1:
        from matplotlib import colormaps

        return np.asarray(colormaps["viridis"](unit[:, 0]))[:, :3], f"Colours: {words}, from dark to light."
    unit = np.pad(unit[:, :3], ((0, 0), (0, max(0, 3 - unit.shape[1]))), constant_values=0.5)
    return 0.12 + 0.8 * unit[:, [0, 1, 2]], f"Colours: {words}; red, green and blue grow along them."


def task_coordinates(mapped: Mapped) -> tuple[NDArray[np.float64], str]:
    """Where tasks are in the program: as given, as recognised, or by their number."""
    problem = mapped.problem
    if problem.coordinates is not None:
        return problem.coordinates, "coordinates of the tasks"
    found = problem.structure
    if found is not None:
        return found.coordinates.astype(np.float64), f"coordinates in what the tasks form ({found})"
    return np.arange(problem.tasks, dtype=np.float64)[:, None], "number of the task"
