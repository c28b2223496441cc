"""Slim Flies: two sets of groups, local links inside groups, global ones between the sets."""

from __future__ import annotations

import numpy as np

from .common import FAINT, INK, NODE, PALE, Net, add_route, class_keys, count, ring
from .scene import Array, Key, Lines, Marks, Notes, Panel, Scene, Shapes

_ALL = 7  # q up to which every cable is drawn


def title(net: Net) -> str:
    """Name of the network."""
    q = net.number("q")
    return f"Slim Fly of q = {q}, {2 * q * q} routers of {net.per_router} nodes"


def draw(net: Net, scene: Scene) -> None:
    """Draw a Slim Fly: a group is a column (set, x) of q routers, drawn as a ring."""
    t = net.topology
    q = net.number("q")
    first = t.nodes
    routers = np.arange(2 * q * q)
    y, x, side = routers % q, routers // q % q, routers // (q * q)
    pitch, high = 1.25, max(0.62 * q, 3.4)
    discs = ring(q, 0.46)
    centres = np.array([[x * pitch, high * (1 - s)] for s in (0, 1) for x in range(q)])
    places = centres[side * q + x] + discs[y]
    panel = Panel()
    panel.add(
        Shapes(
            [c + ring(40, 0.6) for c in centres],
            PALE,
            FAINT,
            hover=lambda i: f"set {i // q}, x = {i % q}",
            name="groups",
        )
    )
    chosen = int(net.hops[net.hops[:, 0] >= first][0][0]) if (net.hops[:, 0] >= first).any() else first
    cables = net.cables(routers + first)
    own = (cables.ends == chosen).any(axis=1)
    if q > _ALL and net.values is None:
        local = cables.pick(cables.link_class == 0)
        cables = cables.pick(own)
        bundles = [np.stack([centres[i] - [0, 0.6], centres[q + j] + [0, 0.6]]) for i in range(q) for j in range(q)]
        panel.add(Lines(bundles, net.colour(1), 0.5, 0.16, hover=lambda i: f"{q} cables", name="bundles"))
        panel.add(Lines(list(places[local.ends - first]), net.colour(0), 0.4, 0.45, name="local-all"))
    thick = 1.0 if net.values is None or q <= _ALL else 0.5
    panel.add(
        Lines(
            list(places[cables.ends - first]),
            [net.colour(int(k)) for k in cables.link_class],
            thick,
            0.75,
            values=net.value_of(cables),
            hover=net.cable_hover(cables),
            name="links",
            order=2.2,
        )
    )
    panel.add(
        Marks(
            places,
            NODE,
            1.0 / max(q, 5),
            (2, 12),
            hover=lambda i: net.label(i + first),
            name="routers",
            order=4,
        )
    )
    if q > _ALL and net.values is None:
        panel.add(Marks(places[[chosen - first]], "#E69F00", 2.0 / q, (7, 14), name="chosen", order=4.5))
    words = [f"x = {i}" for i in range(q)] if q <= 9 else [str(i) for i in range(q)]
    panel.add(Notes(centres[:q] + np.array([0, 0.85]), words, 9, INK))
    panel.add(Notes(centres[q:] - [0, 0.85], [w.replace("x", "m") for w in words], 9, INK))
    edge = -0.9
    panel.add(
        Notes(
            np.array([[edge, high], [edge, 0.0]]),
            ["set 0\n(x, y)", "set 1\n(m, c)"],
            10,
            INK,
            ("right", "middle"),
            True,
        )
    )

    def path(a: int, b: int, link: int) -> Array | None:
        return np.stack([places[a - first], places[b - first]]) if min(a, b) >= first else None

    add_route(net, panel, path)
    scene.panels = [panel]
    degree = len(t.out_links(first)) - net.per_router
    scene.keys = [
        *class_keys(net),
        Key("heading", "Vertices"),
        Key("dot", f"router carrying {net.per_router} nodes, not drawn", NODE),
        Key("heading", "How to read"),
        Key(
            "text",
            f"A disc is a group of {q} routers with the same x (or m). Local links stay in a disc. "
            "Router (0, x, y) has a global link to (1, m, c) where y = m x + c: "
            "one in every disc of the other set.",
        ),
        Key("text", f"{degree} cables between routers at each; any two routers are at most 2 hops apart."),
    ]
    if q > _ALL and net.values is None:
        scene.keys.insert(-3, Key("dot", "router whose cables are drawn in full", "#E69F00"))
        scene.caption = (
            f"Dark lines: the cables of one router. Faint lines between discs stand for {count(q)} cables "
            "each, one for every router of the disc."
        )
