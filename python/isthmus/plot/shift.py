"""Kautz and de Bruijn graphs: all directed links of small ones, the reach of a router in large ones."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from .common import INK, NODE, Net, add_route, bow, class_keys, count, ramp, ring
from .scene import Array, Key, Lines, Marks, Notes, Panel, Scene, Shapes

_ALL = 64  # routers up to which every link is drawn
_TREE = 400  # routers of the tree of reach


def title(net: Net) -> str:
    """Name of the network."""
    name = {"kautz": "Kautz graph", "debruijn": "de Bruijn graph"}[net.kind]
    size = f"{count(net.dims[0])} {net.router}s"
    return f"{name} of degree {net.number('d')} and diameter {net.number('k')}, {size}"


def word(net: Net, router: int) -> str:
    """Letters of a router."""
    return str(net.topology.label(router + net.first_router)).partition("(")[2].rstrip(")")


def draw(net: Net, scene: Scene) -> None:
    """Draw a Kautz or de Bruijn graph."""
    mark = "square" if net.separate else "dot"
    words = f"router, {net.per_router} node(s) each" if net.separate else "node with its router inside"
    scene.keys = [
        *class_keys(net),
        Key("heading", "Vertices"),
        Key(mark, words, NODE),
        Key("heading", "How to read"),
        Key(
            "text",
            f"A router is a word of {net.number('k')} letters. Its {net.number('d')} links lead to the words "
            "that drop the first letter and append one. Links have one direction.",
        ),
    ]
    if net.dims[0] <= _ALL:
        draw_all(net, scene)
    else:
        draw_reach(net, scene)


def arrow(path: Array, size: float, back: float) -> Array:
    """Head of an arrow whose tip is `back` before the end of a path."""
    way = path[-1] - path[-3]
    way = way / max(float(np.hypot(*way)), 1e-12)
    tip = path[-1] - back * way
    side = np.array([-way[1], way[0]])
    return np.array([tip, tip - size * way + 0.38 * size * side, tip - size * way - 0.38 * size * side])


def draw_all(net: Net, scene: Scene) -> None:
    """Draw every router on a circle and every link as an arrow."""
    n = net.dims[0]
    places = ring(n)
    size = min(0.14, 3.6 / n)
    cables = net.cables(np.arange(n) + net.first_router, directed=True)
    curves = [curve(places[a], places[b]) for a, b in cables.ends - net.first_router]
    panel = Panel()
    colour = "#7C93A8"
    panel.add(
        Lines(
            curves,
            colour,
            1.2 if n <= 30 else 0.8,
            values=net.value_of(cables),
            hover=net.cable_hover(cables),
            name="links",
        ),
        Shapes([arrow(c, 0.05, size / 2) for c in curves], "#26323D", order=2.5, name="arrows"),
        Marks(
            places,
            ramp(np.arange(n) * net.number("d", 2) // n + 1.0),
            size,
            (6, 24),
            "square" if net.separate else "circle",
            hover=lambda i: net.label(i + net.first_router),
            name="nodes",
        ),
        Notes(places * 1.13, [word(net, i) for i in range(n)], 9.5 if n <= 36 else 8, INK),
    )

    def path(a: int, b: int, link: int) -> Array | None:
        if min(a, b) < net.first_router:
            return None
        return curve(places[a - net.first_router], places[b - net.first_router])

    add_route(net, panel, path)
    scene.panels = [panel]
    scene.keys[1].color = colour


def curve(a: Array, b: Array) -> Array:
    """Arc of a link; the arcs of the two directions lie next to each other."""
    return bow(a, b, 0.10)


def draw_reach(net: Net, scene: Scene) -> None:
    """Draw the tree of routers that are reached with every hop, and their numbers."""
    t = net.topology
    # Router 0 of a de Bruijn graph has one link fewer, the loop.
    start = int(net.hops[0][0]) if len(net.hops) else net.first_router + (net.kind == "debruijn")
    if start < net.first_router and net.separate:
        start = net.first_router + start // net.per_router
    level = {start: 0}
    tree: list[tuple[int, int]] = []
    order: list[list[int]] = [[start]]
    sizes = [1]
    while order[-1]:
        found: list[int] = []
        for v in order[-1]:
            ends = t.link_ends(t.out_links(v))[:, 1]
            for w in (int(x) for x in ends):
                if w >= net.first_router and w not in level:
                    level[w] = len(order)
                    found.append(w)
                    tree.append((v, w))
        order.append(found)
        sizes.append(len(found))
        if len(level) > 60_000:
            break
    deep = max(k for k in range(1, len(sizes)) if sum(sizes[: k + 1]) <= _TREE)
    deep = min(deep, len(sizes) - 2)
    places: dict[int, Array] = {}
    spread: dict[int, tuple[float, float]] = {start: (0.0, 2 * np.pi)}
    children: dict[int, list[int]] = {}
    for v, w in tree:
        children.setdefault(v, []).append(w)
    for k in range(deep + 1):
        for v in order[k]:
            low, high = spread[v]
            angle = np.pi / 2 - (low + high) / 2
            places[v] = k * np.array([np.cos(angle), np.sin(angle)])
            mine = children.get(v, [])
            cuts = np.linspace(low, high, len(mine) + 1)
            spread.update(zip(mine, pairwise(cuts), strict=True))
    panel = Panel(
        box=(0.0, 0.0, 0.62, 1.0),
        title=f"Reach of {net.router} {word(net, start - net.first_router)} in {deep} hops",
    )
    panel.add(Shapes([ring(90, k) for k in range(1, deep + 1)], "none", "#DDE3E8", 0.8, name="hops"))
    edges = [(v, w) for v, w in tree if w in places]
    cables = net.cables(np.array(list(places)), directed=True)
    index = {(int(a), int(b)): i for i, (a, b) in enumerate(cables.ends)}
    worth = net.value_of(cables)
    picked = np.array([index[e] for e in edges])
    say = net.cable_hover(cables)
    panel.add(
        Lines(
            [np.stack([places[v], places[w]]) for v, w in edges],
            "#7C93A8",
            1.0,
            values=None if worth is None else worth[picked],
            hover=lambda i: say(int(picked[i])),
            name="links",
        )
    )
    drawn = list(places)
    panel.add(
        Marks(
            np.array(list(places.values())),
            ramp(np.array([deep - level[v] for v in drawn], float)),
            0.16,
            (3, 14),
            "square" if net.separate else "circle",
            hover=lambda i: net.label(drawn[i]),
            name="nodes",
        )
    )
    near = [v for v in drawn if level[v] <= (1 if net.number("k") <= 8 else 0)]
    panel.add(
        Notes(
            np.array([places[v] + [0, 0.045 * deep] for v in near]),
            [word(net, v - net.first_router) for v in near],
            8.5,
            INK,
            backing=True,
        )
    )

    def path(a: int, b: int, link: int) -> Array | None:
        return np.stack([places[a], places[b]]) if a in places and b in places else None

    add_route(net, panel, path)
    scene.panels = [panel, reach_panel(net, sizes[:-1] if not sizes[-1] else sizes)]
    scene.keys[1].color = "#7C93A8"
    scene.caption = (
        f"Drawn: {count(len(places))} of {count(net.dims[0])} {net.router}s and the links by which each "
        "is first reached; links between them that are no shortcut are left out. Rings: hops. "
        "Every other router sees a network of the same kind."
    )
    if len(net.route):
        scene.caption += " Hops of the route beyond the outer ring are not drawn."


def reach_panel(net: Net, sizes: list[int]) -> Panel:
    """Number of routers that are first reached with every hop."""
    bars = [np.array([[k - 0.4, 0], [k + 0.4, 0], [k + 0.4, s], [k - 0.4, s]], float) for k, s in enumerate(sizes)]
    panel = Panel(box=(0.66, 0.15, 0.32, 0.7), axes=("hops", f"{net.router}s first reached"), title="Reach by hop")
    panel.add(Shapes(bars, NODE, hover=lambda k: f"hop {k}: {count(sizes[k])}", name="bars"))
    return panel
