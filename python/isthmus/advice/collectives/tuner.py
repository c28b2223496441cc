"""Times of single collectives where a program's communicators sit, and the tables that come of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ... import __version__
from ...errors import InvalidInput
from ...lowering.lower import lower
from ...progress import Reporter
from ...simulation.simulate import located, simulate
from ...tuning.candidates import candidates
from ...tuning.choice import LIBRARY, Choice
from ...tuning.decisions import Decisions
from ...tuning.operations import operations
from ...tuning.programs import InTurn
from ...tuning.rule import Rule, merged
from ...tuning.runnable import runnable, used
from ...tuning.scenario import Scenario
from ...tuning.search.result import Source
from ...tuning.search.sweep import sweep
from ...tuning.table import DecisionTable, Point, Provenance, Row

if TYPE_CHECKING:
    from ...machine import Allocation, Machine
    from ...machine.placement import Placement
    from ...schedule.program import Program
    from ...tuning.export.export import Loss
    from .usage import Use

#: A collective's algorithms are changed if that saves more than this part of the program's time.
_WORTH = 1e-4
#: Most operations of a call that is simulated, and of a program that is simulated for every collective alone.
_MOST_OPERATIONS, _MOST_ALONE = 4_000_000, 2_000_000


@dataclass(frozen=True)
class Compared:
    """Calls of one kind: the algorithm that the library takes, and the best that was found.

    Attributes
    ----------
    use : Use
    now : Choice
        What the library decides.
    now_seconds : float
        Time of one call alone.
    best : Choice or None
        None where nothing was tried.
    best_seconds, bound : float or None
        Time of one call alone, and a lower bound for every algorithm.
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


class Tuner:
    """Times of a program, and of single collectives where its communicators sit.

    Parameters
    ----------
    program, machine, job
    now : Decisions
        What counts without any change.
    given : Decisions, optional
        The part of it that the user chose.
    options : mapping
        ``model``, ``routing``, ``noise`` and ``seed`` of :func:`isthmus.simulate`.
    tried : Program, optional
        What is simulated for the program; by default the program.
    scale : float
        How often the program takes as long as that.
    """

    def __init__(
        self,
        program: Program,
        machine: Machine,
        job: Allocation | Placement,
        now: Decisions,
        given: Decisions | None,
        options: Mapping[str, Any],
        tried: Program | None = None,
        scale: float = 1.0,
    ) -> None:
        self.program, self.machine, self.job, self.now, self.given = program, machine, job, now, given
        self.options = options
        self.tried, self.scale = tried or program, scale
        self.simulations = 0
        #: Operations of the schedule that is simulated, the most so far.
        self.longest = 0
        #: Seconds that the last simulation of the program took.
        self.pace = 0.0
        self._situations: dict[tuple[str, int], Scenario] = {}
        self._known: dict[tuple[str, int, int, Choice], float] = {}

    @property
    def model(self) -> str:
        """Network model."""
        return str(self.options.get("model", "loggops"))

    def time(self, decisions: Decisions) -> float:
        """Return the run time of the program, seconds."""
        begin = time.perf_counter()
        schedule = lower(self.tried, collectives=decisions)
        self.longest = max(self.longest, len(schedule))
        self.simulations += 1
        found = simulate(schedule, self.machine, self.job, record="finish", **self.options).makespan
        self.pace = time.perf_counter() - begin
        return found * self.scale

    def scenario(self, use: Use) -> Scenario:
        """The first communicator of a collective and number of ranks that is asked for stands for the others."""
        key = (use.collective, use.ranks)
        if key not in self._situations:
            placement: Any = self.job
            if use.ranks < self.program.ranks:
                where = located(self.program.ranks, self.machine, self.job)
                placement = where.node[self.program.members(use.comm)]
            self._situations[key] = Scenario(
                self.machine,
                use.ranks,
                placement,
                self.model,
                self.options.get("routing", "minimal"),
            )
        return self._situations[key]

    def seconds(self, collective: str, ranks: int, bytes: int, choice: Choice) -> float:
        """Return the time of a single call, seconds; raises InvalidInput if it is too large to simulate."""
        key = (collective, ranks, bytes, choice)
        if key not in self._known:
            if (collective, ranks) not in self._situations:
                raise InvalidInput(f"no {collective} on {ranks} ranks was compared")
            if operations(collective, choice, ranks, bytes) > _MOST_OPERATIONS:
                raise InvalidInput(f"{collective} of {bytes} bytes by {choice} is too large to simulate")
            self.simulations += 1
            self._known[key] = self._situations[collective, ranks].seconds(collective, choice, bytes)
        return self._known[key]

    def price(self, use: Use) -> Compared | None:
        """Return the present cost of calls; None if they are too large to simulate."""
        self.scenario(use)
        choice = self.runnable(use.collective, use.ranks, self.now.lookup(use.collective, use.ranks, use.bytes))
        try:
            return Compared(use, choice, self.seconds(use.collective, use.ranks, use.bytes, choice))
        except InvalidInput:
            return None

    def runnable(self, collective: str, ranks: int, choice: Choice) -> Choice:
        """Return the algorithm that runs for a choice."""
        return runnable(collective, choice, ranks, self.program.ranks, strange=self.now.strange)[0]

    def tune(self, compared: list[Compared], end: float, progress: bool) -> tuple[list[Compared], int]:
        """Return the best algorithms of these calls, and how many candidates there was no time for."""
        groups: dict[tuple[str, int], list[Compared]] = {}
        for c in compared:
            groups.setdefault((c.use.collective, c.use.ranks), []).append(c)
        cost = {key: sum(c.cost for c in group) for key, group in groups.items()}
        tried = {}
        for key, group in groups.items():
            # What runs now is known at once, and nothing else has to be simulated when time is up.
            all_of_them = [*candidates(key[0], self._situations[key]), *(c.now for c in group)]
            tried[key] = list(dict.fromkeys(all_of_them))
        total = sum(len(tried[key]) * len({c.use.bytes for c in group}) for key, group in groups.items())
        reporter = Reporter(total, None, "tuning", "candidates") if progress else None
        done, late = 0, 0
        best: dict[tuple[str, int, int], tuple[Choice, float, float]] = {}
        try:
            for key in sorted(groups, key=lambda key: -cost[key]):
                sizes = sorted({c.use.bytes for c in groups[key]})
                # What is left is shared by what calls cost, so that what one does not need is there for the next ones.
                own = cost.pop(key)
                left = max(end - time.perf_counter(), 1e-3) * own / (own + sum(cost.values()))

                def report(decided: int, _: int, done: int = done) -> None:
                    if reporter is not None:
                        reporter(done + decided)

                known = {(c.now, c.use.bytes): c.now_seconds for c in groups[key]}
                found = sweep(
                    key[0], self._situations[key], sizes, tried[key], seconds=left, known=known, progress=report
                )
                self.simulations += found.simulations
                late += found.left_out.get(Source.late, 0)
                done += found.seconds.size
                for i, c in enumerate(found.best):
                    best[(*key, sizes[i])] = (found.choices[c], float(found.seconds[c, i]), float(found.bound[i]))
        finally:
            if reporter is not None:
                reporter.close()
        return [_with_best(c, *best[c.use.collective, c.use.ranks, c.use.bytes]) for c in compared], late

    def table(self, kinds: Sequence[str], compared: Sequence[Compared]) -> DecisionTable:
        """The tuned algorithm, by the power of two around the size; elsewhere the current one."""

        def of_now(kind: str, ranks: int) -> list[Rule]:
            return [Rule(r.bytes, self.runnable(kind, ranks, r.choice)) for r in self.now.rules(kind, ranks)]

        return self._table(kinds, compared, of_now)

    def for_library(self, kinds: Sequence[str], compared: Sequence[Compared], whole: Container[str]) -> DecisionTable:
        """Return the same table without what the library decides by itself.

        ``whole``: collectives that get one rule for all sizes, that of their most expensive calls.
        """

        def of_now(kind: str, ranks: int) -> Sequence[Rule]:
            chosen = self.given is not None and kind in self.given.collectives
            return self.now.rules(kind, ranks) if chosen else [Rule(0, LIBRARY)]

        first = {(c.use.collective, c.use.ranks): c for c in reversed(compared)}
        kept = [c for c in compared if c.use.collective not in whole or first[c.use.collective, c.use.ranks] is c]
        return self._table(kinds, kept, of_now, whole)

    def _table(
        self,
        kinds: Sequence[str],
        compared: Sequence[Compared],
        of_now: Callable[[str, int], Sequence[Rule]],
        whole: Container[str] = (),
    ) -> DecisionTable:
        rows: dict[str, list[Row]] = {kind: [] for kind in kinds}
        for kind, counts in used(self.program).items():
            for ranks in counts if kind in rows else ():
                better = {
                    (0, None) if kind in whole else c.use.limits: c.best
                    for c in compared
                    if (c.use.collective, c.use.ranks) == (kind, ranks) and c.saving > 0 and c.best is not None
                }
                rows[kind].append(Row(ranks, _overlaid(of_now(kind, ranks), better), tuned=False))
        words = max(self._situations.values(), key=lambda s: s.ranks).words()
        return DecisionTable(
            rows, Provenance(isthmus=__version__, note="tuned for one program", source="model", **words)
        )


def _with_best(c: Compared, choice: Choice, seconds: float, bound: float) -> Compared:
    if seconds < c.now_seconds:
        return replace(c, best=choice, best_seconds=seconds, bound=bound)
    return replace(c, best=c.now, best_seconds=c.now_seconds, bound=bound)


def worth_changing(
    compared: list[Compared], tuner: Tuner, before: float, end: float
) -> tuple[DecisionTable | None, float]:
    """The table of collectives that make the whole program faster, and its time with it.

    What a collective gains alone may be lost where ranks come at different times, so that every collective is tried in
    the program by itself, and all that help together, as far as there is time until ``end``.
    """
    kinds = tuple(dict.fromkeys(c.use.collective for c in compared if c.saving > 0))
    if not kinds:
        return None, before
    whole = tuner.table(kinds, compared)

    def time_with(*some: str) -> float:
        return tuner.time(InTurn(whole.only(*some), tuner.now))

    begin = time.perf_counter()
    after = {kinds: time_with(*kinds)}
    end += time.perf_counter() - begin  # without it nothing could be said
    if len(kinds) > 1 and tuner.longest <= _MOST_ALONE:
        for kind in kinds:
            if time.perf_counter() + tuner.pace < end:
                after[(kind,)] = time_with(kind)
        helping = tuple(kind for kind in kinds if after.get((kind,), 0.0) < before)
        if helping and helping not in after and time.perf_counter() + tuner.pace < end:
            after[helping] = time_with(*helping)
    best = min(after, key=lambda some: after[some])
    if before - after[best] <= _WORTH * before:
        return None, before
    return whole.only(*best), after[best]


def as_run(rules: DecisionTable, losses: Sequence[Loss], own: Decisions) -> Decisions:
    """The algorithms that a library runs with the file made of rules; decisions left to it are those of ``own``."""
    rows: dict[str, list[Row]] = {}
    for kind, of_kind in rules.rows.items():
        for row in of_kind:
            other = [loss for loss in losses if (loss.collective, loss.ranks) == (kind, row.ranks)]
            ends = {0 if loss.high is None else loss.high + 1 for loss in other}
            starts = {rule.bytes for rule in (*row.rules, *own.rules(kind, row.ranks))} | ends
            points = []
            for size in sorted(starts | {loss.low for loss in other}):
                found = next((x for x in other if x.low <= size and (x.high is None or size <= x.high)), None)
                choice = rules.lookup(kind, row.ranks, size) if found is None else found.running
                if choice is None or choice == LIBRARY:
                    choice = own.lookup(kind, row.ranks, size)
                points.append(Point(size, choice))
            rows.setdefault(kind, []).append(Row(row.ranks, tuple(points), tuned=False))
    return _Libraries(rows)


class _Libraries(DecisionTable):
    """A table in which decisions of libraries stand too."""

    strange = True


def _overlaid(rules: Sequence[Rule], better: Mapping[tuple[int, int | None], Choice]) -> tuple[Point, ...]:
    """Rules with others in some ranges of sizes."""
    starts = {rule.bytes for rule in rules} | {low for low, _ in better}
    starts |= {high + 1 for _, high in better if high is not None}

    def at(size: int) -> Choice:
        for (low, high), choice in better.items():
            if low <= size and (high is None or size <= high):
                return choice
        return [rule.choice for rule in rules if rule.bytes <= size][-1]

    return tuple(Point(rule.bytes, rule.choice) for rule in merged(Rule(size, at(size)) for size in sorted(starts)))
