"""Recordings in the HDF5 file of their Program: the group ``recording/`` and attributes of the root."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .counters import Counters
from .recording import CALL_COLUMNS, OPTIONAL_RANK_COLUMNS, PATH_COLUMNS, PATH_TEXTS, RANK_COLUMNS, Recording

if TYPE_CHECKING:
    from .hdf5_columns import Column, Reader

GROUP = "recording/"
_TEXTS = ("command", "directory", "started", "library")
_LISTS = {"hosts": "names of hosts", "functions": "names of functions", "sites": "places in the program"}
_PATHS = {
    "path": "call path of each call, as an index of these; 0xFFFFFFFF: none",
    "path_parent": "path of the caller; 0xFFFFFFFF: none",
    "path_site": "number of the text in sites",
    "site_function": "function around each place",
    "site_module": "file that the code of each place is in",
}
_COUNTERS = {
    "rank": ("", "whose computations these are, by the calls before and after them"),
    "before": ("", "call path of the call before; 0xFFFFFFFF: none"),
    "after": ("", "call path of the call after; 0xFFFFFFFF: none"),
    "intervals": ("", "computations that were counted"),
    "seconds": ("s", "processor time of these"),
}
_MEANINGS = {
    "host": ("", "number of the name in hosts, of each rank"),
    "cpus": ("", "processors that each rank may run on"),
    "cpus_online": ("", "processors of its host"),
    "cpus_shared": ("", "processors that the ranks of its host may run on together"),
    "ending": ("", "bits: 1 finalized, 2 aborted, 4 signalled, 8 exited, 16 no room, 32 calls lost, 64 limit reached"),
    "signal": ("", "that ended each rank; negative: sent by another process; 0: none"),
    "overhead": ("s", "of the recorder between calls, taken off computation"),
    "wall": ("s", "from the end of MPI_Init to the begin of MPI_Finalize"),
    "cpu": ("s", "processor time of the process up to there"),
    "init": ("s", "in MPI_Init"),
    "finalize": ("s", "in MPI_Finalize"),
    "recorder": ("s", "of the recorder in MPI_Init and MPI_Finalize"),
    "memory": ("B", "of the recorder"),
    "lost": ("", "calls that were not recorded"),
    "clock_error": ("s", "by which times may be wrong relative to rank 0"),
    "function": ("", "number of the name in functions"),
    "site": ("", "number of the text in sites; 0xFFFFFFFF: none"),
    "begin": ("ns", "since the recording began, by the clock of rank 0"),
    "end": ("ns", "since the recording began, by the clock of rank 0"),
    "count": ("", "calls that this one stands for"),
    "sent": ("B", "put into MPI"),
    "received": ("B", "got out of MPI"),
    "peer": ("", "world rank of the only partner; -1: none, or several"),
    "comm": ("", "communicator; 0 where there is none"),
    "wait": ("ns", "until the last rank arrived at a collective; -1: not known"),
    "thread": ("", "of the process"),
    "event": ("", "first event of the program that came of the call; -1: none"),
    "first": ("", "first call of each rank, and the number of all"),
}


def recording_columns(recording: Recording) -> tuple[list[Column], dict[str, int | float | str]]:
    """A Recording as columns and attributes of the root."""
    from .hdf5_columns import Column

    r = recording
    columns = [
        Column(GROUP + name, getattr(r, name), *words)
        for name, words in _MEANINGS.items()
        if name not in OPTIONAL_RANK_COLUMNS or len(getattr(r, name))
    ]
    columns += [Column(GROUP + name, getattr(r, name), "", meaning) for name, meaning in _LISTS.items()]
    if len(r.path_parent):
        columns += [Column(GROUP + name, getattr(r, name), "", meaning) for name, meaning in _PATHS.items()]
    if r.counters is not None:
        columns += [Column(f"{GROUP}counters/{name}", getattr(r.counters, name), *w) for name, w in _COUNTERS.items()]
        values = r.counters.values.reshape(-1)
        columns += [
            Column(f"{GROUP}counters/names", r.counters.names, "", "counters of the processor, in user space"),
            Column(f"{GROUP}counters/values", values, "", "of the first counter in each element, of the second, ..."),
        ]
    if r.uncounted:
        columns.append(Column(f"{GROUP}counters/missing", r.uncounted, "", "why counters asked for are not there"))
    counts = np.concatenate([np.empty(0, np.uint64), *r.untimed.values()])
    columns += [
        Column(f"{GROUP}untimed/functions", list(r.untimed), "", "functions that are only counted"),
        Column(f"{GROUP}untimed/calls", counts, "", "calls of the first function by each rank, of the second, ..."),
        Column(f"{GROUP}unmodelled/functions", list(r.unmodelled), "", "functions that the program does not contain"),
        Column(f"{GROUP}unmodelled/calls", np.array(list(r.unmodelled.values()), np.int64), "", "of each function"),
        Column(f"{GROUP}notes", r.notes, "", "what the reader of the trace found"),
    ]
    attributes: dict[str, int | float | str] = {name: getattr(r, name) for name in _TEXTS}
    attributes |= {"mpi_version": r.mpi[0], "mpi_subversion": r.mpi[1], "recorded_by": r.version}
    return columns, attributes


def read_recording(reader: Reader, ranks: int) -> Recording | None:
    """The Recording in the file of a Program of so many ranks, or None if there is none.

    Raises
    ------
    ParseError, InvalidInput
        For columns that are missing or do not fit each other.
    """
    if not reader.has(GROUP):
        return None
    calls = reader.size(GROUP + "function")
    found: dict[str, Any] = {}
    for name, dtype in RANK_COLUMNS.items():
        found[name] = reader.column(GROUP + name, dtype, ranks)
    for name, dtype in CALL_COLUMNS.items():
        found[name] = reader.column(GROUP + name, dtype, calls)
    found["first"] = reader.column(GROUP + "first", np.uint64, ranks + 1)
    for name, dtype in OPTIONAL_RANK_COLUMNS.items():
        if reader.has(GROUP + name):
            found[name] = reader.column(GROUP + name, dtype, ranks)
    for name in (*_LISTS, "notes"):
        found[name] = tuple(reader.texts(GROUP + name))
    if reader.has(GROUP + "path_parent"):
        paths = reader.size(GROUP + "path_parent")
        for name, dtype in PATH_COLUMNS.items():
            found[name] = reader.column(GROUP + name, dtype, calls if name == "path" else paths)
        for name in PATH_TEXTS:
            found[name] = tuple(reader.texts(GROUP + name))
    if reader.has(GROUP + "counters/names"):
        found["counters"] = _read_counters(reader, GROUP + "counters/")
    if reader.has(GROUP + "counters/missing"):
        found["uncounted"] = tuple(reader.texts(GROUP + "counters/missing"))
    names = reader.texts(f"{GROUP}untimed/functions")
    counts = reader.column(f"{GROUP}untimed/calls", np.uint64, len(names) * ranks).reshape(len(names), ranks)
    found["untimed"] = {name: counts[i] for i, name in enumerate(names)}
    names = reader.texts(f"{GROUP}unmodelled/functions")
    missing = reader.column(f"{GROUP}unmodelled/calls", np.int64, len(names))
    found["unmodelled"] = dict(zip(names, missing.tolist(), strict=True))
    found |= {name: reader.attribute(name, str) for name in (*_TEXTS,)}
    mpi = (reader.attribute("mpi_version", int), reader.attribute("mpi_subversion", int))
    return Recording(**found, mpi=mpi, version=reader.attribute("recorded_by", str))


def _read_counters(reader: Reader, group: str) -> Counters:
    names, size = reader.texts(group + "names"), reader.size(group + "rank")
    integers = {"rank": np.uint32, "before": np.uint32, "after": np.uint32, "intervals": np.uint64}
    found: dict[str, Any] = {name: reader.column(group + name, dtype, size) for name, dtype in integers.items()}
    values = reader.column(group + "values", np.uint64, len(names) * size).reshape(len(names), size)
    return Counters(tuple(names), **found, seconds=reader.column(group + "seconds", np.float64, size), values=values)
