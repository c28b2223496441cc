"""The recorded part of a run: iteration markers and regions, as passed to the recorder."""

from __future__ import annotations

import bisect
import os
import re
import subprocess
from collections.abc import Sequence

from ..errors import InvalidInput
from ..units import parse

_MARKER = re.compile(r"(MPI_[A-Z]\w*|isthmus_[a-z]\w*)(?:@(.+):([0-9]+))?")


def region(begin: str | float | None, end: str | float | None, marker: str | int | None) -> str | None:
    """The region that ``ISTHMUS_REGION`` selects: ``"iteration 3 8"`` or ``"seconds 1.5 inf"``; None for everything.

    Parameters
    ----------
    begin, end : str or float, optional
        Whole numbers are iterations of the marker, quantities such as ``"2.5s"`` times since the end of MPI_Init.
    marker : str or int, optional
        As for :func:`marking`; iterations need one.

    Raises
    ------
    InvalidInput
        For anything else, for a mixture of both, and for an end that is not after the beginning.
    """
    limits = {name: value for name, value in (("from", begin), ("to", end)) if value is not None}
    if not limits:
        return None
    iterations = {name: _iteration(value) for name, value in limits.items()}
    if all(number is not None for number in iterations.values()):
        if marker is None:
            name, value = next(iter(limits.items()))
            raise InvalidInput(f"{name} {value}: iterations need a marker, and a time needs a unit, such as {value}s")
        found = {name: float(number) for name, number in iterations.items() if number is not None}
        kind, first = "iteration", 1.0
    elif any(number is not None for number in iterations.values()):
        raise InvalidInput(f"from {begin} to {end}: both must be iterations or both times")
    else:
        found = {name: parse(value, "s") for name, value in limits.items()}
        kind, first = "seconds", 0.0
    low, high = found.get("from", first if kind == "iteration" else 0.0), found.get("to", float("inf"))
    if not 0 <= low < high:
        raise InvalidInput(f"from {begin} to {end}: the end must come after the beginning, and neither may be negative")
    return f"{kind} {low:.9g} {high:.9g}"


def _iteration(value: str | float) -> int | None:
    text = str(value)
    return int(text) if re.fullmatch(r"[0-9]{1,15}", text) else None


def marking(marker: str | int, programs: Sequence[str]) -> str:
    """The marker in ``ISTHMUS_MARKER``: the call with which an iteration begins.

    Parameters
    ----------
    marker : str or int
        ``"MPI_Barrier"``: every call of it; ``"MPI_Allreduce@cg.c:120"``: those of one line; the same with functions
        of libisthmus (``"isthmus_barrier"``); a number: MPI_Pcontrol with this level.
    programs : sequence of str
        Executables, in which the line is looked for.

    Raises
    ------
    InvalidInput
        For anything else, a program without debugging information, and a line without code.
    """
    text = str(marker)
    if re.fullmatch(r"[0-9]{1,9}", text):
        if int(text) < 2:
            raise InvalidInput(
                f"marker {text}: levels 0 and 1 of MPI_Pcontrol switch recording off and on; use 2 or more"
            )
        return f"MPI_Pcontrol={text}"
    match = _MARKER.fullmatch(text)
    if not match:
        raise InvalidInput(f"marker {text}: must be MPI_Function, MPI_Function@file:line or a level of MPI_Pcontrol")
    if match[2] is None:
        return match[1]
    for program in programs:
        if ranges := lines(program, match[2], int(match[3])):
            shown = ",".join(f"{low:x}-{high:x}" for low, high in ranges)
            return f"{match[1]};{os.path.basename(os.path.realpath(program))};{shown}"
    where = ", ".join(programs) or "the program"
    raise InvalidInput(f"marker {text}: {where} has no code for this line (was it compiled with -g?)")


def lines(program: str, file: str, line: int) -> list[tuple[int, int]]:
    """Address ranges of a source line in an executable, from its debugging information; empty if there are none."""
    try:
        done = subprocess.run(
            ["objdump", "--dwarf=decodedline", program], capture_output=True, text=True, errors="replace", check=False
        )
    except FileNotFoundError:
        raise InvalidInput(
            f"a marker at a line ({file}:{line}) needs objdump (binutils), which is not installed"
        ) from None
    rows = re.findall(r"^(\S+)\s+(\d+|-)\s+(0x[0-9a-f]+)", done.stdout, re.MULTILINE)
    name = os.path.basename(file)
    addresses = sorted({int(address, 16) for _, _, address in rows})
    found: set[tuple[int, int]] = set()
    for source, number, address in rows:
        if number == str(line) and source.removesuffix(":") == name:
            at = int(address, 16)
            after = bisect.bisect_right(addresses, at)
            if after < len(addresses):
                found.add((at, addresses[after]))
    return sorted(found)
