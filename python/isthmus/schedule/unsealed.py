"""HDF5 files without checksums: a child process copies what they hold into a file that has them.

libhdf5 crashes or loops on some damaged files, so only a child gives them to it; see :mod:`isthmus.separate`.
"""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from .. import separate

if TYPE_CHECKING:
    import h5py

#: Seconds of processor time that a child may take, besides one for each of so many bytes.
_SECONDS = 5
_BYTES_PER_SECOND = 1 << 20
#: Bytes of memory, and of the copy, besides what goes with the size of the file; zlib makes 1 byte of 1032 at most.
_MEMORY = 4 << 30
_COPY = 1 << 30
_EXPANSION = 1032
#: Elements that are copied at once.
_BLOCK = 1 << 20


def copied(path: str) -> AbstractContextManager[str]:
    """A file with checksums that holds what ``path`` does, as long as the block lasts.

    Raises
    ------
    ParseError
        For a file that is damaged or not HDF5.
    """
    size = os.path.getsize(path)
    limits = separate.Limits(_SECONDS + size // _BYTES_PER_SECOND, _MEMORY + 8 * size, _COPY + _EXPANSION * size)
    return separate.copied(__name__, path, limits, "not an HDF5 file, or a damaged one")


def copy(source: str, target: str, progress: separate.Progress | None = None) -> None:
    """Copy root attributes, columns and texts of an HDF5 file; of other datasets, shape and type only."""
    import h5py

    from .checksums import seal

    with h5py.File(source, "r") as old, h5py.File(target, "w") as new:
        for name, value in old.attrs.items():
            new.attrs[name] = value
        _copy_group(old, new, 0)
    seal(target)


def _copy_group(old: h5py.Group, new: h5py.Group, depth: int) -> None:
    import h5py

    if depth > 8:
        raise ValueError("groups within groups more than 8 deep")
    for name in old:
        if not isinstance(old.get(name, getlink=True), h5py.HardLink):
            continue
        found = old[name]
        if isinstance(found, h5py.Group):
            _copy_group(found, new.create_group(name), depth + 1)
        elif isinstance(found, h5py.Dataset):
            _copy_dataset(found, new, name)


def _copy_dataset(old: h5py.Dataset, new: h5py.Group, name: str) -> None:
    import h5py

    size = old.size or 0
    if h5py.check_string_dtype(old.dtype) is not None and old.ndim == 1:
        made = new.create_dataset(name, data=old[:], dtype=old.dtype)
    elif old.dtype.kind in "iuf" and old.ndim == 1 and not old.external and not old.is_virtual:
        stored = old.id.get_storage_size()
        if old.chunks is None and stored not in (0, size * old.dtype.itemsize):
            raise ValueError(f"{old.name} stores {stored} bytes of {size * old.dtype.itemsize}")
        if old.chunks is not None and old.id.get_num_chunks() not in (0, -(-size // old.chunks[0])):
            raise ValueError(f"{old.name} stores {old.id.get_num_chunks()} chunks of {-(-size // old.chunks[0])}")
        if stored == 0 and size:
            made = new.create_dataset(name, (size,), old.dtype, chunks=(min(size, _BLOCK),), fillvalue=old.fillvalue)
        else:
            made = new.create_dataset(name, (size,), old.dtype)
            for begin in range(0, size, _BLOCK):
                made[begin : begin + _BLOCK] = old[begin : begin + _BLOCK]
    else:
        # Nothing reads it; but who expects a column there is told what is wrong with it.
        made = new.create_dataset(name, old.shape, old.dtype)
    for attribute, value in old.attrs.items():
        made.attrs[attribute] = value


if __name__ == "__main__":
    sys.exit(separate.main(copy, sys.argv[1:]))
