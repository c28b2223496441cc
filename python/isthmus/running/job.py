"""Starting the ranks of a program that uses libisthmus without MPI, on this computer."""

from __future__ import annotations

import contextlib
import ctypes
import os
import queue
import shutil
import signal
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ..errors import InvalidInput
from ..mpi.launch import forwarding

__all__ = ["run_job"]

#: Seconds that the others have to end by themselves after a rank has failed, as libisthmus lets them do, or after they
#: were told to end.
GRACE = 5.0
_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


def run_job(
    command: Sequence[str],
    ranks: int,
    *,
    variables: Mapping[str, str] | None = None,
    say: Callable[[str], None] | None = None,
    stdout: int | None = None,
) -> int:
    """Start a command as so many ranks of one job, and wait for all of them.

    Each process finds ISTHMUS_JOB, ISTHMUS_RANK, ISTHMUS_RANKS and, unless it is there already, ISTHMUS_RENDEZVOUS in
    its environment, from which ``isthmus_join(NULL, ...)`` takes them. The cores that this process may use are dealt
    out in equal parts; where there are more ranks than cores, every rank may use all of them. Rank 0 reads the standard
    input.

    Parameters
    ----------
    command : sequence of str
        The program and its arguments.
    ranks : int
        At least 1.
    variables : mapping, optional
        More environment variables of the ranks.
    say : callable, optional
        Told in a sentence which rank failed first, and how.
    stdout : int, optional
        File descriptor for their standard output; by default that of this process.

    Returns
    -------
    int
        0, or the exit status of the rank that failed first, as shells give it: 128 and the number of a signal. When a
        rank fails, the others have some seconds to end by themselves.

    Raises
    ------
    InvalidInput
        If there is no such program, or the number of ranks is below 1.
    """
    if ranks < 1:
        raise InvalidInput(f"{ranks} ranks: there must be at least one")
    if not command:
        raise InvalidInput("no command to run: put it after --, such as -n 4 -- ./program")
    if shutil.which(command[0]) is None:
        raise InvalidInput(f"{command[0]}: there is no such program")
    job = f"run-{uuid.uuid4().hex}"
    shares = _shares(ranks)
    held, at = _rendezvous()
    parent = os.getpid()

    def prepare(cores: Sequence[int]) -> None:
        """In the new process: it ends with this one, however that ends, and stays on its cores."""
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, cores)

    processes: list[subprocess.Popen[bytes]] = []
    ended: queue.Queue[tuple[int, int]] = queue.Queue()
    try:
        with forwarding(processes) as told:
            for rank in range(ranks):
                own = {"ISTHMUS_JOB": job, "ISTHMUS_RANK": str(rank), "ISTHMUS_RANKS": str(ranks)}
                process = subprocess.Popen(
                    command,
                    env={"ISTHMUS_RENDEZVOUS": at, **os.environ, **(variables or {}), **own},
                    stdin=None if rank == 0 else subprocess.DEVNULL,
                    stdout=stdout,
                    preexec_fn=lambda cores=shares[rank]: prepare(cores),
                )
                processes.append(process)
            # Only now: a process is not forked beside threads.
            for rank, process in enumerate(processes):
                threading.Thread(
                    target=lambda rank, process: ended.put((rank, process.wait())), args=(rank, process), daemon=True
                ).start()
            return _wait(processes, ended, told, say)
    except OSError as error:
        raise InvalidInput(f"{command[0]}: {error.strerror}") from None
    finally:
        held.close()
        for process in processes:
            process.kill()
        # What ranks leave behind that were ended while they joined.
        for path in Path("/dev/shm").glob(f"isthmus-{job}*"):
            path.unlink(missing_ok=True)


def _rendezvous() -> tuple[socket.socket, str]:
    """Where ranks find each other if they use libfabric: a port that nobody else is given while the socket is open."""
    held = socket.socket()
    # Rank 0 says the same, and listens there.
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    held.bind(("127.0.0.1", 0))
    host, port = held.getsockname()
    return held, f"{host}:{port}"


def _shares(ranks: int) -> list[list[int]]:
    """The cores of each rank."""
    cores = sorted(os.sched_getaffinity(0))
    if ranks > len(cores):
        return [cores] * ranks
    bounds = [len(cores) * rank // ranks for rank in range(ranks + 1)]
    return [cores[bounds[rank] : bounds[rank + 1]] for rank in range(ranks)]


def _wait(
    processes: Sequence[subprocess.Popen[bytes]],
    ended: queue.Queue[tuple[int, int]],
    told: Sequence[int],
    say: Callable[[str], None] | None,
) -> int:
    """The status of the job when all its ranks have ended."""
    first = 0
    left = len(processes)
    # When the others are told to end, and by which signal after that.
    orders = [signal.SIGTERM, signal.SIGKILL]
    patience: float | None = None
    while left:
        try:
            rank, status = ended.get(timeout=0.2 if patience is None else max(patience - time.monotonic(), 0.01))
        except queue.Empty:
            if patience is None and told:
                patience = time.monotonic() + GRACE
            if patience is not None and time.monotonic() >= patience:
                for process in processes:
                    process.send_signal(orders[0])
                orders = orders[-1:]
                patience = time.monotonic() + GRACE
            continue
        left -= 1
        if status == 0 or first:
            continue
        first = status if status > 0 else 128 - status
        if left:
            patience = time.monotonic() + GRACE
        if say is not None and not told:
            say(f"rank {rank} {_words(status)}")
    if told and not first:
        return 128 + told[0]
    return first


def _words(status: int) -> str:
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"
