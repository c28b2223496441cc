"""Times beside each other, as bars."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .chart import COMPUTE, SEND, save, still_suffix
from .common import CLASSES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = {"compute": COMPUTE, "communication": SEND}


def plot_bars(
    bars: Mapping[str, Mapping[str, float]], title: str, path: str | os.PathLike[str] | None = None
) -> Figure:
    """Draw one bar for each name, its shares one after the other.

    Parameters
    ----------
    bars : mapping of str to mapping of str to float
        Seconds by share, for every name.
    title : str
    path : path, optional
        File to write: .png, .svg or .pdf; by default none.
    """
    from matplotlib.figure import Figure

    suffix = still_suffix(path)
    figure: Any = Figure(figsize=(8, 1.4 + 0.5 * len(bars)), layout="constrained")
    axes = figure.add_subplot()
    most = max((sum(shares.values()) for shares in bars.values()), default=0.0)
    power, unit = next(((p, u) for p, u in ((1, "s"), (1e-3, "ms"), (1e-6, "us")) if most >= p), (1e-9, "ns"))
    shares = list(dict.fromkeys(share for one in bars.values() for share in one))
    left = dict.fromkeys(bars, 0.0)
    for number, share in enumerate(shares):
        colour = _COLOURS.get(share, CLASSES[number % len(CLASSES)])
        widths = [one.get(share, 0.0) / power for one in bars.values()]
        axes.barh(list(bars), widths, left=list(left.values()), color=colour, label=share)
        left = {name: left[name] + width for name, width in zip(bars, widths, strict=True)}
    axes.invert_yaxis()
    axes.set_xlabel(f"mean over ranks, {unit}")
    axes.set_title(title, loc="left")
    if len(shares) > 1:
        axes.legend(frameon=False, ncols=len(shares), loc="upper right", bbox_to_anchor=(1, 0), borderaxespad=2.5)
    found: Figure = save(figure, path, suffix)
    return found
