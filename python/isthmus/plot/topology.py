"""Pictures of interconnects: their parts, their cables, and what a route or a load looks like."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InvalidInput
from ..files import PICTURES, replacing
from .common import ROUTE, Net
from .facts import facts
from .families import drawing_of
from .histogram import histogram_scene
from .scene import Key, Scene

if TYPE_CHECKING:
    import plotly
    from matplotlib.figure import Figure

_SUFFIXES = (*PICTURES, ".html")


def topology_scene(
    topology: Any,
    *,
    title: str | None = None,
    subtitle: str | None = None,
    route: ArrayLike | None = None,
    link_values: ArrayLike | None = None,
    values_label: str = "Value of a link",
    values_range: tuple[float, float] | None = None,
) -> Scene:
    """Lay out what `plot_topology` draws, for both kinds of output.

    Returns
    -------
    Scene
        Panels, legend and words.
    """
    links = np.zeros(0, np.uint32) if route is None else checked_route(topology, route)
    values = None if link_values is None else checked_values(topology, link_values)
    net = Net(topology, links, values)
    draw, namer = drawing_of(net)
    scene = Scene(namer(net) if title is None else title, facts(net), subtitle or "")
    if values is not None and np.isfinite(values).any():
        scene.values = values_range or (float(np.nanmin(values)), float(np.nanmax(values)))
        scene.values_label = values_label
    draw(net, scene)
    if len(links):
        a, b = (int(v) for v in (net.hops[0][0], net.hops[-1][1]))
        scene.keys += [
            Key("heading", "Route"),
            Key("line", f"{topology.label(a)} to {topology.label(b)}", ROUTE),
            Key("text", route_words(net)),
        ]
    return scene


def route_words(net: Net) -> str:
    """Explain how a route is drawn."""
    n = len(net.route)
    text = f"{n} hop{'s' * (n > 1)}, numbered where there is room, from the open to the full circle"
    if net.separate and net.hops.min() < net.topology.nodes:
        text += "; hops between a node and its router are not drawn"
    return text


def checked_route(topology: Any, route: ArrayLike) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Check that a route is a path of links of the topology."""
    given = np.asarray(route).ravel()
    if given.size and (given.dtype.kind not in "ui" or given.min() < 0 or given.max() >= topology.links):
        raise InvalidInput(f"route: must be link ids from 0 to {topology.links - 1}, got {given[:8].tolist()}")
    links = given.astype(np.uint32)
    ends = topology.link_ends(links)
    broken = np.flatnonzero(ends[:-1, 1] != ends[1:, 0])
    if broken.size:
        i = int(broken[0])
        raise InvalidInput(f"route: link {links[i + 1]} does not begin where link {links[i]} ends")
    return links


def checked_values(topology: Any, link_values: ArrayLike) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Check that there is one number a link."""
    values = np.asarray(link_values, np.float64)
    if values.shape != (topology.links,):
        raise InvalidInput(
            f"link_values: must be {topology.links} numbers, one for each link, got shape {values.shape}"
        )
    return np.where(np.isfinite(values), values, np.nan)


def plot_topology(
    topology: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
    subtitle: str | None = None,
    route: ArrayLike | None = None,
    link_values: ArrayLike | None = None,
    values_label: str = "Value of a link",
    values_range: tuple[float, float] | None = None,
) -> Figure | plotly.graph_objects.Figure:
    """Draw an interconnect.

    Parameters
    ----------
    topology : isthmus._core.Topology
        The interconnect.
    path : str or path, optional
        File to write: .png, .svg or .pdf, or .html for a page that can be moved, turned and asked by pointing
        and needs no network. An existing file is replaced at once, or left as it was where something fails.
        By default no file is written.
    title, subtitle : str, optional
        Words above the picture; without a title the kind and the extents.
    route : array of int, optional
        Links of a route, to highlight with its hops numbered.
    link_values : array of float, optional
        One number a link, such as its load, to colour links by. Where one line stands for several links it
        shows the largest. Numbers that are not finite leave a link grey.
    values_label : str
        What these numbers are, in the legend.
    values_range : (float, float), optional
        Smallest and largest of the scale, by default of the numbers.

    Returns
    -------
    matplotlib.figure.Figure
        For .html one of Plotly.

    Raises
    ------
    InvalidInput
        For another suffix, a route that is no path, or values that are not one a link.

    Examples
    --------
    >>> from isthmus import _core
    >>> torus = _core.grid("torus", [8, 8, 16])
    >>> plot_topology(torus, "torus.png", route=torus.route(0, 700))  # doctest: +SKIP
    """
    suffix = suffix_of(path)
    scene = topology_scene(
        topology, title=title, subtitle=subtitle, route=route, link_values=link_values, values_label=values_label,
        values_range=values_range,
    )  # fmt: skip
    return write_scene(scene, path, suffix)


def plot_distance_histogram(
    topology: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
    subtitle: str | None = None,
) -> Figure | plotly.graph_objects.Figure:
    """Draw how many pairs of nodes are how far apart.

    Parameters
    ----------
    topology : isthmus._core.Topology
        The interconnect. Above four million pairs, and where distances take long to find, a sample of pairs
        is drawn and the picture says so.
    path : str or path, optional
        File to write, as for `plot_topology`.
    title, subtitle : str, optional
        Words above the picture.

    Returns
    -------
    matplotlib.figure.Figure
        For .html one of Plotly.

    Raises
    ------
    InvalidInput
        For another suffix, or a network of a single node.
    """
    suffix = suffix_of(path)
    return write_scene(histogram_scene(topology, title=title, subtitle=subtitle), path, suffix)


def suffix_of(path: str | os.PathLike[str] | None) -> str:
    """Suffix of a file, or InvalidInput."""
    if path is None:
        return ".png"
    suffix = Path(path).suffix.lower()
    if suffix not in _SUFFIXES:
        raise InvalidInput(f"{os.fspath(path)}: suffix {suffix!r}; must be one of {', '.join(_SUFFIXES)}")
    return suffix


def write_scene(scene: Scene, path: str | os.PathLike[str] | None, suffix: str) -> Figure | plotly.graph_objects.Figure:
    """Write a scene, to a file whole or not at all; returns the figure."""
    if suffix == ".html":
        from .interactive import Page, write

        page = Page(scene)
        assert path is not None
        with replacing(path) as name, open(name, "wb") as file:
            write(page, file)
        return page.fig
    from .chart import save
    from .still import figure

    return save(figure(scene), path, suffix)
