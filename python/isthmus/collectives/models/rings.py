"""P-1 rounds: rings and pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .cost import Cost
from .forms import form
from .rounds import Round, symmetric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .parameters import Parameters


@form(("allgather", "ring"), ("alltoall", "pairwise"))
def _passing(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str) -> Cost:
    """(P-1) (2o + L + (s-1)G): R. Thakur, R. Rabenseifner, W. Gropp, Optimization of collective communication
    operations in MPICH, Int. J. High Performance Computing Applications 19(1), 2005."""
    return symmetric(p, [Round(sizes, count=ranks - 1)], len(sizes))


@form(("reduce_scatter", "ring"), ("reduce_scatter", "pairwise"))
def _reducing(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str) -> Cost:
    """The ring with a reduction of a block in each round."""
    return symmetric(p, [Round(sizes, reduced=(sizes,), count=ranks - 1)], len(sizes))


@form(("allreduce", "ring"))
def _allreduce(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str) -> Cost:
    """2 (P-1) (2o + L) + 2 (P-1)/P s G and (P-1)/P s reduced: P. Patarasuk, X. Yuan, Bandwidth optimal all-reduce
    algorithms for clusters of workstations, J. Parallel and Distributed Computing 69(2), 2009. Blocks that are not all
    equal make ranks unequal; then it is the time of the smaller ones."""
    block = sizes // ranks
    rounds = [Round(block, reduced=(block,), count=ranks - 1), Round(block, count=ranks - 1)]
    return symmetric(p, rounds, len(sizes), sizes % ranks == 0)
