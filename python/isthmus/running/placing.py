"""Ranks started where a file places them, and the places of ranks for the program that runs."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import InvalidInput
from ..machine import Allocation, Machine
from ..machine.placement import Placement
from ..mapping import launch
from ..mapping.launch.starting import contradicting, format_for, has_rankmap, reads, starting
from ..mapping.metrics import evaluate
from ..mpi.command import Command, launched, launcher_name, take_apart, without
from ..mpi.detection import Mpi, launcher_family
from ..schedule.pattern import Pattern
from .host import at_home
from .mapped import mapped
from .started import started
from .taken import Used

#: The placement by what ranks exchange.
MAPPED = "mapped"
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
    used : Used, optional
        What the placement is worth, if that is known.
    left : tuple of str
        Options of the launcher that were left out, as the placement takes their place.
    """

    command: Command
    variables: dict[str, str] = field(default_factory=dict)
    used: Used | None = None
    left: tuple[str, ...] = ()


def placed(
    command: Command, mpi: Mpi, placement: str | os.PathLike[str], folder: Path, ranks: int | None = None
) -> Placed:
    """Return a command whose launcher starts ranks where a file places them.

    Parameters
    ----------
    command : Command
    mpi : Mpi
        That of its launcher.
    placement : path
    folder : Path
        For files.
    ranks : int, optional
        How many there are to be.

    Raises
    ------
    InvalidInput
        If there is no launcher; others are those of :func:`isthmus.mapping.launch.starting.starting`.
    """
    if command.launcher is None:
        raise InvalidInput(f"--placement {os.fspath(placement)}: there is no launcher that could place ranks")
    launcher, family = _launcher(command)
    # Those of other launchers know the nodes of their system.
    file = placement if family is None else at_home(placement, _words(command), folder)
    words, variables = starting(file, launcher, family, mpi.version, ranks)
    command, left = without(command, contradicting(launcher, family, mpi.version, file))
    at = command.parts[0]
    line = take_apart((*command.words[:at], *words, *command.words[at:]))
    return Placed(line, variables, left=tuple(left))


def on_machine(
    command: Command,
    mpi: Mpi,
    machine: Machine,
    placement: str | os.PathLike[str] | None,
    folder: Path,
    pattern: Pattern | None = None,
    undirected: bool = False,
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
        does not, it gets another one. Or ``"mapped"``: by the pattern. By default, where the launcher starts them,
        which it is asked.
    folder : Path
        For files.
    pattern : Pattern, optional
        What ranks exchange: for a mapped placement, and to say what one in a file is worth.
    undirected : bool
        As for :func:`isthmus.map`.

    Raises
    ------
    InvalidInput
        If a rank is on no node of the machine, there is no launcher that could place ranks, or the file or the pattern
        have another number of ranks than are started.
    """
    if placement == MAPPED:
        return _mapped(command, mpi, machine, folder, pattern, undirected)
    if placement is None:
        where = started(command).on(machine)
        return Placed(command, _places(where, folder))
    where, file, used = launch.read(placement, machine), placement, None
    _check(command, where.ranks, placement)
    launcher, family = _launcher(command)
    if command.launcher is not None and not reads(launcher, family, mpi.version, placement):
        file = _written(where, launcher, family, True, folder)
    if pattern is not None:
        here, usual = (evaluate(pattern, p, undirected=undirected) for p in (where, started(command).on(machine)))
        used = Used(os.fspath(placement), here.hop_bytes, usual.hop_bytes)
    out = placed(command, mpi, file, folder, where.ranks)
    return Placed(out.command, out.variables | _places(where, folder), used, out.left)


def _mapped(
    command: Command, mpi: Mpi, machine: Machine, folder: Path, pattern: Pattern | None, undirected: bool
) -> Placed:
    """As :func:`on_machine`, by the pattern."""
    if pattern is None:
        raise InvalidInput("--placement mapped needs to know what ranks exchange: give a recording")
    launcher, family = _launcher(command)
    now = started(command)
    usual = now.on(machine)
    any_order = has_rankmap(family, mpi.version)
    found = mapped(pattern, usual, undirected=undirected, any_order=any_order)
    used = Used(MAPPED, found.hop_bytes, found.usual, found.sockets, found.usual_sockets, found.kept)
    there = _places(found.placement, folder)
    if found.kept:
        return Placed(command, there, used)
    # Ranks that the launcher leaves free to move stay so, but on one node, where cores are all that there is to choose.
    cores = now.bound or (len(usual.nodes) == 1 and not usual.shared)
    file = _written(found.placement, launcher, family, cores, folder)
    out = placed(command, mpi, file, folder, usual.ranks)
    return Placed(out.command, out.variables | there, used, out.left)


def _written(where: Placement, launcher: str | None, family: str | None, cores: bool, folder: Path) -> Path:
    """The file that tells a launcher where ranks are to be."""
    format, options = format_for(launcher, family, cores)
    launch.write(where, format, folder / "ranks", **options)
    return folder / "ranks"


def _places(where: Placement, folder: Path) -> dict[str, str]:
    """The variable that names the file of places, which is written."""
    file = folder / "places"
    launch.write(where, "places", file, Allocation(where.machine, where.nodes))
    return {PLACES: str(file)}


def _check(command: Command, ranks: int, placement: str | os.PathLike[str]) -> None:
    """Refuse a file that places other ranks than a command starts, where that says how many."""
    if command.launcher is None or len(command.parts) > 1:
        return
    asked = launched(_words(command))
    if asked is not None and asked != ranks:
        raise InvalidInput(
            f"--placement {os.fspath(placement)}: the file places {ranks} ranks, and {asked} are started"
        )


def _words(command: Command) -> tuple[str, ...]:
    """The words of the launcher up to the program."""
    last = command.programs[0] if command.programs else len(command.words)
    return tuple(command.words[command.launcher : last])


def _launcher(command: Command) -> tuple[str | None, str | None]:
    """Name and MPI of the launcher."""
    if command.launcher is None:
        return None, None
    word = command.words[command.launcher]
    return launcher_name(word), launcher_family(command.path(command.launcher) or word)
