"""Counts of hierarchies for studies: those that come with Isthmus, and those that a solver here computes."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from ..errors import InvalidInput
from ..multigrid import GridLevel, Hierarchy
from ..multigrid.outline import made

_PREFIX = "levels-"
_FORMAT = 1


def names() -> list[str]:
    """Names of the counts that come with Isthmus."""
    folder = files(__package__) / "data"
    found = (entry.name for entry in folder.iterdir())
    return sorted(n.removeprefix(_PREFIX).removesuffix(".json") for n in found if n.startswith(_PREFIX))


@functools.lru_cache(maxsize=8)
def _file(name: str) -> Mapping[str, Any]:
    if name not in names():
        raise InvalidInput(f"no counts of {name}: must be one of {', '.join(names())}")
    found: Mapping[str, Any] = json.loads((files(__package__) / "data" / f"{_PREFIX}{name}.json").read_text("utf-8"))
    assert found["format"] == _FORMAT
    return found


def cuts(name: str) -> list[int]:
    """Numbers of parts into which a hierarchy was cut."""
    return sorted(map(int, _file(name)["cuts"]))


@functools.lru_cache(maxsize=32)
def shipped(name: str, parts: int) -> Hierarchy:
    """Return a hierarchy that comes with Isthmus, cut into parts: its numbers are exact, who sends to whom is made up.

    Raises
    ------
    InvalidInput
        If there is none of that name, or it was not cut into so many parts.
    """
    found = _file(name)
    levels = found["cuts"].get(str(parts))
    if levels is None:
        raise InvalidInput(f"{name} is not cut into {parts} parts: into {', '.join(map(str, cuts(name)))}")
    order = found["quantities"]

    def operator(numbers: list[int]) -> Any:
        return made(dict(zip(order, numbers, strict=True)), parts)

    return Hierarchy(
        tuple(GridLevel(operator(one["A"]), operator(one["P"]) if "P" in one else None) for one in levels),
        {"solver": found["solver"]},
    )
