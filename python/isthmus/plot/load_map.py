"""Loads of links as fields of cells, for networks that have such an order: grids, dragonflies, trees.

Pictures on paper and those of the report draw the same fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..units import percent
from .common import Net
from .grid_view import GridView
from .scene import Array
from .tree import levels_of

#: Width and height of the space for a field of planes, in which they are arranged; its own width to height counts.
_ASPECT = 2.2
#: Cells of a strip, at most: more links share one, which has the largest value.
_CELLS = 512
# Inches: of all fields together at most, of a strip of one row, of other fields that are not square, of a cell at most.
_HIGHEST, _STRIP, _BLOCK, _CELL = 11.0, 0.42, 1.9, 0.42


@dataclass
class Field:
    """A rectangle of cells.

    Attributes
    ----------
    title : str
    cells : array of float, shape (rows, columns)
        The first row is the top one. NaN: there is no link.
    across, down : str
        What columns and rows are.
    columns, rows : list of (float, str)
        Words at columns and rows; cell i is around i.
    notes : list of (float, float, str)
        Words above places in the field: column, row, words.
    block : int
        Rows of a plane, where there are several.
    square : bool
        Are cells as wide as high?
    place : (int, int, int, int)
        Row and column in the picture, and how many of them it takes.
    """

    title: str
    cells: Array
    across: str = ""
    down: str = ""
    columns: list[tuple[float, str]] = field(default_factory=list)
    rows: list[tuple[float, str]] = field(default_factory=list)
    notes: list[tuple[float, float, str]] = field(default_factory=list)
    block: int = 0
    square: bool = True
    place: tuple[int, int, int, int] = (0, 0, 1, 1)


def spaced(labels: list[tuple[float, str]], cell: float, room: float) -> list[tuple[float, str]]:
    """Every so many labels of cells as large as ``cell``, that each may have ``room``."""
    apart = abs(labels[1][0] - labels[0][0]) * cell if len(labels) > 1 else room
    return labels[:: max(1, int(np.ceil(room / max(apart, 1e-9))))]


@dataclass
class LoadMap:
    """All fields of a network, ``caption`` saying how to read them."""

    fields: list[Field]
    caption: str


class Layout:
    """Where fields are, in inches from the left and from the top of a space of some width."""

    def __init__(self, drawn: LoadMap, width: float) -> None:
        fields = drawn.fields
        self._left = 0.55 if any(f.rows for f in fields) else 0.05
        self._above = 0.45 if any(f.notes for f in fields) else 0.3
        self._column = width / max(f.place[1] + f.place[3] for f in fields)
        below = np.zeros(max(f.place[0] + f.place[2] for f in fields))
        high = np.zeros(len(below))
        for f in sorted(fields, key=lambda f: f.place[2]):
            row, _, rows, _ = f.place
            if f.across:
                below[row + rows - 1] = 0.48
            # A field over several rows has the room for words between them, too.
            between = (rows - 1) * self._above + below[row : row + rows - 1].sum()
            part = high[row : row + rows]
            part += max(self._natural(f) - between - part.sum(), 0) / rows
        room = _HIGHEST - len(high) * self._above - below.sum()
        self._below, self._rows = below, high * min(1.0, room / high.sum())

    @property
    def height(self) -> float:
        """Height of all fields together."""
        return float(self._rows.sum() + len(self._rows) * self._above + self._below.sum())

    def _natural(self, f: Field) -> float:
        rows, columns = f.cells.shape
        if f.square:
            return float(rows * min((self._column * f.place[3] - self._left - 0.2) / columns, _CELL))
        return _STRIP if rows == 1 else _BLOCK * f.place[2]

    def box(self, f: Field) -> tuple[float, float, float, float]:
        """Left, top, width and height of the cells of a field, which may leave some of it empty."""
        row, column, rows, columns = f.place
        ends = np.concatenate([[0.0], np.cumsum(self._above + self._rows + self._below)])
        top, bottom = ends[row] + self._above, ends[row + rows] - self._below[row + rows - 1]
        wide = columns * self._column - self._left - 0.2
        return column * self._column + self._left, float(top), float(wide), float(bottom - top)


def load_map(topology: Any, values: Array, *, narrow: bool = False, beside: Sequence[Array] = ()) -> LoadMap | None:
    """Fields of the values of links; None for a network that has to be drawn as a graph.

    Parameters
    ----------
    topology : isthmus._core.Topology
    values : array of float, shape (links,)
        Such as their utilisation. Parts of a large machine without any are left out.
    narrow : bool
        Two of them stand side by side: words above fields are short.
    beside : sequence of array of float, shape (links,)
        What else is drawn for comparison: parts that carry something there are not left out here.
    """
    net = Net(topology, values=np.asarray(values, np.float64))
    busy = np.any([np.asarray(v) > 0 for v in (values, *beside)], axis=0)
    if net.kind in ("torus", "mesh", "ring", "linear"):
        return _grid(net, net.values, busy)
    if net.kind == "dragonfly":
        return _dragonfly(net, net.values, busy)
    if net.kind in ("tree", "xgft", "fattree", "clos2", "clos3"):
        return _tree(net, net.values, busy, narrow)
    return None


def shown(used: Array, number: int) -> tuple[int, int]:
    """From where to where of `number` places is drawn: all, or those in use where they are at most half."""
    if not len(used):
        return 0, number
    low, high = int(used.min()), int(used.max()) + 1
    return (low, high) if high - low <= number // 2 else (0, number)


def _class_links(net: Net) -> tuple[Array, Array, Array]:
    """All links, the number of their class, their ends."""
    links = np.arange(net.topology.links, dtype=np.uint32)
    return links, net.topology.link_class(links), net.topology.link_ends(links).astype(np.int64)


def _grid(net: Net, values: Any, busy: Array) -> LoadMap:
    """One field per direction: the links that leave routers in that direction, plane by plane."""
    view = GridView(net)
    names = [c[0] for c in net.topology.link_classes]
    links, kind, ends = _class_links(net)
    between = np.isin(kind, [i for i, n in enumerate(names) if n != "terminal"])
    at = view.coordinates(np.where(between[:, None], ends, net.first_router))
    used = at[between & busy].reshape(-1, len(net.dims))
    box = [shown(used[:, d], extent) for d, extent in enumerate(net.dims)]
    inside = between & np.all([(at[:, 0, d] >= a) & (at[:, 0, d] < b) for d, (a, b) in enumerate(box)], axis=0)
    order = _planes([b - a for a, b in box])
    fields, in_use = [], []
    for d, name in enumerate(net.names):
        for column, sign in enumerate("+-"):
            chosen = inside & (kind == names.index(name + sign))
            start = at[chosen, 0] - [a for a, _ in box]
            row, place = order.cell(start)
            cells = np.full(order.shape, np.nan)
            cells[order.shape[0] - 1 - row, place] = values[links[chosen]]
            made = Field(f"{name}{'+' if sign == '+' else '−'}", cells, place=(d, column, 1, 1))
            _label_planes(made, order, net, box)
            fields.append(made)
            in_use.append(bool(busy[chosen].any()))
    fields, idle = _in_use(fields, in_use)
    if len(net.dims) == 1:
        for i, f in enumerate(fields):
            f.place, f.square = (i, 0, 1, 1), False
    word = "router" if net.separate else "node"
    caption = f"A cell is the link that leaves a {word} in the direction above the field. "
    if len(net.dims) > 1:
        caption += f"In a plane {net.names[0]} grows to the right and {net.names[1]} upwards. "
    if order.number > 1:
        caption += f"Planes follow each other from left to right by {', then '.join(net.names[2:])}. "
    if cut := [(n, a, b) for n, (a, b), e in zip(net.names, box, net.dims, strict=True) if b - a < e]:
        parts = [f"{n} {a} to {b - 1}" if b - a > 1 else f"{n} {a}" for n, a, b in cut]
        caption += f"Drawn: {', '.join(parts)}; elsewhere links carry nothing. "
    if idle:
        caption += (
            f"Nor do those in the direction{'s' * (len(idle) > 1)} {', '.join(idle)}. "
            if cut
            else (f"Links in the direction{'s' * (len(idle) > 1)} {', '.join(idle)} carry nothing. ")
        )
    if net.separate:
        most = values[kind == names.index("terminal")].max(initial=0.0)
        caption += f"Links between nodes and routers are not drawn: at most {percent(most)}."
    return LoadMap(fields, caption.strip())


def _in_use(fields: list[Field], in_use: list[bool]) -> tuple[list[Field], list[str]]:
    """Fields in which something is carried, moved up over those in which nothing is, and the titles of the latter."""
    there = [f for f in fields if np.isfinite(f.cells).any()]
    used = [f for f, busy in zip(fields, in_use, strict=True) if busy]
    if not used:
        return there, []
    rows = sorted({f.place[0] for f in used})
    for f in used:
        f.place = (rows.index(f.place[0]), *f.place[1:])
    return used, [f.title for f in there if not any(f is u for u in used)]


@dataclass
class _Planes:
    """Planes of the first two dimensions, side by side and one above the other by the further ones."""

    extents: list[int]
    wide: int  # planes in a row

    @property
    def plane(self) -> tuple[int, int]:
        return self.extents[0], self.extents[1] if len(self.extents) > 1 else 1

    @property
    def number(self) -> int:
        return int(np.prod(self.extents[2:])) if len(self.extents) > 2 else 1

    @property
    def pitch(self) -> tuple[int, int]:
        """Rows and columns from plane to plane; between them is room for words."""
        return self.plane[1] + max(1, self.plane[1] // 5), self.plane[0] + max(1, self.plane[0] // 12)

    @property
    def shape(self) -> tuple[int, int]:
        high = -(-self.number // self.wide)
        return (high - 1) * self.pitch[0] + self.plane[1], (self.wide - 1) * self.pitch[1] + self.plane[0]

    def corner(self, plane: Array) -> tuple[Array, Array]:
        """Row from below and column of the first cell of planes; the first plane is at the top left."""
        high = -(-self.number // self.wide)
        return (high - 1 - plane // self.wide) * self.pitch[0], plane % self.wide * self.pitch[1]

    def cell(self, at: Array) -> tuple[Array, Array]:
        """Row from below and column of coordinates."""
        plane = np.zeros(len(at), np.int64)
        for d in range(len(self.extents) - 1, 1, -1):
            plane = plane * self.extents[d] + at[:, d]
        row, column = self.corner(plane)
        return row + (at[:, 1] if len(self.extents) > 1 else 0), column + at[:, 0]


def _planes(extents: list[int]) -> _Planes:
    """Arrange planes so that they fill the space best."""
    number = _Planes(extents, 1).number
    # With more than three dimensions rows have whole rounds of the third.
    unit = extents[2] if len(extents) > 3 else 1

    def scale(wide: int) -> float:
        high, across = _Planes(extents, wide).shape
        # Rows that are all full are worth some space.
        return min(_ASPECT / across, 1.0 / high) * (1.0 if number % wide == 0 else 0.7)

    return _Planes(extents, max(range(unit, number + 1, unit), key=scale))


def _label_planes(made: Field, order: _Planes, net: Net, box: list[tuple[int, int]]) -> None:
    if order.number == 1:
        first = box[0][0]
        made.across = net.names[0]
        made.columns = [(i - first, str(i)) for i in _round(first, box[0][1])]
        if len(box) > 1:
            made.down = net.names[1]
            made.rows = [(order.shape[0] - 1 - (i - box[1][0]), str(i)) for i in _round(*box[1])]
        return
    made.block = order.plane[1]
    rows, columns = order.corner(np.arange(order.number))
    top = order.shape[0] - 1 - rows - (order.plane[1] - 1)
    for plane in range(order.number):
        rest, words = plane, []
        for d in range(2, len(box)):
            rest, c = divmod(rest, box[d][1] - box[d][0])
            words.append(f"{net.names[d]} {c + box[d][0]}")
        made.notes.append((float(columns[plane]), float(top[plane]), ", ".join(words)))


def _round(low: int, high: int) -> list[int]:
    """Round numbers to label, at most nine."""
    step = next(s * 10**e for e in range(9) for s in (1, 2, 4, 5) if (high - low) / (s * 10**e) <= 9)
    return [i for i in range(low, high) if i % step == 0]


def _dragonfly(net: Net, values: Any, busy: Array) -> LoadMap:
    """Global links from group to group; of the others the most loaded one of each router."""
    t = net.topology
    groups, size = net.dims[-1], int(np.prod(net.dims[:-1]))
    links, kind, ends = _class_links(net)
    # The router of a node is the node's number divided by the nodes of each router.
    router = np.where(ends < t.nodes, ends // net.per_router, ends - t.nodes)
    group = router // size
    low, high = shown(group[busy].ravel(), groups)
    number = high - low
    ticks = [(float(i - low), str(i)) for i in _round(low, high)]
    fields = []

    def largest(shape: tuple[int, int], row: Array, column: Array, chosen: Array) -> Array:
        out = np.full(shape, -np.inf)
        np.maximum.at(out, (row, column), values[links[chosen]])
        return np.where(np.isinf(out), np.nan, out)

    inside = np.all((group >= low) & (group < high), axis=1)
    names = [c[0] for c in t.link_classes]
    side = [n for n in names if n not in ("global", "terminal")]
    across = inside & (kind == names.index("global"))
    if number > 1:
        cells = largest((number, number), group[across, 0] - low, group[across, 1] - low, across)
        fields.append(Field("global links", cells, "to group", "from group", ticks, ticks, place=(0, 0, 2, 1)))
    rows = [(float(k), str(k)) for k in _round(0, size)]

    wide = net.dims[0] if len(net.dims) > 2 else size

    def by_router(title: str, chosen: Array, end: int, place: tuple[int, int, int, int]) -> None:
        if number == 1:
            # One group alone: its routers as they stand, slots across.
            at = router[chosen, end] % size
            cells = largest((size // wide, wide), at // wide, at % wide, chosen)
            slots = [(float(k), str(k)) for k in _round(0, wide)]
            chassis = [(float(k), str(k)) for k in range(size // wide)] if size > wide else []
            words = (net.names[0].replace("_", " "), net.names[1] if chassis else "")
            fields.append(Field(title, cells, *words, slots, chassis, place=(*divmod(len(fields), 2), 1, 1)))
            return
        cells = largest((size, number), router[chosen, end] % size, group[chosen, end] - low, chosen)
        fields.append(Field(title, cells, "group", "router", ticks, rows, square=False, place=place))

    shape = {"local0": f"local0: links in rows of {net.dims[0]} routers", "local1": "local1: links in columns"}
    for i, name in enumerate(side):
        by_router(shape.get(name, "local links"), inside & (kind == names.index(name)), 0, (i, 1, 2 // len(side), 1))
    terminal = inside & (kind == names.index("terminal"))
    by_router("from nodes to their router", terminal & (ends[:, 0] < t.nodes), 1, (2, 0, 1, 1))
    by_router("from a router to its nodes", terminal & (ends[:, 1] < t.nodes), 0, (2, 1, 1, 1))
    caption = "Global links: the most loaded one from one group to another. Others: the most loaded one that leaves a "
    caption += "router, or comes from its nodes. Routers are numbered within their group."
    if number == 1:
        caption = f"The most loaded link that leaves a router of group {low}, or comes from its nodes. Links of other "
        caption += "groups, and between groups, carry nothing."
    elif number < groups:
        caption += f" Drawn: groups {low} to {high - 1}; the others carry nothing."
    return LoadMap(fields, caption)


def _tree(net: Net, values: Any, busy: Array, narrow: bool) -> LoadMap:
    """Every level a strip for its links upwards and one for those downwards, in the order of the nodes below."""
    levels = levels_of(net)
    links, _, ends = _class_links(net)
    fields = []
    strips = []
    for k, level in enumerate(levels[:-1]):
        lower = ends.min(axis=1)
        mine = (lower >= level.first) & (lower < level.first + level.count)
        for up in (True, False):
            chosen = np.flatnonzero(mine & ((ends[:, 0] < ends[:, 1]) == up))
            order = np.lexsort((ends[chosen].max(axis=1), lower[chosen]))
            strips.append((k, up, values[links[chosen[order]]], busy[chosen[order]]))
    # Places of links of all levels are those of the nodes below, as parts of the width.
    used = np.array([[i / len(b), (i + 1) / len(b)] for *_, b in strips for i in _ends_of(b)]).reshape(-1, 2)
    whole = not len(used) or used[:, 1].max() - used[:, 0].min() > 0.5
    low, high = (0.0, 1.0) if whole else (float(used[:, 0].min()), float(used[:, 1].max()))
    nodes = net.topology.nodes
    first, last = int(np.floor(low * nodes)), int(np.ceil(high * nodes))
    for k, up, v, _ in strips:
        a, b = int(np.floor(low * len(v))), int(np.ceil(high * len(v)))
        part = v[a:b]
        carried = v[v > 0]
        edges = np.unique(np.linspace(0, len(part), min(len(part), _CELLS) + 1).astype(np.int64))[:-1]
        cells = np.fmax.reduceat(part, edges)[None, :]
        ends_words = ("nodes" if k == 0 else f"level {k}", f"level {k + 1}")
        words = f"{'up' if up else 'down'}: {ends_words[not up]} to {ends_words[up]}"
        if len(carried):
            words += "  ·  " if narrow else f"  ·  {len(carried):,} of {len(v):,} links used, "
            words += f"mean {percent(float(carried.mean()))}, at most {percent(float(carried.max()))}"
        else:
            words += f"  ·  none of {len(v):,} links used"
        # The highest level is at the top.
        row = 2 * (len(levels) - 2 - k) + (not up)
        fields.append(Field(words, cells, square=False, place=(row, 0, 1, 1)))
    lowest = max(fields, key=lambda f: f.place[0])
    count = lowest.cells.shape[1]
    lowest.across = "node"
    lowest.columns = [((i - first + 0.5) / (last - first) * count - 0.5, f"{i:,}") for i in _round(first, last)]
    caption = "Every strip has the links of a level and a direction, above the nodes that they lead to. "
    if max(len(v) for *_, v in strips) * (high - low) > _CELLS:
        caption += "Where there are many, a cell is the most loaded of neighbours. "
    if not whole:
        caption += f"Drawn: nodes {first:,} to {last - 1:,}; other links carry nothing."
    return LoadMap(sorted(fields, key=lambda f: f.place), caption.strip())


def _ends_of(busy: Array) -> list[int]:
    """First and last that carry something."""
    used = np.flatnonzero(busy)
    return [int(used[0]), int(used[-1])] if len(used) else []
