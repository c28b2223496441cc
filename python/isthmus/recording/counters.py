"""Processor counters: which are requested, and what they counted in the computations of a recording."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from ..schedule.counters import FLOPS, Counters
from . import raw
from .flops import flop_events
from .headers import text

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: What is counted unless told otherwise.
DEFAULT = "instructions,cycles"
#: Counters by the names that ``perf list`` gives them: type and number of perf_event_open(2).
EVENTS = {
    "cycles": (0, 0), "instructions": (0, 1), "cache-references": (0, 2), "cache-misses": (0, 3), "branches": (0, 4),
    "branch-misses": (0, 5), "bus-cycles": (0, 6), "ref-cycles": (0, 9), "cpu-clock": (1, 0), "task-clock": (1, 1),
    "page-faults": (1, 2), "context-switches": (1, 3), "cpu-migrations": (1, 4), "minor-faults": (1, 5),
    "major-faults": (1, 6),
}  # fmt: skip
_NONE = 0xFFFFFFFF
#: ``counter_paranoid`` where it is not known.
_UNKNOWN = 0x7FFFFFFF
# From this level on the kernel lets only the administrator count; that of Debian and Ubuntu goes to 4.
_FORBIDDING = 3


def asked(counters: str | None) -> str:
    """The counters in ``ISTHMUS_COUNTERS``; empty: none.

    Parameters
    ----------
    counters : str or None
        Names with commas between, or ``"off"``; None: instructions and cycles.

    Raises
    ------
    InvalidInput
        For a name that is unknown or given twice, and for more than four.
    """
    if counters is not None and counters.strip().lower() == "off":
        return ""
    names = [name.strip() for name in (DEFAULT if counters is None else counters).split(",")]
    events = EVENTS if set(names) <= set(EVENTS) else {**EVENTS, **flop_events()}
    for i, name in enumerate(names):
        if name in FLOPS and name not in events:
            has = [one for one in events if one in FLOPS]
            why = f"is not counted by this processor, which has {', '.join(has) or 'no counter of operations'}"
            raise InvalidInput(f"counters {counters}: {name!r} {why}")
        if name not in events or name in names[:i]:
            why = "is given twice" if name in events else f"is unknown: must be one of off, {', '.join(events)}"
            raise InvalidInput(f"counters {counters}: {name!r} {why}")
    if len(names) > raw.COUNTERS:
        raise InvalidInput(f"counters {counters}: at most {raw.COUNTERS} can be counted at a time")
    return ";".join(f"{name}:{events[name][0]}:{events[name][1]}" for name in names)


class Counting:
    """Adds up what all ranks counted while they are merged."""

    def __init__(self) -> None:
        self._sums: dict[tuple[int, int, int], NDArray[np.int64]] = {}

    def add(self, rank: int, trace: raw.Trace, paths: Mapping[int, int]) -> None:
        """Add what is in a trace; ``paths`` gives the program's number of each of its paths."""
        found = trace.counted
        pairs = found["before"].astype(np.uint64) << np.uint64(32) | found["after"]
        keys, which = np.unique(pairs, return_inverse=True)
        sums = np.zeros((len(keys), 2 + raw.COUNTERS), np.int64)
        rows = np.concatenate(
            [found["intervals"][:, None], found["ns"][:, None], found["value"]],
            axis=1,
            dtype=np.int64,
            casting="unsafe",
        )
        np.add.at(sums, which, rows)
        for pair, more in zip(keys.tolist(), sums, strict=True):
            key = (rank, paths.get(pair >> 32, _NONE), paths.get(pair & 0xFFFFFFFF, _NONE))
            self._sums[key] = self._sums.get(key, 0) + more

    def finish(self, names: Sequence[str], became: NDArray[np.uint32]) -> Counters | None:
        """The sums by paths of the Recording, given as :meth:`isthmus.recording.paths.Paths.finish` does."""
        if not names or not self._sums:
            return None
        pairs: dict[tuple[int, int, int], NDArray[np.int64]] = {}
        for (rank, *numbers), sums in self._sums.items():
            before, after = became[np.minimum(numbers, len(became) - 1)].tolist()
            pairs[rank, before, after] = pairs.get((rank, before, after), 0) + sums
        keys, table = np.array(list(pairs), np.int64), np.array(list(pairs.values()), np.int64)
        rank_of, before_of, after_of = keys.T.astype(np.uint32)
        values = np.maximum(table[:, 2 : 2 + len(names)].T, 0).astype(np.uint64)
        intervals, seconds = table[:, 0].astype(np.uint64), table[:, 1].astype(np.float64) * 1e-9
        return Counters(tuple(names), rank_of, before_of, after_of, intervals, seconds, values)


def names_of(headers: Iterable[Any]) -> list[str]:
    """Names of what was counted, as the headers of raw traces have them."""
    for header in headers:
        names = [text(name) for name in header["counters"] if name]
        if names and not header["counter_error"]:
            return names
    return []


def why_none(headers: Mapping[int, Any]) -> list[str]:
    """Why ranks could not count what was asked for: one sentence for each reason."""
    ranks: dict[str, list[int]] = {}
    names: dict[str, list[str]] = {}
    for rank, header in headers.items():
        if header["counter_error"]:
            reason = _reason(int(header["counter_error"]), int(header["counter_paranoid"]))
            ranks.setdefault(reason, []).append(rank)
            names[reason] = [text(name) for name in header["counters"] if name]
    out = []
    for reason, some in ranks.items():
        on = "" if len(some) == len(headers) else f" of {len(some)} of {len(headers)} ranks"
        out.append(f"no {' and '.join(', '.join(names[reason]).rsplit(', ', 1))}{on}: {reason}")
    return out


def _reason(error: int, paranoid: int) -> str:
    if error in (errno.EACCES, errno.EPERM):
        if paranoid != _UNKNOWN and paranoid >= _FORBIDDING:
            return f"the kernel allows none, kernel.perf_event_paranoid={paranoid}"
        return "the system does not allow perf_event_open, as in many containers"
    if error in (errno.ENOENT, errno.ENODEV, errno.EOPNOTSUPP, errno.ENODATA):
        return "this machine has none that the kernel can read, as many virtual machines"
    if error == errno.ENOSYS:
        return "the kernel has none"
    if error in (errno.EMFILE, errno.ENFILE):
        return "there are too few file descriptors"
    return os.strerror(error)
