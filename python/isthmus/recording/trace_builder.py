"""Traces of one thread built call by call, for readers of foreign formats."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from . import raw
from .raw import Communicator, Items, Place, Trace


class TraceBuilder:
    """Collects calls in the order in which they began; times are nanoseconds.

    What a call did may be told, or corrected, later: messages and collectives are known by the numbers that the methods
    return, and their fields are set by name.

    Parameters
    ----------
    thread : int
    """

    def __init__(self, thread: int = 0) -> None:
        self.thread = thread
        self.comms: list[Communicator] = []
        self._functions: dict[str, int] = {}
        self._sites: dict[str, int] = {}
        self._steps: list[list[Any]] = []
        self._items: dict[int, list[tuple[int, dict[str, int]]]] = {form: [] for form in raw.ITEMS if form != raw.START}
        self._counts: dict[int, list[int]] = {}

    def __len__(self) -> int:
        return len(self._steps)

    def call(self, function: str, form: int, begin: int, end: int, *, site: str = "", cpu_gap: int = -1) -> int:
        """A call; returns its number."""
        number = self._functions.setdefault(function, len(self._functions))
        place = self._sites.setdefault(site, len(self._sites) + 1) if site else 0
        self._steps.append([raw.CALL, form, number, place, begin, end, cpu_gap, 1, 0, 0, 0])
        return len(self._steps) - 1

    def end(self, step: int, end: int) -> None:
        """A call ended."""
        self._steps[step][5] = end

    def form(self, step: int, form: int | None = None) -> int:
        """The form of a call, set if it is given."""
        if form is not None:
            self._steps[step][1] = form
        return int(self._steps[step][1])

    def unsuccessful(self, step: int) -> None:
        """The last call asked for something which was not there; those in a row become one."""
        form, function, site, begin, end, *rest = self._steps.pop(step)[1:]
        last = self._steps[-1] if self._steps else None
        if last is not None and last[:4] == [raw.POLLS, form, function, site]:
            last[5] = end
            last[7] += 1
            last[9] += end - begin
            return
        rest[3] = end - begin
        self._steps.append([raw.POLLS, form, function, site, begin, end, *rest])

    def message(self, step: int, **fields: int) -> dict[str, int]:
        """A message of a call, with the fields of :data:`raw.MESSAGE_ITEM`; by default it asked for what came."""
        fields.setdefault("asked_peer", fields.get("peer", 0))
        fields.setdefault("asked_tag", fields.get("tag", 0))
        return self._item(raw.MESSAGE, step, fields)

    def done(self, step: int, request: int, flags: int = 0, peer: int = 0, tag: int = 0, bytes: int = 0) -> None:
        """A request that a call completed."""
        self._item(raw.DONE, step, {"request": request, "flags": flags, "peer": peer, "tag": tag, "bytes": bytes})

    def collective(self, step: int, counts: Iterable[int] = (), **fields: int) -> dict[str, int]:
        """A collective, with the fields of :data:`raw.COLLECTIVE_ITEM`."""
        listed = list(counts)
        if listed:
            self._counts[len(self._items[raw.COLLECTIVE])] = listed
        return self._item(raw.COLLECTIVE, step, {"root": raw.NO_RANK, **fields, "counts": len(listed)})

    def access(self, step: int, **fields: int) -> dict[str, int]:
        """A one-sided call, with the fields of :data:`raw.RMA_ITEM`."""
        return self._item(raw.RMA, step, fields)

    def created(self, step: int, **fields: int) -> dict[str, int]:
        """A communicator that was made, with the fields of :data:`raw.CREATED_ITEM`."""
        return self._item(raw.CREATED, step, fields)

    def _item(self, form: int, step: int, fields: dict[str, int]) -> dict[str, int]:
        self._items[form].append((step, fields))
        return fields

    def finish(self, path: str = "") -> Trace:
        """The trace."""
        steps = np.array([(*step, 0) for step in self._steps], raw.STEP)
        items = {form: _table(found, raw.ITEMS[form]) for form, found in self._items.items()}
        header = np.zeros(1, raw.HEADER)[0]
        header["thread"] = self.thread
        counts = [np.array(listed, np.int64) for _, listed in sorted(self._counts.items())]
        return Trace(
            path,
            header,
            steps,
            items,
            np.concatenate([np.empty(0, np.int64), *counts]),
            np.empty(0, np.int32),
            np.zeros(len(self._items[raw.RMA]), np.int64),
            comms=self.comms,
            sites={number: Place(0, 0, "", text) for text, number in self._sites.items()},
            paths=raw.sites_alone(self._sites.values()),
            functions={number: name for name, number in self._functions.items()},
        )


def _table(found: list[tuple[int, dict[str, int]]], dtype: np.dtype[Any]) -> Items:
    item = np.zeros(len(found), dtype)
    for name in dtype.names or ():
        item[name] = [fields.get(name, 0) for _, fields in found]
    return Items(np.array([step for step, _ in found], np.int64), item)
