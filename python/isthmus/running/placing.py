"""Ranks started where a file places them, and the places of ranks for the program that runs."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import InvalidInput
from ..machine import Allocation, Machine
from ..machine.placement import Placement
from ..mapping import launch
from ..mapping.launch.starting import format_for, reads, starting
from ..mpi.command import Command, launched, launcher_name, take_apart
from ..mpi.detection import Mpi, launcher_family
from .started import started

#: The file of places, which libisthmus reads.
PLACES = "ISTHMUS_PLACES"


@dataclass(frozen=True, slots=True)
class Placed:
    """A command whose ranks are somewhere.

    Parameters
    ----------
    command : Command
        What starts them there.
    variables : mapping of str to str
        Variables that they, or the launcher, need.
    """

    command: Command
    variables: dict[str, str] = field(default_factory=dict)


def placed(command: Command, mpi: Mpi, placement: str | os.PathLike[str], ranks: int | None = None) -> Placed:
    """Return a command whose launcher starts ranks where a file places them.

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
    words, variables = starting(placement, *_launcher(command), mpi.version, ranks)
    at = command.parts[0]
    return Placed(take_apart((*command.words[:at], *words, *command.words[at:])), variables)


def on_machine(
    command: Command, mpi: Mpi, machine: Machine, placement: str | os.PathLike[str] | None, folder: Path
) -> Placed:
    """Return a command whose ranks can ask libisthmus for their places on a machine.

    Parameters
    ----------
    command : Command
    mpi : Mpi
        That of its launcher.
    machine : Machine
    placement : path, optional
        File that places the ranks, in any format that :func:`isthmus.mapping.launch.read` reads: where the launcher
        does not, it gets another one. By default the launcher is asked where it starts them.
    folder : Path
        For files.

    Raises
    ------
    InvalidInput
        If a rank is on no node of the machine, there is no launcher that could place ranks, or the file places another
        number of ranks than are started.
    """
    if placement is None:
        where, out = started(command).on(machine), Placed(command)
    else:
        where = launch.read(placement, machine)
        _check(command, where.ranks, placement)
        launcher, family = _launcher(command)
        if command.launcher is not None and not reads(launcher, family, mpi.version, placement):
            placement = folder / "ranks"
            launch.write(where, format_for(launcher, family), placement)
        out = placed(command, mpi, placement, where.ranks)
    return Placed(out.command, out.variables | _places(where, folder))


def _places(where: Placement, folder: Path) -> dict[str, str]:
    """The variable that names the file of places, which is written."""
    file = folder / "places"
    launch.write(where, "places", file, Allocation(where.machine, where.nodes))
    return {PLACES: str(file)}


def _check(command: Command, ranks: int, placement: str | os.PathLike[str]) -> None:
    """Refuse a file that places other ranks than a command starts, where that says how many."""
    if command.launcher is None or len(command.parts) > 1:
        return
    last = command.programs[0] if command.programs else len(command.words)
    asked = launched(command.words[command.launcher : last])
    if asked is not None and asked != ranks:
        raise InvalidInput(
            f"--placement {os.fspath(placement)}: the file places {ranks} ranks, and {asked} are started"
        )


def _launcher(command: Command) -> tuple[str | None, str | None]:
    """Name and MPI of the launcher."""
    if command.launcher is None:
        return None, None
    word = command.words[command.launcher]
    return launcher_name(word), launcher_family(command.path(command.launcher) or word)
