"""HDF5 files of nouns: columns as datasets of one dimension, with their units.

The root has the attributes ``format`` ("isthmus"), ``noun`` and ``version``; each column is a dataset with the
attributes ``unit`` and, in words, ``meaning``. Columns that hold one number only are datasets of which nothing is
stored but this number as their fill value, which every HDF5 library reads as a full column.

Whoever saves another noun uses :func:`write_columns` with a list of :class:`Column`, and :func:`open_columns`, whose
:class:`Reader` gives columns, texts and attributes back or raises a ParseError that names the dataset.

Behind the content stand checksums (:mod:`isthmus.schedule.checksums`), which HDF5 ignores. :func:`open_columns`, the
one door, verifies them before libhdf5 sees the file, and those of a column when it is read. Files without checksums
are given to libhdf5 in a child process only (:mod:`isthmus.schedule.unsealed`).

Compression is that of HDF5 itself (shuffle and gzip level 1), which takes several times as long as writing: "auto"
leaves columns of more than ``AUTO`` elements as they are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core, units
from ..errors import InvalidInput, ParseError
from .checksums import Checksums, writing
from .columns import drop, is_repeated, repeated
from .program import EVENT_COLUMNS, OPTIONAL_COLUMNS, TABLES, Program
from .schedule import OPS, SLICES, Schedule
from .unsealed import copied

if TYPE_CHECKING:
    import h5py
    from numpy.typing import DTypeLike, NDArray

    from .storing import Storing

#: Versions up to this one are read; written is the lowest that has what is to be written. Version 2 has recordings.
VERSION = 4
#: Elements of the largest column that "auto" compresses.
AUTO = 1 << 24
#: Elements of a chunk of a dataset, and of a block in which columns are copied.
_CHUNK = 1 << 17
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Column:
    """One dataset: numbers (which may be a field of a structured array) or texts."""

    name: str
    values: NDArray[Any] | Sequence[str]
    unit: str = ""
    meaning: str = ""


def write_columns(
    path: str | os.PathLike[str],
    noun: str,
    columns: Sequence[Column],
    attributes: Mapping[str, int | float | str] | None = None,
    *,
    compression: str = "auto",
    version: int = 1,
) -> None:
    """Write one noun to a file, whole or not at all.

    Parameters
    ----------
    columns : sequence of Column
        Names may have slashes, which make groups.
    attributes : mapping, optional
        Attributes of the root, besides format, noun and version.
    compression : {"auto", "gzip", "none"}
    version : int
        The lowest version of the format that has these columns.

    Raises
    ------
    InvalidInput
        For an unknown compression.
    """
    import h5py

    if compression not in ("auto", "gzip", "none"):
        raise InvalidInput(f"compression {compression!r} is unknown: allowed are auto, gzip and none")
    with writing(path) as (store, file):
        file.attrs.update({"format": "isthmus", "noun": noun, "version": version, **(attributes or {})})
        for column in columns:
            if isinstance(column.values, np.ndarray):
                dataset = _write_numbers(store, file, column.name, column.values, compression)
            else:
                dataset = file.create_dataset(column.name, data=list(column.values), dtype=h5py.string_dtype())
            dataset.attrs["unit"] = column.unit
            dataset.attrs["meaning"] = column.meaning


def _write_numbers(store: Storing, file: h5py.File, name: str, values: NDArray[Any], compression: str) -> h5py.Dataset:
    size = len(values)
    options: dict[str, Any] = {"shape": (size,), "dtype": values.dtype}
    if size == 0:
        return file.create_dataset(name, **options)
    options["chunks"] = (min(size, _CHUNK),)
    if _is_constant(values):
        return file.create_dataset(name, fillvalue=values[0], **options)
    if compression == "gzip" or (compression == "auto" and size <= AUTO):
        options |= {"compression": "gzip", "compression_opts": 1, "shuffle": True}
    dataset = file.create_dataset(name, **options)
    # Fields of structured arrays are copied block by block instead of as a whole.
    for begin in range(0, size, _BLOCK):
        dataset[begin : begin + _BLOCK] = values[begin : begin + _BLOCK]
        drop(values)
        store.check()
    return dataset


def _is_constant(values: NDArray[Any]) -> bool:
    if is_repeated(values):
        return True
    if values[0] != values[-1]:
        return False
    return all(bool((values[at : at + _BLOCK] == values[0]).all()) for at in range(0, len(values), _BLOCK))


class Reader:
    """Columns, texts and attributes of an open file; raises ParseError for what is not as it should be."""

    def __init__(self, path: str, file: h5py.File, checksums: Checksums) -> None:
        self.path = path
        self.file = file
        self.checksums = checksums

    def fail(self, field: str | None, message: str) -> ParseError:
        """The error to raise."""
        return ParseError(self.path, None, field, message)

    def attribute(self, name: str, kind: type[Any]) -> Any:
        """An attribute of the root, of type ``int``, ``float`` or ``str``."""
        if name not in self.file.attrs:
            raise self.fail(name, "the attribute is missing")
        value = self.file.attrs[name]
        allowed: dict[type[Any], Any] = {int: (int, np.integer), float: (float, np.floating), str: str}
        if not isinstance(value, allowed[kind]):
            raise self.fail(name, f"the attribute is of type {type(value).__name__} instead of {kind.__name__}")
        return kind(value)

    def has(self, name: str) -> bool:
        """Whether there is such a column."""
        return name in self.file

    def size(self, name: str) -> int:
        """Elements of a column."""
        return int(self._dataset(name).shape[0])

    def column(self, name: str, dtype: DTypeLike, size: int | None = None) -> NDArray[Any]:
        """Numbers of this type, and if ``size`` is given so many; of one that repeats them all take no memory."""
        dataset = self._numbers(name, dtype, size)
        try:
            out = np.empty(dataset.shape, dtype)
        except (MemoryError, ValueError):
            raise self.fail(name, f"{dataset.shape[0]} elements do not fit into memory") from None
        if dataset.chunks is not None and len(out) > 1 and not dataset.id.get_storage_size():
            return repeated(np.dtype(dtype).type(dataset.fillvalue), len(out))
        self._copy(dataset, name, out)
        return out

    def into(self, name: str, out: NDArray[Any]) -> None:
        """The same into an array, which may be a field of a structured one."""
        self._copy(self._numbers(name, out.dtype, len(out)), name, out)

    def texts(self, name: str) -> list[str]:
        """Texts."""
        import h5py

        dataset = self._dataset(name)
        if h5py.check_string_dtype(dataset.dtype) is None:
            raise self.fail(name, f"the dataset is of type {dataset.dtype} instead of text")
        try:
            return [str(text) for text in dataset.asstr()[:]]
        except (OSError, UnicodeDecodeError) as error:
            raise self.fail(name, f"the texts cannot be read ({error})") from None

    def _dataset(self, name: str) -> h5py.Dataset:
        import h5py

        found = self.file.get(name)
        if not isinstance(found, h5py.Dataset):
            raise self.fail(name, "the dataset is missing")
        if len(found.shape or ()) != 1:
            raise self.fail(name, f"the dataset has the shape {found.shape} instead of one dimension")
        return found

    def _numbers(self, name: str, dtype: DTypeLike, size: int | None) -> h5py.Dataset:
        import h5py

        dataset = self._dataset(name)
        if dataset.dtype != np.dtype(dtype):
            given = "text" if h5py.check_string_dtype(dataset.dtype) else dataset.dtype
            raise self.fail(name, f"the dataset is of type {given} instead of {np.dtype(dtype)}")
        if size is not None and dataset.shape[0] != size:
            raise self.fail(name, f"the dataset has {dataset.shape[0]} elements instead of {size}")
        return dataset

    def _copy(self, dataset: h5py.Dataset, name: str, out: NDArray[Any]) -> None:
        self.checksums.verify(dataset)
        try:
            for begin in range(0, len(out), _BLOCK):
                out[begin : begin + _BLOCK] = dataset[begin : begin + _BLOCK]
        except OSError as error:
            raise self.fail(name, f"the dataset cannot be read: the file is damaged ({error})") from None


@contextmanager
def open_columns(path: str | os.PathLike[str]) -> Iterator[tuple[str, int, Reader]]:
    """Open a file: its noun, the version of its format, and what reads its columns.

    Raises
    ------
    ParseError
        For a file that is not HDF5, is damaged, or is not of Isthmus, or of a version to come.
    """
    import h5py

    name = os.fspath(path)
    with ExitStack() as stack:
        checksums = Checksums.of(name)
        if checksums is None:
            copy = stack.enter_context(copied(name))
            checksums = Checksums.of(copy)
            assert checksums is not None
        else:
            copy = name
            checksums.verify_metadata()
        try:
            file = stack.enter_context(h5py.File(copy, "r"))
        except OSError as error:
            raise ParseError(name, None, None, f"not an HDF5 file, or a damaged one ({error})") from None
        reader = Reader(name, file, checksums)
        stated = file.attrs.get("format")
        if not (isinstance(stated, str) and stated == "isthmus"):
            raise reader.fail("format", "an HDF5 file, but not of Isthmus: its attribute format is not 'isthmus'")
        version = reader.attribute("version", int)
        if version > VERSION:
            raise reader.fail(
                "version",
                f"the file is of version {version}: an Isthmus that reads it is needed, this one reads up to {VERSION}",
            )
        if version < 1:
            raise reader.fail("version", f"the file is of version {version}: versions start at 1")
        yield reader.attribute("noun", str), version, reader


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
        raise reader.fail(f"{group}op_first", "a schedule has at least one rank, and one element more than ranks")
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
    if program.recording is None:
        write_columns(path, "program", columns, compression=compression)
        return
    from ..recording.hdf5 import recording_columns

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
    return Program(**columns, **more, locations=locations, phases=phases)


def _read_recorded_program(reader: Reader) -> Program:
    from ..recording.hdf5 import read_recording

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
        raise reader.fail("noun", f"{units.shown(noun)} is unknown: allowed are program, schedule and timeline")
    if version not in _READERS[noun]:
        raise reader.fail(
            "version",
            f"a {noun} of version {version}: there are versions {min(_READERS[noun])} to {max(_READERS[noun])}",
        )
    try:
        found: Program | Schedule = _READERS[noun][version](reader)
    except InvalidInput as error:
        raise reader.fail(None, str(error)) from None
    return found
