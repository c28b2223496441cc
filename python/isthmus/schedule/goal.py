"""GOAL files, text and binary: what LogGOPSim and its descendants read and write."""

from __future__ import annotations

import mmap
import os
from typing import TYPE_CHECKING

from isthmus import _core
from isthmus.errors import InvalidInput, ParseError
from isthmus.filekinds import BINARY_MAGIC
from isthmus.files import replacing

if TYPE_CHECKING:
    from isthmus._core import ScheduleArrays

# Units in which a file may count time, in picoseconds.
UNITS = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}


def read_goal(path: str | os.PathLike[str], *, unit: str = "ns") -> ScheduleArrays:
    """Read a GOAL file, text or binary, whatever its name.

    Parameters
    ----------
    path : path-like
        The file. It is mapped, not loaded, where the system can: memory is needed for the schedule only.
    unit : {"ns", "ps", "us", "ms", "s"}
        What the file's times count.

    Raises
    ------
    ParseError
        The file is malformed; the error names line (text) or byte (binary).
    """
    import numpy as np

    picoseconds = _picoseconds(unit)
    name = os.fspath(path)
    with open(name, "rb") as stream:
        try:
            data: mmap.mmap | bytes = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError):  # a pipe, or an empty file
            data = stream.read()
    if not data:
        raise ParseError(name, None, None, "the file is empty")
    parse = _core.goal_parse_binary if data[:8] in BINARY_MAGIC else _core.goal_parse_text
    return parse(np.frombuffer(data, dtype=np.uint8), name, picoseconds)


def write_goal(
    arrays: ScheduleArrays,
    path: str | os.PathLike[str],
    *,
    binary: bool,
    unit: str = "ns",
    seconds_per_byte: float | None = None,
) -> None:
    """Write a GOAL file; an old file is replaced when the new one is complete.

    GOAL knows send, recv and calc. Times are rounded to the nearest multiple of the unit. It has no communicators: if
    any send or recv is on one other than 0, every pair of a communicator and a tag gets a tag of its own, numbered from
    0 in the order of the pairs. In text the operations of every rank are called l1, l2, ...

    Parameters
    ----------
    arrays : ScheduleArrays
        The schedule.
    path : path-like
        The file.
    binary : bool
        The binary form, which LogGOPSim runs, instead of the text.
    unit : {"ns", "ps", "us", "ms", "s"}
        What the file's times count.
    seconds_per_byte : float, optional
        With it copy and reduce are written as calc of this time per byte.

    Raises
    ------
    Unsupported
        GOAL cannot say it: put, get and buffers; copy and reduce without a time per byte; receives of any tag in a
        schedule with communicators. Rank and operation are named.
    InvalidInput
        The arrays contradict each other.
    """
    picoseconds = _picoseconds(unit)
    rate = None if seconds_per_byte is None else seconds_per_byte * 1e12
    write = _core.goal_write_binary if binary else _core.goal_write_text
    with replacing(path) as temporary, open(temporary, "wb") as stream:
        write(arrays, stream.write, picoseconds, rate)
        stream.flush()
        if os.path.isfile(temporary):
            os.fsync(stream.fileno())


def _picoseconds(unit: str) -> int:
    try:
        return UNITS[unit]
    except (KeyError, TypeError):
        raise InvalidInput(f"unit {unit!r} of a GOAL file: must be {', '.join(UNITS)}") from None
