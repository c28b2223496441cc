"""The Timeline of a run, from the times that its ranks wrote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ParseError
from ..machine import Level
from ..schedule.schedule import OpKind, Schedule
from ..simulation.ran import Ran
from ..simulation.saved_result import SavedResult
from ..simulation.timeline import SHARES, Timeline
from .carried import Carried
from .parts import EAGER

if TYPE_CHECKING:
    from numpy.typing import NDArray

_COMPUTING = (OpKind.calc, OpKind.copy, OpKind.reduce)
_MOVING = (OpKind.send, OpKind.put, OpKind.get)
_EMPTY: dict[str, Any] = {"lost": np.int64, "parked": np.int64, "link_bytes": np.float64, "link_slices": np.float32,
          "route_messages": np.uint64, "route_links": np.uint32, "route_ends": np.uint64,
          "log": np.uint64, "log_noise": np.int64, "log_time": np.int64}  # fmt: skip


def read_runs(folder: Path) -> tuple[dict[str, str], NDArray[np.int64], NDArray[np.int64]]:
    """What rank 0 says of all runs.

    Returns
    -------
    facts : dict of str
        ``library``, ``host``, and ``shown``: which run of the second series the times of operations are of.
    quick, traced : arrays of int64, shape (runs, 2)
        Of each run when the last rank ended, and when the last one began, in nanoseconds after its begin: of those in
        which nothing else was looked at, and of those in which every operation was.

    Raises
    ------
    ParseError
        If the file ends too early.
    """
    path = folder / "runs"
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    if not lines or lines[-1] != "end":
        raise ParseError(str(path), None, None, "it ends too early")
    words = [line.partition(" ") for line in lines[:-1]]
    series = {
        kind: np.array([[int(number) for number in rest.split()] for key, _, rest in words if key == kind], np.int64)
        for kind in ("quick", "traced")
    }
    facts = {key: rest for key, _, rest in words if key not in series}
    return facts, series["quick"], series["traced"]


def assemble(schedule: Schedule, does: Carried, folder: Path, ran: Ran, wall: float) -> Timeline:
    """Make the Timeline.

    Parameters
    ----------
    schedule : Schedule
    does : Carried
        What the ranks did for it.
    folder : Path
        Where the ranks wrote their times.
    ran : Ran
    wall : float
        Seconds that everything took.

    Raises
    ------
    ParseError
        If a file of a rank is not as long as it must be.
    """
    first = does.schedule.op_first.view(np.int64)
    start, end = np.empty(len(does.schedule), np.int64), np.empty(len(does.schedule), np.int64)
    finish = np.empty(schedule.ranks, np.int64)
    for rank in range(schedule.ranks):
        path = folder / f"steps.{rank}"
        times = np.fromfile(path, "<i8")
        count = int(first[rank + 1] - first[rank])
        if len(times) != 2 + 2 * count:
            raise ParseError(str(path), None, None, f"it has {len(times)} numbers: must be {2 + 2 * count}")
        own = slice(first[rank], first[rank + 1])
        finish[rank] = 1000 * times[1]
        start[own] = 1000 * (times[2 : 2 + count] - times[0])
        end[own] = 1000 * (times[2 + count :] - times[0])
    start, end = start[does.begins], end[does.ends]
    first, kind, partner = schedule.op_first.view(np.int64), schedule.ops["kind"], does.partners(schedule)
    busy = np.where(np.isin(kind, _COMPUTING), end - start, 0)
    posted = (kind == OpKind.send) & (schedule.ops["amount"] <= EAGER)
    busy[posted] = (end - start)[posted]
    breakdown = np.zeros((schedule.ranks, len(SHARES)), np.int64)
    makespan = int(finish.max(initial=0))
    for rank in range(schedule.ranks):
        breakdown[rank] = _shares(slice(first[rank], first[rank + 1]), kind, start, end, busy, partner, finish[rank])
        breakdown[rank, SHARES.index("idle")] = makespan - finish[rank]
    sends = kind == OpKind.send
    moves = np.isin(kind, _MOVING)
    handled = np.full(len(schedule), -1, np.int64)
    handled[sends] = end[partner[sends]]
    none, small = np.empty(0, np.uint32), np.empty(0, np.uint8)
    rest: dict[str, Any] = {name: np.empty(0, dtype) for name, dtype in _EMPTY.items()}
    result = SavedResult(
        makespan=makespan,
        messages=int(moves.sum()),
        bytes=int(schedule.ops["amount"][moves].sum()),
        executed=len(schedule),
        events=0,
        simulated_ranks=schedule.ranks,
        stopped=False,
        finish=finish,
        breakdown=breakdown,
        start=start,
        end=end,
        partner=partner.copy(),
        busy=busy,
        handled=handled,
        stuck=(none, none, small),
        orphans=(none, none, none, np.empty(0, np.int64)),
        **rest,
    )
    return Timeline(schedule, Level(), result, wall=wall, record="ops", ran=ran)


def _shares(
    own: slice,
    kinds: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    busy: NDArray[np.int64],
    partner: NDArray[np.int64],
    finish: int,
) -> NDArray[np.int64]:
    """Where the time of one rank went: between two moments at which something began or ended, it did one thing.

    What ends the time between two moments says what it was for: an operation that kept the processor busy, or a message
    that was waited for, which the other side may have begun late.
    """
    out = np.zeros(len(SHARES), np.int64)
    count = own.stop - own.start
    kind, start, end = kinds[own], starts[own], ends[own]
    time = np.concatenate([start, end])
    order = np.argsort(time, kind="stable")
    op, is_end = order % max(count, 1), order >= count
    before = np.concatenate([[0], time[order][:-1]]) if count else np.empty(0, np.int64)
    took = time[order] - before
    whole = is_end & (busy[own][op] > 0)  # it began at the moment before
    for share, chosen in (
        ("compute", whole & np.isin(kind[op], _COMPUTING)),
        ("send_overhead", whole & (kind[op] == OpKind.send)),
    ):
        out[SHARES.index(share)] = took[chosen].sum()
    waited = is_end & ~whole
    for share, side in (("late_sender", OpKind.recv), ("late_receiver", OpKind.send)):
        index = np.flatnonzero(waited & (kind[op] == side))
        other = starts[partner[own][op[index]]]
        late = np.clip(other - before[index], 0, took[index])
        out[SHARES.index(share)] = late.sum()
    out[SHARES.index("latency")] = finish - out.sum()
    return out
