"""LogGOPS parameters and noise in the TOML form, from what was fitted to samples."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from .. import units
from ..errors import InvalidInput
from ..machine import Level, Piece
from .curves import LEVEL_WORDS, digits, median
from .fit import LevelFit, fit_level, fit_noise
from .node import NodeShape
from .places import Places
from .plan import LARGE, LOCAL
from .samples import Samples

#: Key of [sources].
SOURCE = "measure"
#: A time per byte that makes no nanosecond of the largest messages is none.
_NOTHING = 5e-16
#: Links whose times for long messages differ by more are said to differ.
_UNLIKE = 0.1


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


def level_tables(
    samples: Samples, places: Places, shape: NodeShape, missing: list[str]
) -> tuple[dict[str, dict[str, Any]], dict[str, LevelFit]]:
    """Return the tables ``[level.NAME]`` of the levels that were measured, and the fit of each.

    Parameters
    ----------
    samples : Samples
    places : Places
    shape : NodeShape
    missing : list of str
        Told which parameters the measurements do not tell apart, and what lies far from the fit.
    """
    out, fits = {}, {}
    for level, pairs in places.pairs(shape).items():
        a, b = pairs[0]
        if not samples.of("isendcall", a=a, b=b) and not samples.of("sendcall", a=a, b=b):
            continue  # latency alone was asked for
        try:
            fit = fit_level(samples, [(a, b)])
        except InvalidInput as error:
            missing.append(f"LogGP parameters {LEVEL_WORDS[level]} were not fitted: {error}.")
            continue
        out[level] = _table(fit) | (_queue(samples, fit.level, missing) if level == "network" else {})
        fits[level] = fit
        # That an interface is faster than the processors is no lack: a bound is all that there is to know.
        unknown = dict.fromkeys(
            p.path.rpartition(".")[2] for p in fit.parameters.values() if not p.determined and not p.bounded
        )
        if unknown:
            missing.append(
                f"LogGP {LEVEL_WORDS[level]}: the measurements do not determine {', '.join(unknown)} for all sizes; "
                "the notes of these numbers say what is known."
            )
        if fit.outliers:
            some = ", ".join(fit.outliers[:4])
            missing.append(f"LogGP {LEVEL_WORDS[level]}: {len(fit.outliers)} items lie far from the fit ({some}).")
        missing += _unlike(samples, pairs)
    return out, fits


def local_tables(samples: Samples) -> dict[str, list[dict[str, Any]]]:
    """Return ``[[node.copy]]`` and ``[[node.reduce]]``: by size, no time shorter than those of fewer bytes."""
    words = "on two cores at once, after an exchange of these data"
    methods = {"copy": f"memcpy {words}", "reduce": f"MPI_Reduce_local, sums of floats {words}"}
    out = {}
    for what in LOCAL:
        rows, least = [], 1e-9  # which no clock can tell from nothing
        for one in sorted(
            (s for s in samples.of("local", what=what) if len(s)), key=lambda s: int(s.parameters["bytes"])
        ):
            value, low, high = (max(seconds, least) for seconds in median(one.column()))
            least = value
            time = number(value, "s", (low, high), len(one), methods[what])
            rows.append({"bytes": units.text(int(one.parameters["bytes"]), "B"), "time": time})
        if rows:
            out[what] = rows
    return out


def _queue(samples: Samples, level: Level, missing: list[str]) -> dict[str, dict[str, Any]]:
    """Return the bytes behind which a message to another node waits while its node sends a large one.

    What a round trip takes longer then is the time of these bytes.
    """
    found = [one for one in samples.of("behind") if len(one)]
    if not found:
        return {}
    alone = 2 * (level.o_send + level.L + level.o_recv)
    one, G = found[0], level.piece(LARGE).G
    waits = [(seconds - alone) / G if G > 0 else 0.0 for seconds in median(one.column())]
    # Less than what is sent at once cannot be told from nothing.
    value, low, high = (min(max(bytes, level.S, 1.0), float(LARGE)) for bytes in waits)
    if value == LARGE:
        missing.append("LogGP between nodes: messages wait for whole large ones of their node; queue has no limit.")
        return {}
    text = f"round trips while {units.text(LARGE, 'B')} are on their way to another node"
    return {"queue": number(round(value), "B", (round(low), round(high)), len(one), text)}


def _unlike(samples: Samples, pairs: list[tuple[int, int]]) -> list[str]:
    """Return what is said of other pairs, and of the other way, where long messages take another time."""
    (a, b), out = pairs[0], []
    size = max((int(one.item.parameters["bytes"]) for one in samples.of("window", a=b, b=a)), default=0)

    def time(first: int, second: int) -> float:
        found = [one.column() for one in samples.of("window", a=first, b=second, bytes=size) if len(one)]
        # The least, since each may have been measured a few times only, and disturbances only add.
        return float(np.concatenate(found).min()) if found else np.nan

    fitted, long = time(a, b), units.text(size, "B")
    for first, second in [(b, a), *pairs[1:]]:
        ratio = time(first, second) / fitted
        if max(ratio, 1 / ratio) > 1 + _UNLIKE:
            share = f"{ratio:.2f} times as long as from rank {a} to rank {b}, for which the parameters hold"
            out.append(f"Links differ: {long} from rank {first} to rank {second} take {share}.")
    return out


def _table(fit: LevelFit) -> dict[str, Any]:
    """A level with its pieces."""

    def one(of: Level | Piece, path: str, field: dataclasses.Field[Any]) -> dict[str, Any] | str | None:
        value = getattr(of, field.name)
        if value is None:
            return None
        unit = field.metadata["unit"]
        if unit == "s/B" and value < _NOTHING:
            value = 0.0
        p = fit.parameters.get(f"{path}{field.name}")
        if p is None:  # not fitted: what the others are taken with
            return units.text(digits(float(value)), unit) if value != field.default else None
        known = number(float(value), unit, (p.low, p.high), p.samples, "", p.note)
        if not p.determined:
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
    """Return the table ``[noise]``: interruptions of all cores together; empty where none were measured."""
    series = samples.of("noise")
    fit = fit_noise(series)
    if fit is None:
        return {}
    cores = len({one.parameters.get("core", one.parameters.get("rank")) for one in series})
    seconds = units.text(digits(fit.seconds), "s", 3)
    method = f"{fit.quanta} quanta on {cores} core{'' if cores == 1 else 's'}, {seconds}; bootstrap over parts of them"
    known = {
        name: number(one.value, "s", (one.low, one.high), one.samples, method, fit.words if name == "period" else "")
        for name, one in (("period", fit.period), ("duration", fit.duration))
    }
    return {"kind": {"value": fit.kind, "source": SOURCE, "status": "measured"}, **known}
