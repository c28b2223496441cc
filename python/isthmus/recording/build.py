"""Compilation of the recorder, once per MPI library, and once for programs that use libisthmus without MPI."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..mpi import build as building
from ..mpi.detection import Mpi

_FLAGS = (
    *("-std=c11", "-D_GNU_SOURCE", "-fexceptions", "-fvisibility=hidden", "-ftls-model=initial-exec"),
    *("-Wall", "-Wextra"),
)
_LIBRARIES = ("-ldl", "-lm", "-lpthread")
# The wrappers are long and simple; the frames of their callers are found from theirs.
#: What of the recorder needs no MPI.
_ALONE = (
    *("alone/alone.c", "buffers.c", "calls.c", "clock.c", "counters.c", "describe.c", "ending.c", "paths.c"),
    *("pgas_accesses.c", "pgas_collectives.c", "pgas_messages.c", "pgas_teams.c", "python.c", "regions.c"),
    *("requests.c", "sites.c", "state.c", "unwind.c"),
)
_WRAPPERS = ("-O1", "-fno-omit-frame-pointer", "-Wno-deprecated-declarations")


def sources() -> Path:
    """Return the folder of the recorder's sources: beside the installed package, else in the source tree.

    Raises
    ------
    InvalidInput
        If they are in neither place.
    """
    return building.folder_of("recorder", "trace.h")


def build(mpi: Mpi | None, say: Callable[[str], None] | None = None) -> Path:
    """Return the recorder for an MPI, and compile it first if necessary.

    Parameters
    ----------
    mpi : Mpi or None
        As :func:`isthmus.mpi.detection.find` finds it; None for programs that use libisthmus without MPI.
    say : callable, optional
        Told that something is compiled, which takes half a minute.

    Returns
    -------
    Path
        Path of the shared library, which changes with the sources, the header and the compiler.

    Raises
    ------
    InvalidInput
        If it does not compile.
    """
    return building.build(_recorder() if mpi else _alone(), mpi, say)


def built(mpi: Mpi) -> bool:
    """Return whether the recorder for an MPI is already compiled."""
    return building.built(_recorder(), mpi)


def _headers() -> Path:
    """The folder of the headers of libisthmus."""
    return building.folder_of("libisthmus", "include/isthmus/isthmus_pgas.h") / "include"


def _alone() -> building.Sources:
    folder = sources()
    return building.Sources(
        "recorder without MPI",
        folder,
        "libisthmus-record.so",
        files=_ALONE,
        flags=(*_FLAGS, "-fno-omit-frame-pointer", f"-I{folder / 'alone'}", f"-I{_headers()}"),
        libraries=_LIBRARIES,
        beside=(folder / "alone", _headers() / "isthmus"),
    )


def _recorder() -> building.Sources:
    return building.Sources(
        "recorder",
        sources(),
        "libisthmus-record.so",
        flags=(*_FLAGS, f"-I{_headers()}"),
        beside=(_headers() / "isthmus",),
        libraries=_LIBRARIES,
        generator="generate.py",
        generated_flags=_WRAPPERS,
    )
