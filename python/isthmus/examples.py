"""Programs that come with Isthmus: recorded ones, and skeletons with parameters."""

from __future__ import annotations

import difflib
import os

from . import gallery, units
from .errors import InvalidInput
from .filekinds import SKELETON, kind_of
from .schedule.program import Program
from .skeletons import SKELETONS, skeleton


def known() -> list[str]:
    """Names of the recorded programs, then of the skeletons."""
    return [*gallery.programs(), *SKELETONS]


def example(name: str) -> Program:
    """Return a program that comes with Isthmus.

    Parameters
    ----------
    name : str
        A recorded program, such as ``"lammps"``, or a skeleton with parameters, such as ``"stencil:ranks=256"``;
        ``isthmus skeleton list`` lists these; or the file of one that was fitted to recordings.

    Raises
    ------
    InvalidInput
        For an unknown name; the message lists the known ones. For a parameter that is not allowed.
    """
    from .named import named
    from .reading import read
    from .schedule.program import Program

    paths = gallery.programs()
    what = named(name)
    if what.name in SKELETONS or (os.path.isfile(what.name) and kind_of(what.name) == SKELETON):
        return skeleton(name)
    if what.name in paths and what.parameters:
        raise InvalidInput(f"example {units.shown(name)}: a recorded program has no parameters")
    if what.name not in paths:
        close = difflib.get_close_matches(what.name, known(), 1)
        hint = f"; a close one is {close[0]}" if close else ""
        raise InvalidInput(f"example {units.shown(name)}: must be one of {', '.join(known())}{hint}")
    found = read(paths[what.name])
    assert isinstance(found, Program)
    return found
