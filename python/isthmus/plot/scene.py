"""The parts of a picture, independent of how it is drawn.

Families of networks fill a `Scene`; `still` and `interactive` turn one into a file. Coordinates are those of
the family; sizes of marks are diameters in these coordinates, widths of lines are points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Colours = str | Sequence[str]
Hover = Callable[[int], str]

# Directions of x, y and z of a three-dimensional panel on paper: y leads away from the reader.
AXES = np.array([[0.88, -0.27], [0.52, 0.40], [0.0, 0.94]])


def told(words: Callable[..., str], items: Any, *before: Any) -> Hover:
    """Make words on hover for part i from those for `items[i]`."""
    return lambda i: words(*before, items[i])


def project(points: Array) -> Array:
    """Bring points of three dimensions on paper; points of two stay as they are."""
    return points @ AXES if points.shape[-1] == 3 else points


@dataclass
class Lines:
    """Open paths, straight from point to point."""

    paths: Sequence[Array]
    color: Colours = "#5F6B76"
    width: float = 1.0
    alpha: float = 1.0
    dashed: bool = False
    values: Array | None = None
    hover: Hover | None = None
    order: float = 2
    name: str = ""


@dataclass
class Marks:
    """Points with a shape; `size` is a diameter in coordinates, kept within `limits` (points on paper)."""

    points: Array
    color: Colours = "#5F6B76"
    size: float = 0.5
    limits: tuple[float, float] = (1.5, 14.0)
    shape: str = "circle"
    edge: str = "white"
    hover: Hover | None = None
    order: float = 3
    name: str = ""


@dataclass
class Shapes:
    """Closed polygons."""

    polygons: Sequence[Array]
    face: Colours = "none"
    edge: Colours = "none"
    width: float = 1.0
    alpha: float = 1.0
    hover: Hover | None = None
    order: float = 1
    name: str = ""


@dataclass
class Notes:
    """Words in a panel. `anchor` says which point of the words is at the place: left, center or right, then
    top, middle or bottom."""

    points: Array
    texts: Sequence[str]
    size: float = 9.0
    color: str = "#26323D"
    anchor: tuple[str, str] = ("center", "middle")
    bold: bool = False
    backing: bool = False
    order: float = 6


Item = Lines | Marks | Shapes | Notes


@dataclass
class Panel:
    """One drawing; `box` is left, bottom, width and height as parts of the space for drawings."""

    items: list[Item] = field(default_factory=list)
    box: tuple[float, float, float, float] = (0.0, 0.0, 1.0, 1.0)
    title: str = ""
    axes: tuple[str, str] | None = None
    framed: bool = False

    def add(self, *items: Item) -> None:
        """Append items that have something to draw."""
        for item in items:
            if len(points_of(item)):
                self.items.append(item)

    @property
    def spatial(self) -> bool:
        """Whether the panel is three-dimensional."""
        return any(points_of(item)[0].shape[-1] == 3 for item in self.items)

    def bounds(self) -> tuple[Array, Array]:
        """Smallest and largest coordinates on paper of everything in the panel."""
        every = [project(np.concatenate(points)) for item in self.items if len(points := points_of(item))]
        if not every:
            return np.zeros(2), np.ones(2)
        flat = np.concatenate(every)
        return flat.min(axis=0), flat.max(axis=0)


def points_of(item: Item) -> Sequence[Array]:
    """Arrays of the points of an item."""
    if isinstance(item, Lines):
        return item.paths
    if isinstance(item, Shapes):
        return item.polygons
    return [item.points] if len(item.points) else []


@dataclass
class Key:
    """One entry of the legend: `swatch` is line, dash, dot, square, diamond, triangle, heading or text."""

    swatch: str
    text: str
    color: str = "#26323D"


@dataclass
class Scene:
    """A whole picture."""

    title: str
    facts: str
    subtitle: str = ""
    panels: list[Panel] = field(default_factory=list)
    keys: list[Key] = field(default_factory=list)
    caption: str = ""
    values: tuple[float, float] | None = None
    values_label: str = ""
