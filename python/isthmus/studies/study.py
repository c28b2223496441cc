"""The noun Study: an experiment, the points at which it is made, and what was published about it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import InvalidInput
from ..views import view
from .parameters import Kind, Point, Value, kind_named


@dataclass(frozen=True)
class Published:
    """A published statement to compare results with."""

    name: str
    statement: str
    source: str


@dataclass(frozen=True)
class Study:
    """An experiment and the points at which it is made.

    Attributes
    ----------
    name, title : str
    kind : str
        Kind of the experiment.
    reproduces, about : str
        What was published, in a few words; what the study does, in a few sentences.
    grids : tuple of dict
        Values of every parameter; the points of a grid are all combinations. The study has the points of all grids.
    published : tuple of Published
    seconds : float or None
        Processor time of one core for all points, as measured on the developers' machine.
    fast : dict
        Values of parameters for the quick form.
    fast_grids : tuple of int or None
        Indices of the grids of the quick form; None: all.
    fast_seconds : float or None
        Processor time of the quick form.

    Examples
    --------
    >>> study = Study.load("contention-distance")
    >>> len(study.changed({"hops": [1, 8], "bytes": 1048576, "machine": "bgp-8x8x16"}).points)
    7
    """

    name: str
    title: str
    kind: str
    grids: tuple[Mapping[str, tuple[Value, ...]], ...]
    reproduces: str = ""
    about: str = ""
    published: tuple[Published, ...] = ()
    seconds: float | None = None
    fast: Mapping[str, tuple[Value, ...]] | None = None
    fast_grids: tuple[int, ...] | None = None
    fast_seconds: float | None = None

    @staticmethod
    def load(what: str) -> Study:
        """Load a study from the catalogue or a file; see :func:`isthmus.studies.reading.load`."""
        found: Study = view("Study.load")(what)
        return found

    @property
    def experiment(self) -> Kind:
        """Experiment that is run at each point."""
        return kind_named(self.kind)

    @property
    def points(self) -> list[dict[str, Value]]:
        """Inputs of all distinct points, in the order of the grids, the last parameter varying fastest."""
        out: dict[str, Point] = {}
        for grid in self.grids:
            for values in itertools.product(*grid.values()):
                point = dict(zip(grid, values, strict=True))
                out.setdefault(json.dumps(point, sort_keys=True), point)
        return list(out.values())

    def quick(self) -> Study:
        """Return the quick form of the study, which takes seconds."""
        if self.fast is None:
            return self
        kept = self if self.fast_grids is None else replace(self, grids=tuple(self.grids[i] for i in self.fast_grids))
        return replace(kept._with(self.fast), seconds=self.fast_seconds)

    def changed(self, settings: Mapping[str, Value | Sequence[Value]]) -> Study:
        """Return the study with new values of parameters, one or several each; raises InvalidInput.

        They replace the values of the grids that have several of the parameter, or of all grids where none has.
        """
        new = {}
        for name, given in settings.items():
            new[name] = read_values(self.experiment, name, given, name)
        return replace(self._with(new), seconds=None)

    def _with(self, new: Mapping[str, tuple[Value, ...]]) -> Study:
        """Other values in the grids that have several of a parameter; in all grids where none has."""
        grids = [dict(grid) for grid in self.grids]
        for name, values in new.items():
            several = [grid for grid in grids if len(grid[name]) > 1]
            for grid in several or grids:
                grid[name] = values
        return replace(self, grids=tuple(grids))


def read_values(kind: Kind, name: str, given: Any, path: str) -> tuple[Any, ...]:
    """Return the values of a parameter, given as one value or a list, without duplicates."""
    try:
        parameter = kind.parameter(name)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None
    values = given if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    if not values:
        raise InvalidInput(f"{path}: the list is empty")
    out = []
    for value in values:
        try:
            read = parameter.read(value)
        except (ValueError, NotImplementedError) as error:
            raise InvalidInput(f"{path}: {error}") from None
        if read not in out:
            out.append(read)
    return tuple(out)


def complete(kind: Kind, grid: Mapping[str, tuple[Value, ...]]) -> dict[str, tuple[Any, ...]]:
    """Return a grid with all parameters in order; raises InvalidInput if one without default is missing."""
    out = {}
    for parameter in kind.parameters:
        if parameter.name in grid:
            out[parameter.name] = grid[parameter.name]
        elif parameter.default is not None:
            out[parameter.name] = (parameter.default,)
        else:
            raise InvalidInput(f"{parameter.name} is missing: {parameter.doc}")
    return out
