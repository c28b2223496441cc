"""What damages a file: changes of bytes, of words, and of numbers in the columns of an HDF5 file."""

from __future__ import annotations

import functools
import io
import random
import re
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from isthmus.schedule import checksums
from isthmus.schedule.hdf5_columns import Reader

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

_TOKEN = re.compile(rb"\w+|\W")
_WORDS = [b"", b" ", b"\n", b"\0", b"0", b"-1", b"1", b"4294967295", b"9999999999999999999999", b"1e308", b"-", b"%",
          b"{", b"}", b"[", b"]", b"=", b":", b",", b"b", b"nan", b"\xff", "é".encode()]  # fmt: skip
_NUMBERS = [0, 1, 2, 127, 128, 255, 256, 32767, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**63 - 1, 2**63, 2**64 - 1]


def binary(data: bytes, rng: random.Random) -> bytes:
    """Change bits, bytes or numbers, or move, cut or double a piece; once or a few times."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if not out:
            break
        at, kind = rng.randrange(len(out)), rng.randrange(8)
        other, length = rng.randrange(len(out)), rng.choice((1, 2, 4, 8, 16, 100))
        if kind <= 1:
            out[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            out[at] = rng.randrange(256)
        elif kind <= 4:
            size = rng.choice((1, 2, 4, 8, 8))
            at -= at % size
            out[at : at + size] = _number(out, at, size, rng).to_bytes(size, "little")
        elif kind == 5:
            out[at : at + length] = out[other : other + length]
        elif kind == 6:
            out[at:at] = out[other : other + length]
        elif rng.random() < 0.5:
            del out[at : at + length]
        else:
            del out[at:]
    return bytes(out)


def _number(data: bytearray, at: int, size: int, rng: random.Random) -> int:
    """In place of the number there: an extreme, one of the same size elsewhere, the length of the file, a neighbour."""
    now = int.from_bytes(data[at : at + size], "little")
    other = rng.randrange(max(len(data) // size, 1)) * size
    kind = rng.randrange(5)
    if kind <= 1:
        number = rng.choice(_NUMBERS)
    elif kind == 2:
        number = int.from_bytes(data[other : other + size], "little")
    elif kind == 3:
        number = len(data) // rng.choice((1, size))
    else:
        number = now + rng.choice((-8, -2, -1, 1, 2, 8, now))
    return number & (256**size - 1)


def text(data: bytes, rng: random.Random) -> bytes:
    """Change a character, a word, a number or a line; once or a few times."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at, kind = rng.randrange(len(data) + 1), rng.randrange(6)
        if kind == 0:
            data = binary(data, rng)
        elif kind == 1:
            data = data[:at] + rng.choice(_WORDS) + data[at:]
        elif kind <= 3:
            found = _TOKEN.search(data, at)
            if found:
                digits = found.group().isdigit()
                new = str(rng.choice(_NUMBERS)).encode() if digits and kind == 2 else rng.choice(_WORDS)
                data = data[: found.start()] + new + data[found.end() :]
        else:
            lines = data.split(b"\n")
            line = lines.pop(rng.randrange(len(lines)))
            for _ in range(rng.randrange(3)):
                lines.insert(rng.randrange(len(lines) + 1), line)
            data = b"\n".join(lines)
    return data


def columns(data: bytes, rng: random.Random) -> bytes:
    """Other numbers in the columns of an HDF5 file, whose checksums are right again."""
    layout = _layout(data)
    out = bytearray(data[: layout.size])
    for _ in range(rng.choice((1, 1, 2, 4))):
        begin, length, size = rng.choice(layout.places)
        at = rng.randrange(length // size) * size
        number = _number(out[begin : begin + length], at, size, rng)
        out[begin + at : begin + at + size] = number.to_bytes(size, "little")
    return bytes(out) + layout.sealed(out)


@dataclass(frozen=True)
class _Layout:
    """A valid HDF5 file: where the numbers of its columns are, and all else that it holds."""

    size: int
    #: Of each column that is stored: offset, bytes, bytes of a number.
    places: list[tuple[int, int, int]]
    noun: str
    version: int
    attributes: dict[str, Any]
    #: Texts, numbers that are not stored, or offset, length and type of those that are.
    columns: dict[str, Any]
    data_blocks: bytes

    def sealed(self, content: bytearray) -> bytes:
        """The table of checksums of other content in the same places, as :func:`checksums.seal` writes it."""
        blocks = range(0, len(content), checksums.BLOCK)
        sums = [zlib.crc32(content[at : at + checksums.BLOCK]) for at in blocks]
        table = checksums._MAGIC + struct.pack(f"<{len(sums)}I", *sums) + self.data_blocks
        fields = (checksums._MAGIC, checksums.BLOCK, 0, len(content), zlib.crc32(table))
        footer = checksums._FOOTER.pack(*fields, 0)[:-4]
        return table + footer + struct.pack("<I", zlib.crc32(footer))


@functools.cache
def _layout(data: bytes) -> _Layout:
    import h5py

    size = data.index(checksums._MAGIC)
    places, found = [], {}
    with h5py.File(io.BytesIO(data), "r") as file:
        datasets: list[h5py.Dataset] = []
        file.visititems(lambda _, item: datasets.append(item) if isinstance(item, h5py.Dataset) else None)
        for dataset in datasets:
            name = dataset.name.lstrip("/")
            stored = [part for part in checksums.extents(dataset) if part[1] > 0]
            if dataset.dtype.kind not in "iuf":
                found[name] = [str(text) for text in dataset.asstr()[:]]
                continue
            width = dataset.dtype.itemsize
            places.extend((begin, length, width) for begin, length in stored)
            if not stored:
                found[name] = dataset[:]
            else:
                assert [length for _, length in stored] == [width * len(dataset)], "one chunk that is not packed"
                found[name] = (stored[0][0], len(dataset), dataset.dtype)
        attributes = dict(file.attrs)
    blocks = -(-size // checksums.BLOCK)
    data_blocks = data[size + len(checksums._MAGIC) + 4 * blocks :][:blocks]
    return _Layout(size, places, str(attributes["noun"]), int(attributes["version"]), attributes, found, data_blocks)


class Held(Reader):
    """Columns in memory, in place of those of a file."""

    def __init__(self, path: str, layout: _Layout, data: bytes) -> None:
        self.path, self.layout, self.data = path, layout, data
        self.file = SimpleNamespace(attrs=layout.attributes)

    def has(self, name: str) -> bool:
        return any(each == name or each.startswith(name.rstrip("/") + "/") for each in self.layout.columns)

    def size(self, name: str) -> int:
        found = self.layout.columns[name]
        return found[1] if isinstance(found, tuple) else len(found)

    def column(self, name: str, dtype: DTypeLike, size: int | None = None) -> NDArray[Any]:
        found = self.layout.columns[name]
        if isinstance(found, tuple):
            found = np.frombuffer(self.data, found[2], found[1], found[0])
        assert (found.dtype, len(found)) == (dtype, len(found) if size is None else size)
        return found.copy()

    def into(self, name: str, out: NDArray[Any]) -> None:
        out[:] = self.column(name, out.dtype, len(out))

    def texts(self, name: str) -> list[str]:
        return list(self.layout.columns[name])


def held(whole: bytes, path: Path) -> tuple[str, int, Reader]:
    """Noun, version and columns of the file that :func:`columns` made of a whole one."""
    layout = _layout(whole)
    return layout.noun, layout.version, Held(str(path), layout, path.read_bytes())
