"""How fast a core of a machine computes while all cores of its node are busy, and what that makes of a program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InvalidInput
from ..units import percent, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

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


@dataclass(frozen=True, eq=False)
class Roofline:
    """What was counted in the computation of a recording.

    Attributes
    ----------
    seconds, bytes : arrays of float
        By ranks and places of the program: processor time, and what was moved from and to memory.
    flops : array of float, optional
        Floating-point operations; None where they were not counted.
    """

    seconds: NDArray[np.float64]
    bytes: NDArray[np.float64]
    flops: NDArray[np.float64] | None

    @classmethod
    def of(cls, program: Program) -> Roofline | None:
        """From the counters of a recording; None where cache misses were not counted."""
        counters = None if program.recording is None else program.recording.counters
        misses = None if counters is None else counters.counted("cache-misses")
        if counters is None or misses is None or not counters.seconds.sum() > 0:
            return None
        return cls(counters.seconds, misses * _LINE, counters.flops())

    def computing(
        self, machines: Sequence[Machine], reference: Machine, busy: Sequence[int | None]
    ) -> tuple[list[Computing], str]:
        """What the computation takes on machines: as much longer or shorter as the roof is lower or higher.

        The roof of a part of the program is the longer of two times: its operations at the peak rate of a core, its
        bytes at the core's share of memory bandwidth. Where operations were not counted, or a machine does not say its
        peak rate, bytes at memory bandwidth are a share of the time, and the rest goes by clock or peak rate.

        Raises
        ------
        InvalidInput
            If a machine does not say what is needed.
        """
        home = rates(reference)
        there = [rates(machine, count) for machine, count in zip(machines, busy, strict=True)]
        names = [reference.name, *(machine.name for machine in machines)]
        _need("memory", True, [home, *there], names, "memory_bandwidth")
        silent = next((n for n, one in zip(names, [home, *there], strict=True) if not one.flops), None)
        if self.flops is None or not self.flops.any() or silent is not None:
            share = min(1.0, float(self.bytes.sum()) / (home.memory or 1.0) / float(self.seconds.sum()))
            found, words = computing(machines, reference, (share, share), busy)
            why = f"without flops, for {silent} does not say its peak rate"
            if self.flops is None or not self.flops.any():
                why = "flops were not" if self.flops is None else "the counters of flops found none"
            return found, f"roofline of counted bytes ({why}): {words}"
        weight = self.seconds / self.seconds.sum()
        by_flops, by_bytes = self._roof(home)
        roof = np.maximum(by_flops, by_bytes)
        idle = roof == 0
        share = float(weight[by_bytes > by_flops].sum())
        out = []
        for one in there:
            flops, bytes = self._roof(one)
            ratio = np.maximum(flops, bytes) / np.where(idle, 1.0, roof)
            # Neither operations nor bytes were counted: what there is goes by the rate of cores.
            ratio[idle] = (home.flops or 1.0) / (one.flops or 1.0)
            parts = weight * ratio
            memory = float(parts[bytes > flops].sum())
            out.append(Computing(float(parts.sum()) - memory, memory, (share, share)))
        each = {
            name: f"{name} {text(one.flops or 0.0, 'flop/s', 3)} and {text(one.memory or 0.0, 'B/s', 3)}"
            for name, one in zip(names, [home, *there], strict=True)
        }
        factors = ", ".join(f"{one.factor:.4g} on {name}" for one, name in zip(out, names[1:], strict=True))
        return out, (
            f"roofline of counted flops and bytes: {float(self.flops.sum()) * 1e-9:.3g} Gflop and "
            f"{text(float(self.bytes.sum()), 'B', 3)} in {text(float(self.seconds.sum()), 's', 3)}, of which "
            f"{percent(share)} is bound by memory bandwidth on {reference.name} (a core while all are busy: "
            f"{', '.join(each.values())}): times are multiplied by {factors}"
        )

    def _roof(self, one: Rates) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Seconds of operations and of bytes at these rates."""
        assert self.flops is not None
        return self.flops / (one.flops or 1.0), self.bytes / (one.memory or 1.0)
