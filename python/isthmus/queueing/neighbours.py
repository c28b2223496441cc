"""Traffic of other jobs: steady messages beside those of a program, which share its links."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import _core
from ..machine import Machine
from ..schedule.operation import OpKind
from ..schedule.schedule import Schedule

#: Messages that a node of another job sends while the program runs.
MESSAGES = 16


def traffic(machine: Machine, sizes: Sequence[int], share: float, seconds: float, seed: int) -> Schedule:
    """Return messages between the nodes of each of several jobs, a rank a node.

    Every node sends :data:`MESSAGES` messages at equal intervals, each to another node of its job at random; together
    they take ``share`` of what its interface could send in that time. Nodes begin at random times of the first one.
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
    number = np.arange(MESSAGES * 3 * ranks).reshape(shape)
    for k in range(MESSAGES):
        # As far on for all nodes of a job, so that each receives as many messages as it sends.
        step = 1 + (rng.random(len(sizes)) * (np.array(sizes) - 1)).astype(int)[job]
        peer[k, 1], peer[k, 2] = begin + (own + step) % count, begin + (own - step) % count
        seconds_of[k, 0] = gap * rng.random(ranks) if k == 0 else gap
    amount = np.zeros(shape, np.int64)
    amount[:, 1:] = size
    return Schedule.of(
        ranks,
        rank=np.broadcast_to(np.arange(ranks), shape).reshape(-1),
        kind=np.broadcast_to(np.array([OpKind.calc, OpKind.send, OpKind.recv])[:, None], shape).reshape(-1),
        amount=amount.reshape(-1),
        seconds=seconds_of.reshape(-1),
        peer=peer.reshape(-1),
        op=np.concatenate([number[1:, 0].reshape(-1), number[:, 1].reshape(-1)]),
        on=np.concatenate([number[:-1, 0].reshape(-1), number[:, 0].reshape(-1)]),
    )


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
