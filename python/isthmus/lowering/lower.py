"""From programs to schedules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import _core
from ..collectives import algorithms, named
from ..collectives.flavours import number, split
from ..collectives.order import keeps_order, require_order
from ..errors import InvalidInput
from ..schedule.program import CollectiveKind, EventKind, Program
from ..schedule.schedule import Schedule
from .marked import in_order
from .rules import Collectives, Rules, triples

#: From more ranks on, a ring of all ranks for a communicator is more than any MPI library does.
_MANY = 256


def lower(
    program: Program,
    *,
    collectives: Collectives | None = None,
    progress_stream: int = 0,
    ordered: Sequence[str] = (),
) -> Schedule:
    """Lower a program to a schedule: calls, requests and collectives become operations and dependencies.

    Parameters
    ----------
    program : Program
    collectives : mapping of str to algorithm or list of rules, or DecisionTable, optional
        Algorithms by collective: a name, a pair (name, options), or a list of rules. A rule is (bytes, algorithm) or
        (ranks, bytes, algorithm) with upper limits, None for no limit; the first rule whose limits are not exceeded
        applies. The size of a collective is that of its event, or the mean of its counts if all ranks know them
        (gather, allgather, scatter, reduce_scatter). Other collectives take the default, see
        :func:`isthmus.collectives.algorithms`. ``fence`` is a barrier, ``comm_create`` an allgather of 8 bytes: with
        more than 256 ranks allgathers of up to 8 bytes in such a program go by dissemination, as in MPI libraries. A
        table, or the choices of a library (:func:`isthmus.tuning.defaults.defaults`), is consulted for every number of
        ranks in the program; an algorithm that cannot run there is replaced as
        :func:`isthmus.tuning.runnable.runnable` describes. The options ``access``, ``sync`` ("none" or "my") and
        ``protocol`` set the flavour, see :func:`isthmus.collective`. Nonblocking collectives follow the rules of
        blocking ones.
    progress_stream : int
        CPU stream on which operations of nonblocking collectives run. 0 is the stream of the program, which then waits
        until they have started; any other is a progress thread, to which the program hands them over.

    ordered : sequence of str
        Reductions, such as ``["allreduce"]``, whose operators do not commute. If ``collectives`` is a mapping, an
        algorithm that does not combine operands in rank order is refused; if a table or the default chooses one, it is
        replaced. Reductions that the program marks (``tag`` 1, as recordings do) are always treated this way, except
        calls of reduce with a root other than 0, for which no algorithm keeps the order.

    Returns
    -------
    Schedule
        Messages of the program in communicator c get communicator 2 c, those of collectives 2 c + 1, with different
        tags. Every operation is posted after those before it in the program have started, and after everything that the
        program waited for is done. Puts and gets complete at a fence, flush or unlock; a lock is a round trip.

    Raises
    ------
    InvalidInput
        If a collective or algorithm is unknown (the message lists the known ones), or the program cannot be lowered
        (the message names rank, event and reason). To check that ranks agree with each other, call
        ``program.validate()``; to check that messages match, call ``validate()`` of the schedule.

    Examples
    --------
    >>> import isthmus
    >>> b = isthmus.ProgramBuilder(4)
    >>> b.allreduce(None, 1000)
    >>> print(lower(b.build(), collectives={"allreduce": [(64, "recursive_doubling"), (None, "ring")]}))
    Schedule of 4 ranks, 60 operations (24 send, 24 recv, 12 reduce), 6 kB in 24 messages, 80 dependencies
    """
    if not isinstance(progress_stream, (int, np.integer)) or not 0 <= progress_stream <= 255:
        raise InvalidInput(f"progress_stream is {progress_stream!r}: must be 0 to 255")
    chosen = isinstance(collectives, Mapping)
    if collectives is not None and not isinstance(collectives, Mapping):
        if not hasattr(collectives, "for_program"):
            raise InvalidInput(f"collectives: {type(collectives).__name__}; must be a mapping or a decision table")
        collectives = collectives.for_program(program)
    if ordered:
        collectives = _in_order(program, collectives or {}, ordered, chosen)
    if (
        program.ranks > _MANY
        and "allgather" not in (collectives or {})
        and (program.kind == EventKind.comm_create).any()
    ):
        collectives = {**(collectives or {}), "allgather": [(8, "dissemination"), (None, "ring")]}
    rules = _all_rules(collectives or {})
    apart = _all_rules(in_order(program, collectives or {}, chosen))
    p = program
    arrays = _core.lower(
        p.ranks, p.first, p.kind, p.what, p.peer, p.tag, p.comm, p.amount, p.request, p.detail, p.details,
        p.comm_first, p.comm_ranks, rules, apart, int(progress_stream),
    )  # fmt: skip
    return Schedule(arrays)


def _in_order(
    program: Program, collectives: Mapping[str, Rules], kinds: Sequence[str], chosen: bool
) -> Mapping[str, Rules]:
    """Rules whose algorithms combine operands in the order of ranks; ``chosen``: refuse others."""
    out = dict(collectives)
    for kind in kinds:
        called = (program.kind == EventKind.collective) & (program.what == getattr(CollectiveKind, kind, -1))
        root = int(program.peer[called].max(initial=0)) if kind == "reduce" else 0
        first = next((name for name in algorithms(kind) if keeps_order(kind, name, root=root)), None)
        rules: list[tuple[Any, ...]] = []
        for ranks, most, algorithm in triples(kind, collectives[kind]) if kind in collectives else ():
            if chosen or first is None:
                require_order(kind, algorithm, ranks=program.ranks, root=root)
            rules.append(
                (ranks, most, algorithm if keeps_order(kind, algorithm, ranks=ranks or 0, root=root) else first)
            )
        require_order(kind, first, root=root)
        assert first is not None, "otherwise it was refused"
        out[kind] = [*rules, (None, None, first)]
    return out


def _all_rules(collectives: Mapping[str, Rules]) -> list[tuple[Any, ...]]:
    return [(kind, *rule) for kind, choice in collectives.items() for rule in _rules(kind, choice)]


def _rules(kind: str, choice: Rules) -> list[tuple[int | None, int | None, str, list[tuple[str, list[int]]], int]]:
    """The choice as rules: most ranks, most bytes, name, options and flavour."""
    out = []
    for ranks, most, algorithm in triples(kind, choice):
        own, flavour = split(algorithm)
        many = None if ranks is None or ranks >= 2**32 else ranks
        out.append((many, most, *named(own), number(kind, flavour)))
    return out
