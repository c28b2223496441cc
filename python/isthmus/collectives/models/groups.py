"""Groups of ranks of which the first of each speaks for all."""

from __future__ import annotations

from math import ceil, sqrt
from typing import TYPE_CHECKING

import numpy as np

from .cost import Cost, Work
from .fan_in import fan_in
from .forms import form
from .rooted import up_and_down
from .rounds import Round, symmetric
from .shapes import Flat, Knomial
from .trees import busiest, down, up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .parameters import Parameters


def group_sizes(ranks: int, groups: int | Sequence[int]) -> list[int]:
    """Ranks of each group, as the option ``groups`` says."""
    given = [groups] if isinstance(groups, (int, np.integer)) else list(groups)
    if len(given) > 1:
        return [int(count) for count in np.unique(given, return_counts=True)[1]]
    size = int(given[0]) if given and given[0] else ceil(sqrt(ranks))
    whole, rest = divmod(ranks, size)
    return [size] * whole + [rest] * (rest > 0)


@form(("allreduce", "hierarchical"))
def _allreduce(
    p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str, groups: int | Sequence[int] = 0
) -> Cost:
    """Up the binomial tree of a group, log₂ of the groups exchanges of their first ranks, and down again: N. T. Karonis
    and others, Exploiting hierarchy in parallel computer networks to optimize collective operation performance, IPDPS
    2000. At least that of the largest group where groups are not equal or no power of two."""
    members = group_sizes(ranks, groups)
    largest, least, count = Knomial.whole(max(members)), Knomial.whole(min(members)), len(members)
    if count == 1:
        return up_and_down(p, largest, sizes, sizes)
    m, reduced = p.message(sizes), p.reduced(sizes)
    below, exact = up(p, largest, lambda _: sizes, reduced)
    rounds = count.bit_length() - 1
    back = down(p, least, lambda _: sizes)
    between = symmetric(p, [Round(sizes, reduced=(sizes,), count=rounds)], len(sizes))
    time = below + between.time_ps + back
    alike = largest == least and count == 1 << rounds
    # Otherwise a message of another group finds the interface still taken by one of the own group.
    free = m.gap <= m.way + m.recv + reduced
    # The first rank of a group has most to do.
    one = Work.send(m) + Work.recv(m) + Work.of(reduced)
    own = [one.times(sum(n for _, n in tree.children) + rounds) for tree in (largest, least)]
    work = Work.most([*own, busiest(largest, lambda _: one, lambda _: Work.send(m) + Work.recv(m))])
    return Cost(time, work, exact & free & alike)


@form(("alltoall", "hierarchical"))
def _alltoall(
    p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str, groups: int | Sequence[int] = 0
) -> Cost:
    """All blocks of a group to its first rank, an exchange with the first of every other group, and the blocks of every
    member to it. At least that without copies, or the time of a processor with them, where they take time."""
    members = group_sizes(ranks, groups)
    size, count = min(members), len(members)
    alike = max(members) == size
    if ranks == 1:
        return symmetric(p, [], len(sizes))
    whole, between = ranks * sizes, size * size * sizes
    m, other = p.message(whole), p.message(between)
    zero = sizes * 0
    come = fan_in([(zero + m.way, m, size - 1)], zero, zero, m.way, False) if size > 1 else zero
    out = down(p, Flat(size), lambda _: whole)
    exchange = symmetric(p, [Round(between, count=count - 1)], len(sizes))
    time = come + exchange.time_ps + out
    free = (other.gap <= other.step) & ((size == 1) | (m.gap <= m.recv + other.way) | (count == 1))
    copied = p.copied(whole)
    # Blocks of several members are put together, for each group and for each member; pieces are rounded one by one.
    put = (size * (ranks - size) if size > 1 else 0) + size * ranks - 1
    first = (Work.send(m) + Work.recv(m)).times(size - 1) + exchange.work
    pieces = Work.of(np.maximum(p.copied(put * sizes) - put, 0))
    work = Work.most([first + pieces, (Work.send(m) + Work.recv(m)).times(min(size - 1, 1))])
    return Cost(np.maximum(time, work.cpu), work, (copied == 0) & free & alike)
