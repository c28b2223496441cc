"""LogGOPS parameters in the simulator's units: whole picoseconds, picoseconds a byte."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InvalidInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...machine import Level, Piece

_FEW = 256  # sizes of messages that are kept
#: Picoseconds, one for each size.
Times = Any


@dataclass(frozen=True)
class Parameters:
    """The cost of a message and of a byte between any two ranks, rounded as in the simulator.

    Attributes
    ----------
    L, o_send, o_recv, g : int
        Picoseconds.
    G, O, copy, reduce : float
        Picoseconds per byte; those of copies and reductions are the node's memory.
    S : int
        Bytes of the largest message that is sent eagerly.
    O_recv : float
        O of the receiver.
    after, above : int
        Bytes that cost nothing by the byte, and those above which all this holds.
    pieces : tuple of Parameters
        What holds for messages of more bytes than their ``above``.
    lanes : int
        Interfaces of a rank: the simulator has one where all pairs of ranks are alike, but one within a node and one to
        others on a machine. With more than one, a message is not taken to wait for the interface.
    follow : bool
        Whether segments are followed one after the other where no closed form is known; otherwise a time that is not
        exceeded by what the simulator finds stands for them.
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
    O_recv: float
    lanes: int = 1
    after: int = 1
    above: int = 0
    pieces: tuple[Parameters, ...] = ()
    follow: bool = True

    @classmethod
    def of(
        cls, level: Level, *, copy_rate: float = 0.0, reduce_rate: float = 0.0, lanes: int = 1, follow: bool = True
    ) -> Parameters:
        """The parameters of a level of a machine; rates in seconds per byte.

        Raises
        ------
        InvalidInput
            For negative numbers.
        """
        eager = int(min(max(level.S, 0.0), 2.0**63 - 1024))

        def of(p: Piece, pieces: tuple[Parameters, ...] = ()) -> Parameters:
            numbers = (p.L, p.o_send, p.o_recv, p.g, p.G, p.O, copy_rate, reduce_rate, p.O_of_receiver)
            if not all(0 <= number < 1e6 for number in numbers):
                raise InvalidInput(f"LogGOPS parameters and rates are {numbers}: must be 0 or more")
            latency, sent, received, gap = (round(number * 1e12) for number in numbers[:4])
            by_wire, by_cpu, copied, reduced, by_receiver = (number * 1e12 for number in numbers[4:])
            rates = (copied, reduced, by_receiver)
            after, above = round(p.after), int(p.above)
            return cls(
                latency, sent, received, gap, by_wire, by_cpu, eager, *rates, lanes, after, above, pieces, follow
            )

        own, *more = level.all_pieces
        return of(own, tuple(map(of, more)))

    def message(self, sizes: Times) -> Message:
        """Return the costs of messages of this size in bytes."""
        table = np.asarray(sizes, np.int64)
        # Forms of algorithms with the same segments ask for the same messages.
        return _message(self, table.tobytes(), table.shape) if table.size <= _FEW else Message(self, table)

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
    way : array of int64
        From the begin of the send to the arrival of the first byte.
    step : array of int64
        From the begin of the send until an idle receiver has it.
    """

    def __init__(self, p: Parameters, sizes: NDArray[np.int64]) -> None:
        all_pieces = (p, *p.pieces)
        at = np.searchsorted([piece.above for piece in p.pieces], sizes) if p.pieces else 0

        def of(name: str) -> Any:
            # With one piece this is a number, which is added to all.
            return np.array([getattr(piece, name) for piece in all_pieces])[at] if p.pieces else getattr(p, name)

        paid = np.maximum(sizes - of("after"), 0)
        by_wire, by_cpu, by_receiver = (_rounded(paid * of(name)) for name in ("G", "O", "O_recv"))
        self.send = of("o_send") + by_cpu
        self.recv_cpu = of("o_recv") + by_receiver
        self.ahead = np.maximum(by_wire - by_receiver, 0)
        self.recv = self.ahead + self.recv_cpu
        self.gap = of("g") + by_wire if p.lanes == 1 else np.zeros_like(by_wire)
        self.way = np.broadcast_to(of("o_send") + of("L"), by_wire.shape)
        self.step = self.way + self.recv


@lru_cache(maxsize=1024)
def _message(p: Parameters, sizes: bytes, shape: tuple[int, ...]) -> Message:
    return Message(p, np.frombuffer(sizes, np.int64).reshape(shape))


def _rounded(times: NDArray[np.floating[Any]]) -> NDArray[np.int64]:
    whole: NDArray[np.int64] = np.floor(times + 0.5).astype(np.int64)
    return whole
