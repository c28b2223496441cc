"""One communication in several network models, and how far their results differ."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from ..simulation.network import MODELS, ROUTINGS
from ..skeletons.multigrid import box
from .parameters import Kind, Parameter, Point, Summary

if TYPE_CHECKING:
    from ..machine import Machine
    from ..schedule.program import Program
    from ..schedule.schedule import Schedule

PATTERNS = ("shift", "permutation", "halo", "pairwise", "linear", "doubling", "hotspot", "incast")
_COLLECTIVES = {
    "pairwise": ("alltoall", "pairwise"),
    "linear": ("alltoall", "linear"),
    "doubling": ("allreduce", "recursive_doubling"),
}
#: Messages of every rank of a shift or permutation, iterations of a halo, messages of every rank around a hot spot.
_ROUNDS, _AROUND = 4, 12
#: One of so many of the latter goes to the hot spot.
_HOT = 6


def work(pattern: str, nodes: int, size: int, seed: int) -> Program | Schedule:
    """The communication of ranks, one on every node.

    shift
        Four messages of every rank at once to the one a third of the nodes further.
    permutation
        The same to one random rank each.
    halo
        Four exchanges with the six neighbours in the most cubic periodic box of all ranks.
    pairwise, linear
        All to all: partner after partner, or all messages at once.
    doubling
        Allreduce by recursive doubling.
    hotspot
        Twelve messages of every rank at once, ten to random ranks, two to rank 0.
    incast
        One message of every other rank to rank 0.
    """
    if pattern in _COLLECTIVES:
        from ..collectives import collective

        kind, algorithm = _COLLECTIVES[pattern]
        return collective(kind, ranks=nodes, bytes=size, algorithm=algorithm)
    from ..schedule.builder import ProgramBuilder

    rng = np.random.default_rng(seed)
    rank = np.arange(nodes)
    b = ProgramBuilder(nodes)

    def at_once(targets: Sequence[Any]) -> None:
        """Every rank to its rank in each of the arrays, but nobody to itself."""
        for tag, to in enumerate(targets):
            others = rank[to != rank]
            b.irecv(to[others], others, size, tag=tag)
        for tag, to in enumerate(targets):
            others = rank[to != rank]
            b.isend(others, to[others], size, tag=tag)
        b.waitall(rank)

    if pattern == "shift":
        at_once([(rank + max(1, nodes // 3)) % nodes] * _ROUNDS)
    elif pattern == "permutation":
        at_once([rng.permutation(nodes)] * _ROUNDS)
    elif pattern == "incast":
        at_once([np.zeros(nodes, np.int64)])
    elif pattern == "hotspot":
        zero = np.zeros(nodes, np.int64)
        at_once([zero if k % _HOT == _HOT - 1 else rng.integers(0, nodes, nodes) for k in range(_AROUND)])
    else:
        sides = box(nodes)
        at = np.stack(np.unravel_index(rank, sides))
        neighbours = []
        for axis, side in enumerate(sides):
            for way in (1, -1):
                to = at.copy()
                to[axis] = (at[axis] + way) % side
                neighbours.append(np.ravel_multi_index(tuple(to), sides))
        for _ in range(_ROUNDS):
            at_once(neighbours)
    return b.build()


@functools.lru_cache(maxsize=8)
def _machine(machine: str) -> Machine:
    from ..loading import load

    return load(machine)


def measure(point: Point) -> Point:
    """Makespan, and the mean time of a message from the start of its send to the end of its receive, seconds."""
    from ..schedule.schedule import OpKind
    from ..simulation import simulate

    machine = _machine(point["machine"])
    what = work(point["pattern"], machine.nodes, point["bytes"], point["seed"])
    model = point["model"]
    t = simulate(
        what,
        machine,
        np.arange(machine.nodes),
        model=model,
        routing=point["routing"] if model != "loggops" else "minimal",
        record="ops",
        seed=point["seed"],
    )
    sends = np.flatnonzero((t.schedule.ops["kind"] == OpKind.send) & (t.partner >= 0))
    if not len(sends):
        raise InvalidInput(f"pattern = {point['pattern']!r}: on {machine.nodes} nodes no node sends to another")
    took = t.end_ps[t.partner[sends]] - t.start_ps[sends]
    return {
        "time": t.makespan,
        "message": float(took.mean()) * 1e-12,
        "messages": t.messages,
        "nodes": machine.nodes,
    }


def _summarise(rows: Sequence[Point]) -> Summary:
    from .models_page import summarise

    return summarise(rows)


KIND = Kind(
    name="models",
    doc="the same communication in another model of the network: makespan and mean time of a message",
    version=1,
    parameters=(
        Parameter("machine", "machine", "one rank on every node"),
        Parameter("pattern", "choice", "who sends to whom", "permutation", PATTERNS),
        Parameter("bytes", "B", "size of messages", least=1, most=2**40),
        Parameter("model", "choice", "of the network", "flow", MODELS),
        Parameter("routing", "choice", "of messages that meet", "minimal", ROUTINGS),
        Parameter("seed", "whole", "of patterns and routes", 1, most=2**32),
    ),
    measure=measure,
    summarise=_summarise,
)
