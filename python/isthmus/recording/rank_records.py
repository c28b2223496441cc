"""Records of one rank: those of all its threads in one order, by the clock of rank 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..schedule.details import ranges
from ..schedule.recording import NONE
from . import raw

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .clocks import Clock
    from .functions import Functions

#: Nanoseconds between polls above which a program computes there: a loop that only waits asks again at once.
_POLL_GAP = 20_000
# Numbers up to this one are looked up in a table.
_TABLE = 1 << 20


@dataclass
class Steps:
    """Steps of one rank, sorted by their begin.

    Attributes
    ----------
    table : structured array of raw.STEP
        Functions are numbered for all ranks, paths are numbered for all ranks; times are those of rank 0's clock.
    thread : array of uint16
    items : dict of int to raw.Items
        By form, in the order of steps.
    counts, counts_first : arrays of int64
        Those of collective i are ``counts[counts_first[i]:][:items[raw.COLLECTIVE].item["counts"][i]]``.
    groups, groups_first, groups_length : arrays
        The same for one-sided calls.
    enter, leave : arrays of int64
        When each step begins and ends relative to those of other threads: numbers in the order of time.
    overlapping : bool
        Whether threads were in MPI at the same time.
    own_after : int
        Nanoseconds that the recorder took after the last step.
    """

    table: NDArray[Any]
    thread: NDArray[np.uint16]
    items: dict[int, raw.Items]
    counts: NDArray[np.int64]
    counts_first: NDArray[np.int64]
    groups: NDArray[np.int32]
    groups_first: NDArray[np.int64]
    groups_length: NDArray[np.int64]
    enter: NDArray[np.int64]
    leave: NDArray[np.int64]
    overlapping: bool
    own_after: int

    def __len__(self) -> int:
        return len(self.table)


def joined(traces: Sequence[raw.Trace], clock: Clock, functions: Functions, paths: Sequence[dict[int, int]]) -> Steps:
    """The steps of a rank; ``paths`` gives for each trace the program's number of each of its paths."""
    tables = []
    for trace, numbers in zip(traces, paths, strict=True):
        table = trace.steps
        # A name may be missing where there was no room for it.
        known = {id: functions[name] for id, name in trace.functions.items()}
        for id in np.flatnonzero(np.bincount(table["function"][table["kind"] != raw.MARK])).tolist():
            if id not in known:
                known[id] = functions[f"function {id}"]
        table["function"] = _mapped(table["function"], known, 0)
        table["path"] = _mapped(table["path"], numbers, NONE)
        table["begin"], table["end"] = clock.convert(table["begin"]), clock.convert(table["end"])
        tables.append(table)
    table = np.concatenate(tables) if len(tables) > 1 else tables[0]
    thread = np.repeat(np.array([int(t.header["thread"]) for t in traces], np.uint16), [len(t.steps) for t in traces])
    if len(traces) == 1:
        return _alone(traces[0], table, thread)
    base = np.cumsum([0, *(len(t.steps) for t in traces)])
    items, order = {}, np.argsort(table["begin"], kind="stable")
    at = np.empty(len(table), np.int64)
    at[order] = np.arange(len(table))
    by_form = {}
    for form in traces[0].items:
        step = np.concatenate([at[t.items[form].step + base[i]] for i, t in enumerate(traces)])
        by_form[form] = np.argsort(step, kind="stable")
        item = np.concatenate([t.items[form].item for t in traces])
        items[form] = raw.Items(step[by_form[form]], item[by_form[form]])
    table, thread = table[order], thread[order]
    counts_length = np.concatenate([t.items[raw.COLLECTIVE].item["counts"] for t in traces]).astype(np.int64)
    groups_length = np.concatenate([t.groups_length for t in traces])
    enter, leave, overlapping = _points(table)
    return Steps(
        table,
        thread,
        items,
        np.concatenate([t.counts for t in traces]),
        (np.cumsum(counts_length) - counts_length)[by_form[raw.COLLECTIVE]],
        np.concatenate([t.groups for t in traces]),
        (np.cumsum(groups_length) - groups_length)[by_form[raw.RMA]],
        groups_length[by_form[raw.RMA]],
        enter,
        leave,
        overlapping,
        traces[0].own_after,
    )


def _mapped(numbers: NDArray[Any], names: dict[int, int], otherwise: int) -> NDArray[np.int64]:
    """Numbers of one file as those of the program."""
    if len(numbers) and numbers.max() < _TABLE:
        table: NDArray[np.int64] = np.full(int(numbers.max()) + 1, otherwise, np.int64)
        known = [number for number in names if number < len(table)]
        table[known] = [names[number] for number in known]
        mapped: NDArray[np.int64] = table[numbers]
        return mapped
    different, index = np.unique(numbers, return_inverse=True)
    return np.array([names.get(number, otherwise) for number in different.tolist()], np.int64)[index]


def _alone(trace: raw.Trace, table: NDArray[Any], thread: NDArray[np.uint16]) -> Steps:
    """The steps of the only thread, which stand in order; ``table`` has what became of them."""
    counts_length = trace.items[raw.COLLECTIVE].item["counts"].astype(np.int64)
    step = np.arange(len(table))
    return Steps(
        table,
        thread,
        trace.items,
        trace.counts,
        np.cumsum(counts_length) - counts_length,
        trace.groups,
        np.cumsum(trace.groups_length) - trace.groups_length,
        trace.groups_length,
        2 * step,
        2 * step + 1,
        False,
        trace.own_after,
    )


def _points(table: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64], bool]:
    step = np.arange(len(table))
    latest = np.maximum.accumulate(table["end"])
    if not (table["begin"][1:] < latest[:-1]).any():
        return 2 * step, 2 * step + 1, False
    time = np.stack([table["begin"], np.maximum(table["end"], table["begin"])], axis=1).reshape(-1)
    # Among points at the same time, those of earlier steps come first, and every begin before its end.
    place = np.empty(len(time), np.int64)
    place[np.argsort(time, kind="stable")] = np.arange(len(time))
    return place[::2].copy(), place[1::2].copy(), True


def computed(steps: Steps, begin: int, end: int, polls: NDArray[np.bool_]) -> tuple[NDArray[np.int64], int]:
    """Nanoseconds that the rank computed up to each point in time (``enter`` and ``leave``), and after the last.

    What the recorder itself took is taken off, and how much that is in all is returned, too.

    A gap between calls counts as what the processor was busy in it, where that is known. Gaps of a loop that asks for
    something until it is there are time of waiting.

    Parameters
    ----------
    begin, end : int
        When the rank began and ceased to do what it is about: the end of MPI_Init, the begin of MPI_Finalize.
    polls : array of bool
        Which functions ask without waiting.
    """
    table = steps.table
    if steps.overlapping:
        worked, own = _computed_by_threads(steps, begin, end, polls)
    else:
        worked = np.zeros(2 * len(table) + 1, np.int64)
        worked[:-1:2], own = busy(table, _ends(table, begin)[:-1], polls)
        worked[1::2], more = between_polls(table)
        last = max(end - int(_ends(table, begin)[-1]), 0)
        worked[-1] = max(last - steps.own_after, 0)
        own += more + last - int(worked[-1])
    if len(table) and table["kind"][-1] == raw.MARK and table["form"][-1] == raw.OFF:
        worked[-1] = 0
    return worked, own


def _ends(table: NDArray[Any], begin: int) -> NDArray[np.int64]:
    """``begin``, and when all up to each step of one thread was over: loops may poll several things in turn."""
    return np.maximum.accumulate(np.concatenate([[begin], table["end"]]))


def busy(table: NDArray[Any], since: NDArray[np.int64], polls: NDArray[np.bool_]) -> tuple[NDArray[np.int64], int]:
    """Nanoseconds of computation between ``since``, the end of the step before, and each step of one thread.

    How much was taken off for the recorder is returned, too.
    """
    gap = np.maximum(table["begin"] - since, 0)
    known = table["cpu_gap"] >= 0
    gap[known] = np.minimum(gap[known], table["cpu_gap"][known])
    asking = (table["kind"] == raw.POLLS) | ((table["kind"] == raw.CALL) & polls[table["function"]])
    waiting = (table["kind"] == raw.POLLS) & (table["form"] == raw.WAITING)
    in_loop = asking[1:] & waiting[:-1] & (gap[1:] < _POLL_GAP)
    gap[1:][in_loop] = 0
    # What happened while recording was off is not known.
    gap[(table["kind"] == raw.MARK) & (table["form"] == raw.ON)] = 0
    # That of folded calls is before the first of them only.
    folded = table["kind"] == raw.POLLS
    each = table["own"] // np.maximum(np.where(folded, table["count"], 1), 1)
    own = np.minimum(gap, each)
    return gap - own, int(own.sum())


def between_polls(table: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    """Nanoseconds of computation of one thread within each step: between polls, where these are far apart.

    Polls in a row belong to one loop; the last of them gets what was computed in it. In loops of calls that had nothing
    to do that is all the processor time between them, without what the recorder took, which is returned, too.
    """
    polled = np.flatnonzero(table["kind"] == raw.POLLS)
    worked = np.zeros(len(table), np.int64)
    if not len(polled):
        return worked, 0
    first = np.flatnonzero(np.concatenate([[True], np.diff(polled) > 1]))
    begin = table["begin"][polled[first]]
    end = np.maximum.reduceat(table["end"][polled], first)
    outside = end - begin - np.add.reduceat(table["inside"][polled], first)
    gaps = np.add.reduceat(table["count"][polled].astype(np.int64), first) - 1
    last = polled[np.append(first[1:], len(polled)) - 1]
    idle = np.logical_and.reduceat(table["form"][polled] == raw.IDLE, first)
    outside -= np.add.reduceat(table["value"][polled], first)
    lasting = np.maximum(outside, 0) * ((gaps > 0) & (idle | (outside >= _POLL_GAP * gaps)))
    own = np.where(idle, np.minimum(np.add.reduceat(table["own"][polled], first), lasting), 0)
    worked[last] = lasting - own
    return worked, int(own.sum())


def _computed_by_threads(steps: Steps, begin: int, end: int, polls: NDArray[np.bool_]) -> tuple[NDArray[np.int64], int]:
    """Merges the records of threads that are in MPI at the same time.

    Their events stand one after another in the Program: what they compute at the same time must not be added up.
    Between any two points in time the rank is as busy as the busiest of its threads.
    """
    table = steps.table
    time = np.empty(2 * len(table) + 1, np.int64)
    time[steps.enter], time[steps.leave] = table["begin"], np.maximum(table["end"], table["begin"])
    time[-1] = max(end, int(time[-2]))
    length = np.diff(np.concatenate([[min(begin, int(time[0]))], time]))
    point = np.arange(len(time))
    share = np.zeros(len(time))
    polled = np.zeros(len(time), np.int64)
    own = 0
    for thread in np.unique(steps.thread):
        of = np.flatnonzero(steps.thread == thread)
        mine = table[of]
        since = _ends(mine, begin if thread == 0 else int(mine["begin"][0]))[:-1]
        worked, taken = busy(mine, since, polls)
        own += taken
        busy_share = worked / np.maximum(mine["begin"] - since, 1)
        # An interval up to a point is within the step that was entered before and is left then or later.
        entered = np.searchsorted(steps.enter[of], point)
        left = np.searchsorted(np.sort(steps.leave[of]), point)
        # What a thread does after its last call is not known: it may wait for others. At the end the program goes on.
        busy_share = np.append(busy_share, 0.0)[entered]
        share = np.maximum(share, np.where(entered == left, busy_share, 0.0))
        polled[steps.leave[of]], taken = between_polls(mine)
        own += taken
    share[-1] = 1.0
    return np.rint(length * share).astype(np.int64) + polled, own


def lists(values: NDArray[Any], first: NDArray[np.int64], length: NDArray[np.int64]) -> NDArray[Any]:
    """Parts of ``values``, one after another."""
    return values[ranges(first, length)]
