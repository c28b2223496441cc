"""Style, and what every family asks about a network before it draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .scene import Array, Key, Lines, Marks, Notes, Panel, project

INK = "#26323D"
MUTED = "#5F6B76"
FAINT = "#C3CCD4"
PALE = "#EEF2F5"
NODE = "#3E6C95"
ROUTE = "#D55E00"
_LONG = 400  # hops from which a route is drawn as one line
# Okabe and Ito (2008) without vermilion, which is kept for routes, and without yellow, too light for lines.
CLASSES = ("#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5195", "#8C6D31", "#26323D")


def count(number: float) -> str:
    """Write a count with separators."""
    return f"{number:,.0f}"


def times(numbers: Iterable[int]) -> str:
    """Write extents, as in 8 × 8 × 16."""
    return " × ".join(str(n) for n in numbers)


def quantity(value: float, unit: str) -> str:
    """Write a number with three significant digits and a decimal prefix of its unit."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g} {unit}"
    power = min(max(math.floor(math.log10(abs(value)) / 3 + 1e-9), -4), 5)
    text = f"{value / 1000.0**power:.3g}"
    if float(text) >= 1000 and power < 5:
        power, text = power + 1, "1"
    prefix = {-4: "p", -3: "n", -2: "µ", -1: "m", 0: "", 1: "k", 2: "M", 3: "G", 4: "T", 5: "P"}[power]
    return f"{float(text):g} {prefix}{unit}"


def ramp(values: Array, dark: str = "#12355B", light: str = "#8CC5E3") -> list[str]:
    """Colours from light to dark by value, equal steps of one hue."""
    low, high = (np.array([int(c[i : i + 2], 16) for i in (1, 3, 5)]) for c in (light, dark))
    span = max(float(np.max(values, initial=0)), 1e-9)
    mixed = np.rint(low + (high - low) * (np.asarray(values, float) / span)[:, None]).astype(int)
    return [f"#{r:02X}{g:02X}{b:02X}" for r, g, b in mixed]


@dataclass
class Cables:
    """Links grouped by the vertices they join; `members[starts[i]:starts[i + 1]]` are those of cable i."""

    ends: Array
    link_class: Array
    starts: Array
    members: Array

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def multiplicity(self) -> Array:
        return np.diff(self.starts)

    def pick(self, mask: Array) -> Cables:
        """Take the cables where the mask is true."""
        keep = np.flatnonzero(mask)
        sizes = self.multiplicity[keep]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        members = self.members[np.repeat(mask, self.multiplicity)]
        return Cables(self.ends[keep], self.link_class[keep], starts, members)


@dataclass
class Net:
    """A topology with what a caller wants to see on it.

    Parameters
    ----------
    topology : isthmus._core.Topology
        The network.
    route : array of int
        Links to highlight, in the order they are passed.
    values : array of float or None
        A number of every link.
    """

    topology: Any
    route: Array = field(default_factory=lambda: np.zeros(0, np.uint32))
    values: Array | None = None

    def __post_init__(self) -> None:
        t = self.topology
        rest = t.spec.partition(":")[2]
        self.kind: str = t.kind
        self.text = {k: v for k, _, v in (part.partition("=") for part in rest.split(",")) if v}
        self.separate = "slot" in t.dim_names
        self.dims: tuple[int, ...] = t.dims[:-1] if self.separate else t.dims
        self.names: tuple[str, ...] = t.dim_names[:-1] if self.separate else t.dim_names
        self.per_router: int = t.dims[-1] if self.separate else 1
        self.first_router: int = t.nodes if self.separate else 0
        self.router = "router" if self.separate else "node"
        self.hops = t.link_ends(self.route).astype(np.int64) if len(self.route) else np.zeros((0, 2), np.int64)
        self.classes, self.colours = merged_classes(t.link_classes)

    def number(self, key: str, default: int = 0) -> int:
        """Read an integer of the specification."""
        return int(self.text.get(key, default))

    def colour(self, link_class: int) -> str:
        """Colour of a link class."""
        return self.colours[link_class]

    def label(self, vertex: int) -> str:
        """Words for a vertex, with the nodes on it if it is a router of them."""
        t = self.topology
        text = str(t.label(vertex))
        first = (vertex - self.first_router) * self.per_router
        if self.separate and vertex >= t.nodes and first + self.per_router <= t.nodes:
            last = first + self.per_router - 1
            text += f"<br>node {first}" if first == last else f"<br>nodes {first} to {last}"
        return text

    def cables(self, vertices: Array, directed: bool = False) -> Cables:
        """Links between any two of the vertices, both directions and parallel ones grouped."""
        t = self.topology
        chosen = np.unique(np.asarray(vertices, np.int64))
        links = [t.out_links(int(v)) for v in chosen]
        ids = np.concatenate([*links, np.zeros(0, np.uint32)]).astype(np.uint32)
        ends = t.link_ends(ids).astype(np.int64).reshape(-1, 2)
        inside = np.isin(ends[:, 1], chosen)
        return group_links(ids[inside], ends[inside], t.link_class(ids[inside]), directed)

    def value_of(self, cables: Cables) -> Array | None:
        """Largest number among the links of every cable, or None where links have no numbers."""
        if self.values is None:
            return None
        if not len(cables):
            return np.zeros(0)
        return np.asarray(np.fmax.reduceat(self.values[cables.members], cables.starts[:-1]))

    def cable_hover(self, cables: Cables) -> Callable[[int], str]:
        """Words for cable i."""
        worth = self.value_of(cables)

        def text(i: int) -> str:
            t = self.topology
            name, bandwidth, latency = t.link_classes[int(cables.link_class[i])]
            a, b = (t.label(int(v)) for v in cables.ends[i])
            out = f"{a} – {b}<br>{name}: {quantity(bandwidth, 'B/s')}, {quantity(latency, 's')}"
            links = int(cables.multiplicity[i])
            out += f"<br>{links} directed link{'s' * (links > 1)}"
            return out if worth is None else out + f"<br>value {worth[i]:.4g}"

        return text


def merged_classes(
    classes: Sequence[tuple[str, float, float]],
) -> tuple[list[tuple[str, float, float, str]], list[str]]:
    """Join x+ and x- where they are equal; returns legend rows and the colour of every class."""
    rows: dict[tuple[str, float, float], str] = {}
    colours = []
    for name, bandwidth, latency in classes:
        key = (name.rstrip("+-"), bandwidth, latency)
        if name == "terminal":
            rows.setdefault(key, MUTED)
        rows.setdefault(key, CLASSES[len([c for c in rows.values() if c != MUTED]) % len(CLASSES)])
        colours.append(rows[key])
    return [(*key, colour) for key, colour in rows.items()], colours


def group_links(ids: Array, ends: Array, link_class: Array, directed: bool = False) -> Cables:
    """Group links by the vertices they join."""
    pairs = ends if directed else np.sort(ends, axis=1)
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    pairs = pairs[order]
    new = np.ones(len(pairs), bool)
    new[1:] = (pairs[1:] != pairs[:-1]).any(axis=1)
    first = np.flatnonzero(new)
    return Cables(pairs[first], link_class[order][first], np.append(first, len(pairs)), ids[order])


def class_keys(net: Net, only: Sequence[str] | None = None) -> list[Key]:
    """Legend of link classes with bandwidth and latency."""
    keys = [Key("heading", "Links, each direction")]
    if len({row[1:3] for row in net.classes}) == 1 and len(net.classes) > 7:
        _, bandwidth, latency, _ = net.classes[0]
        names = f"{net.classes[0][0]} to {net.classes[-1][0]}"
        return [*keys, Key("line", f"{names}: {quantity(bandwidth, 'B/s')}, {quantity(latency, 's')}", MUTED)]
    for name, bandwidth, latency, colour in net.classes:
        if only is None or name in only:
            colour = FAINT if net.values is not None else colour
            keys.append(Key("line", f"{name}: {quantity(bandwidth, 'B/s')}, {quantity(latency, 's')}", colour))
    return keys


def add_route(net: Net, panel: Panel, path: Callable[[int, int, int], Array | list[Array] | None]) -> None:
    """Highlight the route: `path(from, to, link)` says where a hop is drawn, None where it is not.

    Hops are numbered from 1 in the order of the route; where hops are close, only some carry their number.
    """
    if not len(net.route):
        return
    drawn: list[Array] = []
    badges: list[Array] = []
    numbers: list[str] = []
    shown: list[int] = []
    low, high = panel.bounds()
    stride = 1 + len(net.route) // _LONG
    apart = 0.034 * float(np.max(high - low))
    for i, ((a, b), link) in enumerate(zip(net.hops, net.route, strict=True)):
        found = path(int(a), int(b), int(link))
        if found is None:
            continue
        pieces = [np.asarray(p, float) for p in (found if isinstance(found, list) else [found])]
        drawn += pieces
        shown.append(i)
        if i % stride:
            continue
        middle = middle_of(pieces[0])
        if all(np.hypot(*(project(middle) - project(other))) > apart for other in badges):
            badges.append(middle)
            numbers.append(str(i + 1))
    if not drawn:
        return
    begin, end = drawn[0][:1], drawn[-1][-1:]
    if len(drawn) > _LONG:
        drawn = joined(drawn)
    panel.add(
        Lines(drawn, "white", 6.0, order=7, name="route-halo"),
        Lines(drawn, ROUTE, 3.0, order=7.1, name="route"),
        Marks(np.array(badges), "white", 0, (13, 13), edge=ROUTE, order=7.5, name="route-badges"),
        Notes(np.array(badges), numbers, 7.5, ROUTE, bold=True, order=8),
    )
    # The hops between a node and its router may not be drawn.
    if shown[0] <= net.separate:
        panel.add(Marks(begin, "white", 0, (9, 9), edge=ROUTE, order=7.2, name="route-start"))
    if shown[-1] >= len(net.route) - 1 - net.separate:
        panel.add(Marks(end, ROUTE, 0, (10, 10), order=7.2, name="route-end"))


def joined(pieces: list[Array]) -> list[Array]:
    """Join pieces that follow each other and thin out their points, for routes of very many hops."""
    runs: list[list[Array]] = []
    for piece in pieces:
        if runs and np.abs(runs[-1][-1][-1] - piece[0]).max() < 1e-9:
            runs[-1].append(piece)
        else:
            runs.append([piece])
    out = []
    for run in runs:
        points = np.concatenate(run)
        out.append(points[np.unique(np.append(np.arange(0, len(points), 1 + len(points) // 1000), len(points) - 1))])
    return out


def middle_of(path: Array) -> Array:
    """Point half way along a path."""
    steps = np.hypot(*np.diff(project(path), axis=0).T)
    along = np.concatenate([[0.0], np.cumsum(steps)])
    return np.array([np.interp(along[-1] / 2, along, path[:, k]) for k in range(path.shape[1])])


def bow(a: Array, b: Array, height: float, points: int = 17) -> Array:
    """Curve from a to b that leaves the straight line by `height` times its length, positive to the left."""
    u = np.linspace(0, 1, points)[:, None]
    a, b = np.asarray(a, float), np.asarray(b, float)
    side = np.array([a[1] - b[1], b[0] - a[0]])
    return np.asarray(a + u * (b - a) + 4 * height * u * (1 - u) * side)


def ring(n: int, radius: float = 1.0) -> Array:
    """Points on a circle, the first at the top, clockwise."""
    angle = np.pi / 2 - 2 * np.pi * np.arange(n) / max(n, 1)
    return radius * np.column_stack([np.cos(angle), np.sin(angle)])


def rectangle(left: float, bottom: float, right: float, top: float) -> Array:
    """Corners of a rectangle."""
    return np.array([[left, bottom], [right, bottom], [right, top], [left, top]])
