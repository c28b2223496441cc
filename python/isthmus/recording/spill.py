"""Columns that grow piece after piece: in memory, and past a size in files without a name, which are mapped.

The files have no name, so that the system removes them however the process ends. Mapped pages belong to the system's
cache: it writes them back where memory is short, which it cannot do with other memory.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from collections.abc import Iterable, Mapping
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ..schedule.columns import blocks, repeated

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Bytes of all columns from which on they are in files.
SPILL = 1 << 28


class Spill:
    """Columns with a common limit.

    Parameters
    ----------
    folder : path, optional
        For the files; without one, and where it has no room or cannot be written to, all stays in memory.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self._folder = None if folder is None else os.fspath(folder)
        self._columns: list[Column] = []
        self._bytes = 0
        self._spilled = False

    def column(self, *, fixed: bool = False) -> Column:
        """A new column, whose type is that of its first piece; ``fixed``: the whole will not be changed in place."""
        self._columns.append(Column(self, fixed))
        return self._columns[-1]

    def forget(self, column: Column) -> None:
        """A column that is not needed any more, but for arrays of it that are still in use."""
        self._columns.remove(column)

    def add(self, column: Column, values: NDArray[Any]) -> None:
        """Append to a column."""
        column.keep(values)
        self._bytes += values.nbytes
        if self._folder is None or not (self._spilled or self._bytes > SPILL):
            return
        try:
            for each in [column] if self._spilled else self._columns:
                each.write(self._folder)
            self._spilled = True
        except OSError:
            self._folder = None
            for each in self._columns:
                each.read()

    def release(self) -> None:
        """Take mapped pages off the memory of the process; their contents stay."""
        for column in self._columns:
            column.release()


class Column:
    """One of the columns of a :class:`Spill`; one that is fixed and repeats a single number takes no room."""

    def __init__(self, spill: Spill, fixed: bool = False) -> None:
        self._spill = spill
        self._repeating = fixed
        self._number: Any = None
        self._repeats = 0
        self._pieces: list[NDArray[Any]] = []
        self._type = np.dtype(np.int64)
        self._stream: IO[bytes] | None = None
        self._written = 0
        self._map: mmap.mmap | None = None

    def add(self, values: NDArray[Any]) -> None:
        """Append a piece."""
        self._spill.add(self, values)

    def array(self) -> NDArray[Any]:
        """All pieces, which may be changed in place unless the column is fixed.

        What was given before is another array once more is appended.
        """
        if self._repeats:
            return repeated(self._number, self._repeats)
        if self._stream is not None:
            if not self._written:
                return np.empty(0, self._type)
            if self._map is None:
                self._map = mmap.mmap(self._stream.fileno(), self._written)
            return np.frombuffer(self._map, self._type)
        if len(self._pieces) != 1:
            # The pieces are there until the whole is: of one column only.
            self._pieces = [np.concatenate(self._pieces) if self._pieces else np.empty(0, self._type)]
        return self._pieces[0]

    def keep(self, values: NDArray[Any]) -> None:
        """Hold a piece in memory."""
        self._type = values.dtype
        if self._repeating and len(values):
            if self._repeats == 0:
                self._number = values[0]
            if values[0] == self._number == values[-1] and (values == self._number).all():
                self._repeats += len(values)
                return
            self._repeating = False
            if self._repeats:
                self._pieces.append(repeated(self._number, self._repeats))
                self._repeats = 0
        self._pieces.append(values)

    def write(self, folder: str) -> None:
        """Append what is in memory to the file."""
        if not self._pieces:
            return
        if self._stream is None:
            self._stream = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
            weakref.finalize(self, self._stream.close)
        self._map = None
        self._stream.seek(self._written)
        for piece in self._pieces:
            for part in blocks(len(piece)):
                rest = np.ascontiguousarray(piece[part]).view(np.uint8).data
                # A stream without a buffer may write less than it is given.
                while len(rest):
                    rest = rest[self._stream.write(rest) :]
        self._written += sum(piece.nbytes for piece in self._pieces)
        self._pieces = []

    def read(self) -> None:
        """Take what is in the file into memory."""
        if self._stream is None:
            return
        self._stream.seek(0)
        self._pieces.insert(0, np.fromfile(self._stream, self._type, self._written // self._type.itemsize))
        self._stream.close()
        self._stream, self._map, self._written = None, None, 0

    def release(self) -> None:
        """See :meth:`Spill.release`."""
        if self._map is not None:
            self._map.madvise(mmap.MADV_DONTNEED)


class Group:
    """Columns of the same length, by name; those that are fixed will not be changed in place."""

    def __init__(self, spill: Spill, fixed: Iterable[str] = ()) -> None:
        self._spill = spill
        self._fixed = frozenset(fixed)
        self._columns: dict[str, Column] = {}
        self.size = 0

    def add(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Append to every column."""
        for name, values in columns.items():
            if name not in self._columns:
                self._columns[name] = self._spill.column(fixed=name in self._fixed)
            self._columns[name].add(values)
        self.size += len(next(iter(columns.values())))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Whole columns, which may be changed in place."""
        return {name: column.array() for name, column in self._columns.items()}

    def replace(self, group: Group) -> None:
        """Take the columns of another group, in place of those of the same names, which are given up."""
        for name, column in group._columns.items():
            if name in self._columns:
                self._spill.forget(self._columns[name])
            self._columns[name] = column
