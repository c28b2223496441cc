"""How fast a core of a machine computes while all cores of its node are busy, and what that makes of a program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InvalidInput
from ..units import percent, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..machine import Machine
    from ..schedule.program import Program

#: Bytes that a miss of the last cache moves.
_LINE = 64


@dataclass(frozen=True)
class Rates:
    """What a core has while all cores of its node are busy.

    Attributes
    ----------
    flops, clock : float or None
        Peak rate, flop/s; clock, Hz.
    memory : float or None
        Share of the memory bandwidth, B/s.
    paths : tuple of str
        TOML paths of the machine from which the memory bandwidth was taken.
    """

    flops: float | None
    clock: float | None
    memory: float | None
    paths: tuple[str, ...] = ()


def rates(machine: Machine, busy: int | None = None) -> Rates:
    """Rates of a core while ``busy`` cores of its node compute, by default all.

    The memory bandwidth is measured by threads, or else the sum that STREAM reaches where every NUMA domain uses its
    own memory, or else what the machine gives for the node. Where only the whole node's is known, a core has its share
    of it however many are busy.
    """
    node = machine.node
    cores = node.cores
    by_threads = sorted((t.threads, t.bandwidth) for t in node.memory_bandwidth_by_threads)
    if by_threads:
        threads, total = zip(*by_threads, strict=True)
        count = min(busy or cores, cores)
        memory = float(np.interp(count, threads, total)) / count
        paths: tuple[str, ...] = ("node.memory_bandwidth_by_threads",)
    elif node.stream:
        memory, paths = sum(row[i] for i, row in enumerate(node.stream)) / cores, ("node.stream",)
    elif node.memory_bandwidth:
        memory, paths = node.memory_bandwidth / cores, ("node.memory_bandwidth",)
    else:
        return Rates(node.flops and node.flops / cores, node.clock, None)
    return Rates(node.flops and node.flops / cores, node.clock, memory, paths)


@dataclass(frozen=True)
class Computing:
    """Computation of a program on one machine, against that where its times were taken.

    Attributes
    ----------
    cores, memory : float
        The part of the time that goes by the rate of cores, and that which goes by memory bandwidth, as multiples of
        all the time there; their sum is the factor.
    bound : (float, float)
        Range of the share of the time there that goes by memory bandwidth.
    """

    cores: float = 1.0
    memory: float = 0.0
    bound: tuple[float, float] = (0.0, 0.0)

    @property
    def factor(self) -> float:
        """By what the times are multiplied."""
        return self.cores + self.memory


def computing(
    machines: Sequence[Machine], reference: Machine, bound: tuple[float, float], busy: Sequence[int | None]
) -> tuple[list[Computing], str]:
    """What the computation of a program takes on machines, where a share of it is bound by memory bandwidth.

    Parameters
    ----------
    machines : sequence of Machine
    reference : Machine
        Where the times of the program were taken, on full nodes.
    bound : (float, float)
        Least and most of the share there; the middle counts.
    busy : sequence of int or None
        Busy cores of a node, one for each machine; None: all.

    Returns
    -------
    list of Computing
    str
        What was assumed, in one sentence.

    Raises
    ------
    InvalidInput
        If a machine does not say what is needed.
    """
    share = sum(bound) / 2
    home = rates(reference)
    there = [rates(machine, count) for machine, count in zip(machines, busy, strict=True)]
    everywhere = [home, *there]
    names = [reference.name, *(machine.name for machine in machines)]
    by = "flops" if all(r.flops for r in everywhere) else "clock"
    _need(by, share < 1, everywhere, names, "flops or clock")
    _need("memory", share > 0, everywhere, names, "memory_bandwidth")
    out = []
    for one in there:
        cores = (1 - share) * (getattr(home, by) / getattr(one, by)) if share < 1 else 0.0
        memory = share * (home.memory / one.memory) if share > 0 and home.memory and one.memory else 0.0
        out.append(Computing(cores, memory, bound))
    words = [f"{percent(share)} of computation on {reference.name} goes by memory bandwidth" if share else ""]
    words.append(f"{percent(1 - share)} by {'peak rate' if by == 'flops' else 'clock'} of a core" if share < 1 else "")
    factors = ", ".join(f"{one.factor:.4g} on {name}" for one, name in zip(out, names[1:], strict=True))
    of_each = {name: one.memory for one, name in zip(everywhere, names, strict=True) if one.memory}
    each = ", ".join(f"{name} {text(memory, 'B/s', 3)}" for name, memory in of_each.items())
    known = f" (of a core while all are busy: {each})" if share > 0 else ""
    return out, f"{', '.join(filter(None, words))}{known}: its times are multiplied by {factors}"


def _need(what: str, needed: bool, given: Sequence[Rates], names: Sequence[str], words: str) -> None:
    for one, name in zip(given, names, strict=True):
        if needed and not getattr(one, what):
            raise InvalidInput(f"{name}: its node says no {words}, by which computation is to be scaled")


def bound_by_counters(program: Program, reference: Machine) -> float | None:
    """The share of computation that moves its bytes at memory bandwidth, from cache misses that were counted.

    None where they were not counted. The bytes of all misses at the bandwidth of a core on a full node, over the time
    in which they were counted, at most 1.
    """
    counters = None if program.recording is None else program.recording.counters
    memory = rates(reference).memory
    if counters is None or "cache-misses" not in counters.names or not memory:
        return None
    misses = float(counters.values[counters.names.index("cache-misses")].sum())
    seconds = float(counters.seconds.sum())
    return min(1.0, misses * _LINE / memory / seconds) if seconds > 0 else None
