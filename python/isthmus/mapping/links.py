"""Bytes over links and between distances, from the routes of a machine."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._core import Topology

#: Pairs of nodes whose routes are held at a time.
_CHUNK = 1 << 18


@dataclass(frozen=True, eq=False)
class Routed:
    """What transfers between nodes do to a network.

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
    """Sends transfers along the deterministic minimal routes of their nodes.

    Parameters
    ----------
    source, target : array of uint32, shape (transfers,)
        Node ids.
    bytes : array of float64, shape (transfers,)
    """
    # Tasks of a node share its routes.
    pair = source.astype(np.int64) * topology.nodes + target
    pairs, where = np.unique(pair, return_inverse=True)
    total = np.bincount(where, bytes, len(pairs)) if len(pairs) else np.zeros(0)
    a, b = (pairs // topology.nodes).astype(np.uint32), (pairs % topology.nodes).astype(np.uint32)
    length = np.zeros(len(pairs), np.uint32)
    highest = np.full(len(pairs), -1, np.int8)
    load = np.zeros(topology.links)
    names, of_class = tiers(topology)
    step = _CHUNK
    begin = 0
    while begin < len(pairs):
        end = min(begin + step, len(pairs))
        offsets, links = topology.routes(a[begin:end], b[begin:end])
        lengths = np.diff(offsets).astype(np.int64)
        length[begin:end] = lengths
        if len(links):
            load += np.bincount(links, np.repeat(total[begin:end], lengths), topology.links)
            on = np.flatnonzero(lengths)
            if len(names) == 1:
                highest[begin + on] = 0
            else:
                tier = of_class[topology.link_class(links)]
                highest[begin + on] = np.maximum.reduceat(tier, offsets[:-1][on].astype(np.int64))
        # Networks of many links: fewer, larger chunks, as each passes over all of them.
        step = max(_CHUNK, min(topology.links, 1 << 22) // max(1, int(lengths.max(initial=1))))
        begin = end
    return Routed(length[where], load, highest[where])
