"""Models of curves: few numbers with intervals that say what a curve does beyond its points."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..machine import Curve
from .curves import digits
from .fit import Model, fit_limit, fit_line
from .samples import Samples, Series, Value

if TYPE_CHECKING:
    from numpy.typing import NDArray


def with_models(
    curves: Mapping[str, Curve], samples: Samples, pairs: Mapping[str, tuple[int, int]]
) -> dict[str, Curve]:
    """Return the curves with the models of those that have one: queues, starting, memory, injection, hops.

    Parameters
    ----------
    curves : mapping of str to Curve
    samples : Samples
        What the curves were made of.
    pairs : mapping of str to (int, int)
        The ranks between which each level was measured.
    """
    out = dict(curves)
    for name, curve in curves.items():
        model = _model(name, curve, samples, pairs)
        if model is not None:
            numbers = {key: (digits(e.value), digits(e.low), digits(e.high)) for key, e in model.numbers.items()}
            out[name] = dataclasses.replace(curve, formula=model.formula, fitted=numbers)
    return out


def _model(name: str, curve: Curve, samples: Samples, pairs: Mapping[str, tuple[int, int]]) -> Model | None:
    if curve.kind == "queue":
        # Of n messages that are asked for in the wrong order, searching takes n^2 search / 2.
        a, b = pairs[str(curve.parameters["level"])]
        series = samples.of("queue", a=a, b=b, kind=str(curve.parameters["queue"]))
        return fit_line(_points(series, "length"), ("alone", "search"), "alone + search * length")
    if curve.kind in ("startup", "memory"):
        what = str(curve.parameters["what"])
        points = _points(samples.of("startup"), "ranks", what if curve.kind == "startup" else f"memory_{what}")
        if curve.kind == "startup":
            return fit_line(points, ("fixed", "per_rank"), "fixed + per_rank * ranks")
        formula = "per_process + per_peer * (ranks - 1)"
        return fit_line(points, ("per_process", "per_peer"), formula, first=1)
    if curve.kind == "hops" and curve.parameters["alone"]:
        return hops_model(samples, curve.parameters["bytes"])
    return injection_model(samples) if name == "injection" else None


def injection_model(samples: Samples) -> Model | None:
    """Bandwidth of one sender, and what a node sends at most, where that was reached."""
    times = _points(samples.of("inject"), "senders")
    points = {x: [1 / np.maximum(values, 1e-15) for values in rounds] for x, rounds in times.items()}
    return fit_limit(points, ("one", "node"), "min(senders * one, node)")


def hops_model(samples: Samples, bytes: Value | None = None) -> Model | None:
    """Half a round trip of the nearest pairs, and the time of each hop more, of pairs alone: of so many bytes, or the
    fewest."""
    alone = samples.of("shift", alone=1)
    size = min((int(one.parameters["bytes"]) for one in alone), default=0) if bytes is None else bytes
    points = _points(samples.of("shift", alone=1, bytes=size), "distance")
    return fit_line(points, ("nearest", "per_hop"), "nearest + per_hop * (hops - 1)", first=1)


def _points(series: list[Series], key: str, column: str | None = None) -> dict[float, list[NDArray[np.float64]]]:
    """Rounds by a parameter; launches of their own are rounds."""
    out: dict[float, list[NDArray[np.float64]]] = {}
    for one in series:
        out.setdefault(float(one.parameters[key]), []).extend(one.by_round(column))
    return out
