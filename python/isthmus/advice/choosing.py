"""Times of single collectives where a program's communicators sit, and the tables that come of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..errors import InvalidInput
from ..simulation.progress import Reporter
from ..simulation.simulate import located
from ..tuning.candidates import candidates
from ..tuning.choice import Choice
from ..tuning.decisions import Decisions, Rule, merged
from ..tuning.operations import operations
from ..tuning.programs import InTurn, runnable, used
from ..tuning.situation import Situation
from ..tuning.sweep import Source, sweep
from ..tuning.table import DecisionTable, Point, Provenance, Row
from .choices import Compared

if TYPE_CHECKING:
    from ..machine import Allocation, Machine
    from ..schedule.program import Program
    from .collective_use import Use
    from .prediction import Simulator

#: A collective's algorithms are changed if that saves more than this part of the program's time.
_WORTH = 1e-4
#: Most operations of a call that is simulated, and of a program that is simulated for every collective alone.
_MOST_OPERATIONS, _MOST_ALONE = 4_000_000, 2_000_000


class Tuner:
    """Times of single collectives where the program's communicators sit."""

    def __init__(self, program: Program, machine: Machine, job: Allocation, simulator: Simulator) -> None:
        self.program, self.machine, self.job, self.simulator = program, machine, job, simulator
        self.simulations = 0
        #: Operations of the program's schedule, the most so far.
        self.longest = 0
        self._situations: dict[tuple[str, int], Situation] = {}
        self._known: dict[tuple[str, int, int, Choice], float] = {}

    def situation(self, use: Use) -> Situation:
        """The first communicator of a collective and number of ranks that is asked for stands for the others."""
        key = (use.collective, use.ranks)
        if key not in self._situations:
            placement: Any = self.job
            if use.ranks < self.program.ranks:
                where = located(self.program.ranks, self.machine, self.job)
                placement = where.node[self.program.members(use.comm)]
            self._situations[key] = Situation(
                self.machine, use.ranks, placement, self.simulator.model, self.simulator.routing
            )
        return self._situations[key]

    def situation_of(self, collective: str) -> Situation:
        """That of the most ranks."""
        return max((s for key, s in self._situations.items() if key[0] == collective), key=lambda s: s.ranks)

    def seconds(self, collective: str, ranks: int, bytes: int, choice: Choice) -> float:
        """Of one call alone; raises InvalidInput for what is too large to simulate."""
        key = (collective, ranks, bytes, choice)
        if key not in self._known:
            if operations(collective, choice, ranks, bytes) > _MOST_OPERATIONS:
                raise InvalidInput(f"{collective} of {bytes} bytes by {choice} is too large to simulate")
            self.simulations += 1
            self._known[key] = self._situations[collective, ranks].seconds(collective, choice, bytes)
        return self._known[key]

    def price(self, use: Use, now: Decisions) -> Compared | None:
        """What calls cost now; None where they are too large to simulate."""
        self.situation(use)
        wanted = now.lookup(use.collective, use.ranks, use.bytes)
        choice, _ = runnable(use.collective, wanted, use.ranks, self.program.ranks, strange=now.strange)
        try:
            return Compared(use, choice, self.seconds(use.collective, use.ranks, use.bytes, choice))
        except InvalidInput:
            return None

    def tune(self, compared: list[Compared], end: float, progress: bool) -> tuple[list[Compared], int]:
        """The best algorithms of these calls, and how many candidates there was no time for."""
        groups: dict[tuple[str, int], list[Compared]] = {}
        for c in compared:
            groups.setdefault((c.use.collective, c.use.ranks), []).append(c)
        cost = {key: sum(c.cost for c in group) for key, group in groups.items()}
        tried = {key: candidates(key[0], self._situations[key]) for key in groups}
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

                found = sweep(key[0], self._situations[key], sizes, tried[key], seconds=left, progress=report)
                self.simulations += found.simulations
                late += found.left_out.get(Source.late, 0)
                done += found.seconds.size
                for i, c in enumerate(found.best):
                    best[(*key, sizes[i])] = (found.choices[c], float(found.seconds[c, i]), float(found.bound[i]))
        finally:
            if reporter is not None:
                reporter.close()
        return [_with_best(c, *best[c.use.collective, c.use.ranks, c.use.bytes]) for c in compared], late


def _with_best(c: Compared, choice: Choice, seconds: float, bound: float) -> Compared:
    if seconds < c.now_seconds:
        return replace(c, best=choice, best_seconds=seconds, bound=bound)
    return replace(c, best=c.now, best_seconds=c.now_seconds, bound=bound)


def worth_changing(
    tuned: list[Compared],
    now: Decisions,
    program: Program,
    tuner: Tuner,
    before: float,
    time_with: Callable[[Decisions], float],
) -> tuple[DecisionTable | None, float]:
    """The table of collectives that make the whole program faster, and its time with it.

    What a collective gains alone may be lost where ranks come at different times, so that every collective is tried in
    the program by itself, and all that help together.
    """
    kinds = list(dict.fromkeys(c.use.collective for c in tuned if c.saving > 0))
    if not kinds:
        return None, before
    whole = _table(kinds, tuned, now, program, tuner)
    after = {tuple(kinds): time_with(InTurn(whole, now))}
    if len(kinds) > 1 and tuner.longest <= _MOST_ALONE:
        alone = {kind: time_with(InTurn(whole.only(kind), now)) for kind in kinds}
        after |= {(kind,): alone[kind] for kind in kinds}
        help = tuple(kind for kind in kinds if alone[kind] < before)
        if help and help not in after:
            after[help] = time_with(InTurn(whole.only(*help), now))
    best = min(after, key=lambda key: after[key])
    if before - after[best] <= _WORTH * before:
        return None, before
    return whole.only(*best), after[best]


def _table(
    kinds: list[str], tuned: list[Compared], now: Decisions, program: Program, tuner: Tuner
) -> DecisionTable:
    """What is tuned, in powers of two of the size around it; elsewhere what the library decides."""
    counts = used(program)
    rows: dict[str, list[Row]] = {}
    for kind in kinds:
        rows[kind] = []
        for ranks in counts[kind]:
            of_now = [
                Rule(rule.bytes, runnable(kind, rule.choice, ranks, program.ranks, strange=now.strange)[0])
                for rule in now.rules(kind, ranks)
            ]
            better = {
                c.use.limits: c.best
                for c in tuned
                if (c.use.collective, c.use.ranks) == (kind, ranks) and c.saving > 0 and c.best is not None
            }
            points = tuple(Point(rule.bytes, rule.choice) for rule in _overlaid(of_now, better))
            rows[kind].append(Row(ranks, points, tuned=False))
    words = tuner.situation_of(kinds[0]).words()
    return DecisionTable(rows, Provenance(isthmus=__version__, note="tuned for one program", **words))


def _overlaid(rules: list[Rule], better: Mapping[tuple[int, int | None], Choice]) -> tuple[Rule, ...]:
    """Rules with others in some ranges of sizes."""
    starts = {rule.bytes for rule in rules} | {low for low, _ in better}
    starts |= {high + 1 for _, high in better if high is not None}

    def at(size: int) -> Choice:
        for (low, high), choice in better.items():
            if low <= size and (high is None or size <= high):
                return choice
        return [rule.choice for rule in rules if rule.bytes <= size][-1]

    return merged(Rule(size, at(size)) for size in sorted(starts))
