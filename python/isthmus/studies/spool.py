"""Points of a study that workers have computed, on disk before the ledger has them: what is done outlives who did it.

A run has a folder, and every batch of points a file in it: a line when a point begins, a line when it is done.
Whoever computes a batch again reads what is done. The next run of the study puts what no run holds into the ledger.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from .ledger import Ledger, key
from .parameters import Point, kind_named

_FOLDER = "under-way"
_TAKEN = ".taken"


@dataclass
class Batch:
    """What the file of a batch says: lines of points that are done, by key, and how often each began."""

    done: dict[str, dict[str, Any]] = field(default_factory=dict)
    begun: Counter[str] = field(default_factory=Counter)


class Spool:
    """The folder of one run, held by a lock for as long as its process lives.

    Attributes
    ----------
    path : Path
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.path = Path(folder).absolute() / _FOLDER / uuid.uuid4().hex
        self.path.mkdir(parents=True)
        self._lock: IO[str] = open(self.path / "lock", "w")  # noqa: SIM115  # held until close
        fcntl.lockf(self._lock, fcntl.LOCK_EX)

    def close(self) -> None:
        """Let go of the folder, which goes unless there are points in it for the next run."""
        self._lock.close()
        if not any(self.path.glob("*.jsonl")):
            _remove(self.path)


def _remove(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    with contextlib.suppress(OSError):
        path.parent.rmdir()


def begin(file: Path, key: str) -> None:
    """Write down that a point begins."""
    _append(file, {"begin": key})


def finish(file: Path, line: dict[str, Any]) -> None:
    """Write down that a point is done."""
    _append(file, line)


def _append(file: Path, line: dict[str, Any]) -> None:
    # A worker that was killed may have left half a line.
    with open(file, "ab+") as stream:
        if stream.tell():
            stream.seek(-1, os.SEEK_END)
            torn = stream.read(1) != b"\n"
        else:
            torn = False
        stream.write(b"\n" * torn + json.dumps(line).encode() + b"\n")


def read(file: Path) -> Batch:
    """What stands in the file of a batch; half a line is none."""
    out = Batch()
    try:
        text = file.read_text()
    except FileNotFoundError:
        return out
    for words in text.split("\n"):
        try:
            line = json.loads(words)
        except ValueError:
            continue
        if "begin" in line:
            out.begun[line["begin"]] += 1
        else:
            out.done[line["key"]] = line
    return out


def take(file: Path) -> None:
    """Say that the ledger has the points of a batch."""
    with contextlib.suppress(FileNotFoundError):
        file.rename(file.with_suffix(_TAKEN))


def is_taken(file: Path) -> bool:
    """Whether the ledger has the points of a batch: a worker that died may have its results asked for once more."""
    return file.with_suffix(_TAKEN).exists()


def collect(folder: str | os.PathLike[str], study: str, ledger: Ledger) -> None:
    """Put what earlier runs left into the ledger, and remove it."""
    for path in sorted((Path(folder) / _FOLDER).glob("*")):
        with _held(path) as held:
            if not held:
                continue
            for file in path.glob("*.jsonl"):
                for line in read(file).done.values():
                    _add(study, ledger, line)
            _remove(path)


@contextlib.contextmanager
def _held(path: Path) -> Iterator[bool]:
    """Whether the run of a folder is over, and its lock is ours."""
    try:
        lock = open(path / "lock", "a")  # noqa: SIM115  # closed below
    except OSError:
        yield path.is_dir()
        return
    with lock:
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True


def _add(study: str, ledger: Ledger, line: dict[str, Any]) -> None:
    point: Point = line["point"]
    kind = kind_named(line["kind"])
    # Of another version since: it is computed again.
    if line["results"] is not None and key(kind, point) == line["key"]:
        ledger.add(study, kind, point, results=line["results"], error=None, wall=line["wall"], host=line["host"])
