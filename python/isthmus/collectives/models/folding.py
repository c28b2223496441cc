"""Ranks beyond a number of places: they hand their vector to one that has a place, and get the result from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .cost import Cost, Work

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .parameters import Parameters


def handed_over(p: Parameters, found: Cost, sizes: NDArray[np.int64]) -> Cost:
    """A cost of places, as a time which is not gone below if some of them stand for two ranks.

    Such a place has the vector of the other one and has added it before it begins, does at least all the work of the
    others, and sends the result in the end.
    """
    m, reduced = p.message(sizes), p.reduced(sizes)
    more = Work.recv(m) + Work.of(reduced) + Work.send(m)
    time = np.maximum(found.time_ps, m.step + reduced + found.work.cpu) + m.step
    return Cost(time, found.work + more, np.zeros(len(sizes), bool))
