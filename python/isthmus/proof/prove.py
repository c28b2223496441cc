"""The verb ``prove``: whether a schedule is right in every execution."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from numpy.typing import ArrayLike

from .. import _core
from ..collectives import Registered
from ..errors import InvalidInput
from ..schedule.schedule import Schedule
from ..schedule.summary import counted
from ..tabular import Shown
from ..units import text
from .contract import Contract

#: Arguments of a call that a contract depends on, and those that it does not depend on.
_CALL = ("ranks", "bytes", "root", "counts", "in_place")
_FLAVOUR = ("access", "sync", "protocol")


class Call(TypedDict, total=False):
    """A call of a collective: arguments of :func:`isthmus.collective`."""

    ranks: int
    bytes: int
    root: int
    counts: ArrayLike | None
    in_place: bool
    access: str
    sync: str | Sequence[str]
    protocol: str


@dataclass(frozen=True)
class Defect:
    """One defect of a schedule.

    Attributes
    ----------
    kind : str
        unwritten, twice, offset, order, result, constant, race, unmatched, size, timing, deadlock or synchronisation;
        docs/explanation/proof.md says what they mean.
    rank : int
    operation : int or None
        Operation number within the rank; None for a defect of the final state.
    text : str
        A sentence that describes the defect.
    """

    kind: str
    rank: int
    operation: int | None
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


@dataclass(frozen=True)
class Proof(Shown):
    """Result of a proof.

    Attributes
    ----------
    contract : str
        Contract that was to be proved.
    defects : tuple of Defect
        The first defects; empty if the schedule is proved.
    count : int
        Number of all defects. One mistake may show in several places.
    operations, messages : int
    bytes_checked : int
        Bytes, over all ranks, whose final content the contract specifies.
    needs_eager : bool
        The schedule completes only if sends do not wait for their receives.
    seconds : float
    """

    contract: str
    defects: tuple[Defect, ...]
    count: int
    operations: int
    messages: int
    bytes_checked: int
    needs_eager: bool
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether the schedule is proved."""
        return self.count == 0

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        size = f"{counted(self.operations, 'operation')}, {counted(self.messages, 'message')}"
        took = f"in {text(self.seconds, 's', 3)}"
        if self.ok:
            return f"{self.contract}: proved; {size}, {text(self.bytes_checked, 'B')} checked {took}"
        lines = [f"{self.contract}: not proved; {counted(self.count, 'defect')} in {size} {took}"]
        lines += [f"  {defect}" for defect in self.defects]
        if self.count > len(self.defects):
            lines.append(f"  ... and {self.count - len(self.defects)} more")
        return "\n".join(lines)


def prove(
    what: Schedule | Registered | str,
    as_: Contract | str | None = None,
    *,
    ordered: bool = False,
    most_defects: int = 10,
    **call: Unpack[Call],
) -> Proof:
    """Prove that every execution of a schedule fulfils its contract, or report where it does not.

    Parameters
    ----------
    what : Schedule, Registered or str
        A schedule whose operations name buffers; one collective in a line, such as
        ``"allreduce:ranks=16,bytes=1kB,algorithm=ring"``; or an algorithm of your own, as
        :func:`isthmus.collectives.register` returns it.
    as_ : Contract or str, optional
        What the schedule has to do: a contract, or a collective in one line. By default the collective of ``what``.
    ordered : bool
        Require that contributions are combined in rank order, for operators that do not commute.
    most_defects : int
        Largest number of defects to report.
    **call
        For an algorithm of your own: arguments of :func:`isthmus.collective` that describe the call, such as
        ``ranks=16, bytes=1000``.

    Returns
    -------
    Proof
        True in a condition if the schedule is proved.

    Raises
    ------
    InvalidInput
        If the schedule is invalid or names no buffers, the contract does not fit it, or arguments of a call are given
        without an algorithm.
    Unsupported
        If a receive from any rank, or of any tag, gets a message that depends on timing.

    Notes
    -----
    The schedule is run once with sets of contributions in place of numbers. This run represents all executions because
    two more things are checked: messages match in one way only, whatever the timing, and no two operations that may run
    at the same time access the same bytes if one of them writes. Sends wait for their receives, the strictest case that
    MPI allows.
    Where all ranks do the same, seen from their places on the circle of ranks, rank 0 is run for all.

    Examples
    --------
    >>> prove("allreduce:ranks=16,bytes=1kB,algorithm=ring").ok
    True
    """
    from ..collectives import Registered, collective
    from ..schedule.schedule import Schedule

    if isinstance(what, Registered):
        wrong = [name for name in call if name not in (*_CALL, *_FLAVOUR)]
        if wrong or "ranks" not in call:
            raise InvalidInput(
                f"{f'argument {wrong[0]!r}' if wrong else 'ranks=... is missing'}: {what} is proved for a call, "
                f"given by {', '.join((*_CALL, *_FLAVOUR))}"
            )
        if as_ is None:
            given: dict[str, Any] = {name: value for name, value in call.items() if name in _CALL}
            as_ = Contract.collective(what.kind, ordered=ordered, sync=call.get("sync", "my"), **given)
        what = collective(what.kind, algorithm=what, buffers=True, **call)
    elif call:
        raise InvalidInput(f"{', '.join(call)}: arguments of a call apply only to an algorithm returned by register()")
    schedule, line = (what, None) if isinstance(what, Schedule) else _generated(what)
    if as_ is None:
        if line is None:
            raise InvalidInput(
                "say what the schedule must do: as_= a collective such as 'bcast:ranks=8,bytes=8', or a Contract"
            )
        as_ = line
    contract = as_ if isinstance(as_, Contract) else contract_of_line(as_, ordered=ordered)
    if not isinstance(most_defects, int) or most_defects < 1:
        raise InvalidInput(f"most_defects is {most_defects!r}: must be a whole number from 1")
    start = time.perf_counter()
    defects, count, operations, messages, checked, needs_eager, _ = _core.prove(
        schedule.arrays, contract.core, most_defects
    )
    seconds = time.perf_counter() - start
    found = tuple(Defect(kind, rank, None if op < 0 else op, words) for kind, rank, op, words in defects)
    return Proof(str(contract), found, count, operations, messages, checked, needs_eager, seconds)


def contract_of_line(line: str, *, ordered: bool = False) -> Contract:
    """Return the contract of ``allreduce:ranks=16,bytes=1kB,in_place=no,sync=all``; the algorithm is ignored."""
    from ..one_line import collective_arguments

    arguments = collective_arguments(line)
    if arguments.get("count", 1) != 1:
        raise InvalidInput(f"{line}: prove one collective at a time: several would use the same buffers")
    for name in ("algorithm", "access", "protocol", "count", "under_way"):
        arguments.pop(name, None)
    return Contract.collective(ordered=ordered, **arguments)


def _generated(line: str) -> tuple[Schedule, str]:
    from ..collectives import collective
    from ..one_line import collective_arguments

    arguments: dict[str, Any] = collective_arguments(line)
    # What collective() takes where nothing is said.
    return collective(**arguments, buffers=True), line if "sync" in arguments else f"{line},sync=my"
