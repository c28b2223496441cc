"""Ranks and operations of timelines beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..schedule.schedule import OpKind
from .comparison import Part
from .times import beside

if TYPE_CHECKING:
    from ..simulation.timeline import Timeline
    from .times import Times

#: Operations that are named, those that differ most.
_NAMED = 20


def rank_rows(times: Sequence[Times], names: Sequence[str]) -> Part:
    """When every rank ended."""
    ends = [one.finish for one in times]
    rows = [{"rank": str(rank)} | beside([float(end[rank]) for end in ends], names) for rank in range(times[0].ranks)]
    return Part("End of ranks", "ranks", tuple(rows))


def operation_parts(timelines: Sequence[Timeline], names: Sequence[str]) -> tuple[tuple[Part, ...], tuple[str, ...]]:
    """How long operations took: means by kind, and the operations that differ most; and why there is nothing to say.

    An operation takes from when it may begin until it is done: a receive also while it waits for its message.
    """
    first = timelines[0]
    if short := [name for one, name in zip(timelines, names, strict=True) if one.record != "ops"]:
        return (), (
            f"{', '.join(short)}: without times of operations, which isthmus simulate --record ops -o FILE writes",
        )
    if any(one.schedule != first.schedule for one in timelines[1:]):
        return (), ("operations are not compared: the schedules differ",)
    took = [np.where(one.end_ps >= 0, (one.end_ps - one.start_ps) * 1e-12, np.nan) for one in timelines]
    kinds = first.schedule.ops["kind"]
    rows: list[dict[str, Any]] = []
    for kind in OpKind:
        chosen = kinds == kind
        # What takes no time anywhere (joints of a schedule) says nothing.
        if chosen.any() and any(np.nansum(one[chosen]) > 0 for one in took):
            means = [float(np.nanmean(one[chosen])) for one in took]
            rows.append({"mean of operations": f"{kind.name} ({int(chosen.sum()):,})"} | beside(means, names))
    return (
        Part("Operations by kind", "kinds", tuple(rows)),
        Part("Operations that differ most", "operations", tuple(_named(first, took, names))),
    ), ()


def _named(first: Timeline, took: Sequence[Any], names: Sequence[str]) -> list[dict[str, Any]]:
    apart = np.nan_to_num(np.max([np.abs(one - took[0]) for one in took[1:]], axis=0))
    ends = first.schedule.op_first.view(np.int64)
    rows = []
    for at in np.argsort(-apart, kind="stable")[:_NAMED]:
        if apart[at] == 0:
            break
        rank = int(np.searchsorted(ends, at, side="right")) - 1
        operation = int(at - ends[rank])
        words = first.schedule.rank(rank).describe(operation).split(" requires ")[0]
        values = [None if np.isnan(one[at]) else float(one[at]) for one in took]
        rows.append({"operation": f"rank {rank}, {operation}: {words}"} | beside(values, names))
    return rows
