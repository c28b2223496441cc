"""Histogram of distances between nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InvalidInput
from ..units import percent
from .common import INK, NODE, ROUTE, Net, count
from .facts import affordable_pairs, facts, random_pairs
from .families import drawing_of
from .scene import Key, Lines, Notes, Panel, Scene, Shapes

_PAIRS = 4_000_000


def distances_of(net: Net) -> tuple[Any, bool]:
    """Return the distances of all ordered pairs of different nodes or of a sample, and whether they are all."""
    t = net.topology
    most, destinations = affordable_pairs(net)
    if t.nodes * t.nodes <= (_PAIRS if most >= 1_000_000 or net.kind == "graph" else most):
        a, b = np.divmod(np.arange(t.nodes * t.nodes), t.nodes)
        different = a != b
        return t.distances(a[different].astype(np.uint32), b[different].astype(np.uint32)), True
    return t.distances(*random_pairs(t, most, destinations)), False


def histogram_scene(topology: Any, *, title: str | None, subtitle: str | None) -> Scene:
    """Lay out a histogram of distances."""
    net = Net(topology)
    if topology.nodes < 2:
        raise InvalidInput("a histogram of distances needs at least two nodes, got 1")
    found, complete = distances_of(net)
    number = np.bincount(found)
    share = 100.0 * number / number.sum()
    low = int(np.flatnonzero(number)[0])
    _, namer = drawing_of(net)
    scene = Scene(title or f"Distances: {namer(net)}", facts(net), subtitle or "")
    pairs = "pairs of nodes"
    panel = Panel(axes=("distance (links on a shortest path)", f"share of {pairs}, %"), box=(0.0, 0.02, 1.0, 0.96))
    bars = [
        np.array([[d - 0.42, 0], [d + 0.42, 0], [d + 0.42, s], [d - 0.42, s]]) for d, s in enumerate(share) if d >= low
    ]
    panel.add(Shapes(bars, NODE, hover=lambda i: f"distance {i + low}: {percent(share[i + low] / 100)}", name="bars"))
    mean = float(found.mean())
    top = float(share.max())
    panel.add(Lines([np.array([[mean, 0.0], [mean, 1.06 * top]])], ROUTE, 2.0, dashed=True, name="mean"))
    if len(bars) <= 16:
        spots = np.array([[d, s + 0.012 * top] for d, s in enumerate(share) if d >= low])
        panel.add(Notes(spots, [percent(s / 100) for s in share[low:]], 9, INK, ("center", "bottom"), backing=True))
    scene.panels = [panel]
    scene.keys = [
        Key("heading", "Distances"),
        Key("square", f"{'ordered' if complete else 'sampled'} {pairs}: {count(len(found))}", NODE),
        Key("dash", f"mean {mean:.4g}", ROUTE),
        Key(
            "text",
            f"from {low} to {len(number) - 1}; half of the pairs are at most {int(np.median(found))} apart",
        ),
    ]
    if not complete:
        scene.caption = (
            f"A sample: {count(len(found))} random pairs of {count(topology.nodes * (topology.nodes - 1))}. "
            "Distances that are very rare may be missing."
        )
    return scene
