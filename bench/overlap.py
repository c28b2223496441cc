"""How much of Iallreduce, Ialltoall and Ibcast hides behind computation over a network: libisthmus beside MPI.

    python bench/overlap.py [--rates 200mbit,1gbit] [--mpi openmpi,mpich] [--turns N] [--who LIST]
                            [--bytes LIST] [--json FILE]

Two hosts of network namespaces with shaped links, a rank each (tests/py/emulated_hosts.py; needs root). The kernel
sends while the program computes, so that nearly everything can be hidden. Ours is measured without a thread and with
the timer (ISTHMUS_PROGRESS), the MPI library by its own nonblocking collectives, and as a limit what the kernel does of
the same exchange where one call hands it the whole message and another one takes the other's out. Printed for each
collective and size: the pure time, its ratio to the framed bytes less the bucket over the rate, the share of the pure
time that is hidden behind a computation that takes as long, with 16, 4 and 0 tests, and how much longer the
computation took beside it, without tests.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from host import HERE

import isthmus

sys.path.insert(0, str(HERE.parent / "tests" / "py"))
import emulated_hosts

#: What passes at once after a pause, and the size of packets. With packets of 1,500 bytes the emulation itself takes
#: half of the processors at 200 Mbit/s: time that nothing can hide.
BURST, MTU = "64k", 9000
#: Who is measured: see overlap.c.
WHO = ("calls", "timer", "mpi", "kernel")


def limit_us(size: int, rate: str) -> float:
    """Microseconds that the frames take on the link, without those that the bucket lets pass."""
    beyond = 1500 - MTU
    framed = size * (emulated_hosts.PACKET - beyond) / (emulated_hosts.PAYLOAD - beyond)
    bits_per_us = {"200mbit": 200, "1gbit": 1000}[rate]
    return 8 * (framed - 1024 * int(BURST[:-1])) / bits_per_us


def build(mpi: str, program: Path) -> None:
    library = Path(isthmus.__file__).parent / "libisthmus"
    words = [f"mpicc.{mpi}", "-std=gnu11", "-O2", "-w", "-o", program, HERE / "overlap.c"]
    words += [f"-I{library}/include", f"-L{library}/lib", f"-Wl,-rpath,{library}/lib", "-listhmus"]
    subprocess.run(words, check=True)


def measure(mpi: str, rate: str, program: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Cells: a collective, a size, someone, a number of tests."""
    rows: list[dict[str, Any]] = []
    with emulated_hosts.hosts(2, rate, BURST, MTU) as there:
        launcher = there.openmpi() if mpi == "openmpi" else there.mpich()
        words = [str(program), str(options.turns), options.who, *options.bytes.split(",")]
        done = subprocess.run([*there.inside(), *launcher, *words], capture_output=True, text=True, timeout=600)
        for line in done.stdout.splitlines():
            who, what, size, tests, *times = line.split()
            pure, *quartiles = map(float, times)
            rows.append(
                {
                    "mpi": mpi,
                    "rate": rate,
                    "who": who,
                    "collective": what,
                    "bytes": int(size),
                    "tests": int(tests),
                    "pure_us": pure,
                    "of_limit": pure / limit_us(int(size), rate),
                    "hidden": quartiles[:3],
                    "loss": quartiles[3:],
                }
            )
        if done.returncode:
            raise SystemExit(f"{mpi} at {rate} ended with {done.returncode}\n{done.stderr[-2000:]}")
    return rows


def show(rows: list[dict[str, Any]]) -> None:
    """A line for each of those measured: medians, and for the part hidden without tests the quartiles."""
    cells: dict[tuple[Any, ...], dict[int, dict[str, Any]]] = {}
    for row in rows:
        key = tuple(row[name] for name in ("mpi", "rate", "collective", "bytes", "who"))
        cells.setdefault(key, {})[row["tests"]] = row
    print(f"{'MPI':8} {'rate':8} {'collective':10} {'bytes':>8} {'who':16} {'pure us':>8} {'of limit':>8}", end="")
    print(f" {'16 tests':>8} {'4':>6} {'0':>6} {'quartiles':>13} {'loss %':>6} {'quartiles':>11}")
    for (mpi, rate, what, size, who), of in cells.items():
        pure, limit = (sorted(each[name] for each in of.values())[1] for name in ("pure_us", "of_limit"))
        hidden = " ".join(f"{100 * of[tests]['hidden'][1]:6.1f}" for tests in (16, 4, 0))
        spread, loss = of[0]["hidden"], of[0]["loss"]
        print(f"{mpi:8} {rate:8} {what:10} {size:8} {who:16} {pure:8.0f} {limit:8.2f}   {hidden}", end="")
        print(f" {100 * spread[0]:6.1f} {100 * spread[2]:6.1f} {100 * loss[1]:6.1f}", end="")
        print(f" {100 * loss[0]:5.1f} {100 * loss[2]:5.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rates", default="200mbit,1gbit")
    parser.add_argument("--mpi", default="openmpi,mpich")
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--bytes", default="131072,1048576")
    parser.add_argument("--who", default=",".join(WHO), help="some of them; timer:ALGORITHM: one that we name")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if obstacle := emulated_hosts.obstacle():
        raise SystemExit(f"hosts of namespaces: {obstacle}")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        for mpi in options.mpi.split(","):
            program = Path(folder) / f"overlap.{mpi}"
            build(mpi, program)
            for rate in options.rates.split(","):
                rows += measure(mpi, rate, program, options)
    show(rows)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
