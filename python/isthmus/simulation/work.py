"""Lower bounds of simulated times from the work of ranks and interfaces, without a simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from .network import RECEIVE
from .simulate import core_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ..machine import Level, Machine
    from ..schedule.schedule import Schedule


def work_bound(
    schedule: Schedule,
    machine: Machine | Level,
    placement: Any = None,
    *,
    unit: int,
    sizes: Sequence[int] | NDArray[np.int64],
    copy_rate: float | None = None,
    reduce_rate: float | None = None,
    receive: str = RECEIVE,
) -> NDArray[np.float64] | None:
    """Return a lower bound of the simulated time of a schedule for several message sizes, seconds.

    Every rank handles its messages, copies and reductions one after the other, and every side of a network interface
    its messages; where ranks share the interface of a node, those of all of them. The bound is what the busiest one has
    to do. It holds in all models of the network, and with noise.

    Parameters
    ----------
    schedule : Schedule
        All amounts of its messages, copies and reductions are multiples of ``unit``.
    machine : Machine or Level
    placement : Allocation, Placement or array of int, optional
        As of :func:`isthmus.simulate`.
    unit : int
        Bytes, from 1.
    sizes : sequence of int
        Bytes that take the place of the unit, from 1.
    copy_rate, reduce_rate : float, optional
    receive : str
        As of :func:`isthmus.simulate`.

    Returns
    -------
    array of float or None
        One entry for each size; None where an amount is no multiple of the unit.

    Raises
    ------
    InvalidInput
        As of :func:`isthmus.simulate`; for a unit or size of 0 bytes.

    Examples
    --------
    >>> import isthmus
    >>> level = isthmus.Level(L=2e-6, o_send=1e-6, o_recv=1e-6, g=1e-6, G=1e-9)
    >>> exchange = isthmus.collective("alltoall", ranks=4, bytes=1, algorithm="linear")
    >>> bound = work_bound(exchange, level, unit=1, sizes=[1, 100001])
    >>> [round(t * 1e6, 3) for t in bound.tolist()]
    [6.0, 306.0]
    """
    # Noise makes everything later: the bound does without.
    from ..machine import Noise

    options = core_options(
        schedule.ranks, machine, placement, "finish", Noise(), 0, copy_rate, reduce_rate, False, False, receive
    )
    least = _core.work_bound(schedule.arrays, options, unit, np.asarray(sizes, np.uint64).reshape(-1))
    return least * 1e-12 if len(least) or not len(sizes) else None
