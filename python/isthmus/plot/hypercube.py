"""Hypercubes: copies of smaller ones next to each other, as they are built."""

from __future__ import annotations

import numpy as np

from .common import INK, Net, add_route, class_keys, count, ramp
from .scene import Array, Key, Lines, Marks, Notes, Panel, Scene, Shapes

_DRAWN = 6
# Where bit i moves a router: three make a cube, three more a cube of cubes, the last puts two side by side.
_MOVES = np.array([[1, 0], [0, 1], [0.38, 0.30], [3.3, 0.1], [0.1, 3.2], [1.72, 1.58], [7.6, 0.3]])


def title(net: Net) -> str:
    """Name of the network."""
    return f"Hypercube of {len(net.dims)} dimensions, {count(2 ** len(net.dims))} {net.router}s"


def draw(net: Net, scene: Scene) -> None:
    """Draw a hypercube, or a sub-cube of a large one with the number of routers at every distance."""
    n = len(net.dims)
    shown = n if n <= 7 else _DRAWN
    routers = np.arange(2**shown)
    places = ((routers[:, None] >> np.arange(shown)) & 1) @ _MOVES[:shown]
    if shown <= 5:  # without the third move of cubes they may be closer
        near = np.where(np.arange(shown) > 2, 0.65, 1.0)[:, None]
        places = ((routers[:, None] >> np.arange(shown)) & 1) @ (_MOVES[:shown] * near)
    cables = net.cables(routers + net.first_router)
    panel = Panel(box=(0.0, 0.0, 1.0, 1.0) if n <= 7 else (0.0, 0.0, 0.62, 1.0))
    ends = places[cables.ends - net.first_router]
    panel.add(
        Lines(
            list(ends),
            [net.colour(int(k)) for k in cables.link_class],
            1.3 if shown < 6 else 0.9,
            0.8,
            values=net.value_of(cables),
            hover=net.cable_hover(cables),
            name="links",
        )
    )
    weight = np.array([int(r).bit_count() for r in routers])
    panel.add(
        Marks(
            places,
            ramp(weight),
            0.3 if shown <= 5 else 0.2,
            (5, 26),
            "square" if net.separate else "circle",
            hover=lambda i: net.label(i + net.first_router),
            name="nodes",
        )
    )
    if shown <= 5:
        dark = weight > 0.4 * shown
        for shade, colour in ((dark, "white"), (~dark, INK)):
            texts = [f"{r:0{shown}b}" if shown <= 4 else str(r) for r in routers[shade]]
            panel.add(Notes(places[shade], texts, 7.5 if shown == 4 else 8, colour))

    def path(a: int, b: int, link: int) -> Array | None:
        a, b = a - net.first_router, b - net.first_router
        inside = min(a, b) >= 0 and max(a, b) < len(routers)
        return np.stack([places[a], places[b]]) if inside else None

    add_route(net, panel, path)
    scene.panels = [panel]
    mark = "square" if net.separate else "dot"
    words = f"router, {net.per_router} node(s) each" if net.separate else "node with its router inside"
    scene.keys = [
        *class_keys(net),
        Key("heading", "Vertices"),
        Key(mark, words, "#3E6C95"),
        Key("text", f"Colour: ones in the number, light 0 to dark {shown}"),
        Key("heading", "How to read"),
        Key(
            "text",
            "Dimension i joins numbers that differ in bit i alone. Each further one doubles the drawing: "
            "a copy of it, every router cabled to its like.",
        ),
    ]
    if n > 7:
        panel.title = f"Sub-cube of the first {shown} dimensions"
        scene.panels.append(profile(n))
        scene.caption = (
            f"Drawn: {2**shown} of {count(2**n)} routers; the whole is {count(2 ** (n - shown))} such cubes. "
            f"A router drawn has {n - shown} more cables, to its likes in {n - shown} other sub-cubes."
        )
        if len(net.route):
            scene.caption += " Hops of the route outside the sub-cube are not drawn."


def profile(n: int) -> Panel:
    """Number of routers at every distance."""
    counts = [1.0]
    for k in range(n):
        counts.append(counts[-1] * (n - k) / (k + 1))
    bars = [np.array([[k - 0.4, 0], [k + 0.4, 0], [k + 0.4, c], [k - 0.4, c]]) for k, c in enumerate(counts)]
    panel = Panel(box=(0.66, 0.15, 0.32, 0.7), axes=("hops between routers", "routers"), title="Routers by distance")
    panel.add(Shapes(bars, "#3E6C95", hover=lambda k: f"{k} hops: {count(counts[k])} routers", name="bars"))
    return panel
