"""Items that are schedules, which libisthmus carries out: messages, copies and reductions, and collectives to check.

Two ranks begin each at an agreed time. How fast a flag goes between them is measured before each batch: a virtual
machine has states, which change within seconds and in which messages take one time or four, so that only samples of one
state are compared with each other.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ..collectives import collective
from ..running.parts import meetings, write_parts
from ..schedule import event
from ..schedule.schedule import SLICES, Schedule
from .node import NodeShape
from .places import Places
from .plan import UNSEEN, Launch
from .samples import Item, Samples, Series, Value

#: Kind of these items, and the collectives among them.
SCHEDULE = "schedule"
COLLECTIVES = tuple(name for name in event.COLLECTIVES if name != "neighbor_alltoall")
#: Sizes of messages, copies and reductions in bytes. libisthmus sends up to 216 within a slot of its ring.
SIZES = (8, 64, 216, 256, *(1 << k for k in range(9, 23)))
#: Those of --quick.
QUICK = (8, 64, 216, 256, 512, 2048, 8192, 65536, 1 << 18, 1 << 20)
#: Round trips of a chain, and operations of a row; messages above that size go to and fro once.
TRIPS, ROW, LONG = 4, 11, 65536
#: Kinds of the operations of a row.
_ROWS = {"copy": "copy", "combine": "reduce", "empty": "calc"}
#: Single messages up to this size tell the start.
_SINGLE = 512
#: Microseconds for which the receiver of a late message computes.
LATE = 50
#: Sizes of single messages for the check, which the fit does not have, and of collectives.
_BETWEEN = (24, 700, 20_000, 300_000, 1_500_000)
_CHECKED = (8, 64, 512, 4096, 32 << 10, 256 << 10, 1 << 20, 4 << 20)
#: Samples whose flag took more or less than others' by this factor were taken in another state.
_STATE = 1.25
#: So many samples of an item are enough.
_ENOUGH = 4


def items(a: int, b: int, quick: bool = False) -> list[Item]:
    """Items of two ranks: what the fit takes, and then what it does not see."""
    found = [item("empty", 0, 1, a, b), item("empty", 0, ROW, a, b)]
    for size in QUICK if quick else SIZES:
        found += [item("trips", size, 1 if size > LONG else TRIPS, a, b), item("exchange", size, 1, a, b)]
        found += [item(what, size, 1, a, b) for what in ("late", "copy", "combine")]
        if size <= _SINGLE:
            found.append(item("message", size, 1, a, b))
    for size in _BETWEEN[::3] if quick else _BETWEEN:
        found += [item(what, size, n, a, b, UNSEEN) for what, n in (("trips", 1), ("exchange", 1), ("burst", 8))]
    found.append(item("barrier", 0, 1, a, b, UNSEEN))
    for size in _CHECKED[::3] if quick else _CHECKED:
        found += [item(what, size, 1, a, b, UNSEEN) for what in COLLECTIVES if what != "barrier"]
    return found


def launch(places: Places, shape: NodeShape, quick: bool, budget: float) -> Launch | None:
    """Return the launch that carries them out between two ranks of each level; None where there is one rank."""
    pairs = [found[0] for found in places.pairs(shape).values()]
    every = tuple(one for a, b in pairs for one in items(a, b, quick))
    bind = tuple(cpus[0] for cpus in places.allowed) if places.bound_here else ()
    # No item ends early: each is measured in every state of the machine.
    return Launch("schedules", "mpi", every, budget, None, 20, 10**6, 0.0, bind) if every else None


def item(what: str, size: int, n: int, a: int, b: int, before: str = "") -> Item:
    """Return the item of a schedule of :func:`schedule_of`."""
    name = f"{before}{SCHEDULE}.{what}.{size}.{n}.{a}.{b}"
    parameters: dict[str, Value] = {
        "parts": f"{name}.parts",
        "what": what,
        "n": n,
        "bytes": size,
        "members": f"{a},{b}",
    }
    return Item(name, SCHEDULE, parameters)


def schedule_of(what: str, size: int, n: int = 1) -> Schedule:
    """Return a schedule of two ranks.

    Parameters
    ----------
    what : str
        ``message`` from rank 0 to rank 1; ``trips``: n round trips; ``burst``: n messages at once; ``exchange``: one
        message each way at once; ``late``: a message whose receiver first computes; ``copy``, ``combine``, ``empty``: n
        of them one after the other on both ranks; or a collective with all its copies.
    size : int
        Bytes.
    n : int
    """
    if what in COLLECTIVES:
        return collective(what, ranks=2, bytes=0 if what == "barrier" else size, buffers=True, in_place=False)
    if what in _ROWS:
        return _row(_ROWS[what], size, n)
    if what == "trips":
        return _schedule(["send", "recv"] * n, ["recv", "send"] * n, size, chained=True)
    if what == "late":
        return Schedule.of(
            2, rank=[0, 1, 1], kind=["send", "calc", "recv"], peer=[1, 0, 0], amount=[size, LATE * 10**6, size],
            op=[2], on=[1],
        )  # fmt: skip
    kinds = {
        "message": (["send"], ["recv"]),
        "exchange": (["send", "recv"],) * 2,
        "burst": (["send"] * n, ["recv"] * n),
    }
    return _schedule(*kinds[what], size)


def _schedule(first: list[str], second: list[str], size: int, chained: bool = False) -> Schedule:
    one, both = len(first), len(first) + len(second)
    after = [i for i in range(1, both) if i != one] if chained else []
    return Schedule.of(
        2, rank=[0] * one + [1] * len(second), kind=[*first, *second], peer=[1] * one + [0] * len(second), amount=size,
        op=after, on=[i - 1 for i in after],
    )  # fmt: skip


def _row(kind: str, size: int, n: int) -> Schedule:
    after = [i for i in range(1, 2 * n) if i != n]
    columns: dict[str, Any] = {}
    if kind != "calc":
        slices = np.zeros(2 * n, SLICES)
        slices["to"]["buffer"] = 1
        columns = {"buffers": {"a": size, "b": size}, "slices": slices}
    return Schedule.of(
        2, rank=np.repeat([0, 1], n), kind=[kind] * (2 * n), amount=size, op=after, on=[i - 1 for i in after], **columns
    )


def write(chosen: Iterable[Item], folder: str | os.PathLike[str]) -> None:
    """Write the parts of items that are schedules where the program that carries them out looks for them."""
    for one in chosen:
        if one.kind == SCHEDULE:
            schedule = carried(one)
            partner = np.asarray(meetings(schedule).partner)
            write_parts(schedule, partner, Path(folder) / str(one.parameters["parts"]), compute=1.0, check=False)


def carried(one: Item) -> Schedule:
    """Return the schedule of an item."""
    p = one.parameters
    return schedule_of(str(p["what"]), int(p["bytes"]), int(p["n"]))


def states(samples: Samples) -> list[tuple[float, float]]:
    """Return the states of the machine in which items were measured, the most frequent one first.

    Returns
    -------
    list of (float, float)
        Seconds that a flag took in each, as a median, and the share of the samples.
    """
    parts = [one.column("flag") for one in samples if one.kind == SCHEDULE and len(one)]
    flags = np.sort(np.concatenate(parts)) if parts else np.empty(0)
    found, left = [], flags
    while len(left):
        ends = np.searchsorted(left, left * _STATE, side="right")
        first = int(np.argmax(ends - np.arange(len(left))))
        last = int(ends[first])
        found.append((float(np.median(left[first:last])), (last - first) / len(flags)))
        left = np.concatenate([left[:first], left[last:]])
    return sorted(found, key=lambda one: -one[1])


def in_state(samples: Samples, flag: float) -> Samples:
    """Return the samples of schedules in the state in which a flag takes so many seconds; others as they are."""

    def kept(one: Series) -> Series:
        if one.kind != SCHEDULE or not len(one):
            return one
        flags = one.column("flag")
        inside = (flags >= flag / _STATE) & (flags <= flag * _STATE)
        if inside.sum() < _ENOUGH:
            inside[:] = False
        return dataclasses.replace(one, values=one.values[inside], rounds=one.rounds[inside])

    return Samples([kept(one) for one in samples], samples.facts)
