"""From programs to schedules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .. import _core
from ..errors import InvalidInput
from .schedule import Schedule

if TYPE_CHECKING:
    from .program import Program

#: An algorithm for all sizes, or pairs of most bytes (None: any) and algorithm.
Choice = str | Sequence[tuple[int | None, str]]


def lower(program: Program, *, collectives: Mapping[str, Choice] | None = None, progress_stream: int = 0) -> Schedule:
    """The schedule of a program: blocking calls, requests and collectives become operations and dependencies.

    Parameters
    ----------
    program : Program
    collectives : mapping of str to str or list of pairs, optional
        Algorithms by collective: a name, or pairs of a size in bytes (None: any) and a name, of which the first counts
        whose size is not exceeded. The size of a collective is that of its event; where that has counts that all ranks
        know (gather, allgather, scatter, reduce_scatter), their mean. What is not chosen takes the default, see
        :func:`isthmus.collectives.algorithms`. ``fence`` is a barrier, ``comm_create`` an allgather of 8 bytes.
    progress_stream : int
        CPU stream on which operations of nonblocking collectives run: 0 is that of the program, which then waits until
        they have started; another one is a progress thread, to which the program hands them over.

    Returns
    -------
    Schedule
        Messages of the program are in communicator 2 c, those of collectives in 2 c + 1, told apart by their tags.
        Every operation is posted after those before it in the program have started, and after what the program waited
        for is done. Puts and gets are done where a fence, flush or unlock says so; a lock is a round trip.

    Raises
    ------
    InvalidInput
        For unknown collectives and algorithms (the message lists the allowed ones), and for programs that cannot be
        followed: the message names rank, event and reason. Whether ranks agree with each other is for
        ``program.validate()`` to say, and whether messages match for ``validate()`` of the schedule.

    Examples
    --------
    >>> import isthmus
    >>> b = isthmus.ProgramBuilder(4)
    >>> b.allreduce(None, 1000)
    >>> print(lower(b.build(), collectives={"allreduce": [(64, "recursive_doubling"), (None, "ring")]}))
    Schedule of 4 ranks, 60 operations (24 send, 24 recv, 12 reduce), 6 kB in 24 messages, 80 dependencies
    """
    if not isinstance(progress_stream, (int, np.integer)) or not 0 <= progress_stream <= 255:
        raise InvalidInput(f"progress_stream is {progress_stream!r}: 0 to 255 is allowed")
    rules = [(kind, most, name) for kind, choice in (collectives or {}).items() for most, name in _pairs(kind, choice)]
    p = program
    arrays = _core.lower(
        p.ranks, p.first, p.kind, p.what, p.peer, p.tag, p.comm, p.amount, p.request, p.detail, p.details,
        p.comm_first, p.comm_ranks, rules, int(progress_stream),
    )  # fmt: skip
    return Schedule(arrays)


def _pairs(kind: str, choice: Choice) -> list[tuple[int | None, str]]:
    """The choice as pairs; a name is one without a limit."""
    if not isinstance(choice, (str, Sequence)):
        raise InvalidInput(
            f"rule {choice!r} of {kind}: an algorithm, or pairs of most bytes and algorithm, are allowed"
        )
    pairs: list[tuple[int | None, str]] = [(None, choice)] if isinstance(choice, str) else list(choice)
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not isinstance(pair[1], str) or not pair[1]:
            raise InvalidInput(
                f"rule {pair!r} of {kind}: an algorithm, or pairs of most bytes and algorithm, are allowed"
            )
        if pair[0] is not None and (not isinstance(pair[0], (int, np.integer)) or not 0 <= pair[0] < 2**63):
            raise InvalidInput(f"rule {pair!r} of {kind}: most bytes are a whole number below 2^63, or None for any")
    return [(None if most is None else int(most), name) for most, name in pairs]
