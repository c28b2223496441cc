"""What a skeleton is, and how its parameters are read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from .. import units
from ..errors import InvalidInput

if TYPE_CHECKING:
    from ..schedule.program import Program
    from .steps import Noted, Pieces, Steps

#: Powers of the size of the problem, of a rank or of the whole job, that a parameter may follow.
POWERS = {"": 1.0, "^1/2": 1 / 2, "^1/3": 1 / 3, "^2/3": 2 / 3}


@dataclass(frozen=True)
class Parameter:
    """One number that a skeleton takes.

    Attributes
    ----------
    name, doc : str
    default : float
    least, most : float
        Smallest and largest number that is allowed.
    unit : str
        ``""``, ``"B"`` or ``"s"``.
    whole : bool
        Fractions are refused.
    origin : str
        Where the default comes from, if it is to stand for an application: ``"stated"`` in a publication, ``"source"``
        of the program, ``"recalled"`` from publications but not looked up, ``"assumed"`` by us; ``""`` for the others.
    follows : str
        How it grows with the size of the problem: ``"rank"`` with the part of a rank, ``"job"`` with all of it, or
        powers such as ``"rank^1/3"``, or ``"log2 job"``; ``""``: it stays.
    """

    name: str
    doc: str
    default: float
    least: float = 0
    most: float = 1e9
    unit: str = ""
    whole: bool = True
    origin: str = ""
    follows: str = ""

    def resized(self, number: float, rank: float, job: float) -> float:
        """The number of a problem whose part of a rank, and which itself, is so many times as large.

        Raises
        ------
        InvalidInput
            If it is out of range there.
        """
        if not self.follows:
            return number
        if self.follows == "log2 job":
            found = number + math.log2(job)
        else:
            what, power = self.follows[:4].strip("^"), self.follows.lstrip("rankjob")
            found = number * (rank if what == "rank" else job) ** POWERS[power]
        if self.whole:
            found = round(found)
        if not self.least <= found <= self.most:
            raise InvalidInput(f"{self.name} would be {found:.3g}: must be {self.range}")
        return found

    def read(self, text: str) -> float:
        """The number that a text stands for.

        Raises
        ------
        InvalidInput
            If it is none, or out of range.
        """
        try:
            number = units.parse(text, self.unit)
        except InvalidInput as error:
            raise InvalidInput(f"{self.name}={text}: {error}") from None
        if not self.least <= number <= self.most or (self.whole and number != int(number)):
            kind = "a whole number" if self.whole else "a number"
            raise InvalidInput(f"{self.name}={text}: must be {kind} {self.range}")
        return int(number) if self.whole else number

    def text(self, number: float) -> str:
        """A number of this parameter, for people."""
        return units.text(number, self.unit) if self.unit else f"{number:g}" if number < 1e6 else f"{number:,.0f}"

    @property
    def range(self) -> str:
        """What is allowed, in words."""
        return f"from {self.text(self.least)} to {self.text(self.most)}"


@dataclass(frozen=True)
class Skeleton:
    """A program with parameters.

    Attributes
    ----------
    name, doc : str
    parameters : tuple of Parameter
    make : str
        Module of this package, and function in it that takes a builder, and all parameters but ``ranks`` by name, and
        adds the events.
    source : str
        What the structure was taken from.
    sized : {"", "rank", "job"}
        What is fixed whatever the parameters: the part of the problem of a rank, or the whole problem; ``""``: neither.
    """

    name: str
    doc: str
    parameters: tuple[Parameter, ...]
    make: str
    source: str = ""
    sized: str = ""

    def values(self, given: Mapping[str, str] | None = None) -> dict[str, float]:
        """Numbers of all parameters: these as text, the others by default.

        Raises
        ------
        InvalidInput
            For a number that is not allowed.
        """
        given = given or {}
        return {p.name: p.read(given[p.name]) if p.name in given else p.default for p in self.parameters}

    def build(self, given: Mapping[str, str] | None = None) -> Program:
        """The program with these parameters as text, the others by default.

        Raises
        ------
        InvalidInput
            For a number that is not allowed.
        """
        return self.of(self.values(given))

    def of(self, values: Mapping[str, float]) -> Program:
        """The program with these numbers of all parameters."""
        from .steps import Steps

        b = Steps(int(values["ranks"]))
        self._add(b, values)
        return b.build()

    def pieces(self, values: Mapping[str, float]) -> Pieces:
        """The same program in pieces, of which none is built yet."""
        from .steps import Noted

        noted = Noted(int(values["ranks"]))
        self._add(noted, values)
        return noted.pieces()

    def _add(self, b: Steps | Noted, values: Mapping[str, float]) -> None:
        module, function = self.make.split(".")
        # By name: the list of skeletons is printed without NumPy.
        parameters = {name: value for name, value in values.items() if name != "ranks"}
        getattr(import_module(f"{__package__}.{module}"), function)(b, **parameters)
