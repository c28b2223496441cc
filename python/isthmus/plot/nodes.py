"""Nodes of a job in their colours: as cubes in space, or side by side where a network has no three dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .common import INK, MUTED
from .scene import Array, project

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..machine import Machine

_SPACES = ("torus", "mesh", "ring", "linear", "hypercube")
#: Nodes of a box that are not of the job.
_NONE = (0.925, 0.945, 0.957)
#: Cubes have a corner cut out from this extent on.
_CUT = 4
#: How much a box of blocks is wider than high; blocks up to which each has its number; labels of an axis.
_ASPECT, _NUMBERED, _LABELS = 1.05, 64, 16
#: Nodes of one dimension that are drawn in one line.
_LINE = 64
#: Corners of a cube's faces to the right, in front and on top, and how light they are.
_FACES = (
    ((1, 0, 0), ((1, 0, 0), (1, 1, 0), (1, 1, 1), (1, 0, 1)), -0.12),
    ((0, -1, 0), ((0, 0, 0), (1, 0, 0), (1, 0, 1), (0, 0, 1)), 0.0),
    ((0, 0, 1), ((0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)), 0.15),
)


def draw_nodes(ax: Any, machine: Machine, nodes: Array, colours: Array, box: Array) -> str:
    """Draw nodes into an axes.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    machine : Machine
    nodes : array of int, shape (nodes,)
    colours : array of float, shape (nodes, 3)
    box : array of int
        Nodes that the picture has room for, these among them.

    Returns
    -------
    str
        How to read the picture.
    """
    dims = machine.topology.dims
    room, at = (machine.coordinates(n).astype(np.int64) for n in (box, nodes))
    names = list(machine.topology.dim_names)
    ax.set_axis_off()
    ax.set_aspect("equal")
    if machine.topology.kind in _SPACES:
        wide = [d for d in range(len(dims)) if np.ptp(room[:, d])]
        if len(wide) > 2:
            return _cubes(ax, spatial(at, dims), colours, names, spatial(room, dims))
        # What lies in a plane is drawn as one.
        order = [*wide, *(d for d in range(len(dims)) if d not in wide)]
    else:
        # Nodes of a router are next to each other.
        order = sorted(range(len(dims)), key=lambda d: names[d] != "slot")
    return _blocks(ax, at[:, order], [names[d] for d in order], colours, room[:, order])


def spatial(coordinates: NDArray[np.int64], dims: tuple[int, ...]) -> NDArray[np.int64]:
    """Coordinates in three dimensions: of more, dimension i + 3 runs within dimension i; of fewer, the rest is 0."""
    out = np.zeros((len(coordinates), 3), np.int64)
    for axis in range(3):
        for d in range(axis, len(dims), 3):
            out[:, axis] = out[:, axis] * dims[d] + coordinates[:, d]
    return out


def _cubes(ax: Any, at: Array, colours: Array, names: list[str], room: Array) -> str:
    """Faces that a reader in front, above and to the right of the nodes can see."""
    from matplotlib.collections import PolyCollection

    low, extent = room.min(axis=0), np.ptp(room, axis=0) + 1
    at = at - low
    words = ""
    if (extent >= _CUT).all():
        near = (at[:, 0] >= extent[0] // 2) & (at[:, 1] < extent[1] // 2) & (at[:, 2] >= (extent[2] + 1) // 2)
        at, colours = at[~near], colours[~near]
        words = "The corner nearest to the reader is cut out, to show what is within. "
    # The farthest first.
    order = np.lexsort((at[:, 0], at[:, 2], -at[:, 1]))
    at, colours = at[order], colours[order]
    there = np.zeros(extent + 2, bool)
    there[tuple((at + 1).T)] = True
    polygons, faces, rank = [], [], []
    for step, corners, light in _FACES:
        free = np.flatnonzero(~there[tuple((at + 1 + np.array(step)).T)])
        points = at[free][:, None, :] + np.array(corners)
        polygons.append(project(points.astype(np.float64)))
        shade = colours[free] * (1 + light) if light < 0 else colours[free] + (1 - colours[free]) * light
        faces.append(shade)
        rank.append(free)
    order = np.argsort(np.concatenate(rank), kind="stable")
    line = min(0.6, 9.0 / float(extent.max()))
    ax.add_collection(
        PolyCollection(
            list(np.concatenate(polygons)[order]), facecolors=np.concatenate(faces)[order], edgecolors="white",
            linewidths=line,
        )
    )  # fmt: skip
    away = 0.045 * float(extent.sum())
    ends = extent.astype(float)
    for middle, name in (
        ([ends[0] / 2, 0, -away], _axis(names, 0)),
        ([ends[0] + away, ends[1] / 2, 0], _axis(names, 1)),
        ([-away, 0, ends[2] / 2], _axis(names, 2)),
    ):
        ax.text(*project(np.array(middle)), name, ha="center", va="center", size=11, color=INK)
    box_corners = np.array([[x, y, z] for x in (0, ends[0]) for y in (0, ends[1]) for z in (0, ends[2])])
    points = project(box_corners)
    ax.set_xlim(points[:, 0].min() - 2 * away, points[:, 0].max() + 2 * away)
    ax.set_ylim(points[:, 1].min() - 2 * away, points[:, 1].max() + away)
    right, back, up = (_axis(names, axis) for axis in range(3))
    return f"{words}To the right: {right}; away from the reader: {back}; upwards: {up}."


def _axis(names: list[str], axis: int) -> str:
    """Dimensions that run along an axis of space."""
    return " ".join(names[axis::3])


def _blocks(ax: Any, at: Array, names: list[str], colours: Array, room: Array) -> str:
    """Blocks of the first two dimensions, in rows by the further ones; only as much as has nodes of the job."""
    low = room.min(axis=0)
    extent = (np.ptp(room, axis=0) + 1).tolist()
    at = at - low
    across, up = extent[0], extent[1] if len(extent) > 1 else 1
    rest, further, counts = at[:, 2:], names[2:], extent[2:]
    if len(extent) > 1 and all(e == 1 for e in extent[2:]) and up > 4 * across:
        # A long strip is cut into its lines.
        rest, further, counts, up = at[:, 1:2], names[1:2], [up], 1
    elif up == 1 and across > _LINE and all(e == 1 for e in extent[2:]):
        rest, further, counts, across = at[:, :1], names[:1], [across], 1
        at = np.zeros_like(at)
    block = np.zeros(len(at), np.int64)
    for d in range(len(counts) - 1, -1, -1):
        block = block * counts[d] + rest[:, d]
    number = int(np.prod(counts))
    gap = 0 if number == 1 else max(1.0, 0.2 * max(across, up)) if across * up > 1 else 0.0
    wide = min(number, max(1, round((number * (up + gap) / (across + gap) * _ASPECT) ** 0.5)))
    high = -(-number // wide)
    x = block % wide * (across + gap) + at[:, 0]
    y = (high - 1 - block // wide) * (up + gap) + (at[:, 1] if up > 1 else 0)
    _squares(ax, x, y, colours, number, wide, high, across, up, gap)
    if number == 1:
        for i in range(0, across, max(1, -(-across // _LABELS))):
            ax.text(i + 0.5, -0.35, str(i + low[0]), ha="center", va="top", size=9, color=MUTED)
        for i in range(0, up if up > 1 else 0, max(1, -(-up // _LABELS))):
            ax.text(-0.35, i + 0.5, str(i + low[1]), ha="right", va="center", size=9, color=MUTED)
    elif number <= _NUMBERED and across * up > 1:
        for b in range(number):
            corner = b % wide * (across + gap), (high - b // wide) * (up + gap) - gap
            ax.text(corner[0], corner[1] + 0.05 * gap, str(b + (low[2] if rest.shape[1] == 1 and up > 1 else 0)),
                    ha="left", va="bottom", size=8, color=MUTED)  # fmt: skip
    ax.set_xlim(-1.2, wide * (across + gap) + 0.2)
    ax.set_ylim(-1.2, high * (up + gap) + 0.2)
    return _reading(names, across, up, further if number > 1 else [])


def _squares(
    ax: Any, x: Array, y: Array, colours: Array, number: int, wide: int, high: int, across: int, up: int, gap: float
) -> None:
    """A square for every node, and paler ones for those that are not of the job."""
    from matplotlib.collections import PolyCollection

    b = np.repeat(np.arange(number), across * up)
    i = np.tile(np.arange(across * up), number)
    every = np.stack(
        [b % wide * (across + gap) + i % across, (high - 1 - b // wide) * (up + gap) + i // across], axis=1
    )
    line = min(0.8, 40.0 / max(wide * across, high * up))
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], float)
    for corners, face in ((every, [_NONE]), (np.stack([x, y], axis=1), colours)):
        ax.add_collection(
            PolyCollection(
                list(corners[:, None, :] + square), facecolors=face, edgecolors="white", linewidths=line,
            )
        )  # fmt: skip


def _reading(names: list[str], across: int, up: int, further: list[str]) -> str:
    said = [n.replace("_", " ") for n in names]
    words = [f"to the right: {said[0]}"] if across > 1 else []
    words += [f"upwards: {said[1]}"] if up > 1 else []
    words += [f"row by row: {', '.join(n.replace('_', ' ') for n in further)}"] if further else []
    text = "; ".join(words)
    return text[:1].upper() + text[1:] + "." if text else ""
