"""HDF5 files without checksums: a child process copies what they hold into a file that has them.

libhdf5 crashes or loops on some damaged files, and whether one is damaged cannot be told without it. So only the child
gives them to libhdf5; what is read afterwards is the child's copy.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..errors import ParseError

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
_REFUSED = 3
#: Errors that are no fault of the file: no room for the copy, or the file cannot be opened.
_OURS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT)


@contextmanager
def copied(path: str) -> Iterator[str]:
    """A file with checksums that holds what ``path`` does, as long as the block lasts.

    Raises
    ------
    ParseError
        For a file that is damaged or not HDF5.
    """
    with tempfile.TemporaryDirectory(prefix="isthmus-") as folder:
        copy = os.path.join(folder, "copy.h5")
        seconds = _limit(path)
        words = [sys.executable, "-m", __name__, os.path.abspath(path), copy, str(seconds)]
        # Threads of numerical libraries would take memory for each processor.
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "HDF5_USE_FILE_LOCKING": "FALSE"}
        try:
            child = subprocess.run(
                words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=6 * seconds, check=False
            )
        except subprocess.TimeoutExpired:
            raise _failed(path, f"reading it did not end within {6 * seconds} s") from None
        if child.returncode == _REFUSED:
            raise _failed(path, json.loads(child.stdout))
        if child.returncode == -signal.SIGXCPU:
            raise _failed(path, f"reading it did not end within {seconds} s of processor time")
        if child.returncode < 0:
            name = signal.Signals(-child.returncode).name
            raise _failed(path, f"reading it ended the HDF5 library with {name}")
        if child.returncode != 0:
            words_of_child = child.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
            raise OSError(f"{path}: the process that reads files without checksums failed: {words_of_child}")
        yield copy


def _limit(path: str) -> int:
    return _SECONDS + os.path.getsize(path) // _BYTES_PER_SECOND


def _failed(path: str, why: str) -> ParseError:
    return ParseError(path, None, None, f"not an HDF5 file, or a damaged one ({why})")


def copy(source: str, target: str) -> None:
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


def _limit_child(source: str, seconds: int) -> None:
    size = os.path.getsize(source)
    limits = (
        (resource.RLIMIT_CPU, seconds, seconds + 1),
        (resource.RLIMIT_AS, _MEMORY + 8 * size, None),
        (resource.RLIMIT_FSIZE, _COPY + _EXPANSION * size, None),
        (resource.RLIMIT_CORE, 0, None),
    )
    for which, soft, hard in limits:
        _, allowed = resource.getrlimit(which)
        top = soft if hard is None else hard
        if allowed != resource.RLIM_INFINITY:
            soft, top = min(soft, allowed), min(top, allowed)
        resource.setrlimit(which, (soft, top))


def _main(source: str, target: str, seconds: str) -> int:
    _limit_child(source, int(seconds))
    try:
        copy(source, target)
    except OSError as error:
        if error.errno in _OURS or "No space left" in str(error):
            raise
        why = str(error)
    except Exception as error:  # whatever h5py makes of damaged bytes
        why = f"{type(error).__name__}: {error}"
    else:
        return 0
    print(json.dumps(" ".join(why.split())))
    return _REFUSED


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
