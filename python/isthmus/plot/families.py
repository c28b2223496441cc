"""Table of the modules that draw each kind of interconnect."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from ..errors import InvalidInput
from .common import Net
from .scene import Scene

# Kind: module and function that draws it, function that names it.
_FAMILIES = {
    "dragonfly": ("dragonfly", "draw", "title"),
    "dragonfly+": ("dragonfly_plus", "draw", "title"),
    "hypercube": ("hypercube", "draw", "title"),
    "kautz": ("shift", "draw", "title"),
    "debruijn": ("shift", "draw", "title"),
    "slimfly": ("slim_fly", "draw", "title"),
    "hyperx": ("hyperx", "draw", "title"),
    "rail": ("rail", "draw", "title"),
    "graph": ("graph", "draw", "title"),
    **dict.fromkeys(("tree", "xgft", "fattree", "clos2", "clos3"), ("tree", "draw", "title")),
}
_GRIDS = {1: ("grid", "draw_line"), 2: ("grid", "draw_plane"), 3: ("lattice", "draw_lattice")}


def drawing_of(net: Net) -> tuple[Callable[[Net, Scene], None], Callable[[Net], str]]:
    """Functions that draw and name a network.

    Raises
    ------
    InvalidInput
        For a kind that has no drawing.
    """
    kind = net.topology.kind
    if kind in _FAMILIES:
        module, draw, name = _FAMILIES[kind]
    elif kind in ("torus", "mesh", "ring", "linear"):
        module, draw = _GRIDS.get(len(net.dims), ("lattice", "draw_product"))
        name = "grid_title"
    else:
        raise InvalidInput(f"cannot draw a topology of kind {kind!r}")
    family = import_module(f".{module}", __package__)
    namer: Callable[[Net], str] = getattr(import_module(".grid", __package__) if name == "grid_title" else family, name)
    drawn: Callable[[Net, Scene], None] = getattr(family, draw)
    return drawn, namer
