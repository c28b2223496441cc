"""Inputs and outputs of experiments: parameters, kinds, summaries."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from .. import units
from ..errors import InvalidInput

#: Inputs, or inputs and results, of one point: what JSON holds.
Point = dict[str, Any]
#: A value of a parameter, as JSON holds it.
Value = str | int | float | bool

# Kind -> module: imported when a study uses it.
_MODULES = {
    "collectives": "collectives",
    "cycles": "cycles",
    "exchanges": "exchanges",
    "gathering": "gathering",
    "intensity": "intensity",
    "mapping": "mapping",
    "memory": "memory",
    "models": "models",
    "networks": "networks",
    "overlap": "overlap",
    "pairs": "pairs",
    "simulation": "simulation",
    "sizes": "sizes",
    "traffic": "traffic",
}


@dataclass(frozen=True)
class Parameter:
    """One input of an experiment.

    Attributes
    ----------
    name, doc : str
    type : str
        "whole", "number", "yes", "text", "choice", "machine" (what :func:`isthmus.load` takes), "work" (a file of a
        program or schedule, or a one-line collective), or a unit ("B", "s", "B/s") of a quantity.
    default : optional
        What a study need not say; None: it has to.
    choices : tuple of str
    least, most : float
        Smallest and largest number that is allowed.
    """

    name: str
    type: str
    doc: str
    default: Any = None
    choices: tuple[str, ...] = ()
    least: float = 0.0
    most: float = float("inf")

    def read(self, value: Any) -> Any:
        """The value as JSON holds it; raises InvalidInput, whose message does not name the parameter."""
        if self.type == "yes":
            if not isinstance(value, bool):
                raise InvalidInput(f"{units.shown(value)}: must be true or false")
            return value
        if self.type in ("text", "choice", "machine", "work"):
            return self._read_text(value)
        unit = "" if self.type in ("whole", "number") else self.type
        number = units.parse(value, unit)
        whole = self.type in ("whole", "B")
        if whole and number != int(number):
            raise InvalidInput(f"{units.shown(value)}: must be a whole number")
        if not self.least <= number <= self.most:
            most = "" if self.most == float("inf") else f" to {self.most:g}"
            raise InvalidInput(f"{units.shown(value)}: must be {self.least:g}{most or ' or more'}")
        return int(number) if whole else number

    def _read_text(self, value: Any) -> str:
        if not isinstance(value, str):
            raise InvalidInput(f"{units.shown(value)}: must be a text")
        if self.type == "choice" and value not in self.choices:
            raise InvalidInput(f"{units.shown(value)}: must be one of {', '.join(self.choices)}")
        if self.type == "machine":
            try:
                _machine_digest(value)
            except OSError as error:
                raise InvalidInput(f"{value}: {error.strerror}") from None
        return value

    def identity(self, value: Any) -> str | None:
        """A digest of what the value stands for, where that can change while the value stays."""
        if self.type == "machine":
            return _machine_digest(value)
        if self.type == "work" and os.path.isfile(value):
            with open(value, "rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()[:16]
        return None


@functools.lru_cache(maxsize=64)
def _machine_digest(text: str) -> str:
    from ..loading import load

    return hashlib.sha256(load(text).toml().encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Finding:
    """The answer of a study to a published statement.

    Attributes
    ----------
    ours : str
        Our figure, in words.
    verdict : {"agrees", "partly", "differs", "open"}
        Partly: on some of the machines. Open: the points that would tell were not computed, or there
        is no figure to compare with.
    """

    ours: str
    verdict: str


@dataclass(frozen=True)
class Summary:
    """The summary of all points.

    Attributes
    ----------
    columns : sequence of str
    rows : sequence of sequences of str
    right : sequence of str
        Columns of numbers.
    draw : callable
        Makes the figure (of Matplotlib).
    findings : dict of str to Finding
        By the name of the published statement.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[str]
    draw: Callable[[], Any]
    findings: Mapping[str, Finding]


@dataclass(frozen=True)
class Kind:
    """A kind of experiment.

    Attributes
    ----------
    name, doc : str
    version : int
        Raised when the same inputs give other results: old results stay in ledgers, new ones are computed.
    parameters : tuple of Parameter
    measure : callable
        From the inputs of a point to its results: numbers or texts by name.
    summarise : callable
        From all points (inputs and results) to a Summary.
    """

    name: str
    doc: str
    version: int
    parameters: tuple[Parameter, ...]
    measure: Callable[[Point], Point]
    summarise: Callable[[Sequence[Point]], Summary]

    def parameter(self, name: str) -> Parameter:
        """The parameter of that name; raises InvalidInput."""
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise InvalidInput(
            f"no such parameter of {self.name!r}; must be one of {', '.join(p.name for p in self.parameters)}"
        )

    def identities(self, point: Point) -> dict[str, str]:
        """The current meaning of the inputs, by parameter."""
        found = {p.name: p.identity(point[p.name]) for p in self.parameters}
        return {name: value for name, value in found.items() if value is not None}


def kind_named(name: Any) -> Kind:
    """The kind of that name; raises InvalidInput."""
    if not isinstance(name, str) or name not in _MODULES:
        raise InvalidInput(f"{units.shown(name)}: must be one of {', '.join(_MODULES)}")
    kind: Kind = import_module(f".{_MODULES[name]}", __package__).KIND
    return kind
