#!/usr/bin/env python3
"""Pi as the area under 4 / (1 + x^2), by mpi4py.

usage: mpirun -n RANKS python3 pi.py [POINTS [ROUNDS]]

The settings go out as a Python object, sums come back as an array, and in the end every rank compares what it has with
its neighbour. The check: the sum must be pi to within the error of the midpoint rule.
"""

import math
import sys
from array import array

from mpi4py import MPI


def read_arguments(words: list[str]) -> tuple[int, int]:
    values = [int(word) if word.isdigit() and int(word) > 0 else None for word in words]
    if len(values) > 2 or None in values:
        raise ValueError
    points, rounds = [*values, *(200_000, 5)[len(values) :]]
    return points, rounds


def area(points: int, rank: int, ranks: int) -> float:
    width = 1 / points
    return width * sum(4 / (1 + ((i + 0.5) * width) ** 2) for i in range(rank, points, ranks))


def main() -> int:
    world = MPI.COMM_WORLD
    start = MPI.Wtime()
    settings = None
    if world.rank == 0:
        try:
            settings = read_arguments(sys.argv[1:])
        except ValueError:
            print(__doc__, file=sys.stdout if sys.argv[1] in ("-h", "--help") else sys.stderr)
    settings = world.bcast(settings)
    if settings is None:
        return 0 if sys.argv[1] in ("-h", "--help") else 2
    points, rounds = settings

    total = array("d", [0.0])
    for _ in range(rounds):
        mine = array("d", [area(points, world.rank, world.size)])
        world.Allreduce(mine, total, op=MPI.SUM)
    theirs = world.sendrecv(total[0], dest=(world.rank + 1) % world.size, source=(world.rank - 1) % world.size)

    error = abs(total[0] - math.pi)
    wrong = error > 1 / (6 * points**2) + 1e-12 or theirs != total[0]
    any_wrong = world.allreduce(wrong, op=MPI.LOR)
    seconds = world.reduce(MPI.Wtime() - start, op=MPI.MAX)
    if world.rank == 0 and any_wrong:
        print(f"wrong: pi is not {total[0]!r}", file=sys.stderr)
    elif world.rank == 0:
        print(f"correct: {total[0]!r} from {points} points on {world.size} ranks, error {error:.1e}, {seconds:.6f} s")
    return int(any_wrong)


if __name__ == "__main__":
    sys.exit(main())
