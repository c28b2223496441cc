"""Messages in segments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .cost import Work

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .parameters import Message, Parameters


class Segments:
    """Messages in segments, for each size: how many, and the costs of the others and of the last.

    Attributes
    ----------
    count : array of int64
    whole, rest : array of int64
        Bytes of all but the last, and of the last.
    first, last : Message
    """

    def __init__(self, p: Parameters, sizes: NDArray[np.int64], segment: int) -> None:
        self.whole = sizes if segment == 0 else np.minimum(sizes, segment)
        self.count = np.maximum(-(-sizes // np.maximum(self.whole, 1)), 1)
        self.rest = sizes - (self.count - 1) * self.whole
        self.first, self.last = p.message(self.whole), p.message(self.rest)

    def work(self, one: str) -> Work:
        """Work of sending or receiving them all: ``one`` is "send" or "recv"."""
        make = Work.send if one == "send" else Work.recv
        return make(self.first).times(self.count - 1) + make(self.last)


def apart(m: Message) -> NDArray[np.int64]:
    """Picoseconds from the begin of a send to that of the next one."""
    longer: NDArray[np.int64] = np.maximum(m.send, m.gap)
    return longer
