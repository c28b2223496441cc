"""The numbers in the subtitle of a picture, sampled where exact ones would take long."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import Unsupported
from .common import Net, count, quantity
from .scene import Array


def random_pairs(topology: Any, pairs: int, destinations: int = 0) -> tuple[Array, Array]:
    """Pairs of different nodes, the same ones every time; few destinations where each costs a search."""
    rng = np.random.default_rng(20080)
    n = topology.nodes
    to = rng.integers(0, n, destinations or pairs)
    to = to[np.arange(pairs) % len(to)]
    return ((to + rng.integers(1, max(n, 2), pairs)) % n).astype(np.uint32), to.astype(np.uint32)


def affordable_pairs(net: Net) -> tuple[int, int]:
    """Return how many pairs and destinations (0: any) can be computed in well below a second."""
    t = net.topology
    if net.kind == "dragonfly" and "x" in net.text["a"] and net.text.get("arrangement") != "relative":
        return 12_000, 0  # searched pair by pair; in relative arrangement there is a table
    if net.kind == "graph":
        return 200_000, max(4, 4_000_000 // (t.vertices + t.links))
    return 1_000_000, 0


def distance_facts(net: Net) -> tuple[str, str]:
    """Return diameter and mean distance in words."""
    t = net.topology
    if t.nodes < 2:
        return "0", "0"
    try:
        diameter, exact = t.diameter()
        far = ("" if exact else "≥ ") + str(diameter)
    except Unsupported:
        far = "?"
    mean, mean_exact = t.average_distance()
    return far, ("" if mean_exact else "≈ ") + f"{mean:.4g}"


def facts(net: Net) -> str:
    """One line: how many parts, how far, how wide."""
    t = net.topology
    directed = net.kind in ("kautz", "debruijn")
    parts = [f"{count(t.nodes)} {'GPUs' if net.kind == 'rail' else 'nodes'}"]
    if t.switches:
        parts.append(f"{count(t.switches)} {'routers' if net.separate else 'switches'}")
    if directed and net.separate:
        parts.append(f"{count(t.links - 2 * t.nodes)} directed links + {count(t.nodes)} node cables")
    else:
        parts.append(f"{count(t.links)} directed links" if directed else f"{count(t.links // 2)} cables")
    diameter, mean = distance_facts(net)
    parts += [f"diameter {diameter}", f"average distance {mean}"]
    # The best of the cuts tried takes long on large networks without a formula.
    most = {"kautz": 40_000, "debruijn": 40_000, "graph": 200_000, "rail": 400_000, "slimfly": 400_000}
    if t.nodes > 1 and t.links <= most.get(net.kind, t.links):
        links, bandwidth, exact = t.bisection()
        bound = "" if exact else "≤ "
        parts.append(f"bisection {bound}{quantity(bandwidth, 'B/s')} ({count(links)} link{'s' * (links != 1)})")
    return "  ·  ".join(parts)
