"""Allreduce on tori: parts of the vector in all directions at once."""

from __future__ import annotations

from itertools import groupby
from math import prod, sqrt
from typing import TYPE_CHECKING

from .cost import Cost
from .folding import handed_over
from .forms import form
from .rounds import Round, symmetric

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from .parameters import Parameters


def even_extents(ranks: int) -> tuple[int, int]:
    """Two extents about as equal as can be."""
    extent = max(round(sqrt(ranks)), 1)
    while ranks % extent:
        extent += 1
    return extent, ranks // extent


@form(("allreduce", "bucket"))
def _bucket(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str, dims: Sequence[int] = ()) -> Cost:
    """Rings along one dimension after the other, with a part of the vector for every dimension to begin with and each
    direction: N. Jain, Y. Sabharwal, Optimal bucket algorithms for large MPI collectives on torus interconnects, ICS
    2010. Parts that are not all equal make ranks unequal; then it is the time of the smaller ones."""
    extents = [extent for extent in (dims or even_extents(ranks)) if extent > 1][::-1]
    count = 2 * len(extents)
    if not count:
        return symmetric(p, [], len(sizes))
    # In how many pieces each part is when it takes each of its steps.
    steps = []
    for first in range(len(extents)):
        turned = extents[first:] + extents[:first]
        pieces = [[prod(turned[: d + 1])] * (extent - 1) for d, extent in enumerate(turned)]
        steps.append([number for one in pieces for number in one])
    rounds, back = [], []
    for together, run in groupby(zip(*steps, strict=True)):
        number = len(list(run))
        parts = tuple(sizes // (count * pieces) for pieces in together for _ in range(2))
        rounds.append(Round(parts[0], more=parts[1:], reduced=parts, count=number))
        back.append(Round(parts[0], more=parts[1:], count=number))
    return symmetric(p, rounds + back[::-1], len(sizes), sizes % (count * ranks) == 0)


@form(("allreduce", "swing"))
def _swing(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str, dims: Sequence[int] = ()) -> Cost:
    """2 log₂ P (2o + L) + 2 (P-1)/P s G, in a part for every dimension to begin with and each direction: D. De Sensi,
    T. Bonato, D. Saam, T. Hoefler, Swing: short-cutting rings for higher bandwidth allreduce, NSDI 2024. For other P,
    and sizes that are not all equal parts, it is more."""
    places = 1 << (ranks.bit_length() - 1)
    extents = list(dims or (places,))
    if any(extent & (extent - 1) for extent in extents):
        extents = [places]
    count = 2 * sum(extent > 1 for extent in extents)
    rounds, back = [], []
    pieces = 2
    while pieces <= places:
        part = sizes // (count * pieces)
        rounds.append(Round(part, more=(part,) * (count - 1), reduced=(part,) * count))
        back.append(Round(part, more=(part,) * (count - 1)))
        pieces *= 2
    found = symmetric(p, rounds + back[::-1], len(sizes), sizes % max(count * places, 1) == 0)
    return found if ranks == places else handed_over(p, found, sizes)
