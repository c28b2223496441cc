"""Clocks of hosts: times of every rank by the clock of rank 0.

What runs on one host shares its clock. A host that is not that of rank 0 was compared with it twice, after MPI_Init and
before MPI_Finalize; between and beyond the two its clock is taken to drift evenly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


@dataclass(frozen=True)
class Clock:
    """The correction of times of a host: ``offset`` ns at its time ``at``, and ``drift`` ns more for each ns after it.

    Attributes
    ----------
    error : int
        Nanoseconds by which the times may be wrong.
    """

    at: int = 0
    offset: int = 0
    drift: float = 0.0
    error: int = 0

    def convert(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """Convert times of the host to times of rank 0's host."""
        moved = times + self.offset
        if self.drift:
            moved += np.rint((times - self.at) * self.drift).astype(np.int64)
        return moved

    def since(self, zero: int) -> Clock:
        """Convert times as :meth:`convert` does, counted from ``zero``."""
        return replace(self, offset=self.offset - zero)


def clocks(headers: Mapping[int, Any]) -> dict[int, Clock]:
    """Return the clock of every rank, from the header of its first file.

    All ranks of a host take the comparison with the smallest error among theirs.
    """
    if not headers:
        return {}
    reference = bytes(headers[min(headers)]["host"])
    best: dict[bytes, Clock] = {reference: Clock()}
    for header in headers.values():
        host = bytes(header["host"])
        if host == reference:
            continue
        clock = _clock(header["sync"])
        if host not in best or clock.error < best[host].error:
            best[host] = clock
    return {rank: best[bytes(header["host"])] for rank, header in headers.items()}


def _clock(sync: Any) -> Clock:
    first, second = ({name: int(s[name]) for name in ("local_ns", "offset_ns", "error_ns")} for s in sync)
    if second["local_ns"] <= first["local_ns"]:
        return Clock(first["local_ns"], first["offset_ns"], 0.0, first["error_ns"])
    drift = (second["offset_ns"] - first["offset_ns"]) / (second["local_ns"] - first["local_ns"])
    return Clock(first["local_ns"], first["offset_ns"], drift, max(first["error_ns"], second["error_ns"]))
