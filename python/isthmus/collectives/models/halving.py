"""Halves of vectors exchanged and gathered: recursive halving, Rabenseifner; blocks between pairs of neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .cost import Cost
from .forms import form
from .rounds import Round, symmetric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .parameters import Parameters


@form(("reduce_scatter", "recursive_halving"), ("reduce_scatter", "butterfly"))
def _halving(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str) -> Cost:
    """log₂ P (2o + L) + (P-1) s (G + the reduction): R. Thakur, R. Rabenseifner, W. Gropp, Optimization of collective
    communication operations in MPICH, 2005; in the butterfly blocks are sent home in the end (J. L. Träff, An improved
    algorithm for (non-commutative) reduce-scatter, 2005). For other P it is more."""
    places = 1 << (ranks.bit_length() - 1)
    rounds = []
    half = places // 2
    while half:
        rounds.append(Round(half * sizes, reduced=(half * sizes,)))
        half //= 2
    # Most blocks are not where they belong: those of numbers that read the same from both ends are.
    if algorithm == "butterfly" and ranks == places > 2:
        rounds.append(Round(sizes))
    return symmetric(p, rounds, len(sizes), ranks == places)


@form(("allreduce", "rabenseifner"))
def _rabenseifner(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str) -> Cost:
    """2 log₂ P (2o + L) + 2 (P-1)/P s G and (P-1)/P s reduced: R. Rabenseifner, Optimization of collective reduction
    operations, ICCS 2004. For other P, and sizes that P does not divide, it is more."""
    places = 1 << (ranks.bit_length() - 1)
    part = sizes // places
    rounds, back = [], []
    half = places // 2
    while half:
        rounds.append(Round(half * part, reduced=(half * part,)))
        back.append(Round(half * part))
        half //= 2
    return symmetric(p, rounds + back[::-1], len(sizes), (sizes % ranks == 0) & (ranks == places))


@form(("allgather", "neighbor_exchange"))
def _neighbours(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str) -> Cost:
    """P/2 (2o + L) + (P-1) s G: J. Chen, L. Zhang, Y. Zhang, W. Yuan, Performance evaluation of allgather algorithms on
    terascale Linux cluster with Fast Ethernet, HPC Asia 2005; the ring for an odd number of ranks."""
    if ranks % 2 or ranks == 1:
        return symmetric(p, [Round(sizes, count=ranks - 1)], len(sizes))
    return symmetric(p, [Round(sizes), Round(2 * sizes, count=ranks // 2 - 1)], len(sizes))
