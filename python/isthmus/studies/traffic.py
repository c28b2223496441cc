"""Steady traffic: offered load against accepted throughput."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InvalidInput
from ..simulation.network import ROUTINGS
from .parameters import Kind, Parameter, Point, Summary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..machine import Machine
    from ..schedule.program import Program
    from ..simulation import Timeline

#: Least number of slices of time: what is counted has edges at them.
_SLICES = 512
PATTERNS = ("uniform", "adversarial", "shift", "permutation", "bisection")


def destinations(machine: Machine, pattern: str, shift: int, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Where every node sends its messages, shape (count, nodes); over all messages, each node receives as many.

    uniform
        To all other nodes in turn, every node in a random order of its own.
    adversarial
        From group i of a dragonfly to group i + 1, the node at the same place.
    shift
        From node i to i + ``shift``.
    permutation
        One random permutation for all messages.
    bisection
        One random halving of the nodes, paired at random, both ways: the pattern of Hoefler, Schneider and Lumsdaine.
    """
    n = machine.nodes
    nodes = np.arange(n)
    if pattern == "uniform":
        rounds = -(-count // (n - 1))
        steps = np.concatenate([rng.permuted(np.tile(np.arange(1, n)[:, None], n), axis=0) for _ in range(rounds)])
        spread: NDArray[np.int64] = (nodes + steps[:count]) % n
        return spread
    if pattern == "adversarial":
        to = (nodes + group_size(machine)) % n
    elif pattern == "shift":
        to = (nodes + shift) % n
    elif pattern == "bisection":
        order = rng.permutation(nodes)
        half = n // 2
        to = nodes.copy()
        to[order[:half]], to[order[half : 2 * half]] = order[half : 2 * half], order[:half]
    else:
        to = rng.permutation(nodes)
    return np.broadcast_to(to, (count, n))


def group_size(machine: Machine) -> int:
    """Nodes in a group of a dragonfly."""
    t = machine.topology
    if "group" not in t.dim_names:
        raise InvalidInput(f"{machine.name}: adversarial traffic, from group to group, needs a dragonfly")
    return int(machine.nodes // t.dims[t.dim_names.index("group")])


@functools.lru_cache(maxsize=8)
def _machine(machine: str) -> Machine:
    from ..loading import load

    return load(machine)


def measure(point: Point) -> Point:
    """Accepted throughput of a node, bytes per second, and the same over the bandwidth of a link.

    Every node offers a message at equal intervals, and whatever the network does not take waits in it. What links from
    switches to nodes carry is counted from a third of the time of offering to its end.
    """
    from ..simulation import simulate

    machine = _machine(point["machine"])
    t = machine.topology
    if not t.switches:
        raise InvalidInput(f"{machine.name}: throughput is counted on the links between nodes and switches: give p=1")
    size, count = point["bytes"], point["messages"]
    link = max(float(bandwidth) for name, bandwidth, _ in t.link_classes if name != "terminal")
    interval = size / (point["load"] * link)
    to = destinations(machine, point["pattern"], point["shift"], count, np.random.default_rng(point["seed"]))
    timeline = simulate(
        _program(to, size, max(interval - size * machine.level.network.G, 0.0)),
        machine,
        machine.allocate(machine.nodes, ranks_per_node=1),
        model="flow",
        routing=point["routing"],
        slices=_SLICES,
        symmetry=False,
        seed=point["seed"],
    )
    accepted = _delivered(timeline, count * interval)
    return {
        "nodes": machine.nodes,
        "throughput": accepted,
        "accepted": accepted / link,
        "bound": bisection_bound(machine) / link,
    }


def _program(to: NDArray[np.int64], size: int, pause: float) -> Program:
    from ..schedule.builder import ProgramBuilder

    count, ranks = to.shape
    rank = np.arange(ranks)
    b = ProgramBuilder(ranks)
    for k in range(count):
        b.irecv(to[k], rank, size, tag=k)
    for k in range(count):
        b.isend(rank, to[k], size, tag=k)
        b.compute(rank, pause)
    b.waitall(rank)
    return b.build()


def _delivered(timeline: Timeline, offering: float) -> float:
    """Bytes per second that a node receives while messages are offered."""
    traffic = timeline.traffic
    assert traffic is not None
    t = traffic.machine.topology
    ends = t.link_ends(np.arange(t.links, dtype=np.uint32))
    into = ends[:, 1] < t.nodes
    edges = traffic.times
    since, until = np.searchsorted(edges, [offering / 3, min(offering, float(edges[-1]))])
    until = max(until - 1, since + 1)
    carried = float(traffic.slices[into, since:until].sum(dtype=np.float64))
    return carried / float(edges[until] - edges[since]) / t.nodes


def bisection_bound(machine: Machine) -> float:
    """Largest uniform random traffic of a node, bytes per second, that the bisection and the interface carry.

    Half of the traffic of one half of the nodes goes to the other half: N/2 x 1/2 x rate is at most the bandwidth of
    the bisection in one direction (Dally and Towles, "Principles and practices of interconnection networks", 2004). A
    node's own link and interface bound its rate too.
    """
    t = machine.topology
    rate = 4 * t.bisection()[1] / machine.nodes
    G = machine.level.network.G
    if G:
        rate = min(rate, 1 / G)
    if t.switches:
        # Nodes hang on switches by one link each.
        rate = min(rate, float(t.bandwidth(np.asarray(t.out_links(0), np.uint32)).sum()))
    return rate


def _summarise(rows: Sequence[Point]) -> Summary:
    from .traffic_page import summarise

    return summarise(rows)


KIND = Kind(
    name="traffic",
    doc="steady traffic on a network: offered load against accepted throughput",
    version=1,
    parameters=(
        Parameter(
            "machine",
            "machine",
            "with switches, one rank a node; loads are relative to its fastest link between switches",
        ),
        Parameter("pattern", "choice", "who sends to whom", "uniform", PATTERNS),
        Parameter("routing", "choice", "of messages", "minimal", ROUTINGS),
        Parameter("load", "number", "offered by every node, over the bandwidth of a link", 1.0, least=1e-3, most=1e3),
        Parameter("shift", "whole", "of the pattern shift", 1),
        Parameter("bytes", "B", "size of messages", 2**20, least=1, most=2**40),
        Parameter("messages", "whole", "of every node", 60, least=4, most=1e6),
        Parameter("seed", "whole", "of patterns and routes", 1, most=2**32),
    ),
    measure=measure,
    summarise=_summarise,
)
