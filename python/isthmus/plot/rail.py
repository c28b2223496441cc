"""Rail-optimised GPU clusters: domains as columns, rails as rows, leaves and spines above."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from .common import CLASSES, FAINT, INK, MUTED, PALE, Net, add_route, class_keys, count, rectangle
from .scene import Array, Key, Lines, Marks, Notes, Panel, Scene, Shapes, told
from .tree import ends_of, ranks

_RAILS = ("#0072B2", "#56B4E9", "#009E73", "#8C6D31", "#E69F00", "#CC79A7", "#7A5195", "#26323D")


def title(net: Net) -> str:
    """Name of the network."""
    kind = "Rail-optimised" if net.number("spines") else "Rail-only"
    return f"{kind} GPU cluster, {count(net.dims[1])} domains of {net.dims[0]} GPUs"


def draw(net: Net, scene: Scene) -> None:
    """Draw a rail-optimised cluster."""
    t = net.topology
    gpus, domains = net.dims
    unit = net.number("unit") or domains
    units = -(-domains // unit)
    spines = net.number("spines")
    first_leaf = t.nodes + domains
    first_spine = first_leaf + units * gpus
    route = [int(v) for v in net.hops.ravel()]
    in_route = {v // gpus for v in route if v < t.nodes}
    kept_units = sorted({*ends_of(units, 3), *[d // unit for d in in_route]})
    kept: dict[int, list[int]] = {}
    for u in kept_units:
        mine = min(unit, domains - u * unit)
        some = ends_of(mine, 6 if len(kept_units) == 1 else 4)
        kept[u] = sorted({*some, *[d - u * unit for d in in_route if d // unit == u]})
    rails = sorted({*ends_of(gpus, 10), *[v % gpus for v in route if v < t.nodes]})
    columns = sum(len(some) for some in kept.values()) + len(kept)
    pitch = 0.62 * max(1.0, columns / 11)  # wide ones stretch upwards too
    row = {r: -pitch * k for r, k in ranks(rails).items()}
    floor = min(row.values())
    places: dict[int, Array] = {}
    panel = Panel()
    x, marks, boxes, dots = 0.0, [], [], []
    spans = []
    for u in kept_units:
        left = x
        for i, local in enumerate(kept[u]):
            if i and local != kept[u][i - 1] + 1:
                dots.append((x + 0.1, floor / 2))
                x += 1.0
            d = u * unit + local
            boxes.append(rectangle(x - 0.5, floor - 1.7 * pitch, x + 0.5, 0.42))
            marks.append((x, floor - 2.4 * pitch, str(d)))
            for r in rails:
                places[d * gpus + r] = np.array([x, row[r]])
            places[t.nodes + d] = np.array([x, floor - 1.15 * pitch])
            x += 1.45
        spans.append((left, x - 1.45))
        x += 1.0
        if u != kept_units[-1] and u + 1 not in kept_units:
            dots.append((x - 0.35, floor / 2))
            x += 1.2
    width = x - 2.45
    leaf_y, spine_y = 4 * pitch, 7.5 * pitch
    for u, (left, right) in zip(kept_units, spans, strict=True):
        reach = max(right - left, 0.34 * len(rails))
        for k, r in enumerate(rails):
            at = (left + right) / 2 + ((k + 0.5) / len(rails) - 0.5) * reach * 1.02
            places[first_leaf + u * gpus + r] = np.array([at, leaf_y])
    kept_spines = sorted({*ends_of(spines, 8), *[v - first_spine for v in route if v >= first_spine]})
    place = ranks(kept_spines) if kept_spines else {}
    for s in kept_spines:
        share = (place[s] + 0.5) / (max(place.values()) + 1)
        places[first_spine + s] = np.array([width * (0.1 + 0.8 * share), spine_y])
    dots += [
        (width * (0.1 + 0.8 * ((place[a] + place[b]) / 2 + 0.5) / (max(place.values()) + 1)), spine_y)
        for a, b in pairwise(kept_spines)
        if b > a + 1
    ]
    panel.add(Shapes(boxes, PALE, FAINT, name="domains", order=0.5))
    add_links(net, panel, places, first_leaf, gpus)
    colour = {r: _RAILS[r % len(_RAILS)] for r in rails}
    for kind in ("gpu", "leaf", "spine", "nvswitch"):
        low, high = {
            "gpu": (0, t.nodes),
            "nvswitch": (t.nodes, first_leaf),
            "leaf": (first_leaf, first_spine),
            "spine": (first_spine, t.vertices),
        }[kind]
        chosen = [v for v in places if low <= v < high]
        shade = {
            "gpu": [colour[v % gpus] for v in chosen],
            "leaf": [colour[(v - first_leaf) % gpus] for v in chosen],
            "spine": "#12355B",
            "nvswitch": "#5F6B76",
        }[kind]
        panel.add(
            Marks(
                np.array([places[v] for v in chosen]),
                shade,
                0.34,
                (4, 14),
                "circle" if kind == "gpu" else "diamond" if kind == "nvswitch" else "square",
                hover=told(net.label, chosen),
                name=kind,
                order=4,
            )
        )
    panel.add(Notes(np.array([m[:2] for m in marks]), [m[2] for m in marks], 8.5, MUTED))
    if dots:
        panel.add(Notes(np.array(dots), ["···"] * len(dots), 11, MUTED, bold=True))
    words = [
        (floor / 2, f"{count(t.nodes)} GPUs\n{gpus} per domain"),
        (floor - 1.15 * pitch, "NVSwitches"),
        (floor - 2.4 * pitch, "domain"),
        (leaf_y, f"{count(units * gpus)} leaves\none a rail{' and unit' if units > 1 else ''}"),
    ]
    if spines:
        words.append((spine_y, f"{count(spines)} spines"))
    panel.add(Notes(np.array([[-0.9, y] for y, _ in words]), [w for _, w in words], 9.5, INK, ("right", "middle")))
    add_route(net, panel, lambda a, b, link: np.stack([places[a], places[b]]))
    scene.panels = [panel]
    add_keys(net, scene, units, unit, spines, {r: colour[r] for r in rails})
    if len(places) < t.vertices:
        scene.caption = f"Drawn: {count(len(places))} of {count(t.vertices)} vertices; ··· stands for what is left out."
    if not spines:
        scene.caption += " Without spines, rails meet only inside domains: traffic between rails passes NVLink first."


def add_links(net: Net, panel: Panel, places: dict[int, Array], first_leaf: int, gpus: int) -> None:
    """Draw the cables, those of a rail in its colour."""
    cables = net.cables(np.array(sorted(places)))
    say, worth = net.cable_hover(cables), net.value_of(cables)
    for kind, (name, *_rest) in enumerate(net.topology.link_classes):
        mine = np.flatnonzero(cables.link_class == kind)
        paths = [np.stack([places[int(a)], places[int(b)]]) for a, b in cables.ends[mine]]
        rail = [_RAILS[int(a) % gpus % len(_RAILS)] for a, _ in cables.ends[mine]]
        colour = {"rail": rail, "nvlink": ["#5F6B76"] * len(mine)}.get(name, ["#8D9AA6"] * len(mine))
        if name == "nvlink":
            # A stack of GPUs hides straight lines to the switch below it.
            paths = [np.array([p, [p[0] + 0.36, p[1]], [p[0] + 0.36, q[1]], q]) for p, q in paths]
        panel.add(
            Lines(
                paths,
                colour,
                1.5 if name == "nvlink" else 1.0 if name == "rail" else 0.6,
                0.8,
                values=None if worth is None else worth[mine],
                hover=told(say, mine.tolist()),
                name=name,
            )
        )


def add_keys(net: Net, scene: Scene, units: int, unit: int, spines: int, colour: dict[int, str]) -> None:
    """Fill the legend."""
    net.classes = [
        (n, b, x, {"nvlink": "#5F6B76", "rail": _RAILS[0], "spine": "#8D9AA6"}.get(n, CLASSES[0]))
        for n, b, x, _ in net.classes
    ]
    used = ["nvlink", "rail", "spine"] if spines else ["nvlink", "rail"]
    scene.keys = [
        *class_keys(net, used),
        Key("heading", "Vertices"),
        Key("diamond", "NVSwitch of a domain", "#5F6B76"),
    ]
    scene.keys += [Key("dot", f"GPU {r}, and square: leaf of rail {r}", c) for r, c in list(colour.items())[:8]]
    if spines:
        scene.keys.append(Key("square", "spine", "#12355B"))
    if units > 1:
        scene.keys += [
            Key("heading", "Units"),
            Key("text", f"{units} units of {unit} domains, each with its own leaves"),
        ]
