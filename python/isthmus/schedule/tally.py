"""What a program has, in numbers that add up: those of pieces make those of the whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..units import text
from . import columns
from .event import NULL, SENDS, CollectiveKind, EventKind
from .summary import counted

if TYPE_CHECKING:
    from .program import Program


@dataclass(frozen=True)
class Tally:
    """Numbers of a program.

    Attributes
    ----------
    ranks, communicators, messages, bytes, picoseconds : int
    events : tuple of int
        By kind, see :class:`.event.EventKind`.
    calls : tuple of float
        Collectives by kind; each member of a communicator calls one part of them.
    iterations : frozenset of int
        Numbers of iterations that begin.
    phases : tuple of str
    origin : str
    """

    ranks: int
    communicators: int
    messages: int
    bytes: int
    picoseconds: float
    events: tuple[int, ...]
    calls: tuple[float, ...]
    iterations: frozenset[int]
    phases: tuple[str, ...]
    origin: str

    @classmethod
    def of(cls, program: Program) -> Tally:
        """The numbers of a program."""
        events = np.bincount(program.kind, minlength=len(EventKind) + 1)
        sends = columns.among(program.kind, SENDS) & (program.peer != NULL)
        called = program.kind == EventKind.collective
        part = 1.0 / columns.lengths(program.comm_first)[program.comm[called]]
        calls = np.bincount(program.what[called], weights=part, minlength=len(CollectiveKind) + 1)
        marks = program.amount[program.kind == EventKind.iteration]
        return cls(
            program.ranks, program.communicators, int(sends.sum()), int(program.amount[sends].sum()),
            float(program.amount[program.kind == EventKind.compute].sum(dtype=np.float64)),
            tuple(events.tolist()), tuple(calls.tolist()), frozenset(np.unique(marks).tolist()),
            program.phases, program.origin,
        )  # fmt: skip

    @classmethod
    def joined(cls, parts: Iterable[tuple[Tally, int]]) -> Tally:
        """The numbers of a program in pieces, each so many times; there is at least one."""
        known = list(parts)
        first = known[0][0]

        def total(number: Any) -> Any:
            return sum(number(one) * times for one, times in known)

        return cls(
            first.ranks, first.communicators, total(lambda t: t.messages), total(lambda t: t.bytes),
            total(lambda t: t.picoseconds),
            tuple(total(lambda t, k=k: t.events[k]) for k in range(len(first.events))),
            tuple(total(lambda t, k=k: t.calls[k]) for k in range(len(first.calls))),
            frozenset().union(*(one.iterations for one, _ in known)),
            tuple(dict.fromkeys(phase for one, _ in known for phase in one.phases)), first.origin,
        )  # fmt: skip

    def summary(self) -> dict[str, Any]:
        """For programs."""
        return {
            "noun": "program",
            "ranks": self.ranks,
            "events": {kind.name: self.events[kind] for kind in EventKind if self.events[kind]},
            "compute": self.picoseconds * 1e-12,
            "communicators": self.communicators,
            "phases": list(self.phases),
            **({"origin": self.origin} if self.origin else {}),
        }

    def __str__(self) -> str:
        number, calls = self.events, self.calls
        lines = [f"Program of {counted(self.ranks, 'rank')}, {counted(sum(number), 'event')}"]
        if any(number):
            lines.append("events: " + ", ".join(f"{number[k]} {k.name}" for k in EventKind if number[k]))
        if self.messages:
            lines.append(f"messages: {self.messages}, {text(self.bytes, 'B')}")
        if number[EventKind.collective]:
            lines.append("collectives: " + ", ".join(f"{calls[k]:.0f} {k.name}" for k in CollectiveKind if calls[k]))
        if number[EventKind.compute]:
            lines.append(f"computation: {text(self.picoseconds * 1e-12, 's', 4)}")
        if number[EventKind.iteration]:
            lines.append(f"iterations: {len(self.iterations)}")
        if self.communicators > 1:
            lines.append(f"communicators: {self.communicators}")
        if self.phases:
            lines.append("phases: " + ", ".join(self.phases))
        if self.origin:
            lines.append(self.origin)
        return "\n  ".join(lines)
