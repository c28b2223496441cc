"""Whose decisions collectives follow: the MPI library of a recording, or one that is named."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import InvalidInput
from ...schedule.program import Program
from ...units import shown

if TYPE_CHECKING:
    from ...tuning.decisions import Decisions

#: What libraries call themselves in recordings, and what they are called here.
_NAMES = ((r"Open MPI v(\d+\.\d+(?:\.\d+)?)", "openmpi"), (r"MPICH\s+Version:\s*(\d+\.\d+(?:\.\d+)?)", "mpich"))
_WORDS = {"openmpi": "Open MPI", "mpich": "MPICH"}
#: The version where none is known: its rules files are read by every later one up to 5.0.
_VERSIONS = {"openmpi": "4.1", "mpich": ""}


@dataclass(frozen=True)
class Library:
    """An MPI library.

    Attributes
    ----------
    name : str
        openmpi or mpich.
    version : str
        Empty where it does not matter.
    why : str
        How it was chosen, in words.
    """

    name: str
    version: str
    why: str

    @property
    def target(self) -> str:
        """As :func:`isthmus.tuning.export.export` takes it."""
        return f"{self.name}-{self.version}" if self.version else self.name

    def __str__(self) -> str:
        return f"{self.words} {self.version}".rstrip()

    @property
    def words(self) -> str:
        """Its name for people."""
        return _WORDS[self.name]

    def decisions(self, ranks_per_node: int) -> Decisions:
        """The library's default decision."""
        from ...tuning.defaults import defaults

        return defaults(self.target, ranks_per_node=ranks_per_node)


def library_of(program: object, named: str | None = None) -> Library:
    """The library that is named, otherwise that of the recording if its decisions are known, otherwise Open MPI.

    Parameters
    ----------
    program : Program
    named : str, optional
        openmpi or mpich, with a version or without: ``"openmpi-5.0.8"``.

    Raises
    ------
    InvalidInput
        For a name that is neither, a version that is none, and a release that is not known. A recording with such a
        release counts as one with an unknown library.
    """
    if named is not None:
        name, dash, version = named.partition("-")
        if name not in _WORDS or (dash and not re.fullmatch(r"\d+(\.\d+){0,2}", version)):
            raise InvalidInput(
                f"mpi {shown(named)}: must be {' or '.join(_WORDS)}, with or without a version, such as openmpi-5.0.8"
            )
        library = Library(name, version or _VERSIONS[name], "as asked for")
        library.decisions(1)
        return library
    recording = program.recording if isinstance(program, Program) else None
    if recording is None:
        return Library("openmpi", _VERSIONS["openmpi"], "by default")
    for pattern, name in _NAMES:
        if match := re.search(pattern, recording.library):
            library = Library(name, match[1], "with which it was recorded")
            try:
                library.decisions(1)
            except InvalidInput:
                continue
            return library
    given = recording.library.split(",")[0].strip() or "the library of the recording"
    return Library("openmpi", _VERSIONS["openmpi"], f"as the decisions of {shown(given)} are not known")
