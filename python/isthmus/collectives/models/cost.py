"""The result of a closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from .parameters import Message


@dataclass(frozen=True)
class Work:
    """The work of a rank's processor in picoseconds, one entry for each size.

    Attributes
    ----------
    cpu : array of int64
        Overheads of messages, bytes that the processor moves (O), reductions and copies.
    """

    cpu: NDArray[np.int64]

    def __add__(self, other: Work) -> Work:
        return Work(self.cpu + other.cpu)

    def times(self, count: int | NDArray[np.int64]) -> Work:
        """Return a multiple of this work."""
        return Work(self.cpu * count)

    @classmethod
    def none(cls, sizes: int) -> Work:
        """Return no work, for this number of sizes."""
        return cls(np.zeros(sizes, np.int64))

    @classmethod
    def send(cls, m: Message) -> Work:
        """Return the work of sending one message."""
        return cls(m.send)

    @classmethod
    def recv(cls, m: Message) -> Work:
        """Return the work of receiving one message."""
        return cls(m.recv_cpu)

    @classmethod
    def of(cls, picoseconds: NDArray[np.int64]) -> Work:
        """Return the work of a reduction or a copy."""
        return cls(picoseconds)

    @classmethod
    def most(cls, several: Iterable[Work]) -> Work:
        """Return the maximum of each number."""
        return cls(np.maximum.reduce([w.cpu for w in several]))


@dataclass(frozen=True)
class Cost:
    """Costs of a collective, one entry for each size.

    Attributes
    ----------
    time_ps : array of int64
        Until the last rank is done, in picoseconds.
    work : Work
        Work of the rank whose processor has most to do.
    exact : array of bool
        Whether the simulator finds the same; otherwise time and work are such that it does not go below them.
    """

    time_ps: NDArray[np.int64]
    work: Work
    exact: NDArray[np.bool_]

    @property
    def time(self) -> NDArray[np.float64]:
        """Seconds until the last rank is done."""
        return np.asarray(self.time_ps * 1e-12)

    @property
    def cpu(self) -> NDArray[np.float64]:
        """Seconds of the busiest processor (t_CPU of Hoefler and Lumsdaine)."""
        return np.asarray(self.work.cpu * 1e-12)

    @property
    def net(self) -> NDArray[np.float64]:
        """Seconds in which even the busiest processor could compute (t_NET)."""
        return np.maximum(self.time - self.cpu, 0.0)

    @property
    def free(self) -> NDArray[np.float64]:
        """Share of the time that is left on the busiest processor, 0 to 1; 0 where nothing takes time."""
        return np.divide(self.net, self.time, out=np.zeros_like(self.time), where=self.time > 0)
