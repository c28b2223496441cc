"""Meshes and tori of three dimensions, and of more as a lattice of blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .common import FAINT, MUTED, Net, add_route, class_keys, ramp, times
from .grid import node_keys
from .grid_view import GridView, blocks, drawn, sparse_caption
from .scene import Array, Key, Lines, Marks, Notes, Panel, Scene, told

_ALL = 600  # routers up to which the inside is drawn as well


@dataclass
class Lattice:
    """The part of up to three dimensions to draw; extents are padded to three."""

    extents: tuple[int, ...]
    names: Sequence[str]
    wraps: Sequence[bool]
    colours: Sequence[str]
    steps: Sequence[int]
    values: list[Array] | None
    label: Callable[[Array], str]
    cable_label: Callable[[int, Array], str]
    square: bool

    @property
    def shell(self) -> bool:
        """Whether only the visible faces are drawn."""
        return int(np.prod(self.extents)) > _ALL

    @property
    def flat(self) -> bool:
        """Whether it is drawn as a plane, its first dimension upwards."""
        return len(self.names) < 3

    def place(self, coordinates: Array) -> Array:
        """Points of coordinates."""
        points = np.asarray(coordinates, float) * self.scale
        # Short rows get room for words.
        return points[..., [1, 0]] * [2.2 if self.extents[1] < 5 else 1.0, 1.0] if self.flat else points

    @property
    def scale(self) -> Array:
        """Length of a step of each dimension."""
        return np.array([1.0 / s for s in self.steps])


def pad(numbers: Sequence[int], fill: int = 1) -> tuple[int, ...]:
    """Fill up to three numbers."""
    return (*numbers, *[fill] * (3 - len(numbers)))


def draw(panel: Panel, lattice: Lattice) -> None:
    """Draw the cables, the routers and the extents."""
    picks = [drawn(e, s) for e, s in zip(lattice.extents, lattice.steps, strict=True)]
    at = np.stack(np.meshgrid(*picks, indexing="ij"), axis=-1)
    last = np.array([p[-1] for p in picks])
    # A face of the shell: the dimension it is across, and the coordinate where the reader sees it.
    faces = [(1, 0), (0, -1), (2, -1)] if lattice.shell else [(-1, 0)]
    for d in range(len(lattice.names)):
        block = None if lattice.values is None else blocks(lattice.values[d], picks)
        for across, where in faces:
            if d == across or lattice.extents[d] < 2:
                continue
            part, worth = at, block
            if across >= 0:
                # Cables behind the face count: the face shows the largest value along the line of sight.
                part = np.take(at, [where], axis=across)
                worth = None if block is None else np.fmax.reduce(block, axis=across, keepdims=True)
            lower = np.take(part, range(part.shape[d] - 1), axis=d).reshape(-1, 3)
            upper = np.take(part, range(1, part.shape[d]), axis=d).reshape(-1, 3)
            if worth is not None:
                worth = np.take(worth, range(part.shape[d] - 1), axis=d).ravel()
            paths = list(lattice.place(np.stack([lower, upper], axis=1)))
            panel.add(
                Lines(
                    paths,
                    lattice.colours[d],
                    0.9 if lattice.shell else 1.5,
                    0.85,
                    values=worth,
                    name="links",
                    hover=told(lattice.cable_label, lower, d),
                )
            )
    spots = at.reshape(-1, 3)
    if lattice.shell:
        spots = spots[(spots[:, 1] == 0) | (spots[:, 0] == last[0]) | (spots[:, 2] == last[2])]
    spots = spots[np.lexsort((spots[:, 0], spots[:, 2], -spots[:, 1]))]
    tone = 2 if lattice.extents[2] > 1 else 1 if lattice.extents[1] > 1 else 0
    # Where lines carry values, marks step back.
    shade, size = (ramp(spots[:, tone]), 0.36) if lattice.values is None else (FAINT, 0.2)
    panel.add(
        Marks(
            lattice.place(spots),
            shade,
            size,
            (1.6 if lattice.values else 2.2, 13),
            "square" if lattice.square else "circle",
            hover=lambda i: lattice.label(spots[i]),
            name="nodes",
        )
    )
    (add_flat_extents if lattice.flat else add_extents)(panel, lattice, last * lattice.scale)
    if not lattice.shell and not lattice.flat:
        add_stubs(panel, lattice, spots, last)


def add_extents(panel: Panel, lattice: Lattice, last: Array) -> None:
    """Name every dimension along an outer edge, with one wrap-around cable as an arc."""
    high = 0.10 * float(np.max(last)) + 0.5
    start = [np.zeros(3), np.array([last[0], 0.0, 0.0]), np.zeros(3)]
    bulge = [np.array([0.0, 0.0, -1.0]), np.array([0.35, 0.0, -1.0]), np.array([-1.0, 0.0, 0.0])]
    anchors = [("right", "top"), ("left", "top"), ("right", "middle")]
    u = np.linspace(0, 1, 33)[:, None]
    for d, name in enumerate(lattice.names):
        extent = lattice.extents[d]
        along = np.eye(3)[d] * last[d]
        wraps = lattice.wraps[d] and extent > 1
        # A superellipse: leaves the ends at right angles and stays near the edge.
        arc = start[d] + along * u + bulge[d] * high * (1 - (2 * u - 1) ** 4)
        if wraps:
            panel.add(Lines([arc], lattice.colours[d], 1.8, dashed=True, name="wrap", order=2.5))
        middle = start[d] + along / 2 + bulge[d] * (high * 1.12 if wraps else 0.8)
        word = f"{name}: {extent}" + (", wraps" if wraps else "")
        panel.add(Notes(middle[None], [word], 10.5, lattice.colours[d], anchors[d], bold=True))


def add_flat_extents(panel: Panel, lattice: Lattice, last: Array) -> None:
    """Name the dimensions of a plane, with one wrap-around cable of each as an arc."""
    corner = lattice.place(last / lattice.scale)
    u = np.linspace(0, 1, 33)[:, None]
    for d, name in enumerate(lattice.names):
        along = np.array([0.0, corner[1]]) if d == 0 else np.array([corner[0], 0.0])
        bulge = np.array([-1.0, 0.0]) if d == 0 else np.array([0.0, -1.0])
        high = 0.6 + 0.05 * float(corner.max())
        wraps = lattice.wraps[d] and lattice.extents[d] > 1
        if wraps:
            arc = along * u + bulge * high * (1 - (2 * u - 1) ** 4)
            panel.add(Lines([arc], lattice.colours[d], 1.8, dashed=True, name="wrap", order=2.5))
        word = f"{name}: {lattice.extents[d]}" + ((",\nwraps" if d == 0 else ", wraps") if wraps else "")
        anchor = ("right", "middle") if d == 0 else ("center", "top")
        panel.add(Notes((along / 2 + 1.15 * high * bulge)[None], [word], 10.5, lattice.colours[d], anchor, bold=True))


def add_stubs(panel: Panel, lattice: Lattice, spots: Array, last: Array) -> None:
    """Draw both ends of every wrap-around cable of a small lattice."""
    for d in range(len(lattice.names)):
        if not lattice.wraps[d] or lattice.extents[d] < 2:
            continue
        reach = np.eye(3)[d] * 0.42
        ends = [(spots[spots[:, d] == last[d]], reach), (spots[spots[:, d] == 0], -reach)]
        paths = [np.stack([p, p + r]) for group, r in ends for p in group.astype(float)]
        if lattice.values is None:
            panel.add(Lines(paths, lattice.colours[d], 1.1, 0.7, dashed=True, name="wrap", order=1.9))
            continue
        # The cable leaves the last router in positive direction; its value is at both of its ends.
        lasts = [np.where(np.arange(3) == d, last[d], p) for group, _ in ends for p in group]
        worth = lattice.values[d][tuple(np.array(lasts).T)]
        panel.add(Lines(paths, lattice.colours[d], 1.5, 0.85, values=worth, name="wrap", order=1.9))


def lattice_of(view: GridView, dims: range, label: Callable[[Array], str]) -> Lattice:
    """Describe the given dimensions of a grid; values are the largest over all others."""
    values = view.values()
    others = tuple(d for d in range(len(view.dims)) if d not in dims)
    extents = pad([view.dims[d] for d in dims])
    if values is not None:
        values = [np.fmax.reduce(values[d], axis=others).reshape(extents) for d in dims]
    return Lattice(
        extents,
        [view.names[d] for d in dims],
        [view.wraps[d] for d in dims],
        [view.colours[d] for d in dims],
        pad([view.steps[d] for d in dims]),
        values,
        label,
        lambda d, c: view.cable_label(dims[d], c[: len(dims)]),
        view.net.separate,
    )


def route_in(view: GridView, dims: range, lattice: Lattice, panel: Panel) -> None:
    """Highlight the hops along the given dimensions."""

    def place(c: Array) -> Array:
        return lattice.place(np.array([*(float(c[d]) for d in dims), *[0.0] * (3 - len(dims))]))

    def path(a: int, b: int, link: int) -> Array | list[Array] | None:
        link_class = int(view.net.topology.link_class(np.array([link], np.uint32))[0])
        return view.hop_path(a, b, link, place) if link_class // 2 in dims else None

    add_route(view.net, panel, path)


def lattice_caption(view: GridView, lattice: Lattice) -> str:
    """Say what is drawn of a large lattice."""
    text = sparse_caption(view)
    if lattice.shell:
        text += "Drawn: the three faces that look at the reader; routers inside, cabled alike, are left out. "
        if lattice.values is not None:
            text += "Colours on a face: the largest value among all cables in line behind it. "
    if any(w and e > 1 for w, e in zip(lattice.wraps, lattice.extents, strict=False)):
        text += "A dashed arc is one wrap-around cable; every row of its dimension has one."
    return text


def tone_key(lattice: Lattice) -> Key:
    """Explain the colour of the marks."""
    d = len(lattice.names) - 1
    if lattice.values is not None:
        return Key("text", "Marks are pale, so that the values of the links stand out")
    return Key("text", f"Colour: coordinate {lattice.names[d]}, light 0 to dark {lattice.extents[d] - 1}")


def draw_lattice(net: Net, scene: Scene) -> None:
    """Draw a three-dimensional mesh or torus."""
    view = GridView(net)
    lattice = lattice_of(view, range(3), view.label)
    panel = Panel()
    draw(panel, lattice)
    route_in(view, range(3), lattice, panel)
    scene.panels = [panel]
    scene.keys = [*class_keys(net), *node_keys(net), tone_key(lattice)]
    scene.keys[-2].color = ramp(np.array([0.5, 1.0]))[0]
    if any(view.wraps):
        scene.keys += [
            Key("heading", "Wrap-around"),
            Key("dash", "one cable as an example, or the ends of one", MUTED),
        ]
    scene.caption = lattice_caption(view, lattice)


def draw_product(net: Net, scene: Scene) -> None:
    """Draw four and more dimensions: a lattice of the first three, each point a block of the others."""
    view = GridView(net)
    outer_dims, inner_dims = range(3), range(3, min(6, len(net.dims)))
    inner_size = int(np.prod(net.dims[3:]))

    def outer_label(c: Array) -> str:
        first = [*c, *[0] * (len(net.dims) - 3)]
        where = ", ".join(f"{n} {int(v)}" for n, v in zip(view.names, c, strict=False))
        return f"block at {where}: {inner_size} {net.router}s<br>first: {view.label(first)}"

    outer = lattice_of(view, outer_dims, outer_label)
    inner = lattice_of(
        view, inner_dims, lambda c: view.label([0, 0, 0, *c[: len(inner_dims)], *[0] * (len(net.dims) - 6)])
    )
    hidden = len(net.dims) > 6
    left = Panel(box=(0.0, 0.0, 0.62, 1.0), title=f"{' '.join(view.names[:3])}: {times(net.dims[:3])} blocks")
    right = Panel(
        box=(0.64, 0.12, 0.36, 0.74) if len(inner_dims) < 3 else (0.64, 0.24, 0.36, 0.52),
        framed=True,
        title="One block: " + " × ".join(f"{n} {e}" for n, e in zip(view.names[3:], net.dims[3:], strict=True)),
    )
    draw(left, outer)
    draw(right, inner)
    route_in(view, outer_dims, outer, left)
    route_in(view, inner_dims, inner, right)
    scene.panels = [left, right]
    scene.keys = [
        *class_keys(net),
        Key("heading", "How to read"),
        Key("dot", f"left: a block of {inner_size} {net.router}s", ramp(np.array([0.5, 1.0]))[0]),
        Key(
            "square" if net.separate else "dot",
            f"right: a {net.router} of the block",
            ramp(np.array([1.0]))[0],
        ),
        Key(
            "line",
            f"left: a bundle of {inner_size} cables, one for each {net.router} of the block to its like "
            "in the next block",
            view.colours[0],
        ),
        tone_key(outer),
    ]
    scene.caption = lattice_caption(view, outer)
    if hidden:
        scene.caption += f" Not drawn inside the block: {', '.join(view.names[6:])}."
    if len(net.route):
        scene.caption += " Hops of the route inside blocks are numbered on the right, those between blocks on the left."
