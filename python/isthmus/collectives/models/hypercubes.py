"""Rounds at distances 1, 2, 4 ...: dissemination, recursive doubling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .cost import Cost, Work
from .forms import form
from .rounds import Round, symmetric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .parameters import Parameters


@form(("barrier", "dissemination"), ("barrier", "nway"))
def _barrier(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str, radix: int = 2) -> Cost:
    """⌈log₂ P⌉ (2o + L): D. Hensgen, R. Finkel, U. Manber, Two algorithms for barrier synchronization, 1988; with n
    messages a round, so that n+1 times as many are known after it: T. Hoefler et al., Fast barrier synchronization for
    InfiniBand, IPDPS 2006."""
    base = radix + 1 if algorithm == "nway" else radix
    nothing = sizes * 0
    rounds, known = [], 1
    while known < ranks:
        messages = min(base - 1, (ranks - 1) // known)
        rounds.append(Round(nothing, more=(nothing,) * (messages - 1)))
        known *= base
    return symmetric(p, rounds, len(sizes))


@form(("allgather", "dissemination"), ("allgather", "bruck"))
def _bruck(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str, radix: int = 2) -> Cost:
    """⌈log₂ P⌉ (2o + L) + (P-1) s G and copies of everything: J. Bruck et al., Efficient algorithms for all-to-all
    communications in multiport message-passing systems, 1997. Rank 0 has its blocks in place and begins before the
    others, who make a copy first: where copies take time it is that without the first one."""
    if ranks == 1:
        return symmetric(p, [], len(sizes))
    rounds = []
    step = 1
    while step < ranks:
        ways = [min(step, ranks - way) * sizes for way in range(step, min(step * radix, ranks), step)]
        rounds.append(Round(ways[0], more=tuple(ways[1:])))
        step *= radix
    # Two copies at the end, each rounded: of all ranks those of the last are taken, of whom one has nothing.
    rounds.append(Round(None, copied=(ranks - 1) * sizes))
    first = p.copied(sizes)
    found = symmetric(p, rounds, len(sizes), first == 0)
    work = found.work + Work.of(first)
    return Cost(np.maximum(found.time_ps, work.cpu), work, found.exact)


@form(("barrier", "recursive_doubling"))
def _pairs(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str) -> Cost:
    """⌈log₂ P⌉ (2o + L), and 2 (2o + L) more where P is no power of two (J. Pjesivac-Grbovic et al., Performance
    analysis of MPI collective operations, 2007)."""
    places, excess = _places(ranks)
    nothing = sizes * 0
    if not excess:
        return symmetric(p, [Round(nothing, count=places.bit_length() - 1)], len(sizes))
    m = p.message(nothing)
    ready = _unequal(excess, places, m.step, m.send, m.step)
    work = (Work.send(m) + Work.recv(m)).times(places.bit_length())
    time = np.maximum(ready.max(axis=0), ready[:excess].max(axis=0) + m.step)
    return Cost(time, work, np.zeros(len(sizes), bool))


@form(("allreduce", "recursive_doubling"))
def _allreduce(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str) -> Cost:
    """⌈log₂ P⌉ (2o + L + (s-1)G + the reduction): Thakur, Rabenseifner, Gropp 2005.

    Where P is no power of two, ranks that are left hand their part to a neighbour and get the result from it. Then some
    begin later than others, and the time is that of the longest chain of messages: processors that are busy with
    messages that come early may make it longer.
    """
    places, excess = _places(ranks)
    if not excess:
        return symmetric(p, [Round(sizes, reduced=(sizes,), count=places.bit_length() - 1)], len(sizes))
    m, reduced = p.message(sizes), p.reduced(sizes)
    ready = _unequal(excess, places, m.step + reduced, m.send + reduced, m.step + reduced)
    work = (Work.send(m) + Work.recv(m) + Work.of(reduced)).times(places.bit_length())
    time = np.maximum(ready.max(axis=0), ready[:excess].max(axis=0) + m.step)
    return Cost(time, work, np.zeros(len(sizes), bool))


@form(("allgather", "recursive_doubling"))
def _allgather(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str) -> Cost:
    """⌈log₂ P⌉ (2o + L) + (P-1) s G: Thakur, Rabenseifner, Gropp 2005; for other P as the allreduce."""
    places, excess = _places(ranks)
    if not excess:
        return symmetric(p, [Round((1 << k) * sizes) for k in range(places.bit_length() - 1)], len(sizes))
    first, last = p.message(sizes), p.message(ranks * sizes)
    place = np.arange(places)
    ready = np.where((place < excess)[:, None], first.step, np.zeros_like(first.step))
    work = Work.recv(first)
    for k in range(places.bit_length() - 1):
        begin = place >> k << k
        blocks = (1 << k) + np.clip(excess - begin, 0, 1 << k)
        m = p.message(blocks[:, None] * sizes)
        ready = np.maximum(ready + m.send, ready[place ^ 1 << k] + m.step[place ^ 1 << k])
        # The place that is counted is 0: nobody has more in any round.
        mine, theirs = p.message(blocks[0] * sizes), p.message(blocks[1 << k] * sizes)
        work = work + Work.send(mine) + Work.recv(theirs)
    time = np.maximum(ready.max(axis=0), ready[:excess].max(axis=0) + last.step)
    return Cost(time, work + Work.send(last), np.zeros(len(sizes), bool))


@form(("scan", "recursive_doubling"))
def _scan(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str) -> Cost:
    """⌈log₂ P⌉ (2o + L + (s-1)G) and two reductions in every round: of the result and of what is passed on.

    A power of two of ranks ends with the last one, which gets something from below in every round, always from a rank
    that is as far as itself. For other P it is the time of the ranks up to the largest one.
    """
    places, excess = _places(ranks)
    rounds = [Round(sizes, reduced=(sizes, sizes), count=places.bit_length() - 1)]
    if ranks > 1:
        rounds.insert(0, Round(None, copied=sizes))
    return symmetric(p, rounds, len(sizes), excess == 0)


@form(("exscan", "recursive_doubling"))
def _exscan(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str) -> Cost:
    """Like the scan; the first vector is copied, as there is nothing yet to reduce it with."""
    places, excess = _places(ranks)
    rounds = [Round(None, copied=sizes), Round(sizes, reduced=(sizes,), copied=sizes)] if ranks > 1 else []
    if places > 2:
        rounds.append(Round(sizes, reduced=(sizes, sizes), count=places.bit_length() - 2))
    return symmetric(p, rounds, len(sizes), excess == 0)


def _places(ranks: int) -> tuple[int, int]:
    places = 1 << (ranks.bit_length() - 1)
    return places, ranks - places


def _unequal(
    excess: int, places: int, late: NDArray[np.int64], least: NDArray[np.int64], chain: NDArray[np.int64]
) -> NDArray[np.int64]:
    """When places are through with all exchanges, of which the first ``excess`` begin late: each after it has done its
    own ``least`` and what its partner's message takes from its begin on (``chain``)."""
    place = np.arange(places)
    ready = np.where((place < excess)[:, None], late, np.zeros_like(late))
    bit = 1
    while bit < places:
        ready = np.maximum(ready + least, ready[place ^ bit] + chain)
        bit *= 2
    return ready
