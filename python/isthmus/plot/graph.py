"""Any network of cables: layers of switches above the nodes, or a ring where there are no switches."""

from __future__ import annotations

import numpy as np

from .common import INK, Net, add_route, class_keys, count, group_links, ring
from .scene import Array, Key, Lines, Marks, Notes, Panel, Scene, told

_ROW = 32  # vertices of a layer that are drawn


def title(net: Net) -> str:
    """Name of the network."""
    t = net.topology
    return f"Network of {count(t.nodes)} nodes" + (f" and {count(t.switches)} switches" if t.switches else "")


def draw(net: Net, scene: Scene) -> None:
    """Draw a graph."""
    t = net.topology
    links = np.arange(t.links, dtype=np.uint32)
    ends = t.link_ends(links).astype(np.int64)
    layer = layers(t.vertices, t.nodes, ends) if t.switches else np.zeros(t.vertices, np.int64)
    route = np.unique(net.hops.ravel())
    keep = [pick_of(np.flatnonzero(layer == k), route) for k in range(int(layer.max()) + 1)]
    if t.switches and t.nodes > _ROW:
        keep[0] = nodes_below(keep, ends, route, t.nodes)
    chosen = np.concatenate(keep)
    inside = np.isin(ends, chosen).all(axis=1)
    cables = group_links(links[inside], ends[inside], t.link_class(links[inside]))
    if t.switches:
        places = layered(keep, cables.ends)
    else:
        places = dict(zip(chosen.tolist(), springs(len(chosen), np.searchsorted(chosen, cables.ends)), strict=True))
    panel = Panel()
    paths = [path_of(places, int(a), int(b), layer) for a, b in cables.ends]
    many = len(paths) > 300
    panel.add(
        Lines(
            paths,
            [net.colour(int(k)) for k in cables.link_class],
            0.6 if many else 1.3,
            0.55 if many else 0.85,
            values=net.value_of(cables),
            hover=net.cable_hover(cables),
            name="links",
        )
    )
    for switch in (False, True):
        mine = [v for v in places if (v >= t.nodes) == switch]
        if mine:
            panel.add(
                Marks(
                    np.array([places[v] for v in mine]),
                    "#12355B" if switch else "#5A93C2" if not t.switches else "#8CC5E3",
                    0.55 if t.switches else 0.07,
                    (4, 16),
                    "square" if switch else "circle",
                    hover=told(net.label, mine),
                    name="switches" if switch else "nodes",
                    order=4,
                )
            )
    if t.switches:
        name_layers(net, panel, places, keep, layer)
    elif len(places) <= 40:
        centre = np.mean(list(places.values()), axis=0)
        away = {v: p + 0.09 * (p - centre) / max(float(np.hypot(*(p - centre))), 1e-9) for v, p in places.items()}
        panel.add(Notes(np.array(list(away.values())), [net.topology.names[v] for v in away], 8.5, INK, backing=True))
    add_route(net, panel, lambda a, b, link: path_of(places, a, b, layer))
    scene.panels = [panel]
    scene.keys = [*class_keys(net), Key("heading", "Vertices")]
    scene.keys += [Key("square", "switch", "#12355B")] if t.switches else []
    scene.keys += [Key("dot", "node", "#8CC5E3" if t.switches else "#5A93C2")]
    if len(chosen) < t.vertices:
        scene.caption = f"Drawn: {count(len(chosen))} of {count(t.vertices)} vertices: "
        scene.caption += "some switches of every layer, some nodes of each, and the cables between them."
    if t.switches:
        scene.caption += " A layer holds the switches that are equally many cables away from the nearest node."


def layers(vertices: int, nodes: int, ends: Array) -> Array:
    """Cables from every vertex to the nearest node."""
    layer = np.where(np.arange(vertices) < nodes, 0, -1)
    depth = 0
    while (layer < 0).any():
        next_ones = ends[(layer[ends[:, 0]] == depth) & (layer[ends[:, 1]] < 0), 1]
        if not len(next_ones):
            layer[layer < 0] = depth + 1
            break
        depth += 1
        layer[next_ones] = depth
    return np.asarray(layer, np.int64)


def pick_of(vertices: Array, route: Array) -> Array:
    """Choose vertices of a layer: all, or evenly spaced ones and those of the route."""
    if len(vertices) <= _ROW:
        return vertices
    some = vertices[np.linspace(0, len(vertices) - 1, _ROW).astype(int)]
    return np.union1d(some, np.intersect1d(vertices, route))


def nodes_below(keep: list[Array], ends: Array, route: Array, nodes: int) -> Array:
    """Choose a few nodes of every switch that is drawn, and those of the route."""
    leaves = keep[1]
    each = max(1, 2 * _ROW // max(len(leaves), 1))
    mine = ends[(ends[:, 1] < nodes) & np.isin(ends[:, 0], leaves)]
    mine = mine[np.argsort(mine[:, 0], kind="stable")]
    first = np.searchsorted(mine[:, 0], mine[:, 0])
    return np.union1d(mine[np.arange(len(mine)) - first < each, 1], route[route < nodes])


def layered(keep: list[Array], ends: Array) -> dict[int, Array]:
    """Place layers one above the other, every vertex near the middle of its neighbours below."""
    width = float(max(12, *(len(k) for k in keep)))
    places: dict[int, Array] = {}
    order = keep[-1]
    near: dict[int, list[int]] = {}
    for a, b in ends.tolist():
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    # Leaves in the order of their nodes, then upwards.
    for k, order in enumerate(keep):
        mean = []
        for i, v in enumerate(order.tolist()):
            xs = [places[w][0] for w in near.get(v, []) if w in places]
            mean.append(float(np.mean(xs)) if xs else i * width / max(len(order), 1))
        ordered = order[np.argsort(mean, kind="stable")] if k else order
        xs_of = (np.arange(len(ordered)) + 0.5) * width / max(len(ordered), 1)
        for v, x in zip(ordered.tolist(), xs_of, strict=True):
            places[v] = np.array([x, k * 0.30 * width])
    return places


def path_of(places: dict[int, Array], a: int, b: int, layer: Array) -> Array:
    """Straight between layers, an arc inside one."""
    p, q = places[a], places[b]
    if layer[a] != layer[b] or not layer.any():
        return np.stack([p, q])
    u = np.linspace(0, 1, 15)[:, None]
    return np.asarray(p + u * (q - p) + np.array([0, 4 * 0.16]) * u * (1 - u) * abs(q[0] - p[0]))


def name_layers(net: Net, panel: Panel, places: dict[int, Array], keep: list[Array], layer: Array) -> None:
    """Write the names of the layers, and of vertices where there is room."""
    t = net.topology
    width = max(p[0] for p in places.values())
    at, words = [], []
    for k, members in enumerate(keep):
        n = int((layer == k).sum())
        at.append([-0.03 * width, float(places[int(members[0])][1])])
        words.append(f"{count(n)} nodes" if k == 0 else f"layer {k}\n{count(n)} switch{'es' * (n != 1)}")
        longest = max(len(t.names[v]) for v in members)
        if k and len(members) * (longest + 2) <= 130:
            spots = np.array([places[v] + [0, 0.028 * width] for v in members.tolist()])
            panel.add(Notes(spots, [t.names[v] for v in members], 8.5, INK, ("center", "bottom"), backing=True))
    panel.add(Notes(np.array(at), words, 9.5, INK, ("right", "middle")))


def springs(n: int, ends: Array) -> Array:
    """Place vertices with neighbours close and others apart (Fruchterman and Reingold 1991), from a ring."""
    at = ring(n)
    if n > 2 * _ROW or n < 3:
        return at
    ideal = np.sqrt(4.0 / n)
    for heat in np.linspace(0.12, 0.004, 220):
        apart = at[:, None] - at[None]
        far = np.maximum(np.hypot(apart[..., 0], apart[..., 1]), 1e-3)
        push = (apart * (ideal**2 / far**2)[..., None]).sum(axis=1)
        pull = np.zeros_like(at)
        along = at[ends[:, 0]] - at[ends[:, 1]]
        force = along * (np.hypot(*along.T) / ideal)[:, None]
        np.subtract.at(pull, ends[:, 0], force)
        np.add.at(pull, ends[:, 1], force)
        move = push + pull
        size = np.maximum(np.hypot(*move.T), 1e-9)[:, None]
        at = at + move / size * np.minimum(size, heat)
    return np.asarray((at - at.mean(axis=0)) / np.abs(at).max())
