"""Estimates of the number of operations of a schedule, without making it."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .choice import Choice

_FEW = 64  # ranks of schedules that are made to count
_SEGMENTS = 8  # of messages in them
_BYTES = 1 << 20  # of messages whose size makes no difference


def operations(collective: str, choice: Choice, ranks: int, size: int) -> float:
    """Estimate the number of operations of a collective by extrapolation from schedules on 64 and 128 ranks.

    Examples
    --------
    >>> from isthmus.tuning.choice import Choice
    >>> round(operations("allgather", Choice("ring"), 1024, 8)) == 2 * 1024 * 1023
    True
    """
    segment = choice.options.get("segment", 0)
    if not isinstance(segment, int) or not 0 < segment < size:
        whole = choice.replace(segment=0) if "segment" in choice.options else choice
        return _continued(collective, whole, ranks, min(size, 1) * _BYTES)
    if choice.name == "segmented_ring":
        segment *= ranks  # of every rank's part
    count = -(-size // segment)
    few = min(count, _SEGMENTS)
    # More segments are as much more of the same, but not less than without any.
    found = _continued(collective, choice, ranks, few * segment) * count / few
    return max(found, _continued(collective, choice.replace(segment=0), ranks, _BYTES))


@lru_cache(maxsize=65536)
def _continued(collective: str, choice: Choice, ranks: int, size: int) -> float:
    if ranks <= 2 * _FEW:
        return _counted(collective, choice, ranks, size)
    shared = choice.name == "segmented_ring"  # parts of as many bytes have as many segments
    few, more = (_counted(collective, choice, p, size * p // ranks if shared else size) for p in (_FEW, 2 * _FEW))
    # P (a P + b) with both numbers, or P (a log P + b): the first where it grows faster than the second could.
    one, two = few / _FEW, more / (2 * _FEW)
    if two > 1.5 * one:
        slope = (two - one) / _FEW
        return ranks * (one + slope * (ranks - _FEW))
    return ranks * (one + max(two - one, 0.0) * math.log2(ranks / _FEW))


def _counted(collective: str, choice: Choice, ranks: int, size: int) -> int:
    from ..collectives import collective as schedule

    options = dict(choice.options)
    # Extents and groups belong to one number of ranks.
    if "dims" in options:
        options["dims"] = _alike(ranks, len(options["dims"]) if isinstance(options["dims"], tuple) else 2)
    if isinstance(options.get("groups"), int):
        options["groups"] = min(options["groups"], ranks)
    algorithm = (choice.name, options) if options else choice.name
    return len(schedule(collective, ranks=ranks, bytes=size, algorithm=algorithm))


def _alike(ranks: int, axes: int) -> tuple[int, ...]:
    extents, left = [], ranks
    for axis in range(axes, 1, -1):
        side = max(round(left ** (1 / axis)), 1)
        extent = max(f for f in range(1, side + 1) if left % f == 0)
        extents.append(extent)
        left //= extent
    return (*extents, left)
