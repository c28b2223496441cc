"""Lines, rings and two-dimensional meshes and tori."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from .common import INK, MUTED, NODE, Net, add_route, class_keys, ramp, times
from .grid_view import GridView, blocks, drawn, ordinal, sparse_caption
from .scene import Array, Key, Lines, Marks, Notes, Panel, Scene, told


def node_keys(net: Net) -> list[Key]:
    """Legend of the marks of a network with one kind of router."""
    if not net.separate:
        return [Key("heading", "Vertices"), Key("dot", "node with its router inside", NODE)]
    nodes = f"{net.per_router} node{'s' * (net.per_router > 1)}"
    return [Key("heading", "Vertices"), Key("square", f"router carrying {nodes}, not drawn", NODE)]


def draw_line(net: Net, scene: Scene) -> None:
    """Draw a linear array, or a ring as a circle."""
    view = GridView(net)
    n = net.dims[0]
    step = max(1, -(-n // (120 if view.wraps[0] else 40)))
    pick = drawn(n, step)
    circle = view.wraps[0] and n > 2

    def place(x: Array) -> Array:
        angle = np.pi / 2 - 2 * np.pi * x / n
        radius = n / (2 * np.pi)
        return np.stack([np.cos(angle), np.sin(angle)], -1) * radius if circle else np.stack([x, 0.0 * x], -1)

    def arc(a: float, b: float) -> Array:
        return place(np.linspace(a, b, 7 if circle else 2))

    ends = np.append(pick, n) if circle else pick
    paths = [arc(a, b) for a, b in pairwise(ends)]
    values = view.values()
    worth = None if values is None else np.fmax.reduceat(values[0], pick)[: len(paths)]
    places = place(pick)
    panel = Panel()
    panel.add(
        Lines(
            paths,
            view.colours[0],
            2.2,
            values=worth,
            hover=lambda i: view.cable_label(0, [pick[i]]),
            name="links",
        ),
        Marks(
            places,
            NODE,
            0.55 * step,
            (4, 22),
            "square" if net.separate else "circle",
            hover=lambda i: view.label([pick[i]]),
            name="nodes",
        ),
    )
    labelled = np.arange(len(pick))[:: max(1, len(pick) // 24)]
    if circle and n > 24:  # the last ones would run into the first
        labelled = labelled[pick[labelled] < n - n / 36]
    outward = places[labelled] * 1.11 if circle else places[labelled] - [0, 0.035 * n]
    panel.add(Notes(outward, [str(pick[i]) for i in labelled], 9, INK))
    panel.add(
        Notes(
            np.array([[0.0, 0.0] if circle else [(n - 1) / 2, 0.06 * n]]),
            [f"{view.names[0]}: {n} {net.router}s in a {'ring' if circle else 'row'}"],
            11,
            MUTED,
        )
    )

    def path(a: int, b: int, link: int) -> Array | list[Array] | None:
        if min(a, b) < net.first_router:
            return None
        u, v = a - net.first_router, b - net.first_router
        if circle and abs(u - v) > 1:
            v += n if v < u else -n
        return arc(u, v)

    add_route(net, panel, path)
    scene.panels = [panel]
    scene.keys = class_keys(net) + node_keys(net)
    if step > 1:
        scene.caption = f"Drawn: every {ordinal(step)} {net.router}; each line stands for the {step} cables between."


def draw_plane(net: Net, scene: Scene) -> None:
    """Draw a two-dimensional mesh or torus."""
    view = GridView(net)
    picks = [drawn(e, s) for e, s in zip(view.dims, view.steps, strict=True)]
    scale = np.array([1.0 / s for s in view.steps])
    at = np.stack(np.meshgrid(*picks, indexing="ij"), axis=-1)
    values = view.values()
    panel = Panel()
    for d in range(2):
        lower = at[:-1] if d == 0 else at[:, :-1]
        upper = at[1:] if d == 0 else at[:, 1:]
        paths = np.stack([lower, upper], axis=-2).reshape(-1, 2, 2) * scale
        corner = lower.reshape(-1, 2)
        worth = None
        if values is not None:
            block = blocks(values[d], picks)
            worth = (block[:-1] if d == 0 else block[:, :-1]).ravel()
        panel.add(
            Lines(
                list(paths),
                view.colours[d],
                1.6,
                values=worth,
                name="links",
                hover=told(view.cable_label, corner, d),
            )
        )
        if view.wraps[d]:
            add_stubs(panel, view, d, at, scale, values, picks)
    spots = at.reshape(-1, 2)
    few = len(spots) <= 80
    panel.add(
        Marks(
            spots * scale,
            ramp(spots[:, 1]),
            0.5 if not few else 0.55,
            (2.5, 24),
            "square" if net.separate else "circle",
            hover=lambda i: view.label(spots[i]),
            name="nodes",
        )
    )
    if few:
        dark = spots[:, 1] > 0.33 * (view.dims[1] - 1)
        for shade, colour in ((dark, "white"), (~dark, INK)):
            texts = [str(view.vertex(s) - net.first_router) for s in spots[shade]]
            panel.add(Notes(spots[shade] * scale, texts, 8.5, colour))
    width, height = (float(p[-1] * k) for p, k in zip(picks, scale, strict=True))
    for d, spot in enumerate(([width / 2, -1.0], [-1.0, height / 2])):
        word = f"{view.names[d]}: 0 to {view.dims[d] - 1}" + (", wraps around" if view.wraps[d] else "")
        anchor = ("center", "top") if d == 0 else ("right", "middle")
        panel.add(
            Notes(
                np.array([spot]),
                [word.replace(", ", ",\n") if d else word],
                11,
                view.colours[d],
                anchor,
                bold=True,
            )
        )
    add_route(net, panel, lambda a, b, link: view.hop_path(a, b, link, lambda c: np.asarray(c) * scale))
    scene.panels = [panel]
    scene.keys = class_keys(net) + node_keys(net)
    scene.keys[-1].color = ramp(np.array([0.5, 1.0]))[0]
    scene.keys.append(Key("text", f"Colour: coordinate {view.names[1]}, light 0 to dark {view.dims[1] - 1}"))
    if any(view.wraps):
        scene.keys += [
            Key("heading", "Wrap-around"),
            Key("dash", "stub: the cable goes on at the opposite end", MUTED),
        ]
    scene.caption = sparse_caption(view)


def add_stubs(
    panel: Panel,
    view: GridView,
    d: int,
    at: Array,
    scale: Array,
    values: list[Array] | None,
    picks: list[Array],
) -> None:
    """Draw both ends of every wrap-around cable of dimension d."""
    last = at[-1] if d == 0 else at[:, -1]
    first = at[0] if d == 0 else at[:, 0]
    reach = np.zeros(2)
    reach[d] = 0.62
    paths = [np.stack([p * scale, p * scale + reach]) for p in last.astype(float)]
    paths += [np.stack([p * scale, p * scale - reach]) for p in first.astype(float)]
    worth = None
    if values is not None:
        block = blocks(values[d], picks)
        worth = np.tile(block[-1] if d == 0 else block[:, -1], 2)
    panel.add(
        Lines(
            paths,
            view.colours[d],
            1.6,
            dashed=values is None,
            values=worth,
            name="wrap",
            hover=lambda i: view.cable_label(d, last[i % len(last)]),
        )
    )


def grid_title(net: Net) -> str:
    """Name of a mesh or torus in words."""
    names = {"torus": "torus", "mesh": "mesh", "linear": "Linear array", "ring": "Ring"}
    if len(net.dims) == 1:
        return f"{names[net.kind].capitalize()} of {net.dims[0]:,} {net.router}s"
    return f"{len(net.dims)}-D {names[net.kind]}, {times(net.dims)} {net.router}s"
