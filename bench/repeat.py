"""Iterations that repeat: a 3-D halo exchange simulated with and without leaving them out.

    python bench/repeat.py [--side 8] [--iterations 1000]

One rank a node of a torus exchanges 8 KiB with its six neighbours and computes, with or without an allreduce after it.
Processor seconds of one run each; the results are compared.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import isthmus


def halo(side: int, iterations: int, allreduce: bool) -> isthmus.Schedule:
    shape = (side, side, side)
    rank = np.arange(side**3).reshape(shape)
    b = isthmus.ProgramBuilder(rank.size)
    for _ in range(iterations):
        for axis in range(3):
            for step in (1, -1):
                tag = 2 * axis + (step > 0)
                b.irecv(None, np.roll(rank, -step, axis).ravel(), 8192, tag=tag)
                b.isend(None, np.roll(rank, step, axis).ravel(), 8192, tag=tag)
        b.compute(None, 50e-6)
        b.waitall(None)
        if allreduce:
            b.allreduce(None, 8)
    return isthmus.lower(b.build())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", type=int, default=8)
    parser.add_argument("--iterations", type=int, default=1000)
    given = parser.parse_args()
    side = given.side
    machine = isthmus.Machine.parse(f"torus:{side}x{side}x{side} link=10GB/s hop=50ns cores=1")
    print(f"{'program':<18} {'model':<8} {'operations':>11} {'left out':>9} {'s':>7} {'all, s':>7} {'ratio':>6}")
    for allreduce in (False, True):
        schedule = halo(side, given.iterations, allreduce)
        for model in ("loggops", "flow", "reserve", "packet"):
            seconds = []
            timelines = []
            for skip in (True, False):
                begin = time.process_time()
                timelines.append(isthmus.simulate(schedule, machine, model=model, skip=skip))
                seconds.append(time.process_time() - begin)
            brief, whole = timelines
            assert brief == whole
            name = "halo, allreduce" if allreduce else "halo"
            print(
                f"{name:<18} {model:<8} {len(schedule):>11,} {brief.skipped_iterations:>9} {seconds[0]:>7.2f} "
                f"{seconds[1]:>7.2f} {seconds[1] / seconds[0]:>6.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
