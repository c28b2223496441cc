"""Compares an MPI library's default algorithms of collectives with better ones."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InvalidInput
from ...lowering.marked import marked
from ...schedule.program import CollectiveKind
from ...tuning.decisions import Decisions, rules_for
from ...tuning.programs import InTurn
from .tuner import Compared, Tuner, as_run, worth_changing
from .usage import Use, uses

if TYPE_CHECKING:
    from ...machine import Allocation, Machine
    from ...machine.placement import Placement
    from ...schedule.program import Program
    from ...tuning.choice import Choice
    from ...tuning.export.export import Export
    from ...tuning.table import DecisionTable
    from .library import Library

#: Calls that take less than this part of the time are not tuned.
MATTERS = 0.005
#: Most kinds of calls that are looked at.
_MOST_USES = 48
#: Notes on choices that cannot be followed.
_REPLACED = 4


@dataclass(frozen=True, eq=False)
class Choices:
    """Algorithms of a program's collectives.

    Attributes
    ----------
    library : Library
        Whose decisions those of now are.
    given : bool
        Some algorithms of now were given by the user instead.
    compared : tuple of Compared
        Calls that take a part of the time worth looking at, the most expensive first.
    before, after : float
        Seconds of the program with the algorithms of now, and with those of ``table``, by simulation.
    table : DecisionTable or None
        Decisions for the collectives worth changing, at all numbers of ranks of the program: what was tuned,
        elsewhere what counts now. None where nothing is worth it.
    notes : tuple of str
    tuned : bool
        Were better algorithms looked for?
    seconds : float
        That it took.
    excerpt : float or None
        Which part of the program's events was simulated for ``before`` and ``after``; None: all of them.
    """

    library: Library
    given: bool
    compared: tuple[Compared, ...]
    before: float
    after: float
    table: DecisionTable | None
    notes: tuple[str, ...]
    tuned: bool
    seconds: float
    tuner: Tuner
    excerpt: float | None = None

    @property
    def saving(self) -> float:
        """Seconds of the whole program."""
        return self.before - self.after

    @property
    def simulations(self) -> int:
        """Number of simulations of single collectives and of the program."""
        return self.tuner.simulations

    def export(self, target: str | None = None, **options: Any) -> Exported:
        """The file that makes a library take these algorithms; other sizes are left to it.

        Parameters
        ----------
        target : str, optional
            As of :func:`isthmus.tuning.export.export`; by default the library and version of ``library``.
        **options
            Options of the target.

        Raises
        ------
        InvalidInput
            Where there is nothing to change, and as of ``export``.
        """
        from ...tuning.defaults import LIBRARIES, defaults
        from ...tuning.export.export import export
        from ...tuning.export.guard import guard_for
        from ...tuning.libraries.openmpi import ONE_RULE

        if self.table is None:
            raise InvalidInput("no other collective algorithm saves time, so there is nothing to export")
        target = target or self.library.target
        whole: Container[str] = ONE_RULE if target.startswith("openmpi") else ()
        rules = self.tuner.for_library(self.table.collectives, self.compared, whole)

        def predict(collective: str, ranks: int, bytes: int, choice: Choice) -> float:
            """At the size of the calls for which a rule is, not at that where it begins."""
            size = next((c.use.bytes for c in self.compared if _is_for(c.use, collective, ranks, bytes, whole)), bytes)
            return self.tuner.seconds(collective, ranks, size, choice)

        guard = guard_for(target, predict, model=self.tuner.model)
        made = export(rules, target, predict=predict, guard=guard, **options)
        # With the settings of the file a library takes nothing apart by node any more.
        name = target.partition("-")[0]
        flat = self.library.decisions(1) if name == self.library.name or name not in LIBRARIES else defaults(target)
        rest = flat if self.tuner.given is None else InTurn(self.tuner.given, flat)
        return Exported(made, self.tuner.time(InTurn(as_run(rules, made.losses, flat), rest)))


def _is_for(use: Use, collective: str, ranks: int, bytes: int, whole: Container[str]) -> bool:
    low, high = (0, None) if collective in whole else use.limits
    return (use.collective, use.ranks) == (collective, ranks) and low <= bytes and (high is None or bytes <= high)


@dataclass(frozen=True, eq=False)
class Exported:
    """A file for a library, and the seconds of the program with what the library then does."""

    file: Export
    time: float


def choices(
    program: Program,
    machine: Machine,
    job: Allocation | Placement,
    library: Library,
    given: Decisions | None = None,
    *,
    seconds: float,
    progress: bool = False,
    pieces: tuple[Program, float] | None = None,
    **options: Any,
) -> Choices | None:
    """Compare and tune the algorithms of a program's collectives; None for a program without any.

    Parameters
    ----------
    program, machine, job
        Computation of the program as it is to be simulated.
    library : Library
    given : Decisions, optional
        Algorithms that count before those of the library.
    seconds : float
        Time to look for better algorithms and to try them in the program, one collective after the other; 0: none are
        looked for. The program is simulated before and after on top of it.
    progress : bool
        A bar on standard error.
    pieces : (Program, float), optional
        What is simulated for the program, see :func:`excerpt`, and how often the program takes as long; where calls
        that take much of the time are too many or too few in it, the program is simulated nevertheless.
    **options
        ``model``, ``routing``, ``noise`` and ``seed`` of :func:`isthmus.simulate`.
    """
    found = uses(program)
    if not found:
        return None
    begin = time.perf_counter()
    default = library.decisions(min(job.ranks_per_node, program.ranks))
    now = default if given is None else InTurn(given, default)
    fixed = [CollectiveKind(kind).name for kind in np.unique(program.what[marked(program)]).tolist()]
    steered = [use for use in found if not use.nonblocking and use.collective in now.collectives and use.ranks > 1]
    steered = [use for use in steered if use.collective not in fixed]

    def compare(tuner: Tuner) -> tuple[Tuner, float, list[Compared]]:
        before = tuner.time(now)
        priced = [c for use in steered[:_MOST_USES] if (c := tuner.price(use)) is not None]
        return tuner, before, sorted((c for c in priced if c.cost >= MATTERS * before), key=lambda c: -c.cost)

    share = None
    if pieces is not None:
        share = len(pieces[0]) / len(program)
        tuner, before, compared = compare(Tuner(program, machine, job, now, given, options, *pieces))
        if not _stand_for(uses(pieces[0]), compared, share):
            share = None
    if share is None:
        tuner, before, compared = compare(Tuner(program, machine, job, now, given, options))
    late, table, after = 0, None, before
    if seconds:
        end = time.perf_counter() + seconds
        # Then the program is simulated with each collective alone, and those that help, where that is not too much.
        kinds_of_calls = len({c.use.collective for c in compared})
        trials = (kinds_of_calls + 1) * tuner.pace if kinds_of_calls > 1 else 0.0
        compared, late = tuner.tune(compared, end - (trials if trials <= seconds / 2 else 0.0), progress)
        table, after = worth_changing(compared, tuner, before, end)
        kinds = () if table is None else table.collectives
        compared = [replace(c, taken=c.saving > 0 and c.use.collective in kinds) for c in compared]
    notes = _notes(found, len(steered), now, program, library, late, fixed)
    passed = time.perf_counter() - begin
    return Choices(
        library, given is not None, tuple(compared), before, after, table, notes, seconds > 0, passed, tuner, share
    )


def _stand_for(few: Sequence[Use], compared: Sequence[Compared], share: float) -> bool:
    """Whether the share of calls in a sample is that in the program, within a factor of two."""
    count = Counter[tuple[Any, ...]]()
    for use in few:
        count[use.collective, use.ranks, use.nonblocking, use.limits] += use.calls
    expected = ((count[c.use.collective, c.use.ranks, False, c.use.limits], c.use.calls * share) for c in compared)
    return all(calls / 2 <= has <= 2 * calls for has, calls in expected)


def _notes(
    found: list[Use],
    steered: int,
    now: Decisions,
    program: Program,
    library: Library,
    late: int,
    fixed: Sequence[str],
) -> tuple[str, ...]:
    """Remarks on the comparison."""
    out = []
    later = Counter({use.collective: 0 for use in found})
    for use in found:
        if use.nonblocking:
            later[use.collective] += use.calls
    if named := [f"{count:,} of {kind}" for kind, count in later.most_common() if count]:
        out.append(
            f"Nonblocking and persistent calls ({', '.join(named)}) keep their algorithms: files of {library.words} "
            "steer blocking collectives only."
        )
    if any(use.collective == "neighbor_alltoall" for use in found):
        out.append(f"Neighbourhood collectives keep their algorithm: the files of {library.words} cannot steer them.")
    if fixed:
        out.append(
            f"All calls of {', '.join(fixed)} keep their algorithms: the operators of some do not commute, "
            "and a file for a library would steer them like the others."
        )
    replaced = rules_for(now, program)[1]
    out += [f"Simulated otherwise than decided: {one}." for one in replaced[:_REPLACED]]
    if len(replaced) > _REPLACED:
        out.append(f"{len(replaced) - _REPLACED} more decisions are simulated otherwise.")
    if late:
        out.append(f"For {late:,} candidates there was no time left; more time may find better algorithms.")
    if steered > _MOST_USES:
        out.append(f"Of {steered:,} kinds of calls the {_MOST_USES} with most calls were looked at.")
    return tuple(out)
