"""Libraries that crash, loop or print on damaged files: a child process gives them the file, and writes what it holds
into a file of ours, with checksums.

Whether a file is damaged cannot be told without the library. So only the child calls it; what is read afterwards is the
child's copy. The module of a format runs as the child's program and ends in :func:`main`; whoever needs the file calls
:func:`copied` with the name of that module.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from typing import IO, Any

from .errors import ParseError
from .interruption import undone

_REFUSED = 3
#: Errors that are no fault of the file: no room for the copy, or the file cannot be opened.
_OURS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT)
#: A child may take so many times its processor time by the clock: it shares the machine with others.
_WALL = 60

Progress = Callable[[int, int], object]


@dataclass(frozen=True)
class Limits:
    """Limits of a child: seconds of processor time from one report of progress to the next, bytes of memory, bytes
    of the copy."""

    seconds: int
    memory: int
    copy: int


@contextmanager
def copied(
    module: str, path: str, limits: Limits, what: str, *, progress: Callable[[int, int], None] | None = None
) -> Iterator[str]:
    """The name of the copy that a child makes of ``path``, as long as the block lasts.

    Parameters
    ----------
    module : str
        Runs in the child.
    limits : Limits
    what : str
        What to say of a file that the child cannot copy, such as "not an HDF5 file, or a damaged one".
    progress : callable, optional
        Called with what the child reports.

    Raises
    ------
    ParseError
        For a file that is damaged.
    """
    with tempfile.TemporaryDirectory(prefix="isthmus-") as folder:
        copy = os.path.join(folder, "copy.h5")
        why = run(module, os.path.abspath(path), copy, limits, progress)
        if why is not None:
            raise ParseError(path, None, None, f"{what} ({why})")
        yield copy


def run(module: str, source: str, target: str, limits: Limits, progress: Progress | None) -> str | None:
    """Copy in a child process: None, or in a few words why it cannot be done."""
    words = [sys.executable, "-m", module, source, target, json.dumps(astuple(limits))]
    # Threads of numerical libraries would take memory for each processor.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "HDF5_USE_FILE_LOCKING": "FALSE"}
    with tempfile.TemporaryFile() as printed:
        child = subprocess.Popen(
            words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=printed
        )
        try:
            assert child.stdout is not None
            with undone(child.kill):
                said = _listen(child.stdout, _WALL * limits.seconds, progress)
                if said is None:
                    return f"reading it did not end within {_WALL * limits.seconds} s"
                status = child.wait()
        finally:
            child.kill()
            child.wait()
            child.stdout.close()  # type: ignore[union-attr]
        if status not in (0, _REFUSED) and status > 0:
            printed.seek(0)
            last = printed.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
            raise OSError(f"{source}: the process that reads it failed: {last}")
    return reason(status, said, limits)


def reason(status: int, said: str, limits: Limits) -> str | None:
    """Why a child that ended in this way has made no copy; None if it has."""
    if status == _REFUSED:
        return said
    if status == -signal.SIGXCPU:
        return f"reading it did not end within {limits.seconds} s of processor time"
    return None if status == 0 else f"reading it ended its library with {signal.Signals(-status).name}"


def _listen(stream: IO[bytes], seconds: float, progress: Progress | None) -> str | None:
    """The final answer of a child; None if it says nothing for this many seconds."""
    said, rest = "", b""
    os.set_blocking(stream.fileno(), False)
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        end = time.monotonic() + seconds
        while selector.select(max(end - time.monotonic(), 0)):
            piece = os.read(stream.fileno(), 1 << 16)
            if not piece:
                return said
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                message = json.loads(line)
                if isinstance(message, str):
                    said = message
                elif progress is not None:
                    progress(*message)
            end = time.monotonic() + seconds
    return None


def main(copy: Callable[[str, str, Progress], object], words: list[str]) -> int:
    """The child: copies within its limits, and says what came of it."""
    source, target, given = words
    limits = Limits(*json.loads(given))
    # The library may print what it likes; this stays between us.
    parent = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    _limit(limits)

    def say(message: Any) -> None:
        print(json.dumps(message), file=parent, flush=True)

    def report(done: int, total: int) -> None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        _set(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + 1 + limits.seconds)
        say([done, total])

    why = attempt(copy, source, target, report)
    if why is not None:
        say(why)
    return 0 if why is None else _REFUSED


def attempt(copy: Callable[[str, str, Progress], object], source: str, target: str, progress: Progress) -> str | None:
    """Copy in this process: None, or in a few words what is wrong with the file."""
    try:
        copy(source, target, progress)
    except ParseError as error:
        why = ": ".join(part for part in (error.field, error.message) if part)
    except OSError as error:
        if error.errno in _OURS or "No space left" in str(error):
            raise
        why = str(error)
    except Exception as error:  # whatever the library makes of damaged bytes
        why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    else:
        return None
    return " ".join(why.split())


def _limit(limits: Limits) -> None:
    _set(resource.RLIMIT_CPU, limits.seconds)
    _set(resource.RLIMIT_AS, limits.memory)
    _set(resource.RLIMIT_FSIZE, limits.copy)
    _set(resource.RLIMIT_CORE, 0)


def _set(which: int, most: int) -> None:
    """The soft limit, so that it can rise again."""
    _, allowed = resource.getrlimit(which)
    resource.setrlimit(which, (most if allowed == resource.RLIM_INFINITY else min(most, allowed), allowed))
