"""Ranks started where a file for the launcher places them."""

from __future__ import annotations

import os

from ..errors import InvalidInput
from ..mapping.launch.starting import starting
from ..mpi.command import Command, launcher_name, take_apart
from ..mpi.detection import Mpi, launcher_family


def placed(
    command: Command, mpi: Mpi, placement: str | os.PathLike[str], ranks: int | None = None
) -> tuple[Command, dict[str, str]]:
    """Return a command whose launcher starts ranks where a file places them, and the variables that it needs.

    Parameters
    ----------
    command : Command
    mpi : Mpi
        That of its launcher.
    placement : path
    ranks : int, optional
        How many there are to be.

    Raises
    ------
    InvalidInput
        If there is no launcher; others are those of :func:`isthmus.mapping.launch.starting.starting`.
    """
    if command.launcher is None:
        raise InvalidInput(f"--placement {os.fspath(placement)}: there is no launcher that could place ranks")
    word = command.words[command.launcher]
    family = launcher_family(command.path(command.launcher) or word)
    words, variables = starting(placement, launcher_name(word), family, mpi.version, ranks)
    at = command.parts[0]
    return take_apart((*command.words[:at], *words, *command.words[at:])), variables
