"""LogGOPS parameters and noise in the TOML form, from what was fitted to samples."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from .. import units
from ..errors import InvalidInput
from ..machine import Level, Piece
from .curves import LEVEL_WORDS, median
from .fit import LevelFit, fit_level
from .node import NodeShape
from .places import Places
from .samples import Samples, Series

#: Key of [sources].
SOURCE = "measure"
#: Interruptions are what takes longer than this many times the least quantum, or this long.
_LONGER, _LEAST = 1.02, 1e-6
#: Interruptions whose distances vary less than this, relative to their mean, are called periodic.
_REGULAR = 0.3


def number(
    value: float, unit: str, interval: tuple[float, float] | None, samples: int, method: str, note: str = ""
) -> dict[str, Any]:
    """A measured number in the TOML form; its interval is widened to hold it where a fit put it outside."""
    out: dict[str, Any] = {"value": units.text(digits(value), unit) if unit else digits(value), "source": SOURCE}
    out["status"] = "measured"
    if interval is not None and all(map(np.isfinite, interval)):
        low, high = min(digits(interval[0]), digits(value)), max(digits(interval[1]), digits(value))
        out["interval"] = [units.text(max(end, 0.0), unit) if unit else end for end in (low, high)]
    if samples:
        out["samples"] = samples
    if method:
        out["method"] = method
    return out | ({"note": note} if note else {})


def digits(value: float) -> float:
    """Six digits: more are noise."""
    return float(f"{value:.6g}")


def level_tables(
    samples: Samples, places: Places, shape: NodeShape, missing: list[str]
) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Return the tables ``[level.NAME]`` of the levels that were measured, and the method of each.

    Parameters
    ----------
    samples : Samples
    places : Places
    shape : NodeShape
    missing : list of str
        Told which parameters the measurements do not tell apart, and what lies far from the fit.
    """
    out, methods = {}, {}
    for level, pairs in places.pairs(shape).items():
        a, b = pairs[0]
        if not samples.of("isendcall", a=a, b=b) and not samples.of("sendcall", a=a, b=b):
            continue  # latency alone was asked for
        try:
            fit = fit_level(samples, [(a, b)])
        except InvalidInput as error:
            missing.append(f"LogGP parameters {LEVEL_WORDS[level]} were not fitted: {error}.")
            continue
        out[level] = _table(fit)
        methods[level] = fit.method
        unknown = [p.path for p in fit.unidentified]
        if unknown:
            what = f"{', '.join(unknown[:6])}{', ...' if len(unknown) > 6 else ''}"
            missing.append(
                f"LogGP {LEVEL_WORDS[level]}: the measurements do not determine {what}; their notes say more."
            )
        if fit.outliers:
            some = ", ".join(fit.outliers[:4])
            missing.append(f"LogGP {LEVEL_WORDS[level]}: {len(fit.outliers)} items lie far from the fit ({some}).")
    return out, methods


def _table(fit: LevelFit) -> dict[str, Any]:
    """A level with its pieces."""

    def one(of: Level | Piece, path: str, field: dataclasses.Field[Any]) -> dict[str, Any] | str | None:
        value = getattr(of, field.name)
        if value is None:
            return None
        unit = field.metadata["unit"]
        p = fit.parameters.get(f"{path}{field.name}")
        if p is None:  # not fitted: what the others are taken with
            return units.text(digits(float(value)), unit) if value != field.default else None
        known = number(float(value), unit, (p.low, p.high), p.samples, "", p.note)
        if not p.identified:
            known["status"] = "estimated"
            known.pop("interval", None)
        return known

    fields = [field for field in dataclasses.fields(Level) if "of" not in field.metadata]
    out: dict[str, Any] = {f.name: made for f in fields if (made := one(fit.level, "", f)) is not None}
    pieces = []
    for i, piece in enumerate(fit.level.pieces):
        table = {f.name: m for f in dataclasses.fields(Piece) if (m := one(piece, f"pieces.{i}.", f)) is not None}
        pieces.append(table)
    return out | ({"pieces": pieces} if pieces else {})


def noise_table(samples: Samples) -> dict[str, Any]:
    """Return the table ``[noise]``: interruptions of all cores together; empty where none were measured.

    A quantum of fixed work that takes longer than the least was interrupted; what it took longer is the length of the
    interruption. The mean distance and the mean length are those of the model, which so takes the same part of the time
    from a core as was measured.
    """
    found = [one for one in samples.of("noise", kind="fwq") if len(one) >= 20]
    if not found:
        return {}
    distances, lengths, count = [], [], 0
    for one in found:
        at, length = _interruptions(one)
        distances.append(np.diff(at))
        lengths.append(length)
        count += len(one)
    total = sum(float(one.column().sum()) for one in found)
    length = np.concatenate(lengths)
    if not len(length) or length.sum() <= 0:
        return {}
    period, duration = total / len(length), float(length.mean())
    if duration >= period:
        return {}
    between = np.concatenate(distances)
    regular = len(between) > 10 and float(between.std()) < _REGULAR * float(between.mean())
    method = (
        f"fixed work in quanta of {units.text(digits(float(found[0].column().min())), 's', 3)} on {len(found)} cores"
    )
    _, low, high = median(length)
    spread = float(between.std() / np.sqrt(max(len(between), 1))) * 1.96 if len(between) else period
    return {
        "kind": {"value": "periodic" if regular else "exponential", "source": SOURCE, "status": "measured"},
        "period": number(period, "s", (max(period - spread, 0.0), period + spread), count, method),
        "duration": number(duration, "s", None, len(length), method, _spread_words(low, high)),
    }


def _spread_words(low: float, high: float) -> str:
    return f"median between {units.text(digits(low), 's', 3)} and {units.text(digits(high), 's', 3)}"


def _interruptions(one: Series) -> tuple[Any, Any]:
    """Begin and length of each interruption."""
    times = one.column()
    least = float(np.quantile(times, 0.05))
    longer = times - least
    hit = longer > max((_LONGER - 1) * least, _LEAST)
    return (np.cumsum(times) - times)[hit], longer[hit]
