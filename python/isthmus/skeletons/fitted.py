"""Skeletons that were fitted to recordings: files that ``isthmus skeleton fit`` writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..extrapolation import generate, read
from .skeleton import Parameter, Skeleton

if TYPE_CHECKING:
    from ..extrapolation import Blueprint
    from ..schedule.program import Program


@dataclass(frozen=True)
class Fitted(Skeleton):
    """A skeleton from a file.

    Attributes
    ----------
    blueprint : Blueprint or None
    """

    blueprint: Blueprint | None = None

    def of(self, values: Mapping[str, float]) -> Program:
        assert self.blueprint is not None
        parameters = {name: int(value) for name, value in values.items() if name != "ranks"}
        return generate(self.blueprint, int(values["ranks"]), parameters)


def fitted(path: str) -> Fitted:
    """The skeleton of a file.

    Raises
    ------
    ParseError
        For a file that is none.
    """
    blueprint = read(path)
    largest = blueprint.sizes[-1]
    parameters = [Parameter("ranks", "ranks", largest, 1, 2**24)]
    parameters += [
        Parameter(name, "of the problem, as recorded", number, -(2**53), 2**53)
        for name, number in blueprint.parameters.items()
    ]
    words = ", ".join(map(str, blueprint.sizes))
    return Fitted(path, f"fitted to recordings of {words} ranks", tuple(parameters), "", blueprint=blueprint)
