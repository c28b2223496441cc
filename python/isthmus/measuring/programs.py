"""The programs that measure: compiled from ``probes/`` for the MPI at hand, and their kinds of items.

``probe`` runs under MPI, ``node`` without. ``probes/probe.h`` describes plans and journals, with which both are called.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..mpi import build as building
from ..mpi.detection import Mpi

_FLAGS = (
    *("-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra"),
    "-Wno-stringop-overflow",  # MPICH declares MPI_STATUSES_IGNORE as an array, and GCC complains of its size
)
_SHARED = ("clock.c", "plan.c", "journal.c", "rounds.c", "facts.c", "noise.c")
_NODE = ("main_node.c", "numa.c", "stream.c", "kernels.c")
_MPI = (
    *("main_mpi.c", "team.c", "alone.c", "pairs.c", "overheads.c", "rates.c", "queues.c", "shifts.c", "behind.c"),
    *("operations.c", "collectives.c", "global_clock.c", "startup.c", "starts.c", "flags.c"),
)


def sources() -> Path:
    """Return the folder of the programs' sources: in the installed package, else in the source tree."""
    return building.folder_of("probes", "probe.h")


def mpi_program(mpi: Mpi, say: Callable[[str], None] | None = None) -> Path:
    """Return the program that measures messages, compiled for an MPI at first use.

    Parameters
    ----------
    mpi : Mpi
        As :meth:`isthmus.mpi.launcher.Launcher.mpi` finds it.
    say : callable, optional
        Told that it is being compiled.

    Raises
    ------
    InvalidInput
        If it does not compile.
    """
    libraries = ("-lm", "-lpthread")
    program = building.Sources("probe", sources(), "probe", (*_SHARED, *_MPI), _FLAGS, libraries)
    return building.build(program, mpi, say)


def carrying_program(mpi: Mpi, say: Callable[[str], None] | None = None) -> Path:
    """Return the program of :func:`mpi_program` with libisthmus, which also measures items of kind ``schedule``."""
    library = building.folder_of("libisthmus", "include/isthmus/isthmus.h")
    libraries = (f"-L{library / 'lib'}", f"-Wl,-rpath,{library / 'lib'}", "-listhmus", "-lm", "-lpthread")
    flags = (*_FLAGS, "-DISTHMUS", f"-I{library / 'include'}")
    program = building.Sources("probe", sources(), "probe", (*_SHARED, *_MPI, "schedules.c"), flags, libraries)
    return building.build(program, mpi, say)


def spaces_program(mpi: Mpi | None, say: Callable[[str], None] | None = None) -> Path:
    """Return the program that times collectives on the memory of spaces, compiled at first use.

    Parameters
    ----------
    mpi : Mpi or None
        None: its ranks are those of ``isthmus run``.
    say : callable, optional
        Told that it is being compiled.

    Raises
    ------
    InvalidInput
        If it does not compile.
    """
    library = building.folder_of("libisthmus", "include/isthmus/isthmus.h")
    libraries = (f"-L{library / 'lib'}", f"-Wl,-rpath,{library / 'lib'}", "-listhmus", "-lpthread")
    flags = (*_FLAGS, f"-I{library / 'include'}", *(("-DOVER_MPI",) if mpi else ()))
    program = building.Sources("probe of spaces", sources(), "spaces", ("spaces.c",), flags, libraries)
    return building.build(program, mpi, say)


def node_program(say: Callable[[str], None] | None = None) -> Path:
    """Return the program that measures a node without MPI, compiled at first use; errors as of :func:`mpi_program`."""
    program = building.Sources("probe of nodes", sources(), "node", (*_SHARED, *_NODE), _FLAGS, ("-lm", "-lpthread"))
    return building.build(program, None, say)
