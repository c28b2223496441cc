"""A line of progress for whatever takes more than two seconds, on a terminal."""

from __future__ import annotations

import io
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

#: Seconds before which nothing is said: short runs need no progress.
PATIENCE = 2.0
_PERIOD = 0.5
_CLEAR = "\r\x1b[K"


@contextmanager
def waiting(words: str, shown: bool | None = None, say: Callable[[str], object] | None = None) -> Iterator[None]:
    """Say on standard error, from two seconds on, what is done and for how long; the line goes when it is done.

    Parameters
    ----------
    words : str
        Such as "isthmus map".
    shown : bool, optional
        By default on a terminal only.
    say : callable, optional
        Takes the text, instead of standard error.
    """
    if not (sys.stderr.isatty() if shown is None else shown):
        yield
        return
    write = say or _to_terminal
    done = threading.Event()
    begin = time.monotonic()
    told = False
    thread: threading.Thread | None = None

    def tell() -> None:
        nonlocal told
        if done.wait(PATIENCE):
            return
        while True:
            told = True
            write(f"{_CLEAR}{words}: {time.monotonic() - begin:.0f} s")
            if done.wait(_PERIOD):
                return

    def end() -> None:
        done.set()
        if thread is not None:
            thread.join(timeout=1.0)
        if told:
            write(_CLEAR)

    # A daemon: Ctrl-C need not wait for it.
    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    with _before_output(end):
        try:
            yield
        finally:
            if not done.is_set():
                end()


@contextmanager
def _before_output(end: Callable[[], None]) -> Iterator[None]:
    """Take the line away before anything else is written, which would stand behind it."""
    streams = [stream for stream in (sys.stdout, sys.stderr) if isinstance(stream, io.TextIOWrapper)]
    before = [(stream, stream.write) for stream in streams]
    ended = False

    def ending(write: Callable[[str], int]) -> Callable[[str], int]:
        def written(text: str) -> int:
            nonlocal ended
            if not ended:
                ended = True
                end()
            return write(text)

        return written

    for stream, write in before:
        stream.write = ending(write)  # type: ignore[method-assign]
    try:
        yield
    finally:
        for stream, write in before:
            stream.write = write  # type: ignore[method-assign]


def _to_terminal(text: str) -> None:
    # Past sys.stderr, whose first text ends the line.
    with suppress(OSError):
        os.write(2, text.encode())
