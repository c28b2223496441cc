"""Checksums of HDF5 files: a table behind the HDF5 content, by which damage is found before libhdf5 sees the file.

libhdf5 crashes or loops on damaged metadata, and its own checksums (fletcher32) rule out mapping. So CRC-32 (that of
zlib) is kept of each block of the whole file, in a table that follows the content, where HDF5 ignores it. Blocks that
hold nothing but the data of columns are marked: they are verified when a column is read, all others before the file
is opened. A large file is so opened at the cost of its metadata, and can be mapped or read in parts.

Layout of the table, little endian: :data:`_MAGIC`, CRC-32 of each block (uint32), a byte for each block (1: nothing but
data), then :data:`_FOOTER`. HDF5 cuts the table off when another program writes to the file, which then counts as one
without.
"""

from __future__ import annotations

import errno
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from ..errors import ParseError
from ..files import replacing
from .storing import Storing, stored

if TYPE_CHECKING:
    import h5py
    from numpy.typing import NDArray

#: Bytes of a block: a table is 1/13000 of the file, and the metadata of a small file is all that is read of it.
BLOCK = 1 << 16
_MAGIC = b"\x93isthcrc"
#: Magic, bytes of a block, zero, bytes of the content, CRC-32 of the table, CRC-32 of the fields before.
_FOOTER = struct.Struct("<8sIIQII")
_END = "its end, with the table of checksums, is missing or wrong"
#: Blocks that are read at once.
_AT_ONCE = 64


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[tuple[Storing, h5py.File]]:
    """A new HDF5 file with checksums that takes the place of ``path`` when the block ends well, and what stores it."""
    with replacing(path) as temporary:
        try:
            with stored(temporary) as (store, file):
                yield store, file
            seal(temporary)
        except OSError as error:
            if error.filename == temporary or error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise OSError(error.errno, error.strerror, os.fspath(path)) from None
            raise


def seal(path: str | os.PathLike[str]) -> None:
    """Append the table to an HDF5 file that was just written and closed."""
    import h5py

    size = os.path.getsize(path)
    blocks = -(-size // BLOCK)
    data = np.zeros(blocks, np.uint8)
    with h5py.File(path, "r") as file:

        def mark(name: str, found: h5py.Dataset | h5py.Group) -> None:
            if isinstance(found, h5py.Dataset):
                for begin, length in joined(extents(found)):
                    data[-(-begin // BLOCK) : (begin + length) // BLOCK] = 1

        file.visititems(mark)
    with open(path, "r+b", buffering=0) as stream:
        table = _MAGIC + _sums(stream, 0, blocks, size).tobytes() + data.tobytes()
        fields = _FOOTER.pack(_MAGIC, BLOCK, 0, size, zlib.crc32(table), 0)[:-4]
        stream.seek(size)
        # An unbuffered stream may write less than it is given.
        rest = memoryview(table + fields + struct.pack("<I", zlib.crc32(fields)))
        while len(rest):
            rest = rest[stream.write(rest) :]


def extents(dataset: h5py.Dataset, begin: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """Where in the file the elements [begin, end) of a dataset of one dimension are: offsets and lengths in bytes."""
    if dataset.chunks is None:
        offset = dataset.id.get_offset()
        if offset is not None:
            width = dataset.dtype.itemsize
            first = min(begin * width, dataset.id.get_storage_size())
            last = dataset.id.get_storage_size() if end is None else end * width
            yield offset + first, last - first
        return
    found: list[tuple[int, int]] = []
    length = dataset.chunks[0]

    def add(chunk: h5py.h5d.StoreInfo) -> None:
        at = chunk.chunk_offset[0]
        if chunk.byte_offset is not None and at + length > begin and (end is None or at < end):
            found.append((chunk.byte_offset, chunk.size))

    if hasattr(dataset.id, "chunk_iter"):
        dataset.id.chunk_iter(add)
    else:  # HDF5 before 1.12.3, where each step counts from the first chunk
        for i in range(dataset.id.get_num_chunks()):
            add(dataset.id.get_chunk_info(i))
    yield from found


def joined(parts: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Extents in the order of the file, those that follow each other without a gap as one."""
    last: tuple[int, int] | None = None
    for begin, length in sorted(parts):
        if last is not None and begin == last[0] + last[1]:
            last = (last[0], last[1] + length)
            continue
        if last is not None:
            yield last
        last = (begin, length)
    if last is not None:
        yield last


class Checksums:
    """The table of a file: verifies blocks, each once."""

    def __init__(self, path: str, sums: NDArray[np.uint32], data: NDArray[np.bool_], size: int) -> None:
        self._path = path
        self._sums = sums
        self._size = size
        self._data = data
        self._done = np.zeros(len(sums), bool)

    @classmethod
    def of(cls, path: str) -> Checksums | None:
        """The checksums of a file; None if it has none.

        Raises
        ------
        ParseError
            Where the table itself is damaged, or the file is longer or shorter than it says.
        """
        size = os.path.getsize(path)
        with open(path, "rb") as stream:
            head = stream.read(64)
            stream.seek(max(size - _FOOTER.size, 0))
            footer = stream.read(_FOOTER.size)
            if not footer.startswith(_MAGIC):
                end = _end_of_content(head)
                stream.seek(min(end, size))
                behind = stream.read(len(_MAGIC))
                if behind and _MAGIC.startswith(behind):
                    raise _damaged(path, _END)
                return None
            _, block, _, content, table_sum, footer_sum = _FOOTER.unpack(footer)
            if zlib.crc32(footer[:-4]) != footer_sum:
                raise _damaged(path, _END)
            blocks = -(-content // BLOCK)
            length = len(_MAGIC) + 5 * blocks
            if block != BLOCK or content + length + _FOOTER.size != size:
                raise _damaged(path, f"it has {size} bytes, but its table is made for {content} bytes of content")
            stream.seek(content)
            table = stream.read(length)
            if zlib.crc32(table) != table_sum:
                raise _damaged(path, "the table of checksums does not match its own checksum")
        data = np.frombuffer(table, np.uint8, offset=length - blocks) == 1
        return cls(path, np.frombuffer(table, "<u4", blocks, len(_MAGIC)), data, content)

    def verify_metadata(self) -> None:
        """Verify all that is not the data of columns."""
        self._verify(np.flatnonzero(~self._data & ~self._done))

    def verify(self, dataset: h5py.Dataset, begin: int = 0, end: int | None = None) -> None:
        """Verify the elements [begin, end) of a dataset of one dimension."""
        for offset, length in joined(extents(dataset, begin, end)):
            first, last = offset // BLOCK, -(-(offset + length) // BLOCK)
            self._verify(first + np.flatnonzero(~self._done[first:last]))

    def _verify(self, blocks: NDArray[np.int64]) -> None:
        if not len(blocks):
            return
        with open(self._path, "rb", buffering=0) as stream:
            # Blocks in a row are read together.
            for run in np.split(blocks, np.flatnonzero(np.diff(blocks) != 1) + 1):
                first, last = int(run[0]), int(run[-1]) + 1
                wrong = np.flatnonzero(_sums(stream, first, last, self._size) != self._sums[first:last])
                if len(wrong):
                    at = (first + int(wrong[0])) * BLOCK
                    end = min(at + BLOCK, self._size)
                    raise _damaged(self._path, f"bytes {at} to {end - 1} do not match their checksum")
                self._done[first:last] = True


def _end_of_content(head: bytes) -> int:
    """Where HDF5 says that its content ends (superblock of the HDF5 file format, addresses of 8 bytes)."""
    at = {0: 40, 1: 44, 2: 28, 3: 28}.get(head[8] if len(head) == 64 else 0, 40)
    return int.from_bytes(head[at : at + 8], "little")


def _sums(stream: BinaryIO, first: int, last: int, size: int) -> NDArray[np.uint32]:
    """CRC-32 of the blocks [first, last) of a file with so many bytes of content."""
    out = np.empty(last - first, np.uint32)
    buffer = bytearray(min(_AT_ONCE, last - first) * BLOCK)
    view = memoryview(buffer)
    for begin in range(first, last, _AT_ONCE):
        end = min(begin + _AT_ONCE, last)
        wanted = min(end * BLOCK, size) - begin * BLOCK
        stream.seek(begin * BLOCK)
        got = 0
        while got < wanted and (step := stream.readinto(view[got:wanted])):  # type: ignore[attr-defined]
            got += step
        for block in range(begin, end):
            at = (block - begin) * BLOCK
            out[block - first] = zlib.crc32(view[at : min(at + BLOCK, got)])
    return out


def _damaged(path: str, what: str) -> ParseError:
    return ParseError(path, None, None, f"the file is damaged: {what}; use another copy or make it again")
