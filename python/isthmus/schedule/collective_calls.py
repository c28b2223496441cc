"""The collectives of the builder of programs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: The request of a nonblocking call: a number, or an array of them where an argument of the call is one.
Requests = int | NDArray[np.uint32]


class CollectiveCalls(ABC):
    """Calls of collectives, event by event or whole arrays of them; see :class:`ProgramBuilder`."""

    @abstractmethod
    def _collective(
        self,
        kind: str | int,
        rank: ArrayLike | None,
        bytes: ArrayLike,
        root: ArrayLike,
        comm: ArrayLike,
        counts: ArrayLike | None,
        nonblocking: bool,
        commutes: bool,
    ) -> Requests | None: ...

    @overload
    def collective(
        self,
        kind: str | int,
        rank: ArrayLike | None,
        bytes: ArrayLike = 0,
        root: ArrayLike = 0,
        comm: ArrayLike = 0,
        *,
        counts: ArrayLike | None = None,
        nonblocking: Literal[False] = False,
        commutes: bool = True,
    ) -> None: ...
    @overload
    def collective(
        self,
        kind: str | int,
        rank: ArrayLike | None,
        bytes: ArrayLike = 0,
        root: ArrayLike = 0,
        comm: ArrayLike = 0,
        *,
        counts: ArrayLike | None = None,
        nonblocking: Literal[True],
        commutes: bool = True,
    ) -> Requests: ...
    @overload
    def collective(
        self,
        kind: str | int,
        rank: ArrayLike | None,
        bytes: ArrayLike = 0,
        root: ArrayLike = 0,
        comm: ArrayLike = 0,
        *,
        counts: ArrayLike | None = None,
        nonblocking: bool,
        commutes: bool = True,
    ) -> Requests | None: ...
    def collective(
        self,
        kind: str | int,
        rank: ArrayLike | None,
        bytes: ArrayLike = 0,
        root: ArrayLike = 0,
        comm: ArrayLike = 0,
        *,
        counts: ArrayLike | None = None,
        nonblocking: bool = False,
        commutes: bool = True,
    ) -> Requests | None:
        """Add one collective, called by these ranks.

        Parameters
        ----------
        kind : str or CollectiveKind
        bytes : array of int
            Size of the vector (bcast, reduce, allreduce, scan, exscan) or of one rank's block.
        counts : array of int, optional
            Bytes per rank instead of equal blocks: one list that all ranks know, or one row per rank. gather,
            allgather, scatter, reduce_scatter: bytes of each block; alltoall: bytes to each rank, then from each rank;
            neighbor_alltoall: triples of neighbour, bytes to it, bytes from it.
        nonblocking : bool
            Make the call nonblocking and return a request as :meth:`isend` does.
        commutes : bool
            Whether the operator of a reduction commutes. If not, only algorithms that keep the rank order are used.
        """
        return self._collective(kind, rank, bytes, root, comm, counts, nonblocking, commutes)

    @overload
    def barrier(self, rank: ArrayLike | None, comm: ArrayLike = 0, *, nonblocking: Literal[False] = False) -> None: ...
    @overload
    def barrier(self, rank: ArrayLike | None, comm: ArrayLike = 0, *, nonblocking: Literal[True]) -> Requests: ...
    @overload
    def barrier(self, rank: ArrayLike | None, comm: ArrayLike = 0, *, nonblocking: bool) -> Requests | None: ...
    def barrier(self, rank: ArrayLike | None, comm: ArrayLike = 0, *, nonblocking: bool = False) -> Requests | None:
        """Add a barrier; see :meth:`collective`."""
        return self._collective("barrier", rank, 0, 0, comm, None, nonblocking, True)

    @overload
    def bcast(
        self,
        rank: ArrayLike | None,
        bytes: ArrayLike,
        root: ArrayLike = 0,
        comm: ArrayLike = 0,
        *,
        nonblocking: Literal[False] = False,
    ) -> None: ...
    @overload
    def bcast(
        self,
        rank: ArrayLike | None,
        bytes: ArrayLike,
        root: ArrayLike = 0,
        comm: ArrayLike = 0,
        *,
        nonblocking: Literal[True],
    ) -> Requests: ...
    @overload
    def bcast(
        self, rank: ArrayLike | None, bytes: ArrayLike, root: ArrayLike = 0, comm: ArrayLike = 0, *, nonblocking: bool
    ) -> Requests | None: ...
    def bcast(
        self,
        rank: ArrayLike | None,
        bytes: ArrayLike,
        root: ArrayLike = 0,
        comm: ArrayLike = 0,
        *,
        nonblocking: bool = False,
    ) -> Requests | None:
        """Add a broadcast of a vector from the root; see :meth:`collective`."""
        return self._collective("bcast", rank, bytes, root, comm, None, nonblocking, True)

    @overload
    def reduce(
        self,
        rank: ArrayLike | None,
        bytes: ArrayLike,
        root: ArrayLike = 0,
        comm: ArrayLike = 0,
        *,
        nonblocking: Literal[False] = False,
    ) -> None: ...
    @overload
    def reduce(
        self,
        rank: ArrayLike | None,
        bytes: ArrayLike,
        root: ArrayLike = 0,
        comm: ArrayLike = 0,
        *,
        nonblocking: Literal[True],
    ) -> Requests: ...
    @overload
    def reduce(
        self, rank: ArrayLike | None, bytes: ArrayLike, root: ArrayLike = 0, comm: ArrayLike = 0, *, nonblocking: bool
    ) -> Requests | None: ...
    def reduce(
        self,
        rank: ArrayLike | None,
        bytes: ArrayLike,
        root: ArrayLike = 0,
        comm: ArrayLike = 0,
        *,
        nonblocking: bool = False,
    ) -> Requests | None:
        """Add a reduction of a vector to the root; see :meth:`collective`."""
        return self._collective("reduce", rank, bytes, root, comm, None, nonblocking, True)

    @overload
    def allreduce(
        self, rank: ArrayLike | None, bytes: ArrayLike, comm: ArrayLike = 0, *, nonblocking: Literal[False] = False
    ) -> None: ...
    @overload
    def allreduce(
        self, rank: ArrayLike | None, bytes: ArrayLike, comm: ArrayLike = 0, *, nonblocking: Literal[True]
    ) -> Requests: ...
    @overload
    def allreduce(
        self, rank: ArrayLike | None, bytes: ArrayLike, comm: ArrayLike = 0, *, nonblocking: bool
    ) -> Requests | None: ...
    def allreduce(
        self, rank: ArrayLike | None, bytes: ArrayLike, comm: ArrayLike = 0, *, nonblocking: bool = False
    ) -> Requests | None:
        """Add a reduction of a vector to all ranks; see :meth:`collective`."""
        return self._collective("allreduce", rank, bytes, 0, comm, None, nonblocking, True)

    @overload
    def gather(
        self,
        rank: ArrayLike | None,
        bytes: ArrayLike = 0,
        root: ArrayLike = 0,
        comm: ArrayLike = 0,
        *,
        counts: ArrayLike | None = None,
        nonblocking: Literal[False] = False,
    ) -> None: ...
    @overload
    def gather(
        self,
        rank: ArrayLike | None,
        bytes: ArrayLike = 0,
        root: ArrayLike = 0,
        comm: ArrayLike = 0,
        *,
        counts: ArrayLike | None = None,
        nonblocking: Literal[True],
    ) -> Requests: ...
    @overload
    def gather(
        self,
        rank: ArrayLike | None,
        bytes: ArrayLike = 0,
        root: ArrayLike = 0,
        comm: ArrayLike = 0,
        *,
        counts: ArrayLike | None = None,
        nonblocking: bool,
    ) -> Requests | None: ...
    def gather(
        self,
        rank: ArrayLike | None,
        bytes: ArrayLike = 0,
        root: ArrayLike = 0,
        comm: ArrayLike = 0,
        *,
        counts: ArrayLike | None = None,
        nonblocking: bool = False,
    ) -> Requests | None:
        """Add a gather of blocks from all ranks to the root; see :meth:`collective`."""
        return self._collective("gather", rank, bytes, root, comm, counts, nonblocking, True)

    @overload
    def allgather(
        self,
        rank: ArrayLike | None,
        bytes: ArrayLike = 0,
        comm: ArrayLike = 0,
        *,
        counts: ArrayLike | None = None,
        nonblocking: Literal[False] = False,
    ) -> None: ...
    @overload
    def allgather(
        self,
        rank: ArrayLike | None,
        bytes: ArrayLike = 0,
        comm: ArrayLike = 0,
        *,
        counts: ArrayLike | None = None,
        nonblocking: Literal[True],
    ) -> Requests: ...
    @overload
    def allgather(
        self,
        rank: ArrayLike | None,
        bytes: ArrayLike = 0,
        comm: ArrayLike = 0,
        *,
        counts: ArrayLike | None = None,
        nonblocking: bool,
    ) -> Requests | None: ...
    def allgather(
        self,
        rank: ArrayLike | None,
        bytes: ArrayLike = 0,
        comm: ArrayLike = 0,
        *,
        counts: ArrayLike | None = None,
        nonblocking: bool = False,
    ) -> Requests | None:
        """Add a gather of blocks from all ranks to all ranks; see :meth:`collective`."""
        return self._collective("allgather", rank, bytes, 0, comm, counts, nonblocking, True)

    @overload
    def scatter(
        self,
        rank: ArrayLike | None,
        bytes: ArrayLike = 0,
        root: ArrayLike = 0,
        comm: ArrayLike = 0,
        *,
        counts: ArrayLike | None = None,
        nonblocking: Literal[False] = False,
    ) -> None: ...
    @overload
    def scatter(
        self,
        rank: ArrayLike | None,
        bytes: ArrayLike = 0,
        root: ArrayLike = 0,
        comm: ArrayLike = 0,
        *,
        counts: ArrayLike | None = None,
        nonblocking: Literal[True],
    ) -> Requests: ...
    @overload
    def scatter(
        self,
        rank: ArrayLike | None,
        bytes: ArrayLike = 0,
        root: ArrayLike = 0,
        comm: ArrayLike = 0,
        *,
        counts: ArrayLike | None = None,
        nonblocking: bool,
    ) -> Requests | None: ...
    def scatter(
        self,
        rank: ArrayLike | None,
        bytes: ArrayLike = 0,
        root: ArrayLike = 0,
        comm: ArrayLike = 0,
        *,
        counts: ArrayLike | None = None,
        nonblocking: bool = False,
    ) -> Requests | None:
        """Add a scatter of blocks from the root to all ranks; see :meth:`collective`."""
        return self._collective("scatter", rank, bytes, root, comm, counts, nonblocking, True)

    @overload
    def alltoall(
        self,
        rank: ArrayLike | None,
        bytes: ArrayLike = 0,
        comm: ArrayLike = 0,
        *,
        counts: ArrayLike | None = None,
        nonblocking: Literal[False] = False,
    ) -> None: ...
    @overload
    def alltoall(
        self,
        rank: ArrayLike | None,
        bytes: ArrayLike = 0,
        comm: ArrayLike = 0,
        *,
        counts: ArrayLike | None = None,
        nonblocking: Literal[True],
    ) -> Requests: ...
    @overload
    def alltoall(
        self,
        rank: ArrayLike | None,
        bytes: ArrayLike = 0,
        comm: ArrayLike = 0,
        *,
        counts: ArrayLike | None = None,
        nonblocking: bool,
    ) -> Requests | None: ...
    def alltoall(
        self,
        rank: ArrayLike | None,
        bytes: ArrayLike = 0,
        comm: ArrayLike = 0,
        *,
        counts: ArrayLike | None = None,
        nonblocking: bool = False,
    ) -> Requests | None:
        """Add an exchange of one block from each rank to each rank; see :meth:`collective`."""
        return self._collective("alltoall", rank, bytes, 0, comm, counts, nonblocking, True)

    @overload
    def reduce_scatter(
        self,
        rank: ArrayLike | None,
        bytes: ArrayLike = 0,
        comm: ArrayLike = 0,
        *,
        counts: ArrayLike | None = None,
        nonblocking: Literal[False] = False,
    ) -> None: ...
    @overload
    def reduce_scatter(
        self,
        rank: ArrayLike | None,
        bytes: ArrayLike = 0,
        comm: ArrayLike = 0,
        *,
        counts: ArrayLike | None = None,
        nonblocking: Literal[True],
    ) -> Requests: ...
    @overload
    def reduce_scatter(
        self,
        rank: ArrayLike | None,
        bytes: ArrayLike = 0,
        comm: ArrayLike = 0,
        *,
        counts: ArrayLike | None = None,
        nonblocking: bool,
    ) -> Requests | None: ...
    def reduce_scatter(
        self,
        rank: ArrayLike | None,
        bytes: ArrayLike = 0,
        comm: ArrayLike = 0,
        *,
        counts: ArrayLike | None = None,
        nonblocking: bool = False,
    ) -> Requests | None:
        """Add a reduction whose result is scattered, one block per rank; see :meth:`collective`."""
        return self._collective("reduce_scatter", rank, bytes, 0, comm, counts, nonblocking, True)

    @overload
    def scan(
        self, rank: ArrayLike | None, bytes: ArrayLike, comm: ArrayLike = 0, *, nonblocking: Literal[False] = False
    ) -> None: ...
    @overload
    def scan(
        self, rank: ArrayLike | None, bytes: ArrayLike, comm: ArrayLike = 0, *, nonblocking: Literal[True]
    ) -> Requests: ...
    @overload
    def scan(
        self, rank: ArrayLike | None, bytes: ArrayLike, comm: ArrayLike = 0, *, nonblocking: bool
    ) -> Requests | None: ...
    def scan(
        self, rank: ArrayLike | None, bytes: ArrayLike, comm: ArrayLike = 0, *, nonblocking: bool = False
    ) -> Requests | None:
        """Add an inclusive prefix reduction of a vector; see :meth:`collective`."""
        return self._collective("scan", rank, bytes, 0, comm, None, nonblocking, True)

    @overload
    def exscan(
        self, rank: ArrayLike | None, bytes: ArrayLike, comm: ArrayLike = 0, *, nonblocking: Literal[False] = False
    ) -> None: ...
    @overload
    def exscan(
        self, rank: ArrayLike | None, bytes: ArrayLike, comm: ArrayLike = 0, *, nonblocking: Literal[True]
    ) -> Requests: ...
    @overload
    def exscan(
        self, rank: ArrayLike | None, bytes: ArrayLike, comm: ArrayLike = 0, *, nonblocking: bool
    ) -> Requests | None: ...
    def exscan(
        self, rank: ArrayLike | None, bytes: ArrayLike, comm: ArrayLike = 0, *, nonblocking: bool = False
    ) -> Requests | None:
        """Add an exclusive prefix reduction of a vector; see :meth:`collective`."""
        return self._collective("exscan", rank, bytes, 0, comm, None, nonblocking, True)

    @overload
    def neighbor_alltoall(
        self, rank: ArrayLike | None, counts: ArrayLike, comm: ArrayLike = 0, *, nonblocking: Literal[False] = False
    ) -> None: ...
    @overload
    def neighbor_alltoall(
        self, rank: ArrayLike | None, counts: ArrayLike, comm: ArrayLike = 0, *, nonblocking: Literal[True]
    ) -> Requests: ...
    @overload
    def neighbor_alltoall(
        self, rank: ArrayLike | None, counts: ArrayLike, comm: ArrayLike = 0, *, nonblocking: bool
    ) -> Requests | None: ...
    def neighbor_alltoall(
        self, rank: ArrayLike | None, counts: ArrayLike, comm: ArrayLike = 0, *, nonblocking: bool = False
    ) -> Requests | None:
        """Add an exchange with neighbours: triples of neighbour, bytes to, bytes from; see :meth:`collective`."""
        return self._collective("neighbor_alltoall", rank, 0, 0, comm, counts, nonblocking, True)
