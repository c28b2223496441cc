"""The functions of the size of a message that the measurements of one level are."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InvalidInput
from ..statistics import Estimate, of_rounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from ..samples import Samples, Series

#: Curves in the order of rows of the design, and what each is in words.
CURVES = {
    "trip": "half a round trip",
    "send": "time in a send that waits for nobody",
    "receive": "time in a receive whose message is there",
    "blocked": "time in a send by rendezvous",
    "apart": "time between two messages of a stream",
}
#: A time is that of a processor if it is longer by at most this part.
BUSY = 0.01
#: A call waits if messages of a stream are less than this part of its time apart.
WAITS = 0.95
#: Fewer samples span no interval that covers 95 %.
ENOUGH = 6


@dataclass
class Curve:
    """One function of the size: estimates by bytes, and the series each comes from."""

    name: str
    points: dict[int, Estimate] = field(default_factory=dict)
    rounds: dict[int, list[NDArray[np.float64]]] = field(default_factory=dict)
    items: dict[int, str] = field(default_factory=dict)

    def add(self, bytes: int, rounds: list[NDArray[np.float64]], item: str) -> None:
        """Keep the first measurement of a size."""
        if bytes not in self.points and rounds:
            self.points[bytes], self.rounds[bytes], self.items[bytes] = of_rounds(rounds), rounds, item

    def at(self, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Values at these sizes; NaN where there is none."""
        return np.array([self.points[s].value if s in self.points else np.nan for s in sizes.tolist()])

    def deviation(self, sizes: NDArray[np.int64], least: float) -> NDArray[np.float64]:
        """Standard deviations of the values, at least this part of them."""
        # An interval of few rounds is itself uncertain: no point is taken for more certain than half of them are.
        usual = float(np.median([p.relative for p in self.points.values() if p.value] or [0.0])) / 1.96
        found = np.full(len(sizes), np.nan)
        for i, s in enumerate(sizes.tolist()):
            if s in self.points:
                p = self.points[s]
                found[i] = max((p.high - p.low) / 3.92, max(least, usual) * abs(p.value), 1e-15)
        return found


@dataclass
class Curves:
    """All curves of a level, and the largest eager message, None where that was not measured."""

    curves: dict[str, Curve]
    eager: Estimate | None

    @property
    def sizes(self) -> NDArray[np.int64]:
        """All sizes at which half a round trip was measured, ascending."""
        return np.array(sorted(self.curves["trip"].points), np.int64)

    @property
    def usual(self) -> float:
        """Relative standard deviation of a value of these curves, by the intervals of those with enough samples."""
        every = [p for curve in self.curves.values() for p in curve.points.values()]
        known = [p.relative for p in every if p.samples >= ENOUGH and p.value]
        return float(np.median(known)) / 1.96 if known else 0.0

    @property
    def hidden(self) -> set[int]:
        """Sizes whose half round trip is the time of a send: the answer waited for the processor, not for the way."""
        trip, send = self.curves["trip"].points, self.curves["send"].points
        return {size for size in trip.keys() & send.keys() if trip[size].value <= (1 + BUSY) * send[size].value}


def _whole(found: Estimate) -> Estimate:
    """A number of bytes; the median of an even number of thresholds lies between two."""
    value = float(np.floor(found.value))
    return replace(found, value=value, low=min(found.low, value))


def curves_of(samples: Samples, pairs: Iterable[tuple[int, int]]) -> Curves:
    """Collect the curves of a level from the measurements between some pairs of ranks.

    Raises
    ------
    InvalidInput
        If there is no ping-pong between these ranks.
    """
    wanted = {frozenset(pair) for pair in pairs}

    def of(kind: str) -> list[Series]:
        found = [s for s in samples.of(kind) if frozenset((s.parameters["a"], s.parameters["b"])) in wanted]
        return sorted(found, key=lambda s: int(s.parameters.get("bytes", 0)))

    curves = {name: Curve(name) for name in CURVES}
    thresholds = [rounds for s in of("threshold") for rounds in s.by_round()]
    eager = _whole(of_rounds(thresholds)) if thresholds else None

    def fill(name: str, kind: str, when: Callable[[Series], bool] = lambda s: True) -> None:
        for s in of(kind):
            if when(s):
                curves[name].add(int(s.parameters["bytes"]), s.by_round(), s.item.name)

    fill("trip", "pingpong")
    if len(curves["trip"].points) < 2:
        raise InvalidInput("no ping-pong of two sizes between these ranks was measured: a level needs it")
    # Without a threshold, a message whose receive can be timed alone was eager.
    arrived = [int(s.parameters["bytes"]) for s in of("receivecall") if s.parameters.get("how") != "posted"]
    most = eager.value if eager is not None else max(arrived, default=0)
    # A blocking send may wait although its message is eager, until the receiver has taken it.
    fill("send", "isendcall")
    fill("send", "sendcall", lambda s: int(s.parameters["bytes"]) <= most)
    fill("blocked", "sendcall", lambda s: int(s.parameters["bytes"]) > most)
    # By rendezvous a message is there only where its receive was posted.
    fill(
        "receive", "receivecall", lambda s: (s.parameters.get("how") == "posted") == (int(s.parameters["bytes"]) > most)
    )
    _streams(of("window"), curves)
    _delayed(of("prtt"), curves)
    _no_slower_than_streams(curves)
    return Curves(curves, eager)


def _delayed(prtt: list[Series], curves: dict[str, Curve]) -> None:
    """o by delay: (PRTT(n, d, s) - PRTT(1, 0, s)) / (n - 1) - d (T. Hoefler, A. Lichei, W. Rehm, "Low-overhead LogGP
    parameter assessment for modern interconnection networks", IPDPS 2007); and the distance of messages without one."""
    single = {int(s.parameters["bytes"]): s for s in prtt if int(s.parameters["n"]) == 1}
    for s in prtt:
        n, size, delay = int(s.parameters["n"]), int(s.parameters["bytes"]), float(s.parameters.get("delay", 0))
        if n < 2 or size not in single:
            continue
        once = float(np.median([np.median(values) for values in single[size].by_round()]))
        rounds = [(values - once) / (n - 1) - delay for values in s.by_round()]
        curves["send" if delay > 0 else "apart"].add(size, rounds, s.item.name)


def _no_slower_than_streams(curves: dict[str, Curve]) -> None:
    """A call takes a processor no longer than the distance at which it is called again and again.

    What a call alone takes more is waiting, such as for a cache line that the receiver looks at meanwhile: a time that
    is no part of the half round trip either.
    """
    for name in ("send", "receive"):
        curve, apart = curves[name], curves["apart"]
        for size, point in curve.points.items():
            if size in apart.points and apart.points[size].value < WAITS * point.value:
                curve.points[size], curve.rounds[size] = apart.points[size], apart.rounds[size]


def _streams(windows: list[Series], curves: dict[str, Curve]) -> None:
    """Distance of messages in a window of n: the way of the last one and of the answer are no part of it."""
    trip = curves["trip"].points
    answer = trip[min(trip)].value
    for s in windows:
        n, size = int(s.parameters.get("n", 64)), int(s.parameters["bytes"])
        if n > 1 and size in trip:
            way = trip[size].value + answer
            rounds = [(values * n - way) / (n - 1) for values in s.by_round()]
            curves["apart"].add(size, rounds, s.item.name)
