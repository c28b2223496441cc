"""What every source of decisions can do: tuned tables and the rules that MPI libraries come with."""

from __future__ import annotations

import abc
import bisect
from collections.abc import Iterable
from typing import Any

from ..errors import InvalidInput
from ..schedule.program import Program
from ..units import shown
from .choice import Choice
from .rule import Rule
from .runnable import rules_for


class Decisions(abc.ABC):
    """Which algorithm a collective takes, for any number of ranks and any size."""

    #: May an algorithm that Isthmus has not stand in a decision? Its default stands in then.
    strange = True

    @property
    @abc.abstractmethod
    def collectives(self) -> tuple[str, ...]:
        """Collectives that this says something about."""

    @abc.abstractmethod
    def rules(self, collective: str, ranks: int) -> tuple[Rule, ...]:
        """Rules of one collective at one number of ranks: the first begins at 0 bytes, sizes ascend."""

    def lookup(self, collective: str, ranks: int, bytes: int) -> Choice:
        """The algorithm for one call.

        Parameters
        ----------
        collective : str
        ranks, bytes : int
            As of :func:`isthmus.collective`.

        Raises
        ------
        InvalidInput
            For a collective that nothing is said about, and negative numbers.
        """
        if bytes < 0:
            raise InvalidInput(f"bytes is {bytes}: a size from 0 is needed")
        rules = self.rules(collective, ranks)
        return rules[bisect.bisect_right([rule.bytes for rule in rules], bytes) - 1].choice

    def at(self, ranks: int, collectives: Iterable[str] | None = None) -> dict[str, list[tuple[int | None, Any]]]:
        """Rules at one number of ranks, as ``collectives=`` of :func:`isthmus.lower` takes them.

        Parameters
        ----------
        ranks : int
        collectives : iterable of str, optional
            Only these; by default all that something is said about.

        Returns
        -------
        dict of str to list of pairs
            Most bytes (None: any) and the algorithm, a name or a pair of name and options.
        """
        out: dict[str, list[tuple[int | None, Any]]] = {}
        for kind in self.collectives if collectives is None else collectives:
            rules = self.rules(kind, ranks)
            ends = [rule.bytes - 1 for rule in rules[1:]]
            out[kind] = [(end, rule.choice.argument) for end, rule in zip([*ends, None], rules, strict=True)]
        return out

    def for_program(self, program: Program) -> dict[str, list[tuple[int, int | None, Any]]]:
        """Rules for the communicators of a program, as ``collectives=`` of :func:`isthmus.lower` takes them.

        Returns
        -------
        dict of str to list of triples
            Most ranks, most bytes (None: any) and the algorithm. What cannot run on a number of ranks has given way to
            what :func:`isthmus.tuning.runnable.runnable` says.
        """
        return rules_for(self, program)[0]

    def _known(self, collective: str) -> None:
        if collective not in self.collectives:
            allowed = ", ".join(self.collectives) or "none"
            raise InvalidInput(f"collective {shown(collective)}: there are decisions for {allowed}")
