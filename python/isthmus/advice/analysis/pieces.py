"""A large program cut into pieces that are looked at one after another, so that memory is that of one piece."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import InvalidInput
from ...lowering.lower import lower
from ...recording.by_function import functions_around
from ...schedule import columns
from ...schedule.details import ranges
from ...schedule.program import EVENT_COLUMNS, NONE, Program
from ...schedule.recording import CALL_COLUMNS, PATH_COLUMNS, PATH_TEXTS, Recording
from .event_of_operation import completions, opening
from .excerpt import cuts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...lowering.rules import Collectives
    from ...schedule.schedule import Schedule

#: Operations of a piece, about, and programs that are worth cutting: with this number of events, and of operations.
_OPERATIONS = 600_000
_FEWEST_EVENTS = 250_000
#: Cuts that are tried for each piece.
_TRIALS = 8


class NotInPieces(Exception):
    """The program turns out not to be what its pieces are one after another."""


class Piece(NamedTuple):
    """Some events of every rank, as a program.

    Attributes
    ----------
    program : Program
        With locations and what rows of functions need of the recording.
    schedule : Schedule
    events : array of int64
        Of the whole program.
    completing : array of int64
        See :func:`completions`; of the piece.
    around : (array of int32, list of str), optional
        See :func:`functions_around`; of calls that come before the piece too.
    """

    program: Program
    schedule: Schedule
    events: NDArray[np.int64]
    completing: NDArray[np.int64]
    around: tuple[NDArray[np.int32], list[str]] | None


class Pieces:
    """The pieces of a program; made anew each time that one goes through them.

    Attributes
    ----------
    operations : int
        Of the whole program's schedule, by those of the first piece.
    size : int
        Operations of a piece, about.
    """

    size = _OPERATIONS

    def __init__(
        self,
        program: Program,
        at: NDArray[np.int64],
        collectives: Collectives | None,
        events: int,
    ) -> None:
        self._program, self._at, self._collectives = program, at, collectives
        self._done = (at - at[:, :1]).sum(axis=0)
        self._events = events
        self._around = functions_around(program)
        #: Cuts that have been found to be good, in their order.
        self._good = [0]
        first, _ = self._piece(0)
        self.operations = round(len(first.schedule) / len(first.program) * len(program))
        self._events = max(round(self.size * len(program) / max(self.operations, 1)), 1)
        self._good = [0]

    def __iter__(self) -> Iterator[Piece]:
        number = 0
        while self._good[number] < len(self._done) - 1:
            piece, end = self._piece(number)
            if number + 1 == len(self._good):
                self._good.append(end)
                # The next piece is like this one rather than like the first.
                self._events = max(round(self.size * len(piece.program) / max(len(piece.schedule), 1)), 1)
            number += 1
            yield piece
            self._program.drop()
            if self._around is not None:
                columns.drop(self._around[0])

    @property
    def ranks(self) -> int:
        return self._program.ranks

    @property
    def events(self) -> int:
        """Number of events of the whole program."""
        return len(self._program)

    def like(self, piece: Piece, other: Program) -> Program:
        """The piece with the amounts of another program of the same events."""
        like = replace(piece.program, amount=other.amount[piece.events], recording=None)
        columns.drop(other.amount)
        return like

    def lowered(self, program: Program) -> Schedule:
        return lower(program, collectives=self._collectives)

    def _piece(self, number: int) -> tuple[Piece, int]:
        """The piece from the cut of this number on, and its last cut."""
        begin, last = self._good[number], len(self._done) - 1
        if number + 1 < len(self._good):
            tried = range(self._good[number + 1], self._good[number + 1] + 1)
        else:
            end = int(np.searchsorted(self._done, self._done[begin] + self._events))
            if end > last or self._done[last] - self._done[end] < self._events / 2:
                end = last
            end = max(end, begin + 1)
            tried = range(end, min(end + _TRIALS, last + 1))
        for end in tried:
            piece = self._made(begin, end)
            if piece is not None:
                return piece, end
        raise NotInPieces

    def _made(self, begin: int, end: int) -> Piece | None:
        """The events between two cuts; None where requests are open at the end of it."""
        program, events = picked(self._program, self._at[:, begin], self._at[:, end])
        completing = completions(program)
        at = opening(program)
        if end < len(self._done) - 1 and (completing[at] == at).any():
            return None
        around = None if self._around is None else (self._around[0][events], self._around[1])
        try:
            return Piece(program, self.lowered(program), events, completing, around)
        except InvalidInput:
            return None


def pieces_of(program: Program, collectives: Collectives | None, most: int) -> Pieces | None:
    """The program in pieces; None where it has fewer operations than so many, about, or cannot be cut.

    Pieces end after a blocking collective of all ranks, where no request is open. Whether messages pass from one into
    another shows when they are simulated.
    """
    if len(program) < _FEWEST_EVENTS:
        return None
    at = cuts(program)
    if at is None:
        return None
    end = program.first[1:, None].astype(np.int64)
    at = np.concatenate([at, end], axis=1) if (at[:, -1:] != end).any() else at
    try:
        found = Pieces(program, at, collectives, _FEWEST_EVENTS // 4)
    except NotInPieces:
        return None
    return found if found.operations > most else None


def picked(program: Program, begin: NDArray[np.int64], end: NDArray[np.int64]) -> tuple[Program, NDArray[np.int64]]:
    """The program of some events of every rank, and which these are."""
    events = ranges(begin, end - begin)
    taken: dict[str, Any] = {name: getattr(program, name)[events] for name in EVENT_COLUMNS}
    location = program.location[events] if len(program.location) else program.location
    first = np.append(0, np.cumsum(end - begin)).astype(np.uint64)
    part = replace(program, first=first, location=location, phase=np.empty(0, np.uint32), recording=None, **taken)
    if program.recording is None:
        return part, events
    return replace(part, recording=_calls(program.recording, begin, end, first.astype(np.int64))), events


def _calls(
    recording: Recording, begin: NDArray[np.int64], end: NDArray[np.int64], first: NDArray[np.int64]
) -> Recording:
    """Functions of the calls that these events come of."""
    of = recording.first.astype(np.int64)
    mine = []
    for rank in range(recording.ranks):
        event = recording.event[of[rank] : of[rank + 1]]
        mine.append(of[rank] + np.flatnonzero((event >= begin[rank]) & (event < end[rank])))
    count = np.array([len(calls) for calls in mine])
    calls = np.concatenate(mine)
    return _functions_only(
        recording,
        first=np.append(0, np.cumsum(count)).astype(np.uint64),
        function=recording.function[calls],
        event=recording.event[calls] + np.repeat(first[:-1] - begin, count),
        **dict.fromkeys(PATH_COLUMNS, np.empty(0, np.uint32)),
        **dict.fromkeys(PATH_TEXTS, ()),
        counters=None,
    )


def functions_only(program: Program) -> Program:
    """The program with what a prediction needs of its recording: of calls their functions, paths and events."""
    r = program.recording
    return program if r is None else replace(program, recording=_functions_only(r, function=r.function, event=r.event))


def _functions_only(recording: Recording, **columns_of_calls: Any) -> Recording:
    calls = len(columns_of_calls["function"])
    kept = {name: columns.repeated(dtype(0), calls) for name, dtype in CALL_COLUMNS.items()}
    kept["peer"] = columns.repeated(np.int32(-1), calls)
    kept["site"] = columns.repeated(np.uint32(NONE), calls)
    return replace(recording, **kept | columns_of_calls)
