"""Trees and fat trees: levels one above the other, large ones with first and last of every level."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .common import INK, MUTED, Net, add_route, class_keys, count, times
from .scene import Array, Key, Lines, Marks, Notes, Panel, Scene, told

_MOST_NODES = 48
_GAP = 0.9  # of a place, where something is left out


@dataclass
class Level:
    """A level of vertices; `children` and `parents` are per vertex, `cables` to each parent."""

    first: int
    count: int
    children: int
    parents: int
    cables: int


def title(net: Net) -> str:
    """Name of the network."""
    name = {
        "tree": "Tree",
        "xgft": "Fat tree",
        "fattree": "k-ary n-tree",
        "clos2": "Two-level Clos",
        "clos3": "Three-level Clos",
    }
    if net.kind == "fattree":
        return f"Fat tree, {net.number('k')}-ary {net.number('n')}-tree"
    if net.kind in ("tree", "xgft"):
        return f"{name[net.kind]}, {len(net.dims)} levels of switches"
    pods = f"{net.dims[2]} pods of " if net.kind == "clos3" else ""
    return f"{name[net.kind]} network, {pods}{net.dims[1]} leaves of {net.dims[0]} nodes"


def levels_of(net: Net) -> list[Level]:
    """Find the levels by walking up from node 0."""
    t = net.topology
    below, first, ways = t.nodes, 0, 1
    out = []
    for children in (0, *net.dims):
        if children:
            below //= children
        number = below * ways
        up = [int(v) for v in t.neighbours(first) if v >= first + number]
        parents = len(set(up))
        out.append(Level(first, number, children, parents, len(up) // max(parents, 1)))
        first += number
        ways *= max(parents, 1)
    return out


def ends_of(n: int, most: int) -> list[int]:
    """Numbers below n that are drawn: all, or some first ones and the last."""
    return list(range(n)) if n <= most else [*range(most - 1), n - 1]


def ranks(numbers: list[int]) -> dict[int, float]:
    """Places in a row, with a gap where numbers are left out."""
    out, at = {}, 0.0
    for i, n in enumerate(numbers):
        at += 0 if i == 0 else 1.0 if n == numbers[i - 1] + 1 else 1.0 + _GAP
        out[n] = at
    return out


class Drawn:
    """The vertices of a tree that are drawn, and where."""

    def __init__(self, net: Net, levels: list[Level]) -> None:
        t = net.topology
        self.places: dict[int, Array] = {}
        self.dots: list[tuple[float, float]] = []
        m = list(net.dims)
        cap = next((c for c in range(_MOST_NODES, 2, -1) if np.prod([min(x, c) for x in m]) <= _MOST_NODES), 2)
        route = [int(v) for v in net.hops.ravel()]
        digits = [set(ends_of(x, cap)) for x in m]
        for node in (v for v in route if v < t.nodes):
            for d, x in enumerate(m):
                digits[d].add(node // int(np.prod(m[:d])) % x)
        rank = [ranks(sorted(d)) for d in digits]
        width = [1.0]
        for r in rank:
            width.append(width[-1] * (max(r.values()) + 1.25))
        self.width = width[-1]
        self.high = 0.58 * self.width / len(m)
        kept: list[set[int]] = [set()]
        for block in np.ndindex(*[len(d) for d in digits]):
            chosen = [sorted(d)[i] for d, i in zip(digits, block, strict=True)]
            kept[0].add(sum(c * int(np.prod(m[:d])) for d, c in enumerate(chosen)))
        for low, high in pairwise(levels):
            most = max(3, min(cap, 8)) if len(m) <= 3 else 2
            up: set[int] = {v for v in route if high.first <= v < high.first + high.count}
            for v in kept[-1]:
                parents = sorted({int(p) for p in t.neighbours(v) if p >= high.first})
                up |= {parents[i] for i in ends_of(low.parents, most)}
            kept.append(up)
        ways = 1
        for k, level in enumerate(levels):
            if k:
                ways *= levels[k - 1].parents
            below = int(np.prod(m[:k]))
            blocks: dict[int, list[int]] = {}
            for v in sorted(kept[k]):
                blocks.setdefault((v - level.first) // ways, []).append((v - level.first) % ways)
            for b, members in blocks.items():
                left: float = sum(rank[d][b * below // int(np.prod(m[:d])) % m[d]] * width[d] for d in range(k, len(m)))
                row = ranks(members)
                pitch = width[k] / (max(row.values()) + 1) if k else 1.0
                inset = 0.0 if k == 0 else -0.125 * width[k - 1]
                for w, place in row.items():
                    across = left + inset + (place + 0.5) * pitch
                    self.places[level.first + b * ways + w] = np.array([across, k * self.high])
                for i, j in pairwise(members):
                    if j > i + 1:
                        self.dots.append((left + inset + ((row[i] + row[j]) / 2 + 0.5) * pitch, k * self.high))
        for d, r in enumerate(rank):
            # Gaps between blocks: at the level of the blocks themselves.
            ordered = sorted(r)
            for i, j in pairwise(ordered):
                if j > i + 1:
                    self.gaps(d, (r[i] + r[j]) / 2 * width[d] + 0.5 * width[d] - 0.06 * width[d], rank, width)

    def pitch(self) -> float:
        """Smallest distance between two vertices of a level of switches."""
        rows: dict[float, list[float]] = {}
        for x, y in self.places.values():
            rows.setdefault(float(y), []).append(float(x))
        rows.pop(0.0)
        steps = [np.diff(sorted(row)).min() for row in rows.values() if len(row) > 1]
        return float(min(steps, default=self.width))

    def gaps(self, d: int, x: float, rank: list[dict[int, float]], width: list[float]) -> None:
        """Mark what is left out between two blocks of level d, in every larger block."""
        for outer in np.ndindex(*[len(r) for r in rank[d + 1 :]]):
            at = x + sum(list(r.values())[i] * w for r, i, w in zip(rank[d + 1 :], outer, width[d + 1 :], strict=False))
            self.dots.append((at, d * self.high - (0 if d else 0.07 * self.high)))


def draw(net: Net, scene: Scene) -> None:
    """Draw a tree."""
    levels = levels_of(net)
    drawn = Drawn(net, levels)
    cables = net.cables(np.array(sorted(drawn.places)))
    panel = Panel()
    paths = [np.stack([drawn.places[int(a)], drawn.places[int(b)]]) for a, b in cables.ends]
    many = len(paths) > 250
    panel.add(
        Lines(
            paths,
            [net.colour(int(k)) for k in cables.link_class],
            0.8 if many else 1.3,
            0.6 if many else 0.85,
            values=net.value_of(cables),
            hover=net.cable_hover(cables),
            name="links",
        )
    )
    vertices = list(drawn.places)
    for switch in (False, True):
        chosen = [v for v in vertices if (v >= net.topology.nodes) == switch]
        panel.add(
            Marks(
                np.array([drawn.places[v] for v in chosen]),
                "#12355B" if switch else "#8CC5E3",
                (min(0.02 * drawn.width, 0.8 * drawn.pitch()) if switch else 0.011 * drawn.width),
                (2.5, 15) if switch else (2.5, 9),
                "square" if switch else "circle",
                hover=told(net.label, chosen),
                name="switches" if switch else "nodes",
                order=4,
            )
        )
    if drawn.dots and drawn.pitch() > 0.012 * drawn.width:  # closer ones have no room for dots
        panel.add(Notes(np.array(drawn.dots), ["···"] * len(drawn.dots), 9, MUTED, bold=True))
    for k in range(len(levels)):
        at = np.array([[-0.05 * drawn.width, k * drawn.high]])
        panel.add(Notes(at, [level_words(net, levels, k)], 9, INK, ("right", "middle")))
    add_route(net, panel, lambda a, b, link: np.stack([drawn.places[a], drawn.places[b]]))
    scene.panels = [panel]
    total = net.topology.vertices
    scene.keys = [
        *class_keys(net),
        Key("heading", "Vertices"),
        Key("square", "switch", "#12355B"),
        Key("dot", "node", "#8CC5E3"),
        Key("heading", "Shape"),
        Key("text", f"m = {times(net.dims)} children per switch, from the bottom"),
        Key("text", f"w = {times(v.parents for v in levels[:-1])} parents per vertex"),
    ]
    if len(vertices) < total:
        scene.caption = (
            f"Drawn: {count(len(vertices))} of {count(total)} vertices, first and last ones of every level "
            "with the cables between them; the others are left out (···). "
            "Counts at the left are of the whole network."
        )


def level_words(net: Net, levels: list[Level], k: int) -> str:
    """Counts and ports of a level."""
    level = levels[k]
    if k == 0:
        return f"{count(level.count)} nodes"
    down = level.children * levels[k - 1].cables
    up = level.parents * level.cables
    text = f"level {k}: {count(level.count)} switch{'es' * (level.count != 1)}\n{down + up} ports: {down} down"
    if k == len(levels) - 1:
        return text
    ratio = net.topology.oversubscription(k)
    return text + f", {up} up\noversubscription {ratio:.3g} : 1"
