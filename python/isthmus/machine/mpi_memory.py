"""Memory that an MPI library takes of a rank: some of its own, and some for each rank that it has been in contact with.

Connections, receive queues of each peer and tables of ranks grow with the number of ranks; buffers that all peers share
do not. ``isthmus measure`` fits both numbers to ranks that have been in contact with all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import InvalidInput
from ..units import shown

if TYPE_CHECKING:
    from .machine import Machine

#: What openib of Open MPI posts again beyond the buffers of a peer's queue by default: credits, as many as windows of
#: credits go into twice the buffers.
_CREDITS = 2


@dataclass(frozen=True)
class MpiMemory:
    """Memory of MPI in each rank: ``per_process + per_peer * peers``, bytes.

    Attributes
    ----------
    per_process, per_peer : float
    low, high : (float, float)
        The same two at the ends of their intervals (95 %).
    measured : int
        Most ranks that this was measured with; beyond, it is extrapolated.
    """

    per_process: float
    per_peer: float
    low: tuple[float, float]
    high: tuple[float, float]
    measured: int

    def of(self, ranks: int, peers: int | None = None) -> float:
        """Return the memory of a rank, bytes.

        Parameters
        ----------
        ranks : int
            Of the program, from 1.
        peers : int, optional
            Ranks that a rank is in contact with, by default all others. As libraries connect at first contact, those
            that it never talks to count for nothing.
        """
        return self.per_process + self.per_peer * (ranks - 1 if peers is None else min(peers, ranks - 1))

    def share(self, ranks: int, memory: float) -> float:
        """Return the part of the memory of a rank that MPI takes when all ranks are in contact."""
        return self.of(ranks) / memory


def mpi_memory(machine: Machine) -> MpiMemory | None:
    """Return the memory of MPI as measured on the machine; None where that was not measured.

    Taken is the memory after contact with all others beyond that before ``MPI_Init``.
    """
    curves = {str(c.parameters.get("what")): c for c in machine.curves.values() if c.kind == "memory"}
    after = curves.get("contacted")
    if after is None or not {"per_process", "per_peer"} <= after.fitted.keys():
        return None
    own, peer = after.fitted["per_process"], after.fitted["per_peer"]
    before = curves.get("before")
    # The program itself: as much before MPI_Init as without MPI, whatever the number of ranks.
    without = min(before.y) if before is not None and len(before.y) else 0.0
    rest = [max(value - without, 0.0) for value in own]
    each = [max(value, 0.0) for value in peer]
    return MpiMemory(rest[0], each[0], (rest[1], each[1]), (rest[2], each[2]), int(max(after.x, default=1)))


def receive_queues(text: str) -> tuple[float, float]:
    """Return the bytes of receive buffers of a rank, and those for each of its peers, of queues in Open MPI's words.

    Parameters
    ----------
    text : str
        As ``btl_openib_receive_queues`` takes them: queues with colons between them, each with its kind (P of each
        peer, S shared by all peers, X shared by connections of a node), size and number of its buffers, and what
        follows, with commas between them.

    Raises
    ------
    InvalidInput
        If it is none.

    Examples
    --------
    >>> receive_queues("P,128,256,192,128:S,65536,256,128,32")
    (16777216.0, 33152.0)
    """
    shared, each = 0.0, 0.0
    for number, queue in enumerate(text.split(":"), 1):
        kind, *numbers = queue.split(",")
        if kind not in ("P", "S", "X") or len(numbers) < 2 or not all(n.isdigit() and int(n) > 0 for n in numbers):
            raise InvalidInput(
                f"receive queues {shown(text)}, queue {number}: must be P, S or X with the size and the number of "
                "buffers, such as S,65536,256"
            )
        size, buffers = int(numbers[0]), int(numbers[1])
        if kind == "P":
            window = int(numbers[3]) if len(numbers) > 3 else max(buffers // 2, 1)
            reserved = int(numbers[4]) if len(numbers) > 4 else (_CREDITS * buffers - 1) // window
            each += size * (buffers + reserved)
        else:
            shared += size * buffers
    return shared, each
