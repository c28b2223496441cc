"""The result of ``advise``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..machine import Allocation, Machine
from ..machine.placement import Placement
from ..schedule.pattern import Pattern
from ..schedule.program import Program
from ..schedule.schedule import Schedule
from ..simulation.timeline import Timeline
from ..simulation.words import WORDS
from ..tabular import Cell, Tabular
from ..views import view
from .analysis.calls import Call, Pair, SizeClass
from .analysis.links import NetworkUse
from .analysis.numbers_used import Used
from .analysis.pipelining import Overlap
from .analysis.remapping import Placing
from .collectives.comparison import Choices
from .settings.limits import MpiSettings

#: Where the mean rank's time goes, in words. Only the first five and noise lie on the critical path too.
TIME_CLASSES = {
    "compute": WORDS["compute"],
    "overhead": "message overhead (o, O)",
    "latency": WORDS["latency"],
    "bandwidth": WORDS["gap"],
    "contention": WORDS["contention"],
    "waiting": "waiting for partners",
    "synchronisation": "waiting in collectives",
    "noise": WORDS["noise"],
    "idle": WORDS["idle"],
}


#: What the predicted time is made of, in words: the parts add up to it, and efficiencies are ratios of their sums.
LOSSES = {
    "computation": "computation (mean over ranks)",
    "imbalance": "load imbalance",
    "dependencies": "dependencies between ranks",
    "network": "network and overheads",
    "contention": "contention",
}


@dataclass(frozen=True)
class Efficiency:
    """Parallel efficiencies as defined by the POP centre of excellence; 1 means that nothing is lost.

    Attributes
    ----------
    load_balance : float
        Mean computation time of the ranks divided by the largest.
    serialisation : float
        Largest computation time of a rank divided by the run time on an ideal network (L, o, g, G and O are 0): the
        loss to ranks that wait for each other.
    transfer : float
        Run time on the ideal network divided by the run time: the loss to the network and its overheads.

    References
    ----------
    Performance Optimisation and Productivity (POP), "Standard metrics for performance audit", multiplicative model; the
    ideal network is that of Dimemas there, and a simulation here.
    """

    load_balance: float
    serialisation: float
    transfer: float

    @classmethod
    def of(cls, losses: Mapping[str, float]) -> Efficiency:
        """Return the efficiencies of a run time that is split into LOSSES."""
        mean, most = losses["computation"], losses["computation"] + losses["imbalance"]
        ideal, time = most + losses["dependencies"], sum(losses.values())
        if most == 0 or ideal == 0:
            # Nothing is computed: all time is lost to the network.
            return cls(1.0, 1.0, ideal / time)
        return cls(mean / most, most / ideal, ideal / time)

    @property
    def communication(self) -> float:
        """Communication efficiency: serialisation x transfer."""
        return self.serialisation * self.transfer

    @property
    def parallel(self) -> float:
        """Parallel efficiency: load balance x communication, the mean computation time divided by the run time."""
        return self.load_balance * self.communication


@dataclass(frozen=True)
class WhatIf:
    """A change to the program or machine, and what it would save.

    Attributes
    ----------
    name, words : str
    time : float
        Run time after the change, or a lower bound of it, seconds.
    saving : float
        Saved time, seconds; never negative for a bound.
    bound : bool
        True: an upper bound of the saving, which no run may reach. False: the result of a simulation.
    """

    name: str
    words: str
    time: float
    saving: float
    bound: bool


@dataclass(frozen=True)
class Growth:
    """How the run time depends on one cost of messages, varied at all levels of the machine.

    Attributes
    ----------
    name : str
        latency, bandwidth (the time that interfaces take, its inverse) or overhead.
    curve : mapping of float to float
        Run time in seconds by factor of the cost, ascending; factor 1 is the machine itself.
    ten_percent : float
        Relative growth of the run time if the cost grows by 10 %.
    tolerance : mapping of float to float or None
        Factor by which the cost may grow until the run time has grown by this share (0.01, 0.05, 0.1). None: more than
        the largest factor tried, which is 1024 if ``refined`` and the end of the curve otherwise.
    refined : bool
        True: tolerances were found by simulation, to 0.05 % of the run time. False: by linear interpolation of the
        curve, which underestimates them as long as the curve is convex.
    level : str
        The farthest level at which messages pass: socket, node or network.
    value : float
        The cost at that level: L or o_send (s), or 1 / G (B/s).
    """

    name: str
    curve: Mapping[float, float]
    ten_percent: float
    tolerance: Mapping[float, float | None]
    refined: bool
    level: str
    value: float

    @property
    def none(self) -> bool:
        """Whether the run time is independent of the cost, for all factors tried."""
        times = list(self.curve.values())
        return max(times) - min(times) <= 1e-6 * max(times)


@dataclass(frozen=True, eq=False)
class Prediction:
    """Prediction of the program on one machine.

    Attributes
    ----------
    machine : Machine
    placement : Allocation or Placement
    timeline : Timeline
        The simulation; on the first machine with ``record="ops"``. For programs that were simulated piece by piece it
        has the operations of one piece.
    operations : int
        Number of operations of the whole program.
    losses : dict of str to float
        Seconds by LOSSES, which add up to the run time: the mean computation of the ranks; the extra computation of
        the rank that computes most; the extra time of the run on an ideal network (with operating system noise); the
        extra time on this network without contention; the time lost to contention.
    by_rank : dict of str to array of float64 or None
        Seconds of every rank by TIME_CLASSES, which add up to the run time; None if a class was not recorded (it is
        then part of waiting).
    path : dict of str to float, optional
        Seconds of the critical path by share; for large programs, of the path through a ``part``.
    beyond : float, optional
        Computation on the critical path minus the mean computation of the ranks, seconds: the computation that others
        wait for because of imbalance and dependencies.
    what_ifs : tuple of WhatIf
        Simulations first, then bounds.
    sensitivities : tuple of Growth
    calls, pairs, sizes : tuple
        The critical path by call, by pair of ranks, and by message size; the largest share first.
    part : (float, float), optional
        Begin and end of the part of the run that ``path`` and everything derived from it cover, seconds; None: all.
    path_of_ranks : array of float64, shape (ranks, 2), optional
        Seconds of the critical path on every rank, and of these in its own computation.
    used : tuple of Used
        The numbers of the machine that were used, with their provenance.
    network : NetworkUse, optional
        Use of links on the first machine, in models with contention.
    placing : Placing, optional
        What another placement on the same nodes would change, on the first machine.
    pattern : Pattern, optional
        Bytes between ranks, if ``timeline`` does not hold all operations.
    choices : Choices, optional
        What other algorithms of collectives would change, on the first machine.
    overlaps : tuple of Overlap
        Calls that could be hidden behind computation, on the first machine; the most saving first.
    settings : MpiSettings, optional
        Queues of MPI and parameters of its library, on the first machine, if ``timeline`` holds all operations.
    """

    machine: Machine
    placement: Allocation | Placement
    timeline: Timeline
    operations: int
    losses: dict[str, float]
    by_rank: dict[str, NDArray[np.float64] | None]
    path: dict[str, float] | None
    beyond: float | None
    what_ifs: tuple[WhatIf, ...]
    used: tuple[Used, ...]
    sensitivities: tuple[Growth, ...] = ()
    calls: tuple[Call, ...] = ()
    pairs: tuple[Pair, ...] = ()
    sizes: tuple[SizeClass, ...] = ()
    part: tuple[float, float] | None = None
    path_of_ranks: NDArray[np.float64] | None = None
    network: NetworkUse | None = None
    placing: Placing | None = None
    pattern: Pattern | None = None
    choices: Choices | None = None
    overlaps: tuple[Overlap, ...] = ()
    settings: MpiSettings | None = None

    @property
    def time(self) -> float:
        """Run time of the program, seconds."""
        return self.timeline.makespan

    @property
    def span(self) -> float:
        """Length of the critical path, seconds."""
        return self.time if self.part is None else self.part[1] - self.part[0]

    @property
    def mean(self) -> dict[str, float | None]:
        """Mean over the ranks of the seconds spent in each of TIME_CLASSES."""
        return {name: None if values is None else float(values.mean()) for name, values in self.by_rank.items()}

    @property
    def efficiency(self) -> Efficiency:
        return Efficiency.of(self.losses)

    @property
    def dominant(self) -> str:
        """The largest of LOSSES except computation; computation if none reaches 0.5 % of the run time."""
        lost = {name: value for name, value in self.losses.items() if name != "computation"}
        name = max(lost, key=lambda key: lost[key])
        return name if lost[name] >= 0.005 * self.time else "computation"

    def what_if(self, name: str) -> WhatIf | None:
        """Return the what-if of this name, or None if it was not evaluated."""
        return next((w for w in self.what_ifs if w.name == name), None)


@dataclass(frozen=True)
class Sentence:
    """One piece of advice.

    Attributes
    ----------
    topic, text : str
    gain : float
        Saved seconds, by simulation; for a bound, at most. Sentences are ordered by gain.
    bound : bool
        True: ``gain`` is an upper bound, which no run may reach.
    """

    topic: str
    text: str
    gain: float
    bound: bool = False


@dataclass(frozen=True, eq=False)
class Advice(Tabular):
    """Report on what limits a program on one or more machines; ``print`` it or :meth:`save` it.

    Attributes
    ----------
    name : str
        Name of the program in the report.
    program : Program or Schedule
        The program as simulated, with computation scaled.
    predictions : tuple of Prediction
        One per machine, in the order given; the first has every detail.
    sentences : tuple of Sentence
        What to change, and how much that saves by simulation; the largest saving first.
    bounds : tuple of Sentence
        Upper bounds of savings, the largest first.
    notes : tuple of str
        Caveats about the figures.
    scale_compute : float
    simulations : int
        Number of simulations that the advice took.
    model, routing : str
        Network model and routing, as for :func:`isthmus.simulate`.
    """

    name: str
    program: Program | Schedule
    predictions: tuple[Prediction, ...]
    sentences: tuple[Sentence, ...]
    bounds: tuple[Sentence, ...]
    notes: tuple[str, ...]
    scale_compute: float = 1.0
    simulations: int = 0
    model: str = "loggops"
    routing: str = "minimal"

    @property
    def ranks(self) -> int:
        return self.program.ranks

    def frame(self) -> list[dict[str, Cell]]:
        """Return the comparison of the machines, one row per machine, in SI units."""
        rows: list[dict[str, Cell]] = view("Advice.frame")(self)
        return rows

    def json(self) -> dict[str, Any]:
        """Return the whole report as plain numbers, lists and dicts, in SI units."""
        plain: dict[str, Any] = view("Advice.json")(self)
        return plain

    def html(self) -> str:
        """Return the report as one self-contained HTML page; raises Unsupported if jinja2 is missing."""
        page: str = view("Advice.html")(self)
        return page

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report as HTML, atomically.

        Raises
        ------
        InvalidInput
            If the suffix is not .html.
        Unsupported
            If the package jinja2 is missing; the extra ``report`` brings it.
        """
        view("Advice.save")(self, path)

    def __str__(self) -> str:
        text: str = view("Advice.__str__")(self)
        return text

    def __repr__(self) -> str:
        machines = ", ".join(f"{p.machine.name} {p.time:g} s" for p in self.predictions)
        return f"<Advice: {self.ranks} ranks on {machines}>"
