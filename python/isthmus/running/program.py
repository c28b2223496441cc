"""The verb run, for any MPI program: its collectives are carried out by libisthmus, without recompiling it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ..errors import InvalidInput
from ..interruption import undone
from ..machine import Machine
from ..mpi import build as building
from ..mpi.command import take_apart
from ..mpi.detection import Mpi, find
from ..mpi.launch import loadable, run, with_variables
from ..schedule.pattern import Pattern
from .placing import Placed, on_machine, placed
from .taken import Taken, read_counts

_FLAGS = (
    *("-std=c11", "-D_GNU_SOURCE", "-fexceptions", "-fvisibility=hidden", "-ftls-model=initial-exec"),
    *("-Wall", "-Wextra", "-Wno-deprecated-declarations"),
)
_LIBRARIES = ("-listhmus", "-lm", "-ldl", "-lpthread")


def run_program(
    command: Sequence[str],
    *,
    table: str | os.PathLike[str] | None = None,
    online: str | os.PathLike[str] | None = None,
    reproducible: bool = False,
    comparing: bool = True,
    machine: Machine | None = None,
    placement: str | os.PathLike[str] | None = None,
    pattern: Pattern | None = None,
    undirected: bool = False,
    directory: str | os.PathLike[str] | None = None,
    mpicc: str | None = None,
    say: Callable[[str], None] | None = None,
    stdout: int | None = None,
) -> Taken:
    """Run a command and carry out the collectives of the MPI program that it starts, without recompiling it.

    Collectives are carried out by libisthmus; what it leaves to the MPI library is counted, with the reason. Some calls
    of each kind and size are carried out by both in turn and timed; where the MPI library's own is faster, the calls
    that follow go there.

    Parameters
    ----------
    command : sequence of str
        ``["mpirun", "-n", "4", "./app"]``, or the program itself.
    table : path, optional
        Decision table in plain text, see :mod:`isthmus.tuning.plain_text`; by default that of the library.
    online : path, optional
        File of decisions that are made while the program runs, and that later runs start from; need not exist yet. Of
        blocking calls that come often the algorithms are timed in turns.
    reproducible : bool
        Combine numbers in the order of the MPI library, so that results are to the last bit what they are without
        Isthmus; nothing is compared. What libisthmus cannot combine in that order is left to the MPI library.
    comparing : bool
        Let the MPI library carry out some calls, to compare times.
    machine : Machine, optional
        Where ranks run. libisthmus then knows their places: ranks of communicators with a topology are reordered where
        the program permits that, and a program can ask for coordinates.
    placement : path, optional
        File of ranks for the launcher, as ``isthmus map -o`` writes it: ranks are started where it places them. With a
        machine any format will do. ``"mapped"``, with a machine and a pattern: by what ranks exchange, where that
        is better than the launcher's order. By default the launcher decides; with a machine it is asked where it
        starts ranks.
    pattern : Pattern, optional
        What ranks exchange.
    undirected : bool
        As for :func:`isthmus.map`.
    directory : path, optional
        Folder for files of the ranks, on a disk that all of them see; by default one for temporary files.
    mpicc : str, optional
        Compiler of the MPI that the program uses, if it is not found.
    say : callable, optional
        Told in a sentence what takes time.
    stdout : int, optional
        File descriptor for the command's standard output; by default the standard output.

    Returns
    -------
    Taken
        How the command ended, and what was taken over.

    Raises
    ------
    InvalidInput
        If there is no MPI or no compiler for it, the program is linked statically, or a rank starts on no node of the
        machine.
    """
    if not command:
        raise InvalidInput("no command to run: put it after --, such as -- mpirun -n 4 ./app")
    words = take_apart(command)
    mpi = find(words, mpicc)
    library = interposed(mpi, say)
    folder = Path(tempfile.mkdtemp(prefix="isthmus-run-", dir=_folder(directory)))

    def remove() -> None:
        shutil.rmtree(folder, ignore_errors=True)

    with undone(remove):
        try:
            if machine is not None:
                there = on_machine(words, mpi, machine, placement, folder, pattern, undirected)
            else:
                there = Placed(words) if placement is None else placed(words, mpi, placement, folder)
            if there.left and say is not None:
                say(f"left out, as the placement decides: {', '.join(there.left)}")
            settings = {
                **there.variables,
                "ISTHMUS_COUNTS": str(folder),
                "ISTHMUS_COMPARES": str(int(comparing and not reproducible)),
            }
            if reproducible:
                settings["ISTHMUS_REPRODUCIBLE"] = "1"
            if table is not None:
                settings["ISTHMUS_TABLE"] = os.path.realpath(table)
            if online is not None:
                settings["ISTHMUS_ONLINE"] = os.path.realpath(online)
            line, environment = with_variables(there.command, settings, preload=loadable(library, folder), last=True)
            status = run(line, environment, stdout)
            return replace(read_counts(folder, status), placement=there.used)
        finally:
            remove()


def _folder(directory: str | os.PathLike[str] | None) -> str | None:
    """The folder for temporary files, as all ranks have to name it."""
    if directory is not None and not os.path.isdir(directory):
        raise InvalidInput(f"--directory {os.fspath(directory)}: there is no such folder")
    return None if directory is None else os.path.realpath(directory)


def interposed(mpi: Mpi, say: Callable[[str], None] | None = None) -> Path:
    """Return the library that is loaded into programs of an MPI, and compile it first if necessary.

    Raises
    ------
    InvalidInput
        If it does not compile.
    """
    return building.build(_sources(), mpi, say)


def _sources() -> building.Sources:
    library = building.folder_of("libisthmus", "include/isthmus/isthmus.h")
    recorder = building.folder_of("recorder", "fortran.h")
    folder = building.folder_of("runtime/interpose", "interpose.h")
    own = sorted(path.name for path in folder.glob("*.c"))
    return building.Sources(
        "collectives",
        folder,
        "libisthmus-run.so",
        files=(*own, os.path.relpath(recorder / "fortran.c", folder)),
        flags=(*_FLAGS, f"-I{recorder}", f"-I{library / 'include'}"),
        libraries=(f"-L{library / 'lib'}", f"-Wl,-rpath,{library / 'lib'}", *_LIBRARIES),
        generator="generate.py",
        generated_flags=("-O2",),
        beside=(recorder, library / "include" / "isthmus"),
    )
