"""The interface of all sources of decisions: tuned tables and the rules of MPI libraries."""

from __future__ import annotations

import abc
import bisect
from collections.abc import Iterable

from ..errors import InvalidInput
from ..schedule.program import Program
from ..units import shown
from .choice import Argument, Choice
from .rule import Rule, merged
from .runnable import Replaced, runnable, used


class Decisions(abc.ABC):
    """Source of decisions: the algorithm of a collective for any number of ranks and any size."""

    #: May an algorithm that Isthmus has not stand in a decision? Its default stands in then.
    strange = True

    @property
    @abc.abstractmethod
    def collectives(self) -> tuple[str, ...]:
        """Collectives for which there are decisions."""

    @abc.abstractmethod
    def rules(self, collective: str, ranks: int) -> tuple[Rule, ...]:
        """Return the rules of a collective at a number of ranks; sizes ascend from 0 bytes."""

    def lookup(self, collective: str, ranks: int, bytes: int) -> Choice:
        """Return the algorithm for one call.

        Parameters
        ----------
        collective : str
        ranks, bytes : int
            As of :func:`isthmus.collective`.

        Raises
        ------
        InvalidInput
            If there are no decisions for the collective, or a number is negative.
        """
        if bytes < 0:
            raise InvalidInput(f"bytes is {bytes}: expected a size from 0")
        rules = self.rules(collective, ranks)
        return rules[bisect.bisect_right([rule.bytes for rule in rules], bytes) - 1].choice

    def concrete(self, collective: str, ranks: int) -> tuple[Rule, ...]:
        """Return the rules with algorithms only: sizes that are left to a library have what it decides there."""
        return self.rules(collective, ranks)

    def at(self, ranks: int, collectives: Iterable[str] | None = None) -> dict[str, list[tuple[int | None, Argument]]]:
        """Return rules at one number of ranks, for ``collectives=`` of :func:`isthmus.lower`.

        Parameters
        ----------
        ranks : int
        collectives : iterable of str, optional
            Only these collectives; by default all with decisions.

        Returns
        -------
        dict of str to list of pairs
            Most bytes (None: any) and the algorithm, a name or a pair of name and options.
        """
        out: dict[str, list[tuple[int | None, Argument]]] = {}
        for kind in self.collectives if collectives is None else collectives:
            rules = self.concrete(kind, ranks)
            ends = [rule.bytes - 1 for rule in rules[1:]]
            out[kind] = [(end, rule.choice.argument) for end, rule in zip([*ends, None], rules, strict=True)]
        return out

    def for_program(self, program: Program) -> dict[str, list[tuple[int, int | None, Argument]]]:
        """Return rules for the communicators of a program, for ``collectives=`` of :func:`isthmus.lower`.

        Returns
        -------
        dict of str to list of triples
            Largest number of ranks, largest size in bytes (None: any) and the algorithm. An algorithm that cannot run
            on a number of ranks is replaced as :func:`isthmus.tuning.runnable.runnable` describes.
        """
        return rules_for(self, program)[0]

    def _known(self, collective: str) -> None:
        if collective not in self.collectives:
            allowed = ", ".join(self.collectives) or "none"
            raise InvalidInput(f"collective {shown(collective)}: must be one of {allowed}")


def rules_for(
    decisions: Decisions, program: Program
) -> tuple[dict[str, list[tuple[int, int | None, Argument]]], tuple[Replaced, ...]]:
    """Return rules for the numbers of ranks on which a program calls collectives.

    Parameters
    ----------
    decisions : Decisions
    program : Program

    Returns
    -------
    rules : dict of str to list of triples
        Most ranks, most bytes (None: any) and the algorithm, as :func:`isthmus.lower` takes them; exact for the
        program's communicators.
    replaced : tuple of Replaced
        See :func:`isthmus.tuning.runnable.runnable`.
    """
    rules: dict[str, list[tuple[int, int | None, Argument]]] = {}
    replaced: dict[Replaced, None] = {}
    for kind, counts in used(program).items():
        if kind not in decisions.collectives:
            continue
        rules[kind] = []
        for ranks in counts:
            found = []
            for rule in decisions.concrete(kind, ranks):
                choice, why = runnable(kind, rule.choice, ranks, program.ranks, strange=decisions.strange)
                found.append(Rule(rule.bytes, choice))
                if why:
                    replaced[Replaced(kind, ranks, rule.choice, choice, why)] = None
            found = list(merged(found))
            ends = [rule.bytes - 1 for rule in found[1:]]
            rules[kind] += [(ranks, end, r.choice.argument) for end, r in zip([*ends, None], found, strict=True)]
    return rules, tuple(replaced)
