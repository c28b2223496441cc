"""Selection of events from the columns of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import InvalidInput
from .event import NONE, CollectiveKind, Event, EventKind

if TYPE_CHECKING:
    from .program import Program


def events_of(program: Program, rank: int) -> list[Event]:
    """Events of one rank."""
    if not 0 <= rank < program.ranks:
        raise InvalidInput(f"rank {rank} does not exist: ranks are 0 to {program.ranks - 1}")
    return [event_at(program, i) for i in range(int(program.first[rank]), int(program.first[rank + 1]))]


def event_at(program: Program, index: int) -> Event:
    """One event, counted over all ranks."""
    kind, at = EventKind(program.kind[index]), int(program.detail[index])

    def name(column: str, names: tuple[str, ...]) -> str | None:
        values = getattr(program, column)
        return None if not len(values) or values[index] == NONE else names[values[index]]

    return Event(
        kind,
        CollectiveKind(program.what[index]) if kind == EventKind.collective else None,
        int(program.peer[index]),
        int(program.tag[index]),
        int(program.comm[index]),
        int(program.amount[index]),
        int(program.request[index]),
        tuple(program.details[at + 1 : at + 1 + program.details[at]].tolist()) if at else None,
        name("location", program.locations),
        name("phase", program.phases),
    )
