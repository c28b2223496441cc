"""Times a call of MPI at several depths of the stack, for bench/record.py; prints what paths.c does."""

import statistics
import time
from array import array

from mpi4py import MPI

BATCHES, ROUNDS = 101, 100
mine, total = array("d", [1.0]), array("d", [0.0])


def deep(frames: int) -> float:
    """Seconds of a call, from so many frames below."""
    if frames > 1:
        return deep(frames - 1)
    begin = time.perf_counter()
    for _ in range(ROUNDS):
        MPI.COMM_SELF.Allreduce(mine, total)
    return (time.perf_counter() - begin) / ROUNDS


for depth in (5, 15, 40):
    seconds = statistics.median(deep(depth - 1) for _ in range(BATCHES))
    if MPI.COMM_WORLD.rank == 0:
        print(depth, 1, f"{seconds:.6e}")
