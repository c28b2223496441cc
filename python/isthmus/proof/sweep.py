"""Proofs of all algorithms at many numbers of ranks, roots, sizes and options."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..collectives import algorithms, collective, describe
from ..errors import InvalidInput, Unsupported
from ..schedule.event import COLLECTIVES, ROOTED, VECTORS
from .contract import Contract
from .prove import prove

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Collectives that a sweep goes through.
KINDS = COLLECTIVES
#: Those that combine.
REDUCTIONS = ("reduce", "allreduce", "reduce_scatter", "scan", "exscan")
_ROOTED = tuple(kind.name for kind in ROOTED)
_VECTOR = tuple(kind.name for kind in VECTORS)

#: From so many ranks on every algorithm has one case per root or option, not all combinations.
MANY_RANKS = 65


@dataclass(frozen=True)
class Case:
    """One call: ``arguments`` of ``isthmus.collective`` but kind and algorithm."""

    kind: str
    algorithm: str
    options: dict[str, Any] = field(default_factory=dict)
    arguments: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        words = {**self.arguments, "algorithm": self.algorithm, **self.options}
        return f"{self.kind}:" + ",".join(f"{name}={_word(value)}" for name, value in words.items())


@dataclass
class Tally:
    """The results of the cases of one algorithm.

    Attributes
    ----------
    kind, algorithm : str
    cases, proved, refused : int
        Refused: the algorithm does not exist for so many ranks or such options, and says so.
    ordered : bool or None
        Contributions are combined in the order of ranks in all of its cases; None where nothing is combined.
    operations : int
    seconds : float
        Time spent generating and proving.
    failures : list of (Case, str)
        Cases that are not proved, and what was found.
    """

    kind: str
    algorithm: str
    cases: int = 0
    proved: int = 0
    refused: int = 0
    ordered: bool | None = None
    operations: int = 0
    seconds: float = 0.0
    failures: list[tuple[Case, str]] = field(default_factory=list)


def cases(kind: str, algorithm: str, ranks: int) -> Iterator[Case]:
    """Calls of one algorithm on so many ranks: roots, sizes down to 0, uneven counts, in place or not, options."""
    roots = sorted({0, ranks // 2, ranks - 1}) if kind in _ROOTED else [0]
    sizes = _sizes(kind, ranks)
    options = list(_options(kind, algorithm, ranks))
    if ranks >= MANY_RANKS:
        roots, sizes, options = roots[-1:], sizes[-1:], options[:1]
    places = (False,) if kind in ("barrier", "bcast") else (True, False)
    for root in roots:
        for size in sizes:
            for in_place in places if ranks < MANY_RANKS else places[-1:]:
                for option in options:
                    # Every option with every root and size would be a square too many.
                    if option is not options[0] and (root, size) != (roots[-1], sizes[-1]):
                        continue
                    arguments = {"ranks": ranks, **size, "in_place": in_place}
                    if kind in _ROOTED:
                        arguments["root"] = root
                    yield Case(kind, algorithm, option, arguments)


def sweep(
    kinds: Iterable[str] = KINDS, *, ranks: Sequence[int], names: Sequence[str] = (), most_seconds: float | None = None
) -> Iterator[Tally]:
    """Prove all cases of all algorithms, one tally after another, each when it is complete.

    Parameters
    ----------
    kinds : names of collectives
    ranks : numbers of ranks
    names : names of algorithms
        Only these; by default all.
    most_seconds : float, optional
        For one algorithm: what is not done by then is left out.
    """
    for kind in kinds:
        for algorithm in algorithms(kind):
            if not names or algorithm in names:
                yield _tally(kind, algorithm, ranks, most_seconds)


def _tally(kind: str, algorithm: str, ranks: Sequence[int], most_seconds: float | None) -> Tally:
    out = Tally(kind, algorithm, ordered=True if kind in REDUCTIONS else None)
    start = time.perf_counter()
    for number in ranks:
        for case in cases(kind, algorithm, number):
            if most_seconds is not None and time.perf_counter() - start > most_seconds:
                break
            try:
                schedule = collective(kind, algorithm=(algorithm, case.options), buffers=True, **case.arguments)
            except (InvalidInput, Unsupported):
                out.refused += 1
                continue
            out.cases += 1
            out.operations += len(schedule)
            try:
                proof = prove(schedule, Contract.collective(kind, **case.arguments))
            except InvalidInput as error:
                out.failures.append((case, str(error)))
                continue
            if proof:
                out.proved += 1
            else:
                out.failures.append((case, str(proof)))
            if out.ordered and proof:
                out.ordered = prove(schedule, Contract.collective(kind, ordered=True, **case.arguments)).ok
    out.seconds = time.perf_counter() - start
    return out


def _sizes(kind: str, ranks: int) -> list[dict[str, Any]]:
    if kind == "barrier":
        return [{}]
    if kind in _VECTOR:
        # Nothing, fewer bytes than ranks, and a number that divides by nothing.
        return [{"bytes": 0}, {"bytes": ranks // 2 + 1}, {"bytes": 5 * ranks + 3}]
    if kind == "neighbor_alltoall":
        return [{"counts": _messages(ranks)}]
    uneven: NDArray[Any] = np.arange(ranks) * 7 % 5
    if kind == "alltoall":
        uneven = (np.arange(ranks)[:, None] * 5 + np.arange(ranks) * 3) % 4
    return [{"bytes": 0}, {"bytes": 3}, {"counts": uneven}] if ranks < MANY_RANKS else [{"bytes": 3}]


def _messages(ranks: int) -> NDArray[np.int64]:
    """Two neighbours each, one on the other side, some messages empty, some twice, one to oneself."""
    rank = np.arange(ranks)
    parts = [np.stack([rank, (rank + step) % ranks, (rank * 3 + step) % 5], axis=1) for step in (1, 3, 1)]
    return np.concatenate([*parts, [[0, 0, 4]]])


def _options(kind: str, algorithm: str, ranks: int) -> Iterator[dict[str, Any]]:
    """Its defaults, then each option in turn."""
    yield {}
    values: dict[str, list[Any]] = {
        "radix": [2, 3, 4, 5, 8],
        "segment": [0, 1, 4, 7],
        "window": [0, 1, 2, 3],
        "dims": _extents(ranks),
        "groups": [[1], [2], [3], [4], [ranks], *([[r * r % 3 for r in range(ranks)]] if ranks > 1 else [])],
        "latency": [2e-6],
        "overhead": [3e-7],
        "gap": [5e-7],
    }
    for option in describe(kind, algorithm).options:
        for value in values.get(option.name, []):
            if isinstance(value, (list, float)) or value >= option.least:
                yield {option.name: value}


def _extents(ranks: int) -> list[list[int]]:
    """Boxes of so many ranks, of one to three dimensions."""
    out = [[ranks]]
    for a in range(2, ranks):
        if ranks % a == 0:
            out.append([a, ranks // a])
            out += [[a, b, ranks // a // b] for b in range(2, ranks // a) if ranks // a % b == 0]
    return out[:6]


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, np.ndarray):
        return "uneven"
    return "x".join(map(str, value)) if isinstance(value, list) else str(value)
