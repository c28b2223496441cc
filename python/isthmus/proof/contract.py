"""The contract of a schedule: the content of its buffers at the start, and the required content at the end."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..errors import InvalidInput


class Contract:
    """Specification of what a schedule has to do; made by :meth:`collective` and :meth:`of`.

    Parameters
    ----------
    core : _core.Contract
        The contract in the core.
    """

    __slots__ = ("_core",)

    def __init__(self, core: _core.Contract) -> None:
        self._core = core

    @classmethod
    def collective(
        cls,
        kind: str,
        *,
        ranks: int,
        bytes: int = 0,
        root: int = 0,
        counts: ArrayLike | None = None,
        in_place: bool = True,
        ordered: bool = False,
        sync: str | Sequence[str] = "none",
    ) -> Contract:
        """Return the contract of a collective on the buffers "input" and "output".

        Parameters
        ----------
        kind, ranks, bytes, root, counts
            As for :func:`isthmus.collective`.
        in_place : bool
            The contribution of a rank to its own result is in the output at the start (MPI_IN_PLACE).
        ordered : bool
            Contributions must be combined in rank order, for operators that do not commute.
        sync : {"none", "my", "all"} or pair of them
            On entry and exit, when memory may be used: at any time; while its rank is in the collective; after all
            ranks have entered, and before any of them leaves.

        Raises
        ------
        InvalidInput
            If the collective is unknown, the root is not a rank, or counts do not fit.

        Examples
        --------
        >>> print(Contract.collective("allreduce", ranks=4, bytes=8))
        allreduce of 4 ranks
        """
        from ..collectives.flavours import synchronisation
        from ..collectives.single import flat, number

        enter, leave = synchronisation(sync)
        numbers = {name: number(name, value) for name, value in (("ranks", ranks), ("bytes", bytes), ("root", root))}
        return cls(
            _core.Contract.of_collective(
                kind,
                **numbers,
                counts=flat(kind, numbers["ranks"], counts),
                in_place=bool(in_place),
                ordered=bool(ordered),
                enter=enter,
                leave=leave,
            )
        )

    @classmethod
    def of(
        cls,
        ranks: int,
        *,
        start: Iterable[Sequence[object]],
        end: Iterable[Sequence[object]],
        constant: Sequence[str] = (),
        ordered: bool = False,
        synchronizes: bool = False,
        name: str = "the contract",
    ) -> Contract:
        """Make a contract of your own.

        Parameters
        ----------
        ranks : int
        start : rows of (rank, buffer, offset, bytes, contributor, origin)
            Initial content: these bytes of the buffer hold the contribution of rank ``contributor`` from its byte
            ``origin`` on. All other bytes must not be read.
        end : rows of (rank, buffer, offset, bytes, contributors, origin)
            Required final content; ``contributors`` is a rank, or (first, last) of a range of ranks whose contributions
            are combined.
        constant : names of buffers
            Buffers that must not be written.
        ordered : bool
            Contributions must be combined in rank order.
        synchronizes : bool
            No rank may finish before every rank has started.
        name : str
            Name of the contract in messages.

        Raises
        ------
        InvalidInput
            If a row has another shape, or a rank is out of range.

        Examples
        --------
        Rank 0 sends the second half of its data to rank 1:

        >>> print(Contract.of(2, start=[(0, "data", 0, 80, 0, 0)], end=[(1, "data", 0, 40, 0, 40)], name="half"))
        half of 2 ranks
        """
        names: dict[str, int] = {}
        rows = {what: _rows(what, given, names) for what, given in (("start", start), ("end", end))}
        return cls(
            _core.Contract.of_rows(
                name, ranks, list(names), **rows, constant=list(constant), ordered=ordered, synchronizes=synchronizes
            )
        )

    @property
    def core(self) -> _core.Contract:
        """The contract in the core."""
        return self._core

    @property
    def name(self) -> str:
        """Name of the contract in messages."""
        return self._core.name

    @property
    def ranks(self) -> int:
        """Number of ranks of the schedules that it applies to."""
        return self._core.ranks

    def __str__(self) -> str:
        order = ", in the order of ranks" if self._core.ordered else ""
        return f"{self.name} of {self.ranks} {'rank' if self.ranks == 1 else 'ranks'}{order}"


def _rows(what: str, given: Iterable[Sequence[object]], names: dict[str, int]) -> NDArray[np.uint64]:
    """Rows as the core takes them: rank, number of the buffer, offset, bytes, first, one after the last, origin."""
    out: list[int] = []
    for i, row in enumerate(given):
        if len(row) != 6:
            raise InvalidInput(
                f"{what}, row {i}: {len(row)} values, expected rank, buffer, offset, bytes, contributor, origin"
            )
        rank, buffer, offset, size, contributors, origin = row
        first, last = contributors if isinstance(contributors, (tuple, list)) else (contributors, contributors)
        numbers = (rank, 0, offset, size, first, last, origin)
        if not isinstance(buffer, str) or not all(isinstance(x, (int, np.integer)) and x >= 0 for x in numbers):
            raise InvalidInput(f"{what}, row {i}: {tuple(row)!r}: expected a name of a buffer and whole numbers")
        whole = [operator.index(x) for x in numbers if isinstance(x, (int, np.integer))]
        whole[1] = names.setdefault(buffer, len(names))
        whole[5] += 1
        out += whole
    if out and max(out) >= 2**63:
        raise InvalidInput(f"{what}: numbers must be below 2^63")
    return np.array(out, np.uint64)
