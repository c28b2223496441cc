"""Requests and answers of messages by rendezvous as messages of their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..machine import Allocation, Level, Machine
from ..machine.placement import Placement
from ..schedule.schedule import Schedule


def with_handshakes(
    schedule: Schedule, machine: Machine | Level, placement: Allocation | Placement | ArrayLike | None = None
) -> Schedule:
    """Return the schedule in which messages by rendezvous between nodes wait for a request and its answer.

    Both are messages of one byte, which take processors and interfaces in their turn: an answer waits behind the data
    that its rank is sending. Messages to ranks that receive from any source, or any tag, stay as they are.

    Parameters
    ----------
    schedule : Schedule
    machine : Machine or Level
        Its network level says which messages are by rendezvous: those of more than ``S`` bytes.
    placement : Allocation, Placement or array of int, optional
        As of :func:`isthmus.simulate`.
    """
    from .simulate import located

    if isinstance(machine, Level):
        node, eager = np.empty(0, np.uint32), machine.S
    else:
        node = np.ascontiguousarray(located(schedule.ranks, machine, placement).node, np.uint32)
        eager = machine.level.network.S
    return Schedule(schedule.arrays.with_handshakes(node, int(min(max(eager, 0.0), 2.0**63))))
