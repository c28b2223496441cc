"""Along the chain of ranks, whole messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .cost import Cost, Work
from .forms import form

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .parameters import Parameters


def _chain(p: Parameters, ranks: int, sizes: NDArray[np.int64], reductions: int, most: int) -> Cost:
    """P-1 messages, one after the other; ``reductions`` of them reduced, at most ``most`` by one rank."""
    m, reduced = p.message(sizes), p.reduced(sizes)
    time = (ranks - 1) * m.step + reductions * reduced
    nothing = Work.none(len(sizes))
    ends = [Work.send(m), Work.recv(m) + Work.of(reduced).times(1 if reductions == ranks - 1 else 0)]
    middle = [Work.send(m) + Work.recv(m) + Work.of(reduced).times(most)]
    work = nothing if ranks == 1 else Work.most(ends + (middle if ranks > 2 else []))
    return Cost(time, work, np.ones(len(sizes), bool))


@form(("bcast", "ring"))
def _bcast(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str) -> Cost:
    """(P-1) (2o + L + (s-1)G): J. Pjesivac-Grbovic et al., Performance analysis of MPI collective operations, Cluster
    Computing 10(2), 2007."""
    return _chain(p, ranks, sizes, 0, 0)


@form(("reduce", "ring"), ("scan", "linear"))
def _reduce(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str) -> Cost:
    """(P-1) (2o + L + (s-1)G + the reduction)."""
    return _chain(p, ranks, sizes, ranks - 1, 1)


@form(("exscan", "linear"))
def _exscan(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str) -> Cost:
    """Like the scan; the last rank's own part goes nowhere, and the others but the first copy theirs at the begin, for
    which the first message may have to wait."""
    found = _chain(p, ranks, sizes, max(ranks - 2, 0), 1)
    if ranks < 3:
        return found
    copied = p.copied(sizes)
    m = p.message(sizes)
    # By rendezvous it begins when its receive has been posted, after the copy.
    time = found.time_ps + np.where(sizes > p.S, copied, np.maximum(copied - m.way - m.ahead, 0))
    middle = Work.send(m) + Work.recv(m) + Work.of(p.reduced(sizes) + copied)
    return Cost(time, middle, found.exact)
