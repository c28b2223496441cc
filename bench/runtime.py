"""Collectives of libisthmus beside those of MPI libraries and the limit of plain loops, on two cores, in one run.

    python bench/runtime.py [--mpi openmpi,mpich,...] [--nbc FOLDER] [--batches N] [--json FILE]
                            [--library FOLDER] [--collectives bcast,alltoall,...] [--sizes 8,65536,...]
    python bench/runtime.py --core

Blocking, nonblocking and persistent calls, 8 B to 1 MiB, or of --sizes up to 4 MiB, in turns batch by batch
(bench/contest.h, bench/runtime.c). Printed are the least times of batches in microseconds, and ours over the limit and
over the best peer: ratios of one run are what counts, as machines drift. --library: another built libisthmus, such as
that of the version before, takes part as `before`. --core: what a rank pays without any message
(bench/runtime_core.cpp).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path

from contest import UNDER, add_options, contest, libraries, short
from host import HERE

LIMITS = ("limit", "limit-past-caches", "limit-one-copy")
COLLECTIVES = "barrier,bcast,allreduce,allgather,alltoall,neighbors"


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


def least_of(times: dict[str, float], names: list[str]) -> float | None:
    return min((times[name] for name in names if name in times), default=None)


def show(found: dict[tuple[str, int], dict[str, float]], peers: list[str]) -> None:
    ours = [f"{name}{kind}" for name in ("isthmus", "before") for kind in ("", "-nonblocking", "-persistent")]
    theirs = [UNDER, *(f"{UNDER}{kind}" for kind in ("-nonblocking", "-persistent"))]
    everyone = [*LIMITS, *ours, *theirs]
    everyone += [f"{peer}{kind}" for peer in peers for kind in ("", "-nonblocking", "-persistent")]
    everyone = [name for name in everyone if any(name in times for times in found.values())]
    for number, name in enumerate(everyone):
        print(f"({number}) {name}")
    heads = " ".join(f"{f'({n})':>8}" for n in range(len(everyone)))
    print(f"{'':19} {heads}  isthmus over the limit; under-mpi, each form over that of the best peer")
    for (what, size), times in found.items():
        cells = " ".join(f"{times[name]:8.3f}" if name in times else f"{'':8}" for name in everyone)
        limit = min(times[name] for name in LIMITS if name in times)
        print(f"{what:10} {size:8} {cells}  {times['isthmus'] / limit:6.2f} ", end="")
        for name in theirs:
            peer = least_of(times, [name.replace(UNDER, one) for one in peers])
            print(f" {times[name] / peer:6.2f}" if peer and name in times else f" {'':6}", end="")
        print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--core", action="store_true")
    parser.add_argument("--collectives", default=COLLECTIVES, help="some of " + COLLECTIVES)
    parser.add_argument("--sizes", default="8,1024,16384,65536,1048576", help="in bytes, multiples of 8")
    options = parser.parse_args()
    for name in ("collectives", "sizes"):
        os.environ[name.upper()] = f" {getattr(options, name).replace(',', ' ')} "
    found: dict[tuple[str, int], dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.core:
            core(folder / "runtime")
            return
        for words in contest("runtime.c", ["limit"], options, folder):
            if len(words) == 5:
                who, what, size, least, _ = words
                found.setdefault((what, int(size)), {})[who] = float(least)
    peers = [*map(short, libraries(options.mpi)), "libnbc"]
    show(found, peers)
    if options.json:
        rows = [{"collective": what, "bytes": size, **times} for (what, size), times in found.items()]
        options.json.write_text(json.dumps({"peers": peers, "microseconds": rows}, indent=1))


if __name__ == "__main__":
    main()
