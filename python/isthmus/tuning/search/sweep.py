"""The best algorithm of one collective for a sweep of sizes, without simulating what cannot be it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InvalidInput
from .result import Sweep
from .search import Search

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from ..choice import Choice
    from ..scenario import Scenario


def sweep(
    collective: str,
    scenario: Scenario,
    sizes: Sequence[int] | NDArray[np.int64],
    choices: Sequence[Choice],
    *,
    margin: float = 0.1,
    exhaustive: bool = False,
    seconds: float | None = None,
    workers: int = 1,
    known: Mapping[tuple[Choice, int], float] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Sweep:
    """Times of the candidates that may be best.

    A candidate is simulated at a size unless a lower bound of its time is more than ``margin`` above the best time that
    is known, and its simulation is stopped when it takes that long and a second best is known. Bounds are its closed
    form with the fastest parameters of the machine, the bound of all algorithms, in models with contention its time
    without, and its own times at other sizes: more bytes never take less time, and not more time than in proportion.
    For radices and segments, a time that has begun to rise is taken to go on rising. The last two are no
    theorems (protocols change with size), which is why there is a margin.

    Under the model "flow" large schedules are simulated with a resolution of 0.05, which changes times by about 1 %,
    and two candidates within half a per cent of each other count as equal.

    Parameters
    ----------
    collective : str
    scenario : Scenario
    sizes : sequence of int
        Bytes, ascending.
    choices : sequence of Choice
    margin : float
        How far below the best time a bound may be before its candidate is left out, relative to that time.
    exhaustive : bool
        Simulate every candidate at every size.
    seconds : float, optional
        Begin no simulation after so long.
    workers : int
        Simulations at once; the result does not depend on it.
    known : mapping of pairs of Choice and int to float, optional
        Seconds of some of the choices at some of the sizes, where they were simulated before.
    progress : callable, optional
        Called with the decided pairs of candidate and size, and their number.

    Raises
    ------
    InvalidInput
        For no candidates, and sizes that do not ascend.
    """
    table = np.asarray(sizes, np.int64).reshape(-1)
    if not len(table) or (np.diff(table) <= 0).any() or table[0] < 0:
        raise InvalidInput("sizes to tune for: expected numbers from 0 that ascend")
    if not choices:
        raise InvalidInput(f"{collective} has no algorithm to try")
    begin = time.perf_counter()
    end = begin + (seconds or np.inf)
    search = Search(collective, scenario, table, list(choices), margin, exhaustive, end, workers, known)
    search.run(progress)
    wall = time.perf_counter() - begin
    return Sweep(collective, scenario, table, list(choices), search.seconds, search.source, search.floor, wall)
