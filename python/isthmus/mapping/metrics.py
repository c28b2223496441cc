"""Metrics of a placement, each with its definition and source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import InvalidInput
from ..lowering.pattern import pattern
from ..lowering.rules import Collectives
from ..machine.machine import Machine
from ..machine.placement import Placement
from ..schedule.pattern import Pattern
from ..schedule.program import Program
from ..schedule.schedule import Schedule
from ..tabular import Cell, Tabular
from ..units import amount, percent, shown, text
from .links import routed, tiers

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Definition(NamedTuple):
    """Definition of a metric; ``unit`` as in :mod:`isthmus.units`, "x" for a ratio, "%" for a share."""

    words: str
    unit: str
    definition: str
    source: str


_BHATELE = "Bhatele and Kale, Heuristic-based techniques for mapping irregular communication graphs, HPCC 2011"
_HOEFLER = "Hoefler and Snir, Generic topology mapping strategies for large-scale parallel architectures, ICS 2011"
#: Every metric that :func:`evaluate` finds: attribute of :class:`Metrics` -> what it is.
DEFINITIONS = {
    "hop_bytes": Definition(
        "hop-bytes", "B", "sum over messages of bytes times links on the deterministic minimal route (not always a "
        "shortest path); an undirected edge counts once",
        "Agarwal, Sharma and Kale, Topology-aware task mapping for reducing communication contention, IPDPS 2006",
    ),
    "average_dilation": Definition(
        "average dilation (hops per byte)", "x", "hop-bytes / bytes: the mean length of a byte's route", _BHATELE,
    ),
    "mean_distance": Definition(
        "mean distance of partners", "x", "mean over pairs of ranks of the links on their route, whatever the bytes",
        "Berman and Snyder, On mapping parallel algorithms into parallel architectures, JPDC 1987",
    ),
    "maximum_dilation": Definition(
        "maximum dilation", "x", "links on the longest route that bytes take",
        "Rosenberg, Issues in the study of graph embeddings, 1981",
    ),
    "maximum_link_load": Definition(
        "maximum link load", "B", "most bytes over a link, one direction, by deterministic minimal routes", _HOEFLER,
    ),
    "average_link_load": Definition(
        "average link load", "B", "mean bytes of the links that carry something", _HOEFLER,
    ),
    "maximum_congestion": Definition(
        "maximum congestion", "s", "largest bytes / bandwidth of a link: no network that routes so is faster", _HOEFLER,
    ),
    "average_congestion": Definition(
        "average congestion", "s", "mean bytes / bandwidth of the links that carry something", _HOEFLER,
    ),
    "load_imbalance": Definition(
        "load imbalance", "%", "most work of a node in use over the mean, minus 1; work: load of the pattern or ranks",
        "Pearce et al., Quantifying the effectiveness of load balance algorithms, ICS 2012",
    ),
    "time": Definition(
        "simulated time", "s", "makespan of the program, see isthmus.simulate", "isthmus.simulate",
    ),
}  # fmt: skip


class ClassLoad(NamedTuple):
    """Load of the links of one part of the network: bytes in one direction, mean over its ``links``."""

    name: str
    links: int
    used: int
    maximum: float
    average: float


@dataclass(frozen=True, eq=False)
class Metrics(Tabular):
    """Communication cost of a placement; see DEFINITIONS. ``print`` shows it.

    Attributes
    ----------
    placement : Placement
    bytes : float
        Bytes of all messages; for an undirected pattern, of all edges, each counted once.
    network_bytes : float
        Bytes that leave their node.
    hop_bytes, average_dilation, mean_distance : float
    maximum_dilation : int
    maximum_link_load, average_link_load : float
    maximum_congestion, average_congestion : float
    load_imbalance : float
    levels : dict of str to float
        Bytes by the widest part of the machine that they pass: core, socket, node, then the parts of the network, such
        as router, group and global.
    classes : tuple of ClassLoad
        Links by part of the network.
    dilation_bytes : array of float64
        Bytes by number of links on their route, from 0 links.
    link_bytes : array of float64, shape (links,)
        Bytes over every link of the machine.
    time : float, optional
        Simulated time of a program, seconds.
    """

    placement: Placement
    bytes: float
    network_bytes: float
    hop_bytes: float
    mean_distance: float
    maximum_dilation: int
    maximum_link_load: float
    average_link_load: float
    maximum_congestion: float
    average_congestion: float
    load_imbalance: float
    levels: dict[str, float]
    classes: tuple[ClassLoad, ...]
    dilation_bytes: NDArray[np.float64]
    link_bytes: NDArray[np.float64]
    time: float | None = None

    @property
    def average_dilation(self) -> float:
        """Hop-bytes divided by bytes."""
        return self.hop_bytes / self.bytes if self.bytes else 0.0

    @property
    def hops_per_byte(self) -> float:
        """Another name of :attr:`average_dilation`."""
        return self.average_dilation

    def value(self, name: str) -> float | None:
        """Return a metric of DEFINITIONS; None for a time that was not simulated."""
        found: float | None = getattr(self, name)
        return found

    def words(self, name: str) -> str:
        """Return a metric of DEFINITIONS as text with its unit."""
        return in_words(name, self.value(name))

    def frame(self) -> list[dict[str, Cell]]:
        """Return one row per metric: name, value in SI units, definition in words."""
        return [
            {"metric": name, "value": self.value(name), "words": d.words}
            for name, d in DEFINITIONS.items()
            if self.value(name) is not None
        ]

    def json(self) -> dict[str, Any]:
        """Return all metrics as plain numbers, in SI units."""
        out: dict[str, Any] = {name: self.value(name) for name in DEFINITIONS}
        out |= {"bytes": self.bytes, "network_bytes": self.network_bytes, "levels": self.levels}
        out["dilation_bytes"] = self.dilation_bytes.tolist()
        return out | {"links": [c._asdict() for c in self.classes]}

    def __str__(self) -> str:
        p = self.placement
        nodes = f"{len(p.nodes):,} node{'s' * (len(p.nodes) != 1)}"
        lines = [f"{p.ranks:,} ranks on {nodes} of {p.machine.name}, {amount(self.bytes)}"]
        lines += [
            f"  {d.words:34} {self.words(name)}" for name, d in DEFINITIONS.items() if self.value(name) is not None
        ]
        lines.append("bytes by level")
        most = max(self.bytes, 1e-300)
        lines += [f"  {name:34} {amount(b):>10}  {percent(b / most, 1):>7}" for name, b in self.levels.items()]
        lines.append("links in use, most and mean bytes")
        lines += [
            f"  {c.name:34} {c.used:,} of {c.links:,}, {amount(c.maximum)}, {amount(c.average)}" for c in self.classes
        ]
        return "\n".join(lines)


def in_words(name: str, value: float | None) -> str:
    """Return a value of a metric as text with its unit."""
    if value is None:
        return ""
    unit = DEFINITIONS[name].unit
    if unit == "x":
        return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"
    return percent(value, 1) if unit == "%" else amount(value) if unit == "B" else text(value, unit, 4)


def evaluate(
    what: Pattern | Program | Schedule,
    placement: Placement,
    *,
    undirected: bool = False,
    collectives: Collectives | None = None,
    model: str | None = "flow",
    routing: str = "minimal",
) -> Metrics:
    """Compute the communication cost of a placement.

    Parameters
    ----------
    what : Pattern, Program or Schedule
        For a program, point-to-point and one-sided messages count, and those of collectives if ``collectives`` is
        given.
    placement : Placement
    undirected : bool
        The pattern is an undirected graph with the weight of an edge in both directions: bytes and hop-bytes count each
        edge once, and both directions load links.
    collectives : mapping, optional
        As for :func:`isthmus.pattern`.
    model : str or None
        Also simulate a program or schedule with this model of :func:`isthmus.simulate`; None: no simulation.
    routing : str
        Routing in the simulation; all other metrics use the machine's deterministic minimal routes.

    Returns
    -------
    Metrics

    Raises
    ------
    InvalidInput
        If the number of ranks differs from that of the placement, an ``undirected`` pattern is not symmetric, or a
        program hangs.

    Examples
    --------
    >>> import isthmus
    >>> ring = isthmus.Pattern.of(4, source=[0, 1, 2, 3], target=[1, 2, 3, 0], bytes=1000)
    >>> placement = isthmus.Placement(isthmus.load("ring:4"), [0, 1, 2, 3])
    >>> m = isthmus.evaluate(ring, placement)
    >>> m.hop_bytes, m.maximum_dilation, m.maximum_link_load
    (4000.0, 1, 1000.0)
    """
    found = pattern_of(what, collectives)
    if not isinstance(placement, Placement):
        raise InvalidInput(f"placement: {shown(placement)}; must be a Placement")
    if found.ranks != placement.ranks:
        raise InvalidInput(f"the placement has {placement.ranks:,} ranks, the pattern {found.ranks:,}")
    if undirected:
        require_symmetric(found)
    time = None
    if model is not None and not isinstance(what, Pattern):
        from ..simulation.simulate import simulate

        options: dict[str, Any] = {"collectives": collectives} if isinstance(what, Program) else {}
        timeline = simulate(
            what, placement.machine, placement, model=model, routing=routing, record="finish", **options
        )
        if timeline.deadlock is not None:
            raise InvalidInput("the program deadlocks: isthmus simulate says why")
        time = timeline.makespan
    return _metrics(found, placement, 0.5 if undirected else 1.0, time)


def metrics_of(what: Pattern, placement: Placement, *, undirected: bool) -> Metrics:
    """Evaluate a pattern that is known to fit, and to be symmetric if it is undirected."""
    return _metrics(what, placement, 0.5 if undirected else 1.0, None)


def pattern_of(what: Pattern | Program | Schedule, collectives: Collectives | None = None) -> Pattern:
    """Return the pattern of a program, schedule or pattern; raises InvalidInput for anything else."""
    if collectives and not isinstance(what, Program):
        raise InvalidInput("collectives= applies only to a program; patterns, graphs and schedules have no collectives")
    if isinstance(what, Pattern):
        return what
    if not isinstance(what, (Program, Schedule)):
        raise InvalidInput(f"cannot place {shown(what)}: must be a Pattern, a Program or a Schedule")
    return pattern(what, collectives if isinstance(what, Program) else None)


def require_symmetric(what: Pattern) -> None:
    """Raise InvalidInput unless every pair exchanges the same bytes in both directions."""
    source = what.sources().astype(np.int64)
    forth, back = source * what.ranks + what.peer, what.peer.astype(np.int64) * what.ranks + source
    order = np.argsort(back, kind="stable")
    same = np.array_equal(forth, back[order]) and np.array_equal(what.bytes, what.bytes[order])
    if same:
        return
    other = dict(zip(forth.tolist(), what.bytes.tolist(), strict=True))
    for u, v, b in zip(source.tolist(), what.peer.tolist(), what.bytes.tolist(), strict=True):
        if other.get(v * what.ranks + u) != b:
            there = other.get(v * what.ranks + u, 0)
            raise InvalidInput(f"the graph is not symmetric: {b} from {u} to {v}, but {there} back; both must be equal")


def _metrics(what: Pattern, placement: Placement, once: float, time: float | None) -> Metrics:
    """``once``: what an element of the pattern counts in sums over edges."""
    topology = placement.machine.topology
    source, target = what.sources(), what.peer
    bytes = what.bytes.astype(np.float64)
    moved = (bytes > 0) & (source != target)
    source, target, bytes = source[moved], target[moved], bytes[moved]
    network = routed(topology, placement.node[source], placement.node[target], bytes)
    length = network.length.astype(np.int64)
    by_length = np.bincount(length, bytes, 1) * once
    used = network.link_bytes > 0
    bandwidth = topology.bandwidth(np.flatnonzero(used).astype(np.uint32))
    congestion = network.link_bytes[used] / bandwidth
    load = network.link_bytes[used]
    total = float(bytes.sum()) * once
    return Metrics(
        placement=placement,
        bytes=total,
        network_bytes=total - float(by_length[0]),
        hop_bytes=float(by_length @ np.arange(len(by_length))),
        mean_distance=float(length.mean()) if len(length) else 0.0,
        maximum_dilation=int(length.max(initial=0)),
        maximum_link_load=float(load.max(initial=0.0)),
        average_link_load=float(load.mean()) if len(load) else 0.0,
        maximum_congestion=float(congestion.max(initial=0.0)),
        average_congestion=float(congestion.mean()) if len(load) else 0.0,
        load_imbalance=_imbalance(what, placement),
        levels=_levels(placement, source, target, bytes * once, network.highest),
        classes=_classes(placement.machine, network.link_bytes),
        dilation_bytes=np.asarray(by_length, dtype=np.float64),
        link_bytes=network.link_bytes,
        time=time,
    )


def _imbalance(what: Pattern, placement: Placement) -> float:
    work = what.load if what.load.any() else np.ones(what.ranks)
    on = np.bincount(np.searchsorted(placement.nodes, placement.node), work)
    return float(on.max() / on.mean() - 1)


def _levels(
    placement: Placement,
    source: NDArray[np.uint32],
    target: NDArray[np.uint32],
    bytes: NDArray[np.float64],
    highest: NDArray[np.int8],
) -> dict[str, float]:
    names, _ = tiers(placement.machine.topology)
    where = placement.location
    level = highest.astype(np.int64) + 3
    same_socket = where.socket[source] == where.socket[target]
    same_core = where.core[source] == where.core[target]
    inside = highest < 0
    level[inside] = np.where(same_core, 0, np.where(same_socket, 1, 2))[inside]
    total = np.bincount(level, bytes, 3 + len(names))
    n = placement.machine.node
    possible = [placement.shared, n.cores > n.sockets, n.sockets > 1, *[True] * len(names)]
    all_names = ["core", "socket", "node", *names]
    return {name: float(b) for name, b, p in zip(all_names, total, possible, strict=True) if p}


def _classes(machine: Machine, link_bytes: NDArray[np.float64]) -> tuple[ClassLoad, ...]:
    names, of_class = tiers(machine.topology)
    tier = of_class[machine.topology.link_class(np.arange(len(link_bytes), dtype=np.uint32))]
    out = []
    for i, name in enumerate(names):
        on = link_bytes[tier == i]
        if len(on):
            out.append(ClassLoad(name, len(on), int((on > 0).sum()), float(on.max()), float(on.mean())))
    return tuple(out)
