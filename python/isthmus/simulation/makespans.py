"""Makespans of many schedules on the same machine, with nothing else of their simulations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _core
from .network import RECEIVE
from .simulate import all_options, in_ps

if TYPE_CHECKING:
    from ..machine import Level, Machine
    from ..schedule.schedule import Schedule


class Makespans:
    """What :func:`isthmus.simulate` finds for schedules of a number of ranks, with what they have in common made once.

    Parameters
    ----------
    ranks : int
    machine : Machine or Level
    placement : Allocation, Placement or array of int, optional
    model, routing : str
    resolution, copy_rate, reduce_rate : float, optional
        As of :func:`isthmus.simulate`.

    Raises
    ------
    InvalidInput
        As :func:`isthmus.simulate`.
    """

    def __init__(
        self,
        ranks: int,
        machine: Machine | Level,
        placement: Any = None,
        *,
        model: str = "loggops",
        routing: str = "minimal",
        resolution: float | None = None,
        copy_rate: float | None = None,
        reduce_rate: float | None = None,
    ) -> None:
        # A single collective has no iterations to look for.
        place = (placement, "finish", None, 0, copy_rate, reduce_rate, True, False, RECEIVE)
        self._options = all_options(ranks, machine, place, (model, routing, 0, resolution, None), None)

    def __call__(self, schedule: Schedule, until: float | None = None) -> tuple[float, bool]:
        """Return the makespan in seconds, and whether the simulation was stopped as it is above ``until``."""
        result = _core.simulate(schedule.arrays, self._options, None, None if until is None else in_ps(until, "until"))
        return result.makespan / 1e12, result.stopped
