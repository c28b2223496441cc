"""Progress of long simulations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Reporter:
    """Passes the operations done on to a callable, or to a bar on standard error with operations/s and time left."""

    def __init__(self, total: int, callback: Callable[[int, int], None] | None) -> None:
        self.total = total
        self.callback = callback
        self._bar: Any = None
        if callback is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("simulating"),
                BarColumn(),
                TaskProgressColumn(),
                TextColumn("{task.fields[rate]}"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task("", total=total, rate="")
            self._bar.start()

    def __call__(self, done: int) -> None:
        if self.callback is not None:
            self.callback(done, self.total)
            return
        speed = self._bar.tasks[0].speed or 0.0
        self._bar.update(self._task, completed=done, rate=f"{speed / 1e6:.1f} M operations/s" if speed else "")

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
