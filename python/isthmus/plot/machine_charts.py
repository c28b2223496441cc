"""What is drawn of machines: measured curves and those of their models, one or several machines beside each other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InvalidInput
from ..machine.formula import formula
from ..units import amount
from .common import CLASSES

if TYPE_CHECKING:
    from ..machine import Curve, Level, Machine

LEVELS = {"socket": "within a socket", "node": "between sockets", "network": "between nodes"}
_SIZES = np.unique(np.round(np.geomspace(1, 1 << 22, 89)))
#: Samples from which on order statistics give an interval of 95 %.
_ENOUGH = 6
#: Collectives whose skew is drawn.
_SKEWED = ("allreduce", "bcast", "allgather", "alltoall")
_MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")


@dataclass(frozen=True)
class Line:
    """One line of a chart.

    Attributes
    ----------
    label : str
    x, y : sequence of float
    low, high : sequence of float
        Intervals; empty where nobody knows.
    colour, mark : str
        The mark of measured points; empty for the line of a model.
    dash : int
        Number of the dashes of a model's line.
    few : sequence of bool
        Points with too few samples for an interval of 95 %, which needs six.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    colour: str = CLASSES[0]
    mark: str = "o"
    dash: int = 0
    few: Sequence[bool] = ()


@dataclass(frozen=True)
class Chart:
    """Lines over one axis, or a table of numbers as cells.

    Attributes
    ----------
    name : str
        By which it is asked for.
    title, words : str
    x_label, y_label, x_unit, y_unit : str
    lines : tuple of Line
    linear : bool
        Both axes are linear; otherwise logarithmic.
    cells : tuple of (label, matrix)
        In place of lines: rows and columns of numbers, one matrix for each machine.
    """

    name: str
    title: str
    words: str
    x_label: str
    y_label: str
    x_unit: str = ""
    y_unit: str = ""
    lines: tuple[Line, ...] = ()
    linear: bool = False
    cells: tuple[tuple[str, tuple[tuple[float, ...], ...]], ...] = field(default=())


def charts(machines: Mapping[str, Machine]) -> list[Chart]:
    """Return all charts that the machines have data for; a chart that needs measurements is left out where none has.

    Parameters
    ----------
    machines : mapping of str to Machine
        Labels and machines, in the order of their colours.
    """
    found: list[Chart] = []
    for make in (
        _latency,
        _fresh,
        _bandwidth,
        _overheads,
        _check,
        _rate,
        _both_ways,
        _sendrecv,
        _injection,
        _hops,
        _queues,
        _collectives,
        _skew,
        _cpu_share,
        _overlap,
        _exposed,
    ):
        found += make(machines)
    for make in (_stream, _matrix, _spmv, _noise, _startup, _memory):
        found += make(machines)
    return [chart for chart in found if chart.lines or chart.cells]


def chart_named(machines: Mapping[str, Machine], name: str) -> Chart:
    """Return one chart; raises InvalidInput with the names of those that there are."""
    found = {chart.name: chart for chart in charts(machines)}
    if name not in found:
        raise InvalidInput(f"{name!r} is no picture of {' and '.join(machines)}: must be one of {', '.join(found)}")
    return found[name]


def _of(machine: Machine, kind: str, **parameters: str | int) -> list[Curve]:
    return [
        curve
        for curve in machine.curves.values()
        if curve.kind == kind and all(curve.parameters.get(key) == value for key, value in parameters.items())
    ]


class _Style:
    """Colours by machine and marks by what differs within it; by what differs alone where there is one machine."""

    def __init__(self, machines: Mapping[str, Machine]) -> None:
        self.machines = list(machines)
        self.inner: list[str] = []

    def of(self, machine: str, inner: str) -> tuple[str, str, str]:
        """Label, colour and mark."""
        if inner not in self.inner:
            self.inner.append(inner)
        number = self.inner.index(inner)
        mark = _MARKS[number % len(_MARKS)]
        if len(self.machines) == 1:
            return inner or machine, CLASSES[number % len(CLASSES)], mark
        colour = CLASSES[self.machines.index(machine) % len(CLASSES)]
        return f"{machine}, {inner}" if inner else machine, colour, mark


def _measured(
    machines: Mapping[str, Machine], style: _Style, choose: Callable[[Machine], Iterable[tuple[str, Curve]]]
) -> Iterator[Line]:
    for name, machine in machines.items():
        for inner, curve in choose(machine):
            label, colour, mark = style.of(name, inner)
            few = [number < _ENOUGH for number in curve.samples]
            yield Line(label, curve.x, curve.y, curve.low, curve.high, colour, mark, 0, few)
            yield from _fitted(label, curve, colour, style.inner.index(inner))


def _fitted(label: str, curve: Curve, colour: str, dash: int) -> Iterator[Line]:
    """The line of what was fitted to a curve, where something was."""
    of = formula(curve.formula, {name: value for name, (value, _, _) in curve.fitted.items()})
    if of is None or not curve.x:
        return
    x = sorted({*np.linspace(min(curve.x), max(curve.x), 33).tolist(), *curve.x})
    y = [of(at) for at in x]
    if np.isfinite(y).all():
        yield Line(f"{label}: {curve.formula}", x, y, colour=colour, mark="", dash=dash)


def _levels(machine: Machine) -> list[str]:
    """Levels of which a machine says something of its own."""
    given = machine.description.values["level"]
    return [name for name in LEVELS if given.get(name)]


def _models(
    machines: Mapping[str, Machine],
    style: _Style,
    value: Callable[[Machine, str], Sequence[float]],
    what: str = "model",
) -> Iterator[Line]:
    for name, machine in machines.items():
        for level in _levels(machine):
            label, colour, _ = style.of(name, LEVELS[level])
            dash = list(LEVELS).index(level)
            yield Line(f"{label}: {what}", _SIZES.tolist(), value(machine, level), colour=colour, mark="", dash=dash)


def _time(machine: Machine, level: str) -> list[float]:
    """Time of a message between the nearest places of a level, whose receive is posted: what the simulator says."""
    from ..schedule.builder import ProgramBuilder
    from ..simulation.simulate import simulate

    of: Level = getattr(machine.level, level)
    far = 0.0
    if level == "network" and machine.nodes > 1:
        far = max(machine.topology.route_length(0, 1) - 1, 0) * of.per_hop
    out = []
    for size in _SIZES.tolist():
        program = ProgramBuilder(2)
        program.send(0, 1, int(size))
        program.recv(1, 0, int(size))
        out.append(float(simulate(program.build(), of, record="finish").finish[1]) + far)
    return out


def _gap(machine: Machine, level: str) -> list[float]:
    """Time between messages of a stream: that of the slowest of interface, sender and receiver."""
    of: Level = getattr(machine.level, level)
    out = []
    for size in _SIZES.tolist():
        piece = of.piece(size)
        more = max(size - piece.after, 0.0)
        ends = (piece.o_send + more * piece.O, piece.o_recv + more * piece.O_of_receiver)
        out.append(max(piece.g + more * piece.G, *ends))
    return out


def _overhead(side: str) -> Callable[[Machine, str], list[float]]:
    def value(machine: Machine, level: str) -> list[float]:
        of: Level = getattr(machine.level, level)
        out = []
        for size in _SIZES.tolist():
            piece = of.piece(size)
            more = max(size - piece.after, 0.0)
            send = piece.o_send + more * piece.O
            out.append(send if side == "send" else piece.o_recv + more * piece.O_of_receiver)
        return out

    return value


def _by_level(kind: str, **parameters: str) -> Callable[[Machine], Iterator[tuple[str, Curve]]]:
    def choose(machine: Machine) -> Iterator[tuple[str, Curve]]:
        for curve in _of(machine, kind, **parameters):
            yield LEVELS.get(str(curve.parameters.get("level")), ""), curve

    return choose


def _latency(machines: Mapping[str, Machine]) -> list[Chart]:
    style = _Style(machines)
    lines = [*_measured(machines, style, _by_level("latency")), *_models(machines, style, _time)]
    words = "Marks: half a round trip, median and 95 % interval. Lines without marks: LogGOPS of the machine file."
    return [Chart("latency", "Latency", words, "size of the message", "time", "B", "s", tuple(lines))]


def _fresh(machines: Mapping[str, Machine]) -> list[Chart]:
    def choose(machine: Machine) -> Iterator[tuple[str, Curve]]:
        for level, curve in _by_level("fresh")(machine):
            yield f"{level}, just written".removeprefix(", "), curve
            for same in _of(machine, "latency", level=str(curve.parameters.get("level"))):
                yield f"{level}, sent before".removeprefix(", "), same

    lines = tuple(_measured(machines, _Style(machines), choose))
    words = "Half a round trip of data that both ranks have just written, and of data that they have sent before."
    return [Chart("fresh", "Data just written", words, "size of the message", "time", "B", "s", lines)]


def _bandwidth(machines: Mapping[str, Machine]) -> list[Chart]:
    style = _Style(machines)

    def rate(machine: Machine, level: str) -> list[float]:
        return [size / max(gap, 1e-15) for size, gap in zip(_SIZES.tolist(), _gap(machine, level), strict=True)]

    lines = [*_measured(machines, style, _by_level("bandwidth")), *_models(machines, style, rate)]
    words = (
        "Marks: many messages one after another in one direction. Lines without marks: by the model, "
        "as the interface or a processor allows."
    )
    return [Chart("bandwidth", "Bandwidth", words, "size of the message", "bandwidth", "B", "B/s", tuple(lines))]


def _called(inner: str, kind: str, level: str, more: Mapping[str, str]) -> Callable[[Machine], list[tuple[str, Curve]]]:
    return lambda machine: [(inner, curve) for curve in _of(machine, kind, level=level, **more)]


def _overheads(machines: Mapping[str, Machine]) -> list[Chart]:
    found = []
    for level, where in LEVELS.items():
        style = _Style(machines)
        lines: list[Line] = []
        kinds: tuple[tuple[str, str, dict[str, str]], ...] = (
            ("overhead", "o, sender", {"side": "send"}),
            ("overhead", "o, receiver", {"side": "receive"}),
            ("gap", "G s + g", {}),
        )
        for number, (kind, inner, more) in enumerate(kinds):
            lines += _measured(machines, style, _called(inner, kind, level, more))
            value = _gap if kind == "gap" else _overhead(more["side"])
            for name, machine in machines.items():
                if level in _levels(machine):
                    label, colour, _ = style.of(name, inner)
                    lines.append(
                        Line(
                            f"{label}: model",
                            _SIZES.tolist(),
                            value(machine, level),
                            colour=colour,
                            mark="",
                            dash=number,
                        )
                    )
        words = "Time of the processor for a message, and time between messages of a burst; lines without marks: model."
        title = f"Overheads and gap {where}"
        found.append(Chart(f"overheads-{level}", title, words, "size of the message", "time", "B", "s", tuple(lines)))
    return found


def _check(machines: Mapping[str, Machine]) -> list[Chart]:
    style = _Style(machines)

    def choose(machine: Machine) -> list[tuple[str, Curve]]:
        several = len({curve.parameters.get("level") for curve in _of(machine, "check")}) > 1
        where = [
            LEVELS.get(str(curve.parameters.get("level")), "") if several else "" for curve in _of(machine, "check")
        ]
        return [
            (", ".join(filter(None, (str(curve.parameters["what"]), level))), curve)
            for curve, level in zip(_of(machine, "check"), where, strict=True)
        ]

    lines = tuple(_measured(machines, style, choose))
    words = (
        "Times that the machine file predicts, as a part of what was measured, of messages that it was not fitted to."
    )
    return [
        Chart("check", "Predicted beside measured", words, "size of a message", "predicted / measured", "B", "", lines)
    ]


def _rate(machines: Mapping[str, Machine]) -> list[Chart]:
    style = _Style(machines)

    def choose(machine: Machine) -> list[tuple[str, Curve]]:
        names = [(curve.parameters.get("mode"), curve.parameters.get("cold"), curve) for curve in _of(machine, "rate")]
        return [(f"{mode}{', cold caches' if cold else ''}", curve) for mode, cold, curve in names]

    lines = tuple(_measured(machines, style, choose))
    words = (
        "Messages of 8 bytes, of all ranks of a node together: to one peer (single), in both directions (pair), "
        "receives posted before (prepost), everything started at once (allstart)."
    )
    return [Chart("rate", "Message rate", words, "ranks of the node", "messages per second", "", "1/s", lines)]


def _both_ways(machines: Mapping[str, Machine]) -> list[Chart]:
    style = _Style(machines)
    lines = tuple(_measured(machines, style, _by_level("bidirectional")))
    words = "Bytes per second of both directions together."
    title = "Bandwidth in both directions"
    return [Chart("bidirectional", title, words, "size of the message", "bandwidth", "B", "B/s", lines)]


def _sendrecv(machines: Mapping[str, Machine]) -> list[Chart]:
    lines = tuple(_measured(machines, _Style(machines), _by_level("sendrecv")))
    words = "Two ranks send to each other at once by MPI_Sendrecv; time of one call, median and 95 % interval."
    return [Chart("sendrecv", "SendRecv", words, "size of the message", "time", "B", "s", lines)]


def _injection(machines: Mapping[str, Machine]) -> list[Chart]:
    lines = tuple(_measured(machines, _Style(machines), lambda m: [("", c) for c in _of(m, "injection")]))
    words = "Ranks of a node send at once to as many of another; the line is the max-rate model."
    title = "Bandwidth into the network of a node"
    return [Chart("injection", title, words, "ranks that send", "bandwidth", "", "B/s", lines, linear=True)]


def _hops(machines: Mapping[str, Machine]) -> list[Chart]:
    """One chart for each size: pairs of nodes by distance, alone and all at once."""
    sizes = sorted({int(c.parameters["bytes"]) for machine in machines.values() for c in _of(machine, "hops")})
    out = []
    for size in sizes:
        way = {1: "one pair after another", 0: "all pairs at once"}

        def choose(machine: Machine, size: int = size, way: Mapping[int, str] = way) -> list[tuple[str, Curve]]:
            return [(way.get(int(c.parameters["alone"]), ""), c) for c in _of(machine, "hops", bytes=size)]

        lines = tuple(_measured(machines, _Style(machines), choose))
        words = "Half a round trip of pairs of nodes by their distance; what all at once take longer is contention."
        title = f"Distance, messages of {amount(size)}"
        out.append(Chart(f"hops-{size}", title, words, "hops", "time", "", "s", lines, linear=True))
    return out


def _queues(machines: Mapping[str, Machine]) -> list[Chart]:
    style = _Style(machines)

    def choose(machine: Machine) -> list[tuple[str, Curve]]:
        where = [LEVELS.get(str(curve.parameters.get("level")), "") for curve in _of(machine, "queue")]
        return [(f"{c.parameters['queue']}, {w}", c) for c, w in zip(_of(machine, "queue"), where, strict=True)]

    lines = tuple(_measured(machines, style, choose))
    words = (
        "Time of a message that is found behind so many others: receives posted before, or messages not yet received."
    )
    return [Chart("queues", "Long queues", words, "messages in the queue", "time", "", "s", lines)]


def _collectives(machines: Mapping[str, Machine]) -> list[Chart]:
    names = dict.fromkeys(
        str(curve.parameters["collective"]) for machine in machines.values() for curve in _of(machine, "collective")
    )
    first = [name for name in ("allreduce", "allgather") if name in names]
    out = []
    for name in [*first, *(name for name in names if name not in first and name != "barrier")]:
        style = _Style(machines)

        def choose(machine: Machine, name: str = name) -> list[tuple[str, Curve]]:
            return [(f"{c.parameters['ranks']} ranks", c) for c in _of(machine, "collective", collective=name)]

        lines = tuple(_measured(machines, style, choose))
        words = "From the agreed start of all ranks to the end of the last; blocking."
        out.append(Chart(f"collective-{name}", f"MPI_{name.capitalize()}", words, "size", "time", "B", "s", lines))
    return out


def _skew(machines: Mapping[str, Machine]) -> list[Chart]:
    """Of some collectives, of the most ranks: all of them begin alike, and more lines would hide each other."""

    def choose(machine: Machine) -> list[tuple[str, Curve]]:
        found = _of(machine, "skew")
        most = max((int(c.parameters["ranks"]) for c in found), default=0)
        of_most = [c for c in found if c.parameters["ranks"] == most]
        return [(str(c.parameters["collective"]), c) for c in of_most if c.parameters["collective"] in _SKEWED]

    lines = tuple(_measured(machines, _Style(machines), choose))
    words = (
        "How far apart the ranks began a collective that all were to begin at one time, by their synchronised clocks; "
        "the median and its 95 % interval. Nothing below the step of the clock is known."
    )
    return [Chart("skew", "Skew of starts", words, "size", "skew", "B", "s", lines)]


def _waited(
    kind: str, title: str, words: str, label: str, unit: str = ""
) -> Callable[[Mapping[str, Machine]], list[Chart]]:
    def make(machines: Mapping[str, Machine]) -> list[Chart]:
        style = _Style(machines)

        def choose(machine: Machine) -> list[tuple[str, Curve]]:
            return [
                (f"{c.parameters['ranks']} ranks, {c.parameters['tests']} tests", c)
                for c in _of(machine, kind, collective="allreduce")
            ]

        lines = tuple(_measured(machines, style, choose))
        return [Chart(kind, title, words, "size", label, "B", unit, lines)]

    return make


_cpu_share = _waited(
    "cpu_share",
    "Processor's share of an allreduce",
    "Time that a nonblocking allreduce takes from the processor (starting it, testing, waiting), as a part of its "
    "whole time, by size and number of ranks; tests are the calls of MPI_Test while computing, until it has ended.",
    "share of the time",
)
_overlap = _waited(
    "overlap",
    "Overlap of an allreduce with computation",
    "Part of a nonblocking allreduce that computation hides: 1 - (whole time - computation) / time alone.",
    "part that is hidden",
)
_exposed = _waited(
    "exposed",
    "Time of an allreduce that is not hidden",
    "Whole time of a nonblocking allreduce and the computation beside it, without the computation.",
    "time",
    "s",
)


def _stream(machines: Mapping[str, Machine]) -> list[Chart]:
    style = _Style(machines)
    lines = tuple(_measured(machines, style, lambda m: [(str(c.parameters["op"]), c) for c in _of(m, "stream")]))
    words = "STREAM, all threads together; of each array that is read or written its bytes are counted once."
    return [
        Chart("stream", "Memory bandwidth by threads", words, "threads", "bandwidth", "", "B/s", lines, linear=True)
    ]


def _matrix(machines: Mapping[str, Machine]) -> list[Chart]:
    cells = tuple((name, machine.node.stream) for name, machine in machines.items() if machine.node.stream)
    words = "STREAM triad from the cores of one NUMA domain to the memory of another."
    return [
        Chart("stream_matrix", "Memory bandwidth by domain", words, "memory of domain", "cores of domain", "", "B/s",
              cells=cells)
    ]  # fmt: skip


def _spmv(machines: Mapping[str, Machine]) -> list[Chart]:
    lines = tuple(_measured(machines, _Style(machines), lambda m: [("", c) for c in _of(m, "spmv")]))
    words = "Time of a floating-point operation of a sparse matrix-vector product on one core."
    return [Chart("spmv", "Sparse matrix-vector product", words, "working set", "time per flop", "B", "s", lines)]


def _noise(machines: Mapping[str, Machine]) -> list[Chart]:
    def choose(machine: Machine) -> list[tuple[str, Curve]]:
        return [(f"core {c.parameters.get('core', '?')}", c) for c in _of(machine, "noise")]

    lines = []
    for line in _measured(machines, _Style(machines), choose):
        kept = [(x, y) for x, y in zip(line.x, line.y, strict=True) if y > 0]
        lines.append(Line(line.label, [x for x, _ in kept], [y for _, y in kept], (), (), line.colour, line.mark))
    words = "Interruptions of a loop of fixed work: how often a second, by their length."
    return [
        Chart(
            "noise", "Noise", words, "length of the interruption", "interruptions per second", "s", "1/s", tuple(lines)
        )
    ]


def _what(kind: str, name: str, title: str, words: str, label: str, unit: str) -> Callable[..., list[Chart]]:
    def make(machines: Mapping[str, Machine]) -> list[Chart]:
        lines = _measured(machines, _Style(machines), lambda m: [(str(c.parameters["what"]), c) for c in _of(m, kind)])
        return [Chart(name, title, words, "ranks", label, "", unit, tuple(lines), linear=True)]

    return make


_startup = _what(
    "startup", "startup", "Launch and initialisation", "From the start of the launcher to main; in MPI_Init; in "
    "MPI_Finalize.", "time", "s",
)  # fmt: skip
_memory = _what(
    "memory", "memory", "Memory of a rank", "Resident memory before and after MPI_Init, and after contact with all "
    "other ranks.", "memory", "B",
)  # fmt: skip


def names(paths: Sequence[str]) -> list[str]:
    """Labels of files: their names without folder and suffix, where these differ."""
    stems = [os.path.splitext(os.path.basename(path))[0] for path in paths]
    return stems if len(set(stems)) == len(stems) else list(paths)
