"""Loops in a sequence of numbers: what repeats becomes a body, bodies within bodies.

Counts of loops are not part of what they are: a solver that takes five iterations and then six is one loop, twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

#: Periods that are tried, at most, in a pass.
_PERIODS = 400


@dataclass(frozen=True)
class Loop:
    """Something that is done again and again."""

    body: tuple[Node, ...]


Node = int | Loop


def fold(sequence: NDArray[np.int64], lines: Mapping[int, tuple[str, int]] | None = None) -> tuple[Node, ...]:
    """Fold a sequence of numbers from 0.

    ``lines``: file and line of each number. Of the turns of a body that repeat as often, the one is taken that begins
    with the first line: what comes before may look like the end of an iteration.

    Examples
    --------
    >>> fold(np.array([7, 1, 2, 2, 1, 2, 2, 2, 9]))
    (7, Loop(body=(1, Loop(body=(2,)))), 9)
    """
    symbols = np.asarray(sequence, np.int64)
    base = int(symbols.max(initial=0)) + 1
    bodies: dict[tuple[int, ...], int] = {}
    firsts = dict(lines or {})
    while True:
        folded = _pass(symbols, bodies, base, firsts)
        if folded is None:
            break
        symbols = folded
    by_number = {base + i: body for body, i in bodies.items()}

    def tree(numbers: tuple[int, ...]) -> tuple[Node, ...]:
        return tuple(Loop(tree(by_number[n])) if n in by_number else n for n in numbers)

    return tree(tuple(symbols.tolist()))


def _pass(
    symbols: NDArray[np.int64], bodies: dict[tuple[int, ...], int], base: int, lines: dict[int, tuple[str, int]]
) -> NDArray[np.int64] | None:
    """Fold the shortest period that repeats; None where nothing does."""
    for period in _periods(symbols):
        same = symbols[:-period] == symbols[period:]
        edges = np.flatnonzero(np.diff(np.concatenate([[0], same.astype(np.int8), [0]])))
        begins, lengths = edges[::2], edges[1::2] - edges[::2]
        long = lengths >= period
        if not long.any():
            continue
        # All runs of the body that the longest has; its other rotations become other bodies, in later passes.
        longest = int(np.argmax(lengths[long]))
        at = int(begins[long][longest])
        at += _turn(symbols[at : at + period].tolist(), int(lengths[long][longest]) % period, lines)
        body = symbols[at : at + period]
        number = base + bodies.setdefault(tuple(body.tolist()), len(bodies))
        if int(body[0]) in lines:
            lines[number] = lines[int(body[0])]
        return _replaced(symbols, body, number)
    return None


def _turn(body: list[int], over: int, lines: Mapping[int, tuple[str, int]]) -> int:
    """By how much a body is turned, at most ``over``, so that its first line comes first."""
    places = [lines.get(number) for number in body]
    if any(place is None for place in places) or len({place[0] for place in places if place is not None}) > 1:
        return 0
    known = [place[1] for place in places if place is not None]
    return min(range(over + 1), key=lambda turn: known[turn])


def _periods(symbols: NDArray[np.int64]) -> list[int]:
    """Distances from a symbol to the same symbol before it, rising."""
    if len(symbols) < 2:
        return []
    order = np.argsort(symbols, kind="stable")
    after = np.diff(order)[symbols[order][1:] == symbols[order][:-1]]
    distances, counts = np.unique(after, return_counts=True)
    useful = distances[counts >= distances]
    return [int(p) for p in useful[:_PERIODS]]


def _replaced(symbols: NDArray[np.int64], body: NDArray[np.int64], number: int) -> NDArray[np.int64]:
    """Occurrences of a body, one after another, become one number; where it stands alone, too."""
    period = len(body)
    hits = np.ones(len(symbols) - period + 1, bool)
    for i, symbol in enumerate(body.tolist()):
        hits &= symbols[i : len(symbols) - period + 1 + i] == symbol
    out: list[NDArray[np.int64]] = []
    at, places = 0, np.flatnonzero(hits).tolist()
    previous = -1
    one = np.array([number])
    for place in places:
        if place < at:
            continue
        if place > at or previous != place:
            out += [symbols[at:place], one]
        at = previous = place + period
    out.append(symbols[at:])
    return np.concatenate(out)


def loops_of_one(nodes: tuple[Node, ...]) -> bool:
    """Whether a sequence is a single loop and nothing else."""
    return len(nodes) == 1 and isinstance(nodes[0], Loop)
