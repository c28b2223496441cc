"""A rank that takes messages of others, and does nothing else."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .parameters import Message


def fan_in(
    runs: list[tuple[NDArray[np.int64], Message, int]],
    reduced: NDArray[np.int64],
    begin: NDArray[np.int64],
    way: NDArray[np.int64],
    ordered: bool,
    asked: NDArray[np.bool_] | None = None,
) -> NDArray[np.int64]:
    """When it has taken them all, each with a reduction after it; picoseconds, one entry for each size.

    Parameters
    ----------
    runs : list of (array of int64, Message, int)
        Arrivals, messages and how many of them are equal, in the order in which they are received.
    reduced : array of int64
        Picoseconds of a reduction.
    begin : array of int64
        When the rank's processor is free.
    way : array of int64
        From the begin of a send to its arrival.
    ordered : bool
        Whether a receive waits for the reduction of the one before.
    asked : array of bool, optional
        Where that is so and messages begin when their receives have been posted (rendezvous); by default nowhere.
    """
    # Where messages come in the order in which they are received, it does not matter for the end which of the work that
    # is there goes first: the processor never waits while there is some.
    early = np.zeros(len(reduced), bool)
    for (before, _, _), (after, _, _) in pairwise(runs):
        early |= after < before
    cpu, interface = begin.copy(), np.zeros_like(reduced)
    for arrival, m, count in runs:
        come = np.maximum(arrival, interface)
        each = m.recv_cpu + reduced
        last = np.maximum(cpu + each * (count - 1), come + m.ahead + np.maximum(m.gap, each) * (count - 1))
        cpu, interface = last + each, come + m.gap * count
    if asked is not None and asked.any():
        cpu = np.where(asked, _asked(runs, reduced, begin, way), cpu)
        early &= ~asked
    for at in np.flatnonzero(early):
        messages = [
            (int(arrival[at]), int(m.ahead[at]), int(m.recv_cpu[at]), int(m.gap[at]))
            for arrival, m, count in runs
            for _ in range(count)
        ]
        if ordered:
            cpu[at] = _one_by_one(messages, int(reduced[at]), int(begin[at]), int(way[at]))
        else:
            cpu[at] = _as_they_come(messages, int(begin[at]))
    return cpu


def _asked(
    runs: list[tuple[NDArray[np.int64], Message, int]],
    reduced: NDArray[np.int64],
    begin: NDArray[np.int64],
    way: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Begin of messages that start when they are ready and their receive has been posted; the first starts at once."""
    cpu, posted, interface = begin.copy(), np.zeros_like(reduced), np.zeros_like(reduced)
    for arrival, m, count in runs:
        come = np.maximum(np.maximum(arrival, posted + way), interface)
        cpu = np.maximum(come + m.ahead, cpu) + m.recv_cpu + reduced
        # The others are ready: each is asked for when the one before has been reduced.
        if count > 1:
            come = np.maximum(cpu + way, come + m.gap)
            cpu = come + m.recv + reduced
            cpu = cpu + (count - 2) * np.maximum(way + m.recv + reduced, m.gap)
            come = cpu - m.recv - reduced
        posted, interface = cpu, come + m.gap
    return cpu


def _as_they_come(messages: list[tuple[int, int, int, int]], cpu: int) -> int:
    interface = 0
    for arrival, ahead, recv, gap in sorted(messages, key=lambda m: m[0]):
        come = max(arrival, interface)
        cpu, interface = max(come + ahead, cpu) + recv, come + gap
    return cpu


def _one_by_one(messages: list[tuple[int, int, int, int]], reduced: int, cpu: int, way: int) -> int:
    """Messages that arrive before one that is received earlier: work is done in the order in which it is found."""
    waiting = sorted(range(len(messages)), key=lambda i: messages[i][0])
    handled = [False] * len(messages)
    landed = [0] * len(messages)
    interface = 0
    for i in waiting:
        arrival, ahead, _, gap = messages[i]
        come = max(arrival, interface)
        landed[i], interface = come + ahead, come + gap
    turn = 0  # of the receive that is posted
    found = -1  # when its reduction was found out; -1: it has not been yet
    while turn < len(messages):
        if found < 0 and handled[turn]:
            found = cpu
        begin = max(landed[waiting[0]], cpu) if waiting else -1
        if found >= 0 and (not waiting or (cpu, found) < (begin, messages[waiting[0]][0] - way)):
            cpu += reduced
            found = -1
            turn += 1
            continue
        message = waiting.pop(0)
        handled[message] = True
        cpu = begin + messages[message][2]
        if message == turn:
            found = begin
    return cpu
