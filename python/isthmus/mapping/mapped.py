"""The result of ``map``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..machine.placement import Placement
from ..tabular import Cell, Tabular
from ..units import amount
from ..views import view
from .bounds import Bounds, bounds
from .clock import Clock, key_of, timed
from .metrics import DEFINITIONS, Metrics, in_words, metrics_of
from .portfolio import USUAL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..schedule.pattern import Pattern
    from ..schedule.program import Program
    from ..schedule.schedule import Schedule
    from .problem import Problem
    from .trial import Trial

#: Placements that a map is compared with.
BASELINES = ("default", "block", "cyclic", "random")


@dataclass(frozen=True, eq=False)
class Mapped(Tabular):
    """Result of :func:`isthmus.map`: a placement, its metrics and all trials; ``print`` shows the report.

    Attributes
    ----------
    what : Pattern, Program or Schedule
    pattern : Pattern
    problem : Problem
    best : Trial
        The trial that was kept.
    trials : tuple of Trial
        All trials, in the order in which they were run.
    objective : str
    undirected : bool
        As given to :func:`isthmus.map`.
    clock : Clock, optional
        Simulates placements of a program or schedule.
    spectral : bool
        Whether the bounds include the spectral bound, if it is possible.
    unsearched : bool
        Whether the time was too short for any search, so that the placement is one of the usual orders.
    too_short : float, optional
        Approximate seconds that reading and metrics alone take, if they exceed the given time.
    """

    what: Pattern | Program | Schedule
    pattern: Pattern
    problem: Problem
    best: Trial
    trials: tuple[Trial, ...]
    objective: str
    undirected: bool = False
    clock: Clock | None = None
    spectral: bool = True
    unsearched: bool = False
    too_short: float | None = None

    @property
    def placement(self) -> Placement:
        """Best placement found."""
        return self.best.metrics.placement

    @cached_property
    def metrics(self) -> Metrics:
        """Metrics of the placement, with the simulated time of a program or schedule."""
        return timed(self.best.metrics, self.clock, simulate=True)

    @property
    def method(self) -> str:
        """Name of the method that found the placement."""
        return self.best.name

    @property
    def seconds(self) -> float:
        """Processor time of all methods."""
        return sum(t.seconds for t in self.trials)

    @cached_property
    def before(self) -> dict[str, Metrics]:
        """Metrics of the usual orders: default (the allocation's), block, cyclic and random."""
        # Orders are often the same, and some were tried: metrics of large patterns take seconds.
        known = {key_of(t.metrics.placement): t.metrics for t in self.trials if t.method in USUAL}
        out = {}
        for order in BASELINES:
            placement = self._baseline(order)
            key = key_of(placement)
            if key not in known:
                known[key] = metrics_of(self.pattern, placement, undirected=self.undirected)
            out[order] = timed(known[key], self.clock, simulate=True)
        return out

    @cached_property
    def bounds(self) -> Bounds:
        """Lower bounds that no placement on these nodes can beat."""
        return bounds(self.problem, directions=2.0 if self.undirected else 1.0, spectral=self.spectral)

    @cached_property
    def warning(self) -> str | None:
        """A sentence if one of the usual orders is better than this placement; None otherwise.

        The time is compared if both were simulated; otherwise the most congested link.
        """
        name = "time" if self.metrics.time is not None else "maximum_congestion"
        orders = USUAL if name == "time" else USUAL[:1]
        usual = min(orders, key=lambda order: self.before[order].value(name) or 0.0)
        here, there = self.metrics.value(name) or 0.0, self.before[usual].value(name) or 0.0
        if here <= there * (1 + 1e-9):
            return None
        return (
            f"In {usual} order the {DEFINITIONS[name].words} is less: {in_words(name, there)} instead of "
            f"{in_words(name, here)}."
        )

    def _baseline(self, order: str) -> Placement:
        from .methods import find

        place = find(order, {})[0].run(self.problem, {})
        assert place is not None
        return Placement(self.placement.machine, self.problem.job.nodes[place])

    def bound(self, name: str) -> float | None:
        """Return the lower bound of a metric; None if it has none."""
        total = self.metrics.bytes
        known = {
            "hop_bytes": self.bounds.hop_bytes,
            "average_dilation": self.bounds.hop_bytes / total if total else 0.0,
            "maximum_link_load": self.bounds.maximum_link_load,
        }
        return known.get(name)

    def frame(self) -> list[dict[str, Cell]]:
        """Return one row per metric, in SI units: the usual orders, this placement, and the bound if there is one."""
        return [
            {
                "metric": name,
                **{order: m.value(name) for order, m in self.before.items()},
                "mapped": self.metrics.value(name),
                "at_least": self.bound(name),
            }
            for name in DEFINITIONS
            if self.metrics.value(name) is not None
        ]

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return headings and rows of the comparison as text."""
        shown = [d for d in DEFINITIONS if self.metrics.value(d) is not None]
        rows = [
            [
                DEFINITIONS[name].words,
                *(m.words(name) for m in self.before.values()),
                self.metrics.words(name),
                in_words(name, self.bound(name)),
            ]
            for name in shown
        ]
        for level in self.metrics.levels:
            columns = (*self.before.values(), self.metrics)
            rows.append([f"bytes in {level}", *(amount(m.levels.get(level, 0)) for m in columns), ""])
        return ["", *self.before, "mapped", "lower bound"], rows

    def save(self, path: str | os.PathLike[str], format: str = "rankfile", **options: Any) -> None:
        """Write the placement as a launcher's file; see :func:`isthmus.mapping.launch.write`."""
        from .launch import write

        write(self.placement, format, path, self.problem.job, **options)

    def plot(self, path: str | os.PathLike[str] | None = None, kind: str = "load") -> Figure:
        """Draw the placement before and after mapping; see :func:`isthmus.plot.placement.plot_mapped`."""
        drawn: Figure = view("Mapped.plot")(self, path, kind)
        return drawn

    def json(self) -> dict[str, Any]:
        """Return the result as plain numbers, lists and dicts, in SI units."""
        return {
            "method": self.method,
            "objective": self.objective,
            "warning": self.warning,
            "ranks": self.placement.ranks,
            "machine": self.placement.machine.name,
            "metrics": self.metrics.json(),
            "before": {name: m.json() for name, m in self.before.items()},
            "bounds": {
                "hop_bytes": self.bounds.hop_bytes,
                "one_hop": self.bounds.one_hop,
                "degree": self.bounds.degree,
                "spectral": self.bounds.spectral,
                "maximum_link_load": self.bounds.maximum_link_load,
            },
            "tried": [
                {"method": t.method, "options": t.options, "seconds": t.seconds, "hop_bytes": t.metrics.hop_bytes,
                 "maximum_link_load": t.metrics.maximum_link_load, "time": t.metrics.time}
                for t in self.trials
            ],
            "node": self.placement.node.tolist(),
            "core": self.placement.core.tolist(),
        }  # fmt: skip

    def __str__(self) -> str:
        text: str = view("Mapped.__str__")(self)
        return text

    def __repr__(self) -> str:
        return f"<Mapped: {self.method}, hop-bytes {amount(self.metrics.hop_bytes)}>"
