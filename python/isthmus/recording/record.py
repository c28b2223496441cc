"""The verb ``record``: run an MPI program and write down what it communicated and computed."""

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

from ..errors import InvalidInput
from ..interruption import undone
from ..units import parse
from .build import build
from .command import take_apart
from .launch import run, with_recorder
from .mpi import find
from .region import marking, region

if TYPE_CHECKING:
    from ..schedule.program import Program


@dataclass(frozen=True, slots=True)
class Recorded:
    """What came of a recording.

    Parameters
    ----------
    status : int
        Exit status of the command, as shells give it.
    program : Program or None
        What was recorded; None if the command failed before any rank called MPI_Init.
    raw : str or None
        Where the raw traces are, if they were kept.
    """

    status: int
    program: Program | None
    raw: str | None


def record(
    command: Sequence[str],
    output: str | os.PathLike[str] | None = None,
    *,
    mpicc: str | None = None,
    begin: str | float | None = None,
    end: str | float | None = None,
    marker: str | int | None = None,
    limit: str | float | None = None,
    directory: str | os.PathLike[str] | None = None,
    keep_raw: bool = False,
    say: Callable[[str], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Recorded:
    """Run a command and record the MPI program that it starts; nothing is compiled again.

    Parameters
    ----------
    command : sequence of str
        ``["mpirun", "-n", "16", "./app"]``, or the program itself.
    output : path, optional
        HDF5 file to write; by default none is written.
    mpicc : str, optional
        Compiler of the MPI that the program uses, where it is not found.
    begin, end : str or float, optional
        Part of the run to record: iterations of the marker, from the first named to the beginning of the second, or
        times since the end of MPI_Init such as ``"2.5s"``.
    marker : str or int, optional
        Call that begins an iteration: ``"MPI_Barrier"``, ``"MPI_Allreduce@cg.c:120"``, or a level of MPI_Pcontrol.
    limit : str or float, optional
        Bytes that each process may write; what comes after them is only counted.
    directory : path, optional
        For the raw traces, on a disk that all ranks see; by default beside the output.
    keep_raw : bool
        Keep the raw traces.
    say : callable, optional
        Told what takes time.
    progress : callable, optional
        Called with bytes merged and bytes of all.

    Returns
    -------
    Recorded

    Raises
    ------
    InvalidInput
        If there is no MPI, or if nothing was recorded. What was recorded of a program that failed is kept.
    """
    words = take_apart(command)
    if not command:
        raise InvalidInput("no command to record: put it behind --, such as -- mpirun -n 4 ./app")
    settings = _settings(begin, end, marker, limit, [path for i in words.programs if (path := words.path(i))])
    mpi = find(words, mpicc)
    library = build(mpi, say)
    with _raw_folder(directory, output, keep_raw) as (folder, keep):
        line, environment = with_recorder(
            words, _loadable(library, folder), settings | {"ISTHMUS_DIRECTORY": str(folder)}
        )
        status = run(line, environment)
        if not any(folder.glob("*.trace")):
            if status:
                return Recorded(status, None, None)
            raise InvalidInput(f"{shlex.join(command)} never called MPI_Init: nothing was recorded")
        keep()
        try:
            program = _merged(folder, command, progress)
            if output is not None:
                program.save(output)
        except BaseException:
            if say:
                say(f"the raw traces are kept in {folder}")
            raise
        kept = str(folder) if keep_raw else None
        keep(keep_raw)
    return Recorded(status, program, kept)


def _merged(folder: Path, command: Sequence[str], progress: Callable[[int, int], None] | None) -> Program:
    from .merge import merge

    return merge(folder, command=shlex.join(command), progress=progress)


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
    if limit is not None:
        count = parse(limit, "B")
        if not count >= 1e5:
            raise InvalidInput(f"limit {limit}: at least 100 kB are needed for each process")
        settings["ISTHMUS_LIMIT"] = str(int(count))
    return settings


def _loadable(library: Path, folder: Path) -> Path:
    """The library under a path that LD_PRELOAD takes, which is a list with blanks and colons between."""
    for path in (library, folder / library.name):
        if not set(str(path)) & set(" :,"):
            if path != library:
                path.symlink_to(library)
            return path
    raise InvalidInput(
        f"{library}: LD_PRELOAD takes no path with blanks, colons or commas: set XDG_CACHE_HOME to another"
    )


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
