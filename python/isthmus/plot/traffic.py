"""Pictures of the load of links: where it is, how it is distributed, and when it is there."""

from __future__ import annotations

import os
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from ..units import percent
from .chart import RIGHT, figure, legend, save, still_suffix, unit_of
from .common import FAINT, INK, MUTED, Net, count, quantity
from .layout import VALUE_COLOURS
from .load_map import Field, Layout, LoadMap, load_map, spaced
from .topology import plot_topology, suffix_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..simulation.traffic import Traffic

KINDS = ("load", "network", "histogram", "time")
#: A link that carries nothing.
_UNUSED = "#EEF2F5"
_BINS = 40
# Inches: of a picture, of a strip of one row.
_WIDTH, _STRIP = 12.8, 0.42
# Links whose load over time is drawn.
_HOTTEST = 8


def plot_traffic(traffic: Traffic, path: str | os.PathLike[str] | None = None, kind: str = "load") -> Figure:
    """Draw the load of links: bytes over what they could have carried, in per cent.

    Parameters
    ----------
    traffic : Traffic
    path : path, optional
        File to write: .png, .svg or .pdf; of ``network`` .html too.
    kind : {"load", "network", "histogram", "time"}
        ``load``: every link a cell, where the network has an order for that: on meshes and tori plane by plane for each
        direction, on dragonflies from group to group and router by router, on trees level by level; other networks as
        ``network`` does. ``network``: the drawing of :func:`plot_topology` with links coloured by their load.
        ``histogram``: how many links have which load. ``time``: the load of the hottest links, and of all, in the
        slices of the simulation.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InvalidInput
        For another suffix or kind, and for ``time`` without slices.
    """
    if kind not in KINDS:
        raise InvalidInput(f"a picture of traffic of kind {kind!r}: must be one of {', '.join(KINDS)}")
    suffix = suffix_of(path) if kind == "network" else still_suffix(path)
    found = load_map(traffic.machine.topology, traffic.utilisation) if kind == "load" else None
    if found is not None:
        return save(_load(traffic, found), path, suffix)
    if kind in ("load", "network"):
        return _network(traffic, path)
    return save((_histogram if kind == "histogram" else _time)(traffic), path, suffix)


def _title(traffic: Traffic, what: str) -> str:
    return f"{what}: at most {percent(float(traffic.utilisation.max(initial=0.0)))}"


def _facts(traffic: Traffic) -> str:
    t = traffic.timeline
    parts = [f"{count(t.ranks)} rank{'s' * (t.ranks != 1)}", f"{count(t.messages)} messages, {quantity(t.bytes, 'B')}"]
    used = int((traffic.bytes > 0).sum())
    parts += [traffic.machine.title, f"{count(used)} of {count(len(traffic.bytes))} links used", f"{t.model} model"]
    return "  ·  ".join(parts)


def _network(traffic: Traffic, path: str | os.PathLike[str] | None) -> Figure:
    use = traffic.utilisation
    return plot_topology(
        traffic.machine.topology,
        path,
        title=_title(traffic, "Load of links"),
        subtitle=traffic.machine.title,
        link_values=np.where(use > 0, 100 * use, np.nan),
        values_label="Load of a link, %; grey: nothing",
        values_range=(0.0, 100 * float(use.max(initial=0.0)) or 1.0),
    )


def _load(traffic: Traffic, drawn: LoadMap) -> Any:
    from matplotlib.colors import Normalize

    most = max((float(np.nanmax(f.cells)) for f in drawn.fields if np.isfinite(f.cells).any()), default=0.0)
    colours = load_colours()
    # What carries nothing is below the scale.
    norm = Normalize(0, 100 * most or 1.0)
    places = Layout(drawn, _WIDTH - RIGHT - 0.28)
    caption = textwrap.wrap(drawn.caption, 150)
    height = max(1.15 + places.height + 0.35 + 0.19 * len(caption), 4.4)
    fig, ax = figure(_title(traffic, "Load of links"), _facts(traffic), height)
    outer = ax.get_position()
    ax.remove()
    width = fig.get_figwidth()
    fig.text(0.28 / width, 0.14 / height, "\n".join(caption), size=9, color=MUTED, va="bottom", linespacing=1.35)
    for f in drawn.fields:
        x, y, w, h = places.box(f)
        if min(w / f.cells.shape[1], h / f.cells.shape[0]) < 0.02:
            fig.set_dpi(220)
        box = ((0.28 + x) / width, outer.y1 - (y + h) / height, w / width, h / height)
        image = draw_field(fig.add_axes(box), f, colours, norm)
    _scale(fig, image, outer)
    return fig


def draw_field(ax: Any, f: Field, colours: Any, norm: Any) -> Any:
    """Draw the cells of a field, loads as parts of 1, with its words; the image."""
    cells = np.where(f.cells > 0, 100 * f.cells, np.where(np.isnan(f.cells), np.nan, -1.0))
    image = ax.imshow(cells, cmap=colours, norm=norm, aspect="equal" if f.square else "auto", zorder=1)
    ax.set_anchor("NW")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=2, color=FAINT, labelcolor=INK, labelsize=8.5)
    ax.set_xlabel(f.across, size=9, color=INK)
    ax.set_ylabel(f.down, size=9, color=INK)
    ax.set_title(f.title, size=10, weight="bold", color=INK, loc="left", pad=14 if f.notes else 5)
    ax.apply_aspect()
    box = ax.get_position()
    wide, high = ax.figure.get_size_inches() * 72 * (box.width, box.height)
    across, down = wide / f.cells.shape[1], high / f.cells.shape[0]
    # Fewer than a point for a cell: neighbours are mixed rather than left out.
    image.set(interpolation="nearest" if min(across, down) > 0.7 else "antialiased", interpolation_stage="rgba")
    broad = 6 * max((len(w) for _, w in f.columns), default=0) + 8
    for axis, labels in ((ax.xaxis, spaced(f.columns, across, broad)), (ax.yaxis, spaced(f.rows, down, 11))):
        axis.set_ticks([at for at, _ in labels], [w for _, w in labels])
    if min(across, down) >= 5:
        # Cells that are large enough are told apart.
        ends = f.cells.shape
        ax.hlines(np.arange(1, ends[0]) - 0.5, -0.5, ends[1] - 0.5, color="white", lw=0.6, zorder=2)
        ax.vlines(np.arange(1, ends[1]) - 0.5, -0.5, ends[0] - 0.5, color="white", lw=0.6, zorder=2)
    # Words above planes where they have room: between these, and each as long as its plane is wide.
    letters = max((len(w) for _, _, w in f.notes), default=1)
    starts, tops = (np.unique([n[i] for n in f.notes]) for i in (0, 1))
    gap = (float(np.diff(tops).min()) - f.block) * down if len(tops) > 1 else 9.0
    room = float(np.diff(starts).min()) * across if len(starts) > 1 else wide
    size = min(8.0, 0.95 * room / (0.6 * letters), gap / 1.2)
    if size >= 4.5:
        for x, y, words in f.notes:
            ax.text(x - 0.5, y - 0.5, words, size=size, color=MUTED, ha="left", va="bottom")
    return image


def load_colours() -> Any:
    """Light to dark; below, and where there is no link, what stays in the background."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("load", VALUE_COLOURS).with_extremes(under=_UNUSED, bad=(1, 1, 1, 0))


def _scale(fig: Any, image: Any, box: Any) -> None:
    """The colours of loads, beside the fields."""
    from matplotlib.patches import Patch

    width, height = fig.get_size_inches()
    tall = min(3.2 / height, 0.55 * box.height)
    x = box.x1 + 0.3 / width
    bar = fig.add_axes((x, box.y1 - 0.42 / height - tall, 0.22 / width, tall))
    fig.colorbar(image, cax=bar)
    fig.text(x, box.y1, "Load of a link", size=10, weight="bold", color=INK, va="top")
    bar.yaxis.set_major_formatter(lambda v, _: f"{v:g} %")
    bar.tick_params(length=3, labelsize=9.5, labelcolor=INK)
    bar.spines[:].set_visible(False)
    fig.legend(
        [Patch(facecolor=_UNUSED, edgecolor=FAINT)], ["carries nothing"], loc="upper left", frameon=False,
        bbox_to_anchor=(x - 0.1 / width, box.y1 - 0.5 / height - tall), fontsize=9.5, labelcolor=INK, handlelength=1.6,
    )  # fmt: skip
    words = "Load: bytes, in per cent of what the link could have carried in all of the time."
    fig.text(x, box.y1 - 1.0 / height - tall, textwrap.fill(words, 38), size=9, color=MUTED, va="top", linespacing=1.35)


def _histogram(traffic: Traffic) -> Any:
    from matplotlib.patches import Patch

    use = traffic.utilisation
    used = np.flatnonzero(traffic.bytes > 0)
    net = Net(traffic.machine.topology)
    kind = np.asarray(net.topology.link_class(np.arange(len(use), dtype=np.uint32)))
    fig, ax = figure(_title(traffic, "Load of links"), _facts(traffic), 6.4)
    # The largest is within the last bin.
    edges = np.linspace(0, 100 * (float(use.max(initial=0.0)) or 1.0) * (1 + 1e-9), _BINS + 1)
    base = np.zeros(_BINS)
    rows = []
    for name, _, _, colour in net.classes:
        mine = [i for i, c in enumerate(net.topology.link_classes) if c[0].rstrip("+-") == name]
        of = np.flatnonzero(np.isin(kind, mine))
        chosen = of[traffic.bytes[of] > 0]
        if not len(chosen):
            rows.append((Patch(facecolor="white", edgecolor=FAINT), f"{name}: none of {count(len(of))} used"))
            continue
        number, _ = np.histogram(100 * use[chosen], edges)
        ax.bar(edges[:-1], number, np.diff(edges) * 0.94, base, align="edge", color=colour, linewidth=0, zorder=2)
        base += number
        average = percent(float(use[chosen].mean()))
        words = f"{name}: {count(len(chosen))} of {count(len(of))} used, mean {average}, at most "
        rows.append((Patch(color=colour), f"{words}{percent(float(use[chosen].max()))}"))
    if len(used):
        mean = float(use[used].mean())
        line = ax.axvline(100 * mean, color=INK, lw=1.4, ls=(0, (3, 2)), zorder=3)
        rows.append((line, f"mean of all that are used: {percent(mean)}"))
    ax.set_xlim(0, edges[-1])
    ax.set_ylim(0, 1.04 * float(base.max(initial=1.0)))
    ax.set_xlabel("load of a link (%)")
    ax.set_ylabel("links")
    ax.yaxis.get_major_locator().set_params(integer=True)
    ax.yaxis.set_major_formatter(lambda v, _: f"{v:,.0f}")
    legend(fig, ax, rows, "Links that carry something", 31)
    return fig


def _time(traffic: Traffic) -> Any:
    from matplotlib.patches import Patch

    use = 100 * traffic.over_time()
    power, unit = unit_of(traffic.makespan_ps)
    # A slice of which the simulation has only the begin would look as if links rested.
    if use.shape[1] > 1 and 0 < traffic.makespan_ps % traffic.width_ps < traffic.width_ps // 2:
        use = use[:, :-1]
    edges = np.minimum(traffic.times[: use.shape[1] + 1] * 1e12, traffic.makespan_ps) / 10.0**power
    used = use[traffic.bytes > 0]
    hottest = traffic.hottest(_HOTTEST)
    height = 5.2 + _STRIP * len(hottest)
    fig, ax = figure("Load of links over time", _facts(traffic), height)
    box = ax.get_position()
    below = (0.62 + _STRIP * len(hottest)) / height
    ax.set_position((box.x0, box.y0 + below, box.width, box.height - below))
    rows: list[tuple[Any, str]] = []
    if len(used):
        low, mean, high = np.quantile(used, (0.1, 0.9), axis=0), used.mean(axis=0), used.max(axis=0)
        ax.stairs(high, edges, fill=True, color=_UNUSED, zorder=1)
        ax.stairs(low[1], edges, baseline=low[0], fill=True, color="#C5D2DD", zorder=1.5)
        rows.append((ax.stairs(mean, edges, color=INK, lw=2.2, zorder=4, baseline=None), "mean"))
        rows.append((Patch(color="#C5D2DD"), "80 % of them are within"))
        rows.append((Patch(color=_UNUSED), "up to the most loaded one"))
        ax.set_ylim(0, max(1.04 * float(high.max()), 1e-9))
    ax.set_ylabel("load (%)")
    legend(fig, ax, rows, "Links that carry something")
    strips = fig.add_axes((box.x0, box.y0, box.width, below - 0.62 / height))
    _strips(strips, use, edges, hottest)
    for one in (ax, strips):
        one.set_xlim(0, edges[-1])
    strips.set_xlabel(f"time ({unit})", size=11, color=INK)
    return fig


def _strips(ax: Any, use: Any, edges: Any, hottest: list[Any]) -> None:
    """A strip for each of the hottest links."""
    chosen = use[[hot.link for hot in hottest]]
    rows = np.arange(len(hottest) + 1)
    ax.pcolormesh(edges, rows, np.where(chosen > 0, chosen, -1.0), cmap=load_colours(), vmin=0, vmax=100, zorder=1)
    ax.hlines(rows[1:-1], 0, edges[-1], color="white", lw=2, zorder=2)
    ax.set_ylim(len(hottest), 0)
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    ax.tick_params(colors=INK, labelsize=10, color=FAINT)
    ax.set_title("Hottest links, light for 0 to dark for 100 %", size=10, weight="bold", color=INK, loc="left")
    for i, hot in enumerate(hottest):
        words = textwrap.shorten(f"{percent(hot.utilisation)} in all: link {hot.link} ({hot.kind}), {hot.source} to "
                                 f"{hot.target}", 96, placeholder=" …")  # fmt: skip
        ax.annotate("\n".join(textwrap.wrap(words, 46)[:2]), (1, i + 0.5), (8, 0), xycoords=("axes fraction", "data"),
                    textcoords="offset points", size=7.5, color=INK, va="center", linespacing=1.25)  # fmt: skip
