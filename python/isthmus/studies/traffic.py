"""Steady traffic: offered load against accepted throughput."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InvalidInput
from .parameters import Kind, Parameter, Point, Summary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..machine import Machine
    from ..simulation import Timeline

PATTERNS = ("uniform", "adversarial", "shift", "permutation", "bisection")


def destinations(machine: Machine, pattern: str, shift: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Where every node sends its next message; each node receives as many.

    uniform
        A new random permutation for every message, which over many messages is uniform random traffic.
    adversarial
        From group i of a dragonfly to group i + 1, the node at the same place.
    shift
        From node i to i + ``shift``.
    permutation
        One random permutation for all messages.
    bisection
        One random halving of the nodes, paired at random, both ways: the pattern of Hoefler, Schneider and Lumsdaine.
    """
    nodes = np.arange(machine.nodes)
    if pattern == "adversarial":
        return (nodes + group_size(machine)) % len(nodes)
    if pattern == "shift":
        return (nodes + shift) % len(nodes)
    if pattern == "bisection":
        order = rng.permutation(nodes)
        half = len(nodes) // 2
        out = nodes.copy()
        out[order[:half]], out[order[half : 2 * half]] = order[half : 2 * half], order[:half]
        return out
    return rng.permutation(nodes)


def group_size(machine: Machine) -> int:
    """Nodes in a group of a dragonfly."""
    if not machine.topology.kind.startswith("dragonfly"):
        raise InvalidInput(f"{machine.name}: adversarial traffic, from group to group, needs a dragonfly")
    groups = int(machine.topology.dims[0])
    return machine.nodes // groups


@functools.lru_cache(maxsize=8)
def _machine(machine: str) -> Machine:
    from ..loading import load

    return load(machine)


def measure(point: Point) -> Point:
    """Accepted throughput of a node, bytes per second, and the same over the bandwidth of a link."""
    from ..schedule.builder import ProgramBuilder
    from ..simulation import simulate

    machine = _machine(point["machine"])
    size, count, window = point["bytes"], point["messages"], point["window"]
    if window >= count:
        raise InvalidInput(f"window = {window}: fewer than messages = {count} are allowed")
    rng = np.random.default_rng(point["seed"])
    link = float(machine.topology.link_classes[-1][1])
    nodes = np.arange(machine.nodes)
    interval = size / (point["load"] * link)
    b = ProgramBuilder(len(nodes))
    to = destinations(machine, point["pattern"], point["shift"], rng)
    received = []
    for k in range(count):
        if k and point["pattern"] == "uniform":
            to = destinations(machine, "uniform", 0, rng)
        source = np.empty_like(to)
        source[to] = nodes
        received.append(b.irecv(nodes, source, size, tag=k))
        b.isend(nodes, to, size, tag=k)
        b.compute(nodes, interval)
        if k >= window:
            b.wait(nodes, received[k - window])
    b.waitall(nodes)
    t = simulate(
        b.build(), machine, machine.allocate(len(nodes), ranks_per_node=1), model="flow", routing=point["routing"],
        record="ops", symmetry=False, seed=point["seed"],
    )  # fmt: skip
    accepted = _steady(t, size, count, window)
    bound = bisection_bound(machine)
    return {
        "nodes": machine.nodes,
        "link_bandwidth": link,
        "throughput": accepted,
        "accepted": accepted / link,
        "bound": bound / link,
        "name": machine.name,
    }


def _steady(t: Timeline, size: int, count: int, window: int) -> float:
    """Bytes per second that a node receives, while all nodes have messages to send.

    Means over the receivers: of each, the messages that came after the first third, up to when the first node sends its
    last ones.
    """
    from ..schedule.schedule import OpKind

    is_recv = t.schedule.ops["kind"] == OpKind.recv
    came = np.sort(t.end_ps[is_recv].reshape(-1, count), axis=1) / 1e12
    until = came[:, count - window].min()
    since = until / 3
    inside = (came > since) & (came <= until)
    first = np.where(inside, came, np.inf).min(axis=1)
    last = np.where(inside, came, -np.inf).max(axis=1)
    # Messages that come at the same time (all at once, from equal flows) count as they would one after another.
    number = inside.sum(axis=1)
    span = last - first
    if np.all(number > 2) and np.all(span > 0):
        at_first = (came == first[:, None]).sum(axis=1)
        return float(np.mean((number - at_first) * size / span))
    return float(inside.sum() * size / (until - since) / len(came))


def bisection_bound(machine: Machine) -> float:
    """Largest uniform random traffic of a node, bytes per second, that the bisection and the interface carry.

    Half of the traffic of one half of the nodes goes to the other half: N/2 x 1/2 x rate is at most the bandwidth of the
    bisection in one direction (Dally and Towles, "Principles and practices of interconnection networks", 2004). Not for
    ends of links: a node's own link and interface bound its rate too.
    """
    t = machine.topology
    rate = 4 * t.bisection()[1] / machine.nodes
    G = machine.level.network.G
    if G:
        rate = min(rate, 1 / G)
    if t.switches:
        rate = min(rate, min(float(bw) for name, bw, _ in t.link_classes if name == "terminal"))
    return rate


def _summarise(rows: Sequence[Point]) -> Summary:
    from .traffic_page import summarise

    return summarise(rows)


KIND = Kind(
    name="traffic",
    doc="steady traffic on a network: offered load against accepted throughput",
    version=1,
    parameters=(
        Parameter("machine", "machine", "one rank a node; loads are relative to the bandwidth of its last link class"),
        Parameter("pattern", "choice", "who sends to whom", "uniform", PATTERNS),
        Parameter("routing", "choice", "of messages", "minimal", ("minimal", "random", "valiant", "adaptive")),
        Parameter("load", "number", "offered by every node, over the bandwidth of a link", 1.0, least=1e-3, most=1e3),
        Parameter("shift", "whole", "of the pattern shift", 1),
        Parameter("bytes", "B", "size of messages", 2**20, least=1, most=2**40),
        Parameter("messages", "whole", "of every node", 60, least=4, most=1e6),
        Parameter("window", "whole", "messages of a node that may be on their way", 16, least=1, most=1e6),
        Parameter("seed", "whole", "of patterns and routes", 1, most=2**32),
    ),
    measure=measure,
    summarise=_summarise,
)
