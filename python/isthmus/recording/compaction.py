"""Events that do nothing, taken out of a Program in the making."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..schedule.program import NULL, PEERED, EventKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Kinds that do nothing without a partner; those that open requests stay, as they are waited for.
_IDLE = tuple(kind for kind in PEERED if kind not in (EventKind.isend, EventKind.irecv))


def compacted(
    events: dict[str, NDArray[Any]], details: NDArray[np.int64], first: NDArray[np.int64], of_calls: NDArray[np.int64]
) -> tuple[dict[str, NDArray[Any]], NDArray[np.int64], NDArray[np.int64]]:
    """Columns without the blocking calls whose partner does not exist.

    Parameters
    ----------
    first : array of int64, ranks + 1
    of_calls : array of int64
        Events that calls refer to; -1: none, which those become whose event goes.

    Returns
    -------
    events, first, of_calls
    """
    kind = events["kind"]
    idle = np.isin(kind, _IDLE) & (events["peer"] == NULL)
    both = idle & (kind == EventKind.sendrecv)
    idle[both] = details[events["detail"][both].astype(np.int64) + 1] == NULL
    if not idle.any():
        return events, first, of_calls
    place = np.concatenate([[0], np.cumsum(~idle)])
    gone = (of_calls >= 0) & idle[of_calls] if len(idle) else of_calls >= 0
    moved = np.where((of_calls >= 0) & ~gone, place[of_calls], -1)
    return {name: column[~idle] for name, column in events.items()}, place[first], moved
