"""Costs of collectives by closed form: what the simulator finds, at once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InvalidInput, Unsupported
from ..registry import describe
from . import (  # noqa: F401  Each enters its forms when it is imported.
    chains,
    combining,
    everyone,
    flights,
    groups,
    halving,
    hypercubes,
    multiplying,
    optimal,
    parts,
    rings,
    rooted,
    scans,
    tori,
)
from .forms import FORMS
from .parameters import Parameters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ...machine import Level
    from .cost import Cost

#: Options that are numbers with a default which the catalogue says; others have theirs in the forms.
_STANDARD = ("radix", "segment", "window")


def forms() -> tuple[tuple[str, str], ...]:
    """Collective and algorithm of all closed forms.

    Examples
    --------
    >>> ("bcast", "binomial") in forms()
    True
    """
    return tuple(FORMS)


def cost(
    collective: str,
    algorithm: str,
    level: Level,
    *,
    ranks: int,
    sizes: Sequence[int] | NDArray[np.int64],
    copy_rate: float = 0.0,
    reduce_rate: float = 0.0,
    lanes: int = 1,
    follow: bool = True,
    **options: Any,
) -> Cost:
    """Cost of a collective by closed form, all pairs of ranks equally far apart: what the simulator finds, at once.

    Parameters
    ----------
    collective, algorithm : str
        As in :func:`isthmus.collective`.
    level : Level
        LogGOPS parameters; with pieces the time is about what the simulator finds.
    ranks : int
    sizes : sequence of int
        Bytes of the collective.
    copy_rate, reduce_rate : float
        Seconds per byte.
    lanes : int
        Interfaces of a rank; with more than one the time is one that the simulator does not go below.
    follow : bool
        Whether segments are followed one after the other where no closed form is known, which takes long. If not, the
        time is one that the simulator does not go below, and not marked as exact.
    **options
        Options of the algorithm, such as ``radix``; the defaults are those of :func:`describe`.

    Returns
    -------
    Cost
        Time, processor time and what is left of it for computation, one entry for each size.

    Raises
    ------
    InvalidInput
        For no ranks, negative sizes and negative parameters.
    Unsupported
        Where there is no closed form.

    Examples
    --------
    >>> import isthmus
    >>> level = isthmus.Level(L=2.5e-6, o_send=1.5e-6, o_recv=1.5e-6, g=1e-6, G=6e-9)
    >>> barrier = cost("barrier", "dissemination", level, ranks=1024, sizes=[0])
    >>> float(barrier.time[0]), float(barrier.cpu[0]), float(barrier.net[0])
    (5.5e-05, 3e-05, 2.5e-05)
    """
    function = FORMS.get((collective, algorithm))
    if function is None:
        raise Unsupported(f"{collective} by {algorithm}: no closed form is known; simulate it")
    if ranks < 1:
        raise InvalidInput(f"{ranks} ranks: expected at least 1")
    table = np.asarray(sizes, np.int64).reshape(-1)
    if (table < 0).any():
        raise InvalidInput(f"a size is {int(table.min())} bytes: must be 0 or more")
    standard = {
        option.name: option.standard for option in describe(collective, algorithm).options if option.name in _STANDARD
    }
    p = Parameters.of(level, copy_rate=copy_rate, reduce_rate=reduce_rate, lanes=lanes, follow=follow)
    found = function(p, ranks, table, algorithm=algorithm, **{**standard, **options})
    # Forms take it that a longer message takes longer, which is not so where one ends a piece.
    exact = lanes == 1 and not level.pieces
    return found if exact else replace(found, exact=np.zeros(len(table), bool))
