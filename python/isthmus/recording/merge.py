"""Raw traces of all ranks as one Program with its Recording."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput, ParseError
from ..schedule.recording import FULL, LIMITED, LOST_CALLS
from . import raw
from .assembly import Assembly, number
from .clocks import Clock, clocks
from .counters import names_of, why_none
from .headers import about, working

if TYPE_CHECKING:
    from ..schedule.program import Program

#: Records of a piece in which large traces are read, at least: what is made of one stays in the processor's caches.
PIECE = 1 << 16
#: Times the size of the traces that temporary files and an output take together, at most.
_ROOM = 4
#: Ranks without a trace take time: more than so many, and than a hundred for each trace, are those of a damaged header.
_MOST_MISSING = 1 << 14
#: Beside the traces: what was run.
_COMMAND = "command.txt"
_NAME = re.compile(r"(\d+|x)\.(\d+)\.(\d+)\.trace$")


def merge(
    directory: str | os.PathLike[str],
    *,
    command: str = "",
    wildcards: str = "recorded",
    scratch: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Program:
    """Build the Program from the raw traces of a recording.

    Parameters
    ----------
    directory : path
        Where the files ``RANK.THREAD.PID.trace`` are.
    command : str
        What was run; by default what the recording noted, or what rank 0 says.
    wildcards : {"recorded", "free"}
        Whether receives from any source, or of any tag, name what they received in the recorded run, or take in a
        simulation whatever comes first.
    scratch : path, optional
        Folder for temporary files, in which columns are kept beyond 256 MiB; by default ``directory``. Without room
        there, all is kept in memory.
    progress : callable, optional
        Called with the bytes read and the bytes of all.

    Returns
    -------
    Program
        Its ``recording`` has the measured times; ``recording.notes`` says what could not be kept.

    Raises
    ------
    InvalidInput
        If there is no trace.
    ParseError
        For a file that is damaged; one that is cut off is read as far as it goes.
    """
    notes: list[str] = []
    files, without_room = _find(os.fspath(directory), notes)
    command = command or _noted_command(os.fspath(directory))
    headers = {rank: mine[0][1] for rank, mine in files.items()}
    ranks = max(max(files) + 1, *(int(h["ranks"]) for h in headers.values()))
    if ranks - len(files) > max(_MOST_MISSING, 100 * len(files)):
        path, header = max((mine[0] for mine in files.values()), key=lambda f: int(f[1]["ranks"]))
        what = f"it says {header['ranks']:,} ranks, and {len(files):,} left a trace"
        raise ParseError(path, None, None, f"the header is damaged: {what}")
    threaded = any(sum(header["used"] > 0 for _, header in mine) > 1 for mine in files.values())
    assembly = Assembly(ranks, threaded=threaded, wildcards=wildcards, scratch=_with_room(scratch or directory, files))
    assembly.notes += notes
    of_host = clocks(headers)
    zero = min(int(of_host[r].convert(np.array([h["started_ns"]], np.int64))[0]) for r, h in headers.items())
    sizes = {path: os.path.getsize(path) for mine in files.values() for path, _ in mine}
    lost, ending = np.zeros(ranks, np.uint64), np.zeros(ranks, np.uint32)
    read, cut_off = 0, 0
    for rank in range(ranks):
        if rank not in files:
            ending[rank] = FULL if rank in without_room else 0
            assembly.nothing()
            continue
        clock = of_host[rank].since(zero)
        begin, end = clock.convert(np.array(working(headers[rank]), np.int64)).tolist()
        if len(files[rank]) == 1:
            traces = [_in_pieces(assembly, *files[rank][0], clock, begin, end)]
        else:
            traces = [raw.read_trace(path) for path, _ in files[rank]]
            assembly.add(traces, clock, begin, end)
        ending[rank] = headers[rank]["flags"]
        for trace in traces:
            lost[rank] += trace.header["lost"]
            ending[rank] |= trace.header["flags"] & (FULL | LIMITED | LOST_CALLS)
            cut_off += not trace.whole
        read += sum(sizes[path] for path, _ in files[rank])
        if progress is not None:
            progress(read, sum(sizes.values()))
    if cut_off:
        assembly.notes.append(f"{number(cut_off, 'trace file')} cut off: read as far as whole records go")
    missing = [rank for rank in range(ranks) if rank not in files]
    if missing:
        assembly.notes.append(f"no trace of {number(len(missing), 'rank')}: {_some(missing)}")
    if any(header["paths"] == raw.PATHS_PLACES for header in headers.values()):
        assembly.notes.append("call paths are the places of calls alone: on this processor the stack is not followed")
    run = {**about(ranks, headers, of_host, command), "lost": lost, "ending": ending, "uncounted": why_none(headers)}
    return assembly.finish(run, names_of(headers.values()))


def _in_pieces(assembly: Assembly, path: str, header: Any, clock: Clock, begin: int, end: int) -> raw.Trace:
    """Add a rank of one thread, a piece of its trace at a time; the last piece."""
    last = raw.nothing()
    begins, request = raw.pieces(path, PIECE, header)

    def pieces() -> Iterator[list[raw.Trace]]:
        nonlocal last
        for last in raw.read_pieces(path, begins, header):
            yield [last]

    assembly.add_pieces(pieces(), clock, begin, end, request + 1)
    return last


def _with_room(folder: str | os.PathLike[str], files: Mapping[int, list[tuple[str, Any]]]) -> str | None:
    """The folder, where its disk has room for temporary files and for an output after that."""
    size = sum(os.path.getsize(path) for mine in files.values() for path, _ in mine)
    try:
        return os.fspath(folder) if shutil.disk_usage(folder).free > _ROOM * size else None
    except OSError:
        return None


def note_command(directory: str | os.PathLike[str], command: str) -> None:
    """Note beside the traces what is run, for whoever merges them."""
    try:
        with open(os.path.join(directory, _COMMAND), "w", encoding="utf-8") as stream:
            stream.write(command + "\n")
    except OSError as error:
        # Of what could not be written the system does not say where.
        raise OSError(error.errno, error.strerror, os.fspath(directory)) from None


def _noted_command(directory: str) -> str:
    try:
        with open(os.path.join(directory, _COMMAND), encoding="utf-8", errors="replace") as stream:
            return stream.read().strip()
    except FileNotFoundError:
        return ""


def _find(directory: str, notes: list[str]) -> tuple[dict[int, list[tuple[str, Any]]], set[int]]:
    """Files of every rank with their headers, the first thread's first, of the world that began first.

    Beside them the ranks that had no room for a trace.
    """
    paths = [os.path.join(directory, name) for name in sorted(os.listdir(directory)) if _NAME.match(name)]
    empty = [path for path in paths if not os.path.getsize(path)]
    found = [(path, raw.read_header(path)) for path in paths if path not in empty]
    if empty and not found:
        reason = "the file is empty: the disk was full when the program began, and no rank had room for its trace"
        raise ParseError(empty[0], None, "byte 0", reason)
    early = sorted({int(name[1]) for path in empty if (name := _NAME.search(path)) and name[1] != "x"})
    if early:
        which = "rank" if len(early) == 1 else "ranks"
        notes.append(f"there was no room on the disk for traces of {which} {_some(early)}")
    known = [(path, header) for path, header in found if header["rank"] >= 0]
    if not known:
        what = "whose process knew its rank" if found else "at all"
        raise InvalidInput(f"{directory!r} holds no trace {what}: no rank reached the end of MPI_Init")
    if len(found) > len(known):
        unborn = number(len(found) - len(known), "process", "processes")
        notes.append(f"left out: {unborn} that ended before MPI_Init did")
    # Later ones are of programs that were run one after another, or that the first one started.
    known.sort(key=lambda f: (int(f[1]["started_realtime_ns"]), int(f[1]["thread"])))
    world = int(known[0][1]["ranks"])
    files: dict[int, list[tuple[str, Any]]] = {}
    strangers = set()
    for path, header in known:
        mine = files.setdefault(int(header["rank"]), []) if header["ranks"] == world else None
        if mine is None or (mine and mine[0][1]["pid"] != header["pid"]):
            strangers.add((int(header["pid"]), bytes(header["host"])))
        else:
            mine.append((path, header))
    if strangers:
        count = number(len(strangers), "process", "processes")
        notes.append(f"left out: {count} of other MPI programs, or started by this one")
    for mine in files.values():
        mine.sort(key=lambda f: int(f[1]["thread"]))
    return files, set(early)


def _some(ranks: Sequence[int]) -> str:
    return ", ".join(map(str, ranks[:8])) + (", ..." if len(ranks) > 8 else "")
