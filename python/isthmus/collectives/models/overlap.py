"""The part of a nonblocking collective that computation can hide.

T. Hoefler, A. Lumsdaine, Overlapping communication and computation with high level communication routines, CCGrid 2008,
split the LogGP time of a collective into what processors do (overheads and reductions) and what the network does alone
(latency and bytes). The second part is free for computation, if messages move on without the program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...views import view
from .closed_forms import cost

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from ...machine import Level


@dataclass(frozen=True)
class Overlap:
    """Time, and what is left of it on the busiest processor.

    Attributes
    ----------
    collective, algorithm : str
    ranks : array of int, shape (R,)
    sizes : array of int, shape (N,)
        Bytes.
    time, cpu : array of float, shape (R, N)
        Seconds of the collective, and those of them that it takes the busiest processor.
    """

    collective: str
    algorithm: str
    ranks: NDArray[np.int64]
    sizes: NDArray[np.int64]
    time: NDArray[np.float64]
    cpu: NDArray[np.float64]

    @property
    def free(self) -> NDArray[np.float64]:
        """Seconds that are left for computation, shape (R, N)."""
        return np.maximum(self.time - self.cpu, 0.0)

    @property
    def share(self) -> NDArray[np.float64]:
        """Fraction of the time for which the processor is busy, 0 to 1, shape (R, N); 1 where nothing takes time."""
        return np.divide(self.cpu, self.time, out=np.ones_like(self.time), where=self.time > 0)

    def exposed(self, computation: float) -> NDArray[np.float64]:
        """Seconds that remain visible of the collective beside computation of so many seconds, shape (R, N): what the
        processor does for it, and what of the network's part takes longer than the computation."""
        return self.cpu + np.maximum(self.free - computation, 0.0)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw the share of processor time by size, a line for each number of ranks: .png, .svg, .pdf."""
        drawn: Figure = view("Overlap.plot")(self, path)
        return drawn


def overlap(
    collective: str,
    level: Level,
    *,
    ranks: Sequence[int],
    sizes: Sequence[int] | NDArray[np.int64],
    algorithm: str,
    copy_rate: float = 0.0,
    reduce_rate: float = 0.0,
    **options: Any,
) -> Overlap:
    """Processor time of a nonblocking collective by number of ranks and size, from closed forms.

    Parameters
    ----------
    collective, algorithm : str
    level : Level
        LogGOPS parameters between all pairs of ranks.
    ranks, sizes : sequence of int
        Numbers of ranks; bytes of the collective.
    copy_rate, reduce_rate : float
        Seconds per byte.
    **options
        Options of the algorithm.

    Raises
    ------
    InvalidInput, Unsupported
        As :func:`isthmus.collectives.models.cost`.

    Examples
    --------
    A barrier leaves the latencies:

    >>> import isthmus
    >>> level = isthmus.Level(L=3e-6, o_send=0.5e-6, o_recv=0.5e-6)
    >>> overlap("barrier", level, ranks=[2, 64], sizes=[0], algorithm="dissemination").share.ravel().tolist()
    [0.25, 0.25]
    """
    table = np.asarray(sizes, np.int64).reshape(-1)
    costs = [
        cost(
            collective, algorithm, level, ranks=p, sizes=table, copy_rate=copy_rate, reduce_rate=reduce_rate, **options
        )
        for p in ranks
    ]
    return Overlap(
        collective,
        algorithm,
        np.asarray(ranks, np.int64),
        table,
        np.array([c.time for c in costs]),
        np.array([c.cpu for c in costs]),
    )
