"""What a placement costs, message by message; all placements of small problems."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

import isthmus


def random_pattern(rng: np.random.Generator, ranks: int, edges: int, symmetric: bool = False) -> isthmus.Pattern:
    source, target = rng.integers(0, ranks, edges), rng.integers(0, ranks, edges)
    bytes = rng.integers(1, 100, edges)
    found = isthmus.Pattern.of(ranks, source=source, target=target, bytes=bytes)
    return found.symmetric() if symmetric else found


def messages(pattern: isthmus.Pattern) -> Iterator[tuple[int, int, int]]:
    """Sender, receiver and bytes of every pair that exchanges some."""
    for r in range(pattern.ranks):
        for i in range(int(pattern.first[r]), int(pattern.first[r + 1])):
            if int(pattern.peer[i]) != r and pattern.bytes[i]:
                yield r, int(pattern.peer[i]), int(pattern.bytes[i])


def costs(pattern: isthmus.Pattern, placement: isthmus.Placement) -> dict[str, float]:
    """Hop-bytes, maximum dilation, bytes of the most loaded link, seconds of the most congested one."""
    topology = placement.machine.topology
    hop_bytes, longest = 0, 0
    load: dict[int, int] = {}
    for u, v, b in messages(pattern):
        route = topology.route(int(placement.node[u]), int(placement.node[v]))
        hop_bytes += b * len(route)
        longest = max(longest, len(route))
        for link in route.tolist():
            load[link] = load.get(link, 0) + b
    classes = topology.link_classes
    seconds = [b / classes[int(topology.link_class(np.array([k], np.uint32))[0])][1] for k, b in load.items()]
    return {
        "hop_bytes": hop_bytes,
        "maximum_dilation": longest,
        "maximum_link_load": max(load.values(), default=0),
        "average_link_load": sum(load.values()) / len(load) if load else 0.0,
        "maximum_congestion": max(seconds, default=0.0),
        "average_congestion": sum(seconds) / len(seconds) if seconds else 0.0,
    }


def all_placements(machine: isthmus.Machine, ranks: int) -> Iterator[isthmus.Placement]:
    """Every way to give ranks different cores of the machine's nodes; cores of a node are alike."""
    cores = machine.node.cores
    seen = set()
    for slots in itertools.permutations(range(machine.nodes * cores), ranks):
        nodes = tuple(s // cores for s in slots)
        if nodes not in seen:
            seen.add(nodes)
            yield isthmus.Placement(machine, nodes)
