"""Compilation of the recorder, once per MPI library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..mpi import build as building
from ..mpi.detection import Mpi

_FLAGS = (
    *("-std=c11", "-D_GNU_SOURCE", "-fexceptions", "-fvisibility=hidden", "-ftls-model=initial-exec"),
    *("-Wall", "-Wextra"),
)
# The wrappers are long and simple; the frames of their callers are found from theirs.
_WRAPPERS = ("-O1", "-fno-omit-frame-pointer", "-Wno-deprecated-declarations")


def sources() -> Path:
    """Return the folder of the recorder's sources: beside the installed package, else in the source tree.

    Raises
    ------
    InvalidInput
        If they are in neither place.
    """
    return building.folder_of("recorder", "trace.h")


def build(mpi: Mpi, say: Callable[[str], None] | None = None) -> Path:
    """Return the recorder for an MPI, and compile it first if necessary.

    Parameters
    ----------
    mpi : Mpi
        As :func:`isthmus.mpi.detection.find` finds it.
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
    return building.build(_recorder(), mpi, say)


def built(mpi: Mpi) -> bool:
    """Return whether the recorder for an MPI is already compiled."""
    return building.built(_recorder(), mpi)


def _recorder() -> building.Sources:
    return building.Sources(
        "recorder",
        sources(),
        "libisthmus-record.so",
        flags=_FLAGS,
        libraries=("-ldl", "-lm", "-lpthread"),
        generator="generate.py",
        generated_flags=_WRAPPERS,
    )
