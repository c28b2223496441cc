"""Why a run takes as long as it does: its makespan in whole parts, so that differences of two machines sum exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from ..schedule.operation import OpKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..simulation.critical import CriticalPath
    from ..simulation.timeline import Timeline

#: Parts, and what they are called.
PARTS = {
    "cores": "computation: rate of cores",
    "memory": "computation: memory bandwidth",
    "imbalance": "imbalance",
    "overhead": "overhead (o, O)",
    "latency": "latency (L)",
    "bandwidth": "bandwidth (g, G)",
    "collective_overhead": "collectives: overhead",
    "collective_latency": "collectives: latency",
    "collective_bandwidth": "collectives: bandwidth",
    "collective_work": "collectives: copies, reductions",
    "contention": "contention",
    "noise": "noise",
    "waiting": "waiting for others",
    "idle": "idle at the end",
}
#: What tables add up.
GROUPS = {
    "collectives": ("collective_overhead", "collective_latency", "collective_bandwidth", "collective_work"),
}


@dataclass(frozen=True)
class Parts:
    """A makespan in parts.

    Attributes
    ----------
    amounts : dict of str to int
        By PARTS; those that are 0 are left out.
    scale : int
        How many of these are a picosecond.
    way : {"path", "mean"}
        Parts of the critical path, or means over ranks.
    """

    amounts: dict[str, int]
    scale: int
    way: str

    def exact(self, part: str) -> Fraction:
        """A part, or a group of them, in picoseconds."""
        return Fraction(sum(self.amounts.get(name, 0) for name in GROUPS.get(part, (part,))), self.scale)

    def seconds(self, part: str) -> float:
        """A part, or a group of them."""
        return float(self.exact(part)) / 1e12


def on_path(timeline: Timeline, memory: float, collective: bool = False) -> Parts:
    """Parts of the critical path; they add up to the makespan.

    Computation is what ranks compute on average; what the path has beyond that is imbalance: it goes through those that
    compute more, or one after the other. Computation takes precedence where the path has less than the average, because
    other ranks compute while the path communicates.

    Parameters
    ----------
    timeline : Timeline
        With ``record="ops"``.
    memory : float
        Share of computation that goes by memory bandwidth.
    collective : bool
        All messages are those of collectives. By default those that :func:`isthmus.lower` marked by odd communicators.
    """
    path = timeline.critical_path()
    ops = timeline.schedule.ops
    calc = ops["kind"] == OpKind.calc
    mean = int(ops["amount"][calc].sum(dtype=np.uint64)) // max(timeline.ranks, 1)
    return finished(sums_on_path(timeline, path, len(path), collective), mean, memory, timeline.makespan_ps)


def sums_on_path(timeline: Timeline, path: CriticalPath, steps: int, collective: bool = False) -> dict[str, int]:
    """Picoseconds of the first steps of a critical path, by parts; all computation is one, ``computation``."""
    first = slice(0, steps)
    ops, op, via = timeline.schedule.ops, path.op[first], path.via[first]
    kind, comm = ops["kind"][op], ops["comm"][op]
    noise, lost, on_way = path.noise_ps[first], path.lost_ps[first], path.latency_ps[first]
    rest = path.end_ps[first] - path.begin_ps[first] - on_way - noise - lost
    works = np.isin(kind, (OpKind.copy, OpKind.reduce))
    messages = ~works & (kind != OpKind.calc)
    together = (messages if collective else messages & (comm % 2 == 1)) | works
    computes = (via == "compute") & (kind == OpKind.calc)
    late = np.isin(via, ("way", "nothing")) & ~computes
    sends = np.isin(via, ("send_overhead", "recv_overhead", "wire"))
    out = {"noise": int(noise.sum()), "contention": int(lost.sum())}
    for name, mask in (("overhead", sends), ("bandwidth", np.isin(via, ("gap", "landing", "contention")))):
        out[name] = int(rest[mask & ~together].sum())
        out[f"collective_{name}"] = int(rest[mask & together].sum())
    latency = on_way + np.where(late, rest, 0)
    out["latency"] = int(latency[~together].sum())
    out["collective_latency"] = int(latency[together].sum())
    out["collective_work"] = int(rest[(via == "compute") & works].sum())
    out["computation"] = int(rest[(via == "compute") & ~works].sum())
    return out


def finished(sums: Mapping[str, int], mean: int, memory: float, makespan: int) -> Parts:
    """Parts of sums on a path; ``mean``: computation of ranks on average."""
    out = dict(sums)
    on_path = out.pop("computation", 0)
    computation = min(mean, on_path)
    out["imbalance"] = on_path - computation
    out |= _computation(computation, memory)
    assert sum(out.values()) == makespan
    return Parts({name: amount for name, amount in out.items() if amount}, 1, "path")


def on_average(timeline: Timeline, memory: float) -> Parts:
    """Means over ranks; they add up to the makespan. Needs less memory than the path, and cannot tell collectives.

    Parameters
    ----------
    timeline : Timeline
        With ``record="ranks"``.
    memory : float
        Share of computation that goes by memory bandwidth.
    """
    sums = {name: int(values.sum(dtype=np.int64)) for name, values in timeline.breakdown_ps.items()}
    out = _computation(sums["compute"], memory)
    out["overhead"] = sums["send_overhead"] + sums["recv_overhead"]
    out["bandwidth"] = sums["gap"]
    out |= {name: sums[name] for name in ("latency", "contention", "noise", "idle")}
    out["waiting"] = sums["late_sender"] + sums["late_receiver"]
    # Streams other than that of the program are idle where it works.
    out["idle"] += timeline.makespan_ps * timeline.ranks - sum(out.values())
    return Parts({name: amount for name, amount in out.items() if amount}, max(timeline.ranks, 1), "mean")


def _computation(amount: int, memory: float) -> dict[str, int]:
    by_memory = round(amount * memory)
    return {"cores": amount - by_memory, "memory": by_memory}


def shown(parts: Iterable[Parts]) -> list[str]:
    """Parts and groups that are not 0 everywhere, in the order of tables."""
    given = {name for one in parts for name in one.amounts}
    grouped = {name: group for group, names in GROUPS.items() for name in names}
    return list(dict.fromkeys(grouped.get(name, name) for name in PARTS if name in given))


def title(part: str) -> str:
    """What a part or a group is called."""
    return PARTS.get(part, part)
