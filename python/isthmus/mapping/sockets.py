"""Chooses cores within nodes: tasks that exchange much share a socket."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..machine.placement import Placement, place_in_node

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .problem import Problem

#: Elements of all matrices that are worked on at a time.
_BATCH = 1 << 22


def placement_of(problem: Problem, place: NDArray[np.uint32]) -> Placement:
    """The placement of a map.

    Ranks of a node take its cores in their order; where nodes have several sockets, they are then swapped between these
    as long as that keeps more bytes within a socket (Kernighan and Lin, 1970, without their sequences).
    """
    machine = problem.job.machine
    node = problem.job.nodes[place]
    cores = machine.node.cores
    core = place_in_node(node)
    if machine.node.sockets == 1 or not len(core) or core.max() >= cores:
        return Placement(machine, node)
    u, v, bytes = problem.edges
    inside = place[u] == place[v]
    u, v, bytes = u[inside], v[inside], bytes[inside]
    used, index = np.unique(place[u], return_inverse=True)
    socket = Placement(machine, np.zeros(cores, np.uint32), np.arange(cores)).location.socket.astype(np.int64)
    task_at = np.full((problem.places, cores), -1, np.int64)
    task_at[place, core] = np.arange(problem.tasks)
    step = max(1, _BATCH // cores**2)
    for begin in range(0, len(used), step):
        mine = (index >= begin) & (index < begin + step)
        weight = np.zeros((min(step, len(used) - begin), cores, cores))
        at = index[mine] - begin, core[u[mine]], core[v[mine]]
        np.add.at(weight, at, bytes[mine])
        weight += weight.transpose(0, 2, 1)
        order = _divided(weight, socket)
        chosen = used[begin : begin + step]
        task_at[chosen] = np.take_along_axis(task_at[chosen], order, axis=1)
    where, slot = np.nonzero(task_at >= 0)
    core[task_at[where, slot]] = slot
    return Placement(machine, node, core)


def _divided(weight: NDArray[np.float64], socket: NDArray[np.int64]) -> NDArray[np.int64]:
    """For nodes with bytes between cores, shape (nodes, cores, cores): what of before is then at every core."""
    nodes, cores, _ = weight.shape
    order = np.tile(np.arange(cores), (nodes, 1))
    member = (socket[:, None] == np.arange(socket.max() + 1)[None, :]).astype(np.float64)
    apart = socket[:, None] != socket[None, :]
    active = np.arange(nodes)
    w = weight.copy()
    # Every swap keeps more bytes within sockets: it ends.
    while len(active):
        to = w @ member  # of each core, bytes to each socket
        own = np.take_along_axis(to, np.broadcast_to(socket[None, :, None], (len(active), cores, 1)), axis=2)[..., 0]
        other = to[:, :, socket] - own[:, :, None]
        gain = np.where(apart, other + other.transpose(0, 2, 1) - 2 * w, -np.inf).reshape(len(active), -1)
        best = gain.argmax(axis=1)
        better = gain[np.arange(len(active)), best] > 1e-9 * (1 + w.sum(axis=(1, 2)))
        active, w, best = active[better], w[better], best[better]
        a, b = best // cores, best % cores
        swap = np.tile(np.arange(cores), (len(active), 1))
        row = np.arange(len(active))
        swap[row, a], swap[row, b] = b, a
        order[active] = np.take_along_axis(order[active], swap, axis=1)
        w = np.take_along_axis(np.take_along_axis(w, swap[:, :, None], axis=1), swap[:, None, :], axis=2)
    return order
