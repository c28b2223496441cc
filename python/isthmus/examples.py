"""Recorded programs that come with Isthmus."""

from __future__ import annotations

import difflib

from . import gallery, units
from .errors import InvalidInput
from .schedule.program import Program


def example(name: str) -> Program:
    """Return a recorded program that comes with Isthmus.

    Raises
    ------
    InvalidInput
        For an unknown name; the message lists the known ones.
    """
    from .reading import read
    from .schedule.program import Program

    paths = gallery.programs()
    if name not in paths:
        close = difflib.get_close_matches(name, paths, 1)
        hint = f"; a close one is {close[0]}" if close else ""
        raise InvalidInput(f"example {units.shown(name)}: allowed are {', '.join(paths)}{hint}")
    found = read(paths[name])
    assert isinstance(found, Program)
    return found
