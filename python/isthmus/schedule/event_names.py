"""Names of events in messages, and where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .event import CollectiveKind, EventKind

if TYPE_CHECKING:
    from .program import Program


def name_of(p: Program, event: int) -> str:
    """The name of an event in messages."""
    if p.kind[event] == EventKind.collective and 0 < p.what[event] <= len(CollectiveKind):
        return CollectiveKind(p.what[event]).name
    return EventKind(p.kind[event]).name if 0 < p.kind[event] <= len(EventKind) else f"kind {p.kind[event]}"


def place_of(p: Program, event: int) -> str:
    """The position of an event, for messages."""
    rank = int(np.searchsorted(p.first, event, side="right")) - 1
    return f"rank {rank}, event {event - int(p.first[rank])}"
