"""Vectors that go out in parts and are put together by all, and roots that ask; times that nothing goes below."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .cost import Cost, Work
from .forms import form
from .rounds import Round, symmetric
from .shapes import Knomial
from .trees import busiest, down

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .parameters import Parameters


@form(("bcast", "scatter_allgather"), ("bcast", "scatter_allgather_ring"))
def _scattered(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str) -> Cost:
    """(log₂ P + log₂ P or P-1) (2o + L) + 2 (P-1)/P s G: M. Barnett et al., Interprocessor collective communication
    library (InterCom), SHPCC 1994. Ranks have their parts at different times; it is the way of the part that is there
    last, which every other rank needs."""
    ring = algorithm == "scatter_allgather_ring"
    places = ranks if ring else 1 << (ranks.bit_length() - 1)
    part = sizes // places
    tree = Knomial.whole(places)
    time = down(p, tree, lambda child: child.ranks * part)
    work = busiest(
        tree,
        lambda child: Work.send(p.message(child.ranks * part)),
        lambda child: Work.recv(p.message(child.ranks * part)),
    )
    if ring:
        time = time + (ranks - 1) * p.message(part).step
    else:
        for k in range(places.bit_length() - 1):
            time = time + p.message((1 << k) * part).step
        if places < ranks:
            time = time + p.message(sizes).step
    return Cost(time, work, np.full(len(sizes), ranks == 1))


@form(("reduce", "rabenseifner"))
def _halved(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str) -> Cost:
    """2 log₂ P (2o + L) + 2 (P-1)/P s G and (P-1)/P s reduced: R. Rabenseifner, Optimization of collective reduction
    operations, ICCS 2004; at least, as a message of the gathering may come while something else is done."""
    places = 1 << (ranks.bit_length() - 1)
    part = sizes // places
    rounds = []
    half = places // 2
    while half:
        rounds.append(Round(half * part, reduced=(half * part,)))
        half //= 2
    found = symmetric(p, rounds, len(sizes))
    # The last message that the root gets has half of the vector, its sender the quarter before, and so on.
    time = found.time_ps
    for k in range(places.bit_length() - 1):
        time = time + p.message((1 << k) * part).step
    return Cost(time, found.work, np.full(len(sizes), ranks == 1))
