"""A file that HDF5 writes to: a full disk is reported as an error after all is closed.

HDF5 cannot close a file whose last pieces it cannot write: it tries again until the process ends, and may crash then.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import h5py


class Storing:
    """A file object for h5py: errors of writing are kept for :meth:`check`, and lost content is read back."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.failed: OSError | None = None
        self._lost: list[tuple[int, bytes]] = []
        self._stream = open(path, "w+b", buffering=0)  # noqa: SIM115
        self._at = 0
        self._end = 0

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._end}[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        if self.failed is None:
            try:
                done = 0
                while done < len(view):
                    done += os.pwrite(self._stream.fileno(), view[done : done + (1 << 30)], self._at + done)
            except OSError as error:
                self.failed = error
        if self.failed is not None:
            self._lost.append((self._at, bytes(view)))
        self._at += len(view)
        self._end = max(self._end, self._at)
        return len(view)

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        size = max(min(len(view), self._end - self._at), 0)
        found = os.pread(self._stream.fileno(), size, self._at)
        view[:size] = found.ljust(size, b"\0")
        for begin, data in self._lost:
            low, high = max(begin, self._at), min(begin + len(data), self._at + size)
            if low < high:
                view[low - self._at : high - self._at] = data[low - begin : high - begin]
        self._at += size
        return size

    def read(self, size: int) -> bytes:
        data = bytearray(size)
        return bytes(data[: self.readinto(data)])

    def truncate(self, size: int | None = None) -> int:
        self._end = self._at if size is None else size
        try:
            os.ftruncate(self._stream.fileno(), self._end)
        except OSError as error:
            self.failed = self.failed or error
        return self._end

    def flush(self) -> None:
        """Nothing is held back here."""

    def check(self) -> None:
        """Raise what went wrong; its name is the path of the file."""
        if self.failed is not None:
            raise OSError(self.failed.errno, self.failed.strerror, self.path)

    def close(self) -> None:
        self._stream.close()


@contextlib.contextmanager
def stored(path: str) -> Iterator[tuple[Storing, h5py.File]]:
    """A new HDF5 file to write to.

    Raises
    ------
    OSError
        At the end, or where :meth:`Storing.check` is called, if something could not be written.
    """
    import h5py

    store = Storing(path)
    try:
        try:
            with h5py.File(store, "w") as file:
                yield store, file
        finally:
            # What HDF5 made of what it could not read again is not of interest.
            store.check()
    finally:
        store.close()
