"""One method that was run, and the placement that it found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .clock import Clock, timed
from .metrics import Metrics

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Trial:
    """One trial: a method that was run, and its placement.

    Attributes
    ----------
    method : str
    options : dict
    seconds : float
        Processor time.
    place : array of uint32, shape (tasks,)
        Index of each task's node in the job.
    hop_bytes : float
    evaluate : callable
        Function from ``place`` to metrics.
    clock : Clock, optional
        Simulates placements of a program.
    """

    method: str
    options: dict[str, Any]
    seconds: float
    place: NDArray[np.uint32] = field(repr=False)
    hop_bytes: float
    evaluate: Callable[[NDArray[np.uint32]], Metrics] = field(repr=False)
    clock: Clock | None = field(default=None, repr=False)

    @cached_property
    def _untimed(self) -> Metrics:
        return self.evaluate(self.place)

    @property
    def metrics(self) -> Metrics:
        """Metrics of the placement, with its time if it was simulated."""
        return timed(self._untimed, self.clock)

    @property
    def name(self) -> str:
        """Name of the method with its options."""
        given = ", ".join(f"{k}={v}" for k, v in self.options.items())
        return f"{self.method}({given})" if given else self.method


#: Runs a method with options and keeps the result; None where it does not apply.
Attempt = Callable[..., Trial | None]
