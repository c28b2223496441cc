"""Traces of SST DUMPI as the text that dumpi2ascii prints, a file per rank."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ParseError
from ...recording.assembly import Assembly
from ...recording.clocks import Clock
from .dumpi_calls import Rank
from .dumpi_comms import Resolution
from .dumpi_text import RankText

if TYPE_CHECKING:
    from ...schedule.program import Program

# The rank is the last number of a file's name.
_NUMBERED = re.compile(r"(.*?)(\d+)(\D*)$")


def read_dumpi(
    path: str | os.PathLike[str],
    *,
    wildcards: str = "recorded",
    progress: Callable[[int, int], None] | None = None,
) -> Program:
    """The Program of a dumpi trace, with its Recording.

    Parameters
    ----------
    path : path
        What ``dumpi2ascii -a`` printed of one rank (``dumpi-0000.txt``): the files beside it that differ in the last
        number only are those of the others. Or a directory with nothing else in it.
    wildcards : {"recorded", "free"}
        Whether receives from any source, or of any tag, name what they received, where the trace says it, or take in a
        simulation whatever comes first.
    progress : callable, optional
        Called with the files read and the number of all.

    Raises
    ------
    ParseError
        For a file that is damaged, or one whose neighbours are missing.

    Notes
    -----
    Without sizes of datatypes (``-a`` or ``-X``) those of basic ones are assumed, and those of others computed from the
    calls that made them. Members of intercommunicators are not known: what is done on them is left out, with a note.
    """
    paths = _files(os.fspath(path))
    ranks: list[Rank] = []
    for name in paths:
        ranks.append(Rank(RankText(name)))
        if progress is not None:
            progress(len(ranks), len(paths))
    resolution = Resolution([rank.handles for rank in ranks])
    assembly = Assembly(len(ranks), threaded=any(len(rank.threads) > 1 for rank in ranks), wildcards=wildcards)
    cut_off = sum(not rank.text.whole for rank in ranks)
    if cut_off:
        assembly.notes.append(f"{cut_off} of {len(ranks)} files end within a call")
    unknown = sum(rank.types.unknown for rank in ranks)
    if unknown:
        assembly.notes.append(f"the datatype of {unknown} messages is not known: they count a byte for each element")
    known = [rank for rank in ranks if rank.first >= 0]
    if not known:
        raise ParseError(paths[0], None, None, "the trace has no calls")
    zero = min(rank.first for rank in known)
    spans = np.array([_span(rank, zero) for rank in ranks]) - zero
    for number, rank in enumerate(ranks):
        for fields, key, comm in rank.pending:
            fields[key] = resolution.id(number, comm)
        traces = [thread.finish(rank.text.path) for thread in rank.threads.values()]
        if not traces:
            assembly.nothing()
            continue
        traces[0].comms = resolution.said(number)
        assembly.add(traces, Clock(offset=-zero), *spans[number].tolist())
    return assembly.finish(_about(ranks, spans, zero))


def _files(path: str) -> list[str]:
    """Files of all ranks, in their order."""
    if os.path.isdir(path):
        names = sorted(name for name in os.listdir(path) if _NUMBERED.match(name) and not name.startswith("."))
        folder = path
        if not names:
            raise ParseError(path, None, None, "the directory has no files with numbers in their names")
    else:
        folder, name = os.path.split(path)
        names = [name]
    found = _NUMBERED.match(names[0])
    if found is None:
        return [path]
    head, _, tail = found.groups()
    numbered: dict[int, str] = {}
    for name in os.listdir(folder or "."):
        other = _NUMBERED.match(name)
        if other is not None and (other.group(1), other.group(3)) == (head, tail):
            numbered[int(other.group(2))] = os.path.join(folder, name)
    missing = [rank for rank in range(max(numbered)) if rank not in numbered]
    if missing:
        raise ParseError(
            os.path.join(folder, names[0]), None, None, f"the file of rank {missing[0]} is missing beside it"
        )
    return [numbered[rank] for rank in sorted(numbered)]


def _span(rank: Rank, zero: int) -> tuple[int, int]:
    """When a rank left MPI_Init and entered MPI_Finalize, or began and ended."""
    if rank.first < 0:
        return zero, zero
    begin = rank.init[1] if rank.init else rank.first
    return begin, max(rank.finalize[0] if rank.finalize else rank.last, begin)


def _about(ranks: list[Rank], spans: Any, zero: int) -> dict[str, Any]:
    names = [rank.text.header.get("hostname") or "unknown" for rank in ranks]
    hosts = tuple(dict.fromkeys(names))
    zeros = np.zeros(len(ranks), np.uint32)
    started = datetime.fromtimestamp(zero // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if zero > 0 else ""
    return {
        "command": "", "directory": os.path.dirname(ranks[0].text.path), "started": started, "library": "",
        "mpi": (0, 0), "version": "", "hosts": hosts, "host": [hosts.index(name) for name in names], "cpus": zeros,
        "cpus_online": zeros, "ending": [int(rank.finalize is not None) for rank in ranks],
        "wall": (spans[:, 1] - spans[:, 0]) * 1e-9,
        "cpu": np.array([rank.cpu * 1e-9 if rank.cpu else np.nan for rank in ranks]),
        "init": _lasted([rank.init for rank in ranks]), "finalize": _lasted([rank.finalize for rank in ranks]),
        "recorder": zeros * 0.0, "memory": zeros, "lost": [rank.text.ignored for rank in ranks],
        "clock_error": zeros * 0.0,
    }  # fmt: skip


def _lasted(spans: list[tuple[int, int] | None]) -> Any:
    return np.array([np.nan if span is None else (span[1] - span[0]) * 1e-9 for span in spans])
