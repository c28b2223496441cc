"""Running methods, simulating what they find, and keeping the best."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .choice import best_of, no_hotter
from .mapped import Trial
from .methods import find
from .metrics import pattern_of
from .portfolio import USUAL, portfolio
from .problem import Problem
from .sockets import placement_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .clock import Clock
    from .metrics import Metrics

#: Part of the time for simulations, where these decide.
SIMULATING = 0.3
#: Part of the time for links that are hotter than before, where there are.
_COOLING = 0.2
#: Messages of collectives are mapped too where they have this part of all bytes.
_MANY = 0.01
#: Swaps that are simulated for each task, at most.
_PROPOSALS = 64


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
        return self.clock is not None and (len(USUAL) + 1) * self.clock.cost <= SIMULATING * seconds

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
        order = sorted(self.trials, key=lambda t: (t.method not in USUAL, t.hop_bytes))
        most = len(order) if all else int(SIMULATING * seconds / self.clock.cost)
        kept = {id(t) for t in order[: max(most, len(USUAL) + 1)]}
        simulated = [t for t in self.trials if id(t) in kept]
        for t in simulated:
            self._time(t.place)
        best = best_of(simulated, "time", self.problem)
        swapped = self._swapped(best, SIMULATING * seconds - len(simulated) * self.clock.cost)
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

    def _swapped(self, start: Trial, seconds: float) -> Trial | None:
        """Swaps that the simulation finds faster, for about so much processor time; None where there are none."""
        p = self.problem
        assert self.clock is not None
        most = min(int(seconds / self.clock.cost), _PROPOSALS * p.tasks)
        if p.imbalance is not None or most < 1:
            return None
        begin = time.process_time()
        rng = np.random.Generator(np.random.PCG64([p.seed, 1]))
        place, best = start.place, self._time(start.place)
        for _ in range(most):
            other = _neighbour(p, place, rng)
            if other is None:
                continue
            found = self._time(other)
            if found < best:
                best, place = found, other
        if place is start.place:
            return None
        return self._keep("swap-simulated", {"start": start.method}, time.process_time() - begin, place)


def _neighbour(problem: Problem, place: NDArray[np.uint32], rng: np.random.Generator) -> NDArray[np.uint32] | None:
    """Two tasks of different places swapped, or one moved to a place with room; None where a draw changes nothing."""
    free = np.flatnonzero(np.bincount(place, minlength=problem.places) < problem.capacity)[: problem.tasks]
    u, v = int(rng.integers(problem.tasks)), int(rng.integers(problem.tasks + len(free)))
    to = place[v] if v < problem.tasks else free[v - problem.tasks]
    if to == place[u]:
        return None
    out = place.copy()
    out[u] = to
    if v < problem.tasks:
        out[v] = place[u]
    return out
