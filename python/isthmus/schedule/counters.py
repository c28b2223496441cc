"""Processor counters in a recording: what they counted in computations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from . import columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NONE = 0xFFFFFFFF
#: Names of counters of floating-point operations, and how many one count stands for.
FLOPS = {"flops": 1, "flops-by-1": 1, "flops-by-2": 2, "flops-by-4": 4, "flops-by-8": 8, "flops-by-16": 16}


@dataclass(frozen=True, eq=False, slots=True)
class Counters:
    """Sums over computations of each rank, by the calls before and after them.

    Computations that are shorter than what pays for reading counters are not counted.

    Attributes
    ----------
    names : tuple of str
        Such as ``"instructions"``, which are those in user space.
    rank : array of uint32
        One element for each pair of calls of a rank, as in the columns that follow.
    before, after : arrays of uint32
        Call paths of the Recording; all ones: the begin or the end of the rank, or not known.
    intervals : array of uint64
        How many computations were counted.
    seconds : array of float64
        Processor time of them.
    values : array of uint64, names by elements
        What was counted in them.

    Raises
    ------
    InvalidInput
        For columns that do not fit each other.
    """

    names: tuple[str, ...]
    rank: NDArray[np.uint32]
    before: NDArray[np.uint32]
    after: NDArray[np.uint32]
    intervals: NDArray[np.uint64]
    seconds: NDArray[np.float64]
    values: NDArray[np.uint64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        for name, dtype in (("rank", np.uint32), ("before", np.uint32), ("after", np.uint32), ("intervals", np.uint64)):
            object.__setattr__(self, name, columns.frozen(columns.integers(name, getattr(self, name), dtype, 0)))
        object.__setattr__(self, "seconds", columns.frozen(columns.numbers("seconds", self.seconds)))
        values = np.array(self.values, np.uint64)
        values.flags.writeable = False
        object.__setattr__(self, "values", values)
        size = len(self.rank)
        if any(len(getattr(self, name)) != size for name in ("before", "after", "intervals", "seconds")):
            raise InvalidInput("the columns of a recording's counters differ in length")
        if values.shape != (len(self.names), size):
            raise InvalidInput(f"values of counters have shape {values.shape}: must be {(len(self.names), size)}")
        if not self.names or len(set(self.names)) < len(self.names):
            raise InvalidInput("counters of a recording must have names, each a different one")

    def counted(self, name: str) -> NDArray[np.float64] | None:
        """What a counter counted in each element; None where it was not asked for."""
        return self.values[self.names.index(name)].astype(np.float64) if name in self.names else None

    def flops(self) -> NDArray[np.float64] | None:
        """Floating-point operations in each element, by all counters of them; None where there is none."""
        found = [self.counted(name) for name in FLOPS]
        known = [times * one for one, times in zip(found, FLOPS.values(), strict=True) if one is not None]
        return np.sum(known, axis=0) if known else None

    def check(self, ranks: int, paths: int) -> None:
        """Raise InvalidInput if a rank or a path does not exist."""
        if (self.rank >= ranks).any():
            raise InvalidInput(f"counters of a recording name a rank that does not exist: there are {ranks}")
        for name in ("before", "after"):
            column = getattr(self, name)
            if ((column >= paths) & (column != _NONE)).any():
                raise InvalidInput(f"{name} of counters names a path that does not exist: there are {paths}")

    def relabelled(self, to: NDArray[Any]) -> Counters:
        """Return the counters with rank r renumbered as ``to[r]``."""
        rank = np.asarray(to, np.uint32)[self.rank]
        return Counters(self.names, rank, self.before, self.after, self.intervals, self.seconds, self.values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counters):
            return NotImplemented
        same = (np.array_equal(getattr(self, name), getattr(other, name)) for name in self.__slots__[1:])
        return self.names == other.names and all(same)

    __hash__ = None  # type: ignore[assignment]
