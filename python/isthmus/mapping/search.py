"""Running methods, simulating what they find, and keeping the best."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .graphs import granted
from .methods import find
from .metrics import pattern_of
from .portfolio import USUAL, portfolio
from .problem import Problem
from .selection import best_of, cooler_than_usual, no_hotter
from .sockets import placement_of
from .swaps import Swaps
from .trial import Trial

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .clock import Clock
    from .metrics import Metrics

#: Part of the time for simulations where these decide: at least, and at most for those that there have to be.
SIMULATING, CHECKING = 0.3, 0.6
#: Part of the time for links that are hotter than before, where there are.
_COOLING = 0.2
#: Messages of collectives are mapped too where they have this part of all bytes.
_MANY = 0.01


class Search:
    """The methods tried for a problem.

    Parameters
    ----------
    problem : Problem
    metrics : callable
        Place to metrics.
    clock : Clock, optional
        Simulates placements.
    """

    def __init__(self, problem: Problem, metrics: Callable[[NDArray[np.uint32]], Metrics], clock: Clock | None) -> None:
        self.problem = problem
        self.clock = clock
        self.trials: list[Trial] = []
        self._metrics = metrics

    def affordable(self, seconds: float) -> bool:
        """Return whether the time for simulations suffices for the usual orders and one other placement."""
        if self.clock is None or self._checks * self.clock.cost > CHECKING * seconds:
            return False
        # The first says what the others take.
        place = find("default", {})[0].run(self.problem, {})
        assert place is not None
        self._time(place)
        return self._checks * self.clock.cost <= CHECKING * seconds

    @property
    def _checks(self) -> int:
        """Simulations that there have to be: of the usual orders, which may be one, and of what is found."""
        return 2 if self.problem.imbalance is not None or self.problem.job.ranks_per_node == 1 else 3

    def attempt(self, name: str, **options: Any) -> Trial | None:
        """Run a method and keep its map; returns None if the method does not apply."""
        return self._on(self.problem, name, options, {})

    def by_rule(self, objective: str, seconds: float, *, guarded: bool) -> Trial:
        """The best by metrics; ``guarded``: with no hottest link worse than that of the order of the allocation.

        Of a program ``guarded`` means, too: no slower than a usual order without contention, if there is time for that.
        """
        rough = None
        if self.clock is not None and guarded and self.problem.imbalance is None:
            seconds = max(seconds - self.clock.spent, 0.0)
            rough = self.clock.without_contention()
            checking = self._checks * rough.cost
            rough, seconds = (rough, seconds - checking) if checking <= CHECKING * seconds else (None, seconds)
        portfolio(self.problem, self.attempt, seconds, objective)
        if not guarded or self.problem.imbalance is not None:
            return best_of(self.trials, objective, self.problem)
        best = no_hotter(self.trials, self.problem, self.attempt, _COOLING * seconds)
        return best if rough is None else self._no_slower(best, rough, checking + self._unspent(seconds))

    def _no_slower(self, best: Trial, clock: Clock, seconds: float) -> Trial:
        """The best by metrics of those that are no slower than usual orders, as many as can be simulated."""

        def time(t: Trial) -> float:
            return clock.seconds(placement_of(self.problem, t.place))

        least = min(time(t) for t in self.trials if t.method in USUAL)
        allowed = cooler_than_usual(self.trials)
        for t in sorted((t for t in allowed if t.method not in USUAL), key=lambda t: (t is not best, t.hop_bytes)):
            if t is not best and clock.spent + clock.cost > seconds:
                break
            if time(t) <= least:
                return t
        return min((t for t in allowed if t.method in USUAL), key=time)

    def _unspent(self, seconds: float) -> float:
        """The rest of this many seconds that methods left."""
        return seconds - sum(granted(self.problem, t.options) for t in self.trials)

    def by_time(self, seconds: float, *, all: bool) -> Trial:
        """The fastest by simulation; ``all``: every map is simulated, even if that takes longer."""
        assert self.clock is not None
        wider = self._with_collectives()
        search = seconds - max(SIMULATING * seconds, min(self._checks * self.clock.cost, CHECKING * seconds))
        for_each = search / (1 if wider is None else 2)
        portfolio(self.problem, self.attempt, for_each, "time")
        if wider is not None:
            said = {"messages": "all"}
            portfolio(wider, lambda name, **options: self._on(wider, name, options, said), for_each, "time")
        until = self._unspent(seconds)
        order = sorted(self.trials, key=lambda t: (t.method not in USUAL, t.hop_bytes))
        least = sum(t.method in USUAL for t in order)
        simulated = []
        for i, t in enumerate(order):
            if all or i <= least or self.clock.spent + self.clock.cost <= until:
                self._time(t.place)
                simulated.append(t)
        best = best_of(simulated, "time", self.problem)
        swapped = self._swapped(best, wider, until)
        return best if swapped is None else swapped

    def _on(self, problem: Problem, name: str, options: Mapping[str, Any], more: Mapping[str, Any]) -> Trial | None:
        chosen, full = find(name, options)
        begin = time.process_time()
        place = chosen.run(problem, full)
        spent = time.process_time() - begin
        if place is None:
            return None
        self.problem.check(place, f"method {name}")
        # A map to begin with goes by the method that found it.
        known = {id(t.place): t.method for t in self.trials}
        said = {key: known.get(id(value), value) if key == "start" else value for key, value in options.items()}
        said = {key: value for key, value in said.items() if not isinstance(value, np.ndarray)}
        return self._keep(name, {**more, **said}, spent, place)

    def _keep(self, name: str, options: dict[str, Any], spent: float, place: NDArray[np.uint32]) -> Trial:
        self.trials.append(Trial(name, options, spent, place, self.problem.hop_bytes(place), self._metrics, self.clock))
        return self.trials[-1]

    def _time(self, place: NDArray[np.uint32]) -> float:
        assert self.clock is not None
        return self.clock.seconds(placement_of(self.problem, place))

    def _with_collectives(self) -> Problem | None:
        """The problem with all messages that are simulated; None if these are hardly more."""
        assert self.clock is not None
        p = self.problem
        every = pattern_of(self.clock.schedule)
        if p.imbalance is not None or int(every.bytes.sum()) <= (1 + _MANY) * int(p.pattern.bytes.sum()):
            return None
        return Problem(every, p.job, p.capacity, seed=p.seed, coordinates=p.coordinates)

    def _swapped(self, start: Trial, wider: Problem | None, until: float) -> Trial | None:
        """Swaps that the simulation finds faster, until so much was spent on it; None where there are none."""
        clock = self.clock
        assert clock is not None
        if self.problem.imbalance is not None:
            return None
        begin = time.process_time()
        swaps = Swaps(self.problem if wider is None else wider, self.problem.seed)
        place = swaps.improved(start.place, self._time, lambda: clock.spent + clock.cost <= until)
        if place is start.place:
            return None
        return self._keep("swap-simulated", {"start": start.method}, time.process_time() - begin, place)
