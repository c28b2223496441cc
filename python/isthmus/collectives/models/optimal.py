"""The tree that is best for messages without bytes, whatever is sent along it."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from .forms import form
from .rooted import broadcast, reduction
from .shapes import Groups, grouped

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .cost import Cost
    from .parameters import Parameters


@dataclass(frozen=True, eq=False)
class Grown:
    """A subtree of any shape: those that look alike are one."""

    ranks: int
    children: Groups

    @property
    def taken(self) -> Groups:
        """The other way round."""
        return self.children[::-1]


@lru_cache(maxsize=32)
def logp_tree(ranks: int, latency: int, overhead: int, gap: int) -> Grown:
    """Whoever can reach a new place first sends to it; times in picoseconds."""
    senders = [(0, 0)]  # when it can send next, place
    below: list[list[int]] = [[] for _ in range(ranks)]
    for place in range(1, ranks):
        time, sender = senders[0]
        below[sender].append(place)
        heapq.heapreplace(senders, (time + max(gap, overhead), sender))
        heapq.heappush(senders, (time + latency + 2 * overhead, place))
    known: dict[Groups, Grown] = {}
    shapes: dict[int, Grown] = {}
    for place in reversed(range(ranks)):
        children = grouped(shapes[child] for child in below[place])
        total = 1 + sum(child.ranks * count for child, count in children)
        shapes[place] = known.setdefault(children, Grown(total, children))
    return shapes[0]


def _picoseconds(*seconds: float) -> tuple[int, ...]:
    return tuple(round(one * 1e12) for one in seconds)


@form(("bcast", "optimal"))
def _bcast(
    p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str, latency: float = 1e-6,
    overhead: float = 0.5e-6, gap: float = 0.5e-6, segment: int = 0,
) -> Cost:  # fmt: skip
    """Along the tree of R. M. Karp, A. Sahay, E. Santos, K. E. Schauser, Optimal broadcast and summation in the LogP
    model, SPAA 1993."""
    return broadcast(p, logp_tree(ranks, *_picoseconds(latency, overhead, gap)), sizes, segment)


@form(("reduce", "optimal"))
def _reduce(
    p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str, latency: float = 1e-6,
    overhead: float = 0.5e-6, gap: float = 0.5e-6, segment: int = 0, window: int = 0,
) -> Cost:  # fmt: skip
    """The tree upwards."""
    return reduction(p, logp_tree(ranks, *_picoseconds(latency, overhead, gap)), sizes, segment, window, orderly=False)
