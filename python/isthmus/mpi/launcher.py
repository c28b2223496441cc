"""A launcher with its options as one text, and runs of programs under it that are ended for certain."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import InvalidInput
from ..interruption import undone
from .command import executable, launched, take_apart, with_ranks
from .detection import Mpi, find
from .launch import with_variables

#: Every process of a run has this variable; its value is the run's own.
MARK = "ISTHMUS_RUN"
#: When the run was started, in seconds since 1970.
LAUNCHED = "ISTHMUS_LAUNCHED"
#: Seconds between asking processes to end and ending them: in general, and where a command is interrupted, which has
#: waited before (:mod:`isthmus.interruption`).
GRACE, SHORT = 3.0, 0.5


def parse_launch(text: str) -> tuple[list[str], int | None]:
    """The words of a launcher, and the number of ranks that they ask for: ``mpirun -n 4 --oversubscribe``.

    Raises
    ------
    InvalidInput
        For no command, and a number of ranks that is none.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InvalidInput(f"--launch {text}: {error}".rstrip(".").replace("No closing", "no closing")) from None
    if not words:
        raise InvalidInput("--launch is empty: expected a command such as 'mpirun -n 4'")
    try:
        return words, launched(words)
    except InvalidInput as error:
        raise InvalidInput(f"--launch {error}") from None


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended.

    Parameters
    ----------
    status : int
        Exit status as shells give it: 128 and the number of the signal that ended it.
    output, errors : str
        What it wrote to standard output and standard error.
    seconds : float
    late : bool
        It was ended because its time was up.
    """

    status: int
    output: str
    errors: str
    seconds: float
    late: bool = False

    def last_words(self, count: int = 3) -> str:
        """What it said last, in one line; frames and blank lines of launchers left out."""
        lines = [line.strip() for line in (self.errors or self.output).splitlines() if line.strip(" -=*|\t")]
        return " / ".join(lines[-count:]) or "no message"


@dataclass(frozen=True, slots=True)
class Launcher:
    """What starts ranks.

    Parameters
    ----------
    words : tuple of str
        Such as ``("mpirun", "-n", "2", "--bind-to", "core")``; empty: the program is started without one, as one rank.
    ranks : int or None
        Number of ranks that the words ask for.
    """

    words: tuple[str, ...]
    ranks: int | None = None

    @classmethod
    def parse(cls, text: str) -> Launcher:
        """Return the launcher of a text such as ``mpirun -n 2``, ``srun -N 2 --ntasks-per-node=1``.

        Raises
        ------
        InvalidInput
            If it is empty, if there is no such program, or if the number of ranks is none.
        """
        words, ranks = parse_launch(text)
        if words[0] == "isthmus" and executable("isthmus") is None:
            # Called by its path, in an environment that is not active: the one beside this Python is meant.
            words = [str(Path(sys.executable).with_name("isthmus")), *words[1:]]
        if executable(words[0]) is None:
            raise InvalidInput(f"--launch {text}: there is no program {words[0]}")
        return cls(tuple(words), ranks)

    def __str__(self) -> str:
        return shlex.join(self.words)

    def mpi(self, mpicc: str | None = None) -> Mpi:
        """Return the MPI whose ranks it starts; errors are those of :func:`isthmus.mpi.detection.find`."""
        return find(take_apart(self.command("true")), mpicc)

    def command(self, program: str | os.PathLike[str], *arguments: str, ranks: int | None = None) -> list[str]:
        """Return the command line that starts ranks of a program: as many as asked, or as the launcher's words say."""
        words = list(self.words) if ranks is None or not self.words else with_ranks(self.words, ranks)
        return [*words, os.fspath(program), *arguments]

    def run(
        self,
        program: str | os.PathLike[str],
        *arguments: str,
        ranks: int | None = None,
        variables: Mapping[str, str] | None = None,
        preload: Path | None = None,
        limit: float | None = None,
        watch: Callable[[], None] | None = None,
    ) -> Ended:
        """Start ranks of a program and wait for their end.

        Parameters
        ----------
        program : path
        *arguments : str
        ranks : int, optional
            By default as many as the launcher's words say.
        variables : mapping, optional
            Environment variables for the ranks.
        preload : Path, optional
            A library to load into them.
        limit : float, optional
            Seconds after which they are ended.
        watch : callable, optional
            Called every 0.2 s meanwhile, to show progress.
        """
        command = take_apart(self.command(program, *arguments, ranks=ranks))
        own = {MARK: uuid.uuid4().hex, LAUNCHED: f"{time.time():.6f}"}
        words, environment = with_variables(command, {**(variables or {}), **own}, preload)
        return captured(words, environment, limit, watch)


def captured(
    words: Sequence[str],
    environment: Mapping[str, str],
    limit: float | None = None,
    watch: Callable[[], None] | None = None,
) -> Ended:
    """Run a command to its end, its time limit, or an interruption; no process of it on this host is left then.

    Parameters
    ----------
    words : sequence of str
    environment : mapping
        Its variable ``ISTHMUS_RUN``, which is added if it is not there, tells the processes of the run: launchers put
        them into groups of their own.
    limit : float, optional
        Seconds.
    watch : callable, optional
        Called every 0.2 s.

    Raises
    ------
    InvalidInput
        If the command cannot be started.
    """
    begin, mark = time.monotonic(), environment.get(MARK) or uuid.uuid4().hex
    process: subprocess.Popen[str] | None = None
    late = False
    # An interruption may end this process while it waits for the others' end, or has just started the first of them.
    with undone(lambda: end(process, mark, SHORT)):
        try:
            process = _started(words, {**environment, MARK: mark})
            while True:
                left = None if limit is None else max(0.0, begin + limit - time.monotonic())
                step = min((seconds for seconds in (left, 0.2 if watch else None) if seconds is not None), default=None)
                try:
                    output, errors = process.communicate(timeout=step)
                    break
                except subprocess.TimeoutExpired:
                    if left == 0.0:
                        late = True
                        end(process, mark)
                        output, errors = process.communicate()
                        break
                    if watch:
                        watch()
        finally:
            end(process, mark)
            for pipe in (process.stdout, process.stderr) if process else ():
                if pipe is not None:  # left open by an interruption
                    pipe.close()
    status = process.returncode
    if late and status == 0:  # that of MPICH says at times that all went well
        status = -signal.SIGTERM
    return Ended(status if status >= 0 else 128 - status, output, errors, time.monotonic() - begin, late)


def _started(words: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[str]:
    """The command, in a session of its own."""
    try:
        return subprocess.Popen(
            list(words),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise InvalidInput(f"{words[0]} cannot be started: {error.strerror}") from None


def end(process: subprocess.Popen[str] | None, mark: str, grace: float = GRACE) -> None:
    """End a command and every process that it started here: first asked, after some seconds killed."""
    if process is not None and process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            _wait(process, grace)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    for _ in range(3):  # a process that is being killed may just have started another
        left = list(marked(mark))
        for number in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(number, signal.SIGKILL)
        if not left:
            break
        time.sleep(0.05)


def marked(mark: str) -> Iterator[int]:
    """Processes of this host, but this one, whose environment holds the mark of a run and that have not ended."""
    wanted = f"{MARK}={mark}".encode()
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            # The environment of a process that has ended and is not waited for is empty.
            if wanted in (path / "environ").read_bytes().split(b"\0") and int(path.name) != os.getpid():
                yield int(path.name)


def _wait(process: subprocess.Popen[str], seconds: float) -> None:
    """Wait for the end of a process whose pipes may be full: what it still says is of no interest."""
    until = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    if process.poll() is None:
        raise subprocess.TimeoutExpired(process.args, seconds)
