"""What the ranks did, put together: columns of all ranks, with communicators and ranks of the Program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ..schedule.program import NO_COMMUNICATOR, NULL, PEERED, EventKind
from . import raw
from .communicators import UNKNOWN, Local, worlds
from .together import Calls
from .translate import Halves, Part

if TYPE_CHECKING:
    from numpy.typing import NDArray


def concatenated(
    parts: Sequence[Part], locals_: Sequence[Local]
) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]], Halves, Calls]:
    """Events and calls of all ranks, their messages, and their calls of collectives; parts give up what is theirs."""
    event_base = call_base = 0
    together = []
    for part, local in zip(parts, locals_, strict=True):
        sizes = len(part.events["kind"]), len(part.calls["begin"])
        place = np.append(local.place, 0)[part.events["comm"][part.together]]
        _localise(part, local)
        part.halves.event += event_base
        part.calls["event"][part.calls["event"] >= 0] += event_base
        event, call = part.together + event_base, part.together_call + call_base
        together.append((event, call, place, part.together_blocking))
        event_base, call_base = event_base + sizes[0], call_base + sizes[1]
    # Column by column, so that hardly more than the result is in memory.
    events = {name: np.concatenate([part.events.pop(name) for part in parts]) for name in tuple(parts[0].events)}
    calls = {name: np.concatenate([part.calls.pop(name) for part in parts]) for name in tuple(parts[0].calls)}
    joined = {f.name: np.concatenate([part.halves.give(f.name) for part in parts]) for f in fields(Halves)}
    return events, calls, Halves(**joined), Calls(*(np.concatenate(column) for column in zip(*together, strict=True)))


def _localise(part: Part, local: Local) -> None:
    """Communicators and ranks of the Program in place of those of one rank's trace."""
    # The last element is for -1: no communicator.
    index = np.append(local.index, 0)
    shift = np.append(local.shift, 0)
    place = np.append(local.place, 0)
    inter = np.append(local.inter, False)
    events, calls, halves = part.events, part.calls, part.halves
    comm = events["comm"]
    collective = events["kind"] == EventKind.collective
    events["peer"] = _shifted(events["peer"], np.where(collective | (events["kind"] >= EventKind.put), shift[comm], 0))
    here = collective & inter[comm] & (events["peer"] == raw.ROOT)
    events["peer"][here] = place[comm][here]
    made = np.flatnonzero((events["kind"] == EventKind.comm_create) & (events["amount"] != NO_COMMUNICATOR))
    new = index[events["amount"][made].astype(np.int64)]
    events["amount"][made] = np.where(new == UNKNOWN, np.uint64(NO_COMMUNICATOR), new.astype(np.uint64))
    events["comm"] = index[comm]
    events["peer"][(events["comm"] == UNKNOWN) & np.isin(events["kind"], PEERED)] = NULL
    calls["peer"] = _shifted(calls["peer"], shift[calls["comm"]])
    calls["comm"] = index[calls["comm"]]
    halves.peer = _shifted(halves.peer, shift[halves.comm])
    halves.place = place[halves.comm]
    halves.comm = index[halves.comm]


def _shifted(peer: NDArray[Any], shift: NDArray[np.int64]) -> NDArray[Any]:
    return np.where(peer >= 0, peer + shift, peer).astype(peer.dtype)


def world_peers(
    calls: dict[str, NDArray[Any]], comm_first: NDArray[np.uint64], comm_ranks: NDArray[np.uint32]
) -> NDArray[np.int32]:
    """World ranks of the only partner of each call; -1: there is none, or it is not known."""
    known = (calls["peer"] >= 0) & (calls["comm"] >= 0)
    place = np.where(known, calls["peer"], 0)
    world = worlds(comm_first, comm_ranks, np.maximum(calls["comm"], 0), place)
    return np.where(known, world, -1).astype(np.int32)
