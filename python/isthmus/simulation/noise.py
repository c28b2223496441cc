"""Traces of operating system noise."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .. import units
from ..errors import InvalidInput, ParseError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def read_noise(path: str | os.PathLike[str] | None) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Read a trace of interruptions.

    A line each: start and duration, in seconds or with a unit ("12.5us 900ns"), ascending and not overlapping; ``#``
    begins a comment. A line ``length T`` says when the trace begins again; without one it does so a mean gap after the
    last interruption.

    Returns
    -------
    starts, durations : ndarray of int64
        Picoseconds.
    length : int
        Picoseconds.

    Raises
    ------
    ParseError
        Naming the line.
    """
    import numpy as np

    if path is None:
        raise InvalidInput("noise of kind file: expected a file")
    name = os.fspath(path)
    starts: list[int] = []
    durations: list[int] = []
    length = 0
    end = 0
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            words = line.partition("#")[0].split()
            if not words:
                continue
            if len(words) != 2:
                raise ParseError(name, number, "noise", f"{len(words)} words: expected a start and a duration")
            values = [_seconds(name, number, word) for word in words if word != "length"]
            if words[0] == "length":
                length = values[0]
                continue
            if values[0] < end:
                raise ParseError(name, number, "start", "begins before the interruption of the previous line ends")
            end = values[0] + values[1]
            starts.append(values[0])
            durations.append(values[1])
    if not starts:
        raise ParseError(name, 1, "noise", "no interruption: expected at least one line with a start and a duration")
    if length == 0:
        length = end + max((starts[-1] - starts[0]) // max(len(starts) - 1, 1), 1)
    if length < end:
        raise ParseError(name, 1, "length", "is before the end of the last interruption")
    return np.array(starts, dtype=np.int64), np.array(durations, dtype=np.int64), length


def _seconds(name: str, number: int, word: str) -> int:
    try:
        seconds = units.parse(word, "s", plain=True)
    except ValueError as error:
        raise ParseError(name, number, "time", str(error)) from None
    if not 0 <= seconds < 1e6:
        raise ParseError(name, number, "time", f"{word}: must be 0 to 1e6 s")
    return round(seconds * 1e12)
