"""The verb ``pattern``: who sends how much to whom in a Program or a Schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import _core
from ..errors import InvalidInput
from ..schedule import columns
from ..schedule.pattern import Pattern
from ..schedule.program import NULL, SENDS, EventKind, Program
from ..schedule.schedule import Schedule
from .lower import lower
from .rules import Collectives

if TYPE_CHECKING:
    from numpy.typing import NDArray


def pattern(what: Program | Schedule, collectives: Collectives | None = None) -> Pattern:
    """Return the communication pattern of a program or schedule: who sends how much to whom.

    Parameters
    ----------
    what : Program or Schedule
        Sends and puts count for the rank that calls them, gets for the rank that the bytes come from. Receives are not
        counted, so that wildcards do not matter.
    collectives : mapping of str to algorithm, or DecisionTable, optional
        For a Program: lower it with these algorithms, as for :func:`isthmus.lower`, and count messages of collectives
        too. By default only point-to-point and one-sided messages count.

    Returns
    -------
    Pattern

    Examples
    --------
    >>> import isthmus
    >>> b = isthmus.ProgramBuilder(2)
    >>> b.send(0, 1, 8)
    >>> b.recv(1, isthmus.ANY, 8)
    >>> print(pattern(b.build()))
    Pattern of 2 ranks, 1 message of 8 B between 1 pair, at most 1 partner of a rank
    """
    if isinstance(what, Program):
        if collectives is None:
            return _of_program(what)
        schedule = lower(what, collectives=collectives)
    elif not isinstance(what, Schedule):
        raise InvalidInput(f"a pattern of {type(what).__name__}: must be a Program or a Schedule")
    elif collectives is not None:
        raise InvalidInput("collectives: a Schedule has none left to choose algorithms for; give a Program")
    else:
        schedule = what
    first, peer, sizes, numbers, picoseconds = _core.pattern_of_schedule(schedule.arrays)
    return Pattern(first, peer, sizes, numbers, picoseconds / 1e12)


def _of_program(program: Program) -> Pattern:
    found: list[Pattern] = []
    load = np.zeros(program.ranks)
    for part in columns.blocks(len(program)):
        found.append(_of_events(program, part))
        computing = part.start + np.flatnonzero(program.kind[part] == EventKind.compute)
        rank = np.searchsorted(program.first, computing, side="right") - 1
        load += np.bincount(rank, weights=program.amount[computing], minlength=program.ranks)
        if len(found) > 1 and part.stop < len(program):
            found = [together(program.ranks, found, np.zeros(1))]
    return together(program.ranks, found, load / 1e12)


def together(ranks: int, found: list[Pattern], load: NDArray[np.float64]) -> Pattern:
    """Return one pattern with all transfers of several patterns."""
    none = [np.empty(0, np.uint32)]
    return Pattern.of(
        ranks,
        source=np.concatenate(none + [p.sources() for p in found]),
        target=np.concatenate(none + [p.peer for p in found]),
        bytes=np.concatenate(none + [p.bytes for p in found]),
        messages=np.concatenate(none + [p.messages for p in found]),
        load=load,
    )


def _of_events(program: Program, part: slice) -> Pattern:
    """Pattern of some events, without computation."""
    index = part.start + np.flatnonzero(np.isin(program.kind[part], SENDS) & (program.peer[part] != NULL))
    source = (np.searchsorted(program.first, index, side="right") - 1).astype(np.uint32)
    peer, comm = program.peer[index].astype(np.int64), program.comm[index]
    begin, end = program.comm_first.view(np.int64)[comm], program.comm_first.view(np.int64)[comm + np.uint32(1)]
    if (wrong := (peer < 0) | (peer >= end - begin)).any():
        at = int(np.argmax(wrong))
        event = index[at] - int(program.first[source[at]])
        raise InvalidInput(f"rank {source[at]}, event {event}: peer {peer[at]} is not in communicator {comm[at]}")
    target = program.comm_ranks[begin + peer]
    fetched = program.kind[index] == EventKind.get
    source, target = np.where(fetched, target, source), np.where(fetched, source, target)
    return Pattern.of(program.ranks, source=source, target=target, bytes=program.amount[index])
