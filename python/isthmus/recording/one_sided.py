"""Conversion of one-sided calls of one rank to events.

Puts and accumulates are puts, gets are gets, calls that do both are both. Fence, lock, flush and unlock keep their
names; MPI_Win_lock_all and MPI_Win_sync do nothing in the model. MPI_Win_post, start, complete and wait are messages
without bytes: from post to complete, which takes them before it ends, and from complete to wait. Requests (MPI_Rput)
are flushes of their target where they complete. Puts, gets and atomic operations of libisthmus are flushed by their own
call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..schedule.details import ranges
from ..schedule.program import ANY, NULL, EventKind
from . import raw

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from .emission import Emission
    from .rank_records import Steps
    from .requests import Requests

#: Tags of the messages that stand for post and complete: the largest there are, which no program uses.
_POSTED, _COMPLETED = 0x7FFFFFFF, 0x7FFFFFFE
_TO_ONE = {raw.LOCK: EventKind.lock, raw.UNLOCK: EventKind.unlock}
_TO_ONE |= dict.fromkeys((raw.FLUSH, raw.FLUSH_LOCAL), EventKind.flush)
_TO_ALL = {raw.UNLOCK_ALL: EventKind.unlock, raw.FLUSH_ALL: EventKind.flush, raw.FLUSH_LOCAL_ALL: EventKind.flush}


def emit_one_sided(
    steps: Steps,
    requests: Requests,
    out: Emission,
    calls: dict[str, NDArray[Any]],
    call_of: NDArray[np.int64],
    local: Callable[[NDArray[np.uint64]], NDArray[np.int64]],
) -> tuple[list[Any], tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]]:
    """Emits what one-sided calls become.

    Returns
    -------
    messages : list
        What stands for post and complete: event, whether it receives, index of the communicator, peer, tag, step.
    together : tuple of arrays
        Event, call and True for every fence.
    """
    item, step = steps.items[raw.RMA].item, steps.items[raw.RMA].step
    if not len(item):
        none = np.empty(0, np.int64)
        return [], (none, none, np.empty(0, np.bool_))
    comm = local(item["comm"])
    kind = item["kind"]
    call = call_of[step]
    calls["sent"][call] = item["bytes"]
    calls["received"][call] = item["fetched"]
    calls["comm"][call] = comm
    calls["peer"][call] = np.maximum(item["peer"], -1)
    here = (item["peer"] >= 0) & (item["world"] >= 0)
    peer = np.where(here, item["peer"], NULL)

    def emit(which: NDArray[np.bool_], what: Any, **columns: Any) -> Any:
        of = np.flatnonzero(which)
        chosen = {name: column[of] if isinstance(column, np.ndarray) else column for name, column in columns.items()}
        return out.add(steps.enter[step[of]], what, step[of], comm=comm[of], **chosen)

    emit(np.isin(kind, (raw.PUT, raw.ACCUMULATE)), EventKind.put, peer=peer, amount=item["bytes"])
    both = kind == raw.GET_ACCUMULATE
    emit(both & (item["bytes"] > 0), EventKind.put, peer=peer, amount=item["bytes"])
    emit((kind == raw.GET) | both, EventKind.get, peer=peer, amount=item["fetched"])
    for named, what in _TO_ONE.items():
        emit(kind == named, what, peer=peer)
    for named, what in _TO_ALL.items():
        emit(kind == named, what, peer=ANY)
    fences = kind == raw.FENCE
    fence = emit(fences, EventKind.fence)
    # Accesses of libisthmus are done, at the target too, when their call ends.
    at_once = np.flatnonzero((item["derived"] & raw.DONE_AT_ONCE != 0) & (peer != NULL))
    out.add(steps.leave[step[at_once]], EventKind.flush, step[at_once], comm=comm[at_once], peer=peer[at_once])
    _flush_requests(steps, requests, out, comm, peer)
    messages = _Exposure(steps, requests, out, comm).emit()
    return messages, (fence, call[fences], np.ones(len(fence), np.bool_))


def _flush_requests(
    steps: Steps, requests: Requests, out: Emission, comm: NDArray[np.int64], peer: NDArray[np.int64]
) -> None:
    """A flush of the target for every request of an access that completed."""
    row, form = requests.completed()
    row = row[form == raw.RMA]
    access = requests.index[requests.closes[row]]
    step = requests.done_step[row]
    out.add(steps.leave[step], EventKind.flush, step, comm=comm[access], peer=peer[access])


class _Exposure:
    """Post, start, complete and wait of windows."""

    def __init__(self, steps: Steps, requests: Requests, out: Emission, comm: NDArray[np.int64]) -> None:
        self.steps = steps
        self.item, self.step = steps.items[raw.RMA].item, steps.items[raw.RMA].step
        self.requests = requests
        self.out = out
        self.comm = comm
        self.messages: list[tuple[Any, ...]] = []

    def emit(self) -> list[tuple[Any, ...]]:
        kind = self.item["kind"]
        posts = np.flatnonzero(kind == raw.POST)
        self._send(posts, self.steps.enter[self.step[posts]], self.step[posts], _POSTED)
        begin, end = self._pairs(kind == raw.WIN_START, kind == raw.COMPLETE)
        owner, request = self._receive(begin, self.step[begin], _POSTED)
        point = self.steps.leave[self.step[end]]
        self.out.add(point[owner], EventKind.wait, self.step[end][owner], request=request)
        self.out.add(point, EventKind.flush, self.step[end], comm=self.comm[end], peer=ANY)
        self._send(begin, point, self.step[end], _COMPLETED)
        begin, end = self._pairs(kind == raw.POST, np.isin(kind, (raw.WIN_WAIT, raw.WIN_TEST)))
        owner, request = self._receive(begin, self.step[end], _COMPLETED)
        self.out.add(self.steps.leave[self.step[end]][owner], EventKind.wait, self.step[end][owner], request=request)
        return self.messages

    def _pairs(
        self, opens: NDArray[np.bool_], closes: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Begins and ends of epochs: of each window the one that ends is the one that began last."""
        of = np.flatnonzero(opens | closes)
        order = of[np.argsort(self.item["window"][of], kind="stable")]
        first, second = order[:-1], order[1:]
        pair = opens[first] & closes[second] & (self.item["window"][first] == self.item["window"][second])
        return first[pair], second[pair]

    def _group(self, of: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Ranks of the groups of these calls, one after another, and whose group each is in."""
        length = self.steps.groups_length[of]
        ranks = self.steps.groups[ranges(self.steps.groups_first[of], length)].astype(np.int64)
        return ranks, np.repeat(np.arange(len(of)), length)

    def _send(self, of: NDArray[np.int64], point: NDArray[np.int64], step: NDArray[np.int64], tag: int) -> None:
        ranks, owner = self._group(of)
        self._message(of[owner], ranks, point[owner], step[owner], tag, False)

    def _receive(
        self, of: NDArray[np.int64], step: NDArray[np.int64], tag: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        ranks, owner = self._group(of)
        return owner, self._message(of[owner], ranks, self.steps.enter[step[owner]], step[owner], tag, True)

    def _message(
        self,
        of: NDArray[np.int64],
        ranks: NDArray[np.int64],
        point: NDArray[np.int64],
        step: NDArray[np.int64],
        tag: int,
        receives: bool,
    ) -> NDArray[np.int64]:
        request = self.requests.new(len(ranks))
        kind = EventKind.irecv if receives else EventKind.isend
        # What is not in the world is no partner of a Program.
        peer = np.where(ranks >= 0, ranks, NULL)
        event = self.out.add(point, kind, step, peer=peer, tag=tag, comm=self.comm[of], request=request)
        self.messages.append((event, np.full(len(event), receives), self.comm[of], peer, tag, step))
        return request
