"""Decisions of a user, and several sources of decisions in turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..collectives import algorithms
from ..lowering.rules import triples
from .choice import Choice
from .decisions import Decisions
from .rule import Rule, merged


class Given(Decisions):
    """Algorithms chosen by a user.

    Parameters
    ----------
    chosen : mapping of str to algorithm or list of rules
        As ``collectives=`` of :func:`isthmus.lower` takes them; where no rule counts, the collective's default.
    """

    strange = False

    def __init__(self, chosen: Mapping[str, Any]) -> None:
        self.chosen = {
            kind: [(*rule[:2], Choice.of(rule[2])) for rule in triples(kind, of)] for kind, of in chosen.items()
        }

    @property
    def collectives(self) -> tuple[str, ...]:
        return tuple(self.chosen)

    def rules(self, collective: str, ranks: int) -> tuple[Rule, ...]:
        self._known(collective)
        out: list[Rule] = []
        begin = 0
        for most_ranks, most, choice in self.chosen[collective]:
            if (most_ranks is not None and ranks > most_ranks) or (most is not None and most < begin):
                continue
            out.append(Rule(begin, choice))
            if most is None:
                return merged(out)
            begin = most + 1
        return merged([*out, Rule(begin, Choice(algorithms(collective)[0]))])


class InTurn(Decisions):
    """Several sources of decisions in turn: the first with decisions for a collective applies to it."""

    def __init__(self, *sources: Decisions) -> None:
        self.sources = sources
        self.strange = any(source.strange for source in sources)

    @property
    def collectives(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(kind for source in self.sources for kind in source.collectives))

    def rules(self, collective: str, ranks: int) -> tuple[Rule, ...]:
        self._known(collective)
        return next(s for s in self.sources if collective in s.collectives).rules(collective, ranks)
