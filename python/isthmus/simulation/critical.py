"""Why the makespan is what it is: the critical path, and how the makespan follows the machine's parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import _core, units
from ..errors import InvalidInput, Unsupported
from ..schedule.summary import counted
from ..tabular import Tabular
from .words import WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from .timeline import Timeline

PARAMETERS = ("L", "o", "g", "G", "O", "compute")
_UNITS = {"L": "s", "o": "s", "g": "s", "G": "s/B", "O": "s/B", "compute": ""}

# The core's Via: how time passes on a step.
VIAS = ("nothing", "compute", "send_overhead", "recv_overhead", "gap", "wire", "way", "landing", "contention")
PATH_SHARES = ("compute", "send_overhead", "recv_overhead", "gap", "latency", "contention", "noise")


@dataclass(frozen=True, eq=False)
class CriticalPath(Tabular):
    """The chain of causes that ends with the last rank; each step begins where the one before ends.

    Attributes
    ----------
    begin_ps, end_ps : ndarray of int64
        Begin and end of every step, picoseconds; without gaps from 0 to the makespan, or within a part of the run.
    op : ndarray of uint64
        Operation whose time passes, an index into the schedule's operations.
    rank : ndarray of uint32
        Rank on which the time passes; for wire, the sender.
    via : ndarray of str
        compute; send_overhead (o and O); recv_overhead (o, and O or G); gap (g and G of an interface that the next
        operation needs); wire (the sender's o, then L); way, landing (one-sided: L; G); contention (of a message that
        others delay, from its send to its last byte: o, L, G and what it loses).
    latency_ps, noise_ps, lost_ps : ndarray of int64
        Parts of every step: L, operating system noise, and the time lost to other messages in the network.
    shares_ps : dict of str to int
        Picoseconds by PATH_SHARES, which add up to the makespan. The path has no waiting: it is what others wait for.
    """

    begin_ps: NDArray[np.int64]
    end_ps: NDArray[np.int64]
    op: NDArray[np.uint64]
    rank: NDArray[np.uint32]
    via: NDArray[np.str_]
    latency_ps: NDArray[np.int64]
    noise_ps: NDArray[np.int64]
    lost_ps: NDArray[np.int64]
    shares_ps: dict[str, int]

    @property
    def shares(self) -> dict[str, float]:
        """Seconds by PATH_SHARES."""
        return {name: ps / 1e12 for name, ps in self.shares_ps.items()}

    def frame(self) -> dict[str, NDArray[Any]]:
        """Return one row per step: begin, end, latency, noise and lost in seconds, and op, rank and via."""
        seconds = {name: getattr(self, f"{name}_ps") / 1e12 for name in ("begin", "end", "latency", "noise", "lost")}
        return seconds | {"op": self.op, "rank": self.rank, "via": self.via}

    def __len__(self) -> int:
        return len(self.op)

    def __str__(self) -> str:
        total = sum(self.shares_ps.values())
        hops = int((self.rank[1:] != self.rank[:-1]).sum()) if len(self) else 0
        steps = f"{counted(len(self), 'step')}, {counted(hops, 'change')} of rank"
        lines = [f"critical path: {units.text(total / 1e12, 's', 4)} in {steps}"]
        for name, ps in self.shares_ps.items():
            if ps:
                share = units.percent(ps / total, 1)
                lines.append(f"  {WORDS[name]:<26} {units.text(ps / 1e12, 's', 4):>10}  {share:>7}")
        return "\n".join(lines)


def critical_path(timeline: Timeline) -> CriticalPath:
    """Return the critical path of a simulation with ``record="ops"``; raises InvalidInput for others.

    With ``path_part`` it is the path of that part: it ends with the last operation there, and begins with the first
    that depends on nothing there.
    """
    import numpy as np

    _need_log(timeline, "the critical path")
    steps = _core.critical_path(
        timeline.schedule.arrays,
        timeline._options,
        timeline._log,
        timeline._log_noise,
        timeline.lost_ps,
        timeline._log_time,
    )
    begin, end, via = steps.begin, steps.end, steps.via
    length = end - begin
    latency, noise, lost = steps.latency, steps.noise, steps.lost
    rest = length - latency - noise - lost
    names = np.array(VIAS)
    shares = dict.fromkeys(PATH_SHARES, 0)
    shares["latency"] = int(latency.sum())
    shares["noise"] = int(noise.sum())
    shares["contention"] = int(lost.sum())
    # The wire holds the sender's overhead too; way has nothing but L, and landing is the transfer of the bytes.
    belongs = {"compute": "compute", "send_overhead": "send_overhead", "recv_overhead": "recv_overhead", "gap": "gap"}
    belongs |= {"wire": "send_overhead", "way": "latency", "landing": "gap", "contention": "gap", "nothing": "latency"}
    for number, name in enumerate(VIAS):
        shares[belongs[name]] += int(rest[via == number].sum())
    return CriticalPath(begin, end, steps.op, steps.rank, names[via], latency, noise, lost, shares)


@dataclass(frozen=True)
class Sensitivity:
    """How the makespan depends on one parameter.

    Attributes
    ----------
    parameter : str
        L, o (both overheads), g, G or O, changed at all levels by the same amount; or compute, the time of all calc,
        copy and reduce operations, changed by the same factor.
    slope : float
        Slope of the makespan as the parameter grows: seconds per unit of the parameter (s, s/B; compute: for a factor
        1 + x, per x).
    slope_below : float
        Slope as the parameter shrinks; it differs from ``slope`` if several paths are critical.
    lower, upper : float
        Range of changes of the parameter in which the slopes hold; ``upper`` may be infinite.
    verified : bool
        Whether simulations at both ends of the range confirmed it. If one disagreed, because operations were served in
        another order, the range was shortened.
    """

    parameter: str
    slope: float
    slope_below: float
    lower: float
    upper: float
    verified: bool

    @property
    def unit(self) -> str:
        """Unit of the parameter; empty for compute, which is a factor."""
        return _UNITS[self.parameter]


class Sensitivities(dict[str, Sensitivity]):
    """Sensitivities of the makespan by parameter."""

    def __str__(self) -> str:
        lines = ["makespan for a change x of      slope below   slope above   holds for x from            to"]
        for s in self.values():
            bounds = [
                "any" if math.isinf(b) else (units.text(b, s.unit, 4) if s.unit else units.percent(b, 2, sign=True))
                for b in (s.lower, s.upper)
            ]
            per = {"s": "", "s/B": " B", "": " s"}[s.unit]
            name = "computation (relative)" if s.parameter == "compute" else f"{s.parameter} ({s.unit})"
            mark = "" if s.verified else "  (not verified)"
            lines.append(
                f"  {name:<26} {s.slope_below:>12.6g}{per:<2} {s.slope:>12.6g}{per:<2} {bounds[0]:>16} "
                f"{bounds[1]:>13}{mark}"
            )
        return "\n".join(lines)


def sensitivities(
    timeline: Timeline, parameters: Sequence[str] = PARAMETERS, *, verify: bool | None = None
) -> Sensitivities:
    """Return how the makespan changes with L, o, g, G, O and the time of computation, and in which range.

    The makespan is the longest of many paths. As long as operations and messages are served in the recorded order, it
    is a convex, piecewise linear function of each parameter. Its slope at 0 and the next bends on both sides are exact
    (per-byte times are rounded to picoseconds per message). As another value may change that order, ``verify``
    simulates again with the parameter at both ends, and shortens the range if the result differs.

    Parameters
    ----------
    timeline : Timeline
        With ``record="ops"``.
    parameters : sequence of str
        A subset of PARAMETERS.
    verify : bool, optional
        Simulate again at both ends of the ranges; by default for up to a million operations.

    Returns
    -------
    Sensitivities

    References
    ----------
    Shen, Huang and Hoefler and others, "LLAMP: Assessing network latency tolerance of HPC applications with linear
    programming", 2024, for the notion; here by replay of the simulation's log instead of a linear program.
    """
    _need_log(timeline, "sensitivities")
    if len(timeline._log_time):
        raise InvalidInput("sensitivities: the simulation was made with path_part, which keeps only a part of the run")
    if timeline.model != "loggops":
        raise Unsupported(
            f"sensitivities with model {timeline.model!r}: contention does not depend linearly on "
            "the parameters; simulate again with other parameters, or with model='loggops'"
        )
    if verify is None:
        verify = len(timeline.schedule) <= 1_000_000
    out = Sensitivities()
    for parameter in parameters:
        if parameter not in PARAMETERS:
            raise InvalidInput(f"parameter {parameter!r}: must be one of {', '.join(PARAMETERS)}")
        found = _core.sensitivity(
            timeline.schedule.arrays, timeline._options, timeline._log, timeline._log_noise, parameter
        )
        slope, below, lower, upper = found.slope, found.slope_below, found.lower, found.upper
        if verify:
            lower = _verified(timeline, parameter, below, lower)
            upper = _verified(timeline, parameter, slope, upper)
        # The core counts in picoseconds: per picosecond of L, o and g, per picosecond a byte of G and O.
        scale = 1.0 if parameter == "compute" else 1e-12
        per = 1e-12 if parameter == "compute" else 1.0
        out[parameter] = Sensitivity(parameter, slope * per, below * per, lower * scale + 0.0, upper * scale, verify)
    return out


def _verified(timeline: Timeline, parameter: str, slope: float, end: float) -> float:
    """The largest part of the way from 0 to ``end`` at whose end the simulation agrees with the slope."""
    if end == 0:
        return end
    if math.isinf(end):
        # Far enough for every other path to show itself.
        probe = 10.0 if parameter == "compute" else max(100.0 * timeline.makespan_ps, 1e6)
        probe = probe / 1e6 if parameter in ("G", "O") else probe
        return end if _agrees(timeline, parameter, slope, probe) else _bisect(timeline, parameter, slope, probe)
    return end if _agrees(timeline, parameter, slope, end) else _bisect(timeline, parameter, slope, end)


def _bisect(timeline: Timeline, parameter: str, slope: float, end: float) -> float:
    good, bad = 0.0, end
    for _ in range(30):
        middle = (good + bad) / 2
        good, bad = (middle, bad) if _agrees(timeline, parameter, slope, middle) else (good, middle)
    return good


def _agrees(timeline: Timeline, parameter: str, slope: float, x: float) -> bool:
    if parameter in ("L", "o", "g"):
        x = math.trunc(x)  # the simulator counts whole picoseconds
    options = timeline._options.changed(parameter, x)
    makespan = _core.simulate(timeline.schedule.arrays, options, None).makespan
    # Per-byte times and computation are rounded to a picosecond per operation on the path.
    slack = 0.5 if parameter in ("L", "o", "g") else 2.0 + len(timeline.schedule) / max(timeline.ranks, 1)
    predicted = timeline.makespan_ps + slope * x
    return bool(abs(makespan - predicted) <= slack + 1e-9 * abs(predicted))


def _need_log(timeline: Timeline, what: str) -> None:
    if timeline.record != "ops" or timeline._options is None:
        raise InvalidInput(f'{what}: needs a simulation made in this session with record="ops"')
    if timeline._goes_on and not len(timeline._log_time):
        raise InvalidInput(f"{what}: this simulation continues another; simulate it with path_part")
    if timeline.stopped:
        raise InvalidInput(f"{what}: this simulation was stopped at a time; simulate without until")
