"""The transport of libisthmus in the TOML form: levels, and the start, copies and reductions of a node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .. import units
from ..errors import InvalidInput
from ..machine import Machine
from ..simulation.simulate import simulate
from .check import Checked
from .curves import LEVEL_WORDS
from .fit import ScheduleFit, fit_schedules
from .levels import SOURCE, number
from .node import NodeShape
from .places import Places
from .samples import Samples, Series
from .schedules import SCHEDULE, in_state, schedule_of, states

#: A state of fewer samples than this share is no matter.
_RARE = 0.02


def one_state(samples: Samples, said: list[str]) -> Samples:
    """Return the samples of schedules in the most frequent state of the machine, and say which others there are."""
    found = states(samples)
    if not found or found[0][1] > 1 - _RARE:
        return samples
    took = ", ".join(f"{units.text(flag, 's', 2)} in {units.percent(share)}" for flag, share in found if share > _RARE)
    said.append(
        f"The machine had several states: a flag between two ranks took {took} of the samples. The numbers of "
        "libisthmus are those of the first."
    )
    return in_state(samples, found[0][0])


def fits_of(samples: Samples, places: Places, shape: NodeShape, missing: list[str]) -> dict[str, ScheduleFit]:
    """Return the fit of each level that was measured; ``missing`` is told of those that cannot be fitted."""
    out = {}
    for level, pairs in places.pairs(shape).items():
        try:
            out[level] = fit_schedules(samples, *pairs[0])
        except InvalidInput as error:
            missing.append(f"Messages of libisthmus {LEVEL_WORDS[level]} were not fitted: {error}.")
    first = next(iter(out.values()), None)
    if first is not None and not (first.copy and first.combine):
        missing.append(
            "The times of copies and reductions were not fitted: too few samples are of one state (--budget)."
        )
    return out


def level_table(fit: ScheduleFit) -> dict[str, Any]:
    """Return the table ``[level.NAME]``, in the TOML form."""

    def known(path: str, value: float, unit: str) -> dict[str, Any]:
        return number(value, unit, fit.intervals.get(path), fit.samples.get(path, 0), "")

    times = {name: known(name, getattr(fit.level, name), "s") for name in ("L", "o_send", "o_recv")}
    out: dict[str, Any] = {**times, "g": "0 s", "G": "0 s/B", "O": known("O", fit.level.O, "s/B"), "O_recv": "0 s/B"}
    out["S"] = units.text(fit.level.S, "B")
    out["pieces"] = [
        {
            "above": units.text(piece.above, "B"), "after": units.text(piece.after, "B"),
            "L": times["L"]["value"], "o_send": times["o_send"]["value"],
            "o_recv": known(f"pieces.{i}.o_recv", piece.o_recv, "s"), "g": "0 s",
            "G": known(f"pieces.{i}.G", piece.G, "s/B"), "O": known(f"pieces.{i}.O", piece.O, "s/B"),
            "O_recv": known(f"pieces.{i}.G", piece.O_of_receiver, "s/B"),
        }
        for i, piece in enumerate(fit.level.pieces)
    ]  # fmt: skip
    return out


def node_table(fit: ScheduleFit) -> dict[str, Any]:
    """Return what ``[node]`` gets, in the TOML form."""

    def known(path: str, value: float) -> dict[str, Any]:
        return number(value, "s", fit.intervals.get(path), fit.samples.get(path, 0), fit.method)

    out: dict[str, Any] = {"start": known("start", fit.start)}
    for key, what, times in (("copy", "copy", fit.copy), ("reduce", "combine", fit.combine)):
        if times:
            out[key] = [
                {"bytes": units.text(one.bytes, "B"), "time": known(f"{what}.{i}.time", one.time)}
                for i, one in enumerate(times)
            ]
    return out


def machine_of(fit: ScheduleFit) -> Machine:
    """Return a node of two cores with these numbers."""
    raw = {"format": 3, "name": "two", "topology": {"kind": "ring", "dims": [1]}, "sources": {SOURCE: fit.method}}
    node = {"cores": 2, **node_table(fit)}
    return Machine.from_dict({**raw, "node": node, "level": {"socket": level_table(fit)}}, "two")


def checked(
    samples: Iterable[Series], fits: Mapping[str, ScheduleFit], pairs: Mapping[str, list[tuple[int, int]]]
) -> list[Checked]:
    """Return what was measured of schedules beside what the simulator finds for them, level by level.

    Parameters
    ----------
    samples : iterable of Series
        Those of the check.
    fits : mapping of str to ScheduleFit
    pairs : mapping of str to list of (int, int)
        Ranks of each level, those first that it was fitted to.
    """
    of = {"{},{}".format(*pairs[level][0]): (level, machine_of(fit)) for level, fit in fits.items()}
    out = []
    for one in samples:
        p = one.parameters
        if one.kind == SCHEDULE and len(one) and p["members"] in of:
            level, machine = of[str(p["members"])]
            what, n = str(p["what"]), int(p["n"])
            guess = simulate(schedule_of(what, int(p["bytes"]), n), machine, record="finish").makespan
            out.append(Checked(level, what, n, one, guess))
    return out
