"""Whether a command runs a program that uses libisthmus without MPI."""

from __future__ import annotations

import os

from ..mpi.command import Command, take_apart
from ..mpi.detection import linked_library, loaded_files


def without_mpi(command: Command) -> bool:
    """Return whether the programs of a command load libisthmus when they start, and no MPI.

    The program of ``isthmus run -n 4 -- ./program`` is what stands behind the ``--``.
    """
    words = command.words
    if command.launcher is None and "--" in words:
        at = words.index("--")
        if any("isthmus" in os.path.basename(word) for word in words[:at]):
            command = take_apart(words[at + 1 :])
    programs = [path for index in command.programs if (path := command.path(index))]
    return bool(programs) and all(_uses_libisthmus(path) and linked_library(path) is None for path in programs)


def _uses_libisthmus(path: str) -> bool:
    return any(os.path.basename(file).startswith("libisthmus.so") for file in loaded_files(path))
