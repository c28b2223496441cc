"""Blocks that travel in several hops, in messages of several blocks, with copies between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .cost import Cost, Work
from .forms import form
from .rounds import Round, symmetric
from .tori import even_extents

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .parameters import Parameters


@form(("alltoall", "bruck"))
def _bruck(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str, radix: int = 2) -> Cost:
    """⌈log_r P⌉ phases of r-1 messages at once, of about P/r blocks each: J. Bruck et al., Efficient algorithms for
    all-to-all communications in multiport message-passing systems, IEEE Trans. Parallel and Distributed Systems 8(11),
    1997."""
    digits = []
    weight = 1
    while weight < ranks:
        digits.append((weight, radix))
        weight *= radix
    return combined(p, ranks, sizes, digits)


@form(("alltoall", "torus"))
def _torus(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str, dims: Sequence[int] = ()) -> Cost:
    """A phase for every dimension, in which a message to every other place along it has a block for each place of the
    other dimensions: Y. J. Suh, K. G. Shin, All-to-all personalized communication in multidimensional torus and mesh
    networks, IEEE Trans. Parallel and Distributed Systems 12(1), 2001."""
    digits = []
    weight = 1
    for extent in list(dims or even_extents(ranks))[::-1]:
        digits.append((weight, extent))
        weight *= extent
    return combined(p, ranks, sizes, digits)


def combined(p: Parameters, ranks: int, sizes: NDArray[np.int64], digits: list[tuple[int, int]]) -> Cost:
    """Blocks by the digits of their distance: in phase k those with digit d go d places on along digit k.

    Copies are not alike on all ranks: blocks that lie one behind the other, and are copied at once, are not the same.
    Where copies take time it is a time which is not gone below: that without them, or that of the processor.

    Parameters
    ----------
    digits : list of (int, int)
        Weight and base of each digit of a distance, which is below ``ranks``.
    """
    rounds = []
    copied = 0
    together = True
    last = 0  # the least distance of a block of the message that came last
    for weight, base in digits:
        counts = [
            (digit * weight, _with_digit(ranks, weight, base, digit))
            for digit in range(1, base)
            if digit * weight < ranks
        ]
        if not counts:
            continue
        # They are put together, and those that have come to their end are moved to their places.
        copied += sum(count + min(weight, ranks - least) for least, count in counts if count > 1)
        # Messages that need no copy of blocks which have just come go first, and others find some of them under way.
        late = [count > 1 and least + last < ranks for least, count in counts]
        together = together and len(set(late)) == 1
        last = counts[-1][0]
        blocks = [count for _, count in counts]
        rounds.append(Round(blocks[0] * sizes, more=tuple(count * sizes for count in blocks[1:])))
    found = symmetric(p, rounds, len(sizes), (p.copied(ranks * sizes) == 0) & together)
    # Pieces of copies are rounded one by one.
    work = found.work + Work.of(np.maximum(p.copied(copied * sizes) - copied, 0))
    return Cost(np.maximum(found.time_ps, work.cpu), work, found.exact)


def _with_digit(end: int, weight: int, base: int, digit: int) -> int:
    """The number of numbers below ``end`` with this digit."""
    whole, rest = divmod(end, weight * base)
    return whole * weight + min(max(rest - digit * weight, 0), weight)
