"""Parameters of messages, copies and reductions that libisthmus carries out, from the times of their schedules.

Every size that was measured begins a piece, so that the level says what was measured there, and lines between:

    message    half a round trip in a chain
    start      what a single message takes longer than that: from the call until the first operation, and back
    G, O_recv  of a piece, the slope of the time of a message: its receiver waits for its bytes, or copies them
    O          what an exchange of two messages takes longer than one, and L: a rank that sends cannot receive meanwhile
    copy       time of a copy beyond that of a schedule that does nothing, and of an operation of a row
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InvalidInput
from ...machine import Level, Piece, WorkTime
from ..statistics import bootstrap

if TYPE_CHECKING:
    from ..samples import Samples, Series

METHOD = (
    "schedules that libisthmus carries out: chains of messages, exchanges, messages to a late receiver, copies and "
    "reductions; lines between medians by size, intervals by bootstrap over rounds"
)
#: Part of the time of a small message that is the sender's, and that is the receiver's; the rest is latency.
_OVERHEAD = 0.25


@dataclass(frozen=True)
class ScheduleFit:
    """What was fitted.

    Attributes
    ----------
    level : Level
    start : float
        Seconds.
    copy, combine : tuple of WorkTime
    intervals : dict of str to (float, float)
        Of ``start``, ``copy.0.time``, ``L``, ``pieces.0.G`` and so on, 95 %.
    samples : dict of str to int
        How many samples the same numbers rest on.
    method : str
        In words.
    """

    level: Level
    start: float
    copy: tuple[WorkTime, ...]
    combine: tuple[WorkTime, ...]
    intervals: dict[str, tuple[float, float]]
    samples: dict[str, int]
    method: str = METHOD


def fit_schedules(samples: Samples, a: int, b: int, *, repetitions: int = 200, seed: int = 0) -> ScheduleFit:
    """Fit the messages of two ranks, and the copies and reductions of both at once.

    Parameters
    ----------
    samples : Samples
        In one state of the machine.
    a, b : int
        Ranks.
    repetitions, seed : int
        Of the bootstrap.

    Raises
    ------
    InvalidInput
        If there are no messages of two sizes.
    """
    found = {
        (str(one.parameters["what"]), int(one.parameters["bytes"]), int(one.parameters["n"])): one
        for one in samples.of("schedule", members=f"{a},{b}")
    }
    fit = _Fit(found)
    keys = list(found)
    values = fit.numbers({key: float(np.median(found[key].column())) for key in keys})
    lows, highs = bootstrap(
        lambda drawn: list(fit.numbers(dict(zip(keys, (float(np.median(d)) for d in drawn), strict=True))).values()),
        [found[key].by_round() for key in keys], repetitions=repetitions, seed=seed,
    )  # fmt: skip
    intervals = {
        name: (max(min(low, value), 0.0), max(high, value))
        for (name, value), low, high in zip(values.items(), lows.tolist(), highs.tolist(), strict=True)
    }
    return fit.result(values, intervals)


class _Fit:
    """Which sizes there are, and what follows from medians."""

    def __init__(self, found: dict[tuple[str, int, int], Series]) -> None:
        self.found = found
        self.trips = sorted((size, n) for what, size, n in found if what == "trips")
        if len(self.trips) < 2:
            raise InvalidInput("there are no messages of two sizes")
        self.rows = sorted(n for what, _, n in found if what == "empty")
        self.moved = {
            what: sorted(size for name, size, _ in found if name == what) if len(self.rows) == 2 else []
            for what in ("copy", "combine")
        }

    def eager(self) -> float:
        """The largest size whose sender did not wait for a late receiver."""
        largest = 0
        for (what, size, _), one in self.found.items():
            if what == "late" and np.median(one.column("first_member")) < 0.5 * np.median(one.column()):
                largest = max(largest, size)
        return float(largest)

    def numbers(self, median: dict[tuple[str, int, int], float]) -> dict[str, float]:
        """All parameters, from the median of every item."""
        single = [(size, n) for size, n in self.trips if ("message", size, 1) in median and n > 1]
        # A chain of n round trips is 2 n messages and one start.
        start = float(np.median([
            (2 * n * median["message", size, 1] - median["trips", size, n]) / (2 * n - 1) for size, n in single
        ])) if single else 0.0  # fmt: skip
        start = max(start, 0.0)
        sizes = [size for size, _ in self.trips]
        times = np.maximum.accumulate([(median["trips", size, n] - start) / (2 * n) for size, n in self.trips])
        least = float(times[0])
        own = _OVERHEAD * least
        L = least - 2 * own

        def busy(i: int) -> float:
            """Time of the sender's bytes, of a message of the i-th size: what is above L makes an exchange longer."""
            longer = median.get(("exchange", sizes[i], 1), 0.0) - start - float(times[i])
            return L + longer if longer > 0 else 0.0

        out = {"start": start, "L": L, "o_send": own, "o_recv": own, "O": busy(0) / (sizes[0] - 1)}
        for i, begin in enumerate(sizes):
            if i + 1 < len(sizes):
                end = sizes[i + 1]
                G = float(times[i + 1] - times[i]) / (end - begin)
                # Bytes cost after so many that the line goes on from that of the smallest message, where it can.
                after = float(np.clip(np.ceil(begin - (times[i] - least) / G), 1, begin)) if G > 0 else 1.0
                rest = max(float(times[i]) - least - (begin - after) * G, 0.0)
                O = busy(i + 1) / (end - after)  # noqa: E741
            else:
                # Above the largest size in proportion: a line through two sizes goes astray far from them.
                G, after, rest = (float(times[i]) - least) / (begin - 1), 1.0, 0.0
                O = busy(i) / (begin - 1)  # noqa: E741
            out |= {f"pieces.{i}.{name}": value for name, value in (("after", after), ("G", G), ("O", O))}
            out[f"pieces.{i}.o_recv"] = own + rest
        if len(self.rows) == 2:
            few, many = (median["empty", 0, n] for n in self.rows)
            each = max(many - few, 0.0) / (self.rows[1] - self.rows[0])
            for what, of in self.moved.items():
                longest = each
                for i, size in enumerate(of):
                    longest = max(longest, median[what, size, 1] - few + each)
                    out[f"{what}.{i}.time"] = longest
        return out

    def result(self, values: dict[str, float], intervals: dict[str, tuple[float, float]]) -> ScheduleFit:
        base = {name: values[name] for name in ("L", "o_send", "o_recv")}
        O = values["O"]  # noqa: E741
        pieces = []
        samples = dict.fromkeys(values, 0)
        for i, (size, n) in enumerate(self.trips):
            v = {name: values[f"pieces.{i}.{name}"] for name in ("after", "G", "O", "o_recv")}
            pieces.append(Piece(above=float(size), **{**base, **v, "g": 0.0, "O_recv": v["G"]}))
            for name in ("G", "O", "o_recv"):
                samples[f"pieces.{i}.{name}"] = len(self.found["trips", size, n])
        for name in ("start", "O", *base):
            samples[name] = len(self.found["trips", *self.trips[0]])
        moved = {}
        for what, of in self.moved.items():
            moved[what] = tuple(
                WorkTime(bytes=float(size), time=values[f"{what}.{i}.time"]) for i, size in enumerate(of)
            )
            for i, size in enumerate(of):
                samples[f"{what}.{i}.time"] = len(self.found[what, size, 1])
        level = Level(**base, g=0.0, G=0.0, O=O, O_recv=0.0, S=max(self.eager(), 1.0), pieces=tuple(pieces))
        return ScheduleFit(level, values["start"], moved["copy"], moved["combine"], intervals, samples)
