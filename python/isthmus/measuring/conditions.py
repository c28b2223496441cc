"""Conditions of a measurement: what makes its numbers less certain, detected and said."""

from __future__ import annotations

import contextlib
import os
import platform
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .node import NodeShape, ranges
from .places import Places
from .samples import Samples

#: Share of one core that others may use before it is said.
_OTHERS = 0.1
#: Share of time that other virtual machines may take before it is said.
_STEAL = 0.01
#: Largest ratio of the speed of a loop in its fastest and its slowest round.
_CLOCK = 1.05
#: How launchers are told to bind ranks.
_BIND = "Open MPI: --bind-to core, MPICH: -bind-to core, Slurm: --cpu-bind=cores"


@dataclass(frozen=True)
class Busy:
    """Time of all processors since the system started, in seconds: used, idle, and taken by other virtual machines."""

    used: float
    idle: float
    stolen: float

    @classmethod
    def now(cls) -> Busy | None:
        """Read it from the kernel; None where it does not say."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            first = Path("/proc/stat").read_text().splitlines()[0].split()
            ticks = [int(word) / os.sysconf("SC_CLK_TCK") for word in first[1:9]]
            return cls(ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6], ticks[3] + ticks[4], ticks[7])
        return None


def others(seconds: float = 0.3) -> float | None:
    """Return how many cores other programs keep busy: what the kernel counts while this one sleeps."""
    before = Busy.now()
    time.sleep(seconds)
    after = Busy.now()
    if before is None or after is None:
        return None
    cores = os.cpu_count() or 1
    total = after.used + after.idle + after.stolen - before.used - before.idle - before.stolen
    return cores * (after.used - before.used) / total if total > 0 else None


def governor() -> str:
    """Return how the kernel scales the frequency; empty where it does not, or does not say."""
    found = []
    for path in sorted(Path("/sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor")):
        with contextlib.suppress(OSError):
            found.append(path.read_text().strip())
    return ", ".join(dict.fromkeys(found))


def kernel() -> str:
    """Return name and version of the operating system."""
    return f"{platform.system()} {platform.release()}"


def load_text(before: float | None, after: float | None, stolen: float | None) -> str:
    """Say what else ran."""
    words = []
    for what, value in (("before", before), ("after", after)):
        if value is not None:
            words.append(f"other programs used {value:.1f} cores {what}")
    if stolen is not None:
        words.append(f"{100 * stolen:.1f} % of the time went to other virtual machines")
    return ", ".join(words)


def pinning(places: Places, shape: NodeShape) -> str:
    """Say whether ranks are bound to cores, and of the first node to which."""
    bound = [places.bound(rank, shape) for rank in range(places.ranks)]
    if not any(places.allowed):
        return "not known"
    if not any(bound):
        return "not bound to cores"
    first = next(iter(places.nodes.values()))
    cores = ", ".join(ranges(list(places.allowed[rank])) for rank in first[:16])
    if not all(bound):
        return "some bound to cores"
    by = ", by isthmus measure" if places.bound_here else ""
    return f"bound to cores {cores}{', ...' if len(first) > 16 else ''}{by}"


def warnings(
    shape: NodeShape,
    places: Places | None,
    samples: Samples,
    before: float | None,
    after: float | None,
    stolen: float | None,
) -> list[str]:
    """Return what makes the numbers less certain, a sentence each.

    Parameters
    ----------
    shape : NodeShape
    places : Places or None
        Where ranks were; None where no MPI was measured.
    samples : Samples
    before, after : float or None
        Cores that other programs used before and after (:func:`others`).
    stolen : float or None
        Share of time that other virtual machines took meanwhile.
    """
    out: list[str] = []
    busiest = max((value for value in (before, after) if value is not None), default=0.0)
    if busiest > _OTHERS:
        out.append(f"Other programs kept {busiest:.1f} of {os.cpu_count()} cores busy: times may be too long.")
    if stolen is not None and stolen > _STEAL:
        out.append(f"Other virtual machines on this computer took {100 * stolen:.1f} % of the time.")
    scaling = governor()
    if scaling and scaling != "performance":
        out.append(f"The frequency of the processor is scaled ({scaling}): set the governor to performance.")
    out += _unsteady(samples)
    if places is not None:
        out += _of_places(shape, places, samples)
    return out


def _unsteady(samples: Samples) -> Iterable[str]:
    """Does a loop that touches no memory take the same time in every round?"""
    for one in samples.of("fma"):
        medians = [float(np.median(values)) for values in one.by_round()]
        if len(medians) > 2 and max(medians) > _CLOCK * min(medians):
            share = 100 * (max(medians) / min(medians) - 1)
            yield f"The speed of the processor changed by {share:.0f} % between rounds (frequency, or other programs)."
            return


def _of_places(shape: NodeShape, places: Places, samples: Samples) -> Iterable[str]:
    loose = [rank for rank in range(places.ranks) if places.allowed[rank] and not places.bound(rank, shape)]
    if loose:
        which = "The ranks are" if len(loose) == places.ranks else f"{len(loose)} of {places.ranks} ranks are"
        yield f"{which} not bound to cores and may move ({_BIND})."
    if places.bound_here:
        yield (
            "The launcher does not bind ranks to cores: each was bound to one here. Programs that it starts alike may "
            f"take longer, as theirs move ({_BIND})."
        )
    crowded = places.crowded(shape)
    if crowded:
        yield f"{crowded[0].upper()}{crowded[1:]}: their times are not those of a machine with enough cores."
    ends = [facts for facts in samples.facts.values() if {"mpi", "cores_begin", "cores_end"} <= facts.keys()]
    both = [(facts["cores_begin"].split(), facts["cores_end"].split()) for facts in ends]
    moved = [rank for begin, end in both for rank, (a, b) in enumerate(zip(begin, end, strict=False)) if a != b]
    if moved and not loose:
        yield f"Rank {moved[0]} moved to another core although it is bound."
