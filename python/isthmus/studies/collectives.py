"""Collectives on machines: algorithms and flavours by size."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..collectives.flavours import ACCESSES, PROTOCOLS, SYNCS
from ..errors import InvalidInput
from ..schedule import event
from ..simulation.network import MODELS
from .parameters import Kind, Parameter, Point, Summary

if TYPE_CHECKING:
    from ..machine import Machine
    from ..schedule.program import Program


#: Those that need no list of neighbours.
COLLECTIVES = tuple(name for name in event.COLLECTIVES if name != "neighbor_alltoall")


@functools.lru_cache(maxsize=8)
def _machine(machine: str) -> Machine:
    from ..loading import load

    return load(machine)


def measure(point: Point) -> Point:
    """Makespan of the collective, or of all of them, seconds; with computation a step's share of it."""
    from ..collectives import collective
    from ..one_line import parse_algorithm, parse_noise
    from ..simulation import simulate

    machine = _machine(point["machine"])
    cores = point["per_node"] or machine.node.cores
    nodes = -(-point["ranks"] // cores)
    if nodes > machine.nodes:
        raise InvalidInput(f"ranks = {point['ranks']}: {machine.nodes} nodes hold {machine.nodes * cores}")
    algorithm = parse_algorithm(point["algorithm"]) if point["algorithm"] else None
    noise = parse_noise(point["noise"]) if point["noise"] else None
    job = machine.allocate(nodes, ranks_per_node=cores)
    if point["work"]:
        chosen = None if algorithm is None else {point["collective"]: algorithm}
        timeline = simulate(_steps(point), machine, job, model=point["model"], collectives=chosen, noise=noise)
        return {"time": timeline.makespan / point["count"] - point["work"], "messages": timeline.messages}
    enter, _, leave = point["sync"].partition("-")
    schedule = collective(
        point["collective"],
        ranks=point["ranks"],
        bytes=point["bytes"],
        algorithm=algorithm,
        access=point["access"],
        sync=(enter, leave or enter),
        protocol=point["protocol"],
        count=point["count"],
        under_way=point["under_way"],
    )
    timeline = simulate(schedule, machine, job, model=point["model"], noise=noise)
    return {"time": timeline.makespan, "messages": timeline.messages}


def _steps(point: Point) -> Program:
    """A program that computes and calls the collective, again and again."""
    from ..schedule.builder import ProgramBuilder

    b = ProgramBuilder(point["ranks"])
    sized = () if point["collective"] == "barrier" else (point["bytes"],)
    for _ in range(point["count"]):
        b.compute(None, point["work"])
        getattr(b, point["collective"])(None, *sized)
    return b.build()


def _summarise(rows: Sequence[Point]) -> Summary:
    from .collectives_page import summarise

    return summarise(rows)


_SYNCS = (*SYNCS, *(f"{a}-{b}" for a in SYNCS for b in SYNCS if a != b))

KIND = Kind(
    name="collectives",
    doc="a collective by an algorithm in a flavour: its time",
    version=1,
    parameters=(
        Parameter("machine", "machine", "ranks fill its nodes one after the other"),
        Parameter("collective", "choice", "which", choices=COLLECTIVES),
        Parameter("ranks", "whole", "how many", least=1, most=2**24),
        Parameter("per_node", "whole", "ranks on a node; 0: one on every core", 0, most=4096),
        Parameter("bytes", "B", "of the vector, or of one rank's block", 0, most=2**34),
        Parameter("algorithm", "text", "name and options, as knomial:radix=4; empty: the default", ""),
        Parameter("access", "choice", "how data move", "message", ACCESSES),
        Parameter("sync", "choice", "on entry and exit, as none-all", "my", _SYNCS),
        Parameter("protocol", "choice", "of messages", "size", PROTOCOLS),
        Parameter("count", "whole", "so many, one begun after the other", 1, least=1, most=100_000),
        Parameter("under_way", "whole", "at most so many at once on a rank; 0: all", 0, most=100_000),
        Parameter("work", "s", "computation of every rank before each; the time is then that of a step beyond it", 0),
        Parameter("noise", "text", "of the operating system, as periodic,period=1ms,duration=10us; empty: none", ""),
        Parameter("model", "choice", "of the network", "loggops", MODELS),
    ),
    measure=measure,
    summarise=_summarise,
)
