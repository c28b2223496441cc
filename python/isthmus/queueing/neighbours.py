"""Traffic of other jobs: steady messages beside those of a program, which share its links."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .. import _core
from ..machine import Machine
from ..schedule.columns import lengths
from ..schedule.operation import OpKind
from ..schedule.schedule import Schedule

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Messages that a node of another job sends while the program runs.
MESSAGES = 16
#: Messages that share links or interfaces with the program are the first ring, those that share some with these the
#: second.
RINGS = 2


def traffic(
    machine: Machine, sizes: Sequence[int], share: float, seconds: float, seed: int,
    near: Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.bool_]] | None = None,
) -> tuple[Schedule | None, NDArray[np.int64]]:  # fmt: skip
    """Return messages between the nodes of each of several jobs, a rank a node, and which nodes these ranks are.

    Every node sends :data:`MESSAGES` messages at equal intervals, each to another node of its job at random; together
    they take ``share`` of what its interface could send in that time. Nodes begin at random times of the first one.
    ``near``: which messages from some nodes to others are kept, all by default; nodes that are left without any are
    left out; None where no message is left. Nodes are numbered from 0 through all jobs.
    """
    rng = np.random.default_rng(seed)
    first = np.cumsum([0, *sizes])
    ranks = int(first[-1])
    gap = seconds / MESSAGES
    size = max(1, round(share * gap / machine.level.network.G))
    job = np.repeat(np.arange(len(sizes)), sizes)
    count, begin = np.array(sizes)[job], first[job]
    own = np.arange(ranks) - begin
    # A step of all ranks after the other: they wait, send, receive.
    shape = (MESSAGES, 3, ranks)
    peer, seconds_of = np.zeros(shape, np.int64), np.zeros(shape)
    for k in range(MESSAGES):
        # As far on for all nodes of a job, so that each receives as many messages as it sends.
        step = 1 + (rng.random(len(sizes)) * (np.array(sizes) - 1)).astype(int)[job]
        peer[k, 1], peer[k, 2] = begin + (own + step) % count, begin + (own - step) % count
        seconds_of[k, 0] = gap * rng.random(ranks) if k == 0 else gap
    kept = np.ones(shape, np.bool_)
    if near is not None:
        everyone = np.broadcast_to(np.arange(ranks), peer[:, 1].shape)
        kept[:, 1] = near(everyone.reshape(-1), peer[:, 1].reshape(-1)).reshape(everyone.shape)
        kept[:, 2] = np.take_along_axis(kept[:, 1], peer[:, 2], axis=1)
    used = np.flatnonzero(kept[:, 1:].any((0, 1)))
    if not len(used):
        return None, used
    kept[:, 0] = False
    kept[:, 0, used] = True
    # Operations and ranks are numbered without those that are left out.
    number = np.cumsum(kept.reshape(-1)).reshape(shape) - 1
    place = np.zeros(ranks, np.int64)
    place[used] = np.arange(len(used))
    amount = np.zeros(shape, np.int64)
    amount[:, 1:] = size
    all_ = kept.reshape(-1)
    rank = np.broadcast_to(place, shape).reshape(-1)[all_]
    kind = np.broadcast_to(np.array([OpKind.calc, OpKind.send, OpKind.recv])[:, None], shape).reshape(-1)[all_]
    sends, receives = kept[:, 1], kept[:, 2]
    waits = number[:, 0]
    schedule = Schedule.of(
        len(used),
        rank=rank,
        kind=kind,
        amount=amount.reshape(-1)[all_],
        seconds=seconds_of.reshape(-1)[all_],
        peer=place[peer].reshape(-1)[all_],
        op=np.concatenate([waits[1:, used].reshape(-1), number[:, 1][sends], number[:, 2][receives]]),
        on=np.concatenate([waits[:-1, used].reshape(-1), waits[sends], waits[receives]]),
    )
    return schedule, used


class Near:
    """Which messages between nodes share links or interfaces with a program, or share some with those that do.

    Messages further off change what a program is given only through two others. They are left out: beside a job of 64
    nodes on a machine of thousands they are most.
    """

    def __init__(self, machine: Machine, sources: NDArray[np.int64], targets: NDArray[np.int64]) -> None:
        self.machine = machine
        self.used = np.unique(_used(machine, *_pairs(machine, sources, targets))[1])

    def __call__(self, sources: NDArray[np.int64], targets: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Of messages between these nodes, those that are near."""
        owner, used = _used(self.machine, sources, targets)
        near = np.zeros(len(sources), np.bool_)
        seen = self.used
        for _ in range(RINGS):
            mark = np.zeros(int(max(used.max(initial=0), seen.max(initial=0))) + 1, np.bool_)
            mark[seen] = True
            near[owner[mark[used]]] = True
            seen = np.unique(used[near[owner]])
        return near


def _used(
    machine: Machine, sources: NDArray[np.int64], targets: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What messages share with others, as which message and a number: interfaces that send and receive, and links."""
    first, links = machine.routes(sources, targets)
    message = np.arange(len(sources))
    owner = np.concatenate([message, message, np.repeat(message, lengths(first))])
    return owner, np.concatenate([sources, machine.nodes + targets, 2 * machine.nodes + links.astype(np.int64)])


def _pairs(
    machine: Machine, sources: NDArray[np.int64], targets: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Different pairs of different nodes."""
    key = np.unique(sources * machine.nodes + targets)
    a, b = key // machine.nodes, key % machine.nodes
    return a[a != b], b[a != b]


def beside(program: Schedule, others: Schedule) -> Schedule:
    """Return both, the ranks of the second after those of the first; without buffers."""
    ops = others.ops.copy()
    messages = np.isin(ops["kind"], (OpKind.send, OpKind.recv))
    ops["peer"][messages] += program.ranks
    a, b = program, others
    return Schedule(
        _core.ScheduleArrays.of(
            np.concatenate([a.op_first, b.op_first[1:] + a.op_first[-1]]),
            np.concatenate([a.ops, ops]).view(np.uint8),
            np.concatenate([a.edge_first, b.edge_first[1:] + a.edge_first[-1]]),
            np.concatenate([a.edges, b.edges]),
            [],
            np.empty(0, np.uint64),
            np.empty(0, np.uint8),
        )
    )
