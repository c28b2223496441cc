"""Files that are complete or untouched."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator

from .interruption import undone

#: Errors of a disk that takes no more; they come without the name of the file.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
#: Suffixes of pictures.
PICTURES = (".png", ".svg", ".pdf")


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[str]:
    """A temporary path beside ``path`` that takes its place when the block ends well and is removed when it fails.

    A link is followed; a device or a pipe (``/dev/stdout``) is written to directly.
    """
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if os.path.exists(path) and not os.path.isfile(path):
        yield os.fspath(path)
        return
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    stem, suffix = os.path.splitext(name)
    # The suffix stays: writers choose formats by it.
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{stem[:100]}.", suffix=suffix, dir=folder)
    except OSError as error:
        # Its message would name the temporary file.
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
    os.close(handle)
    try:
        # mkstemp makes files private; an ordinary new file would follow the umask, an old one keeps its mode.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, os.stat(target).st_mode & 0o777 if os.path.exists(target) else 0o666 & ~umask)
        with undone(lambda: os.unlink(temporary)):
            yield temporary
            os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.errno in FULL and error.filename in (None, temporary):
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
        raise


def write_atomically(path: str | os.PathLike[str], text: str) -> None:
    """Write text so that readers, crashes and full disks see the old file or the whole new one."""
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        if os.path.isfile(temporary):
            os.fsync(stream.fileno())
