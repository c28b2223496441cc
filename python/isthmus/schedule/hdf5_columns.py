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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput, ParseError
from .checksums import Checksums, writing
from .columns import drop, is_repeated, large, repeated
from .unsealed import copied

if TYPE_CHECKING:
    import h5py
    from numpy.typing import DTypeLike, NDArray

    from .storing import Storing

#: Versions up to this one are read; written is the lowest that has what is to be written. Version 2 has recordings,
#: version 5 samples of measurements, version 6 hierarchies.
VERSION = 6
#: Elements of the largest column that "auto" compresses.
AUTO = 1 << 24
#: Columns that reports do not look at, and those of which they look at a part at a time.
_SELDOM = ("tag", "request", "detail", "details", "location")
_IN_PARTS = "recording/"
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
        raise InvalidInput(f"compression {compression!r} is unknown: must be auto, gzip or none")
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
        """Whether the column exists."""
        return name in self.file

    def size(self, name: str) -> int:
        """Elements of a column."""
        return int(self._dataset(name).shape[0])

    def column(self, name: str, dtype: DTypeLike, size: int | None = None) -> NDArray[Any]:
        """Numbers of this type, and if ``size`` is given so many; of one that repeats them all take no memory."""
        dataset = self._numbers(name, dtype, size)
        count, stored = int(dataset.shape[0]), dataset.id.get_storage_size() > 0
        seldom = name in _SELDOM or name.startswith(_IN_PARTS)
        try:
            out = large(count, dtype) if stored and seldom else np.empty(count, dtype)
        except (MemoryError, ValueError):
            raise self.fail(name, f"{count} elements do not fit into memory") from None
        if dataset.chunks is not None and count > 1 and not stored:
            return repeated(np.dtype(dtype).type(dataset.fillvalue), count)
        self._copy(dataset, name, out)
        drop(out)
        return out

    def into(self, name: str, out: NDArray[Any]) -> None:
        """Read a column into an array, which may be a field of a structured array."""
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
            raise reader.fail(
                "format", "an HDF5 file that Isthmus did not write: its attribute format is not 'isthmus'"
            )
        version = reader.attribute("version", int)
        if version > VERSION:
            raise reader.fail(
                "version",
                f"the file has version {version}: this Isthmus reads versions up to {VERSION}",
            )
        if version < 1:
            raise reader.fail("version", f"the file has version {version}: must be 1 or more")
        yield reader.attribute("noun", str), version, reader
