"""Performance guidelines: what no collective should be slower than (Traff, Gropp and Thakur, "Self-Consistent MPI
Performance Guidelines", 2010).

A library that violates one does worse than its own parts: users can take the parts, and rules may mend it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .runs import Case

#: The collective, the others whose times are added, in words. Sizes: of one rank's block where the collective has
#: blocks, else of the vector; ``n`` is the size of the one that is judged, ``p`` the number of ranks.
Size = Callable[[int, int], int]


@dataclass(frozen=True)
class Guideline:
    """``name`` of n bytes should take no longer than ``parts`` together."""

    name: str
    parts: tuple[tuple[str, Size], ...]
    words: str


def _same(n: int, p: int) -> int:
    return n


def _all(n: int, p: int) -> int:
    return n * p


def _block(n: int, p: int) -> int:
    return -(-n // p)


def _four(n: int, p: int) -> int:
    return 4


GUIDELINES = (
    Guideline("allreduce", (("reduce", _same), ("bcast", _same)), "allreduce <= reduce + bcast"),
    Guideline("allreduce", (("reduce_scatter_block", _block), ("allgather", _block)),
              "allreduce <= reduce_scatter + allgather"),
    Guideline("bcast", (("scatter", _block), ("allgather", _block)), "bcast <= scatter + allgather"),
    Guideline("reduce", (("allreduce", _same),), "reduce <= allreduce"),
    Guideline("reduce", (("reduce_scatter_block", _block), ("gather", _block)), "reduce <= reduce_scatter + gather"),
    Guideline("scatter", (("bcast", _all),), "scatter <= bcast of all blocks"),
    Guideline("gather", (("allgather", _same),), "gather <= allgather"),
    Guideline("allgather", (("gather", _same), ("bcast", _all)), "allgather <= gather + bcast"),
    Guideline("allgather", (("alltoall", _same),), "allgather <= alltoall"),
    Guideline("reduce_scatter_block", (("reduce", _all), ("scatter", _same)), "reduce_scatter <= reduce + scatter"),
    Guideline("scan", (("exscan", _same), ("reduce", _same)), "scan <= exscan + reduce"),
    Guideline("barrier", (("allreduce", _four),), "barrier <= allreduce of 4 B"),
)  # fmt: skip


@dataclass(frozen=True)
class Violation:
    """A guideline that does not hold.

    Parameters
    ----------
    words : str
        The guideline.
    bytes : int
        Of the collective that is too slow.
    seconds : float
        Its time.
    limit : float
        What it should not exceed.
    """

    words: str
    bytes: int
    seconds: float
    limit: float

    @property
    def factor(self) -> float:
        return self.seconds / self.limit


def cases(collectives: set[str], sizes: Mapping[str, list[int]], ranks: int) -> list[Case]:
    """The cases that the guidelines need besides those that are measured anyway."""
    needed = set()
    for rule in GUIDELINES:
        if {rule.name, *(name for name, _ in rule.parts)} <= collectives:
            for size in sizes.get(rule.name, []):
                needed |= {Case(name, of(size, ranks)) for name, of in rule.parts}
    return sorted(needed)


def violations(launches: Mapping[Case, list[NDArray[np.float64]]], ranks: int) -> list[Violation]:
    """Guidelines that the library's default does not keep by more than noise.

    Parameters
    ----------
    launches : mapping of Case to list of array
        Seconds of every repetition, by launch.
    ranks : int

    Returns
    -------
    list of Violation
        Those whose every launch is slower than the slowest launch of the other side, the worst one first. More bytes
        that are faster are among them: ``"<name> of n <= <name> of more"``.
    """
    middle = {case: sorted(float(np.median(t)) for t in of) for case, of in launches.items() if of}
    found = []

    def judge(words: str, case: Case, parts: list[Case]) -> None:
        if case not in middle or any(part not in middle for part in parts):
            return
        mine, limits = middle[case], [middle[part] for part in parts]
        if min(len(mine), *(len(of) for of in limits)) >= 3 and mine[0] > sum(of[-1] for of in limits):
            limit = sum(of[len(of) // 2] for of in limits)
            found.append(Violation(words, case.bytes, mine[len(mine) // 2], limit))

    for rule in GUIDELINES:
        for case in middle:
            if case.name == rule.name:
                judge(rule.words, case, [Case(name, of(case.bytes, ranks)) for name, of in rule.parts])
    for name in {case.name for case in middle}:
        sizes = sorted(case.bytes for case in middle if case.name == name)
        for small, large in itertools.pairwise(sizes):
            judge(f"{name} <= {name} of {large:,} B", Case(name, small), [Case(name, large)])
    return sorted(found, key=lambda v: -v.factor)
