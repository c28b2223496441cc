"""Running methods, simulating what they find, and keeping the best."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .graphs import granted
from .mapped import Trial
from .methods import find
from .metrics import pattern_of
from .portfolio import USUAL, portfolio
from .problem import Problem
from .selection import best_of, no_hotter
from .sockets import placement_of
from .swaps import Swaps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .clock import Clock
    from .metrics import Metrics

#: Part of the time for simulations, at least, where these decide.
SIMULATING = 0.3
#: Part of the time for links that are hotter than before, where there are.
_COOLING = 0.2
#: Messages of collectives are mapped too where they have this part of all bytes.
_MANY = 0.01


class Search:
    """What was tried for a problem.

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
        """Can the usual orders and one other placement be simulated in the part of the time for simulations?"""
        if self.clock is None:
            return False
        # The first says what the others take, if that is not too much already.
        few = (len(USUAL) + 1) * self.clock.cost <= SIMULATING * seconds
        if few:
            place = find("default", {})[0].run(self.problem, {})
            assert place is not None
            self._time(place)
        return few and (len(USUAL) + 1) * self.clock.cost <= SIMULATING * seconds

    def attempt(self, name: str, **options: Any) -> Trial | None:
        """Runs a method and keeps its map; None where it does not apply."""
        return self._on(self.problem, name, options, {})

    def by_rule(self, objective: str, seconds: float, *, guarded: bool) -> Trial:
        """The best by metrics; ``guarded``: no hottest link worse than that of the order of the allocation."""
        portfolio(self.problem, self.attempt, seconds, objective)
        if guarded and self.problem.imbalance is None:
            return no_hotter(self.trials, self.problem, self.attempt, _COOLING * seconds)
        return best_of(self.trials, objective, self.problem)

    def by_time(self, seconds: float, *, all: bool) -> Trial:
        """The fastest by simulation; ``all``: every map is simulated, even if that takes longer."""
        assert self.clock is not None
        wider = self._with_collectives()
        for_each = (1 - SIMULATING) * seconds / (1 if wider is None else 2)
        portfolio(self.problem, self.attempt, for_each, "time")
        if wider is not None:
            said = {"messages": "all"}
            portfolio(wider, lambda name, **options: self._on(wider, name, options, said), for_each, "time")
        until = seconds - sum(granted(self.problem, t.options) for t in self.trials)
        order = sorted(self.trials, key=lambda t: (t.method not in USUAL, t.hop_bytes))
        simulated = []
        for i, t in enumerate(order):
            if all or i <= len(USUAL) or self.clock.spent + self.clock.cost <= until:
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
        """The same problem with all messages that are simulated; None where these are hardly more."""
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
