"""Progress of what takes long: simulations, tuning, studies."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

# Seconds before which no bar appears: short runs need none.
_PATIENCE = 1.0


class Reporter:
    """Passes the operations done on to a callable, or to a bar on standard error with operations/s and time left.

    ``doing`` and ``unit`` are the words of the bar where something else is counted. With ``at_once`` the bar is there
    from the start, for work of which a single step takes long.
    """

    def __init__(
        self,
        total: int,
        callback: Callable[[int, int], None] | None,
        doing: str = "simulating",
        unit: str = "M operations",
        at_once: bool = False,
    ) -> None:
        self.total = total
        self.callback = callback
        self.doing, self.unit = doing, unit
        self._begin = time.perf_counter()
        self._bar: Any = None
        if at_once and callback is None:
            self._start()

    def __call__(self, done: int) -> None:
        if self.callback is not None:
            self.callback(done, self.total)
            return
        passed = time.perf_counter() - self._begin
        if self._bar is None:
            if passed < _PATIENCE:
                return
            self._start()
        # The mean speed from the start on also tells what is left where few reports have come.
        left = passed * (self.total - done) / done if done else 0.0
        rate = f"{done / passed / (1e6 if self.unit.startswith('M ') else 1):,.1f} {self.unit}/s"
        self._bar.update(self._task, completed=done, rate=rate, left=f"{left:.0f} s left" if done else "")

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[rate]}, {task.fields[left]}"))
        self._bar = Progress(TextColumn(self.doing), *columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("", total=self.total, rate="", left="")
        self._bar.start()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
