"""Why an exchange between two ranks of a node takes longer than a message, and a collective longer than an exchange.

    python bench/exchange.py [--mpi openmpi|mpich] [--rounds N] [--part exchange|steps]

exchange: calls, the sender, two that copy at once; bench/exchange.c says what is timed. Printed are medians of N
launches in microseconds, and ratios: of the exchange to the message, which a LogGOPS level does not know, of messages
through two requests to messages, and of two copies at once to one alone.

steps (Open MPI): collectives of two ranks beside their steps done by hand, as bench/steps.c says; then the message
alone, and the steps timed one by one and added up, over the collective. Where steps by hand take as long as the
collective and the sum of the parts does not, messages that a processor has just written, and buffers that the other one
has just read, are what takes the time: cache lines have to go from one core to the other.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
from pathlib import Path

from host import BIND, HERE, mpirun, undisturbed
from hosts import forced

WHAT = ("message", "requests", "exchange", "sending", "one", "two")
RATIOS = (("exchange", "message"), ("requests", "message"), ("two", "one"))


#: By collective and algorithm: messages, copies and reductions, in vectors or blocks.
PARTS = {
    ("allreduce", "ring"): (("message", 0.5), ("message", 0.5), ("copy", 1), ("reduce", 0.5)),
    ("allreduce", "recursive_doubling"): (("message", 1), ("copy", 2), ("reduce", 1)),
    ("allgather", "recursive_doubling"): (("message", 1), ("copy", 1)),
    ("allgather", "ring"): (("message", 1), ("copy", 1)),
    ("alltoall", "pairwise"): (("message", 1), ("copy", 1)),
    ("alltoall", "linear"): (("message", 1), ("copy", 1)),
}


def steps(program: Path, rounds: int) -> None:
    """Collectives beside their steps."""
    subprocess.run(["mpicc.openmpi", "-O2", "-o", program, HERE / "steps.c"], check=True)
    head = ("collective", "by hand", "message", "copy", "reduce", "by hand/coll.", "parts/coll.")
    print(f"openmpi, us\n{'algorithm':30} {'bytes':>9} " + " ".join(f"{what:>13}" for what in head))
    for (kind, algorithm), parts in PARTS.items():
        took: dict[tuple[str, int], list[float]] = {}
        for _ in range(rounds):
            words = [*forced(kind, algorithm), *undisturbed(), program, kind, algorithm]
            for way, size, seconds in map(str.split, mpirun("openmpi", 2, *words).splitlines()):
                took.setdefault((way, int(size)), []).append(float(seconds))
        middle = {key: statistics.median(values) for key, values in took.items()}
        for size in sorted({size for _, size in middle}):
            ways = [middle[way, size] for way in ("call", "by-hand", "message", "copy", "reduce")]
            of = dict(zip(("message", "copy", "reduce"), ways[2:], strict=True))
            # Of half a vector by the time of the whole: latency counts once for each message.
            whole = sum(max(share, 1 if what == "message" and size <= 4096 else 0) * of[what] for what, share in parts)
            cells = " ".join(f"{1e6 * seconds:13.2f}" for seconds in ways)
            print(f"{kind + ' ' + algorithm:30} {size:9,} {cells} {ways[1] / ways[0]:13.2f} {whole / ways[0]:13.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", choices=list(BIND), default="openmpi")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--part", choices=["exchange", "steps"], help="only this one")
    options = parser.parse_args()
    if options.part == "steps" and options.mpi != "openmpi":
        parser.error("--part steps: Open MPI is told which algorithm to take, others are not")
    if options.part != "exchange" and options.mpi == "openmpi":
        with tempfile.TemporaryDirectory() as scratch:
            steps(Path(scratch) / "steps", options.rounds)
    if options.part == "steps":
        return
    took: dict[int, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(scratch) / "exchange"
        subprocess.run([f"mpicc.{options.mpi}", "-O2", "-o", program, HERE / "exchange.c"], check=True)
        for _ in range(options.rounds):
            for line in mpirun(options.mpi, 2, program).splitlines():
                what, size, seconds = line.split()
                took.setdefault(int(size), {}).setdefault(what, []).append(float(seconds))
    ratios = " ".join(f"{f'{a}/{b}':>17}" for a, b in RATIOS)
    print(f"{options.mpi}, us\n{'bytes':>9} " + " ".join(f"{what:>9}" for what in WHAT) + f" {ratios}")
    for size, by in took.items():
        cells = " ".join(f"{1e6 * statistics.median(by[what]):9.3f}" for what in WHAT)
        # Of one launch each: whole launches are fast or slow.
        each = [statistics.median(x / y for x, y in zip(by[a], by[b], strict=True)) for a, b in RATIOS]
        print(f"{size:9,} {cells} {' '.join(f'{one:17.2f}' for one in each)}")


if __name__ == "__main__":
    main()
