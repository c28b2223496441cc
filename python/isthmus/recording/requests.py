"""Requests of one rank: which completion belongs to which call that opened it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import raw

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .rank_records import Steps


@dataclass
class Requests:
    """Calls that opened requests, form after form, and requests that completed.

    Attributes
    ----------
    form, index : arrays of int64
        For each opening, the form of its item and the index among the items of that form.
    request : array of int64
        Number of the request of each opening.
    done_by : array of int64
        The completion of each opening; -1: it did not complete.
    done : structured array of raw.DONE_ITEM, and done_step : array of int64
        Completions, in the order of steps.
    closes : array of int64
        The opening of each completion; -1: it was opened where nothing was recorded.
    """

    form: NDArray[np.int64]
    index: NDArray[np.int64]
    request: NDArray[np.int64]
    done_by: NDArray[np.int64]
    done: NDArray[Any]
    done_step: NDArray[np.int64]
    closes: NDArray[np.int64]
    next: int

    def new(self, count: int) -> NDArray[np.int64]:
        """Numbers for requests that the recorded program did not have."""
        self.next += count
        return np.arange(self.next - count, self.next)

    def of(self, form: int) -> NDArray[np.int64]:
        """Openings of this form."""
        return np.flatnonzero(self.form == form)

    def completed(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Completions of what is known to have been opened, and the form of that."""
        row = np.flatnonzero(self.closes >= 0)
        return row, self.form[self.closes[row]]


def requests_of(steps: Steps, least: int = 0) -> Requests:
    """Openings and completions, paired; numbers of requests that the program did not have are from ``least`` on.

    A request number is used again only after its completion (persistent requests), so that of one number openings and
    completions follow each other in turn; what has no other half was cut off, or happened while recording was off.
    """
    done = steps.items[raw.DONE].item
    done_step = steps.items[raw.DONE].step
    numbered = done["request"] != 0
    done, done_step = done[numbered], done_step[numbered]
    opened, form, index, step = [], [], [], []
    for f in (raw.MESSAGE, raw.COLLECTIVE, raw.RMA, raw.CREATED):
        items = steps.items[f]
        opens = items.item["request"] != 0
        if f == raw.COLLECTIVE:
            opens &= (items.item["flags"] & raw.CREATED_ONLY) == 0
        which = np.flatnonzero(opens)
        opened.append(items.item["request"][which].astype(np.int64))
        form.append(np.full(len(which), f))
        index.append(which)
        step.append(items.step[which])
    request, opening_step = np.concatenate(opened), np.concatenate(step)
    largest = max(int(request.max(initial=0)), int(done["request"].max(initial=0)))
    next_request = max(largest + 1, least)
    # MPI_Isendrecv opens one request for two messages: the second gets a number, and completions, of its own.
    again = np.flatnonzero((request[1:] == request[:-1]) & (opening_step[1:] == opening_step[:-1])) + 1
    if len(again):
        own = np.arange(next_request, next_request + len(again))
        next_request += len(again)
        done, done_step = _doubled(done, done_step, request[again], opening_step[again], own)
        request[again] = own
    closes, done_by = _paired(steps, request, opening_step, done, done_step)
    # What nobody waits for must not keep its number from being opened again.
    left = done_by < 0
    if len(done):
        left |= done["flags"][done_by] & raw.FREED != 0
    request[left] = np.arange(next_request, next_request + int(left.sum()))
    next_request += int(left.sum())
    return Requests(
        np.concatenate(form), np.concatenate(index), request, done_by, done, done_step, closes, next_request
    )


def _doubled(
    done: NDArray[Any],
    done_step: NDArray[np.int64],
    request: NDArray[np.int64],
    step: NDArray[np.int64],
    own: NDArray[np.int64],
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Completions with those added of requests that stand for two: each the first after its step."""
    order = np.lexsort((done_step, done["request"]))
    key = (done["request"].astype(np.int64) << 32 | done_step)[order]
    after = np.searchsorted(key, request << 32 | step)
    found = after < len(key)
    found[found] = done["request"][order[after[found]]] == request[found]
    first = order[after[found]]
    more = done[first]
    more["request"] = own[found]
    joined = np.concatenate([done, more])
    steps = np.concatenate([done_step, done_step[first]])
    order = np.argsort(steps, kind="stable")
    return joined[order], steps[order]


def _paired(
    steps: Steps,
    request: NDArray[np.int64],
    opening_step: NDArray[np.int64],
    done: NDArray[Any],
    done_step: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    number = np.concatenate([request, done["request"].astype(np.int64)])
    point = np.concatenate([steps.enter[opening_step], steps.leave[done_step]])
    order = np.lexsort((point, number))
    openings = len(request)
    first, second = order[:-1], order[1:]
    pairs = (first < openings) & (second >= openings) & (number[first] == number[second])
    closes, done_by = np.full(len(done), -1), np.full(openings, -1)
    closes[second[pairs] - openings] = first[pairs]
    done_by[first[pairs]] = second[pairs] - openings
    return closes, done_by
