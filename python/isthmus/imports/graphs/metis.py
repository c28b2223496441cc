"""Undirected graphs of tasks in the METIS format (also of KaHIP, Scotch's converters and the DIMACS challenges)."""

from __future__ import annotations

import gzip
import os
import re
from typing import TYPE_CHECKING

import numpy as np

from ... import filekinds
from ...errors import ParseError
from ...schedule.pattern import Pattern

if TYPE_CHECKING:
    from numpy.typing import NDArray

SUFFIXES = (".graph", ".graph.gz", ".metis", ".metis.gz")
#: The largest weight: sums of many must stay exact.
_MOST = 1 << 53


def read_metis(path: str | os.PathLike[str]) -> Pattern:
    """The pattern of a graph: an edge's weight in both directions, 1 where the file has none; loads from vertices.

    The header is ``vertices edges [format [constraints]]``, the format three digits for vertex sizes, vertex weights
    and edge weights; then a line per vertex with its neighbours, counted from 1. A leading % makes a comment. Of
    several weights of a vertex, the first is the load.

    Raises
    ------
    ParseError
        For a malformed file, negative weights, and a graph that is not symmetric; it names the line.
    OSError
        For a file that cannot be read.
    """
    name = os.fspath(path)
    filekinds.require(
        path, (filekinds.GZIP,) if name.endswith(".gz") else (filekinds.GRAPH,), "a graph in METIS format"
    )
    try:
        with gzip.open(path) if name.endswith(".gz") else open(path, "rb") as stream:
            data = stream.read()
    except (EOFError, gzip.BadGzipFile) as error:
        raise ParseError(name, None, None, f"damaged gzip file: {error}") from None
    lines = data.splitlines()
    number = [i for i, line in enumerate(lines) if not line.lstrip().startswith(b"%")]
    # Empty lines before the header say nothing; after it they are vertices without neighbours.
    while number and not lines[number[0]].strip():
        del number[0]
    if not number:
        raise ParseError(name, None, None, "the file has no header: expected the numbers of vertices and edges")
    vertices, edges, has_size, constraints, weighted = _header(lines[number[0]], name, number[0] + 1)
    rows = number[1:]
    while len(rows) > vertices and not lines[rows[-1]].strip():
        rows.pop()
    if len(rows) != vertices:
        raise ParseError(
            name,
            number[0] + 1,
            None,
            f"{len(rows)} lines follow, but the header says {vertices} vertices: expected one line for each",
        )
    values, lengths = _numbers(lines, rows, name)
    first = np.concatenate([[0], np.cumsum(lengths)])
    head = int(has_size) + constraints
    short = lengths < head
    if short.any():
        at = int(np.argmax(short))
        raise ParseError(
            name, rows[at] + 1, None, f"{lengths[at]} numbers: expected {head} before the neighbours of a vertex"
        )
    load = values[first[:-1] + int(has_size)] if constraints else np.zeros(vertices)
    is_head = np.zeros(len(values), bool)
    for k in range(head):
        is_head[first[:-1] + k] = True
    rest, counts = values[~is_head], lengths - head
    row = np.repeat(np.arange(vertices), counts)
    if weighted:
        if (odd := counts % 2 == 1).any():
            at = int(np.argmax(odd))
            raise ParseError(
                name, rows[at] + 1, None, "a neighbour has no weight, but the header says that edges have weights"
            )
        rest, weight, row = rest[::2], rest[1::2], row[::2]
    else:
        weight = np.ones(len(rest), np.int64)
    wrongs = (((rest < 1) | (rest > vertices), f"vertices are 1 to {vertices}"), (rest - 1 == row, "a loop"))
    for wrong, what in wrongs:
        if wrong.any():
            at = int(np.argmax(wrong))
            raise ParseError(name, rows[row[at]] + 1, f"neighbour {rest[at]}", what)
    if len(rest) != 2 * edges:
        raise ParseError(
            name, number[0] + 1, None, f"{edges} edges need {2 * edges} neighbours, each at both ends, not {len(rest)}"
        )
    _require_symmetric(row, rest - 1, weight, vertices, name, rows)
    return Pattern.of(
        vertices, source=row.astype(np.uint32), target=(rest - 1).astype(np.uint32), bytes=weight.astype(np.uint64),
        load=load.astype(np.float64) if vertices else 0.0,
    )  # fmt: skip


def _header(line: bytes, name: str, number: int) -> tuple[int, int, bool, int, bool]:
    words = line.split()
    if not 2 <= len(words) <= 4 or not all(re.fullmatch(rb"[0-9]{1,12}", w) for w in words):
        raise ParseError(name, number, None, "expected the header: vertices edges [format [constraints]]")
    vertices, edges = int(words[0]), int(words[1])
    digits = words[2].decode().zfill(3) if len(words) > 2 else "000"
    if not re.fullmatch("[01]{3}", digits):
        raise ParseError(name, number, f"format {digits}", "must be three digits, each 0 or 1")
    constraints = int(words[3]) if len(words) > 3 else 1
    if vertices < 1 or vertices >= 1 << 32:
        raise ParseError(name, number, None, f"{vertices} vertices: must be 1 to 4294967295")
    return vertices, edges, digits[0] == "1", constraints if digits[1] == "1" else 0, digits[2] == "1"


def _numbers(lines: list[bytes], rows: list[int], name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All numbers of the lines, and how many each has."""
    chosen = [lines[i] for i in rows]
    lengths = np.array([len(line.split()) for line in chosen], np.int64)
    text = b" ".join(chosen)
    if re.search(rb"[^0-9\s]|[0-9]{17}", text):
        for i in rows:
            for word in lines[i].split():
                if re.fullmatch(rb"-[0-9.]+", word):
                    raise ParseError(name, i + 1, word.decode(), "is negative: weights must be 0 or more")
                if not re.fullmatch(rb"[0-9]{1,16}", word):
                    shown = word[:40].decode(errors="replace")
                    raise ParseError(name, i + 1, shown, f"must be a whole number below {_MOST}")
    values = np.array(text.split(), dtype=np.int64) if lengths.any() else np.zeros(0, np.int64)
    return values, lengths


def _require_symmetric(
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    weight: NDArray[np.int64],
    vertices: int,
    name: str,
    rows: list[int],
) -> None:
    forth, back = source * vertices + target, target * vertices + source
    a, b = np.argsort(forth, kind="stable"), np.argsort(back, kind="stable")
    twice = np.flatnonzero(np.diff(forth[a]) == 0)
    if len(twice):
        at = a[twice[0]]
        raise ParseError(name, rows[source[at]] + 1, f"neighbour {target[at] + 1}", "it is given twice")
    if np.array_equal(forth[a], back[b]) and np.array_equal(weight[a], weight[b]):
        return
    known = dict(zip(forth.tolist(), weight.tolist(), strict=True))
    for u, v, w in zip(source.tolist(), target.tolist(), weight.tolist(), strict=True):
        there = known.get(v * vertices + u)
        if there != w:
            other = "no edge" if there is None else f"one of weight {there}"
            message = f"the graph is not symmetric: an edge of weight {w} here, {other} at vertex {v + 1}"
            raise ParseError(name, rows[u] + 1, f"neighbour {v + 1}", message)
