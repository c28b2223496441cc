"""Which algorithms of collectives an MPI library takes by itself, and what better ones would save."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInput
from ..schedule.lower import lower
from ..tuning.decisions import Decisions
from ..tuning.programs import InTurn, rules_for
from .collective_use import Use, uses

if TYPE_CHECKING:
    from ..machine import Allocation, Machine
    from ..schedule.program import Program
    from ..tuning.choice import Choice
    from ..tuning.export.export import Export
    from .mpi_library import Library
    from ..tuning.table import DecisionTable
    from .prediction import Simulator

#: Calls that take less than this part of the time are not tuned.
MATTERS = 0.005
#: Most kinds of calls that are looked at.
_MOST_USES = 48
#: Notes on choices that cannot be followed.
_REPLACED = 4


@dataclass(frozen=True)
class Compared:
    """Calls of one kind: the algorithm that the library takes, and the best that was found.

    Attributes
    ----------
    use : Use
    now : Choice
        What the library decides.
    now_seconds : float
        Of one call alone.
    best : Choice or None
        None where nothing was tried.
    best_seconds, bound : float or None
        Of one call alone, and what none can be faster than.
    taken : bool
        Is the best in the table?
    """

    use: Use
    now: Choice
    now_seconds: float
    best: Choice | None = None
    best_seconds: float | None = None
    bound: float | None = None
    taken: bool = False

    @property
    def cost(self) -> float:
        """Seconds of all calls on the rank that has most of them, if nobody is late."""
        return self.use.per_rank * self.now_seconds

    @property
    def saving(self) -> float:
        """How much of that the best algorithm saves."""
        return 0.0 if self.best_seconds is None else self.use.per_rank * (self.now_seconds - self.best_seconds)


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
        Of the collectives whose algorithms are worth changing, at all numbers of ranks of the program: what was tuned,
        between it what the library decides. None where nothing is.
    notes : tuple of str
    seconds : float
        That tuning took.
    simulations : int
    """

    library: Library
    given: bool
    compared: tuple[Compared, ...]
    before: float
    after: float
    table: DecisionTable | None
    notes: tuple[str, ...]
    seconds: float
    simulations: int
    predict: Callable[[str, int, int, Choice], float]

    @property
    def saving(self) -> float:
        """Seconds of the whole program."""
        return self.before - self.after

    def export(self, target: str | None = None, **options: Any) -> Export:
        """The file that makes a library take these algorithms.

        Parameters
        ----------
        target : str, optional
            As of :func:`isthmus.tuning.export.export`; by default the library and version of ``library``.
        **options
            Of the target.

        Raises
        ------
        InvalidInput
            Where there is nothing to change, and as of ``export``.
        """
        from ..tuning.export.export import export

        if self.table is None:
            raise InvalidInput("no other algorithms of collectives save time: there is nothing to export")
        return export(self.table, target or self.library.target, predict=self.predict, **options)


def choices(
    program: Program,
    machine: Machine,
    job: Allocation,
    library: Library,
    given: Decisions | None,
    simulator: Simulator,
    *,
    seconds: float,
    progress: bool = False,
) -> Choices | None:
    """Compare and tune the algorithms of a program's collectives; None for a program without any.

    Parameters
    ----------
    program, machine, job
        Computation of the program as it is to be simulated.
    library : Library
    given : Decisions, optional
        Algorithms that count before those of the library.
    simulator : Simulator
        Its model and routing count for tuning too.
    seconds : float
        Time for tuning, about; 0: no tuning.
    progress : bool
        A bar on standard error.
    """
    found = uses(program)
    if not found:
        return None
    begin = time.perf_counter()
    default = library.decisions(min(job.ranks_per_node, program.ranks))
    now = default if given is None else InTurn(given, default)
    from .choosing import Tuner, worth_changing

    tuner = Tuner(program, machine, job, simulator)
    steered = [use for use in found if not use.nonblocking and use.collective in now.collectives and use.ranks > 1]

    def time_with(decisions: Decisions) -> float:
        schedule = lower(program, collectives=decisions)
        tuner.longest = max(tuner.longest, len(schedule))
        return simulator.run(schedule, machine, job).makespan

    before = time_with(now)
    compared = [c for use in steered[:_MOST_USES] if (c := tuner.price(use, now)) is not None]
    compared = sorted((c for c in compared if c.cost >= MATTERS * before), key=lambda c: -c.cost)
    tuned, late = tuner.tune(compared, begin + seconds, progress) if seconds else (compared, 0)
    table, after = worth_changing(tuned, now, program, tuner, before, time_with)
    if table is not None:
        tuned = [replace(c, taken=c.saving > 0 and c.use.collective in table.collectives) for c in tuned]
    notes = _notes(found, len(steered), now, program, library, late)
    return Choices(
        library, given is not None, tuple(tuned), before, after, table, notes, time.perf_counter() - begin,
        tuner.simulations, tuner.seconds,
    )  # fmt: skip


def _notes(
    found: list[Use], steered: int, now: Decisions, program: Program, library: Library, late: int
) -> tuple[str, ...]:
    """What to know about the comparison."""
    out = [f"What collectives do now is what {library} decides by itself, {library.why}."]
    later = Counter({use.collective: 0 for use in found})
    for use in found:
        if use.nonblocking:
            later[use.collective] += use.calls
    if named := [f"{count:,} of {kind}" for kind, count in later.most_common() if count]:
        out.append(
            f"Nonblocking and persistent calls ({', '.join(named)}) keep their algorithms: the files of {library.words} "
            "steer blocking collectives only."
        )
    if any(use.collective == "neighbor_alltoall" for use in found):
        out.append(f"Neighbourhood collectives keep their algorithm: the files of {library.words} cannot steer them.")
    replaced = rules_for(now, program)[1]
    out += [f"Simulated otherwise than decided: {one}." for one in replaced[:_REPLACED]]
    if len(replaced) > _REPLACED:
        out.append(f"{len(replaced) - _REPLACED} more decisions are simulated otherwise.")
    if late:
        out.append(f"For {late:,} candidates there was no time left; more time may find better algorithms.")
    if steered > _MOST_USES:
        out.append(f"Of {steered:,} kinds of calls the {_MOST_USES} with most calls were looked at.")
    return tuple(out)
