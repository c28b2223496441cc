"""The critical path by parts of time: seconds of each part, and step by step for grouping."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...schedule.schedule import OpKind
from ...simulation.simulate import located

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...machine import Allocation, Machine
    from ...machine.placement import Placement
    from ...simulation.critical import CriticalPath
    from ...simulation.timeline import Timeline

#: How time passes on the critical path, where nobody waits.
PATH_CLASSES = ("compute", "overhead", "latency", "bandwidth", "contention", "noise")
_COMPUTE, _OVERHEAD, _LATENCY, _BANDWIDTH, _CONTENTION, _NOISE = range(len(PATH_CLASSES))


@dataclass(frozen=True, eq=False)
class PathSteps:
    """The critical path as columns, one element per step.

    Attributes
    ----------
    time : array of float64, shape (steps, 6)
        Seconds by PATH_CLASSES; all of them together are the makespan.
    op : array of int64
        Operation: a computation, or the send, put or get of a message.
    rank : array of int64
        Where the time passes; on the wire: the sender.
    sender, receiver : array of int64
        Those of the step's message; -1 for a computation.
    bytes : array of int64
        Those of the step's message; -1 for a computation.
    arriving : array of bool
        The message is on its way, or at its receiver: the receiver's call is what lasts.
    """

    time: NDArray[np.float64]
    op: NDArray[np.int64]
    rank: NDArray[np.int64]
    sender: NDArray[np.int64]
    receiver: NDArray[np.int64]
    bytes: NDArray[np.int64]
    arriving: NDArray[np.bool_]

    def by_rank(self, ranks: int) -> NDArray[np.float64]:
        """Seconds on every rank, and of these in its own computation, shape (ranks, 2)."""
        own = np.where(self.sender < 0, self.time[:, _COMPUTE], 0.0)
        columns = (self.time.sum(axis=1), own)
        return np.stack([np.bincount(self.rank, weights=one, minlength=ranks) for one in columns], axis=1)


class Parameters:
    """The level between two ranks and the cost of receiving there, in picoseconds."""

    def __init__(self, machine: Machine, placement: Allocation | Placement, ranks: int) -> None:
        where = located(ranks, machine, placement)
        self._node, self._socket = where.node, where.socket
        levels = (machine.level.socket, machine.level.node, machine.level.network)
        self._levels = levels

    def level(self, sender: NDArray[np.int64], receiver: NDArray[np.int64]) -> NDArray[np.int64]:
        """0: on one socket, 1: on one node, 2: between nodes."""
        same_node = self._node[sender] == self._node[receiver]
        same_socket = self._socket[sender] == self._socket[receiver]
        out: NDArray[np.int64] = np.where(same_node, np.where(same_socket, 0, 1), 2)
        return out

    def handling(
        self, sender: NDArray[np.int64], receiver: NDArray[np.int64], size: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """o and O of receiving a message."""
        at = self.level(sender, receiver)
        out = np.zeros(len(at), np.int64)
        for number, level in enumerate(self._levels):
            chosen = np.flatnonzero(at == number)
            pieces = level.all_pieces
            piece = np.searchsorted([p.above for p in level.pieces], size[chosen])
            overhead = np.array([round(p.o_recv * 1e12) for p in pieces])[piece]
            rate, after = np.array([(p.O_of_receiver * 1e12, p.after) for p in pieces])[piece].T
            out[chosen] = overhead + np.rint(np.maximum(size[chosen] - after, 0) * rate).astype(np.int64)
        return out


def path_steps(timeline: Timeline, path: CriticalPath, parameters: Parameters) -> PathSteps:
    """Divide every step of the critical path among PATH_CLASSES.

    Overhead is o and O, latency L with the distance, bandwidth g and G: what an interface is busy for, and the bytes of
    a message that its receiver handles as they come in; contention what it loses to others in the network.
    """
    op = path.op.astype(np.int64)
    rank = path.rank.astype(np.int64)
    ops = timeline.schedule.ops[op]
    message = np.isin(ops["kind"], (OpKind.send, OpKind.put, OpKind.get))
    first = timeline.schedule.op_first.view(np.int64)
    owner = np.searchsorted(first, op, side="right") - 1
    other = ops["peer"].astype(np.int64)
    fetched = ops["kind"] == OpKind.get
    sender = np.where(message, np.where(fetched, other, owner), -1)
    receiver = np.where(message, np.where(fetched, owner, other), -1)
    size = np.where(message, ops["amount"].astype(np.int64), -1)
    latency, noise, lost = path.latency_ps, path.noise_ps, path.lost_ps
    rest = path.end_ps - path.begin_ps - latency - noise - lost
    time = np.zeros((len(op), len(PATH_CLASSES)), np.int64)
    time[:, _LATENCY], time[:, _CONTENTION], time[:, _NOISE] = latency, lost, noise
    for via, share in (
        ("compute", _COMPUTE), ("send_overhead", _OVERHEAD), ("wire", _OVERHEAD), ("way", _LATENCY),
        ("gap", _BANDWIDTH), ("landing", _BANDWIDTH), ("contention", _BANDWIDTH), ("nothing", _LATENCY),
    ):  # fmt: skip
        chosen = path.via == via
        time[chosen, share] += rest[chosen]
    handled = np.flatnonzero(path.via == "recv_overhead")
    own = np.minimum(parameters.handling(sender[handled], receiver[handled], size[handled]), rest[handled])
    time[handled, _OVERHEAD] += own
    time[handled, _BANDWIDTH] += rest[handled] - own
    under_way = ("wire", "way", "landing", "contention", "recv_overhead")
    arriving = np.isin(path.via, under_way) | ((path.via == "gap") & (rank != owner))
    return PathSteps(time / 1e12, op, rank, sender, receiver, size, arriving & message)
