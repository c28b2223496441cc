"""Why an exchange between two ranks of a node takes longer than a message: calls, the sender, two that copy at once.

    python bench/exchange.py [--mpi openmpi|mpich] [--rounds N]

bench/exchange.c says what is timed. Printed are medians of N launches in microseconds, and ratios: of the exchange
to the message, which a LogGOPS level does not know, of messages through two requests to messages, and of two copies at
once to one alone.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
from pathlib import Path

from host import BIND, HERE, mpirun

WHAT = ("message", "requests", "exchange", "sending", "one", "two")
RATIOS = (("exchange", "message"), ("requests", "message"), ("two", "one"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", choices=list(BIND), default="openmpi")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
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
