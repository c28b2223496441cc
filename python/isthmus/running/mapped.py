"""Ranks placed by what they exchange, on the places at which their launcher starts them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import InvalidInput
from ..machine import Allocation
from ..machine.placement import Placement, place_in_node
from ..mapping.map import map as map_ranks
from ..mapping.metrics import Metrics, evaluate
from ..schedule.pattern import Pattern

#: Processor time for methods of mapping, seconds, about.
_SECONDS = 2.0
#: Two sums of the same numbers in another order.
_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class Found:
    """A placement beside the usual one, which it is where none is better.

    Parameters
    ----------
    placement : Placement
    hop_bytes, usual : float
        Hop-bytes of the placement, and of the ranks as their launcher starts them.
    sockets, usual_sockets : float
        Bytes between sockets of a node, of both.
    kept : str
        Why ranks start as usual; empty where they do not.
    """

    placement: Placement
    hop_bytes: float
    usual: float
    sockets: float
    usual_sockets: float
    kept: str = ""


def mapped(pattern: Pattern, usual: Placement, *, undirected: bool = False, any_order: bool = True) -> Found:
    """Find a placement that is better than the usual one, on the same places.

    It has fewer hop-bytes, or as many and fewer bytes between sockets, and no link that is more congested. Every node
    has as many ranks as before.

    Parameters
    ----------
    pattern : Pattern
    usual : Placement
        Where the launcher starts ranks.
    undirected : bool
        As for :func:`isthmus.map`.
    any_order : bool
        Whether the launcher starts ranks in any order; if not, only its nodes change places.

    Raises
    ------
    InvalidInput
        If the pattern has another number of ranks, or nodes have no route to each other.
    """
    if pattern.ranks != usual.ranks:
        raise InvalidInput(
            f"--placement mapped: the recording has {pattern.ranks} ranks, and {usual.ranks} are started: record a run "
            f"with {usual.ranks}"
        )
    before = evaluate(pattern, usual, undirected=undirected)
    new = _searched(pattern, usual, undirected) if any_order else _nodes_exchanged(pattern, usual, undirected)
    kept = "no order was found that has fewer hop-bytes"
    if new is None:
        kept = "this launcher starts ranks of a host one after the other, and they are not so"
    elif not np.array_equal(np.sort(new.node), np.sort(usual.node)):
        kept = "the hosts have different numbers of ranks"
    else:
        after = evaluate(pattern, new, undirected=undirected)
        if _better(after, before):
            return Found(new, after.hop_bytes, before.hop_bytes, _between_sockets(after), _between_sockets(before))
    sockets = _between_sockets(before)
    return Found(usual, before.hop_bytes, before.hop_bytes, sockets, sockets, kept)


def _better(after: Metrics, before: Metrics) -> bool:
    if after.maximum_congestion > before.maximum_congestion * (1 + _SAME):
        return False
    if after.hop_bytes < before.hop_bytes * (1 - _SAME):
        return True
    same = after.hop_bytes <= before.hop_bytes * (1 + _SAME)
    return same and _between_sockets(after) < _between_sockets(before) * (1 - _SAME)


def _between_sockets(metrics: Metrics) -> float:
    """Bytes within a node that leave their socket."""
    return metrics.levels.get("node", 0.0)


def _searched(pattern: Pattern, usual: Placement, undirected: bool) -> Placement:
    """Ranks on any places of the usual placement's nodes, which keep their cores."""
    most, cores = usual.ranks_per_node, usual.machine.node.cores
    job = Allocation(usual.machine, _in_order(usual), ranks_per_node=min(most, cores))
    share = most if most > cores else None
    found = map_ranks(pattern, job, seconds=_SECONDS, model=None, undirected=undirected, tasks_per_node=share).placement
    core = found.core.copy()
    for node in found.nodes:
        mine, there = np.flatnonzero(found.node == node), np.sort(usual.core[usual.node == node])
        if len(mine) == len(there):
            core[mine[np.argsort(found.core[mine], kind="stable")]] = there
    return Placement(usual.machine, found.node, core)


def _nodes_exchanged(pattern: Pattern, usual: Placement, undirected: bool) -> Placement | None:
    """Blocks of ranks on other nodes; None where the ranks of a node do not follow each other."""
    nodes = _in_order(usual)
    block = np.argsort(nodes)[np.searchsorted(np.sort(nodes), usual.node)]
    if (np.diff(block) < 0).any():
        return None
    source, target = block[pattern.sources()], block[pattern.peer]
    apart = source != target
    blocks = Pattern.of(len(nodes), source=source[apart], target=target[apart], bytes=pattern.bytes[apart])
    job = Allocation(usual.machine, nodes, ranks_per_node=1)
    found = map_ranks(blocks, job, seconds=_SECONDS, model=None, undirected=undirected).placement
    place = found.node[block]
    if (place_in_node(place) != place_in_node(usual.node)).any():
        return None
    return Placement(usual.machine, place, usual.core)


def _in_order(usual: Placement) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    """The nodes in the order of their first ranks."""
    first = np.unique(usual.node, return_index=True)[1]
    return usual.node[np.sort(first)]
