"""HDF5 files of Programs and Schedules: which columns they have. :mod:`isthmus.schedule.hdf5_columns` is the format."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from .. import _core, units
from ..errors import InvalidInput
from .hdf5_columns import Column, Reader, write_columns
from .program import EVENT_COLUMNS, OPTIONAL_COLUMNS, TABLES, Program
from .recording_hdf5 import read_recording, recording_columns
from .schedule import OPS, SLICES, Schedule

_OP_MEANINGS = {
    "amount": ("B", "size of the operation; of a calc its duration in picoseconds"),
    "peer": ("", "the other rank of send, recv, put, get; 0xFFFFFFFF: any"),
    "tag": ("", "of send and recv; 0xFFFFFFFF: any"),
    "comm": ("", "communicator: messages match within one"),
    "first_edge": ("", "first dependant, counted from edge_first of the rank"),
    "needs": ("", "number of operations that it waits for"),
    "kind": ("", "1 send, 2 recv, 3 calc, 4 put, 5 get, 6 copy, 7 reduce"),
    "cpu": ("", "CPU stream of the rank"),
    "nic": ("", "network interface"),
}
#: Columns that files have since version 3, where one of them is not 0.
_LATER_OP_MEANINGS = {"mode": ("", "reduce: 1 where the operand of from comes first; send: 1 eager, 2 rendezvous")}
_SLICE_MEANINGS = {"buffer": ("", "number of the buffer; 0xFFFFFFFF: none"), "offset": ("B", "begin within the buffer")}
#: Columns that files have since version 4, where a copy moves blocks.
_BLOCK_MEANING = ("B", "of a copy: bytes of its blocks; 0: all in one piece")
_STRIDE_MEANING = ("blocks", "of a copy of blocks: from the beginning of one to that of the next")
_EVENT_MEANINGS = {
    "kind": ("", "EventKind"),
    "what": ("", "CollectiveKind of a collective, otherwise 0"),
    "peer": ("", "rank within the communicator or root; -1: any, -2: none"),
    "tag": ("", "of point-to-point messages; -1: any"),
    "comm": ("", "communicator"),
    "amount": ("B", "bytes; of a compute its duration in picoseconds; of others see EventKind"),
    "request": ("", "from 1; 0: none"),
    "detail": ("", "where in details its numbers are; 0: none"),
    "location": ("", "number of the text in locations; 0xFFFFFFFF: none"),
    "phase": ("", "number of the text in phases; 0xFFFFFFFF: none"),
    "first": ("", "first event of each rank, and the number of all"),
    "details": ("", "lists of numbers, each preceded by its length"),
    "comm_first": ("", "first member of each communicator, and the number of all"),
    "comm_ranks": ("", "members of the communicators: ranks of the world"),
}


def schedule_columns(schedule: Schedule, group: str = "") -> list[Column]:
    """A Schedule as columns, for a file of its own or in a group (``"schedule/"``) of another noun's."""
    arrays = schedule.arrays
    columns = [
        Column("op_first", arrays.op_first, "", "first operation of each rank, and the number of all"),
        Column("edge_first", arrays.edge_first, "", "first edge of each rank, and the number of all"),
        Column("edges", arrays.edges, "", "dependants within the rank; highest bit: may start with the start"),
        *(Column(f"ops/{name}", schedule.ops[name], *words) for name, words in _OP_MEANINGS.items()),
        *(
            Column(f"ops/{name}", schedule.ops[name], *words)
            for name, words in _LATER_OP_MEANINGS.items()
            if schedule.ops[name].any()
        ),
    ]
    if arrays.buffer_names:
        columns.append(Column("buffers/names", arrays.buffer_names))
        columns.append(
            Column("buffers/bytes", arrays.buffer_bytes, "B", "of all buffers of rank 0, then of rank 1, ...")
        )
    if len(schedule.slices):
        columns += [
            Column(f"slices/{side}/{name}", schedule.slices[side][name], *words)
            for side in ("from", "to")
            for name, words in _SLICE_MEANINGS.items()
        ]
    if schedule.slices["block"].any():
        columns.append(Column("slices/block", schedule.slices["block"], *_BLOCK_MEANING))
        columns += [
            Column(f"slices/{side}/stride", schedule.slices[side]["stride"], *_STRIDE_MEANING)
            for side in ("from", "to")
        ]
    return [replace(column, name=group + column.name) for column in columns]


def write_schedule(schedule: Schedule, path: str | os.PathLike[str], *, compression: str = "auto") -> None:
    """Write a Schedule; see :meth:`Schedule.save`."""
    write_columns(
        path, "schedule", schedule_columns(schedule), compression=compression, version=schedule_version(schedule)
    )


def schedule_version(schedule: Schedule) -> int:
    """The lowest version of the format that has a schedule's columns."""
    if schedule.slices["block"].any():
        return 4
    return 3 if any(schedule.ops[name].any() for name in _LATER_OP_MEANINGS) else 1


def read_schedule(reader: Reader, group: str = "") -> Schedule:
    """A Schedule from the columns of :func:`schedule_columns`."""
    size = reader.size(f"{group}ops/kind")
    # Lengths are compared before memory is taken for what a damaged file says.
    names_of_ops = [*_OP_MEANINGS, *(name for name in _LATER_OP_MEANINGS if reader.has(f"{group}ops/{name}"))]
    for name in names_of_ops:
        if (found := reader.size(f"{group}ops/{name}")) != size:
            raise reader.fail(f"{group}ops/{name}", f"the dataset has {found} elements instead of {size}")
    ops = np.zeros(size, OPS)
    for name in names_of_ops:
        reader.into(f"{group}ops/{name}", ops[name])
    op_first = reader.column(f"{group}op_first", np.uint64)
    if len(op_first) < 2:
        raise reader.fail(f"{group}op_first", "a schedule needs at least one rank, and one element more than ranks")
    names: list[str] = []
    sizes = np.empty(0, np.uint64)
    if reader.has(f"{group}buffers/names"):
        names = reader.texts(f"{group}buffers/names")
        sizes = reader.column(f"{group}buffers/bytes", np.uint64, len(names) * (len(op_first) - 1))
    slices = np.empty(0, SLICES)
    if reader.has(f"{group}slices"):
        slices = np.zeros(size, SLICES)
        for side in ("from", "to"):
            for name in _SLICE_MEANINGS:
                reader.into(f"{group}slices/{side}/{name}", slices[side][name])
        if reader.has(f"{group}slices/block"):
            reader.into(f"{group}slices/block", slices["block"])
            for side in ("from", "to"):
                reader.into(f"{group}slices/{side}/stride", slices[side]["stride"])
    edge_first = reader.column(f"{group}edge_first", np.uint64, len(op_first))
    edges = reader.column(f"{group}edges", np.uint32)
    arrays = _core.ScheduleArrays.of(
        op_first, ops.view(np.uint8), edge_first, edges, names, sizes, slices.view(np.uint8)
    )
    _core.check_arrays(arrays)
    return Schedule(arrays)


def write_program(program: Program, path: str | os.PathLike[str], *, compression: str = "auto") -> None:
    """Write a Program; see :meth:`Program.save`."""
    columns = [
        Column(name, getattr(program, name), *words)
        for name, words in _EVENT_MEANINGS.items()
        if name not in OPTIONAL_COLUMNS or len(getattr(program, name))
    ]
    columns += [Column("locations", program.locations), Column("phases", program.phases)]
    if program.origin:
        columns.append(Column("origin", (program.origin,)))
    if program.recording is None:
        write_columns(path, "program", columns, compression=compression)
        return
    more, attributes = recording_columns(program.recording)
    write_columns(path, "program", columns + more, attributes, compression=compression, version=2)


def _read_program(reader: Reader, **more: Any) -> Program:
    events = reader.size("kind")
    columns: dict[str, Any] = {name: reader.column(name, dtype, events) for name, dtype in EVENT_COLUMNS.items()}
    for name, dtype in OPTIONAL_COLUMNS.items():
        if reader.has(name):
            columns[name] = reader.column(name, dtype, events)
    columns |= {name: reader.column(name, dtype) for name, dtype in TABLES.items()}
    for name in ("first", "details", "comm_first"):
        if len(columns[name]) == 0:
            raise reader.fail(name, "the dataset is empty")
    locations, phases = (tuple(reader.texts(name)) for name in ("locations", "phases"))
    origin = reader.texts("origin") if reader.has("origin") else []
    return Program(**columns, **more, locations=locations, phases=phases, origin=" ".join(origin))


def _read_recorded_program(reader: Reader) -> Program:
    return _read_program(reader, recording=read_recording(reader, reader.size("first") - 1))


#: What reads which version of which noun.
_READERS: dict[str, dict[int, Callable[[Reader], Any]]] = {
    "schedule": {1: read_schedule, 2: read_schedule, 3: read_schedule, 4: read_schedule},
    "program": {1: _read_program, 2: _read_recorded_program},
}


def read_noun(noun: str, version: int, reader: Reader) -> Program | Schedule:
    """The Program or Schedule of an open file.

    Raises
    ------
    ParseError
        For a file that is damaged, holds another noun, or is of a version to come.
    """
    if noun not in _READERS:
        raise reader.fail("noun", f"{units.shown(noun)} is unknown: must be program, schedule or timeline")
    if version not in _READERS[noun]:
        raise reader.fail(
            "version",
            f"the {noun} has version {version}: must be {min(_READERS[noun])} to {max(_READERS[noun])}",
        )
    try:
        found: Program | Schedule = _READERS[noun][version](reader)
    except InvalidInput as error:
        raise reader.fail(None, str(error)) from None
    return found
