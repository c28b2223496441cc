"""Seeded samples of long matrices of tests.

`./bootstrap test` sets ISTHMUS_SAMPLE_SEED: of each long matrix it runs a part, another one with each seed, and always
its corner cases. Without that variable, as in `./bootstrap proof` and where somebody runs pytest, all cases are run.

- `@pytest.mark.sampled(most, always=[...])` for a parametrised test: so many of its cases, those ids among them
- `sampled(name, cases, most, always=...)` for a loop within a test
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import pytest

Case = TypeVar("Case")
VARIABLE = "ISTHMUS_SAMPLE_SEED"


@dataclass(frozen=True)
class Matrix:
    """How many cases of a matrix were taken."""

    name: str
    taken: int
    of: int


#: Matrices of which a part was taken in this process.
taken: list[Matrix] = []


def seed() -> int | None:
    """The seed of this run; None where all cases are run."""
    text = os.environ.get(VARIABLE, "")
    if not text:
        return None
    if not text.isdigit():
        raise ValueError(f"{VARIABLE} is {text!r}: expected a whole number, or nothing to run all cases")
    return int(text)


def sampled(
    name: str, cases: Iterable[Case], most: int, always: Callable[[Case], bool] = lambda _: False
) -> list[Case]:
    """So many cases of a matrix, in their order: its corner cases, and others at random.

    Parameters
    ----------
    name : str
        Name of the matrix: each has a random stream of its own.
    cases : iterable
    most : int
        Cases in a sample, at least 1. Corner cases are taken beyond it too.
    always : callable
        Is a case a corner case?
    """
    if most < 1:
        raise ValueError(f"{name}: a sample of {most} cases says nothing")
    whole = list(cases)
    start = seed()
    if start is None or len(whole) <= most:
        return whole
    corners = {i for i, case in enumerate(whole) if always(case)}
    others = [i for i in range(len(whole)) if i not in corners]
    stream = random.Random(f"{start} {name}")
    chosen = corners | set(stream.sample(others, max(min(most - len(corners), len(others)), 0)))
    taken.append(Matrix(name, len(chosen), len(whole)))
    return [whole[i] for i in sorted(chosen)]


def left_out(items: list[pytest.Item]) -> set[pytest.Item]:
    """Tests marked `sampled` that are not in the sample of their function."""
    matrices: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled") is not None:
            matrices.setdefault(item.nodeid.partition("[")[0], []).append(item)
    out: set[pytest.Item] = set()
    for name, cases in matrices.items():
        mark = cases[0].get_closest_marker("sampled")
        assert mark is not None
        most, always = _arguments(*mark.args, **mark.kwargs)
        ids = {case.nodeid.partition("[")[2].removesuffix("]"): case for case in cases}
        if seed() is not None and (wrong := [corner for corner in always if corner not in ids]):
            raise pytest.UsageError(f"{name} has no case {wrong[0]!r}, which is always to be run")
        corners = {ids[corner] for corner in always if corner in ids}
        out |= {*cases} - {*sampled(name, cases, most, corners.__contains__)}
    return out


def _arguments(most: int, always: Sequence[str] = ()) -> tuple[int, Sequence[str]]:
    return most, always


def summary(matrices: Sequence[Matrix]) -> list[str]:
    """Lines that say what was run of which matrix."""
    different = sorted({*matrices}, key=lambda m: m.name)
    run, of = sum(m.taken for m in different), sum(m.of for m in different)
    head = f"{run:,} of {of:,} cases of {len(different)} long matrices; {VARIABLE}={seed()} repeats them"
    return [head, *(f"  {m.name}: {m.taken} of {m.of}" for m in different)]
