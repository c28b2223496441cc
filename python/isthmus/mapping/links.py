"""Bytes over links and between distances, from the routes of a machine."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._core import Topology


@dataclass(frozen=True, eq=False)
class Routed:
    """Load of a network by transfers between nodes.

    Attributes
    ----------
    length : array of uint32, shape (transfers,)
        Links of each route.
    link_bytes : array of float64, shape (links,)
    highest : array of int8, shape (transfers,)
        Index in :func:`tiers` of the widest part of the network that the route passes; -1 within a node.
    """

    length: NDArray[np.uint32]
    link_bytes: NDArray[np.float64]
    highest: NDArray[np.int8]


def tiers(topology: Topology) -> tuple[list[str], NDArray[np.int8]]:
    """Parts of a network, narrowest first, and the part that each class of links belongs to.

    Nodes of one router only pass terminal links, or the lowest level of a tree. A route belongs to the widest part that
    it passes.
    """
    words = [_tier(name) for name, _, _ in topology.link_classes]
    names = [name for name, _ in sorted(set(words), key=lambda word: word[1])]
    return names, np.array([names.index(name) for name, _ in words], np.int8)


def _tier(name: str) -> tuple[str, int]:
    if name == "terminal" or name == "level1":
        return "router", 0
    if match := re.fullmatch("level([0-9]+)", name):
        return f"level {match[1]}", int(match[1])
    if name.startswith("local"):
        return "group", 1
    known = {"global": 1000, "nvlink": 1, "rail": 2, "spine": 3}
    return (name, known[name]) if name in known else ("network", 500)


def routed(
    topology: Topology, source: NDArray[np.uint32], target: NDArray[np.uint32], bytes: NDArray[np.float64]
) -> Routed:
    """Send transfers along the deterministic minimal routes of their nodes.

    Parameters
    ----------
    source, target : array of uint32, shape (transfers,)
        Node ids.
    bytes : array of float64, shape (transfers,)
        Whole numbers.
    """
    length, load, highest = topology.route_loads(source, target, bytes, tiers(topology)[1])
    return Routed(length, load, highest)
