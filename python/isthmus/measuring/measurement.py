"""What measure returns: the machine, its raw samples, and what could not be measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..machine import Machine
from ..tabular import Tabular
from ..views import view
from .samples import Samples


@dataclass(frozen=True, eq=False)
class Measurement(Tabular):
    """Result of :func:`isthmus.measure`.

    Attributes
    ----------
    machine : Machine
        The machine, every number with its interval, method and number of samples.
    samples : Samples
        Raw samples of everything.
    warnings : tuple of str
        Conditions that make the numbers less certain, a sentence each.
    missing : tuple of str
        What could not be measured or told apart, and why, a sentence each.
    seconds : float
        How long it took.
    """

    machine: Machine
    samples: Samples
    warnings: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    seconds: float = 0.0
    files: tuple[str, ...] = field(default=())

    def frame(self) -> Sequence[Mapping[str, Any]]:
        """Return one row per measured value: path, value, interval, samples, method."""
        keys = ("path", "value", "interval", "samples", "method")
        rows: list[dict[str, Any]] = [dict(row) for row in self.machine.frame() if row["status"] == "measured"]
        return [{key: row[key] for key in keys} for row in rows]

    def __str__(self) -> str:
        text: str = view("Measurement.__str__")(self)
        return text
