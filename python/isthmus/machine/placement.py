"""The Placement: which rank sits on which core of which node."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InvalidInput
from ..tabular import Cell, Tabular
from ..units import shown
from .allocation import Allocation, Location
from .machine import Machine

#: Ways to place ranks without looking at what they exchange.
ORDERS = ("default", "block", "cyclic", "random")
#: Lines of a printed placement.
_LINES = 8


class Placement(Tabular):
    """Ranks on cores of a machine; immutable. Two are equal if machine, nodes and cores are.

    Parameters
    ----------
    machine : Machine
    node : array of int, shape (ranks,)
        Node id of every rank.
    core : array of int, shape (ranks,), optional
        Core within the node. By default the ranks of a node take its cores in order, and start again with the first
        core if there are more ranks than cores.

    Raises
    ------
    InvalidInput
        If the machine has no such node, or a node no such core.

    Examples
    --------
    >>> import isthmus
    >>> print(Placement(isthmus.load("torus-4x4x4"), [3, 2, 1, 0]))
    Placement of 4 ranks on 4 nodes of torus-4x4x4, 1 a node
      ranks 0-3: node3/0 node2/0 node1/0 node0/0
    """

    def __init__(self, machine: Machine, node: ArrayLike, core: ArrayLike | None = None) -> None:
        if not isinstance(machine, Machine):
            raise InvalidInput(f"a placement on {shown(machine)}: must be a Machine")
        self.machine = machine
        # Copies: what the caller does to the arrays later must not change the placement.
        self.node: NDArray[np.uint32] = machine._array(node).reshape(-1).copy()
        cores = machine.node.cores
        if core is None:
            self.core: NDArray[np.uint32] = (place_in_node(self.node) % cores).astype(np.uint32)
        else:
            given = np.asarray(core).reshape(-1)
            if len(given) != len(self.node):
                raise InvalidInput(f"{len(given)} cores for {len(self.node)} ranks: give one for each")
            if given.size and given.dtype.kind not in "iu":
                raise InvalidInput(f"cores must be whole numbers, not {given.dtype}")
            if given.size and not (given.min() >= 0 and given.max() < cores):
                wrong = given.min() if given.min() < 0 else given.max()
                raise InvalidInput(f"core {wrong}: nodes of {machine.name} have cores 0 to {cores - 1}")
            self.core = given.astype(np.uint32)
        self.node.setflags(write=False)
        self.core.setflags(write=False)

    @classmethod
    def of(
        cls, where: Machine | Allocation, ranks: int, order: str = "default", *, seed: int = 0, share: bool = False
    ) -> Placement:
        """Place ranks in a usual order, regardless of what they exchange.

        Parameters
        ----------
        where : Machine or Allocation
            For a machine: its first nodes, as many as needed with one rank per core.
        ranks : int
        order : {"default", "block", "cyclic", "random"}
            "default": the order of the allocation; "block": node after node; "cyclic": round the nodes; "random": any
            free core with equal probability.
        seed : int
            Seed of the random order: the same seed gives the same placement.
        share : bool
            Whether several ranks may share a core if there are more ranks than cores. They are then spread evenly.

        Raises
        ------
        InvalidInput
            If the ranks do not fit, or the order is unknown.
        """
        if order not in ORDERS:
            raise InvalidInput(f"order {order!r}: must be one of {', '.join(ORDERS)}")
        job = job_of(where, ranks, share)
        per_node = max(job.ranks_per_node, -(-ranks // len(job.nodes)))
        slots = len(job.nodes) * per_node
        slot = np.arange(ranks)
        if order == "random":
            slot = np.random.Generator(np.random.PCG64(seed)).permutation(slots)[:ranks]
        if order == "cyclic" or (order == "default" and job.order == "cyclic"):
            place, core = slot % len(job.nodes), slot // len(job.nodes)
        else:
            place, core = slot // per_node, slot % per_node
        return cls(job.machine, job.nodes[place], core % job.machine.node.cores)

    @property
    def ranks(self) -> int:
        return len(self.node)

    @cached_property
    def nodes(self) -> NDArray[np.uint32]:
        """Ids of the nodes in use, ascending."""
        # NumPy's unique hashes: a hundred times the time of counting for a million ranks in random order.
        return np.flatnonzero(np.bincount(self.node)).astype(np.uint32)

    @cached_property
    def ranks_per_node(self) -> int:
        """Largest number of ranks on a node."""
        return int(np.bincount(self.node).max(initial=0))

    @cached_property
    def location(self) -> Location:
        """Node, socket, NUMA domain and core of every rank, by the numbering of :meth:`Allocation.location`."""
        n = self.machine.node
        per_socket, per_numa, domains = n.cores // n.sockets, n.cores // n.numa, n.numa // n.sockets
        if n.core_order == "block":
            socket, numa = self.core // per_socket, self.core // per_numa
        else:
            socket = self.core % n.sockets
            numa = socket * domains + self.core // n.sockets // per_numa
        return Location(self.node, socket.astype(np.uint32), numa.astype(np.uint32), self.core)

    @property
    def shared(self) -> bool:
        """Whether any core holds several ranks."""
        slot = self.node.astype(np.int64) * self.machine.node.cores + self.core
        slot.sort()
        return bool((slot[1:] == slot[:-1]).any())

    def ranks_on(self, node: int) -> NDArray[np.intp]:
        """Return the ranks on a node, ascending."""
        return np.flatnonzero(self.node == self.machine.node_id(node))

    def hosts(self) -> list[str]:
        """Return the name of every rank's node."""
        names = self.machine.hostnames
        return [names[n] for n in self.node]

    def frame(self) -> list[dict[str, Cell]]:
        """Return one row per rank: rank, node id, name of the node, socket, core."""
        where = self.location
        return [
            {
                "rank": r,
                "node": int(where.node[r]),
                "host": h,
                "socket": int(where.socket[r]),
                "core": int(self.core[r]),
            }
            for r, h in enumerate(self.hosts())
        ]

    def __len__(self) -> int:
        return len(self.node)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Placement):
            return NotImplemented
        same = np.array_equal(self.node, other.node) and np.array_equal(self.core, other.core)
        return same and self.machine == other.machine

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        n, ranks = len(self.nodes), self.ranks
        head = f"Placement of {ranks:,} rank{'' if ranks == 1 else 's'} on {n:,} node{'' if n == 1 else 's'} of "
        head += self.machine.name
        if not ranks:
            return head
        counts = np.unique(self.node, return_counts=True)[1]
        few, many = int(counts.min()), int(counts.max())
        head += f", {few:,} a node" if few == many else f", {few:,} to {many:,} a node"
        names = self.machine.hostnames
        with_core = self.machine.node.cores > 1
        wide = 8
        lines = []
        for r in range(0, min(ranks, _LINES * wide), wide):
            last = min(r + wide, ranks)
            words = (
                f"{names[self.node[i]]}/{self.core[i]}" if with_core else names[self.node[i]] for i in range(r, last)
            )
            numbers = f"rank {r}" if last == r + 1 else f"ranks {r}-{last - 1}"
            lines.append(f"  {numbers}: {' '.join(words)}")
        if ranks > _LINES * wide:
            lines.append(f"  ... {ranks - _LINES * wide:,} more ranks")
        return "\n".join([head, *lines])

    def __repr__(self) -> str:
        return f"<Placement: {self.ranks:,} ranks on {len(self.nodes):,} nodes of {self.machine.name}>"


def job_of(where: Machine | Allocation, ranks: int, share: bool = False) -> Allocation:
    """Return the nodes for these ranks: those of an allocation, or the first nodes of a machine with enough cores.

    Raises InvalidInput if the ranks do not fit and may not share cores.
    """
    if ranks < 1:
        raise InvalidInput(f"{ranks} ranks: must be at least 1")
    if isinstance(where, Machine):
        cores = where.node.cores
        if ranks > where.cores and not share:
            raise InvalidInput(f"{ranks:,} ranks do not fit: {where.name} has {where.cores:,} cores")
        return where.allocate(min(-(-ranks // cores), where.nodes))
    if not isinstance(where, Allocation):
        raise InvalidInput(f"a placement on {shown(where)}: must be a Machine or an Allocation")
    if ranks > where.ranks and not share:
        raise InvalidInput(
            f"{ranks:,} ranks do not fit: the allocation has {where.ranks:,} places, {where.ranks_per_node} on each of "
            f"{len(where.nodes):,} nodes"
        )
    return where


def place_in_node(node: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Return for every rank the number of ranks before it on the same node."""
    order = np.argsort(node, kind="stable")
    ordered = node[order]
    first = np.concatenate([[True], ordered[1:] != ordered[:-1]]) if len(node) else np.zeros(0, bool)
    starts = np.maximum.accumulate(np.where(first, np.arange(len(node)), 0))
    place = np.empty(len(node), dtype=np.int64)
    place[order] = np.arange(len(node)) - starts
    return place
