"""The option --export-collectives of isthmus advise."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInput

if TYPE_CHECKING:
    from ..advice.collectives.comparison import Choices
    from ..advice.collectives.library import Library

_TABLES = (".toml",)


def check_export(program: Any, library: Library, path: str, seconds: float) -> None:
    """Before anything is simulated: can the file be written?"""
    from ..schedule.program import Program
    from ..tuning.export.export import export

    if not isinstance(program, Program):
        raise InvalidInput("--export-collectives: a schedule has no collectives left; give a program")
    if not seconds:
        raise InvalidInput("--export-collectives: --tune-time 0 switches the search for algorithms off")
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        raise InvalidInput(f"--export-collectives {path}: there is no folder {folder}")
    if not path.lower().endswith(_TABLES):
        # MPICH's own selection tree has to be there.
        export(library.decisions(1), library.target, ranks=[2])


def save_choices(found: Choices | None, path: str) -> tuple[bool, str]:
    """Write the file; whether there was anything to write, and how to use it."""
    from ..units import text

    if found is None or found.table is None:
        return False, f"no other algorithms of collectives make the program faster: {path} was not written"
    if path.lower().endswith(_TABLES):
        found.table.save(path)
        return True, ""
    made = found.export()
    made.file.save(path)
    words = f"the program with this file: {text(made.time, 's', 3)}, without {text(found.before, 's', 3)}"
    return True, f"{made.file.report(path)}\n{words}"
