"""Messages of a recording: the k-th send of a channel goes to its k-th receive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..schedule.program import ANY, NULL

if TYPE_CHECKING:
    from numpy.typing import NDArray


# Messages that are matched at once.
_AT_ONCE = 1 << 22


@dataclass
class Matched:
    """Result of matching.

    Attributes
    ----------
    alone : array of bool
        Messages that have no partner.
    early : int
        Messages that were received before they were sent, by the clocks.
    worst : int
        Nanoseconds by which the earliest of them was.
    """

    alone: NDArray[np.bool_]
    early: int
    worst: int


def match_halves(halves: dict[str, NDArray[Any]]) -> Matched:
    """Match the messages of all ranks, as :func:`match` does, target by target."""
    target = np.where(halves["receives"], halves["place"], halves["peer"])
    target[halves["peer"] == NULL] = NULL
    # Nobody past the last rank that has messages of its own takes any, and its number may be anything.
    alone = target > halves["place"].max(initial=-1)
    target[alone] = NULL
    early = worst = begin = 0
    many = np.cumsum(np.bincount(target[target >= 0], minlength=1))
    while begin < len(many):
        most = _AT_ONCE + (int(many[begin - 1]) if begin else 0)
        end = max(int(np.searchsorted(many, most, side="right")), begin + 1)
        index = np.flatnonzero((target >= begin) & (target < end))
        half = {name: halves[name][index] for name in ("receives", "comm", "peer", "place", "tag", "begin", "end")}
        source = np.where(half["receives"], half["peer"], half["place"])
        found = match(half["receives"], half["comm"], source, target[index], half["tag"], half["begin"], half["end"])
        alone[index] = found.alone
        early, worst, begin = early + found.early, max(worst, found.worst), end
    return Matched(alone, early, worst)


def match(
    receives: NDArray[np.bool_],
    comm: NDArray[np.int32],
    source: NDArray[np.int32],
    target: NDArray[np.int32],
    tag: NDArray[np.int32],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
) -> Matched:
    """Match sends with receives, which stand rank after rank and in the order of the program.

    Messages of one channel (communicator, source, target, tag) do not overtake each other. What is left over at the end
    of a channel has no partner in the recording: the rank of the other side was killed, or was not recorded then.

    Parameters
    ----------
    receives : array of bool
    comm, source, target, tag : arrays of int32
        The message: ``NULL`` as source or target means none, ``ANY`` as source or tag means unknown.
    begin, end : arrays of int64
        When a send began, when a receive was complete; negative: never.
    """
    left = (source != NULL) & (target != NULL)
    any_source, any_tag = receives & (source == ANY), receives & (tag == ANY)
    early = worst = 0
    # Receives that may take anything get what those leave that name what they took.
    for wild_source, wild_tag in ((False, False), (False, True), (True, False), (True, True)):
        receive = np.flatnonzero(left & receives & (any_source == wild_source) & (any_tag == wild_tag))
        if not len(receive):
            continue
        send = np.flatnonzero(left & ~receives)
        both = np.concatenate([send, receive])
        channel = _channels(comm[both], source[both] * (not wild_source), target[both], tag[both] * (not wild_tag))
        send, receive = _pairs(send, receive, channel[: len(send)], channel[len(send) :])
        left[send] = left[receive] = False
        if not (wild_source or wild_tag):
            lead = begin[send] - end[receive]
            before = (end[receive] >= 0) & (lead > 0)
            early, worst = int(before.sum()), int(lead[before].max(initial=0))
    return Matched(left, early, worst)


def _pairs(
    send: NDArray[np.int64], receive: NDArray[np.int64], sent: NDArray[np.uint64], received: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sends and receives of the same channels, in pairs."""
    order, other = np.argsort(sent, kind="stable"), np.argsort(received, kind="stable")
    sent, received = sent[order], received[other]
    return send[order[_partnered(sent, received)]], receive[other[_partnered(received, sent)]]


def _partnered(mine: NDArray[np.uint64], others: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which elements of sorted channels have one in the others: the first of each, as many as there are others."""
    place = np.arange(len(mine)) - np.searchsorted(mine, mine)
    return place < np.searchsorted(others, mine, side="right") - np.searchsorted(others, mine)


def _channels(*columns: NDArray[np.int32]) -> NDArray[np.uint64]:
    """One number for every channel, exact as long as the product of what there is of each column fits into 64 bits."""
    channel = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        low = int(column.min(initial=0))
        spread = int(column.max(initial=0)) - low + 1
        numbers = column.astype(np.int64) - low
        if spread > 1 << 20:
            different, numbers = np.unique(column, return_inverse=True)
            spread = len(different)
        with np.errstate(over="ignore"):
            channel = channel * np.uint64(spread) + numbers.astype(np.uint64)
    return channel
