"""HyperX: a grid of routers, all-to-all along every dimension."""

from __future__ import annotations

import numpy as np

from .common import NODE, Net, add_route, bow, class_keys, ring, times
from .grid_view import GridView, drawn
from .scene import Array, Key, Lines, Marks, Notes, Panel, Scene, project

_ROWS = 8  # extents up to which the cables of every row are drawn


def title(net: Net) -> str:
    """Name of the network."""
    name = "Full mesh" if len(net.dims) == 1 else f"{len(net.dims)}-D HyperX"
    return f"{name}, {times(net.dims)} routers"


def draw(net: Net, scene: Scene) -> None:
    """Draw a HyperX."""
    parallel = net.text.get("parallel", "x".join("1" for _ in net.dims)).split("x")
    scene.keys = [
        *class_keys(net),
        Key("heading", "Vertices"),
        Key("square", f"router carrying {net.per_router} node{'s' * (net.per_router != 1)}, not drawn", NODE),
        Key("heading", "How to read"),
        *[
            Key(
                "text",
                f"{n}: each router is cabled to {e - 1} others of its row, {p} cable{'s' * (p != '1')} each",
            )
            for n, e, p in zip(net.names, net.dims, parallel, strict=True)
        ],
    ]
    if len(net.dims) == 1:
        draw_mesh(net, scene)
    else:
        draw_rows(net, scene)


def draw_mesh(net: Net, scene: Scene) -> None:
    """Draw routers that are all linked to each other on a circle."""
    n = net.dims[0]
    pick = drawn(n, max(1, n // 64))
    places = ring(len(pick))
    place = {int(v) + net.first_router: p for v, p in zip(pick, places, strict=True)}
    cables = net.cables(pick + net.first_router)
    panel = Panel()
    panel.add(
        Lines(
            [np.stack([place[int(a)], place[int(b)]]) for a, b in cables.ends],
            net.colour(0),
            1.2 if n <= 16 else 0.5,
            0.8,
            values=net.value_of(cables),
            hover=net.cable_hover(cables),
            name="links",
        ),
        Marks(
            places,
            NODE,
            1.6 / max(len(pick), 6),
            (6, 22),
            "square",
            hover=lambda i: net.label(int(pick[i]) + net.first_router),
            name="routers",
            order=4,
        ),
        Notes(places * 1.12, [str(v) for v in pick], 9),
    )
    add_route(net, panel, lambda a, b, link: np.stack([place[a], place[b]]) if a in place and b in place else None)
    scene.panels = [panel]
    if len(pick) < n:
        scene.caption = f"Drawn: {len(pick)} of {n} routers, evenly spaced, and the cables between them."


def spread(c: Array) -> Array:
    """Place on paper: two dimensions flat, three as a lattice, further ones are left out."""
    c = np.asarray(c, float)
    return c[..., :2] if c.shape[-1] == 2 else project(c[..., :3] * [1.0, 1.15, 1.0])


def draw_rows(net: Net, scene: Scene) -> None:
    """Draw a grid; every row is a clique of arcs, in large ones those of one router only."""
    full = net.dims
    dims = full[:3]
    t = net.topology
    # Every cable of a picked router has a value to show; without values one router stands for all.
    most = {2: (24, _ROWS), 3: (12, 5)}[len(dims)][net.values is not None]
    step = [max(1, -(-e // most)) for e in dims]
    picks = [drawn(e, s) for e, s in zip(dims, step, strict=True)]
    at = np.stack(np.meshgrid(*picks, indexing="ij"), axis=-1).reshape(-1, len(dims))
    view = GridViewOf(net)

    def place(c: Array) -> Array:
        return spread(np.array([np.interp(v, p, np.arange(len(p))) for v, p in zip(c, picks, strict=False)]))

    routers = np.array([view.vertex([*c, *[0] * (len(full) - len(dims))]) for c in at])
    places = {int(v): place(c) for v, c in zip(routers, at, strict=True)}
    every = len(dims) == 2 and max(len(p) for p in picks) <= _ROWS
    chosen = int(routers[np.argmin(np.abs(at - [len(p) // 3 for p in picks]).sum(axis=1))])
    near = routers
    if not every and net.values is None:
        near = routers[(at == at[routers == chosen]).sum(axis=1) >= len(dims) - 1]
    cables = net.cables(near)
    if not every and net.values is None:
        cables = cables.pick((cables.ends == chosen).any(axis=1))
    paths = [
        arc(places[int(a)], places[int(b)], int(k), len(dims))
        for (a, b), k in zip(cables.ends, cables.link_class, strict=True)
    ]
    panel = Panel()
    if not every:
        for d in range(len(dims)):
            low, high = at[at[:, d] == 0], at[at[:, d] == picks[d][-1]]
            rows: list[Array] = [np.stack([place(a), place(b)]) for a, b in zip(low, high, strict=True)]
            panel.add(Lines(rows, net.colour(d), 0.8, 0.4, name="rows"))
    panel.add(
        Lines(
            paths,
            [net.colour(int(k)) for k in cables.link_class],
            1.2,
            0.85,
            values=net.value_of(cables),
            hover=net.cable_hover(cables),
            name="links",
            order=2.2,
        )
    )
    mates = np.unique(cables.ends)
    shade = [NODE if every or net.values is not None or v in mates else "#B4C5D4" for v in routers]
    panel.add(
        Marks(
            np.array(list(places.values())),
            shade,
            0.3 if len(dims) == 2 else 0.2,
            (3, 16),
            "square",
            hover=lambda i: net.label(int(routers[i])),
            name="routers",
            order=2.1 if len(dims) == 3 else 4,
        )
    )
    if not every and net.values is None:
        panel.add(Marks(places[chosen][None], "#E69F00", 0.4, (7, 18), "square", name="chosen", order=4.5))
        scene.keys.insert(len(net.classes) + 3, Key("square", "router whose cables are drawn", "#E69F00"))
    extents(net, panel, picks)

    def path(a: int, b: int, link: int) -> Array | None:
        if min(a, b) < net.first_router:
            return None
        p, q = (place(view.coordinates(v)[: len(dims)]) for v in (a, b))
        return None if np.allclose(p, q) else arc(p, q, int(t.link_class(np.array([link], np.uint32))[0]), len(dims))

    add_route(net, panel, path)
    scene.panels = [panel]
    if not every and net.values is None:
        scene.caption = (
            "Thin lines: rows of routers that are all cabled to each other. Arcs: the cables of one router. "
        )
    if max(step) > 1:
        scene.caption += f"Drawn: {len(routers)} of {t.switches} routers. "
    if len(full) > 3:
        scene.caption += f"Of {', '.join(net.names[3:])} only coordinate 0 is drawn."


class GridViewOf(GridView):
    """Coordinates of a HyperX, whose routers count like those of a grid."""

    def __init__(self, net: Net) -> None:
        self.net = net
        self.dims = net.dims
        self.names = net.names


def arc(a: Array, b: Array, d: int, dimensions: int) -> Array:
    """Cable of a row: straight between neighbours, the higher the farther."""
    apart = float(np.hypot(*(b - a)))
    if apart < 1.3 and dimensions == 2:
        return np.stack([a, b])
    return bow(a, b, 0.16 if d == 0 else -0.16)


def extents(net: Net, panel: Panel, picks: list[Array]) -> None:
    """Name the dimensions along outer edges."""
    last = np.array([len(p) - 1.0 for p in picks])
    three = len(picks) == 3
    spots = [
        np.array([last[0] / 2, *[0.0] * (len(last) - 1)]),
        np.array([last[0] if three else 0.0, last[1] / 2, *[0.0] * (len(last) - 2)]),
    ]
    offsets = [np.array([0.0, -0.75]), np.array([0.7, -0.5]) if three else np.array([-0.75, 0.0])]
    anchors = [("center", "top"), ("left", "top") if three else ("right", "middle")]
    if three:
        spots.append(np.array([0.0, 0.0, last[2] / 2]))
        offsets.append(np.array([-0.6, 0.0]))
        anchors.append(("right", "middle"))
    for d, (spot, offset, anchor) in enumerate(zip(spots, offsets, anchors, strict=True)):
        at = spread(spot) + offset
        panel.add(Notes(at[None], [f"{net.names[d]}: {net.dims[d]}"], 11, net.colour(d), anchor, bold=True))
