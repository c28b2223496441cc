"""The simulations that an analysis takes, in threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ...machine import Noise
from ...progress import Reporter
from ...simulation.simulate import simulate
from ...threads import Threads

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ...machine import Allocation, Machine
    from ...machine.placement import Placement
    from ...schedule.schedule import Schedule
    from ...simulation.timeline import Timeline


class Simulator:
    """Simulations of schedules in threads, with one bar of progress for all of them.

    Parameters
    ----------
    model, routing : str
        Network model and routing, unless :meth:`run` is asked for others.
    progress : bool
        Show the bar on standard error.
    planned : int
        Operations of all simulations, about.
    """

    def __init__(
        self,
        noise: Noise | None,
        seed: int,
        progress: bool,
        planned: int,
        operations: int,
        model: str = "loggops",
        routing: str = "minimal",
    ) -> None:
        self.noise, self.seed, self.model, self.routing = noise, seed, model, routing
        # A simulation takes up to 60 bytes an operation while it runs.
        workers = max(1, min(os.cpu_count() or 1, 32_000_000 // max(operations, 1)))
        self._pool = Threads(workers)
        self._reporter = Reporter(planned, None) if progress else None
        self._lock = threading.Lock()
        self._done: dict[int, int] = {}
        self.simulations = 0

    def __enter__(self) -> Simulator:
        return self

    def __exit__(self, *raised: Any) -> None:
        self._pool.__exit__(*raised)
        if self._reporter is not None:
            self._reporter.close()

    def begin(self) -> int:
        """The number of a new simulation."""
        with self._lock:
            self.simulations += 1
            return self.simulations

    def run(
        self,
        schedule: Schedule,
        machine: Machine,
        placement: Allocation | Placement,
        record: str = "finish",
        model: str | None = None,
        path_part: tuple[int, int] | None = None,
        after: NDArray[np.int64] | None = None,
        number: int | None = None,
    ) -> Timeline:
        """One simulation, in this thread; with the ``number`` of another, what comes ``after`` that."""
        number = self.begin() if number is None else number
        before = self._done.get(number, 0)

        def report(done: int, total: int) -> None:
            with self._lock:
                self._done[number] = before + done
                if self._reporter is not None:
                    self._reporter(min(sum(self._done.values()), self._reporter.total))

        timeline = simulate(
            schedule,
            machine,
            placement,
            model=model or self.model,
            # What is simulated without links for comparison has no routes.
            routing="minimal" if model == "loggops" else self.routing,
            record=record,
            noise=self.noise,
            seed=self.seed,
            progress=report,
            path_part=path_part,
            after=after,
        )
        report(len(schedule), len(schedule))
        return timeline

    def map(self, function: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        """The function of each, in threads; it must not call map itself."""
        return list(self._pool.map(function, *arguments))
