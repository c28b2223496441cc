"""Dragonflies: all groups on a ring, and one of them enlarged."""

from __future__ import annotations

import numpy as np

from .clusters import Clusters, draw_ring
from .common import INK, MUTED, NODE, Net, add_route, bow, class_keys, count, ring, times
from .scene import Array, Key, Lines, Marks, Notes, Panel, Scene

# Cables of a Cray XC are known by these colours: green in a chassis, black in a group, blue between groups.
_COLOURS = {
    "local": "#009E73",
    "local0": "#009E73",
    "local1": "#26323D",
    "global": "#0072B2",
    "terminal": MUTED,
}


def title(net: Net) -> str:
    """Name of the network."""
    return f"Dragonfly, {net.number('g')} groups of {times(net.dims[:-1])} routers"


def recolour(net: Net) -> None:
    """Give link classes the colours people know them by."""
    net.classes = [(n, b, x, _COLOURS.get(n, c)) for n, b, x, c in net.classes]
    net.colours = [_COLOURS.get(c[0], o) for c, o in zip(net.topology.link_classes, net.colours, strict=True)]


def draw(net: Net, scene: Scene) -> None:
    """Draw a dragonfly."""
    recolour(net)
    t = net.topology
    shape = net.dims[:-1]
    size, groups = int(np.prod(shape)), net.dims[-1]
    columns, rows = shape[0], size // shape[0]
    flat = len(shape) == 1
    circle = ring(size)

    def place_in(router: Array) -> Array:
        local = router % size
        if flat:
            return np.asarray(circle[local] * (1.0 if size > 1 else 0.0))
        return np.column_stack(
            [
                (local % columns) / max(columns - 1, 1) * 1.7 - 0.85,
                (local // columns) / max(rows - 1, 1) * 0.8 - 0.4,
            ]
        )

    view = Clusters(net, groups, lambda r: np.asarray(r) // size, place_in)
    global_class = [c[0] for c in t.link_classes].index("global")
    first = [v for v in net.hops.ravel() if v >= t.nodes]
    shown = int(first[0] - t.nodes) // size if first else 0
    left = Panel(box=(0.0, 0.0, 0.6, 1.0), title=f"{groups} groups, every two cabled together")
    caption = draw_ring(view, left, global_class, groups <= 24, shown)
    right = Panel(
        box=(0.62, 0.16, 0.38, 0.72) if flat else (0.62, 0.24, 0.38, 0.56),
        framed=True,
        title=f"Group {shown}: {times(shape)} routers",
    )
    if flat:
        group_circle(net, right, shown * size + t.nodes, size, scene)
        caption += "Right: every router of a group is cabled to every other one. "
    else:
        which = "" if net.values is None else ", the one on the cable with the largest value,"
        group_matrix(net, right, shown * size + t.nodes, columns, rows, scene)
        caption += (
            f"Right: the cables of one router{which} are drawn; every router has the same to all others in its row "
            "and column. "
        )
    caption += f"Nodes, {net.per_router} on every router, are not drawn." if size > 8 or not flat else ""
    scene.panels = [left, right]
    scene.caption = caption
    total = int(view.cables_per_pair(global_class).sum())
    scene.keys = [
        *class_keys(net),
        Key("heading", "One group"),
        Key("text", f"{size} routers, {count(size * net.per_router)} nodes"),
        Key(
            "text",
            f"{count(total)} global cables to {groups - 1} other groups, up to {net.number('h')} a router",
        ),
        Key("text", f"Ports: {net.text.get('arrangement', 'absolute')} arrangement"),
        *scene.keys,
    ]


def group_circle(net: Net, panel: Panel, first: int, size: int, scene: Scene) -> None:
    """Draw a group whose routers are all linked to each other."""
    places = ring(size)
    routers = np.arange(first, first + size)
    cables = net.cables(routers)
    paths = list(places[cables.ends - first])
    thin = 1.6 if size <= 10 else 0.9 if size <= 24 else 0.4
    panel.add(
        Lines(
            paths,
            net.colour(0),
            thin,
            0.85 if size <= 24 else 0.6,
            values=net.value_of(cables),
            hover=net.cable_hover(cables),
            name="local",
        )
    )
    few = size <= 8 and net.per_router <= 8
    if few:
        add_nodes(net, panel, places, first)
    panel.add(
        Marks(
            places,
            NODE,
            1.6 / max(size, 6),
            (5, 20),
            hover=lambda i: net.label(first + i),
            name="routers",
            order=4,
        )
    )
    step = max(1, size // 32)
    named = np.arange(0, size, step)
    if few:
        panel.add(Notes(places, [str(i) for i in range(size)], 9, "white", bold=True))
        scene.keys += [Key("dot", "router", NODE), Key("dot", "node", "#8CC5E3")]
    else:
        panel.add(Notes(places[named] * 1.12, [str(i) for i in named], 8.5, INK))
        scene.keys += [Key("dot", f"router, {net.per_router} nodes", NODE)]

    def path(a: int, b: int, link: int) -> Array | None:
        if min(a, b) < first or max(a, b) >= first + size:
            return None
        return np.stack([places[a - first], places[b - first]])

    add_route(net, panel, path)


def add_nodes(net: Net, panel: Panel, places: Array, first: int) -> None:
    """Draw the nodes of every router as a fan."""
    p = net.per_router
    fan = (np.arange(p) - (p - 1) / 2) * min(0.16, 0.7 / p)
    angle = np.arctan2(places[:, 1], places[:, 0])[:, None] + fan
    nodes = 1.38 * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    roots = np.repeat(places[:, None], p, axis=1)
    number = ((first - net.topology.nodes) * p + np.arange(len(places) * p)).astype(np.uint32)
    worth = None if net.values is None else np.fmax(net.values[number], net.values[number + net.topology.nodes])
    terminal = net.colours[-1]
    panel.add(
        Lines(
            list(np.stack([roots, nodes], axis=2).reshape(-1, 2, 2)),
            terminal,
            1.0,
            values=worth,
            name="terminal",
        )
    )
    panel.add(
        Marks(
            nodes.reshape(-1, 2),
            "#8CC5E3",
            0.08,
            (3, 9),
            hover=lambda i: net.label(int(number[i])),
            name="nodes",
        )
    )


def group_matrix(net: Net, panel: Panel, first: int, columns: int, rows: int, scene: Scene) -> None:
    """Draw a group of a Cray XC: slots across, chassis down."""
    tall = 1.9
    places = np.array([[i % columns, -tall * (i // columns)] for i in range(columns * rows)], float)
    for r in range(rows):
        panel.add(Lines([places[[r * columns, (r + 1) * columns - 1]]], net.colour(0), 1.2, 0.35, name="row"))
    panel.add(
        Lines(
            [places[[c, (rows - 1) * columns + c]] for c in range(columns)],
            net.colour(1),
            1.0,
            0.25,
            name="column",
        )
    )
    cables = net.cables(np.arange(first, first + columns * rows))
    worth = net.value_of(cables)
    chosen = (rows // 2) * columns + columns // 3
    if worth is not None and np.isfinite(worth).any():
        # All cables at once would hide each other: those of the router on the one with the largest value.
        chosen = int(cables.ends[np.nanargmax(worth)][0]) - first
    mine = cables.pick((cables.ends == first + chosen).any(axis=1))
    paths = [
        bow(places[a], places[b], (0.22 if k == 0 else 0.12) * (1 if k == 0 else -1))
        for (a, b), k in zip(mine.ends - first, mine.link_class, strict=True)
    ]
    panel.add(
        Lines(
            paths,
            [net.colour(int(k)) for k in mine.link_class],
            1.1,
            0.9,
            name="local",
            values=net.value_of(mine),
            hover=net.cable_hover(mine),
            order=2.5,
        )
    )
    panel.add(
        Marks(
            places,
            NODE,
            0.46,
            (4, 12),
            "square",
            hover=lambda i: net.label(first + i),
            name="routers",
            order=4,
        )
    )
    panel.add(Marks(places[[chosen]], "#E69F00", 0.62, (6, 15), "square", name="chosen", order=4.5))
    t = net.topology
    ports = t.out_links(first + chosen)
    outward = int(np.sum(t.link_class(ports) == 2))
    stubs = [places[chosen], places[chosen] + [0.42, 0.75]]
    panel.add(Lines([np.array(stubs)], net.colour(2), 2.0, name="global-stub", order=3.9))
    panel.add(
        Notes(
            np.array([stubs[1]]),
            [f"{outward} global"],
            8.5,
            net.colour(2),
            ("left", "bottom"),
            True,
            True,
        )
    )
    scene.keys += [Key("square", "router whose cables are drawn", "#E69F00")]
    scene.keys += [Key("square", f"router, {net.per_router} nodes", NODE)]
    parallel = net.text.get("parallel", "1x1").split("x")
    for d, name in enumerate(net.names[:2]):
        words = name.replace("_", " ")
        n = parallel[min(d, len(parallel) - 1)]
        scene.keys.append(Key("text", f"{words}: all to all, {n} cable{'s' * (n != '1')} per pair"))
    named = np.arange(0, columns, 1 if columns <= 16 else 2)
    panel.add(Notes(places[named] + [0, 1.35], [str(c) for c in named], 8, MUTED))
    panel.add(Notes(places[::columns] - [0.9, 0], [str(r) for r in range(rows)], 8, MUTED))
    panel.add(
        Notes(
            np.array([[(columns - 1) / 2, 2.5]]),
            [net.names[0].replace("_", " ")],
            9.5,
            net.colour(0),
            bold=True,
        )
    )
    panel.add(
        Notes(
            np.array([[(columns - 1) / 2, -tall * rows + 0.4]]),
            [f"rows: {net.names[1]}"],
            9.5,
            net.colour(1),
            bold=True,
        )
    )

    def path(a: int, b: int, link: int) -> Array | None:
        if min(a, b) < first or max(a, b) >= first + len(places):
            return None
        k = 0 if (a - first) // columns == (b - first) // columns else 1
        return bow(places[a - first], places[b - first], 0.22 if k == 0 else -0.12)

    add_route(net, panel, path)
