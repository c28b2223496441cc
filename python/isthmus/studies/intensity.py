"""Solver cycles on a dragonfly: how much they lose by contention, by how much they send and over how many groups."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InvalidInput
from ..simulation.network import ROUTINGS
from ..skeletons.multigrid import LEVELS, box, cycles
from .parameters import Kind, Parameter, Point, Summary
from .traffic import group_size

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..machine import Machine

ORDERS = ("block", "random")


def place(machine: Machine, nodes: int, groups: int, jobs: int, order: str, seed: int) -> NDArray[np.int64]:
    """Node of every rank of every job, shape (jobs, nodes).

    Sets of ``groups`` groups take ``groups`` jobs each, a job the same number of nodes of every group of its set. Ranks
    follow the nodes (block), or sit on the nodes of their job at random.
    """
    per_group = group_size(machine)
    count = machine.nodes // per_group
    if nodes % groups or nodes > per_group:
        raise InvalidInput(
            f"nodes = {nodes}: must be a multiple of groups = {groups}, at most {per_group} (the nodes of a group)"
        )
    if groups > count or jobs > count // groups * groups:
        raise InvalidInput(
            f"{jobs} jobs over {groups} groups each: {machine.name} has {count} groups, and each group takes one job"
        )
    rng = np.random.default_rng(seed)
    share = nodes // groups
    out = np.empty((jobs, nodes), np.int64)
    for job in range(jobs):
        first, turn = divmod(job, groups)
        group = first * groups + np.arange(groups)
        chosen = (group[:, None] * per_group + turn * share + np.arange(share)).reshape(-1)
        out[job] = rng.permutation(chosen) if order == "random" else chosen
    return out


@functools.lru_cache(maxsize=4)
def _machine(machine: str) -> Machine:
    from ..loading import load

    return load(machine)


def measure(point: Point) -> Point:
    """The slowdown of the jobs by contention, and their intensity of communication."""
    from ..simulation import simulate

    machine = _machine(point["machine"])
    nodes, jobs, compute = point["nodes"], point["jobs"], point["compute"]
    where = place(machine, nodes, point["groups"], jobs, point["order"], point["seed"])
    program = cycles(jobs, nodes, point["bytes"], compute, point["cycles"])
    times = {}
    for model in ("loggops", "flow"):
        t = simulate(
            program, machine, where.reshape(-1), model=model, record="finish", seed=point["seed"],
            routing=point["routing"] if model == "flow" else "minimal",
        )  # fmt: skip
        times[model] = t.makespan
    quiet = simulate(cycles(1, nodes, 0, compute, point["cycles"]), machine, where[0], record="finish").makespan
    sent = t.bytes / (jobs * nodes)
    return {
        "time": times["flow"],
        "alone": times["loggops"],
        "slowdown": times["flow"] / times["loggops"],
        # Bytes a node sends in the time that it would take without its messages' bytes, over what its interface can.
        "intensity": sent / quiet * machine.level.network.G,
        "share": 1 - compute_time(point) / times["loggops"],
    }


def compute_time(point: Point) -> float:
    """Seconds of computation of a rank."""
    longest = max(box(point["nodes"]))
    down = [level for level in range(LEVELS) if level == 0 or 2**level < longest]
    return float(point["cycles"] * sum(point["compute"] / 8**level for level in down + down[-2::-1]))


def _summarise(rows: Sequence[Point]) -> Summary:
    from .intensity_page import summarise

    return summarise(rows)


KIND = Kind(
    name="intensity",
    doc="multigrid cycles of jobs on a dragonfly: loss by contention against intensity and spread over groups",
    version=1,
    parameters=(
        Parameter("machine", "machine", "a dragonfly; one rank a node"),
        Parameter("nodes", "whole", "of a job", least=2, most=1e6),
        Parameter("jobs", "whole", "that run at the same time", 1, least=1, most=1e6),
        Parameter("groups", "whole", "over which a job is spread", 1, least=1, most=1e6),
        Parameter("order", "choice", "of the ranks of a job on its nodes", "block", ORDERS),
        Parameter("bytes", "B", "size of a message on the finest level", least=1, most=2**40),
        Parameter("compute", "s", "computation on the finest level between two exchanges", 1e-3, least=0, most=1e3),
        Parameter("cycles", "whole", "V-cycles", 1, least=1, most=1e4),
        Parameter("routing", "choice", "of messages", "adaptive", ROUTINGS),
        Parameter("seed", "whole", "of placements and routes", 1, most=2**32),
    ),
    measure=measure,
    summarise=_summarise,
)
