"""The blueprint: an outline whose numbers are rules; what is fitted, written as text and generated from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..units import percent
from .rules import Rule, worst

if TYPE_CHECKING:
    from .families import Family
    from .streams import Call
    from .vocabulary import Item

#: Fields of statements that take part in labels: what is sent to whom, and how often.
COUNTED = ("when", "peer", "source", "bytes", "received", "list")


@dataclass(eq=False)
class Statement:
    """A call, with rules for its numbers.

    Attributes
    ----------
    call : Call
    item : Item or None
        The peer; None: by the rule ``peer``, if there is one.
    rules : dict of str to Rule
        ``when`` (0 or 1), ``bytes``, ``tag``, ``peer``, ``source``, ``source_tag``, ``received``, ``list``, ``width``,
        ``commutes``, ``joins``, ``done``, ``before`` (picoseconds of computation).
    waits : tuple of (str, list of tuple of (int, int)) or None
        For waits: statements whose requests are waited for, each with how many of its openings came since; one list for
        ``"all"``, or one by the iteration (``"inner"``) or the ``"visit"``; ``"oldest"``: the first that is open; None
        for all that are open.
    share : float
        Part of the bytes of the largest recording.
    """

    call: Call
    item: Item | None
    number: int
    rules: dict[str, Rule] = field(default_factory=dict)
    waits: tuple[str, list[tuple[tuple[int, int], ...]]] | None = None
    share: float = 0.0

    @property
    def label(self) -> str:
        """How certain messages and collectives of it are."""
        return worst(rule.label for name, rule in self.rules.items() if name in COUNTED)


@dataclass(eq=False)
class Repeat:
    """A loop, with a rule for how often."""

    times: Rule
    body: list[Step]
    number: int


Step = Statement | Repeat


def statements(body: Sequence[Step]) -> Iterator[Statement]:
    """All statements."""
    for step in body:
        if isinstance(step, Statement):
            yield step
        else:
            yield from statements(step.body)


def loops(body: Sequence[Step]) -> Iterator[Repeat]:
    """All loops."""
    for step in body:
        if isinstance(step, Repeat):
            yield step
            yield from loops(step.body)


@dataclass(eq=False)
class Blueprint:
    """A program of any number of ranks.

    Attributes
    ----------
    source : tuple of (str, int, dict)
        Files it was fitted to, with ranks and parameters.
    parameters : dict of str to int
        Named numbers of the problem with their values in the largest run; ranks not included.
    families : list of Family
        Communicators, from 1; number 0, the world, is None.
    role : Rule
        Which role each rank has.
    roles : list of list of Step
    """

    source: tuple[tuple[str, int, Mapping[str, int]], ...]
    parameters: dict[str, int]
    families: list[Family | None]
    role: Rule
    roles: list[list[Step]]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of ranks that were recorded."""
        return tuple(sorted({ranks for _, ranks, _ in self.source}))

    def statements(self) -> Iterator[Statement]:
        """All statements of all roles."""
        for body in self.roles:
            yield from statements(body)

    def labels(self) -> dict[int, str]:
        """How certain each statement is, with the loops and the role around it."""
        out: dict[int, str] = {}

        def walk(body: Sequence[Step], outer: str) -> None:
            for step in body:
                if isinstance(step, Repeat):
                    walk(step.body, worst([outer, step.times.label]))
                else:
                    family = self.families[step.call.family]
                    out[step.number] = worst([outer, step.label, family.label if family else "exact"])

        for body in self.roles:
            walk(body, self.role.label)
        return out

    def shares(self) -> dict[str, float]:
        """The part of the bytes of the largest recording that are exact, fitted and guessed."""
        labels = self.labels()
        out = {"exact": 0.0, "fitted": 0.0, "guessed": 0.0}
        for step in self.statements():
            out[labels[step.number]] += step.share
        return out

    def origin(self, ranks: int, unproved: str = "") -> str:
        """Where a program of so many ranks comes from, as a sentence; nothing for a number that was recorded.

        ``unproved`` says which bytes may differ there though they are exact in the recordings.
        """
        sizes = self.sizes
        if ranks in sizes:
            return ""
        words = ", ".join(f"{size:,}" for size in sizes[:-1]) + f" and {sizes[-1]:,}"
        beyond = max(ranks / sizes[-1], sizes[0] / ranks)
        how = (
            f"extrapolated to {ranks:,} ranks, {beyond:.3g} times beyond"
            if beyond > 1
            else f"interpolated to {ranks:,} ranks within"
        )
        shares = self.shares()
        parts = ", ".join(f"{percent(share)} of the bytes {label}" for label, share in shares.items() if share)
        parts = parts.replace("exact", "exact (each recording from the others)")
        return f"{how} recordings of {words}: {parts or 'no bytes'}" + (f"; of these, {unproved}" if unproved else "")
