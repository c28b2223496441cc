"""Collectives that a program calls: sizes, ranks and numbers of calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...lowering.marked import deciding_sizes
from ...schedule.program import CollectiveKind, EventKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...schedule.program import Program


@dataclass(frozen=True)
class Use:
    """Calls of one collective on as many ranks, of sizes up to twice each other.

    Attributes
    ----------
    collective : str
    ranks : int
        Ranks of the communicator.
    low, high : int
        Bytes of the smallest and the largest, as of :func:`isthmus.collective`.
    bytes : int
        The most frequent size.
    calls : int
        How often the collective is called, by all communicators together.
    per_rank : int
        Most calls on a rank.
    nonblocking : bool
        The calls give a request: they are nonblocking or persistent.
    comm : int
        The communicator that calls it most.
    """

    collective: str
    ranks: int
    low: int
    high: int
    bytes: int
    calls: int
    per_rank: int
    nonblocking: bool
    comm: int

    @property
    def limits(self) -> tuple[int, int | None]:
        """First and last size for which a rule for these calls holds: powers of two; None for any."""
        if self.collective == "barrier":
            return 0, None
        bits = self.low.bit_length()
        return (1 << bits - 1, (1 << bits) - 1) if bits else (0, 0)


def uses(program: Program) -> list[Use]:
    """Calls by collective, number of ranks, blocking or not, and powers of two of the size; the most calls first."""
    event = np.flatnonzero(program.kind == EventKind.collective)
    if not len(event):
        return []
    what, comm = program.what[event].astype(np.int64), program.comm[event].astype(np.int64)
    bounds = program.comm_first.astype(np.int64)
    members = bounds[1:] - bounds[:-1]
    ranks = members[comm]
    size = deciding_sizes(program, event, ranks)
    power = np.frexp(size.astype(np.float64))[1].astype(np.int64)
    asks = (program.request[event] != 0).astype(np.int64)
    caller = np.searchsorted(program.first.astype(np.int64), event, side="right") - 1
    # In one number each: power is at most 64, asks 1, ranks have 32 bits.
    keys, group = np.unique((what << 32 | ranks) << 8 | asks << 7 | power, return_inverse=True)
    order = np.argsort(group, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(group))[:-1])
    out = [
        Use(
            CollectiveKind(kind).name,
            of,
            int(size[part].min()),
            int(size[part].max()),
            _commonest(size[part]),
            -(-len(part) // of),
            int(np.bincount(caller[part]).max()),
            bool(nonblocking),
            _commonest(comm[part]),
        )
        for key, part in zip(keys.tolist(), parts, strict=True)
        for kind, of, nonblocking in [(key >> 40, key >> 8 & 0xFFFFFFFF, key >> 7 & 1)]
    ]
    return sorted(out, key=lambda use: -use.calls)


def _commonest(values: NDArray[np.int64]) -> int:
    found, number = np.unique(values, return_counts=True)
    return int(found[np.argmax(number)])
