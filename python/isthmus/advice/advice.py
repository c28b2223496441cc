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
from ..tabular import Tabular
from ..views import view
from .analysis.calls import Call, Pair, SizeClass
from .analysis.links import NetworkUse
from .analysis.numbers_used import Used
from .analysis.path_shares import PathSteps
from .analysis.remapping import Placing
from .collectives.comparison import Choices

#: Where the mean rank's time goes, in words. Only the first five and noise lie on the critical path too.
TIME_CLASSES = {
    "compute": "computing",
    "overhead": "overhead of messages (o, O)",
    "latency": "latency (L)",
    "bandwidth": "bandwidth (g, G)",
    "contention": "contention (shared links)",
    "waiting": "waiting for partners",
    "synchronisation": "waiting in collectives",
    "noise": "noise",
    "idle": "finished",
}


#: What the predicted time is made of, in words: the parts add up to it, and efficiencies are ratios of their sums.
LOSSES = {
    "computation": "computation, mean of the ranks",
    "imbalance": "load imbalance",
    "dependencies": "dependencies between ranks",
    "network": "network and overheads",
    "contention": "contention",
}


@dataclass(frozen=True)
class Efficiency:
    """Parallel efficiencies as the POP centre of excellence defines them; each is 1 where nothing is lost.

    Attributes
    ----------
    load_balance : float
        Mean over the ranks of their computation, over the most of a rank.
    serialisation : float
        The most that a rank computes over the time on an ideal network (L, o, g, G and O are 0): what is lost to ranks
        that wait for each other.
    transfer : float
        The time on the ideal network over the time: what is lost to the network and its overheads.

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
        """Those of a time that is made of LOSSES."""
        mean, most = losses["computation"], losses["computation"] + losses["imbalance"]
        ideal, time = most + losses["dependencies"], sum(losses.values())
        if most == 0 or ideal == 0:
            # Nothing is computed: all time is lost to the network.
            return cls(1.0, 1.0, ideal / time)
        return cls(mean / most, most / ideal, ideal / time)

    @property
    def communication(self) -> float:
        """serialisation x transfer."""
        return self.serialisation * self.transfer

    @property
    def parallel(self) -> float:
        """load balance x communication: mean computation over time."""
        return self.load_balance * self.communication


@dataclass(frozen=True)
class WhatIf:
    """What a change would save.

    Attributes
    ----------
    name, words : str
    time : float
        Seconds that the program would take, or at least takes.
    saving : float
        Seconds; never negative for a bound.
    bound : bool
        True: no run can save more this way, whether any saves as much is not known. False: a simulation.
    """

    name: str
    words: str
    time: float
    saving: float
    bound: bool


@dataclass(frozen=True)
class Growth:
    """How the time follows one cost of messages, at all levels of the machine.

    Attributes
    ----------
    name : str
        latency, bandwidth (the time that interfaces take, its inverse) or overhead.
    curve : mapping of float to float
        Seconds by factor of the cost, ascending; 1 is the machine.
    ten_percent : float
        Relative growth of the time where the cost is 10 % larger.
    tolerance : mapping of float to float or None
        By what factor the cost may grow until the time has grown by this part (0.01, 0.05, 0.1); None: by more than was
        tried, 1024 where refined, otherwise the end of the curve.
    refined : bool
        Tolerances were found by simulation to 0.05 % of the time; otherwise by straight lines between the points of the
        curve, which makes them smaller rather than larger as long as the curve is convex.
    level : str
        The farthest level at which messages pass: socket, node or network.
    value : float
        What the cost is at that level: L or o_send (s), or 1 / G (B/s).
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
        """Does the time not depend on it, as far as was tried?"""
        times = list(self.curve.values())
        return max(times) - min(times) <= 1e-6 * max(times)


@dataclass(frozen=True, eq=False)
class Prediction:
    """The program on one machine.

    Attributes
    ----------
    machine : Machine
    placement : Allocation or Placement
    timeline : Timeline
        The simulation; of the first machine with ``record="ops"``. Of programs that were simulated piece by piece it
        has the operations of one piece.
    operations : int
        Of the whole program.
    losses : dict of str to float
        Seconds by LOSSES, which add up to the time: the mean rank's computation; what the rank that computes most
        computes longer; what the run takes longer than that on an ideal network (and what the operating system takes);
        what it takes longer on this one if messages do not meet; what they lose to each other.
    by_rank : dict of str to array of float64 or None
        Seconds of every rank by TIME_CLASSES, which add up to the time; None where it was not recorded (waiting has it
        then).
    path : dict of str to float, optional
        Seconds of the critical path by share; of large programs of the path through a ``part``.
    beyond : float, optional
        Seconds that the critical path computes longer than the mean rank: of imbalance and dependencies, what is
        computation that others wait for.
    what_ifs : tuple of WhatIf
        Simulations first, then bounds.
    sensitivities : tuple of Growth
    calls, pairs, sizes : tuple
        What of the critical path belongs to which call, pair of ranks, and size of messages; most first.
    part : (float, float), optional
        Begin and end of the part of the run that ``path`` and what comes of it are of, seconds; None: all of it.
    steps : PathSteps, optional
    used : tuple of Used
        The numbers of the machine that were used, with their provenance.
    network : NetworkUse, optional
        Use of links on the first machine, in models where messages meet.
    placing : Placing, optional
        What another placement on the same nodes would change; of the first machine.
    pattern : Pattern, optional
        Bytes between ranks, where the operations of ``timeline`` are not all.
    choices : Choices, optional
        What other algorithms of collectives would change; of the first machine.
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
    steps: PathSteps | None = None
    network: NetworkUse | None = None
    placing: Placing | None = None
    pattern: Pattern | None = None
    choices: Choices | None = None

    @property
    def time(self) -> float:
        """Seconds that the program takes."""
        return self.timeline.makespan

    @property
    def span(self) -> float:
        """Seconds that the critical path covers."""
        return self.time if self.part is None else self.part[1] - self.part[0]

    @property
    def mean(self) -> dict[str, float | None]:
        """Seconds of the mean rank by TIME_CLASSES."""
        return {name: None if values is None else float(values.mean()) for name, values in self.by_rank.items()}

    @property
    def efficiency(self) -> Efficiency:
        return Efficiency.of(self.losses)

    @property
    def dominant(self) -> str:
        """The largest of LOSSES beside computation; computation, where none is 0.5 % of the time."""
        lost = {name: value for name, value in self.losses.items() if name != "computation"}
        name = max(lost, key=lambda key: lost[key])
        return name if lost[name] >= 0.005 * self.time else "computation"

    def what_if(self, name: str) -> WhatIf | None:
        """By name; None where it was not asked."""
        return next((w for w in self.what_ifs if w.name == name), None)


@dataclass(frozen=True)
class Sentence:
    """One piece of advice.

    Attributes
    ----------
    topic, text : str
    gain : float
        Seconds that it saves, by simulation; of a bound: at most. Sentences are ordered by it.
    bound : bool
        No run can save more, and whether any saves as much is not known.
    """

    topic: str
    text: str
    gain: float
    bound: bool = False


@dataclass(frozen=True, eq=False)
class Advice(Tabular):
    """What limits a program on machines; ``print`` it, :meth:`save` it.

    Attributes
    ----------
    name : str
        What the program is called.
    program : Program or Schedule
        As it was simulated, with computation scaled.
    predictions : tuple of Prediction
        One for each machine, in the order given; the first has every detail.
    sentences : tuple of Sentence
        What to do, and what it saves by simulation: the most worthwhile first.
    bounds : tuple of Sentence
        What nobody can save more by, the largest first.
    notes : tuple of str
        What to know about the figures.
    scale_compute : float
    simulations : int
        Time that the advice took.
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

    def frame(self) -> list[dict[str, Any]]:
        """The comparison of the machines, a row each, in SI units."""
        rows: list[dict[str, Any]] = view("Advice.frame")(self)
        return rows

    def json(self) -> dict[str, Any]:
        """Everything as plain numbers, lists and dicts, in SI units."""
        plain: dict[str, Any] = view("Advice.json")(self)
        return plain

    def html(self) -> str:
        """The report as one page of HTML that needs nothing else; raises Unsupported without jinja2."""
        page: str = view("Advice.html")(self)
        return page

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report as HTML, whole or not at all.

        Raises
        ------
        InvalidInput
            For another suffix than .html.
        Unsupported
            Without the package jinja2, which the extra ``report`` brings.
        """
        view("Advice.save")(self, path)

    def __str__(self) -> str:
        text: str = view("Advice.__str__")(self)
        return text

    def __repr__(self) -> str:
        machines = ", ".join(f"{p.machine.name} {p.time:g} s" for p in self.predictions)
        return f"<Advice: {self.ranks} ranks on {machines}>"
