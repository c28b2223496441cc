"""Which free nodes a job gets: the table of allocation policies.

A policy sees the free places in an order of the nodes (:attr:`Policy.order`) and answers with places of that order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput
from ..units import shown

if TYPE_CHECKING:
    from ..machine import Machine

Places = NDArray[np.intp]
#: Free places, number of nodes, and the generator of random numbers to the places of the job; None: it cannot start.
Pick = Callable[[NDArray[np.bool_], int, np.random.Generator], "Places | None"]

#: Jobs of up to this share of the machine are small for the policy "by-size".
SMALL = 1 / 64


@dataclass(frozen=True)
class Policy:
    """How nodes are given to jobs.

    Attributes
    ----------
    name, words : str
    pick : callable
    curve : bool
        Whether nodes are taken in the order of a Hilbert curve through the network, instead of by their numbers.
    strict : bool
        Whether a job may have to wait although enough nodes are free.
    """

    name: str
    words: str
    pick: Pick
    curve: bool = False
    strict: bool = False

    def order(self, machine: Machine) -> NDArray[np.int64]:
        """Return the nodes of a machine in the order in which places are counted."""
        return hilbert(machine) if self.curve else np.arange(machine.nodes)


def _first(free: NDArray[np.bool_], count: int, rng: np.random.Generator) -> Places | None:
    found = np.flatnonzero(free)
    return found[:count] if len(found) >= count else None


def _random(free: NDArray[np.bool_], count: int, rng: np.random.Generator) -> Places | None:
    found = np.flatnonzero(free)
    return np.sort(rng.choice(found, count, replace=False, shuffle=False)) if len(found) >= count else None


def _by_size(free: NDArray[np.bool_], count: int, rng: np.random.Generator) -> Places | None:
    found = np.flatnonzero(free)
    if len(found) < count:
        return None
    return found[-count:] if count <= max(1, SMALL * len(free)) else found[:count]


def runs(free: NDArray[np.bool_]) -> tuple[Places, Places]:
    """Return first places and lengths of all runs of free places."""
    edges = np.flatnonzero(np.diff(free.view(np.int8), prepend=0, append=0))
    return edges[::2], edges[1::2] - edges[::2]


def _contiguous(free: NDArray[np.bool_], count: int, rng: np.random.Generator) -> Places | None:
    starts, lengths = runs(free)
    fits = np.flatnonzero(lengths >= count)
    if not len(fits):
        return None
    best = fits[np.argmin(lengths[fits])]
    return np.arange(starts[best], starts[best] + count)


POLICIES = {
    policy.name: policy
    for policy in (
        Policy("linear", "the free nodes of the lowest numbers", _first),
        Policy(
            "contiguous",
            "nodes of consecutive numbers, the shortest free run that is long enough; a job waits until there is one",
            _contiguous,
            strict=True,
        ),
        Policy(
            "curve",
            "the first free nodes along a Hilbert curve through the network; by number where it has no coordinates",
            _first,
            curve=True,
        ),
        Policy("random", "free nodes at random", _random),
        Policy(
            "by-size",
            "jobs of up to 1/64 of the machine from the highest numbers down, larger ones from the lowest up",
            _by_size,
        ),
    )
}


def policy(name: str) -> Policy:
    """Return the policy of that name; raises InvalidInput."""
    if name not in POLICIES:
        raise InvalidInput(f"policy {shown(name)}: must be one of {', '.join(POLICIES)}")
    return POLICIES[name]


def hilbert(machine: Machine) -> NDArray[np.int64]:
    """Return all nodes along a Hilbert curve; by number on networks without axes, which are numbered by hierarchy."""
    from .. import _core

    nodes = np.arange(machine.nodes, dtype=np.uint32)
    target = _core.Target(machine.topology, nodes, np.ones(machine.nodes, np.uint32))
    return _core.curve_map("hilbert", nodes.reshape(-1, 1), target).astype(np.int64)
