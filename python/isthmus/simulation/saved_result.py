"""The result of a simulation as files of Timelines keep it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True, eq=False)
class SavedResult:
    """The part of the core's Simulated that a file keeps, by the same names; the rest is empty."""

    makespan: int
    messages: int
    bytes: int
    executed: int
    events: int
    simulated_ranks: int
    stopped: bool
    finish: NDArray[np.int64]
    breakdown: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    partner: NDArray[np.int64]
    busy: NDArray[np.int64]
    handled: NDArray[np.int64]
    stuck: tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint8]]
    orphans: tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64]]
    lost: NDArray[np.int64]
    parked: NDArray[np.int64]
    link_bytes: NDArray[np.float64]
    link_slices: NDArray[np.float32]
    route_messages: NDArray[np.uint64]
    route_links: NDArray[np.uint32]
    route_ends: NDArray[np.uint64]
    log: NDArray[np.uint64]
    log_noise: NDArray[np.int64]
    log_time: NDArray[np.int64]
    lost_in_all: float = 0
    slice_width: int = 0
    steps: int = 0
    network_steps: int = 0
    skipped: int = 0
    free: NDArray[np.int64] = dataclasses.field(default_factory=lambda: np.empty(0, np.int64))
