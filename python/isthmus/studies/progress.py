"""Progress of studies."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


class Reporter:
    """Passes the points done on to a callable, or to a bar on standard error with points/s and time left."""

    def __init__(self, name: str, total: int, progress: bool | Callable[[int, int], None]) -> None:
        self._callback = progress if callable(progress) else None
        self._total = total
        self._done = 0
        self._begin = time.perf_counter()
        self._bar: Any = None
        if progress is True:
            self._start(name)

    def _start(self, name: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
        self._bar = Progress(TextColumn(name), *columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("", total=self._total, rate="")
        self._bar.start()

    def step(self) -> None:
        """One more point is done."""
        self._done += 1
        if self._callback is not None:
            self._callback(self._done, self._total)
        if self._bar is not None:
            speed = self._done / max(time.perf_counter() - self._begin, 1e-9)
            left = (self._total - self._done) / speed
            self._bar.update(self._task, completed=self._done, rate=f"{speed:.1f} points/s, {left:.0f} s left")

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
