"""Collectives of libisthmus beside those of the MPI library and the limit of plain loops, on two cores, in one run.

    python bench/runtime.py [--mpi openmpi|mpich] [--batches N] [--json FILE]
    python bench/runtime.py --core

Blocking and persistent calls of ours, blocking and nonblocking ones of MPI, 8 B to 1 MiB, in turns batch by batch
(bench/runtime.c). Printed are the least times of batches in microseconds, and ours as a part of MPI's nonblocking ones
and of the limit: ratios of one run are what counts, as machines drift. --core: what a rank pays without any message
(bench/runtime_core.cpp).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

from host import HERE, mpirun

import isthmus

LIMITS = ("limit", "limit-one-copy")
WHO = (*LIMITS, "mpi", "mpi-nonblocking", "isthmus", "isthmus-nonblocking", "isthmus-persistent")


def build(mpi: str, program: Path) -> None:
    """The C program, for this MPI library and the installed libisthmus."""
    library = Path(isthmus.__file__).parent / "libisthmus"
    words = [f"mpicc.{mpi}", "-std=gnu11", "-O3", "-march=native", "-w", "-o", program, HERE / "runtime.c"]
    words += [f"-I{library}/include", f"-L{library}/lib", f"-Wl,-rpath,{library}/lib", "-listhmus"]
    subprocess.run(words, check=True)


def measure(mpi: str, program: Path, batches: int) -> dict[tuple[str, int], dict[str, float]]:
    """Least microseconds of everyone, by collective and bytes."""
    found: dict[tuple[str, int], dict[str, float]] = {}
    for line in mpirun(mpi, 2, program, str(batches)).splitlines():
        words = line.split()
        if words == ["disturbed"]:
            print("The real-time scheduler is not permitted here: other programs disturb the times.")
        elif len(words) == 5:
            who, what, size, least, _ = words
            found.setdefault((what, int(size)), {})[who] = float(least)
    return found


def core(program: Path) -> None:
    """Prints what a rank pays without any message; links what the build of the package left in build/python."""
    root = HERE.parent
    archives = sorted((root / "build" / "python").glob("*/libisthmus_*.a"))
    if not archives:
        raise SystemExit("build/python has no libraries to link: run ./bootstrap first")
    words = ["g++", "-std=c++20", "-O3", *(f"-I{root / name}" for name in (".", "core", "runtime/include"))]
    words += [HERE / "runtime_core.cpp", "-Wl,--start-group", *archives, "-Wl,--end-group", "-pthread", "-o", program]
    subprocess.run(words, check=True)
    subprocess.run([program], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", choices=("openmpi", "mpich"), default="openmpi")
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--core", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "runtime"
        if options.core:
            core(program)
            return
        build(options.mpi, program)
        found = measure(options.mpi, program, options.batches)
    print(f"{'collective':10} {'bytes':>8} " + " ".join(f"{name:>19}" for name in WHO) + "  of nonblocking  of limit")
    for (what, size), times in found.items():
        cells = " ".join(f"{times[name]:19.3f}" if name in times else f"{'':19}" for name in WHO)
        limit = f"{times['isthmus'] / min(times[name] for name in LIMITS if name in times):8.2f}"
        print(f"{what:10} {size:8} {cells}  {times['isthmus'] / times['mpi-nonblocking']:14.2f}  {limit}")
    if options.json:
        rows = [{"collective": what, "bytes": size, **times} for (what, size), times in found.items()]
        options.json.write_text(json.dumps({"mpi": options.mpi, "microseconds": rows}, indent=1))


if __name__ == "__main__":
    main()
