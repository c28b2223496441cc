"""Recordings made by hand: calls in, a Program with its Recording out."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import isthmus
from isthmus.schedule.recording import CALL_COLUMNS, FINALIZED, NONE, RANK_COLUMNS, Recording


class Call(NamedTuple):
    """A call of a rank; times are nanoseconds."""

    rank: int
    function: str
    begin: int
    end: int
    sent: int = 0
    received: int = 0
    peer: int = -1
    site: str | None = None
    count: int = 1
    wait: int = -1
    thread: int = 0


def recording_of(ranks: int, calls: Sequence[Call], **changed: Any) -> Recording:
    """A recording of these calls; every rank had a processor for itself, all the time, unless ``changed`` says so."""
    ordered = sorted(calls, key=lambda call: (call.rank, call.begin))
    functions = tuple(dict.fromkeys(call.function for call in ordered))
    sites = tuple(dict.fromkeys(call.site for call in ordered if call.site is not None))
    columns: dict[str, Any] = {
        "function": [functions.index(call.function) for call in ordered],
        "site": [NONE if call.site is None else sites.index(call.site) for call in ordered],
        "comm": [0] * len(ordered),
        "event": [-1] * len(ordered),
    }
    columns |= {name: [getattr(call, name) for call in ordered] for name in CALL_COLUMNS if name not in columns}
    columns = {name: np.array(columns[name], CALL_COLUMNS[name]) for name in CALL_COLUMNS}
    columns["first"] = np.searchsorted([call.rank for call in ordered], np.arange(ranks + 1)).astype(np.uint64)
    wall = max((call.end for call in ordered), default=0) * 1e-9
    every = {"cpus": 1, "cpus_online": ranks, "ending": FINALIZED, "wall": wall, "cpu": wall, "init": 1e-3}
    every |= {"finalize": 2e-3, "recorder": 1e-4, "memory": 1 << 20}
    columns |= {name: np.full(ranks, every.get(name, 0), dtype) for name, dtype in RANK_COLUMNS.items()}
    texts: dict[str, Any] = {"command": "./app 1 2", "directory": "/home/user", "started": "2026-03-01T12:00:00Z"}
    texts |= {"library": "Open MPI v4.1.4", "mpi": (3, 1), "version": "1", "hosts": ("node1",)}
    return Recording(**{**columns, **texts, "functions": functions, "sites": sites, **changed})


def recorded(program: isthmus.Program, calls: Sequence[Call] = (), **changed: Any) -> isthmus.Program:
    """The program with a recording of these calls."""
    return dataclasses.replace(program, recording=recording_of(program.ranks, calls, **changed))
