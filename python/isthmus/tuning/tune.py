"""The verb ``tune``."""

from __future__ import annotations

import datetime
import itertools
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..collectives.registry import Value
from ..errors import InvalidInput
from ..extras import Later
from ..machine import Allocation, Level, Machine
from ..machine.placement import Placement
from ..tabular import Tabular
from ..threads import Threads
from ..views import view
from .candidates import candidates
from .choice import Choice
from .rule import ALL, kinds_of
from .scenario import Scenario
from .search.result import RULES, Source, Sweep
from .search.sweep import sweep
from .table import DecisionTable, Provenance, Row

if TYPE_CHECKING:
    import matplotlib.figure
else:
    matplotlib = Later("matplotlib")


#: Bytes that are tuned for where nothing is said: powers of two.
SIZES = tuple(1 << k for k in range(3, 27))


@dataclass(frozen=True, eq=False)
class Tuning(Tabular):
    """Result of :func:`isthmus.tune`: the best algorithms, and the times behind them.

    Attributes
    ----------
    table : DecisionTable
        The decision table.
    sweeps : tuple of Sweep
        Times of all candidates, one sweep per collective and number of ranks.
    wall : float
        Wall-clock time of the tuning, seconds.
    """

    table: DecisionTable
    sweeps: tuple[Sweep, ...]
    wall: float

    def sweep(self, collective: str, ranks: int | None = None) -> Sweep:
        """Return the sweep of a collective, by default for the largest number of ranks.

        Raises
        ------
        InvalidInput
            If the collective or number of ranks was not tuned.
        """
        found = [s for s in self.sweeps if s.collective == collective and ranks in (None, s.scenario.ranks)]
        if not found:
            raise InvalidInput(f"{collective} on {ranks or 'any'} ranks was not tuned")
        return max(found, key=lambda s: s.scenario.ranks)

    def __str__(self) -> str:
        text: str = view("Tuning.__str__")(self)
        return text

    def frame(self) -> dict[str, NDArray[np.generic]]:
        """Return the decisions; see :meth:`isthmus.DecisionTable.frame`. ``sweeps`` has the times behind them."""
        return self.table.frame()

    def plot(
        self, path: str | os.PathLike[str] | None = None, collective: str | None = None, ranks: int | None = None
    ) -> matplotlib.figure.Figure:
        """Draw time by size, one line per algorithm; for several numbers of ranks see :meth:`plot_map`."""
        drawn: matplotlib.figure.Figure = view("Tuning.plot")(
            self.sweep(collective or self.sweeps[0].collective, ranks), path
        )
        return drawn

    def plot_map(
        self, path: str | os.PathLike[str] | None = None, collective: str | None = None
    ) -> matplotlib.figure.Figure:
        """Draw the best algorithm by ranks and size."""
        kind = collective or self.sweeps[0].collective
        self.sweep(kind)
        drawn: matplotlib.figure.Figure = view("Tuning.plot_map")(
            [s for s in self.sweeps if s.collective == kind], path
        )
        return drawn


def tune(
    collective: str | Iterable[str],
    machine: Machine | Level | str,
    *,
    ranks: int | Iterable[int],
    sizes: Sequence[int] | NDArray[np.int64] | None = None,
    placement: Allocation | Placement | ArrayLike | None = None,
    model: str | None = None,
    routing: str = "minimal",
    algorithms: Iterable[str] | None = None,
    options: Mapping[str, Sequence[Value]] | None = None,
    flavours: Sequence[str] | None = None,
    modes: Sequence[str] | None = None,
    ordered: bool = False,
    margin: float = 0.1,
    exhaustive: bool = False,
    seconds: float | None = None,
    workers: int = 1,
    copy_rate: float | None = None,
    reduce_rate: float | None = None,
    progress: bool | Callable[[int, int], None] = False,
) -> Tuning:
    """Choose algorithms of collectives for a machine by simulation.

    Every algorithm is tried with radices, segments and its other options. Candidates that cannot be best are not
    simulated; :func:`isthmus.tuning.search.sweep.sweep` describes the rules.

    Parameters
    ----------
    collective : str or iterable of str
        Collectives such as "allreduce"; "all" for all that need no counts.
    machine : Machine, Level or str
        As of :func:`isthmus.simulate`.
    ranks : int or iterable of int
    sizes : sequence of int, optional
        Bytes, ascending; by default powers of two from 8 B to 64 MiB. For gather, allgather, scatter, alltoall and
        reduce_scatter, bytes of one rank's block.
    placement : Allocation, Placement or array of int, optional
        As for :func:`isthmus.simulate`; for several numbers of ranks, an allocation.
    model : str, optional
        As for :func:`isthmus.simulate`. By default "flow", in which messages share links, or "loggops" if there are no
        links: for a Level, and for ranks on one node.
    routing : str
        As of :func:`isthmus.simulate`.
    algorithms : iterable of str, optional
        Try only these.
    options : mapping of str to sequence, optional
        Values to try of an option, such as ``{"radix": [2, 4]}``.
    flavours : sequence of str, optional
        Flavours to try, by their words in :func:`isthmus.collective`: "message", "put" and "get"; of messages "size",
        "eager" and "rendezvous"; of the others "my" and "none"; "all" for barriers around everything. By default
        messages with a protocol by size: MPI libraries know no others.
    modes : sequence of str, optional
        Modes of synchronisation to tune for, one of :data:`isthmus.tuning.table.MODES` each; the decisions are those of
        collectives on the memory of spaces, by messages, puts and gets unless ``flavours`` names fewer of these. By
        default none: the decisions are those of calls that name no mode.
    ordered : bool
        Operators do not commute: only algorithms that combine operands in rank order (reduce: for root 0) are tried,
        and others are refused.
    margin : float
        A candidate is left out if its lower bound exceeds the best time by this share.
    exhaustive : bool
        Simulate all candidates at all sizes.
    seconds : float, optional
        Time after which no further simulation is started for one collective and number of ranks.
    workers : int
        Number of collectives and numbers of ranks to tune in parallel, or of simulations if there is only one. The
        result does not depend on it.
    copy_rate, reduce_rate : float, optional
        As of :func:`isthmus.simulate`.
    progress : bool or callable
        True: show a progress bar on standard error. A callable is called with the candidates decided and their total.

    Returns
    -------
    Tuning
        ``print`` shows the decisions; ``.table`` is the :class:`DecisionTable`.

    Raises
    ------
    InvalidInput
        If a name is unknown, sizes do not ascend, or the placement does not fit.

    Examples
    --------
    >>> import isthmus
    >>> tuning = isthmus.tune("bcast", "torus-4x4x4", ranks=64, sizes=[8, 65536], algorithms=["binomial", "linear"])
    >>> print(tuning.table.lookup("bcast", 64, 8))
    binomial
    """
    if isinstance(machine, str):
        from ..loading import load

        machine = load(machine)
    if not isinstance(machine, (Machine, Level)):
        raise InvalidInput(f"machine: {type(machine).__name__}; must be a Machine, a Level, a name or specification")
    if workers < 1:
        raise InvalidInput(f"{workers} workers: expected at least 1")
    begin = time.perf_counter()
    kinds = kinds_of(collective)
    counts = sorted({int(r) for r in ([ranks] if isinstance(ranks, int) else ranks)})
    if not counts:
        raise InvalidInput("ranks to tune for: expected at least one number")
    table = np.asarray(SIZES if sizes is None else sizes, np.int64)
    only = None if algorithms is None else list(algorithms)
    tasks = []
    of_task: list[tuple[str, str]] = []  # kind and mode
    for count in counts:
        shared = model or _model(machine, count, placement)
        scenario = Scenario(machine, count, placement, shared, routing, copy_rate, reduce_rate)
        for kind, mode in itertools.product(kinds, modes or [""]):
            tried = candidates(
                kind, scenario, algorithms=only, options=options, flavours=flavours, mode=mode, ordered=ordered
            )
            tasks.append((kind, scenario, table[:1] * 0 if kind == "barrier" else table, tried))
            of_task.append((kind, mode))
    report = _Progress(sum(len(task[2]) * len(task[3]) for task in tasks), progress)
    try:
        within = workers if len(tasks) == 1 else 1
        with Threads(workers) as pool:
            sweeps = list(
                pool.map(
                    lambda task: sweep(
                        *task,
                        margin=margin,
                        exhaustive=exhaustive,
                        seconds=seconds,
                        workers=within,
                        progress=report.of_task(),
                    ),
                    tasks,
                )
            )
    finally:
        report.close()
    sweeps = [replace(found, mode=mode) for found, (_, mode) in zip(sweeps, of_task, strict=True)]
    rows: dict[str, list[Row]] = {}
    by_mode: dict[str, dict[str, list[Row]]] = {}
    for (kind, mode), found in zip(of_task, sweeps, strict=True):
        if mode:
            by_mode.setdefault(kind, {}).setdefault(mode, []).append(_without_sync(found.row()))
        else:
            rows.setdefault(kind, []).append(found.row())
    decided = DecisionTable(rows, _provenance(tasks[-1][1]), by_mode)
    return Tuning(decided, tuple(sweeps), time.perf_counter() - begin)


def _without_sync(row: Row) -> Row:
    """The calls that follow a row of a mode say it by themselves."""

    def plain(choice: Choice) -> Choice:
        return Choice(choice.name, {key: value for key, value in choice.options.items() if key != "sync"})

    points = [
        replace(p, choice=plain(p.choice), runner_up=None if p.runner_up is None else plain(p.runner_up))
        for p in row.points
    ]
    return replace(row, points=tuple(points))


def _model(machine: Machine | Level, ranks: int, placement: Allocation | Placement | ArrayLike | None) -> str:
    """The model to choose with where none is given."""
    from ..simulation.simulate import located

    if isinstance(machine, Level):
        return "loggops"
    node = located(ranks, machine, placement).node
    return "flow" if (node != node[0]).any() else "loggops"


def _provenance(scenario: Scenario) -> Provenance:
    from .. import __version__

    words = scenario.words()
    return Provenance(isthmus=__version__, date=datetime.date.today().isoformat(), source="model", **words)


class _Progress:
    """Sums what tasks that run at the same time have decided."""

    def __init__(self, total: int, progress: bool | Callable[[int, int], None]) -> None:
        from ..progress import Reporter

        self.done: list[int] = []
        self.reporter = None
        if progress is not False:
            self.reporter = Reporter(total, None if progress is True else progress)

    def of_task(self) -> Callable[[int, int], None] | None:
        if self.reporter is None:
            return None
        number = len(self.done)
        self.done.append(0)
        reporter = self.reporter

        def report(done: int, _: int) -> None:
            self.done[number] = done
            reporter(sum(self.done))

        return report

    def close(self) -> None:
        if self.reporter is not None:
            self.reporter.close()


__all__ = ["ALL", "RULES", "SIZES", "Source", "Sweep", "Tuning", "tune"]
