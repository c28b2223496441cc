"""Threads for independent work in the core, which an interruption ends."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

from . import _core


class Threads(ThreadPoolExecutor):
    """A pool of threads for a ``with`` block; an exception in the block also ends what they do in the core.

    Python tells the main thread of Ctrl-C only, which then waits for the others; their long work has to be asked.

    Parameters
    ----------
    workers : int
        Number of threads at most.
    """

    def __init__(self, workers: int) -> None:
        self._stop = _core.Stop()
        super().__init__(workers, initializer=self._stop.obey)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._stop.ask()
        self.shutdown(cancel_futures=kind is not None)
