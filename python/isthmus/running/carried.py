"""What ranks do for a schedule: its operations, with messages in place of puts and gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..schedule.schedule import OpKind, Schedule
from .parts import meetings

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MESSAGES = (OpKind.send, OpKind.recv)


@dataclass(frozen=True, slots=True)
class Carried:
    """A schedule without puts and gets, that does what another one says.

    Parameters
    ----------
    schedule : Schedule
    partner : array of int64
        The send of every receive, and vice versa.
    begins, ends : array of int64
        Of every operation of the other schedule, the one that begins when it does, and the one that ends when it does.
    """

    schedule: Schedule
    partner: NDArray[np.int64]
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]

    def partners(self, given: Schedule) -> NDArray[np.int64]:
        """Return the partners of the messages of the other schedule, -1 for what is no message."""
        number = np.full(len(self.schedule), -1, np.int64)
        number[self.begins] = np.arange(len(given))
        out = np.full(len(given), -1, np.int64)
        messages = np.isin(given.ops["kind"], _MESSAGES)
        out[messages] = number[self.partner[self.begins[messages]]]
        return out


def carried(schedule: Schedule) -> Carried:
    """Return what ranks do; errors are those of :func:`isthmus.running.parts.meetings`.

    A put is a message, which the target receives into its place whenever it comes, and an answer; a get is a request
    and its answer. In both the target goes on with it between its own operations.
    """
    partner = np.asarray(meetings(schedule).partner)
    if not np.isin(schedule.ops["kind"], (OpKind.put, OpKind.get)).any():
        same = np.arange(len(schedule))
        return Carried(schedule, partner, same, same)
    arrays, begins, ends = schedule.arrays.two_sided()
    messages = Schedule(arrays)
    return Carried(messages, np.asarray(meetings(messages).partner), begins.astype(np.int64), ends.astype(np.int64))
