"""Messages of which several are under way at once: windows, blocks that go on as soon as they are there."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from .cost import Cost, Work
from .forms import form
from .one_rank import MOST, OneRank, follow
from .rounds import Round, symmetric
from .shapes import Flat
from .trees import down, up

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .parameters import Parameters


@form(("allgather", "sparbit"))
def _sparbit(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str) -> Cost:
    """Every block in a message of its own, in ⌈log₂ P⌉ rounds: W. J. Loch, G. P. Koslovski, Sparbit: a new
    logarithmic-cost and data locality-aware MPI allgather algorithm, SBAC-PAD 2021. Blocks go on as soon as they are
    there: a recurrence over the messages of a rank. On many ranks the time is at least that of the processor, or of the
    interface from the first message on."""
    m = p.message(sizes)
    others = ranks - 1
    whole = symmetric(p, [Round(sizes, count=others)], len(sizes))
    if not others:
        return whole
    taken = m.way + (others - 1) * np.maximum(m.recv_cpu, m.gap) + m.recv
    time, exact = np.maximum(whole.work.cpu, taken), np.zeros(len(sizes), bool)
    if 2 * others <= MOST:
        time, exact = follow(p, _blocks(ranks), [sizes], time)
    return Cost(time, whole.work, exact)


@lru_cache(maxsize=8)
def _blocks(ranks: int) -> OneRank:
    rank = OneRank()
    brought: dict[int, int] = {}
    held = 1
    for bit in reversed(range((ranks - 1).bit_length())):
        step = 1 << bit
        after = -(-ranks // step)
        send: list[int] = []
        recv: list[int] = []
        for i in range(after - held):
            block = 2 * i * step
            send = [rank.send(0, [brought[block]] if block in brought else [], send)]
            recv = [rank.recv(0, [], recv)]
            brought[block + step] = recv[0]
        held = after
    return rank


@form(("allreduce", "segmented_ring"))
def _ring(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str, segment: int = 0) -> Cost:
    """The ring in segments, which are sent on while the next are on their way: a recurrence over the messages of a
    rank. Where parts are not all equal, and of many segments, at least it is the time of the processor, or the way of
    the first segment twice round the ring."""
    part = sizes // ranks
    most = -(-sizes // ranks)
    if ranks == 1:
        return symmetric(p, [], len(sizes))
    count = np.maximum(-(-most // segment), 1) if segment else np.ones_like(sizes)
    whole = np.minimum(part, segment) if segment else part
    rest = part - (count - 1) * whole
    others = ranks - 1
    m, last = p.message(whole), p.message(rest)
    once = Work.send(m).times(count - 1) + Work.recv(m).times(count - 1) + Work.send(last) + Work.recv(last)
    reduced = p.reduced(whole) * (count - 1) + p.reduced(rest)
    work = once.times(2 * others) + Work.of(reduced * others)
    first = np.where(count > 1, m.step, last.step)
    time = others * (2 * first + p.reduced(np.where(count > 1, whole, rest)))
    time = np.maximum(time, work.cpu)
    # Parts of one segment are those of the ring.
    alone = [Round(part, reduced=(part,), count=others), Round(part, count=others)]
    exact = (sizes % ranks == 0) & (count == 1)
    time = np.where(exact, symmetric(p, alone, len(sizes)).time_ps, time)
    for at in np.flatnonzero((sizes % ranks == 0) & (count > 1)):
        here = slice(at, at + 1)
        if 5 * others * count[at] <= MOST:
            one = _twice_round(ranks, int(count[at]), bool(sizes[at]))
            time[here], exact[here] = follow(p, one, [whole[here], rest[here]], time[here])
    return Cost(time, work, exact)


@lru_cache(maxsize=8)
def _twice_round(ranks: int, segments: int, reduced: bool) -> OneRank:
    rank = OneRank()
    ready: list[list[int]] = [[] for _ in range(segments)]
    sums: list[int] = []
    send: list[int] = []
    recv: list[int] = []
    for step in range(2 * (ranks - 1)):
        adding = step < ranks - 1
        for s in range(segments):
            size = int(s == segments - 1)
            send = [rank.send(size, ready[s], send)]
            # Parts come back in the order in which their sums have left.
            back = [] if adding else [sums[(step - ranks + 1) * segments + s]]
            recv = [rank.recv(size, ready[s] + back, recv)]
            ready[s] = recv
            if adding:
                sums += send
                ready[s] = [rank.reduce(size, recv)] if reduced else recv
    return rank


def windowed(
    p: Parameters, count: int, sizes: NDArray[np.int64], window: int, least: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Everybody sends ``count`` messages and gets as many, of which ``window`` are under way at once: a recurrence.
    ``least`` is a time that is not gone below."""
    return follow(p, _windows(count, window), [sizes], least)


@lru_cache(maxsize=8)
def _windows(count: int, window: int) -> OneRank:
    rank = OneRank()
    for i in range(count):
        rank.recv(0, [i - window] if i >= window else [])
    for i in range(count):
        rank.send(0, [count + i - window] if i >= window else [])
    return rank


@form(("gather", "linear_sync"))
def _asked(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str, window: int = 0) -> Cost:
    """A request, and then as the linear algorithm: J. Pjesivac-Grbovic et al., Performance analysis of MPI collective
    operations, 2007. A recurrence over the messages of the root."""
    m, request = p.message(sizes), p.message(sizes * 0)
    work = _busier(ranks, Work.recv(m) + Work.send(request), Work.recv(request) + Work.send(m))
    time = up(p, Flat(ranks), lambda _: sizes, None)[0] + (request.step if ranks > 1 else 0)
    return _root(p, ranks, sizes * 0, sizes, window, np.maximum(time, work.cpu), work)


@form(("scatter", "linear_sync"))
def _answered(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str, window: int = 0) -> Cost:
    """The linear algorithm with an answer to the last message: a recurrence over the messages of the root."""
    m, answer = p.message(sizes), p.message(sizes * 0)
    work = _busier(ranks, Work.send(m) + Work.recv(answer), Work.recv(m) + Work.send(answer))
    time = down(p, Flat(ranks), lambda _: sizes) + (answer.step if ranks > 1 else 0)
    return _root(p, ranks, sizes, sizes * 0, window, np.maximum(time, work.cpu), work)


def _busier(ranks: int, root: Work, other: Work) -> Work:
    """The root's for every other rank, or that of one of them."""
    return Work.most([root.times(ranks - 1), other.times(min(ranks - 1, 1))])


def _root(
    p: Parameters, ranks: int, sent: NDArray[np.int64], taken: NDArray[np.int64], window: int, time: NDArray[np.int64],
    work: Work,
) -> Cost:  # fmt: skip
    exact = np.full(len(time), ranks == 1)
    if 1 < ranks <= MOST // 2:
        time, exact = follow(p, _asking(ranks - 1, window or ranks), [sent, taken], time)
    return Cost(time, work, exact)


@lru_cache(maxsize=8)
def _asking(count: int, window: int) -> OneRank:
    rank = OneRank(answered=True)
    for i in range(count):
        rank.send(0, [2 * (i - window) + 1] if i >= window else [])
        rank.recv(1)
    return rank
