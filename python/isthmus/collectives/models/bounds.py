"""Lower bounds: what no algorithm of a collective can do without, on a machine on which all pairs are equally far.

Terms as in E. Chan, M. Heimlich, A. Purkayastha, R. van de Geijn, Collective communication: theory, practice, and
experience, Concurrency and Computation 19(13), 2007, in the simulator's conventions: every message occupies the
processor of its receiver, a byte for max(G, O) after the first.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InvalidInput
from .parameters import Parameters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ...machine import Level


@dataclass(frozen=True)
class Bound:
    """Seconds, one entry for each size; the time of every algorithm is at least the largest.

    Attributes
    ----------
    latency : array of float
        Until all have heard of all that they have to, by messages without a byte: the optimal broadcast or summation.
    bandwidth : array of float
        Until the bytes have passed the interface that has to take most.
    computation : array of float
        Until the rank with the average of bytes sent and received and of reductions, or more, is through with them; 0
        where the average of bytes is not told (barrier, gather, scatter).
    """

    latency: NDArray[np.float64]
    bandwidth: NDArray[np.float64]
    computation: NDArray[np.float64]

    @property
    def time(self) -> NDArray[np.float64]:
        """Seconds: the largest of the three."""
        return np.maximum(np.maximum(self.latency, self.bandwidth), self.computation)

    def gap(self, seconds: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the extra time of an algorithm relative to the bound; infinite if the bound is 0."""
        infinite = np.where(np.asarray(seconds) > 0, np.inf, 0.0)
        return np.divide(np.asarray(seconds) - self.time, self.time, out=infinite, where=self.time > 0)


@dataclass(frozen=True)
class _Needs:
    """The needs of a collective of P ranks and n bytes, as multiples of n."""

    spreads: bool = False  # a rank has something that all need
    gathers: bool = False  # a rank needs something of all
    bytes: float = 0.0  # that one rank at least has to receive, or send
    average: float = 0.0  # bytes that ranks receive on average
    reduced: float = 0.0  # bytes that ranks reduce on average


def bound(
    collective: str,
    level: Level,
    *,
    ranks: int,
    sizes: Sequence[int] | NDArray[np.int64],
    reduce_rate: float = 0.0,
    lanes: int = 1,
) -> Bound:
    """Lower bounds of a collective with equal blocks.

    - Latency: R. M. Karp, A. Sahay, E. Santos, K. E. Schauser, Optimal broadcast and summation in the LogP model,
      SPAA 1993. Every rank passes on what it has as soon as it has it; a gathering is the same backwards.
    - Bandwidth: all that a rank needs has to come in, an allreduce twice (P-1)/P of the vector (P. Patarasuk, X. Yuan,
      Bandwidth optimal all-reduce algorithms for clusters of workstations, JPDC 69(2), 2009).
    - Computation: P-1 reductions of every byte, spread over all ranks, that begin when something has come; and the time
      of a processor to send and receive its share of the bytes.

    Algorithms that use puts or several CPU streams are not bounded.

    Parameters
    ----------
    collective : str
    level : Level
        LogGOPS parameters between all pairs; the least of each where pairs differ.
    ranks : int
    sizes : sequence of int
        Bytes, as of :func:`isthmus.collective`.
    reduce_rate : float
        Seconds per byte.
    lanes : int
        Interfaces of a rank that send at the same time.

    Returns
    -------
    Bound

    Raises
    ------
    InvalidInput
        For unknown collectives (neighbor_alltoall has no bound but its own messages), no ranks, negative numbers.

    Examples
    --------
    >>> import isthmus
    >>> level = isthmus.Level(L=2e-6, o_send=1e-6, o_recv=1e-6, g=1e-6, G=1e-9)
    >>> two = bound("bcast", level, ranks=2, sizes=[1, 1001]).time * 1e6
    >>> [round(float(t), 3) for t in two]
    [4.0, 5.0]
    """
    table = np.asarray(sizes, np.int64).reshape(-1)
    if ranks < 1 or (table < 0).any():
        raise InvalidInput(
            f"{ranks} ranks, sizes from {table.min(initial=0)} bytes: must be at least 1 rank and 0 bytes"
        )
    needs = _needs(collective, ranks)
    p = Parameters.of(level.least(), reduce_rate=reduce_rate)
    zero = np.zeros(len(table))
    if ranks == 1:
        return Bound(zero, zero, zero)
    some = np.ones(len(table), bool) if collective == "barrier" else table > 0
    delay = p.o_send + p.L + p.o_recv
    heard = [
        max(spreading(ranks, overhead, delay), spreading(ranks, p.g, delay, lanes))
        for overhead, wanted in ((p.o_send, needs.spreads), (p.o_recv, needs.gathers))
        if wanted
    ]
    coming = per_byte(p.o_recv, p.O_recv, p.g / lanes, p.G / lanes)
    leaving = per_byte(p.o_send, p.O, p.g / lanes, p.G / lanes)
    passing = leaving if collective == "scatter" else coming
    most = delay + np.maximum(needs.bytes * table - lanes, 0) * passing
    each = delay + np.maximum(needs.average * table - lanes, 0) * coming
    handling, reduced = min(p.O_recv, p.o_recv), needs.reduced * table * p.reduce
    each = np.maximum(each, delay + np.maximum(needs.average * table - 1, 0) * handling + reduced)
    # On average a processor sends as many bytes as it receives.
    each = np.maximum(each, needs.average * table * (handling + min(p.O, p.o_send)) + reduced)
    return Bound(
        np.where(some, max(heard), 0) * 1e-12,
        np.where(some & (needs.bytes > 0), most, 0) * 1e-12,
        np.where(some & (needs.average > 0), each, 0) * 1e-12,
    )


def _needs(collective: str, ranks: int) -> _Needs:
    others = ranks - 1
    part = others / ranks
    known = {
        "barrier": _Needs(True, True),
        "bcast": _Needs(True, False, 1, part),
        "reduce": _Needs(False, True, 1, part, part),
        "allreduce": _Needs(True, True, max(1, 2 * part), 2 * part, part),
        "gather": _Needs(False, True, others),
        "allgather": _Needs(True, True, others, others),
        "scatter": _Needs(True, False, others),
        "alltoall": _Needs(True, True, others, others),
        "reduce_scatter": _Needs(True, True, others, others, others),
        "scan": _Needs(True, True, 1, part, part),
        "exscan": _Needs(True, True, 1, part, max(ranks - 2, 0) / ranks),
    }
    if collective not in known:
        raise InvalidInput(f"bounds of {collective!r}: must be one of {', '.join(known)}")
    return known[collective]


def per_byte(overhead: float, by_processor: float, gap: float, by_interface: float) -> float:
    """The least time of processor or interface for a byte, for any division of the bytes into messages.

    The first byte of a message costs overhead and gap, the others what they cost by the byte. Both resources have to do
    with all bytes: the least over the share of first bytes of the larger of two sums that are linear in it.
    """
    ends = [max(by_processor, by_interface), max(overhead, gap)]
    slower = (overhead - by_processor) - (gap - by_interface)
    share = (by_interface - by_processor) / slower if slower else -1.0
    if 0 < share < 1:
        ends.append(by_processor + share * (overhead - by_processor))
    return min(ends)


@lru_cache(maxsize=256)
def spreading(ranks: int, apart: int, delay: int, at_once: int = 1) -> int:
    """Until the last of ``ranks`` knows what one knows at first, if all who know tell others, each ``apart`` from the
    one before and known ``delay`` later: always the one that is told earliest. ``at_once``: so many together."""
    told = [delay]  # when the next that somebody tells will know
    last = 0
    left = ranks - 1
    while left > 0:
        last = heapq.heappop(told)
        heapq.heappush(told, last + apart)
        for _ in range(min(at_once, left)):
            heapq.heappush(told, last + delay)
        left -= at_once
    return last
