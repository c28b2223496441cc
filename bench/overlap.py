"""How much of Iallreduce, Ialltoall and Ibcast hides behind computation over a network: libisthmus beside MPI.

    python bench/overlap.py [--rates 200mbit,1gbit] [--mpi openmpi,mpich] [--turns N] [--json FILE]

Two hosts of network namespaces with shaped links, a rank each (tests/py/emulated_hosts.py; needs root). The kernel
sends while the program computes, so that nearly everything can be hidden. Ours is measured without a thread and with
the timer (ISTHMUS_PROGRESS), the MPI library by its own nonblocking collectives. Printed for each collective and size:
the pure time, its ratio to the framed bytes less the bucket over the rate, the share of the pure time that is hidden
behind a computation that takes as long, with 16, 4 and 0 tests, and how much longer the computation took beside it,
without tests.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from host import HERE

import isthmus

sys.path.insert(0, str(HERE.parent / "tests" / "py"))
import emulated_hosts

#: What passes at once after a pause, and the size of packets. With packets of 1,500 bytes the emulation itself takes
#: half of the processors at 200 Mbit/s: time that nothing can hide.
BURST, MTU = "64k", 9000
#: Who is measured: what the program is told, and the thread that goes on.
WHO = {"isthmus": ("isthmus", ""), "isthmus, timer": ("isthmus", "timer"), "MPI library": ("mpi", "")}


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


def measure(mpi: str, rate: str, program: Path, turns: int) -> list[dict[str, object]]:
    """Cells: a collective, a size, someone, a number of tests."""
    rows: list[dict[str, object]] = []
    with emulated_hosts.hosts(2, rate, BURST, MTU) as there:
        for who, (name, progress) in WHO.items():
            env = {k: v for k, v in os.environ.items() if k != "ISTHMUS_PROGRESS"}
            launcher = there.openmpi() if mpi == "openmpi" else there.mpich()
            if progress:
                env["ISTHMUS_PROGRESS"] = progress
                launcher[1:1] = ["-x", "ISTHMUS_PROGRESS"] if mpi == "openmpi" else []
            command = [*there.inside(), *launcher, str(program), name, str(turns)]
            done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
            for line in done.stdout.splitlines():
                if not re.match(r"(isthmus|mpi) ", line):
                    continue
                _, what, size, tests, *times = line.split()
                pure, alone, both, beside, before = map(float, times)
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
                        "hidden": 1 - (both - alone) / pure,
                        "loss": beside / before - 1,
                    }
                )
            if not rows or rows[-1]["who"] != who:
                raise SystemExit(f"{mpi}, {who}: nothing was measured\n{done.stderr[-2000:]}")
    return rows


def show(rows: list[dict[str, object]]) -> None:
    cells: dict[tuple[object, ...], dict[int, dict[str, object]]] = {}
    for row in rows:
        key = tuple(row[name] for name in ("rate", "collective", "bytes", "mpi", "who"))
        cells.setdefault(key, {})[int(str(row["tests"]))] = row
    print(f"{'rate':8} {'collective':10} {'bytes':>8} {'MPI':8} {'who':15} {'pure us':>9} {'of limit':>8}", end="")
    print(f" {'16 tests':>8} {'4':>6} {'0':>6} {'loss':>6}")
    for key in sorted(cells, key=lambda k: (str(k[0]), str(k[1]), int(str(k[2])), str(k[3]))):
        rate, what, size, mpi, who = key
        one = cells[key]
        hidden = " ".join(f"{100 * float(str(one[t]['hidden'])):6.1f}" for t in (16, 4, 0))
        print(
            f"{rate:8} {what:10} {size:8} {mpi:8} {who:15} {one[0]['pure_us']:9.0f} {one[0]['of_limit']:8.2f}", end=""
        )
        print(f"   {hidden} {100 * float(str(one[0]['loss'])):6.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rates", default="200mbit,1gbit")
    parser.add_argument("--mpi", default="openmpi,mpich")
    parser.add_argument("--turns", type=int, default=8)
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
                rows += measure(mpi, rate, program, options.turns)
    show(rows)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
