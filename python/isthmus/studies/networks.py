"""Cycles of a multigrid solver, with every message of its hierarchy, on networks: what sharing of links costs."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from ..multigrid import Costs, cycle, program
from ..simulation.network import ROUTINGS
from .levels import computed, side_by_side
from .parameters import Kind, Parameter, Point, Summary
from .traffic import group_size

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..machine import Machine

PLACEMENTS = ("block", "spread", "random")


@functools.lru_cache(maxsize=4)
def _machine(machine: str) -> Machine:
    from ..loading import load

    return load(machine)


def place(machine: Machine, ranks: int, jobs: int, placement: str, seed: int) -> NDArray[np.int64]:
    """Node of every rank of all jobs, one after the other.

    A job takes nodes in their order (block), nodes of all groups in turn (spread; without groups as block), or nodes
    at random.

    Raises
    ------
    InvalidInput
        If the machine has too few nodes.
    """
    if ranks * jobs > machine.nodes:
        raise InvalidInput(f"{jobs} jobs of {ranks} ranks, one a node: {machine.name} has {machine.nodes} nodes")
    nodes = np.arange(machine.nodes)
    if placement == "random":
        nodes = np.random.default_rng(seed).permutation(machine.nodes)
    elif placement == "spread" and machine.topology.kind == "dragonfly":
        size = group_size(machine)
        nodes = nodes.reshape(-1, size).T.reshape(-1)
    return nodes[: ranks * jobs]


def measure(point: Point) -> Point:
    """Seconds of a cycle of all jobs, with and without messages that share links, and by the model."""
    from ..simulation import simulate

    machine, ranks = _machine(point["machine"]), point["ranks"]
    jobs = point["jobs"] or machine.nodes // ranks
    where = place(machine, ranks, jobs, point["placement"], point["seed"])
    one = computed(point["solver"], point["side"], ranks)
    all_jobs = side_by_side(one, jobs, point["vectors"])
    work = program(all_jobs, point["flop"])
    times = {}
    for model in ("loggops", "flow"):
        told = simulate(
            work, machine, where, model=model, record="finish", seed=point["seed"],
            routing=point["routing"] if model == "flow" else "minimal",
        )  # fmt: skip
        times[model] = told.makespan
    costs = Costs.of(machine, nodes=ranks, flop=point["flop"])
    modelled = cycle(side_by_side(one, 1, point["vectors"]), costs)
    link = machine.level.network.G
    return {
        "used": jobs,
        "time": times["flow"],
        "alone": times["loggops"],
        "slowdown": times["flow"] / times["loggops"],
        "modelled": modelled.seconds,
        "farthest": costs.farthest,
        "messages": told.messages,
        "sent": told.bytes / (ranks * jobs),
        # Bytes a node sends, over what its interface could send in the time without sharing.
        "intensity": told.bytes / (ranks * jobs) * link / times["loggops"],
    }


def _summarise(rows: Sequence[Point]) -> Summary:
    from .networks_page import summarise

    return summarise(rows)


def _parameters() -> Sequence[Any]:
    return (
        Parameter("machine", "machine", "one rank a node"),
        Parameter("solver", "choice", "whose hierarchy is computed", "hypre", ("hypre", "pyamg")),
        Parameter("side", "whole", "points of the cube along each dimension", 100, least=4, most=400),
        Parameter("ranks", "whole", "of a job", least=2, most=1e6),
        Parameter("jobs", "whole", "that run at the same time; 0: as many as the machine holds", 0, most=1e6),
        Parameter("placement", "choice", "of the jobs on nodes", "block", PLACEMENTS),
        Parameter("vectors", "whole", "that are solved for at once: bytes and computation times so many", 1, least=1,
                  most=1e6),
        Parameter("flop", "s", "a floating-point operation of a node", 3e-11, least=0, most=1),
        Parameter("routing", "choice", "of messages that share links", "minimal", ROUTINGS),
        Parameter("seed", "whole", "of random nodes and routes", 1, most=2**32),
    )  # fmt: skip


KIND = Kind(
    name="networks",
    doc="cycles of a multigrid solver on networks, simulated with every message: loss by sharing of links",
    version=1,
    parameters=tuple(_parameters()),
    measure=measure,
    summarise=_summarise,
)
