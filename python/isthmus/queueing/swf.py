"""Workloads in the Standard Workload Format (SWF): a job a line, 18 numbers each, and comments that begin with ";".

The format is version 2.2 of Chapin et al., "Benchmarks and standards for the evaluation of parallel job schedulers"
(JSSPP 1999), as the Parallel Workloads Archive describes it.
"""

from __future__ import annotations

import gzip
import math
import os
import warnings
from collections.abc import Iterator
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput, ParseError
from ..files import replacing
from ..units import shown
from .workload import FIELDS, Workload

#: Fields that count or number something; the others are times, memory and rates.
_WHOLE = frozenset({"job", "processors", "requested_processors", "status", "user", "group", "executable", "queue",
                    "partition", "preceding"})  # fmt: skip
_LARGEST = 2.0**53


def read_swf(path: str | os.PathLike[str]) -> Workload:
    """Read a workload, also one that gzip has compressed.

    Parameters
    ----------
    path : str

    Returns
    -------
    Workload
        Jobs in the order of their submission; jobs of the same second in the order of the file.

    Raises
    ------
    ParseError
        A line has not 18 numbers, or a number is out of range: unknown values are -1, others are from 0.
    OSError
        The file cannot be read.
    """
    name = os.fspath(path)
    header: dict[str, str] = {}
    with _opened(name) as stream:
        lines = _jobs(stream, header, name)
        numbers = [number for number, _ in lines]
        texts = [text for _, text in lines]
    table = _table(texts)
    if table is None or _wrong(table).any():
        table = np.array([_line(name, number, text) for number, text in zip(numbers, texts, strict=True)])
    if not len(table):
        raise ParseError(name, None, None, "holds no jobs: must have lines of 18 numbers")
    order = np.argsort(table[:, 1], kind="stable")
    return Workload({field: table[order, i] for i, field in enumerate(FIELDS)}, header, name)


def write_swf(workload: Workload, path: str | os.PathLike[str]) -> None:
    """Write a workload with its header; whole numbers without a decimal point, times as exactly as they are."""
    columns = [workload.fields[field] for field in FIELDS]
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8") as stream:
        for key, value in workload.header.items():
            for line in value.split("\n"):
                stream.write(f"; {key}: {line}\n")
        for row in zip(*(column.tolist() for column in columns), strict=True):
            stream.write(" ".join(_number(value) for value in row) + "\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _opened(name: str) -> TextIO:
    with open(name, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    # Headers of old logs are in the encodings of their countries: only the numbers matter.
    if packed:
        return gzip.open(name, "rt", encoding="utf-8", errors="replace")
    return open(name, encoding="utf-8", errors="replace")


def _jobs(stream: TextIO, header: dict[str, str], name: str) -> list[tuple[int, str]]:
    """Lines of jobs with their numbers; fills the header."""
    out = []
    try:
        for number, line in enumerate(stream, 1):
            text = line.strip()
            if text.startswith(";"):
                key, colon, value = text.lstrip("; \t").partition(":")
                if colon and key and len(key.split()) == 1:
                    header[key] = f"{header[key]}\n{value.strip()}" if key in header else value.strip()
            elif text:
                out.append((number, text.partition(";")[0]))
    except (EOFError, gzip.BadGzipFile, OSError) as error:
        if isinstance(error, OSError) and not isinstance(error, gzip.BadGzipFile):
            raise
        raise ParseError(name, None, None, f"damaged by compression or transfer: {error}") from None
    return out


def _table(lines: list[str]) -> NDArray[np.float64] | None:
    """All lines at once; None where one is not 18 numbers, which is then looked for line by line."""
    if not lines:
        return np.empty((0, len(FIELDS)))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            table = np.loadtxt(lines, dtype=np.float64, comments=None, ndmin=2)
    except (ValueError, UserWarning):
        return None
    return table if table.shape == (len(lines), len(FIELDS)) else None


def _wrong(table: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Values that no job can have."""
    with np.errstate(invalid="ignore"):
        wrong: NDArray[np.bool_] = ~((table == -1) | ((table >= 0) & (table < _LARGEST)))
        for i, field in enumerate(FIELDS):
            if field in _WHOLE:
                wrong[:, i] |= table[:, i] != np.floor(table[:, i])
    submit, status = FIELDS.index("submit"), FIELDS.index("status")
    wrong[:, submit] |= table[:, submit] < 0
    wrong[:, status] |= table[:, status] > 5
    return wrong


def _line(name: str, number: int, text: str) -> list[float]:
    words = text.split()
    if len(words) != len(FIELDS):
        raise ParseError(name, number, None, f"{len(words)} values: must be 18 numbers, or a comment behind ;")
    row = list(_values(name, number, words))
    for i in np.flatnonzero(_wrong(np.array([row]))[0]):
        field = FIELDS[i]
        kind = "a whole number" if field in _WHOLE else "a number"
        most = " to 5" if field == "status" else ""
        unknown = "" if field == "submit" else ", or -1 for unknown"
        message = f"{shown(words[i])}: must be {kind} from 0{most}{unknown}"
        raise ParseError(name, number, f"field {i + 1} ({field.replace('_', ' ')})", message)
    return row


def _values(name: str, number: int, words: list[str]) -> Iterator[float]:
    for i, word in enumerate(words):
        try:
            value = float(word)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or "_" in word:
            field = f"field {i + 1} ({FIELDS[i].replace('_', ' ')})"
            raise ParseError(name, number, field, f"{shown(word)}: must be a number")
        yield value


def read_or_refuse(path: str) -> Workload:
    """Read a workload; a path that names nothing is refused in words of the command line."""
    if not os.path.exists(path):
        raise InvalidInput(f"{path}: there is no such file; must be a workload in the Standard Workload Format")
    return read_swf(path)
