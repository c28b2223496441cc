"""Requests and answers of messages by rendezvous as messages of their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..schedule.schedule import Schedule


def with_handshakes(schedule: Schedule, node: NDArray[np.integer] | None, largest_eager: float) -> Schedule:
    """Return the schedule in which messages by rendezvous between nodes wait for a request and its answer.

    Both are messages of one byte, which take processors and interfaces in their turn: an answer waits behind the data
    that its rank is sending. Messages to ranks that receive from any source, or any tag, stay as they are.

    Parameters
    ----------
    schedule : Schedule
    node : array of int, optional
        Node of each rank; by default each has its own.
    largest_eager : float
        Bytes up to which messages are eager.
    """
    where = np.empty(0, np.uint32) if node is None else np.ascontiguousarray(node, np.uint32)
    return Schedule(schedule.arrays.with_handshakes(where, int(min(max(largest_eager, 0.0), 2.0**63))))
