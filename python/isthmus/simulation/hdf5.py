"""HDF5 files of Timelines: the result, the schedule and the machine in one file."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput, ParseError
from ..machine import Level, Machine
from ..machine.spec import format_pieces, parse_pieces
from ..schedule.hdf5 import read_schedule, schedule_columns, schedule_version
from ..schedule.hdf5_columns import Column, Reader, write_columns
from .ran import Ran
from .saved_result import SavedResult
from .timeline import NUMBERS, RECORDS, SHARES, Timeline

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Columns by operation, and what they mean.
_OPERATIONS = {
    "start": ("start_ps", "ps", "begin of the operation; -1: never"),
    "end": ("end_ps", "ps", "end of the operation; -1: never"),
    "partner": ("partner", "", "of a send its receive and vice versa, counted over all ranks; -1: none"),
    "busy": ("busy_ps", "ps", "time of the CPU stream; of a receive, to handle its message"),
    "handled": ("handled_ps", "ps", "of a send: when its receiver begins to handle the message; -1: never"),
}
#: Arrays of simulations in which messages meet.
_TRAFFIC = {
    "link_bytes": (np.float64, "B", "over each link"),
    "link_slices": (np.float32, "B", "over each link in each slice of time"),
    "route_messages": (np.uint64, "", "operations whose messages took links, counted over all ranks"),
    "route_links": (np.uint32, "", "their links, one message after another"),
    "route_ends": (np.uint64, "", "where the links of each end"),
}
#: Arrays of a simulation in which messages do not meet, and of what no file keeps: empty.
_EMPTY = {
    "lost": np.int64,
    "parked": np.int64,
    **{name: dtype for name, (dtype, _, _) in _TRAFFIC.items()},
    "log": np.uint64,
    "log_noise": np.int64,
    "log_time": np.int64,
}
_STUCK = {"rank": np.uint32, "op": np.uint32, "started": np.uint8}
_ORPHANS = {"rank": np.uint32, "source": np.uint32, "op": np.uint32, "handled": np.int64}

_MEANINGS = {
    "rank": "where it waits or has arrived",
    "op": "number within the rank, of an orphan that of its send within the source",
    "started": "1: waits for another rank; 0: for operations of its own",
    "source": "sender",
    "handled": "when the receiver had handled the message; -1: by rendezvous, it was never sent",
}


def write_timeline(timeline: Timeline, path: str | os.PathLike[str], *, compression: str = "auto") -> None:
    """Write a Timeline; see :meth:`Timeline.save`."""
    suffix = os.path.splitext(path)[1]
    if suffix not in (".h5", ".hdf5"):
        raise InvalidInput(f"{os.fspath(path)!r} ends in {suffix!r}: must end in .h5 or .hdf5")
    t = timeline
    columns = [Column("finish", t.finish_ps, "ps", "when each rank finished")]
    if t.record != "finish":
        shares = np.ascontiguousarray(t._breakdown.T)
        columns += [Column(f"breakdown/{name}", shares[i], "ps", "of each rank") for i, name in enumerate(SHARES)]
    if t.record == "ops":
        columns += [
            Column(f"operations/{name}", getattr(t, attribute), unit, meaning)
            for name, (attribute, unit, meaning) in _OPERATIONS.items()
        ]
    if len(t.parked_ps):
        columns.append(Column("operations/parked", t.parked_ps, "ps", "for which a send stood aside before its start"))
    for group, names, arrays in (("stuck", _STUCK, t._stuck), ("orphans", _ORPHANS, t._orphans)):
        for name, values in zip(names, arrays, strict=True):
            columns.append(Column(f"{group}/{name}", values, "ps" if name == "handled" else "", _MEANINGS[name]))
    attributes: dict[str, int | float | str] = {name: getattr(t, name) for name in NUMBERS}
    attributes |= {"record": t.record, "wall": t.wall}
    if t.stopped:
        attributes["stopped"] = 1
    if t.model != "loggops":
        lost = t.lost_in_all_ps  # of many messages: more than whole numbers of 64 bits hold
        attributes |= {"model": t.model, "routing": t.routing, "lost_in_all_ps": lost if lost < 2**63 else float(lost)}
        attributes["slice_width"] = t._traffic_arrays["slice_width"]
        columns.append(Column("operations/lost", t.lost_ps, "ps", "to other messages in the network"))
        columns += [
            Column(f"traffic/{name}", t._traffic_arrays[name], unit, meaning)
            for name, (_, unit, meaning) in _TRAFFIC.items()
        ]
    if t.ran is not None:
        attributes |= {f"ran.{name}": value for name, value in dataclasses.asdict(t.ran).items() if value != ""}
    elif isinstance(t.machine, Level):
        for field in dataclasses.fields(Level):
            value = getattr(t.machine, field.name)
            if field.name == "pieces":
                value = format_pieces(value)
            if value not in (None, ""):
                attributes[f"level.{field.name}"] = value if field.name == "pieces" else float(value)
    else:
        columns.append(Column("machine", [t.machine.toml()], "", "the TOML form of the machine"))
    columns += schedule_columns(t.schedule, "schedule/")
    write_columns(path, "timeline", columns, attributes, compression=compression, version=schedule_version(t.schedule))


def read_timeline(reader: Reader) -> Timeline:
    """Read the Timeline of an open file.

    Raises
    ------
    ParseError
        If the file is damaged.
    """
    try:
        return _read(reader)
    except InvalidInput as error:
        raise reader.fail(None, str(error)) from None


def _read(reader: Reader) -> Timeline:
    schedule = read_schedule(reader, "schedule/")
    ranks, operations = schedule.ranks, len(schedule)
    record = reader.attribute("record", str)
    if record not in RECORDS:
        raise reader.fail("record", f"the attribute is {record!r}: must be one of {', '.join(RECORDS)}")
    result: dict[str, Any] = {name.removesuffix("_ps"): reader.attribute(name, int) for name in NUMBERS}
    result |= {name: np.empty(0, dtype) for name, dtype in _EMPTY.items()}
    result["stopped"] = "stopped" in reader.file.attrs and reader.attribute("stopped", int) != 0
    result["finish"] = reader.column("finish", np.int64, ranks)
    breakdown = np.empty((ranks if record != "finish" else 0, len(SHARES)), np.int64)
    if record != "finish":
        for i, name in enumerate(SHARES):
            # Files of before there was contention have none.
            absent = name == "contention" and not reader.has(f"breakdown/{name}")
            breakdown[:, i] = 0 if absent else reader.column(f"breakdown/{name}", np.int64, ranks)
    result["breakdown"] = breakdown
    model, routing = "loggops", "minimal"
    for name in _OPERATIONS:
        result[name] = np.empty(0, np.int64)
        if record == "ops":
            result[name] = reader.column(f"operations/{name}", np.int64, operations)
    if record == "ops" and reader.has("operations/parked"):
        result["parked"] = reader.column("operations/parked", np.int64, operations)
    _check(reader, "operations/partner", result["partner"], -1, operations)
    if reader.has("traffic/link_bytes"):
        model, routing = (reader.attribute(name, str) for name in ("model", "routing"))
        large = isinstance(reader.file.attrs.get("lost_in_all_ps"), float)
        result |= {
            "lost_in_all": reader.attribute("lost_in_all_ps", float if large else int),
            "slice_width": reader.attribute("slice_width", int),
        }
        result["lost"] = reader.column("operations/lost", np.int64)
        result |= {name: reader.column(f"traffic/{name}", dtype) for name, (dtype, _, _) in _TRAFFIC.items()}
    first = schedule.op_first.view(np.int64)
    for group, columns, owner in (("stuck", _STUCK, "rank"), ("orphans", _ORPHANS, "source")):
        size = reader.size(f"{group}/op")
        found = {name: reader.column(f"{group}/{name}", dtype, size) for name, dtype in columns.items()}
        for name in ("rank", owner):
            _check(reader, f"{group}/{name}", found[name], 0, ranks)
        of = found[owner]
        _check(reader, f"{group}/op", found["op"], 0, first[of + 1] - first[of])
        result[group] = tuple(found.values())
    wall = reader.attribute("wall", float)
    ran = _ran(reader)
    machine = _machine(reader) if ran is None else Level()
    return Timeline(
        schedule, machine, SavedResult(**result), wall=wall, record=record, model=model, routing=routing, ran=ran
    )


def _ran(reader: Reader) -> Ran | None:
    if "ran.launch" not in reader.file.attrs:
        return None
    kinds: dict[str, type] = {"str": str, "int": int, "float": float}
    values = {
        field.name: reader.attribute(f"ran.{field.name}", kinds[str(field.type)])
        for field in dataclasses.fields(Ran)
        if f"ran.{field.name}" in reader.file.attrs or field.default is dataclasses.MISSING
    }
    return Ran(**values)


def _check(reader: Reader, name: str, values: NDArray[Any], low: int, end: int | NDArray[np.int64]) -> None:
    wrong = (values < low) | (values.astype(np.int64) >= end)
    if wrong.any():
        at = int(wrong.argmax())
        raise reader.fail(name, f"element {at} is {values[at]}: there is no such rank or operation")


def _machine(reader: Reader) -> Machine | Level:
    if not reader.has("machine"):
        return _level(reader)
    from ..machine.toml import parse_toml

    text = "\n".join(reader.texts("machine"))
    try:
        return Machine(parse_toml(text, reader.path))
    except ParseError as error:
        raise reader.fail("machine", str(error)) from None


def _level(reader: Reader) -> Level:
    names = {field.name: field.name == "pieces" or field.default is None for field in dataclasses.fields(Level)}
    # What a level need not have.
    given = [name for name, optional in names.items() if not optional or f"level.{name}" in reader.file.attrs]
    values = {name: reader.attribute(f"level.{name}", float) for name in given if name != "pieces"}
    if "pieces" in given:
        text = reader.attribute("level.pieces", str)
        try:
            values["pieces"] = parse_pieces(text)
        except ParseError as error:
            raise reader.fail("level.pieces", str(error)) from None
    return Level(**values)
