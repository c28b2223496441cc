"""Why nothing was recorded of a program that uses MPI."""

from __future__ import annotations

from pathlib import Path

from ..mpi.command import Command
from ..mpi.detection import contains_mpi, loaded_files


def cause(folder: Path, words: Command) -> str | None:
    """A sentence on why MPI was called past the recorder, or None if nothing says that it was called at all.

    Parameters
    ----------
    folder : Path
        Where the recorder has left what it saw.
    words : Command
        What was run.
    """
    for index in words.programs:
        path = words.path(index)
        for file in loaded_files(path) if path else ():
            if contains_mpi(file):
                return f"{file} has MPI linked in statically, so that nothing can be put between: link it dynamically"
    for note in sorted(folder.glob("*.unseen")):
        kind, library = [*note.read_text(errors="replace").splitlines(), "", ""][:2]
        if kind == "handle":
            return (
                f"the program called MPI_Init of {library} past the recorder, as programs do that load MPI by dlopen "
                "and look its functions up by dlsym with that handle: link it to the library, or look them up with "
                "RTLD_DEFAULT"
            )
        return (
            f"the program loaded {library} by dlopen, which is not the MPI that the recorder was built for: name its "
            "compiler by --mpicc, link the program to it, or look its functions up with RTLD_DEFAULT"
        )
    return None
