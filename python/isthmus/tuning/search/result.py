"""The result of a sweep over sizes: times of candidates, and the rules by which others were skipped."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from ...tabular import Tabular
from ..table import Point, Row

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..choice import Choice
    from ..scenario import Scenario


class Source(IntEnum):
    """Source of a time, or the rule that left the candidate out."""

    simulated = 0
    between = 1  # larger schedules: from simulated sizes beside it
    same = 2  # a segment that is not smaller than the message: as without
    form = 3  # left out by its closed form
    bound = 4  # by the bound that holds for every algorithm
    size = 5  # by its times at other sizes
    uncontended = 6  # by its time without contention
    large = 7  # too many operations to simulate
    late = 8  # no time was left
    beyond = 9  # by the times of other values of an option
    work = 10  # by what its busiest rank or interface has to do
    links = 11  # by what the busiest link has to carry
    stopped = 12  # by its own simulation, which was stopped when it was slower


#: Sentences of the rules by which candidates are left out.
RULES = {
    Source.same: "segments no smaller than the message",
    Source.form: "closed form with the machine's fastest parameters",
    Source.work: "the work of their busiest rank or interface",
    Source.links: "the load on their busiest link",
    Source.bound: "lower bound of every algorithm",
    Source.stopped: "their own simulation, stopped once it was slower",
    Source.size: "their own times at smaller and larger sizes",
    Source.uncontended: "their time without contention",
    Source.beyond: "smaller or larger values of an option that were already slower",
    Source.large: "too many operations",
    Source.late: "lack of time",
}


@dataclass(frozen=True, eq=False)
class Sweep(Tabular):
    """Times of all candidates of one collective on one number of ranks, by size.

    Attributes
    ----------
    collective : str
    scenario : Scenario
    sizes : array of int, shape (N,)
        Bytes.
    choices : list of Choice
        Candidates.
    seconds : array of float, shape (C, N)
        Predicted times, NaN for candidates that were left out.
    source : array of uint8, shape (C, N)
        A :class:`Source` per time.
    bound : array of float, shape (N,)
        Lower bound of all algorithms, seconds; if pairs of ranks differ, with the fastest parameters of the machine.
    wall : float
        Wall-clock time of the sweep, seconds.
    mode : str
        Of synchronisation; empty: that of MPI.
    """

    collective: str
    scenario: Scenario
    sizes: NDArray[np.int64]
    choices: list[Choice]
    seconds: NDArray[np.float64]
    source: NDArray[np.uint8]
    bound: NDArray[np.float64]
    wall: float
    mode: str = ""

    def frame(self) -> dict[str, NDArray[np.generic]]:
        """Return one row per candidate and size: collective, ranks, bytes, algorithm, seconds, source, bound."""
        import numpy as np

        count, sizes = self.seconds.shape
        sources = np.array([Source(i).name for i in range(len(Source))])
        return {
            "collective": np.full(count * sizes, self.collective),
            "ranks": np.full(count * sizes, self.scenario.ranks),
            "bytes": np.tile(self.sizes, count),
            "algorithm": np.repeat(np.array([str(c) for c in self.choices]), sizes),
            "seconds": self.seconds.reshape(-1),
            "source": sources[self.source.reshape(-1)],
            "bound": np.tile(self.bound, count),
        }

    @property
    def simulations(self) -> int:
        """Number of simulations of a candidate at a size."""
        return int((self.source == Source.simulated).sum())

    @property
    def left_out(self) -> dict[Source, int]:
        """Number of candidates and sizes left out, by rule."""
        counts = Counter(self.source.ravel().tolist())
        return {rule: counts[rule] for rule in RULES if counts[rule]}

    @property
    def best(self) -> NDArray[np.intp]:
        """Index of the fastest candidate at each size."""
        found: NDArray[np.intp] = np.argmin(np.where(np.isnan(self.seconds), np.inf, self.seconds), axis=0)
        return found

    def row(self) -> Row:
        """Return the decisions as a row of a table."""
        points = []
        for i, first in enumerate(self.best):
            second = self._runner_up(i, int(first))
            points.append(
                Point(
                    int(self.sizes[i]),
                    self.choices[first],
                    float(self.seconds[first, i]),
                    None if second is None else self.choices[second],
                    None if second is None else float(self.seconds[second, i]),
                    float(self.bound[i]),
                )
            )
        return Row(self.scenario.ranks, tuple(points))

    def _runner_up(self, i: int, first: int) -> int | None:
        """The second best that is not the same algorithm by another name: somewhere its time differs."""
        order = np.argsort(self.seconds[:, i], kind="stable")
        for c in order:
            if c == first or np.isnan(self.seconds[c, i]):
                continue
            both = (self.source[c] == Source.simulated) & (self.source[first] == Source.simulated)
            if not both.any() or (self.seconds[c, both] != self.seconds[first, both]).any():
                return int(c)
        return None
