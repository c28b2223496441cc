"""Reads the inputs of commands: files, one-line collectives, LogGOPS parameters, noise, placements."""

from __future__ import annotations

import dataclasses
import os
import re
from typing import TYPE_CHECKING, Any, TypeVar

from .. import filekinds, units
from ..errors import InvalidInput
from ..named import named, pairs
from ..one_line import collective_arguments, size_in_bytes
from .output import mark

if TYPE_CHECKING:
    from ..machine import Allocation, Level, Machine
    from ..machine.placement import Placement
    from ..schedule.pattern import Pattern
    from ..schedule.program import Program
    from ..schedule.schedule import Schedule
    from ..simulation import Timeline
    from ..simulation.network import PacketOptions

_Thing = TypeVar("_Thing")
UNITS = ("ns", "ps", "us", "ms", "s")
WORK = """FILE is a program or schedule (HDF5; GOAL text or binary), or one collective such as
allreduce:ranks=1024,bytes=8,algorithm=ring."""


def is_collective(text: str) -> bool:
    """Whether the text is a collective and not a file."""
    return not os.path.exists(text) and re.match("[a-z_]+:", text) is not None


def read_any(text: str, unit: str = "ns") -> Program | Schedule | Timeline:
    """Reads a file (``FILE:unit=us`` gives the unit of GOAL), an example, or the schedule of a collective."""
    if not os.path.exists(text):
        from ..examples import example, known

        what = named(text)
        if os.path.isfile(what.name) and filekinds.kind_of(what.name) == filekinds.SKELETON:
            pass
        elif os.path.exists(what.name):
            text, unit = what.name, what.values("unit").get("unit", unit)
            if unit not in UNITS:
                raise InvalidInput(f"{what.text}: unit={unit}: must be one of {', '.join(UNITS)}")
        elif what.name in known():
            return marked(text, example(text))
        elif is_collective(text):
            return parse_collective(text)
    from ..reading import read

    return marked(text, read(text, unit=unit))


def marked(text: str, found: _Thing) -> _Thing:
    """A thing that was read from this text, after what is to be said beside results of it was said."""
    if origin := getattr(found, "origin", ""):
        mark(text, origin)
    return found


def read_work(text: str, unit: str = "ns") -> Program | Schedule:
    """Reads a program or a schedule; refuses a timeline."""
    from ..schedule.program import Program
    from ..schedule.schedule import Schedule

    found = read_any(text, unit)
    if not isinstance(found, (Program, Schedule)):
        raise InvalidInput(f"{text} holds a timeline: expected a program or a schedule")
    return found


def parse_collective(text: str) -> Schedule:
    """The schedule of ``kind:ranks=N,bytes=N,algorithm=NAME,root=N,in_place=no`` and options of the algorithm."""
    from ..collectives import collective

    return collective(**collective_arguments(text))


def parse_level(text: str) -> Level | None:
    """LogGOPS parameters from ``loggops:L=2.5us,o=1.5us,g=1us,G=6ns,O=0,S=65535``; None for another text."""
    if not text.startswith("loggops:"):
        return None
    from ..machine import Level

    fields = {
        field.name: field.metadata["unit"]
        for field in dataclasses.fields(Level)
        if field.name not in ("per_hop", "pieces")
    }
    values: dict[str, Any] = {}
    for key, value in pairs(text, text.partition(":")[2], ("o", *fields)).items():
        unit = fields["o_send" if key == "o" else key]
        # Per byte goes without saying.
        given = f"{value}/B" if unit == "s/B" and value.endswith("s") else value
        try:
            number = units.parse(given, unit)
        except InvalidInput as error:
            raise InvalidInput(f"{key}={value}: {error}") from None
        if number < 0:
            raise InvalidInput(f"{key}={value} is negative: must be 0 or more")
        for name in ("o_send", "o_recv") if key == "o" else (key,):
            values.setdefault(name, number)
            if key != "o":
                values[name] = number
    return Level(**values)


def parse_time(option: str, text: str) -> float:
    """Seconds from ``10s``; a number alone counts seconds."""
    try:
        found = units.parse(text if re.search("[A-Za-z]$", text) else f"{text}s", "s")
    except InvalidInput as error:
        raise InvalidInput(f"{option} {units.shown(text)}: {error}") from None
    if not 0 <= found < 1e9:
        raise InvalidInput(f"{option} {units.shown(text)}: expected a time from 0")
    return found


def parse_duration(option: str, text: str) -> float:
    """Seconds from ``90s`` or ``10min``; a unit must be there."""
    word = text.strip()
    factor = 60.0 if word.endswith("min") else 1.0
    if re.fullmatch(r"[0-9.]*[1-9][0-9.]*", word):
        raise InvalidInput(f"{option} {text}: has no unit: a time needs one, as {word}s or {word}min")
    try:
        seconds = factor * units.parse(word.removesuffix("min").strip() + "s" if factor == 60 else word, "s")
    except InvalidInput:
        raise InvalidInput(f"{option} {text}: must be a time such as 90s or 10min") from None
    if seconds <= 0:
        raise InvalidInput(f"{option} {text}: must be a time above 0")
    return seconds


def parse_packets(size: str | None, flit: str | None, buffer: str | None) -> PacketOptions | None:
    """Options of the packet model; None where none is given."""
    from ..simulation.network import PacketOptions

    given = {"bytes": ("--packet-bytes", size), "flit": ("--flit", flit), "buffer": ("--buffer", buffer)}
    sizes = {name: size_in_bytes(value, option) for name, (option, value) in given.items() if value is not None}
    return PacketOptions(**sizes) if sizes else None


def parse_placement(
    machine: Machine | Level, ranks: int, placement: str | None, nodes: str | None, per_node: int | None
) -> Any:
    """The placement for ``isthmus.simulate``; None if no option asks for one."""
    from ..machine import Level

    if placement is None and nodes is None and per_node is None:
        return None
    if isinstance(machine, Level):
        raise InvalidInput(
            "--placement, --nodes, --ranks-per-node: these need a machine, and LogGOPS parameters have no nodes"
        )
    if placement not in (None, "block", "cyclic"):
        found = read_placement(_job_of_file(machine, nodes, per_node), str(placement), ranks)
        if found.ranks != ranks:
            raise InvalidInput(
                f"--placement {placement}: the file places {found.ranks:,} ranks, but there are {ranks:,}"
            )
        return found
    per_node = machine.node.cores if per_node is None else per_node
    return machine.allocate(
        -(-ranks // per_node) if nodes is None else _count_or_names(nodes),
        ranks_per_node=per_node,
        order=placement or "block",
    )


def _count_or_names(nodes: str) -> int | str:
    return int(nodes) if re.fullmatch("[0-9]{1,18}", nodes) else nodes


def _job_of_file(machine: Machine, nodes: str | None, per_node: int | None) -> Machine | Allocation:
    """The job that a file of ranks is for, if given; otherwise the machine, whose first nodes jobs use."""
    if nodes is None and per_node is None:
        return machine
    return machine.allocate(None if nodes is None else _count_or_names(nodes), ranks_per_node=per_node)


def parse_nodes(
    machine: Machine,
    ranks: int,
    nodes: str | None,
    per_node: int | None,
    *,
    fraction: float | None = None,
    seed: int = 0,
    share: bool = False,
) -> Allocation:
    """The nodes of a job; ``share``: ranks may share cores, and get all nodes of the machine by default."""
    from ..machine.placement import job_of

    if nodes is None and per_node is None and fraction is None:
        return job_of(machine, ranks, share)
    per_node = machine.node.cores if per_node is None else per_node
    if fraction is not None:
        return machine.allocate(nodes, fraction=fraction, seed=seed, ranks_per_node=per_node)
    found = min(-(-ranks // per_node), machine.nodes) if nodes is None else _count_or_names(nodes)
    return machine.allocate(found, ranks_per_node=per_node)


def read_task_graph(text: str, unit: str = "ns") -> tuple[Program | Schedule | Pattern, bool]:
    """The communication pattern, and whether it is an undirected graph."""
    from ..imports.graphs.metis import SUFFIXES, read_metis

    if text.lower().endswith(SUFFIXES):
        return read_metis(text), True
    return read_work(text, unit), False


def read_placement(where: Machine | Allocation, path: str, ranks: int) -> Placement:
    """Reads placements from a launcher's file, recognised by its content, or from lines with a node id or name each.

    A file with a number alone in every line has node ids, unless a comment with ``--ntasks-per-node`` makes it the Cray
    rank order of one rank a node. A Cray rank order without that comment, for a machine, has a rank on every core.
    """
    from ..machine import Machine
    from ..machine.placement import job_of
    from ..mapping.launch import detect, read
    from ..mapping.launch.cray import PER_NODE
    from ..mapping.launch.reading import Reading

    filekinds.require(path, (), "a file of ranks for a launcher, or of nodes, one in each line")
    with open(path, "rb") as file:
        reading = Reading(file.read(), path, where)
    lines = list(reading.lines())
    counted = PER_NODE.search(reading.text) is not None
    words = [line for _, line in lines]
    if not counted and any(map(str.isdecimal, words)) and all(re.fullmatch(r"[\w.+-]+", word) for word in words):
        return reading.ordered([reading.id_or_name(word, number) for number, word in lines])
    format = detect(reading)
    if format == "cray" and not counted and isinstance(where, Machine):
        where = job_of(where, ranks)
    return read(path, where, format)


def parse_speeds(text: str) -> list[float]:
    """Numbers from ``1x12,0.5x4``, or from a file with one a line."""
    if os.path.exists(text):
        filekinds.require(text, (), "a list of speeds, one line for each node")
        with open(text, encoding="utf-8", errors="replace") as file:
            lines = file.read().split("\n")
        return [_speed(line, f"{text}:{i}") for i, line in enumerate(lines, 1) if line.strip()]
    out: list[float] = []
    for part in text.split(","):
        number, times, count = part.partition("x")
        if times and not (count.isdecimal() and 0 < int(count) <= 10**8):
            raise InvalidInput(f"--speeds {text}: {part!r}; must be SPEED or SPEEDxNODES, separated by commas")
        out += [_speed(number, f"--speeds {text}")] * (int(count) if times else 1)
    return out


def _speed(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"{where}: {text!r} is not a number: expected the relative speed of a node") from None
