"""Naive programs in UPC on two threads, with and without what `isthmus upcc` does for speed.

    python bench/upc.py [--mpi openmpi|mpich] [--rounds N] [-n SIZE] [--large SIZE] [--only WORD...]

The programs of examples/upc/ are compiled with all that -O2 does (`blocks`), without block transfers (`local`), and
without own iterations and local accesses as well (`none`), for the network mpi. They run in turns, over MPI alone and
with memory that the threads share. Printed are medians in milliseconds, and how often `none` takes `blocks`; with
shared memory for SIZE of `--large`, too, as everything is fast there. The load of the machine is said.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from host import BIND, HERE, environment

EXAMPLES = HERE.parent / "examples/upc"
WITHOUT = {
    "blocks": [],
    "local": ["--no-block-transfers"],
    "none": ["--no-block-transfers", "--no-own-iterations", "--no-local-accesses"],
}


def build(name: str, size: int, mpi: str, folder: Path) -> dict[str, Path]:
    made = {}
    for what, words in WITHOUT.items():
        made[what] = folder / f"{name}-{size}-{what}"
        command = [sys.executable, "-m", "isthmus", "upcc", "--network", "mpi", f"-DN={size}", *words]
        command += ["-o", str(made[what]), str(EXAMPLES / f"{name}.upc")]
        subprocess.run(command, env={**os.environ, "MPICC": f"mpicc.{mpi}"}, check=True)
    return made


def seconds(program: Path, mpi: str, transport: str) -> float:
    command = [f"mpirun.{mpi}", "-n", "2", *BIND[mpi], program]
    run = subprocess.run(
        command, env={**environment(), "ISTHMUS_TRANSPORT": transport}, capture_output=True, text=True, check=True
    )
    return float(run.stdout.split()[2])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", choices=["openmpi", "mpich"], default="openmpi")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("-n", type=int, default=128, dest="size")
    parser.add_argument("--large", type=int, default=1024)
    parser.add_argument("--only", nargs="*", default=["stencil", "transpose"])
    options = parser.parse_args()
    print(f"{'program':>10} {'size':>6} {'over':>8}" + "".join(f"{what:>10}" for what in WITHOUT) + "  none/blocks")
    with tempfile.TemporaryDirectory() as made:
        for name in options.only:
            for size, transport in (
                (options.size, "mpi"),
                (options.size, "shm+mpi"),
                (options.large, "shm+mpi"),
            ):
                programs = build(name, size, options.mpi, Path(made))
                times: dict[str, list[float]] = {what: [] for what in WITHOUT}
                for _ in range(options.rounds):
                    for what, program in programs.items():
                        times[what].append(seconds(program, options.mpi, transport))
                medians = {what: statistics.median(found) * 1e3 for what, found in times.items()}
                columns = "".join(f"{median:10.3f}" for median in medians.values())
                print(
                    f"{name:>10} {size:6} {transport:>8}{columns}{medians['none'] / medians['blocks']:11.1f}",
                    flush=True,
                )
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
