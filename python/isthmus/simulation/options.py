"""The options of ``simulate`` as one type, for verbs that hand them on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from ..lowering.rules import Collectives
from ..machine import Noise
from .network import PacketOptions


class Options(TypedDict, total=False):
    """Arguments of :func:`isthmus.simulate` behind the placement."""

    model: str
    receive: str
    routing: str
    slices: int
    resolution: float | None
    packet: PacketOptions | None
    record: str
    collectives: Collectives | None
    noise: Noise | None
    seed: int
    copy_rate: float | None
    reduce_rate: float | None
    symmetry: bool
    skip: bool
    progress: bool | Callable[[int, int], None]
    path_part: tuple[int, int] | None
    until: float | None
    after: NDArray[np.int64] | None
    handshakes: bool
