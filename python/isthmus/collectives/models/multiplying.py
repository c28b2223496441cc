"""Recursive doubling of more ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .cost import Cost
from .folding import handed_over
from .forms import form
from .rounds import Round, symmetric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .parameters import Parameters


@form(("allreduce", "recursive_multiplying"))
def _allreduce(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str, radix: int = 2) -> Cost:
    """⌊log_r P⌋ rounds in which r ranks exchange their vectors, each of which adds r-1: M. Ruefenacht, M. Bull, S.
    Booth, Generalisation of recursive doubling for AllReduce: now with simulation, Parallel Computing 69, 2017.

    With radix 2 all ranks are alike. With another the last of r hears of all others later than the first: at least it
    is what a round takes if everybody has begun it; where ranks are left over, these begin and end.
    """
    places, rounds = 1, 0
    while places * radix <= ranks:
        places, rounds = places * radix, rounds + 1
    one = Round(sizes, more=(sizes,) * (radix - 2), reduced=(sizes,) * (radix - 1), count=rounds)
    found = symmetric(p, [one] * (rounds > 0), len(sizes), np.full(len(sizes), radix == 2 or rounds == 0))
    return found if ranks == places else handed_over(p, found, sizes)
