"""Programs at many numbers of ranks from one line: a skeleton, a collective, or a file at the ranks that it has."""

from __future__ import annotations

import os

from ..errors import InvalidInput
from ..filekinds import SKELETON, kind_of
from ..named import named
from ..skeletons import SKELETONS, Family, family
from .inputs import read_work


def parse_family(text: str, scaling: str | None, ranks: list[int] | None) -> tuple[Family, list[int]]:
    """The program of ``NAME|FILE:key=value,...`` at many numbers of ranks, and these numbers.

    Raises
    ------
    InvalidInput
        If it has one number of ranks and others are asked for, or if it has no such scaling.
    """
    from ..schedule.program import CollectiveKind

    what = named(text)
    if not os.path.exists(what.name):
        if what.name in SKELETONS:
            skeleton = SKELETONS[what.name]
            given = what.values(*(p.name for p in skeleton.parameters))
            return family(skeleton, given, scaling, min(_given(ranks))), _given(ranks)
        if what.name in CollectiveKind.__members__:
            return _collective(text, scaling), _given(ranks)
    elif os.path.isfile(what.name) and kind_of(what.name) == SKELETON and ranks is not None:
        return _fitted(text, scaling), ranks
    program = read_work(text)
    if scaling is not None:
        raise InvalidInput(
            f"--{scaling}: {text} has one size, {program.ranks:,} ranks; only skeletons and collectives scale"
        )
    return Family(os.path.basename(what.name), lambda _: program, ranks=program.ranks), ranks or [program.ranks]


def _fitted(text: str, scaling: str | None) -> Family:
    """A skeleton that was fitted to recordings: it scales as they did, which only who recorded them knows."""
    what = named(text)
    if scaling is not None:
        raise InvalidInput(f"--{scaling}: {what.name} was fitted to recordings, and scales as they did")
    if "ranks=" in what.parameters:
        raise InvalidInput(f"{text}: leave out ranks=..., which --ranks gives")
    rest = f",{what.parameters}" if what.parameters else ""
    return Family(os.path.basename(what.name), lambda ranks: read_work(f"{what.name}:ranks={ranks}{rest}"))


def _given(ranks: list[int] | None) -> list[int]:
    if ranks is None:
        raise InvalidInput("--ranks is missing: numbers of ranks at which to compare, such as 16..1024")
    return ranks


def _collective(text: str, scaling: str | None) -> Family:
    """As many bytes for each rank at all sizes."""
    from ..collectives import collective
    from ..one_line import collective_arguments

    what = named(text)
    if scaling == "strong":
        raise InvalidInput(f"--strong: a collective has as many bytes whatever the ranks; {what.name} has weak scaling")
    if "ranks=" in what.parameters:
        raise InvalidInput(f"{text}: leave out ranks=..., which --ranks gives")
    rest = f",{what.parameters}" if what.parameters else ""
    arguments = collective_arguments(f"{what.name}:ranks=1{rest}")
    return Family(text, lambda ranks: collective(**{**arguments, "ranks": ranks}), "weak", collective=True)
