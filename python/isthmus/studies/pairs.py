"""Ping-pong between partners a given number of hops apart: the experiment of Bhatele and Kale."""

from __future__ import annotations

import functools
import itertools
import tomllib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from ..simulation.network import ROUTINGS
from .parameters import Kind, Parameter, Point, Summary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..machine import Machine
    from ..schedule.program import Program

TRAFFIC = ("pairs", "random", "one")
_ROUNDS = 2


def partners(machine: Machine, hops: int) -> NDArray[np.int64]:
    """A partner exactly so many hops away for every node of a torus, and theirs is that node.

    The longest dimension is cut into blocks of 2 n planes, and a plane of the first half of a block is paired with the
    one n further. All n pairs of a line of a block use the link in its middle, n messages in each direction. Planes
    that are left over (where 2 n does not divide the dimension) are paired in blocks within the other dimensions, at
    distances that add up to n.

    Raises
    ------
    InvalidInput
        The machine is no torus without switches, or has no such pairing.
    """
    t = machine.topology
    if not t.dims or t.switches:
        raise InvalidInput(f"{machine.name}: pairs at a distance need a torus whose nodes are its routers")
    dims = [int(d) for d in t.dims]
    axis = max(range(len(dims)), key=lambda i: (dims[i], i))
    at = machine.coordinates(np.arange(t.nodes)).astype(np.int64)
    to = at.copy()
    blocks = dims[axis] // (2 * hops)
    inside = at[:, axis] < 2 * hops * blocks
    to[inside, axis] = _other_half(at[inside, axis], hops)
    if rest := dims[axis] - 2 * hops * blocks:
        sizes = [rest if i == axis else d for i, d in enumerate(dims)]
        for i, step in enumerate(_steps(machine, sizes, dims, hops)):
            start = dims[axis] - rest if i == axis else 0
            if step:
                to[~inside, i] = start + _other_half(at[~inside, i] - start, step)
    found = machine.nodes_at(to.astype(np.uint32)).astype(np.int64)
    nodes = np.arange(t.nodes)
    if not (np.array_equal(found[found], nodes) and np.all(np.asarray(machine.distance(nodes, found)) == hops)):
        raise InvalidInput(f"{machine.name}: {hops} hops: must be at most half of its longest dimension")
    return found


def _other_half(at: NDArray[np.int64], step: int) -> NDArray[np.int64]:
    return np.where(at // step % 2 == 0, at + step, at - step)


def _steps(machine: Machine, sizes: list[int], dims: list[int], hops: int) -> tuple[int, ...]:
    """Distances within the dimensions that add up to the hops and pair a box of these sizes."""
    choices = [
        [0, *(s for s in range(1, min(d // 2, hops) + 1) if size % (2 * s) == 0)]
        for size, d in zip(sizes, dims, strict=True)
    ]
    for steps in sorted(itertools.product(*choices), reverse=True):
        if sum(steps) == hops:
            return steps
    raise InvalidInput(f"{machine.name}: its nodes cannot all be paired at {hops} hops")


def random_partners(nodes: int, seed: int) -> NDArray[np.int64]:
    """Random pairs; of an odd number of nodes one is its own partner."""
    order = np.random.default_rng(seed).permutation(nodes)
    found = np.arange(nodes)
    half = nodes // 2
    found[order[: 2 * half : 2]], found[order[1 : 2 * half : 2]] = order[1 : 2 * half : 2], order[: 2 * half : 2]
    return found


def ping_pong(partner: NDArray[np.int64], size: int, rounds: int) -> Program:
    """Every rank and its partner send to each other in turn, the lower rank first."""
    from ..schedule.builder import ProgramBuilder

    b = ProgramBuilder(len(partner))
    rank = np.arange(len(partner))
    low = rank[rank < partner]
    high = partner[low]
    for _ in range(rounds):
        b.send(low, high, size)
        b.recv(high, low, size)
        b.send(high, low, size)
        b.recv(low, high, size)
    return b.build()


@functools.lru_cache(maxsize=8)
def _machine(machine: str, dims: str) -> Machine:
    """The machine, or a partition of these dimensions with its parameters."""
    from ..loading import load
    from ..machine import Machine

    loaded = load(machine)
    if dims == "all":
        return loaded
    raw = tomllib.loads(loaded.toml())
    try:
        raw["topology"]["dims"] = [int(d) for d in dims.split("x")]
    except ValueError:
        raise InvalidInput(f"dims = {dims!r}: must be 'all' or extents such as 8x8x16") from None
    # These are of the whole.
    for key in ("compute_nodes", "hostnames"):
        raw.pop(key, None)
    return Machine.from_dict(raw, machine)


def measure(point: Point) -> Point:
    """Latency of a message, seconds: mean over all pairs, slowest and fastest pair, and without others."""
    from ..simulation import simulate

    machine = _machine(point["machine"], point["dims"])
    nodes = machine.nodes
    if point["traffic"] == "random":
        partner = random_partners(nodes, point["seed"])
    else:
        partner = partners(machine, point["hops"])
    size, cores = point["bytes"], machine.node.cores if point["all_cores"] else 1
    if point["traffic"] == "one":
        placement: Any = np.array([0, partner[0]])
        other = np.array([1, 0])
    else:
        placement = np.repeat(np.arange(nodes), cores)
        other = (partner[:, None] * cores + np.arange(cores)).reshape(-1)
    program = ping_pong(other, size, _ROUNDS)
    # The lower rank of a pair receives last: when it is done the round trips are.
    first = np.arange(len(other)) < other
    times = {}
    for model, routing in (("flow", point["routing"]), ("loggops", "minimal")):
        t = simulate(program, machine, placement, model=model, routing=routing, seed=point["seed"])
        times[model] = t.finish[first] / (2 * _ROUNDS)
    return {
        "latency": float(times["flow"].mean()),
        "slowest": float(times["flow"].max()),
        "fastest": float(times["flow"].min()),
        "alone": float(times["loggops"].mean()),
        "title": machine.title,
    }


def _summarise(rows: Sequence[Point]) -> Summary:
    from .pairs_page import summarise

    return summarise(rows)


KIND = Kind(
    name="pairs",
    doc="ping-pong between partners a number of hops apart, all pairs at once",
    version=1,
    parameters=(
        Parameter("machine", "machine", "a torus"),
        Parameter(
            "dims", "text", "dimensions of a partition such as 8x8x16, with the parameters of the machine", "all"
        ),
        Parameter(
            "traffic", "choice", "all pairs at a distance at once, random pairs, or one pair alone", "pairs", TRAFFIC
        ),
        Parameter("hops", "whole", "distance of partners; random pairs do not look at it", 1, least=1),
        Parameter("bytes", "B", "size of messages", least=1, most=2**40),
        Parameter("all_cores", "yes", "a rank on every core instead of one on every node", False),
        Parameter("routing", "choice", "of messages", "minimal", ROUTINGS),
        Parameter("seed", "whole", "of random pairs", 1, most=2**32),
    ),
    measure=measure,
    summarise=_summarise,
)
