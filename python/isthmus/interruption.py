"""Ctrl-C of commands: within two seconds, whatever the process is at, and without anything half-written.

Python notices Ctrl-C when the main thread runs Python next, which may take minutes where the core computes or threads
are waited for. So a thread of its own takes note of it, gives the main thread a moment to end by itself, and then ends
the process. What must not stay behind is undone before: whoever makes it says how, with :func:`undone`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import NoReturn

#: Seconds that the main thread has to end by itself.
GRACE = 1.0
STATUS = 128 + signal.SIGINT

_undo: dict[int, Callable[[], object]] = {}
_leaving = threading.Lock()
_watching = False


@contextlib.contextmanager
def undone(undo: Callable[[], object]) -> Iterator[None]:
    """Call ``undo`` where an interruption ends the process within the block, from another thread."""
    key = id(undo)
    _undo[key] = undo
    try:
        yield
    finally:
        del _undo[key]


def behind(error: BaseException | None) -> bool:
    """Return whether Ctrl-C is what led to an exception: where a class is being defined, Python makes another of it."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def watch() -> None:
    """Let Ctrl-C end the process; for commands, once, in the main thread."""
    global _watching
    if _watching or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return  # a background job of a shell, which ignores Ctrl-C
    seen, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    threading.Thread(target=_wait, args=(seen,), daemon=True).start()
    sys.unraisablehook = _unraisable
    _watching = True


def _unraisable(what: sys.UnraisableHookArgs) -> None:
    """Ctrl-C where no exception can be raised, as in the locks of imports: the other thread ends the process."""
    if not isinstance(what.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(what)


def _wait(seen: int) -> None:
    while True:
        number = os.read(seen, 1)
        # Another handler knows what to do: that of a recorded program hands the signal on.
        if number == bytes([signal.SIGINT]) and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            time.sleep(GRACE)
            leave()


def leave() -> NoReturn:
    """Say that the command was interrupted, and end: at once where :func:`watch` was called."""
    if not _watching:
        print("isthmus: interrupted", file=sys.stderr)
        sys.exit(STATUS)
    if not _leaving.acquire(blocking=False):
        time.sleep(60)  # the other thread ends the process
    for undo in list(_undo.values()):
        with contextlib.suppress(Exception):
            undo()
    with contextlib.suppress(OSError):
        # A cursor that a progress bar hid comes back, in a line of its own.
        terminal = b"\r\x1b[K\x1b[?25h" if os.isatty(2) else b""
        os.write(2, terminal + b"isthmus: interrupted\n")
    # Threads are not waited for, nor are objects of the core that they hold taken for leaks.
    os._exit(STATUS)
