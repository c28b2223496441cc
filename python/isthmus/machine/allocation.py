"""The nodes of a job, and the conversions between rank, (node, socket, core) and coordinates."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InvalidInput
from ..extras import Later
from ..tabular import Shown
from ..units import percent

if TYPE_CHECKING:
    from . import machine as machines
else:
    # Machines hand out allocations.
    machines = Later("isthmus.machine.machine")


class Location(NamedTuple):
    """Where ranks sit: arrays in the shape of the ranks. Sockets, domains and cores are numbered within their node."""

    node: NDArray[np.uint32]
    socket: NDArray[np.uint32]
    numa: NDArray[np.uint32]
    core: NDArray[np.uint32]


class Allocation(Shown):
    """The nodes of a job in their order, and the ranks on them.

    Parameters
    ----------
    machine : Machine
    nodes : array of int
        Distinct node ids, in the order of the job.
    ranks_per_node : int, optional
        Number of ranks on each node, by default one per core.
    order : {"block", "cyclic"}
        Whether ranks fill node after node ("block") or go round the nodes ("cyclic").

    Raises
    ------
    InvalidInput
        If a node is given twice or does not exist, there are more ranks than cores, or the order is unknown.
    """

    def __init__(
        self, machine: machines.Machine, nodes: ArrayLike, *, ranks_per_node: int | None = None, order: str = "block"
    ) -> None:
        self.machine = machine
        # A copy: what the caller does to the array later must not change the allocation.
        self.nodes: NDArray[np.uint32] = machine._array(nodes).reshape(-1).copy()
        self.nodes.setflags(write=False)
        if self.nodes.size == 0:
            raise InvalidInput("an allocation needs at least one node")
        unique, counts = np.unique(self.nodes, return_counts=True)
        if len(unique) != len(self.nodes):
            raise InvalidInput(f"node {unique[counts > 1][0]} is given twice: an allocation has each node once")
        cores = machine.node.cores
        self.ranks_per_node = cores if ranks_per_node is None else ranks_per_node
        if not isinstance(self.ranks_per_node, (int, np.integer)) or not 1 <= self.ranks_per_node <= cores:
            raise InvalidInput(f"ranks_per_node = {ranks_per_node}: must be 1 to {cores}, the cores of a node")
        if order not in ("block", "cyclic"):
            raise InvalidInput(f"order {order!r}: must be block or cyclic")
        self.order = order

    @classmethod
    def of(
        cls,
        machine: machines.Machine,
        nodes: ArrayLike | str | None = None,
        *,
        fraction: float | None = None,
        seed: int = 0,
        first: int = 0,
        ranks_per_node: int | None = None,
        order: str = "block",
    ) -> Allocation:
        """Make an allocation of a whole machine, a block of nodes, a node list or a random share.

        Parameters
        ----------
        machine : Machine
        nodes : None, int, str or array of int
            None for all usable nodes; a number for a block of so many nodes from ``first`` on; a Slurm node list such
            as ``"nid[00012-00075]"``; or node ids.
        fraction : float, optional
            Take this random share of the usable nodes instead of ``nodes``, in ascending order, as on a machine shared
            with other jobs.
        seed : int
            Seed of the random share; the same seed gives the same nodes.
        ranks_per_node, order
            As for :class:`Allocation`.
        """
        options: dict[str, Any] = {"ranks_per_node": ranks_per_node, "order": order}
        usable = machine.nodes
        if first and (fraction is not None or not isinstance(nodes, (int, np.integer, type(None)))):
            raise InvalidInput(f"first = {first}: give it only with a number of nodes")
        if fraction is not None:
            if nodes is not None:
                raise InvalidInput("nodes and fraction: give only one of them")
            if not 0 < fraction <= 1:
                raise InvalidInput(f"fraction = {fraction}: must be more than 0 up to 1")
            if seed < 0:
                raise InvalidInput(f"seed = {seed}: must be a whole number from 0")
            count = max(1, round(fraction * usable))
            chosen = np.random.Generator(np.random.PCG64(seed)).choice(usable, count, replace=False, shuffle=False)
            return cls(machine, np.sort(chosen), **options)
        if nodes is None:
            nodes = usable - first
        if isinstance(nodes, str):
            from ..hostlist import expand

            return cls(machine, [machine.node_id(name) for name in expand(nodes)], **options)
        if isinstance(nodes, (int, np.integer)):
            if first < 0 or nodes < 1 or first + nodes > usable:
                raise InvalidInput(f"{nodes} nodes from node {first}: {machine.name} has only {usable} usable nodes")
            return cls(machine, np.arange(first, first + nodes), **options)
        return cls(machine, nodes, **options)

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return len(self.nodes) * self.ranks_per_node

    def __len__(self) -> int:
        return len(self.nodes)

    # Ranks and cores

    def _ranks(self, ranks: ArrayLike) -> NDArray[np.int64]:
        given = np.asarray(ranks)
        if given.dtype.kind not in "iu" or (given.size and not (given.min() >= 0 and given.max() < self.ranks)):
            raise InvalidInput(f"ranks of the allocation must be whole numbers from 0 to {self.ranks - 1}")
        return given.astype(np.int64)

    def node_of(self, ranks: ArrayLike) -> NDArray[np.uint32]:
        """Return the node ids of ranks."""
        r = self._ranks(ranks)
        return self.nodes[r // self.ranks_per_node if self.order == "block" else r % len(self.nodes)]

    def location(self, ranks: ArrayLike) -> Location:
        """Return node, socket, NUMA domain and core of ranks.

        Cores are numbered socket by socket (``core_order = "block"``) or round the sockets (``"cyclic"``: core i is on
        socket i modulo sockets). The ranks of a node take its cores in order.
        """
        r = self._ranks(ranks)
        core = r % self.ranks_per_node if self.order == "block" else r // len(self.nodes)
        n = self.machine.node
        per_socket, per_numa, domains = n.cores // n.sockets, n.cores // n.numa, n.numa // n.sockets
        if n.core_order == "block":
            socket, numa = core // per_socket, core // per_numa
        else:
            socket = core % n.sockets
            numa = socket * domains + core // n.sockets // per_numa
        return Location(self.node_of(ranks), *(x.astype(np.uint32) for x in (socket, numa, core)))

    @cached_property
    def _sorted(self) -> NDArray[np.intp]:
        return np.argsort(self.nodes)

    def _index(self, nodes: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Place of nodes in the allocation, -1 for others."""
        sorted_nodes = self.nodes[self._sorted]
        at = np.minimum(np.searchsorted(sorted_nodes, nodes), len(sorted_nodes) - 1)
        return np.where(sorted_nodes[at] == nodes, self._sorted[at], -1)

    def rank_at(self, nodes: ArrayLike, cores: ArrayLike = 0) -> int | NDArray[np.uint32]:
        """Return the rank on a core of a node, -1 if there is none; the inverse of :meth:`location`."""
        index = self._index(self.machine._array(nodes))
        core = np.asarray(cores, dtype=np.int64)
        rank = index * self.ranks_per_node + core if self.order == "block" else core * len(self.nodes) + index
        found = np.where((index >= 0) & (core >= 0) & (core < self.ranks_per_node), rank, -1)
        return found if found.ndim else int(found)

    # Coordinates

    @cached_property
    def rings(self) -> tuple[int, ...]:
        """Length of the ring of the machine that each dimension goes along, 0 where its ends are not joined."""
        topology = self.machine.topology
        parameters = self.machine.description.values["topology"]
        wraps = list(parameters.get("wrap") or [])
        if "wrap" in parameters and not wraps:
            wraps = [topology.kind in ("torus", "ring")] * len(parameters["dims"])
        wraps += [False] * (len(topology.dims) - len(wraps))
        return tuple(size if wrap else 0 for size, wrap in zip(topology.dims, wraps, strict=True))

    @cached_property
    def _box(self) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[bool, ...]]:
        """Origin, extents and, per dimension, whether the partition closes round a wrapped dimension of the machine."""
        coordinates = self.machine.coordinates(self.nodes)
        origin, extents = [], []
        for d, ring in enumerate(self.rings):
            used = np.unique(coordinates[:, d]).astype(np.int64)
            if ring:
                # The shortest arc that holds all used coordinates starts behind the widest gap.
                gaps = np.diff(np.append(used, used[0] + ring))
                widest = int(np.argmax(gaps))
                origin.append(0 if gaps[widest] == 1 else int(used[(widest + 1) % len(used)]))
                extents.append(int(ring - gaps[widest] + 1))
            else:
                origin.append(int(used[0]))
                extents.append(int(used[-1] - used[0] + 1))
        closed = tuple(extent == ring for extent, ring in zip(extents, self.rings, strict=True))
        return np.array(origin), np.array(extents), closed

    @property
    def dims(self) -> tuple[int, ...]:
        """Extents of the smallest box of coordinates that holds the nodes; it may wrap round a torus."""
        return tuple(int(e) for e in self._box[1])

    @property
    def origin(self) -> tuple[int, ...]:
        """Machine coordinates of the partition's corner (0, 0, ...)."""
        return tuple(int(o) for o in self._box[0])

    @property
    def wraps(self) -> tuple[bool, ...]:
        """Whether each dimension of the partition wraps, that is, spans a whole wrapped dimension of the machine."""
        return self._box[2]

    @property
    def full(self) -> bool:
        """Whether every node of the box is allocated."""
        return int(np.prod(self._box[1])) == len(self.nodes)

    def coordinates(self, ranks: ArrayLike) -> NDArray[np.uint32]:
        """Return coordinates of the ranks' nodes within the partition, shape ``(..., len(dims))``."""
        nodes = self.machine.coordinates(self.node_of(ranks)).astype(np.int64)
        inside: NDArray[np.int64] = (nodes - self._box[0]) % np.array(self.machine.topology.dims)
        return inside.astype(np.uint32)

    def rank_of(self, coordinates: ArrayLike, cores: ArrayLike = 0) -> int | NDArray[np.uint32]:
        """Return the rank on a core of the node at partition coordinates, -1 if there is none."""
        given = np.asarray(coordinates)
        if given.dtype.kind not in "iu" or given.shape[-1:] != (len(self.dims),):
            raise InvalidInput(f"coordinates of the allocation must be {len(self.dims)} whole numbers")
        inside = np.asarray(((given >= 0) & (given < self._box[1])).all(axis=-1))
        machine = (np.where(inside[..., None], given, 0) + self._box[0]) % np.array(self.machine.topology.dims)
        found = np.where(inside, self.rank_at(self.machine.nodes_at(machine), cores), -1)
        return found if found.ndim else int(found)

    def distance(self, a: ArrayLike, b: ArrayLike) -> int | NDArray[np.uint32]:
        """Return the number of links between the nodes of ranks; arrays are broadcast against each other."""
        return self.machine.distance(self.node_of(a), self.node_of(b))

    def __str__(self) -> str:
        box = " x ".join(map(str, self.dims))
        shape = "full" if self.full else f"{percent(len(self.nodes) / float(np.prod(self._box[1])), 0)} full"
        return (
            f"{len(self.nodes):,} node{'' if len(self.nodes) == 1 else 's'} of {self.machine.name}, "
            f"{self.ranks:,} rank{'' if self.ranks == 1 else 's'} ({self.ranks_per_node} a node, "
            f"{self.order}), box {box} at {self.origin}, {shape}"
        )

    def __repr__(self) -> str:
        return f"<Allocation: {self}>"
