"""Where points are computed: the interface of backends, and the one of this machine."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import selectors
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from ..errors import InvalidInput
from ..interruption import undone
from .parameters import Point, kind_named


@dataclass(frozen=True)
class Task:
    """One point to compute; all of it is plain JSON."""

    number: int
    kind: str
    point: Point


@dataclass(frozen=True)
class Done:
    """The outcome of a task: results, or an error in one sentence; where it was computed."""

    number: int
    results: Point | None
    error: str | None
    wall: float
    host: str = ""


class Backend(Protocol):
    """Computes points somewhere. A point that fails, or whose process dies, is an answer too."""

    def submit(self, task: Task) -> None:
        """Take a task; may begin at once."""

    def results(self) -> Iterator[Done]:
        """An answer to every task that was submitted, as they come."""

    def close(self) -> None:
        """Give up what is not done, and all resources."""


def compute(task: Task) -> Done:
    """Compute a point here and now; its exceptions become errors."""
    begin = time.perf_counter()
    results, message = None, None
    try:
        results = json.loads(json.dumps(kind_named(task.kind).measure(task.point), allow_nan=False))
    except Exception as error:  # whatever it is belongs to this point alone
        words = " ".join(str(error).split())
        known = isinstance(error, (ValueError, NotImplementedError, OSError)) and words
        message = words if known else f"{type(error).__name__}: {words}".rstrip(": ")
    return Done(task.number, results, message, time.perf_counter() - begin, platform.node())


class Serial:
    """One point after another, in this process."""

    def __init__(self) -> None:
        self._tasks: deque[Task] = deque()

    def submit(self, task: Task) -> None:
        self._tasks.append(task)

    def results(self) -> Iterator[Done]:
        while self._tasks:
            yield compute(self._tasks.popleft())

    def close(self) -> None:
        self._tasks.clear()


class Processes:
    """Processes on this machine, one task at a time each.

    They are programs of their own that speak JSON lines: nothing of the caller's is shared, scripts need no guard, and
    one that dies costs its point only. When the caller dies they see the end of their input and leave.

    Parameters
    ----------
    workers : int, optional
        By default as many as this process may use cores.
    """

    def __init__(self, workers: int | None = None) -> None:
        if workers is not None and workers < 1:
            raise InvalidInput(f"workers = {workers}: must be 1 or more")
        self.workers = workers or len(os.sched_getaffinity(0))
        self._tasks: deque[Task] = deque()
        self._busy: dict[subprocess.Popen[str], tuple[Task, float]] = {}
        self._idle: list[subprocess.Popen[str]] = []

    def submit(self, task: Task) -> None:
        self._tasks.append(task)

    def results(self) -> Iterator[Done]:
        with selectors.DefaultSelector() as selector, undone(self.close):
            while self._tasks or self._busy:
                while self._tasks and len(self._busy) < self.workers:
                    process = self._give(self._tasks.popleft())
                    selector.register(_out(process), selectors.EVENT_READ, process)
                for ready, _ in selector.select():
                    selector.unregister(ready.fileobj)
                    yield self._take(ready.data)

    def _give(self, task: Task) -> subprocess.Popen[str]:
        process = self._idle.pop() if self._idle else _start()
        self._busy[process] = (task, time.perf_counter())
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps([task.number, task.kind, task.point]) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            pass  # it has died: the end of its output says so
        return process

    def _take(self, process: subprocess.Popen[str]) -> Done:
        line = _out(process).readline()
        task, begin = self._busy.pop(process)
        if line.endswith("\n"):
            self._idle.append(process)
            return Done(*json.loads(line))
        status = process.wait()
        _close(process)
        how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        return Done(task.number, None, f"the process that computed it {how}", time.perf_counter() - begin)

    def close(self) -> None:
        self._tasks.clear()
        for process in [*self._idle, *self._busy]:
            process.kill()
            process.wait()
            _close(process)
        self._idle.clear()
        self._busy.clear()


def package_path() -> str:
    """PYTHONPATH for other processes: the package that runs here is the one to run there."""
    return os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])])


def _start() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", f"{__package__}.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": package_path()},
        # Ctrl-C is for the caller, who ends them.
        start_new_session=True,
    )


def _out(process: subprocess.Popen[str]) -> IO[str]:
    assert process.stdout is not None
    return process.stdout


def _close(process: subprocess.Popen[str]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):
                stream.close()
