"""The verb ``record``: run an MPI program and record its communication and computation."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InvalidInput, ParseError
from ..interruption import undone
from ..mpi.command import take_apart
from ..mpi.detection import find
from ..mpi.launch import loadable, run, with_variables
from ..units import parse
from .alone import without_mpi
from .build import build
from .counters import asked
from .merge import note_command
from .region import marking, region
from .unseen import cause

if TYPE_CHECKING:
    from ..schedule.program import Program


@dataclass(frozen=True, slots=True)
class Recorded:
    """Result of a recording.

    Parameters
    ----------
    status : int
        Exit status of the command, as shells give it.
    program : Program or None
        The recorded program; None if the recorder saw no rank call MPI_Init.
    raw : str or None
        Folder of the raw traces, if they were kept.
    why : str
        Reason why there is no program although MPI was called; empty if MPI was not called.
    """

    status: int
    program: Program | None
    raw: str | None
    why: str = ""


def record(
    command: Sequence[str],
    output: str | os.PathLike[str] | None = None,
    *,
    mpicc: str | None = None,
    begin: str | float | None = None,
    end: str | float | None = None,
    marker: str | int | None = None,
    limit: str | float | None = None,
    counters: str | None = None,
    directory: str | os.PathLike[str] | None = None,
    keep_raw: bool = False,
    force: bool = False,
    say: Callable[[str], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
    stdout: int | None = None,
) -> Recorded:
    """Run a command and record the MPI program that it starts, without recompiling it.

    Parameters
    ----------
    command : sequence of str
        ``["mpirun", "-n", "16", "./app"]``, or the program itself.
    output : path, optional
        HDF5 file to write; by default none is written.
    mpicc : str, optional
        Compiler of the MPI that the program uses, if it is not found automatically.
    begin, end : str or float, optional
        Part of the run to record: iterations of the marker, from the first named to the beginning of the second, or
        times since the end of MPI_Init such as ``"2.5s"``.
    marker : str or int, optional
        Call that begins an iteration: ``"MPI_Barrier"``, ``"MPI_Allreduce@cg.c:120"``, or a level of MPI_Pcontrol.
    limit : str or float, optional
        Bytes that each process may write, by default 2 GB, or ``"none"``; what comes after them is only counted.
    counters : str, optional
        Processor counters to read between calls, by default ``"instructions,cycles"``; see
        :data:`isthmus.recording.counters.EVENTS`. ``"off"``: none. Counters that the system does not allow are omitted.
    directory : path, optional
        Folder for the raw traces, on a disk that all ranks see; by default beside the output.
    keep_raw : bool
        Keep the raw traces.
    force : bool
        Overwrite an output that exists.
    say : callable, optional
        Called with a message when something takes time.
    progress : callable, optional
        Called with bytes merged and bytes of all.
    stdout : int, optional
        File descriptor that the command's standard output goes to, by default the standard output.

    Returns
    -------
    Recorded

    Raises
    ------
    InvalidInput
        If there is no MPI, the program bypassed the recorder, or the output exists. The recording of a program that
        failed is kept.
    OSError
        If the output could not be written; the message says where the raw traces are, which :func:`merge_raw` takes.
    """
    words = take_apart(command)
    if not command:
        raise InvalidInput("no command to record: put it after --, such as -- mpirun -n 4 ./app")
    if output is not None:
        check_output(output, force)
    settings = _settings(begin, end, marker, limit, [path for i in words.programs if (path := words.path(i))])
    if named := asked(counters):
        settings["ISTHMUS_COUNTERS"] = named
    library = build(None if mpicc is None and without_mpi(words) else find(words, mpicc), say)
    with _raw_folder(directory, output, keep_raw) as (folder, keep):
        settings["ISTHMUS_DIRECTORY"] = str(folder)
        line, environment = with_variables(words, settings, preload=loadable(library, folder))
        note_command(folder, shlex.join(command))
        status = run(line, environment, stdout)
        if not any(folder.glob("*.trace")):
            why = cause(folder, words)
            if why and not status:
                raise InvalidInput(f"nothing was recorded: {why}")
            return Recorded(status, None, None, why or "")
        keep()
        try:
            program = _saved(folder, output, progress)
        except (InvalidInput, ParseError):
            # There was no room for any trace: there is nothing to keep.
            keep(any(path.stat().st_size for path in folder.glob("*.trace")))
            raise
        except BaseException as error:
            if say and not isinstance(error, OSError):
                say(f"the raw traces are kept: {_later(folder, output)}")
            raise
        kept = str(folder) if keep_raw else None
        keep(keep_raw)
    return Recorded(status, program, kept)


def merge_raw(
    directory: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Recorded:
    """Merge raw traces left by a recording with ``keep_raw``, or by one that was killed or ran out of disk space.

    Parameters
    ----------
    directory : path
        Folder of the raw traces, which are kept.
    output : path
        HDF5 file to write.
    force : bool
        Overwrite an output that exists.
    progress : callable, optional
        Called with bytes merged and bytes of all.

    Returns
    -------
    Recorded
        Its status is 0.

    Raises
    ------
    InvalidInput
        If there are no traces, or if the output exists.
    ParseError
        If a trace is damaged.
    """
    if not os.path.isdir(directory):
        raise InvalidInput(f"{os.fspath(directory)}: there is no such folder of raw traces")
    check_output(output, force)
    return Recorded(0, _saved(Path(directory), output, progress), os.fspath(directory))


def check_output(output: str | os.PathLike[str], force: bool) -> None:
    """Raise InvalidInput if the file already exists."""
    if not force and os.path.isfile(output):
        raise InvalidInput(f"{os.fspath(output)} exists: --force (in Python force=True) overwrites it")


def _saved(folder: Path, output: str | os.PathLike[str] | None, progress: Callable[[int, int], None] | None) -> Program:
    """The Program of raw traces, written; errors say how to do it again."""
    from .merge import merge

    try:
        scratch = folder if output is None else os.path.dirname(os.path.realpath(output))
        program = merge(folder, scratch=scratch, progress=progress)
        if output is not None:
            program.save(output)
    except OSError as error:
        words = f"{error.strerror or error}; the raw traces are kept: {_later(folder, output)}"
        raise OSError(error.errno, words, os.fspath(output or folder)) from error
    return program


def _later(folder: Path, output: str | os.PathLike[str] | None) -> str:
    return shlex.join(["isthmus", "record", "--merge", str(folder), "-o", os.fspath(output or "app.h5")])


def _settings(
    begin: str | float | None,
    end: str | float | None,
    marker: str | int | None,
    limit: str | float | None,
    programs: list[str],
) -> dict[str, str]:
    settings = {}
    if text := region(begin, end, marker):
        settings["ISTHMUS_REGION"] = text
    if marker is not None:
        settings["ISTHMUS_MARKER"] = marking(marker, programs)
    if isinstance(limit, str) and limit.strip().lower() == "none":
        settings["ISTHMUS_LIMIT"] = "0"
    elif limit is not None:
        count = parse(limit, "B")
        if not count >= 1e5:
            raise InvalidInput(f"limit {limit}: expected at least 100 kB for each process")
        settings["ISTHMUS_LIMIT"] = str(int(count))
    return settings


@contextmanager
def _raw_folder(
    directory: str | os.PathLike[str] | None, output: str | os.PathLike[str] | None, keep_raw: bool
) -> Iterator[tuple[Path, Callable[..., None]]]:
    """A new folder for raw traces, and a function that says whether it stays; without a word it goes."""
    if directory is None:
        parent = Path(os.path.realpath(output or "x")).parent
        stem = Path(output).stem if output is not None else "isthmus"
    else:
        parent = Path(os.path.realpath(directory))
        parent.mkdir(parents=True, exist_ok=True)
        stem = "raw"
    if not parent.is_dir():
        raise InvalidInput(f"there is no folder {parent}")
    folder = Path(tempfile.mkdtemp(prefix=f"{stem}.raw-" if keep_raw else f".{stem}.raw-", dir=parent))
    staying = False

    def keep(stays: bool = True) -> None:
        nonlocal staying
        staying = stays

    def clear() -> None:
        if not staying:
            shutil.rmtree(folder, ignore_errors=True)

    try:
        with undone(clear):
            yield folder, keep
    finally:
        clear()
