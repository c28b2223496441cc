"""Reading nouns from files, whatever their format."""

from __future__ import annotations

import os

from . import filekinds
from .errors import ParseError
from .named import named
from .schedule.program import Program
from .schedule.schedule import Schedule
from .simulation.timeline import Timeline

_HDF5 = b"\x89HDF\r\n\x1a\n"
_DUMPI = b" entering at walltime "
# In this many bytes, comments included, a GOAL text says how many ranks it has.
_HEAD = 1 << 16


def read(path: str | os.PathLike[str], *, unit: str = "ns") -> Program | Schedule | Timeline:
    """Read a program, schedule or timeline from a file; the content determines the format.

    Parameters
    ----------
    path : path
        An HDF5 file written by ``save``, a skeleton fitted to recordings, with parameters behind a colon
        (``app.skeleton:ranks=512``; by default ranks as in the largest recording), GOAL text, binary GOAL, an OTF2
        trace (its anchor file ``traces.otf2`` or its
        folder), or a dumpi trace printed by dumpi2ascii (its folder, or the file of one rank; the files of the other
        ranks beside it are read too).
    unit : {"ns", "ps", "us", "ms", "s"}
        Unit of times in GOAL files.

    Returns
    -------
    Program, Schedule or Timeline

    Raises
    ------
    ParseError
        For a file that is damaged or of another format.
    OSError
        For a file that cannot be opened.
    """
    what = named(os.fspath(path))
    if os.path.isfile(what.name) and filekinds.kind_of(what.name) == filekinds.SKELETON:
        from .skeletons import skeleton

        return skeleton(what.text)
    kind = filekinds.require(path, filekinds.WORK, "a program or a schedule (or, to show it, a timeline)")
    if kind == filekinds.OTF2_FOLDER:
        anchors = filekinds.anchors(path)
        if len(anchors) > 1:
            raise ParseError(
                os.fspath(path),
                None,
                None,
                f"the folder has several OTF2 traces: give one of them, such as {anchors[0]}",
            )
        path = anchors[0]
    if kind == filekinds.OTF2 and not os.fspath(path).endswith(".otf2"):
        raise ParseError(
            os.fspath(path),
            None,
            None,
            "is a part of an OTF2 trace: give its anchor file, traces.otf2, or the folder",
        )
    if kind == filekinds.DUMPI_FOLDER:
        from .imports.traces.dumpi import read_dumpi

        return read_dumpi(path)
    with open(path, "rb") as stream:
        head = stream.read(_HEAD)
    if os.fspath(path).endswith(".otf2"):
        from .imports.traces.otf2 import read_otf2

        return read_otf2(path)
    if head.startswith(_HDF5):
        return _read_hdf5(path)
    if _DUMPI in head:
        from .imports.traces.dumpi import read_dumpi

        return read_dumpi(path)
    from .filekinds import BINARY_MAGIC
    from .schedule.goal import read_goal

    if not head.startswith(BINARY_MAGIC) and b"num_ranks" not in head:
        allowed = (
            "HDF5 written by Isthmus, GOAL text (which begins with num_ranks), binary GOAL, OTF2 (traces.otf2) and the "
            "text of dumpi2ascii"
        )
        raise ParseError(os.fspath(path), None, None, f"the format is not known: must be one of {allowed}")
    from .schedule.schedule import Schedule

    return Schedule(read_goal(path, unit=unit))


def _read_hdf5(path: str | os.PathLike[str]) -> Program | Schedule | Timeline:
    from .schedule.hdf5 import read_noun
    from .schedule.hdf5_columns import open_columns

    with open_columns(path) as (noun, version, reader):
        if noun == "timeline":
            from .simulation.hdf5 import read_timeline

            return read_timeline(reader)
        return read_noun(noun, version, reader)
