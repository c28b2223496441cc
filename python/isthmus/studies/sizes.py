"""A program on machines over numbers of ranks: where one machine overtakes another, beside what was published."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import InvalidInput
from ..simulation.network import MODELS
from .claims import claim
from .parameters import Kind, Parameter, Point, Summary

if TYPE_CHECKING:
    from ..machine import Machine


@functools.lru_cache(maxsize=8)
def _machine(machine: str) -> Machine:
    from ..loading import load

    return load(machine)


def measure(point: Point) -> Point:
    """Time, seconds, and its parts."""
    from ..comparison.over_sizes import at_size
    from ..comparison.parts import PARTS
    from ..skeletons import family
    from ..skeletons.catalogue import read

    claim(point["claim"])
    skeleton, given = read(point["program"])
    program = family(skeleton, given, point["scaling"], point["ranks"])
    machine, reference = _machine(point["machine"]), _machine(point["reference"])
    if point["ranks"] > machine.cores:
        raise InvalidInput(f"{point['ranks']:,} ranks: {machine.name} has {machine.cores:,} cores")
    found = at_size(program, point["ranks"], machine, reference, point["memory_bound"], model=point["model"])
    return {
        "time": found.seconds,
        "nodes": found.nodes or 0,
        "means": found.parts.way == "mean",
        **{name: found.parts.seconds(name) for name in PARTS},
    }


def _summarise(rows: Sequence[Point]) -> Summary:
    from .sizes_page import summarise

    return summarise(rows)


KIND = Kind(
    name="sizes",
    doc="a program on machines over numbers of ranks: where one machine overtakes another",
    version=1,
    parameters=(
        Parameter("claim", "text", "from how many ranks on the other machine is faster: NAME LEAST..MOST or NAME none"),
        Parameter("program", "text", "a skeleton with its parameters but ranks, such as cg:steps=2"),
        Parameter("machine", "machine", "where it runs: the reference, and others that are compared with it"),
        Parameter("ranks", "whole", "one on every core", least=1, most=2**20),
        Parameter("scaling", "choice", "what stays as ranks are added", "weak", ("weak", "strong")),
        Parameter("reference", "machine", "where computation times of the program hold"),
        Parameter("memory_bound", "number", "share of computation there that goes by memory bandwidth", 0.75, most=1.0),
        Parameter("model", "choice", "of the network", "loggops", MODELS),
    ),
    measure=measure,
    summarise=_summarise,
)
