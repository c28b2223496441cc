"""LogGOPS parameters in the simulator's units: whole picoseconds, picoseconds a byte."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InvalidInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...machine import Level

#: Picoseconds, one for each size.
Times = Any


@dataclass(frozen=True)
class Parameters:
    """What a message and a byte cost between any two ranks, rounded as the simulator rounds them.

    Attributes
    ----------
    L, o_send, o_recv, g : int
        Picoseconds.
    G, O, copy, reduce : float
        Picoseconds per byte; those of copies and reductions are the node's memory.
    S : int
        Bytes of the largest message that is sent eagerly.
    lanes : int
        Interfaces of a rank: the simulator has one where all pairs of ranks are alike, but one within a node and one to
        others on a machine. With more than one, a message is not taken to wait for the interface.
    """

    L: int
    o_send: int
    o_recv: int
    g: int
    G: float
    O: float  # noqa: E741 - the literature's name
    S: int
    copy: float
    reduce: float
    lanes: int = 1

    @classmethod
    def of(cls, level: Level, *, copy_rate: float = 0.0, reduce_rate: float = 0.0, lanes: int = 1) -> Parameters:
        """Those of a level of a machine; rates in seconds per byte.

        Raises
        ------
        InvalidInput
            For negative numbers.
        """
        numbers = (level.L, level.o_send, level.o_recv, level.g, level.G, level.O, copy_rate, reduce_rate)
        if not all(0 <= number < 1e6 for number in numbers):
            raise InvalidInput(f"LogGOPS parameters and rates are {numbers}: numbers from 0 are allowed")
        latency, sent, received, gap = (round(number * 1e12) for number in numbers[:4])
        by_wire, by_cpu, copied, reduced = (number * 1e12 for number in numbers[4:])
        eager = int(min(max(level.S, 0.0), 2.0**63 - 1024))
        return cls(latency, sent, received, gap, by_wire, by_cpu, eager, copied, reduced, lanes)

    def message(self, sizes: Times) -> Message:
        """Return the costs of messages of this size in bytes."""
        return Message(self, np.asarray(sizes, np.int64))

    def reduced(self, sizes: Times) -> NDArray[np.int64]:
        """Return the time to reduce this number of bytes, picoseconds."""
        return _rounded(np.asarray(sizes, np.int64) * self.reduce)

    def copied(self, sizes: Times) -> NDArray[np.int64]:
        """Return the time to copy this number of bytes, picoseconds."""
        return _rounded(np.asarray(sizes, np.int64) * self.copy)


class Message:
    """Messages of some sizes: for how long they take what.

    Attributes
    ----------
    send, recv_cpu : array of int64
        Picoseconds that the sender's, the receiver's processor is taken.
    ahead : array of int64
        From the arrival of the first byte at an idle interface until the receiver's processor is.
    recv : array of int64
        Both together: until an idle receiver has the message.
    gap : array of int64
        Picoseconds that an interface is taken.
    way : int
        From the begin of the send to the arrival of the first byte.
    step : array of int64
        From the begin of the send until an idle receiver has it.
    """

    def __init__(self, p: Parameters, sizes: NDArray[np.int64]) -> None:
        after_first = np.maximum(sizes - 1, 0)
        by_wire, by_cpu = _rounded(after_first * p.G), _rounded(after_first * p.O)
        self.send = p.o_send + by_cpu
        self.recv_cpu = p.o_recv + by_cpu
        self.ahead = np.maximum(by_wire - by_cpu, 0)
        self.recv = self.ahead + self.recv_cpu
        self.gap = p.g + by_wire if p.lanes == 1 else np.zeros_like(by_wire)
        self.way = p.o_send + p.L
        self.step = self.way + self.recv


def _rounded(times: NDArray[np.floating[Any]]) -> NDArray[np.int64]:
    whole: NDArray[np.int64] = np.floor(times + 0.5).astype(np.int64)
    return whole
