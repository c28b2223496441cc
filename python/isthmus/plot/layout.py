"""Layout: sizes shared by pictures and pages."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np

from .scene import Array, Key, Lines, Notes, Panel, Scene, project

# Light to dark in equal steps of lightness, told apart by every kind of colour vision and in print.
VALUE_COLOURS = ("#F7DDB4", "#F4BE87", "#EC9A6B", "#DC7461", "#BF5066", "#97366D", "#6B2667", "#41194F")
STEPS = 24


def fit(panel: Panel, width: float, height: float) -> tuple[Array, Array, float]:
    """Find the limits of a panel of `width` by `height` points that leave room for its words and marks.

    Returns
    -------
    tuple of array, array, float
        Lower limits, upper limits, points per unit.
    """
    least, most = low, high = panel.bounds()
    for _ in range(3):
        extent = np.maximum(high - low, 1e-9)
        scale = float(min(width / extent[0], height / extent[1]))
        new_low, new_high = least, most
        for item in panel.items:
            if isinstance(item, Notes):
                for point, text in zip(item.points, item.texts, strict=True):
                    left, bottom, right, top = words_box(item, text)
                    at = project(np.asarray(point, float))
                    new_low = np.minimum(new_low, at + np.array([left, bottom]) / scale)
                    new_high = np.maximum(new_high, at + np.array([right, top]) / scale)
        margin = 9.0 / scale
        low, high = new_low - margin, new_high + margin
    extent = high - low
    scale = float(min(width / extent[0], height / extent[1]))
    centre = (low + high) / 2
    half = np.array([width, height]) / scale / 2
    return centre - half, centre + half, scale


def words_box(notes: Notes, text: str) -> tuple[float, float, float, float]:
    """Estimate the box of a text around its place, in points."""
    rows = text.split("\n")
    width = max(len(r) for r in rows) * notes.size * 0.6
    height = len(rows) * notes.size * 1.25
    left = {"left": 0.0, "center": -width / 2, "right": -width}[notes.anchor[0]]
    bottom = {"bottom": 0.0, "middle": -height / 2, "top": -height}[notes.anchor[1]]
    return left, bottom, left + width, bottom + height


def key_rows(keys: Sequence[Key], columns: int) -> list[tuple[Key, list[str]]]:
    """Legend entries with their words broken into rows."""
    out = []
    for key in keys:
        wide = columns if key.swatch in ("heading", "text") else columns - 4
        out.append((key, textwrap.wrap(key.text, wide, break_long_words=False) or [""]))
    return out


def mix(share: float) -> str:
    """Colour of a value, `share` of the way from the smallest to the largest."""
    place = min(max(share, 0.0), 1.0) * (len(VALUE_COLOURS) - 1)
    i = min(int(place), len(VALUE_COLOURS) - 2)
    low, high = ([int(c[k : k + 2], 16) for k in (1, 3, 5)] for c in VALUE_COLOURS[i : i + 2])
    return "#" + "".join(f"{round(a + (b - a) * (place - i)):02X}" for a, b in zip(low, high, strict=True))


def line_colours(scene: Scene, item: Lines) -> list[str]:
    """Colour of every path, by its value where it has one."""
    n = len(item.paths)
    if item.values is None or scene.values is None:
        return [item.color] * n if isinstance(item.color, str) else list(item.color)
    low, high = scene.values
    values = np.asarray(item.values, dtype=float)
    known = np.isfinite(values)
    step = np.rint((np.where(known, values, low) - low) / (high - low or 1.0) * STEPS).clip(0, STEPS).astype(int)
    table = np.array([*(mix(k / STEPS) for k in range(STEPS + 1)), "#D5DBE0"])
    out: list[str] = table[np.where(known, step, STEPS + 1)].tolist()
    return out


def line_width(item: Lines) -> float:
    """Width of lines, in points; colours of values need more room than a hue."""
    return item.width if item.values is None else item.width * (1.8 if len(item.paths) <= 600 else 1.2)
