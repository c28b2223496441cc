"""Events of a program in words."""

from __future__ import annotations

from ..errors import InvalidInput
from ..units import text
from .program import ANY, NO_COMMUNICATOR, NONE, NULL, REDUCTIONS, ROOTED, CollectiveKind, Event, EventKind, Program

_TO = (EventKind.send, EventKind.isend, EventKind.sendrecv, EventKind.put)
_FROM = (EventKind.recv, EventKind.irecv, EventKind.get)
_TAGGED = (EventKind.send, EventKind.isend, EventKind.sendrecv, EventKind.recv, EventKind.irecv)


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


def describe(event: Event) -> str:
    """One event as a line."""
    kind = event.kind
    words = [event.what.name if event.what else kind.name]
    match kind:
        case EventKind.compute:
            words.append(text(event.amount / 1e12, "s"))
        case EventKind.iteration:
            words.append(str(event.amount))
        case EventKind.comm_create:
            words.append("none" if event.amount == NO_COMMUNICATOR else str(event.amount))
            words.append(f"from {event.comm}")
        case EventKind.wait | EventKind.test:
            words.append(f"request {event.request}")
        case EventKind.waitall | EventKind.waitany:
            words.append("all open" if event.detail is None else "requests " + " ".join(map(str, event.detail)))
        case EventKind.collective if event.what != CollectiveKind.barrier and event.detail is None:
            words.append(text(event.amount, "B"))
        case EventKind.collective if event.detail is not None:
            words.append("bytes " + " ".join(map(str, event.detail)))
        case _ if kind in _TO or kind in _FROM:
            words.append(text(event.amount, "B"))
    if kind in (EventKind.test, EventKind.waitany):
        words.append(f"completed {event.amount}")
    if kind in _TO or kind in _FROM:
        words.append(f"{'from' if kind in _FROM else 'to'} {_peer(event.peer)}")
    if kind in (EventKind.lock, EventKind.unlock, EventKind.flush):
        words.append("all" if event.peer == ANY else _peer(event.peer))
    if event.what in REDUCTIONS and event.tag == 1:
        words.append("in order")
    if event.what in ROOTED:
        words.append(f"root {event.peer}")
    if kind in _TAGGED:
        words.append(f"tag {_tag(event.tag)}")
    if kind == EventKind.sendrecv and event.detail is not None:
        source, tag, size = event.detail
        words.append(f"and {text(size, 'B')} from {_peer(source)} tag {_tag(tag)}")
    if event.comm and kind != EventKind.comm_create:
        words.append(f"comm {event.comm}")
    if event.request and kind not in (EventKind.wait, EventKind.test):
        words.append(f"request {event.request}")
    if event.phase is not None:
        words.append(f"in {event.phase}")
    if event.location is not None:
        words.append(f"at {event.location}")
    return " ".join(words)


def _peer(peer: int) -> str:
    return {ANY: "any", NULL: "none"}.get(peer, str(peer))


def _tag(tag: int) -> str:
    return "any" if tag == ANY else str(tag)
