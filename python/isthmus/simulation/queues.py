"""Queues of MPI in a simulation: messages that come before their receives, receives that wait, and receive buffers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..machine import Level, Machine
from ..schedule.schedule import OpKind
from .activity import need_ops
from .simulate import located

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike, NDArray

    from ..machine import Allocation
    from ..machine.placement import Placement
    from .timeline import Timeline


@dataclass(frozen=True, eq=False)
class Queues:
    """What MPI keeps for each rank: arrays with an entry for every rank.

    Attributes
    ----------
    unexpected_most, unexpected_mean : array
        Messages that have come and whose receive is not posted: the largest number at a time, and the mean over the
        run. Of a message by rendezvous, its request counts.
    held_most, held_mean : array
        Bytes of the eager ones of these, which the library has to keep.
    posted_most, posted_mean : array
        Receives that are posted and whose message has not been handled.
    buffered_most : array of int64
        Messages from other nodes that have come and that the processor has not handled: how many receive buffers a
        queue that all senders share must have.
    buffered_by_peer : array of int64
        The same of the sender of which most are kept: how many a queue for each peer must have.
    peers : array of int64
        Ranks on other nodes from which the rank receives, or to which it sends.
    messages, unexpected : int
        Messages that were received, and those that came before their receive.
    """

    unexpected_most: NDArray[np.int64]
    unexpected_mean: NDArray[np.float64]
    held_most: NDArray[np.int64]
    held_mean: NDArray[np.float64]
    posted_most: NDArray[np.int64]
    posted_mean: NDArray[np.float64]
    buffered_most: NDArray[np.int64]
    buffered_by_peer: NDArray[np.int64]
    peers: NDArray[np.int64]
    messages: int
    unexpected: int


def queues(timeline: Timeline, placement: Allocation | Placement | ArrayLike | None = None) -> Queues:
    """Return the queues of every rank over a simulation with ``record="ops"``.

    A message has come when its last byte is at its receiver, whether the processor looks or not. Where messages share
    links, or a node has several interfaces, what they wait for at the receiver's interface is not known, and they count
    from a little earlier on.

    Parameters
    ----------
    timeline : Timeline
        A simulation, of messages alone; puts and gets are in no queue.
    placement : Allocation, Placement or array of int, optional
        That of the simulation.

    Examples
    --------
    >>> import isthmus
    >>> level = isthmus.Level(L=1e-6, o_send=1e-6, o_recv=1e-6, g=1e-6, G=1e-9)
    >>> b = isthmus.ProgramBuilder(2)
    >>> for _ in range(5):
    ...     b.send(0, 1, 1000)
    >>> b.compute(1, 1e-3)
    >>> for _ in range(5):
    ...     b.recv(1, 0, 1000)
    >>> found = queues(isthmus.simulate(b.build(), level, record="ops"))
    >>> found.unexpected_most.tolist(), found.held_most.tolist()
    ([0, 5], [0, 5000])
    """
    need_ops(timeline, "queues of messages")
    ranks, ops = timeline.ranks, timeline.schedule.ops
    send = np.flatnonzero((ops["kind"] == OpKind.send) & (timeline.handled_ps >= 0))
    where = _Where(timeline.machine, placement, ranks)
    owner = timeline.schedule.op_first.view(np.int64)
    sender = np.searchsorted(owner, send, side="right") - 1
    receiver = ops["peer"][send].astype(np.int64)
    level = where.level(sender, receiver)
    come, eager = where.come(timeline, send, sender, receiver, level)
    partner = timeline.partner[send]
    last = np.int64(timeline.makespan_ps)
    posted = np.where(partner >= 0, timeline.start_ps[partner], last)
    handled = timeline.handled_ps[send]
    early = posted > come
    held = np.where(eager, ops["amount"][send].astype(np.int64), 0)[early]
    ones = np.ones(len(send), np.int64)
    found: dict[str, Any] = {}
    for name, some, begin, end, weight in (
        ("unexpected", early, come, posted, ones[early]),
        ("held", early, come, posted, held),
        ("posted", (partner >= 0) & (handled > posted), posted, handled, None),
    ):
        of = ones[some] if weight is None else weight
        most, mean = _load(receiver[some], begin[some], end[some], of, ranks, timeline.makespan_ps)
        found |= {f"{name}_most": most, f"{name}_mean": mean}
    far = level == _NETWORK
    a, b = sender[far], receiver[far]
    found["buffered_most"], _ = _load(b, come[far], handled[far], ones[far], ranks, 1)
    pairs, number = np.unique(b * ranks + a, return_inverse=True)
    by_pair, _ = _load(number.reshape(-1), come[far], handled[far], ones[far], len(pairs), 1)
    found["buffered_by_peer"] = np.zeros(ranks, np.int64)
    np.maximum.at(found["buffered_by_peer"], pairs // ranks, by_pair)
    both = np.unique(np.concatenate([b * ranks + a, a * ranks + b]))
    found["peers"] = np.bincount(both // ranks, minlength=ranks)
    return Queues(**found, messages=int((partner >= 0).sum()), unexpected=int(early.sum()))


def _load(
    group: NDArray[np.int64],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    weight: NDArray[np.int64],
    groups: int,
    length: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The largest sum of weights of intervals [begin, end) at a time, and the mean over the length, of each group."""
    lasting = weight * (end - begin).astype(np.float64)
    mean = np.bincount(group, weights=lasting, minlength=groups) / max(length, 1)
    most = np.zeros(groups, np.int64)
    if not len(group):
        return most, mean
    of, time = np.concatenate([group, group]), np.concatenate([end, begin])
    change = np.concatenate([-weight, weight])
    # At equal times what ends comes first: intervals that follow each other do not add up.
    order = np.lexsort((change, time, of))
    of = of[order]
    # The changes of a group add up to nothing, so that sums go on from group to group.
    sums = np.cumsum(change[order])
    first = np.flatnonzero(np.diff(of, prepend=-1))
    most[of[first]] = np.maximum(np.maximum.reduceat(sums, first), 0)
    return most, mean


_NETWORK = 2


class _Where:
    """Levels between ranks, and when messages come."""

    def __init__(self, machine: Machine | Level, placement: Any, ranks: int) -> None:
        self._machine = machine
        if isinstance(machine, Level):
            self._levels = (machine, machine, machine)
            self._node = self._socket = np.arange(ranks, dtype=np.uint32)
            self._interface = np.arange(ranks)
            return
        place = located(ranks, machine, placement)
        self._levels = (machine.level.socket, machine.level.node, machine.level.network)
        self._node, self._socket = place.node, place.socket
        # Which of several interfaces of a node a message takes is not told: each rank counts as one.
        shared = machine.node.nics <= 1
        self._interface = ranks + self._node.astype(np.int64) if shared else np.arange(ranks)

    def level(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
        near = np.where(self._socket[a] == self._socket[b], 0, 1)
        return np.where(self._node[a] == self._node[b], near, _NETWORK) if isinstance(self._machine, Machine) else (
            np.full(len(a), _NETWORK)
        )  # fmt: skip

    def come(
        self,
        t: Timeline,
        send: NDArray[np.int64],
        a: NDArray[np.int64],
        b: NDArray[np.int64],
        level: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """When messages, or requests of those by rendezvous, have come; and which are eager."""
        size, mode = t.schedule.ops["amount"][send].astype(np.int64), t.schedule.ops["mode"][send]
        wire, gap, ahead, sent = (np.zeros(len(send), np.int64) for _ in range(4))
        eager = mode == 1
        for number, one in enumerate(self._levels):
            some = np.flatnonzero(level == number)
            if not len(some):
                continue
            bytes = size[some]
            pieces = one.all_pieces
            piece = np.searchsorted([p.above for p in one.pieces], bytes)

            def column(name: str, pieces: Any = pieces, piece: Any = piece) -> NDArray[np.float64]:
                values: NDArray[np.float64] = np.array([getattr(p, name) for p in pieces], np.float64)[piece]
                return values

            after = np.maximum(bytes - column("after"), 0)
            by_G, by_O, by_O_recv = (np.rint(after * column(name) * 1e12) for name in ("G", "O", "O_of_receiver"))
            further = self._further(a[some], b[some], one) if number == _NETWORK else 0
            wire[some] = np.rint(column("L") * 1e12) + further
            sent[some] = np.rint(column("o_send") * 1e12) + by_O
            gap[some] = np.rint(column("g") * 1e12) + by_G
            ahead[some] = np.maximum(by_G - by_O_recv, 0)
            eager[some] |= (mode[some] == 0) & (bytes <= one.S)
            # The head leaves when o is over, and with it what noise took.
            sent[some] = t.busy_ps[send[some]] - by_O
        head = t.start_ps[send] + sent + wire
        if len(t.lost_ps):
            head = head + t.lost_ps[send]
        interface = np.where(level == _NETWORK, self._interface[b], b)
        come = np.minimum(_served(interface, head, gap) + ahead, t.handled_ps[send])
        if len(t.parked_ps):
            # What stood aside was asked for before: a request takes what a message of no bytes does.
            parked = t.parked_ps[send]
            come = np.where(parked > 0, np.minimum(head - parked, come), come)
        return come, eager

    def _further(self, a: NDArray[np.int64], b: NDArray[np.int64], level: Level) -> NDArray[np.float64] | float:
        if isinstance(self._machine, Level) or level.per_hop == 0:
            return 0.0
        # Many messages go between few pairs of nodes.
        nodes = self._machine.nodes
        pairs, number = np.unique(self._node[a].astype(np.int64) * nodes + self._node[b], return_inverse=True)
        links = np.asarray(self._machine.route_length(pairs // nodes, pairs % nodes), np.float64)
        further: NDArray[np.float64] = np.maximum(links - 1, 0)[number.reshape(-1)] * np.rint(level.per_hop * 1e12)
        return further


def _served(server: NDArray[np.int64], at: NDArray[np.int64], length: NDArray[np.int64]) -> NDArray[np.int64]:
    """When each begins to be served, in the order in which they come: max(at, end of the one before)."""
    order = np.lexsort((at, server))
    of, came, takes = server[order], at[order], length[order]
    before = np.cumsum(takes) - takes
    # begin = before + max(at - before) of all up to it of one server: servers are kept apart by a step between them.
    slack = came - before
    first = np.flatnonzero(np.diff(of, prepend=-1))
    out = np.empty(len(at), np.int64)
    if not len(at):
        return out
    number = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(of))))
    step = int(slack.max()) - int(slack.min()) + 1
    # Steps of many servers could be more than 64 bits hold.
    if step * len(first) < 2**62:
        latest = np.maximum.accumulate(slack + number * step) - number * step
    else:
        latest = np.concatenate([np.maximum.accumulate(part) for part in np.split(slack, first[1:])])
    out[order] = before + latest
    return out
