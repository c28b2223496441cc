"""Removal of events that do nothing from a Program in the making."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..schedule.columns import among, blocks, is_repeated
from ..schedule.program import NULL, PEERED, EventKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Kinds that do nothing without a partner; those that open requests stay, as they are waited for.
_IDLE = tuple(kind for kind in PEERED if kind not in (EventKind.isend, EventKind.irecv))


def compacted(
    events: dict[str, NDArray[Any]], details: NDArray[np.int64], first: NDArray[np.int64], of_calls: NDArray[np.int64]
) -> tuple[dict[str, NDArray[Any]], NDArray[np.int64]]:
    """Columns without the blocking calls whose partner does not exist; they are changed in place.

    Parameters
    ----------
    first : array of int64, ranks + 1
    of_calls : array of int64
        Events that calls refer to, which are renumbered; -1: none, which those become whose event goes.

    Returns
    -------
    events, first
    """
    size = len(events["kind"])
    found = [_idle(events, details, part) for part in blocks(size)]
    gone = np.concatenate([np.empty(0, np.int64), *found])
    if not len(gone):
        return events, first
    kept = 0
    moved = [column for column in events.values() if not is_repeated(column)]
    for part, idle in zip(blocks(size), found, strict=True):
        stays = np.ones(part.stop - part.start, np.bool_)
        stays[idle - part.start] = False
        length = len(stays) - len(idle)
        for column in moved:
            column[kept : kept + length] = column[part][stays]
        kept += length
    for part in blocks(len(of_calls)):
        of = of_calls[part]
        place = np.searchsorted(gone, of)
        lost = (of < 0) | (gone[np.minimum(place, len(gone) - 1)] == of)
        of_calls[part] = np.where(lost, -1, of - place)
    return {name: column[:kept] for name, column in events.items()}, first - np.searchsorted(gone, first)


def _idle(events: dict[str, NDArray[Any]], details: NDArray[np.int64], part: slice) -> NDArray[np.int64]:
    """Events of a part that do nothing."""
    kind = events["kind"][part]
    idle = (events["peer"][part] == NULL) & among(kind, _IDLE)
    both = np.flatnonzero(idle & (kind == EventKind.sendrecv))
    idle[both] = details[events["detail"][part][both].astype(np.int64) + 1] == NULL
    found: NDArray[np.int64] = part.start + np.flatnonzero(idle)
    return found
