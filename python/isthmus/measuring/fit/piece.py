"""LogGOPS parameters of the messages of some sizes, over which every curve is a line.

With a the bytes after which bytes cost, and B(s) = (s - a) G, the simulator's own formulas are

    send       o_send + (s - a) O
    receive    o_recv + (s - a) O_recv
    trip       max(send, o_send + L + max(B, (s - a) O_recv) + o_recv)
    blocked    max(send, o_send + L + max(B - (s - a) O_recv, 0))
    apart      max(send, receive, g + B)

Which of the terms of a maximum holds is found by turns: solve, look, solve again. With G = O_recv + D, D from 0, all
rows are linear in o_send, O, o_recv, O_recv, L, D and g as long as that choice stands.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ... import units
from .curves import BUSY, ENOUGH, Curves
from .least_squares import determined, nonnegative, robust

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAMES = ("L", "o_send", "o_recv", "g", "G", "O", "O_recv")
_UNKNOWNS = ("o_send", "O", "o_recv", "O_recv", "L", "D", "g")
_TURNS = 8
#: A time is above another if it is more by this part; deviations of points are at least this part.
_MORE, _LEAST = BUSY, 0.001
#: Standard deviations by which a distance of messages is above the time of the processors, to be the interface's.
CLEARLY = 5.0


def _row(**parts: float) -> NDArray[np.float64]:
    return np.array([parts.get(name, 0.0) for name in _UNKNOWNS])


@dataclass
class PieceFit:
    """The fit of one piece.

    Attributes
    ----------
    values : dict of str to float
        SI, by NAMES.
    after : float
        Bytes.
    determined : dict of str to bool
        Whether the design determines each.
    bounds, notes : dict
        Largest value and words for what is not determined.
    bounded : set of str
        What is not determined since something else always takes longer: any value up to its bound says the same.
    rows : list of (str, int)
        Curve and size of every row.
    samples : int
    """

    values: dict[str, float]
    after: float
    determined: dict[str, bool]
    bounds: dict[str, float]
    notes: dict[str, str]
    bounded: set[str]
    rows: list[tuple[str, int]]
    samples: int
    design: NDArray[np.float64]
    weights: NDArray[np.float64]
    by_receiver: bool
    relative: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    names: dict[str, list[str]] = field(default_factory=dict)
    sizes: dict[str, list[int]] = field(default_factory=dict)

    def solve(self, medians: NDArray[np.float64]) -> NDArray[np.float64]:
        """The parameters, by NAMES, with other values of the rows."""
        x = nonnegative(self.design * self.weights[:, None], medians * self.weights)
        values = _values(x, self.by_receiver)
        return np.array([values[name] for name in NAMES])

    def residuals(self, curve: str) -> NDArray[np.float64]:
        """Relative deviations of the points of a curve from the fit."""
        return self.relative.get(curve, np.empty(0))

    def items(self, curve: str) -> list[str]:
        """Names of the items of these points."""
        return self.names.get(curve, [])


def _values(x: NDArray[np.float64], by_receiver: bool) -> dict[str, float]:
    u = dict(zip(_UNKNOWNS, x.tolist(), strict=True))
    G = u["D"] if by_receiver else u["O_recv"] + u["D"]
    return {
        "L": u["L"], "o_send": u["o_send"], "o_recv": u["o_recv"], "g": u["g"], "G": G, "O": u["O"],
        "O_recv": u["O_recv"],
    }  # fmt: skip


def predict(v: dict[str, float], after: float, curve: str, size: float) -> float:
    """What the simulator finds for a point of a curve."""
    paid = max(size - after, 0.0)
    send, receive = v["o_send"] + paid * v["O"], v["o_recv"] + paid * v["O_recv"]
    if curve == "send":
        return send
    if curve == "receive":
        return receive
    if curve == "trip":
        # The answer is sent when the processor is through with the message before.
        return max(send, v["o_send"] + v["L"] + paid * max(v["G"], v["O_recv"]) + v["o_recv"])
    if curve == "blocked":
        return max(send, v["o_send"] + v["L"] + paid * max(v["G"] - v["O_recv"], 0.0))
    return max(send, receive, v["g"] + paid * v["G"])


class _Rows:
    """Points of the curves at some sizes, and the terms that hold for each."""

    def __init__(self, found: Curves, sizes: NDArray[np.int64], after: float) -> None:
        self.after = after
        self.sends = found.curves["send"].points
        self.points = [
            (name, size, curve.points[size])
            for name, curve in found.curves.items()
            for size in sizes.tolist()
            if size in curve.points
        ]
        self.usual = found.usual
        hidden = found.hidden
        if any(curve == "trip" and size not in hidden for curve, size, _ in self.points):
            self.points = [p for p in self.points if p[0] != "trip" or p[1] not in hidden]
        # When a send by rendezvous returns is the library's affair: it tells only what no receive tells.
        if sum(curve == "receive" for curve, _, _ in self.points) >= 2:
            self.points = [point for point in self.points if point[0] != "blocked"]

    def build(
        self, now: dict[str, float] | None, by_receiver: bool
    ) -> tuple[list[int], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Indices of the points used, design, values and deviations, with the terms that hold for the parameters."""
        used, rows, values, sigma = [], [], [], []
        for i, (curve, size, point) in enumerate(self.points):
            # All of few samples do not span an interval: a single one would pass for exact.
            least = _LEAST if point.samples >= ENOUGH else max(_LEAST, self.usual)
            deviation = max((point.high - point.low) / 3.92, least * abs(point.value), 1e-15)
            row = self.row(curve, size, point.value, deviation, now, by_receiver)
            if row is None:
                continue
            used.append(i)
            rows.append(row)
            values.append(point.value)
            sigma.append(deviation)
        return used, np.array(rows).reshape(-1, len(_UNKNOWNS)), np.array(values), np.array(sigma)

    def row(
        self, curve: str, size: int, value: float, deviation: float, now: dict[str, float] | None, by_receiver: bool
    ) -> NDArray[np.float64] | None:
        paid = max(size - self.after, 0.0)
        wire = {"O_recv": paid} if by_receiver else {"O_recv": paid, "D": paid}
        if curve == "send":
            return _row(o_send=1, O=paid)
        if curve == "receive":
            return _row(o_recv=1, O_recv=paid)
        if curve == "trip":
            return _row(o_send=1, L=1, o_recv=1, **wire)
        if curve == "blocked":
            busy = self.sends[size].value if size in self.sends else now["o_send"] + paid * now["O"] if now else 0.0
            if value <= busy * (1 + _MORE):
                return None  # the processor of the sender, which is known better
            return _row(o_send=1, L=1) if by_receiver else _row(o_send=1, L=1, D=paid)
        if now is None:
            return None
        busy = max(now["o_send"] + paid * now["O"], now["o_recv"] + paid * now["O_recv"])
        # What is above by chance alone would say that the interface is slower than it is.
        if value - CLEARLY * deviation <= busy * (1 + _MORE):
            return None  # a processor: the interface is not slower
        return _row(g=1, D=paid) if by_receiver else _row(g=1, **wire)


def fit_piece(found: Curves, sizes: NDArray[np.int64], *, above: float) -> PieceFit:
    """Fit the parameters of the messages of these sizes, all above so many bytes: 0 for the first piece of a level."""
    best = _fit(found, sizes, 1.0)
    # A line that would be below 0 at one byte: more bytes are free, up to those above which the piece
    # begins and not to its smallest message that was measured: messages between the two must not cost less than 0.
    crossing = [_crossing(found, sizes, curve) for curve in ("trip", "send", "receive")]
    after = min(np.ceil(max(crossing)), np.floor(above))
    if after <= 1:
        return best
    moved = _fit(found, sizes, float(after))
    return moved if _loss(moved) < 0.9 * _loss(best) else best


def line(sizes: NDArray[np.int64], y: NDArray[np.float64]) -> tuple[float, float] | None:
    """Slope and height of the line through known points, by relative deviations; None for fewer than two of them."""
    known = np.isfinite(y)
    if known.sum() < 2:
        return None
    slope, height = np.polyfit(sizes[known].astype(np.float64), y[known], 1, w=1 / np.maximum(np.abs(y[known]), 1e-15))
    return float(slope), float(height)


def _crossing(found: Curves, sizes: NDArray[np.int64], curve: str) -> float:
    """Where the line through the points of a curve is 0; 1 if that is below a byte."""
    slope, height = line(sizes, found.curves[curve].at(sizes)) or (0.0, 0.0)
    return max(1.0, -height / slope) if slope > 0 else 1.0


def _loss(fit: PieceFit) -> float:
    parts = [np.abs(part) for part in fit.relative.values()]
    return float(np.concatenate([*parts, np.zeros(1)]).sum())


def _fit(found: Curves, sizes: NDArray[np.int64], after: float) -> PieceFit:
    rows = _Rows(found, sizes, after)
    by_receiver, now = False, None
    used: list[int] = []
    x = weights = design = np.empty(0)
    for _ in range(_TURNS):
        used, design, values, sigma = rows.build(now, by_receiver)
        x, weights = robust(design, values, sigma)
        new = _values(x, by_receiver)
        known = _known(design * weights[:, None], by_receiver)
        slower = known["O_recv"] and new["O_recv"] > 0 and new["G"] <= new["O_recv"] * (1 + 1e-4)
        if now is not None and slower == by_receiver and np.allclose(list(new.values()), list(now.values()), rtol=1e-9):
            now = new
            break
        # The interface once found faster than the receiver stays so: turns end.
        by_receiver, now = by_receiver or slower, new
    assert now is not None
    known = _known(design * weights[:, None], by_receiver)
    bounds, notes, bounded = _what_is_known(rows, now, known, after, by_receiver)
    fit = PieceFit(
        now, after, known, bounds, notes, bounded, [rows.points[i][:2] for i in used],
        sum(rows.points[i][2].samples for i in used), design, weights, by_receiver,
    )  # fmt: skip
    for curve, size, point in rows.points:
        deviation = predict(now, after, curve, size) / point.value - 1 if point.value else 0.0
        fit.relative[curve] = np.append(fit.relative.get(curve, np.empty(0)), deviation)
        fit.names.setdefault(curve, []).append(found.curves[curve].items[size])
        fit.sizes.setdefault(curve, []).append(size)
    return fit


def _known(design: NDArray[np.float64], by_receiver: bool) -> dict[str, bool]:
    """Which parameters the rows determine, given the terms that hold.

    Which term of a maximum is the larger one is known only where both are: the slope of half round trips is G if O_recv
    is known to be less, the distance of messages is the interface's if the processors are known to be faster.
    """
    combinations = np.array([_combination(name, by_receiver) for name in NAMES])
    known = dict(zip(NAMES, determined(design, combinations).tolist(), strict=True))
    known["G"] = known["G"] and known["O_recv"]
    known["g"] = known["g"] and all(known[name] for name in ("o_send", "O", "o_recv", "O_recv"))
    return known


def _combination(name: str, by_receiver: bool) -> NDArray[np.float64]:
    if name == "G":
        return _row(D=1) if by_receiver else _row(O_recv=1, D=1)
    return _row(**{name: 1})


def _what_is_known(
    rows: _Rows, v: dict[str, float], known: dict[str, bool], after: float, by_receiver: bool
) -> tuple[dict[str, float], dict[str, str], set[str]]:
    """Bounds and words for what the design does not determine, and what of it is bounded; G takes its bound, with which
    nothing changes."""
    bounds: dict[str, float] = {}
    notes: dict[str, str] = {}
    bounded: set[str] = set()
    if not known["G"] and by_receiver:
        bounds["G"] = v["G"] = v["O_recv"]
        bounded.add("G")
        notes["G"] = f"at most O_recv, {units.text(v['O_recv'], 's/B', 3)}: the receiver takes longer"
    elif not known["G"] and not known["O_recv"]:
        bounds["G"] = v["G"]
        notes["G"] = f"the larger of G and O_recv is {units.text(v['G'], 's/B', 3)}"
    if not known["g"]:
        apart = [(size, p.value) for curve, size, p in rows.points if curve == "apart"]
        if apart:
            bounds["g"] = max(min(value - max(size - after, 0.0) * v["G"] for size, value in apart), 0.0)
            bounded.add("g")
            notes["g"] = f"at most {units.text(bounds['g'], 's', 3)}: processors take longer"
        v["g"] = min(v["g"], bounds.get("g", v["g"]))
    ends = [name for name in ("o_send", "L", "o_recv") if not known[name]]
    if ends:
        total = sum(v[name] for name in ends)
        words = f"{' + '.join(ends)} = {units.text(total, 's', 4)} together"
        for name in ends:
            bounds[name] = total
            notes[name] = words if len(ends) > 1 else notes.get(name, "")
    if not known["O"]:
        bounds["O"], notes["O"] = max(v["O"], 0.0), "no send was timed alone"
    if not known["O_recv"]:
        bounds["O_recv"], notes["O_recv"] = v["G"], f"at most G, {units.text(v['G'], 's/B', 3)}"
        bounded.add("O_recv")
    return bounds, notes, bounded
