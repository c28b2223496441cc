"""Timelines and recordings beside each other: what was measured and what was predicted are the same kind of thing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InvalidInput
from ..units import percent
from .comparison import Comparison

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..schedule.program import Program
    from ..simulation.timeline import Timeline


@dataclass(frozen=True, eq=False)
class Times:
    """When ranks finished, and where their time went, in seconds.

    Attributes
    ----------
    finish : array of float, ranks
    shares : mapping of str to array of float, ranks
        Computation, everything else (communication), and finer shares where they are known.
    notes : tuple of str
        What to be careful about.
    """

    finish: NDArray[np.float64]
    shares: Mapping[str, NDArray[np.float64]]
    notes: tuple[str, ...] = ()
    details: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    @property
    def ranks(self) -> int:
        return len(self.finish)


def predicted(timeline: Timeline, name: str) -> Times:
    """The times of a simulation, or of a run."""
    notes = []
    if timeline.ran is not None:
        notes.append(f"{name} was measured")
        if timeline.ran.compute != 1:
            notes.append(f"{name}: computations took {timeline.ran.compute:g} times as long as the schedule says")
        if timeline.ran.note:
            notes.append(f"{name}: {timeline.ran.note}")
    if timeline.deadlock is not None:
        notes.append(f"{name} did not end: some ranks are stuck")
    if timeline.stopped:
        notes.append(f"{name} was stopped: its times are lower bounds")
    if timeline.record == "finish":
        return Times(timeline.finish, {}, tuple(notes))
    parts = timeline.breakdown
    compute = parts["compute"]
    shares = {"compute": compute, "communication": np.maximum(timeline.finish - compute, 0.0)}
    return Times(
        timeline.finish, shares, tuple(notes), {k: v for k, v in parts.items() if k not in ("compute", "idle")}
    )


def measured(program: Program, name: str) -> Times:
    """The times of a recording, from the end of MPI_Init on.

    Raises
    ------
    InvalidInput
        For a program that was not recorded.
    """
    from ..schedule.program import EventKind

    recording = program.recording
    if recording is None:
        raise InvalidInput(f"{name} was not recorded and has no times; name machines to predict them")
    compute = np.zeros(program.ranks)
    for rank in range(program.ranks):
        events = slice(int(program.first[rank]), int(program.first[rank + 1]))
        amounts = program.amount[events][program.kind[events] == EventKind.compute]
        compute[rank] = amounts.sum(dtype=np.float64) * 1e-12
    notes = [f"{name} was measured"]
    if recording.oversubscribed:
        notes.append(f"{name}: {recording.oversubscribed}")
    communication = np.maximum(recording.wall - compute, 0.0)
    return Times(np.asarray(recording.wall), {"compute": compute, "communication": communication}, tuple(notes))


def compare_times(times: Sequence[Times], names: Sequence[str]) -> Comparison:
    """The last rank's end, means over ranks of the shares, and how much others differ from the first.

    Raises
    ------
    InvalidInput
        For different numbers of ranks.
    """
    ranks = {one.ranks for one in times}
    if len(ranks) != 1:
        counts = ", ".join(f"{name} has {one.ranks:,}" for name, one in zip(names, times, strict=True))
        raise InvalidInput(f"all must have the same number of ranks: {counts}")
    rows = [_row("time", [float(one.finish.max(initial=0.0)) for one in times], names)]
    rows.append(_row("mean end of ranks", [float(one.finish.mean()) for one in times], names))
    for share in ("compute", "communication"):
        rows.append(_row(share, [_mean(one.shares, share) for one in times], names))
    for share in dict.fromkeys(key for one in times for key in one.details):
        values = [_mean(one.details, share) for one in times]
        if any(values):
            rows.append(_row(f"  {share.replace('_', ' ')}", values, names))
    notes = tuple(dict.fromkeys(note for one in times for note in one.notes))
    last = len(names) > 1 and len({one.ranks for one in times}) == 1 and len(times) == 2
    if last and times[0].finish.max(initial=0.0) > 0:
        apart = np.abs(times[1].finish - times[0].finish) / np.maximum(times[0].finish, 1e-30)
        notes += (f"ranks end {percent(float(np.median(apart)), 1)} apart at the median, at most "
                  f"{percent(float(apart.max()), 1)} (rank {int(apart.argmax())})",)  # fmt: skip
    bars = {
        name: {share: float(values.mean()) for share, values in one.shares.items()}
        or {"time": float(one.finish.mean())}
        for name, one in zip(names, times, strict=True)
    }
    unit = dict.fromkeys(names, "s") | {f"{name} to {names[0]}": "ratio" for name in names[1:]}
    return Comparison("times", tuple(names), tuple(rows), unit, notes, bars)


def _mean(shares: Mapping[str, NDArray[np.float64]], share: str) -> float | None:
    return float(shares[share].mean()) if share in shares else None


def _row(what: str, values: Sequence[float | None], names: Sequence[str]) -> dict[str, object]:
    return {"mean over ranks": what, **beside(values, names)}


def beside(values: Sequence[float | None], names: Sequence[str]) -> dict[str, float | None]:
    """Values by name, and how much all others differ from the first."""
    first = values[0]
    row = dict(zip(names, values, strict=True))
    for name, value in zip(names[1:], values[1:], strict=True):
        row[f"{name} to {names[0]}"] = value / first - 1 if first and value is not None else None
    return row
