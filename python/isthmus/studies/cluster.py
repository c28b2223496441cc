"""Points computed by workers of Dask: on this machine, on those of a batch queue, or at a scheduler that is there."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import queue
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

from ..errors import InvalidInput
from ..extras import optional
from ..interruption import undone
from . import spool
from .backend import Done, Task, package_path
from .batch import Work, carry_out, done_of
from .engine import QUEUES
from .ledger import key
from .parameters import kind_named

#: Seconds of work that go to a worker at once, and the most points.
_BATCH = 1.0
_MOST = 256
#: Seconds without the scheduler before it is given up, and to reach it.
_GONE = 5.0
_REACH = 60


class Cluster:
    """Workers of Dask.

    Parameters
    ----------
    on : str
        ``local``, ``tcp://HOST:PORT``, or ``slurm``, ``pbs``, ``lsf``, with options of dask-jobqueue after a colon.
    folder : str
        The folder of the study, where workers that see it write down what is done.
    workers : int, optional
        Here, by default one per core; of a queue, how many to ask for.
    """

    def __init__(self, on: str, folder: str | os.PathLike[str], workers: int | None = None) -> None:
        name, options = _where(on)
        if workers is not None and workers < 1:
            raise InvalidInput(f"workers = {workers}: must be 1 or more")
        if name in QUEUES and workers is None:
            raise InvalidInput(f"{on}: give the number of workers to ask the queue for (--workers)")
        if name == "tcp" and workers is not None:
            raise InvalidInput(f"workers = {workers}: {on} has its own")
        distributed = optional("distributed", "studies on workers of Dask", "cluster")
        if name in QUEUES:
            optional("dask_jobqueue", "studies on a batch queue", "cluster")
        # What it says of connections, this module says in a sentence.
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        self._on = on
        self._engine: subprocess.Popen[str] | None = None
        self._tasks: deque[Task] = deque()
        self._flying: dict[str, tuple[Any, Work, bool]] = {}
        self._lost: deque[tuple[Work, bool]] = deque()
        self._suspects: deque[tuple[Task, str]] = deque()
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._wall, self._done = 0.0, 0
        self._files, self._sent = 0, 0
        self._known, self._asked = 0, float("-inf")
        self._spool = spool.Spool(folder)
        self._client: Any = None
        with undone(self._end_engine):
            try:
                address = on if name == "tcp" else self._start(name, options, workers, Path(folder))
                self._client = distributed.Client(address, timeout=_REACH, set_as_default=False)
            except OSError:
                self.close()
                raise InvalidInput(f"{on}: no scheduler of Dask answers there") from None
            except BaseException:
                self.close()
                raise

    def _start(self, name: str, options: dict[str, str], workers: int | None, folder: Path) -> str:
        """Start the process that has the scheduler; its address."""
        with open(folder / "cluster.log", "w") as log:
            self._engine = subprocess.Popen(
                [sys.executable, "-m", f"{__package__}.engine"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, "PYTHONPATH": package_path()},
                start_new_session=True,
            )
        assert self._engine.stdin is not None
        assert self._engine.stdout is not None
        asked = workers or len(os.sched_getaffinity(0))
        self._engine.stdin.write(json.dumps([name, asked, options, str(self._spool.path)]) + "\n")
        self._engine.stdin.flush()
        said = self._engine.stdout.readline()
        answer = json.loads(said) if said else {"error": f"it did not start; see {folder / 'cluster.log'}"}
        if "error" in answer:
            raise InvalidInput(f"{self._on}: {answer['error']}")
        return str(answer["address"])

    def submit(self, task: Task) -> None:
        self._tasks.append(task)

    def results(self) -> Iterator[Done]:
        with undone(self._end_engine):
            since = time.monotonic()
            while self._tasks or self._suspects or self._flying or self._lost:
                self._fly()
                try:
                    future = self._answers.get(timeout=0.25)
                except queue.Empty:
                    since = self._alive(since)
                    continue
                if future.status == "finished":
                    since = time.monotonic()
                yield from self._take(future)

    def _alive(self, since: float) -> float:
        """When the scheduler was last there; raises ConnectionError if that is too long ago."""
        if self._engine is not None and self._engine.poll() is not None:
            raise ConnectionError(f"{self._on}: the scheduler of Dask has ended; run again to continue")
        if self._client.status == "running":
            return time.monotonic()
        if time.monotonic() - since > _GONE:
            raise ConnectionError(f"{self._on}: the scheduler of Dask is gone; run again to continue")
        return since

    def _fly(self) -> None:
        """Keep two batches a thread of the workers under way; points under suspicion go one at a time."""
        threads = self._threads()
        while self._lost and threads:
            self._send(*self._lost.popleft())
        while self._tasks and len(self._flying) < 2 * threads:
            mean = self._wall / self._done if self._done else _BATCH
            # The last ones are spread over all workers.
            size = min(_MOST, max(1, int(_BATCH / max(mean, 1e-4))), 1 + len(self._tasks) // (4 * threads))
            tasks = [self._tasks.popleft() for _ in range(min(size, len(self._tasks)))]
            self._send(self._work([(t, key(kind_named(t.kind), t.point)) for t in tasks]), alone=False)
        if self._suspects and threads and not self._flying:
            self._send(self._work([self._suspects.popleft()]), alone=True)

    def _threads(self) -> int:
        """Threads of all workers, asked for once a second; 0 without the scheduler."""
        if self._client.status != "running":
            return 0
        if time.monotonic() - self._asked > 1.0:
            with contextlib.suppress(OSError):  # it is gone just now
                self._known = sum(self._client.nthreads().values())
                self._asked = time.monotonic()
        return max(1, self._known)

    def _work(self, tasks: list[tuple[Task, str]]) -> Work:
        self._files += 1
        return Work(tuple(tasks), str(self._spool.path / f"{self._files}.jsonl"), os.getcwd())

    def _send(self, work: Work, alone: bool) -> None:
        self._sent += 1
        name = f"isthmus-{self._spool.path.name}-{self._sent}"
        future = self._client.submit(carry_out, work, key=name, pure=False)
        self._flying[name] = (future, work, alone)
        future.add_done_callback(self._answers.put)

    def _take(self, future: Any) -> Iterator[Done]:
        _, work, alone = self._flying.pop(future.key)
        file = Path(work.file)
        found, error = self._answer(future)
        if found is None and error is None:
            # Lost with its scheduler, while a worker may still be at it: whoever gets it goes on in the same file.
            self._lost.append((work, alone))
            return
        if found is None:
            there = spool.read(file).done
            found = [done_of(t.number, there[k]) for t, k in work.tasks if k in there]
        known = {d.number for d in found}
        left = [(t, k) for t, k in work.tasks if t.number not in known]
        if error is None:
            self._tasks.extend(t for t, _ in left)
        elif type(error).__name__ != "KilledWorker":
            words = " ".join(str(error).split()) or type(error).__name__
            found += [Done(t.number, None, words, 0.0) for t, _ in left]
        elif alone:
            found += [Done(t.number, None, "workers ended again and again with it", 0.0) for t, _ in left]
        else:
            self._suspects.extend(left)
        for done in found:
            self._wall += done.wall
            self._done += 1
            yield done
        # The caller has them in the ledger when it comes back.
        spool.take(file)

    @staticmethod
    def _answer(future: Any) -> tuple[list[Done] | None, BaseException | None]:
        """What a batch gave, or its error; neither where it was lost with its scheduler."""
        try:
            if future.status == "error":
                return None, future.exception()
            if future.status == "finished":
                return future.result(), None
        except (OSError, CancelledError):
            pass
        return None, None

    def close(self) -> None:
        """Give up what is not done; what workers have written down stays for the next run."""
        self._tasks.clear()
        if self._client is not None:
            with contextlib.suppress(Exception):
                self._client.close(timeout=1)
            self._client = None
        self._end_engine()
        self._spool.close()

    def _end_engine(self) -> None:
        if self._engine is None:
            return
        assert self._engine.stdin is not None
        assert self._engine.stdout is not None
        with contextlib.suppress(OSError):
            self._engine.stdin.close()
        try:
            # Jobs of a queue are cancelled meanwhile; it goes on without us if that takes longer.
            self._engine.wait(timeout=0.8)
        except subprocess.TimeoutExpired:
            threading.Thread(target=self._engine.wait, daemon=True).start()
        self._engine.stdout.close()


def _where(on: str) -> tuple[str, dict[str, str]]:
    """The name of an engine with its options."""
    if on == "local":
        return on, {}
    if on.startswith(("tcp://", "tls://")):
        return "tcp", {}
    name, _, rest = on.partition(":")
    if name not in QUEUES:
        raise InvalidInput(f"{on}: must be local, {', '.join(QUEUES)} or tcp://HOST:PORT")
    options = {}
    for word in filter(None, rest.split(",")):
        option, equals, value = word.partition("=")
        if not (option and equals and value):
            raise InvalidInput(f"{on}: {word}: must be OPTION=VALUE, as of dask-jobqueue")
        options[option] = value
    return name, options
