"""Pieces of a program that are a program together: for simulations that the whole is too large for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InvalidInput
from ...lowering.lower import lower
from ...schedule.details import ranges
from ...schedule.program import EVENT_COLUMNS, CollectiveKind, EventKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...schedule.program import Program

#: Pieces, spread over the whole program, and cuts that are tried for each.
_PIECES, _TRIALS = 8, 8


def excerpt(program: Program, events: int, *, located: bool = False) -> Program | None:
    """About so many events of a program, in pieces from its beginning to its end.

    Pieces begin and end after a blocking collective of all ranks, with all messages received and all requests done, so
    that each is a program; together they are one that has phases as the whole has them.

    Parameters
    ----------
    program : Program
    events : int
        Events of all ranks together, about; a piece reaches at least from one collective of all ranks to the next.
    located : bool
        Keep locations and phases.

    Returns
    -------
    Program or None
        Without recording, and without locations and phases unless they are asked for; None where the program cannot be
        cut, or the pieces would be more than half of it.
    """
    at = cuts(program)
    if at is None:
        return None
    first = program.first[:-1].astype(np.int64)
    done = (at - first[:, None]).sum(axis=0)
    pieces: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    free = 0  # the first cut that no piece before has
    for number in range(_PIECES):
        begin = max(int(np.searchsorted(done, number * len(program) / _PIECES)), free)
        for start in range(begin, begin + _TRIALS):
            if start + 1 >= len(done):
                break
            stop = max(int(np.searchsorted(done, done[start] + events / _PIECES)), start + 1)
            if stop < len(done) and _stands_alone(_picked(program, [(at[:, start], at[:, stop])])):
                pieces.append((at[:, start], at[:, stop]))
                free = stop
                break
    if len(pieces) < _PIECES or 2 * sum(int((end - begin).sum()) for begin, end in pieces) > len(program):
        return None
    found = _picked(program, pieces, located)
    return found if _stands_alone(found) else None


def cuts(program: Program) -> NDArray[np.int64] | None:
    """Beginning and places after collectives of all ranks, shape (ranks, cuts), of the communicator that has most."""
    p = program
    whole = np.diff(p.comm_first.astype(np.int64)) == p.ranks
    blocking = (p.kind == EventKind.collective) & (p.request == 0)
    event = np.flatnonzero(blocking & (p.what != CollectiveKind.neighbor_alltoall))
    event = event[whole[p.comm[event]]]
    if not len(event):
        return None
    event = event[p.comm[event] == np.argmax(np.bincount(p.comm[event]))]
    # The n-th on every rank is one and the same.
    count = np.diff(np.searchsorted(event, p.first.astype(np.int64)))
    if (count != count[0]).any():
        return None
    return np.concatenate([p.first[:-1, None].astype(np.int64), event.reshape(p.ranks, -1) + 1], axis=1)


def _picked(
    program: Program, pieces: list[tuple[NDArray[np.int64], NDArray[np.int64]]], located: bool = False
) -> Program:
    """The program of these events only: of every rank from a first up to a last one, piece after piece."""
    begin, end = (np.stack(side, axis=1) for side in zip(*pieces, strict=True))
    events = ranges(begin.reshape(-1), (end - begin).reshape(-1))
    columns: dict[str, Any] = {name: getattr(program, name)[events] for name in EVENT_COLUMNS}
    first = np.append(0, np.cumsum((end - begin).sum(axis=1))).astype(np.uint64)
    for name in ("location", "phase"):
        column = getattr(program, name)
        columns[name] = column[events] if located and len(column) else np.empty(0, np.uint32)
    return replace(program, first=first, recording=None, **columns)


def _stands_alone(program: Program) -> bool:
    """Return whether the excerpt opens and completes every request, and sends and receives every message."""
    try:
        program.validate()
        lower(program).validate()
    except InvalidInput:
        return False
    return True
