"""Dragonfly+: all groups on a ring, one of them enlarged with its leaves and spines."""

from __future__ import annotations

import numpy as np

from .clusters import Clusters, draw_ring
from .common import INK, MUTED, NODE, Net, add_route, class_keys, count
from .dragonfly import recolour
from .scene import Array, Key, Lines, Marks, Notes, Panel, Scene

_SPINE = "#E69F00"


def title(net: Net) -> str:
    """Name of the network."""
    leaves, spines = net.number("leaves"), net.number("spines")
    return f"Dragonfly+, {net.number('g')} groups of {leaves} leaves and {spines} spines"


def draw(net: Net, scene: Scene) -> None:
    """Draw a dragonfly+."""
    recolour(net)
    t = net.topology
    leaves, spines, groups = net.number("leaves"), net.number("spines"), net.number("g")
    hosts = leaves * groups

    def group_of(router: Array) -> Array:
        router = np.asarray(router)
        return np.where(router < hosts, router // leaves, (router - hosts) // spines)

    def place_in(router: Array) -> Array:
        leaf = router < hosts
        index = np.where(leaf, router % leaves, (router - hosts) % spines)
        wide = np.where(leaf, leaves, spines)
        across = np.where(wide > 1, index / np.maximum(wide - 1, 1) * 1.6 - 0.8, 0.0)
        return np.column_stack([across, np.where(leaf, -0.45, 0.45)])

    view = Clusters(net, groups, group_of, place_in, [NODE] * hosts + [_SPINE] * (spines * groups))
    global_class = [c[0] for c in t.link_classes].index("global")
    inner = [v for v in net.hops.ravel() if v >= t.nodes]
    shown = int(group_of(np.array([inner[0] - t.nodes]))[0]) if inner else 0
    left = Panel(box=(0.0, 0.0, 0.6, 1.0), title=f"{groups} groups, every two cabled together")
    caption = draw_ring(view, left, global_class, groups <= 24, shown)
    right = Panel(box=(0.62, 0.16, 0.38, 0.72), framed=True, title=f"Group {shown}")
    group_rows(net, right, shown, leaves, spines, hosts)
    scene.panels = [left, right]
    scene.caption = caption + "In the discs spines are on the inner side. Right: every leaf is cabled to every spine."
    total = int(view.cables_per_pair(global_class).sum())
    scene.keys = [
        *class_keys(net),
        Key("heading", "One group"),
        Key("dot", f"spine: up to {net.number('h')} global cables", _SPINE),
        Key("dot", f"leaf: {net.per_router} nodes", NODE),
        Key("text", f"{leaves} leaves, {spines} spines, {count(leaves * net.per_router)} nodes"),
        Key("text", f"{count(total)} global cables to {groups - 1} other groups"),
    ]


def group_rows(net: Net, panel: Panel, group: int, leaves: int, spines: int, hosts: int) -> None:
    """Draw a group as a row of spines above a row of leaves above their nodes."""
    t = net.topology
    first_leaf, first_spine = t.nodes + group * leaves, t.nodes + hosts + group * spines
    wide = float(max(leaves, spines, 4))
    high = 0.62 * wide

    def row(n: int, y: float) -> Array:
        return np.column_stack([(np.arange(n) + 0.5) * wide / n, np.full(n, y)])

    below, above = row(leaves, 0.0), row(spines, high)
    vertices = np.concatenate([np.arange(leaves) + first_leaf, np.arange(spines) + first_spine])
    places = dict(zip(vertices.tolist(), np.concatenate([below, above]), strict=True))
    cables = net.cables(vertices)
    paths = [np.stack([places[int(a)], places[int(b)]]) for a, b in cables.ends]
    many = len(paths) > 100
    panel.add(
        Lines(
            paths,
            net.colour(0),
            0.6 if many else 1.3,
            0.6 if many else 0.85,
            values=net.value_of(cables),
            hover=net.cable_hover(cables),
            name="local",
        )
    )
    reach = 0.16 * wide
    up = [np.stack([p, p + np.array([dx * reach, reach])]) for p in above for dx in (-0.22, 0.0, 0.22)]
    panel.add(Lines(up, net.colour(1), 1.0, name="global-stubs"))
    shown = min(net.per_router, 4)
    fan = (np.arange(shown) - (shown - 1) / 2) * 0.72 * wide / leaves / max(shown, 1)
    nodes = (below[:, None] + np.stack([fan, np.full(shown, -reach)], axis=-1)).reshape(-1, 2)
    panel.add(Lines(list(np.stack([np.repeat(below, shown, axis=0), nodes], axis=1)), MUTED, 0.8, name="terminal"))
    panel.add(Marks(nodes, "#8CC5E3", 0.12, (2, 6), name="nodes"))
    panel.add(Marks(above, _SPINE, 0.55, (5, 18), hover=lambda i: net.label(first_spine + i), name="spines", order=4))
    panel.add(Marks(below, NODE, 0.55, (5, 18), hover=lambda i: net.label(first_leaf + i), name="leaves", order=4))
    words = [
        f"{spines} spines, each with up to {net.number('h')} global cables",
        f"{leaves} leaves, each with {net.per_router} nodes" + (f" ({shown} drawn)" if shown < net.per_router else ""),
    ]
    at = np.array([[wide / 2, high + 1.5 * reach], [wide / 2, -1.5 * reach]])
    panel.add(Notes(at, words, 9.5, INK))

    def path(a: int, b: int, link: int) -> Array | None:
        return np.stack([places[a], places[b]]) if a in places and b in places else None

    add_route(net, panel, path)
