"""What a worker of a cluster does: compute a batch of points, each written down when it is done."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import spool
from .backend import Done, Task, compute
from .ledger import key
from .parameters import kind_named

#: Workers that a point may take along before it is given up.
DEATHS = 3


@dataclass(frozen=True)
class Work:
    """A batch of points, with the key in the ledger of each, the file that they share, and where paths begin."""

    tasks: tuple[tuple[Task, str], ...]
    file: str
    folder: str


def carry_out(work: Work) -> list[Done]:
    """Compute what is not done yet; on workers that do not see the folder of the study, all of it."""
    file = Path(work.file)
    shared = file.parent.is_dir()
    if os.path.isdir(work.folder):
        os.chdir(work.folder)
    if spool.is_taken(file):
        return []
    before = spool.read(file) if shared else spool.Batch()
    out = []
    for task, wanted in work.tasks:
        if wanted in before.done:
            out.append(done_of(task.number, before.done[wanted]))
            continue
        if before.begun[wanted] >= DEATHS:
            out.append(Done(task.number, None, f"{before.begun[wanted]} workers ended while they computed it", 0.0))
            continue
        if shared:
            if not file.parent.is_dir():
                break  # the study goes on without us
            spool.begin(file, wanted)
        done = _checked(task, wanted)
        if shared:
            spool.finish(file, line_of(task, wanted, done))
        out.append(done)
    return out


def _checked(task: Task, wanted: str) -> Done:
    """Results of this worker count only if its Isthmus and its files are those of the study."""
    try:
        here = key(kind_named(task.kind), task.point)
    except (ValueError, OSError) as error:
        return Done(task.number, None, f"a worker: {error}", 0.0)
    if here != wanted:
        return Done(task.number, None, "a worker has another version of Isthmus, or of a file of the study", 0.0)
    return compute(task)


def line_of(task: Task, wanted: str, done: Done) -> dict[str, Any]:
    """A point that is done as its file holds it."""
    return {
        "key": wanted, "kind": task.kind, "point": task.point, "results": done.results, "error": done.error,
        "wall": done.wall, "host": done.host,
    }  # fmt: skip


def done_of(number: int, line: dict[str, Any]) -> Done:
    """The same read back."""
    return Done(number, line["results"], line["error"], line["wall"], line["host"])
