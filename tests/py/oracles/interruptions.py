"""Operating system noise: what a list of interruptions does to a piece of work, one interruption after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count

Interruptions = Iterator[tuple[int, int]]  # begin and end of each


def periodic(start: int, phase: int, period: int, duration: int) -> Interruptions:
    """Of one CPU stream, those that may end after `start`."""
    for k in count(max(0, start // period - 2)):
        yield phase + k * period, phase + k * period + duration


def trace(entry: int, starts: list[int], durations: list[int], length: int) -> Interruptions:
    """The trace over and over, from `entry` into it on."""
    for turn in count():
        for start, duration in zip(starts, durations, strict=True):
            begin = start + turn * length - entry
            if begin >= 0:
                yield begin, begin + duration


def lost(interruptions: Iterable[tuple[int, int]], start: int, work: int) -> int:
    """Time that interruptions add to work: each that begins or lasts before the work, so prolonged, has ended."""
    end = start + work
    for begin, over in interruptions:
        if over <= start:
            continue
        if begin >= end:
            break
        end += over - max(begin, start)
    return end - start - work


def noise(streams: dict[tuple[int, int], Callable[[int], Interruptions]]) -> Callable[[int, int, int, int], int]:
    """For loggops.Simulation: interruptions of each (rank, CPU stream) from a time on."""
    return lambda rank, cpu, start, work: lost(streams[rank, cpu](start), start, work)
