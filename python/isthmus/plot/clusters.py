"""Groups of routers on a ring with the cables between groups as chords: the large view of dragonflies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .common import FAINT, INK, NODE, PALE, Net, add_route, count, ring
from .scene import Array, Lines, Marks, Notes, Panel, Shapes

_SINGLE = 240  # routers up to which global cables are drawn from router to router


@dataclass
class Clusters:
    """A network of groups.

    Parameters
    ----------
    net : Net
        The network.
    groups : int
        Number of groups.
    group_of : callable
        Groups of router numbers (0 is the first router).
    place_in : callable
        Places of router numbers in their group, as points in a disc of radius 1 whose upper half looks at the
        centre of the ring.
    colours : list of str, optional
        Colours of all routers.
    """

    net: Net
    groups: int
    group_of: Callable[[Array], Array]
    place_in: Callable[[Array], Array]
    colours: list[str] | None = None

    def __post_init__(self) -> None:
        self.centres = ring(self.groups)
        self.radius = min(0.24, 0.86 * np.pi / max(self.groups, 3))

    def place(self, vertex: int | Array) -> Array:
        """Points of routers in the picture."""
        router = np.atleast_1d(np.asarray(vertex) - self.net.topology.nodes)
        centre = self.centres[self.group_of(router)]
        inside = self.place_in(router) * self.radius * 0.8
        # Turn the disc so that its top looks at the centre of the ring.
        up = -centre / np.hypot(*centre.T)[:, None]
        right = np.column_stack([up[:, 1], -up[:, 0]])
        out = centre + right * inside[:, :1] + up * inside[:, 1:]
        return np.asarray(out if np.ndim(vertex) else out[0])

    def pair_values(self, global_class: int) -> Array | None:
        """Largest value of the global links between every two groups."""
        net = self.net
        if net.values is None:
            return None
        links = np.arange(net.topology.links, dtype=np.uint32)
        links = links[net.topology.link_class(links) == global_class]
        ends = self.group_of(net.topology.link_ends(links).astype(np.int64) - net.topology.nodes)
        out = np.full((self.groups, self.groups), np.nan)
        a, b = ends.min(axis=1), ends.max(axis=1)
        order = np.lexsort((b, a))
        a, b = a[order], b[order]
        first = np.flatnonzero(np.append(True, (np.diff(a) != 0) | (np.diff(b) != 0)))
        out[a[first], b[first]] = np.fmax.reduceat(net.values[links[order]], first)
        return out

    def cables_per_pair(self, global_class: int) -> Array:
        """Global cables from group 0 to every group."""
        t = self.net.topology
        mine = np.flatnonzero(self.group_of(np.arange(t.switches)) == 0) + t.nodes
        links = np.concatenate([t.out_links(int(v)) for v in mine])
        links = links[t.link_class(links) == global_class]
        to = self.group_of(t.link_ends(links)[:, 1].astype(np.int64) - t.nodes)
        return np.bincount(to, minlength=self.groups)


def draw_ring(view: Clusters, panel: Panel, global_class: int, routers_shown: bool, shown_group: int) -> str:
    """Draw all groups; returns what the caption must say."""
    net, t = view.net, view.net.topology
    colour = net.colour(global_class)
    routers = np.arange(t.switches)
    discs = [c + ring(40, view.radius) for c in view.centres]
    faces = ["#FFF4DF" if g == shown_group else PALE for g in range(view.groups)]
    panel.add(
        Shapes(
            discs,
            faces,
            ["#E69F00" if g == shown_group else FAINT for g in range(view.groups)],
            1.0,
            name="groups",
            hover=lambda g: f"group {g}",
        )
    )
    if t.switches <= _SINGLE:
        cables = net.cables(routers + t.nodes)
        cables = cables.pick(cables.link_class == global_class)
        ends = view.place(cables.ends.ravel()).reshape(-1, 2, 2)
        paths = [towards_centre(a, b) for a, b in ends]
        panel.add(
            Lines(
                paths,
                colour,
                1.1,
                0.75,
                values=net.value_of(cables),
                hover=net.cable_hover(cables),
                name="global",
            )
        )
        text = "Every global cable is drawn from router to router. "
    else:
        text = draw_chords(view, panel, global_class, colour, shown_group)
    if routers_shown:
        size = min(0.2, 1.1 / np.sqrt(2.6 * t.switches / view.groups))
        panel.add(
            Marks(
                view.place(routers + t.nodes),
                view.colours or NODE,
                size * view.radius,
                (1.2, 9),
                hover=lambda r: net.label(r + t.nodes),
                name="routers",
                order=4,
            )
        )
    step = max(1, -(-view.groups // 48))
    named = np.arange(0, view.groups, step)
    size = 9.5 if view.groups <= 48 else 8.5
    panel.add(Notes(view.centres[named] * (1 + view.radius + 0.06), [str(g) for g in named], size, INK))

    def path(a: int, b: int, link: int) -> Array | None:
        if min(a, b) < t.nodes:
            return None
        p, q = view.place(a), view.place(b)
        same = view.group_of(np.array([a - t.nodes])) == view.group_of(np.array([b - t.nodes]))
        return np.stack([p, q]) if same else towards_centre(p, q)

    add_route(net, panel, path)
    return text


def draw_chords(view: Clusters, panel: Panel, global_class: int, colour: str, shown_group: int) -> str:
    """Draw one chord for every two groups, those of one group darker."""
    a, b = np.triu_indices(view.groups, 1)
    per_pair = view.cables_per_pair(global_class)
    usual = int(np.median(per_pair[1:])) if view.groups > 1 else 0
    inner = view.centres * (1 - view.radius)
    values = view.pair_values(global_class)
    worth = None if values is None else values[a, b]
    curved = view.groups <= 40
    paths = [
        towards_centre(inner[i], inner[j]) if curved else np.stack([inner[i], inner[j]])
        for i, j in zip(a, b, strict=True)
    ]
    label = {}
    if view.groups <= 60:
        label = {
            "hover": lambda k: (
                f"groups {a[k]} and {b[k]}: {usual} cables"
                + ("" if worth is None else f"<br>largest value {worth[k]:.4g}")
            )
        }
    alpha = 0.9 if worth is not None else min(0.6, max(0.03, (9 if view.groups <= 40 else 4.5) / view.groups))
    thick = min(0.6 + 0.12 * usual, 2.2) if curved else 0.6
    if worth is not None:
        # Large values on top.
        order = np.argsort(np.nan_to_num(worth, nan=-np.inf))
        a, b, worth, paths = a[order], b[order], worth[order], [paths[i] for i in order]
    panel.add(Lines(paths, colour, thick, alpha, values=worth, name="global", **label))  # type: ignore[arg-type]
    if worth is None:
        own = np.flatnonzero((a == shown_group) | (b == shown_group))
        panel.add(Lines([paths[i] for i in own], colour, max(thick, 1.0), 0.9, name="global-of-one", order=2.2))
    cables = f"{count(usual)} global cable{'s' * (usual != 1)}"
    shared = "" if worth is not None else f"; darker: those of group {shown_group}"
    return f"A line between two groups stands for {cables}{shared}. "


def towards_centre(a: Array, b: Array) -> Array:
    """Chord that is drawn in towards the centre, more so between neighbours."""
    u = np.linspace(0, 1, 21)[:, None]
    middle = 0.35 * (a + b) / 2
    return np.asarray((1 - u) ** 2 * a + 2 * u * (1 - u) * middle + u**2 * b)
