"""Files that are complete or untouched."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[str]:
    """A temporary path beside ``path`` that takes its place when the block ends well and is removed when it fails."""
    target = os.path.abspath(path)
    folder, name = os.path.split(target)
    stem, suffix = os.path.splitext(name)
    # The suffix stays: writers choose formats by it.
    handle, temporary = tempfile.mkstemp(prefix=f".{stem}.", suffix=suffix, dir=folder)
    os.close(handle)
    try:
        # mkstemp makes files private; an ordinary new file would follow the umask.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        yield temporary
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def write_atomically(path: str | os.PathLike[str], text: str) -> None:
    """Write text so that readers, crashes and full disks see the old file or the whole new one."""
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
