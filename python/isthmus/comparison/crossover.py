"""Sizes at which one machine overtakes another, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from ..machine import Machine
from .parts import PARTS, Parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..machine import Level
    from .rates import Computing

#: Half of the range in which 95 of 100 numbers of a machine lie, by their status; of measured ones without an interval.
DOUBTS = {"exact": 0.0, "stated": 0.0, "measured": 0.05, "derived": 0.05, "estimated": 0.25, "recalled": 0.25}
#: Samples of what is uncertain.
SAMPLES = 2000
#: Parameters by the parts that they scale.
_FIELDS = {"latency": ("L", "per_hop"), "overhead": ("o_send", "o_recv", "O"), "bandwidth": ("G", "g")}
_TIMES = {
    "overhead": "overhead", "latency": "latency", "bandwidth": "bandwidth", "collective_overhead": "overhead",
    "collective_latency": "latency", "collective_bandwidth": "bandwidth", "collective_work": "memory",
    "contention": "contention", "noise": "noise", "cores": "cores", "memory": "memory",
}  # fmt: skip


@dataclass(frozen=True)
class Crossover:
    """Where one machine overtakes another.

    Attributes
    ----------
    before, after : str
        Machines that are faster on fewer and on more ranks.
    ranks : float
        Between two numbers of ranks that were simulated: times are taken to follow powers of the ranks in between.
    between : (int, int)
        These two.
    low, high : float or None
        Nine of ten samples in which it is there lie between; None where there is no doubt to sample, as where both are
        as fast at a number of ranks that was simulated.
    share : float
        Samples in which it is there, of all.
    """

    before: str
    after: str
    ranks: float
    between: tuple[int, int]
    low: float | None = None
    high: float | None = None
    share: float = 1.0


def crossings(ranks: Sequence[int], log_ratio: Sequence[float]) -> list[tuple[float, int]]:
    """Where a logarithm of a ratio of times changes its sign, and the size before: straight lines over log ranks.

    Ratios of exactly 1 count as those before them; a curve that only touches 1 does not cross it.
    """
    found = []
    last = None
    for i, value in enumerate(log_ratio):
        if value == 0:
            continue
        if last is not None and (value > 0) != (log_ratio[last] > 0):
            x, y = np.log(ranks[last]), np.log(ranks[i])
            # Through sizes at which both are as fast, the first of these.
            at = np.log(ranks[last + 1]) if i > last + 1 else x + (y - x) * log_ratio[last] / (log_ratio[last] - value)
            found.append((float(np.exp(at)), last))
        last = i
    return found


def doubts(machine: Machine | Level, network: bool) -> dict[str, float]:
    """Relative half ranges, in which 95 of 100 lie, of what makes up each part; 0 for machines without provenance."""
    if not isinstance(machine, Machine):
        return {}
    level = "network" if network else "socket"
    out = {}
    for part, fields in _FIELDS.items():
        values = [(f"level.{level}.{name}", getattr(getattr(machine.level, level), name)) for name in fields]
        out[part] = max((_doubt(machine, path, value) for path, value in values if value), default=0.0)
    links = [f"links.{name}.bandwidth" for name in machine.description.values["links"]]
    out["contention"] = max((_doubt(machine, path) for path in links), default=0.0)
    node = machine.node
    rate = "node.flops" if node.flops else "node.clock"
    memory = "node.stream" if node.stream else "node.memory_bandwidth"
    noise = [_doubt(machine, f"noise.{name}") for name in ("period", "duration")]
    return out | {"cores": _doubt(machine, rate), "memory": _doubt(machine, memory), "noise": max(noise)}


def _doubt(machine: Machine, path: str, value: float | None = None) -> float:
    known = machine.provenance(path)
    if known.interval is not None and value:
        return max(abs(end - value) for end in known.interval) / value
    return DOUBTS[known.status]


@dataclass(frozen=True)
class Uncertain:
    """Times of one machine over sizes, by part, and what of them is uncertain.

    Attributes
    ----------
    parts : sequence of Parts
        One for each size.
    doubts : sequence of dict
        Of the machine at each size, see :func:`doubts`.
    computing : Computing
    errors : sequence of float, optional
        Of the time at each size, relative, with 95 % confidence: where not all of a program is simulated.
    """

    parts: Sequence[Parts]
    doubts: Sequence[Mapping[str, float]]
    computing: Computing
    errors: Sequence[float] = ()

    def samples(self, rng: np.random.Generator, bound: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Times, one row for each sample and one column for each size; 0 where nothing is uncertain.

        The parameters of a sample are the same at all sizes. ``bound``: shares of computation bound by memory.
        """
        deviations = {
            name: rng.standard_normal(SAMPLES) for name in (*_FIELDS, "contention", "cores", "memory", "noise")
        }
        columns = []
        for parts, doubt in zip(self.parts, self.doubts, strict=True):
            factors = {name: np.exp(deviations[name] * np.log1p(doubt.get(name, 0.0)) / 1.96) for name in deviations}
            if bound is not None:
                # More by memory bandwidth is less by the rate of cores.
                middle = sum(self.computing.bound) / 2
                factors["memory"] *= bound / middle if middle else 1.0
                factors["cores"] *= (1 - bound) / (1 - middle) if middle < 1 else 1.0
            seconds = {name: parts.seconds(name) for name in PARTS}
            follow = [("imbalance", ("cores", "memory")), ("idle", ("cores", "memory")),
                      ("waiting", ("overhead", "latency", "bandwidth"))]  # fmt: skip
            total = sum(seconds[name] * factors[of] for name, of in _TIMES.items())
            for name, of in follow:
                weight = sum(seconds[part] for part in of)
                mean = sum(seconds[part] * factors[part] for part in of) / weight if weight else 1.0
                total = total + seconds[name] * mean
            columns.append(np.broadcast_to(total, SAMPLES))
        times = np.stack(columns, 1)
        if any(self.errors):
            # Errors of times are independent from size to size, unlike those of parameters.
            times = times * np.exp(rng.standard_normal(times.shape) * np.log1p(self.errors) / 1.96)
        return times


def _bent(ranks: Sequence[int], log_ratio: NDArray[np.float64]) -> float:
    """How far times at a size are from the line between those of the sizes beside it: the root of the mean square."""
    x = np.log(ranks)
    inner = x[1:-1]
    if not len(inner):
        return float("inf")
    line = log_ratio[:-2] + (log_ratio[2:] - log_ratio[:-2]) * (inner - x[:-2]) / (x[2:] - x[:-2])
    return float(np.sqrt(np.mean((log_ratio[1:-1] - line) ** 2)))


def _moved(at: float, size: int, ranks: Sequence[int], row: NDArray[np.float64], bend: float, draw: float) -> float:
    """A crossover where times between two sizes do not follow the line: anywhere between them if nothing is known."""
    after = next(i for i in range(size + 1, len(ranks)) if row[i] != 0)
    low, high = np.log(ranks[size]), np.log(ranks[after])
    if after > size + 1 or bend == 0:
        return at
    if np.isinf(bend):
        return float(np.exp(low + (high - low) * draw))
    slope = (row[after] - row[size]) / (high - low)
    return float(np.exp(np.clip(np.log(at) + bend * NormalDist().inv_cdf(draw) / abs(slope), low, high)))


def crossovers(
    names: tuple[str, str], ranks: Sequence[int], first: Uncertain, second: Uncertain
) -> tuple[list[Crossover], float]:
    """Crossovers of two machines, and the share of samples that have one anywhere."""
    times = [np.array([sum(p.exact(n) for n in PARTS) / 10**12 for p in one.parts], float) for one in (first, second)]
    ratio = np.log(times[1] / times[0])
    low, high = first.computing.bound
    rng = np.random.default_rng(1)
    bound = rng.uniform(low, high, SAMPLES) if high > low else None
    sampled = np.log(second.samples(rng, bound) / first.samples(rng, bound))
    if (np.ptp(sampled, 0) < 1e-12).all():
        sampled = np.broadcast_to(ratio, (SAMPLES, len(ratio)))
    bend = _bent(ranks, ratio)
    draws = rng.uniform(1e-6, 1 - 1e-6, SAMPLES).tolist()
    found = [
        [(_moved(x, size, ranks, row, bend, draw), size) for x, size in crossings(ranks, row.tolist())]
        for row, draw in zip(sampled, draws, strict=True)
    ]
    signs = [[bool(row[size] > 0) for _, size in one] for row, one in zip(sampled, found, strict=True)]
    out = []
    for at, size in crossings(ranks, ratio.tolist()):
        ahead = bool(ratio[size] > 0)  # the first is faster before it
        # Of each sample the crossover in the same direction that is nearest.
        near = [
            min((x for (x, _), sign in zip(one, way, strict=True) if sign == ahead), key=lambda x: abs(np.log(x / at)),
                default=None)
            for one, way in zip(found, signs, strict=True)
        ]  # fmt: skip
        there = [x for x in near if x is not None]
        before, after = names if ahead else names[::-1]
        least, most = (
            float(np.quantile(there, q)) if there and min(there) < max(there) else None for q in (0.05, 0.95)
        )
        after_it = next(i for i in range(size + 1, len(ranks)) if ratio[i] != 0)
        out.append(Crossover(before, after, at, (ranks[size], ranks[after_it]), least, most, len(there) / len(found)))
    return out, sum(map(bool, found)) / len(found)
