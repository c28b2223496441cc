"""A process that holds a scheduler of Dask and asks for its workers, as long as its standard input is open.

The study that started it may end in any way: the workers and the jobs of the queue go too.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import threading
from typing import Any

#: Seconds between looks for workers that are gone; those of a queue are asked for again.
_EVERY = 15.0
QUEUES = {"slurm": "SLURMCluster", "pbs": "PBSCluster", "lsf": "LSFCluster"}


def main() -> None:
    """Say the address as a line of JSON, or an error; end with the input."""
    on, workers, options, folder = json.loads(sys.stdin.readline())
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        # Importing it sets its level.
        import distributed  # noqa: F401

        logging.getLogger("distributed").setLevel(logging.WARNING)
        cluster = _local(workers, folder) if on == "local" else _queue(on, workers, options)
    except Exception as error:  # whatever an engine of others raises
        answers.write(json.dumps({"error": " ".join(f"{error}".split()) or type(error).__name__}) + "\n")
        answers.flush()
        os._exit(1)
    answers.write(json.dumps({"address": cluster.scheduler_address}) + "\n")
    answers.flush()
    over = threading.Event()
    threading.Thread(target=_read, args=(over,), daemon=True).start()
    while not over.wait(_EVERY):
        if on != "local":
            cluster.scale(workers)
    if on == "local":
        # The session is ours: workers in the middle of a point are not waited for.
        os.killpg(0, signal.SIGKILL)
    cluster.close()


def _read(over: threading.Event) -> None:
    sys.stdin.read()
    over.set()


def _local(workers: int, folder: str) -> Any:
    import distributed

    cluster: Any = distributed.LocalCluster  # has no annotations
    return cluster(
        n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, local_directory=folder
    )


def _queue(on: str, workers: int, options: dict[str, str]) -> Any:
    import dask_jobqueue

    read: dict[str, Any] = {k: int(v) if k in ("cores", "processes") else v for k, v in options.items()}
    cluster = getattr(dask_jobqueue, QUEUES[on])(**read)
    cluster.scale(workers)
    return cluster


if __name__ == "__main__":
    main()
