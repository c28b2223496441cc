"""Collectives on symmetric memory: every algorithm and radix, strict and loose, and many under way at once.

    python bench/pgas_collectives.py [--mpi openmpi|mpich] [--ranks N] [--rounds N] [--sizes BYTES...]
    python bench/pgas_collectives.py --machine NAME --ranks N [--sizes BYTES...]

Measured on this host in one program beside the MPI library (bench/pgas_collectives.c), all rows in turns, least
microseconds of batches on the slowest rank: broadcast, scatter, gather, gather-all and exchange by every algorithm with
the radices 2, 4 and 8 where it has one, a reduction and a barrier by the library's own choice; strict (ALL at entry and
exit) and loose (MY); broadcasts with 1 to 64 under way at once. Trees differ from three ranks on.

With ``--machine``: the same algorithms with puts, simulated on a machine of the catalogue, eight calls one after the
other, microseconds of a call; loose is NONE there, which measured calls carry out as MY.

At the end: from which size on which algorithm is the fastest.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path

from host import HERE, mpirun

import isthmus
from isthmus.collectives import algorithms, describe

KINDS = ("bcast", "scatter", "gather", "allgather", "alltoall")
RADICES = (2, 4, 8)
MODES = ("strict", "loose")
FLIGHTS = (1, 2, 4, 8, 16, 32, 64)
Row = tuple[str, int, str, str, int]


def choices(kind: str) -> list[str]:
    """Algorithms of a collective, with radices."""
    found: list[str] = []
    for name in algorithms(kind):
        has_radix = any(option.name == "radix" for option in describe(kind, name).options)
        found += [f"{name},radix={radix}" for radix in RADICES] if has_radix else [name]
    return found


def rows(sizes: Sequence[int]) -> list[Row]:
    """What is measured."""
    wanted: list[Row] = []
    for kind in KINDS:
        for size, mode, name in product(sizes, MODES, ["-", *choices(kind)]):
            wanted.append((kind, size, name, mode, 1))
        wanted += [(kind, size, "MPI", "loose", 1) for size in sizes]
    for size, mode, name in product(sizes, MODES, ("-", "MPI")):
        wanted.append(("reduce", size, name, mode, 1))
    wanted += [("barrier", 0, name, "strict", 1) for name in ("-", "MPI")]
    for size, flight, name in product(sizes, FLIGHTS, ("-", "MPI")):
        wanted.append(("bcast", size, name, "loose", flight))
    return list(dict.fromkeys(wanted))


def measured(mpi: str, ranks: int, rounds: int, sizes: Sequence[int]) -> dict[Row, float]:
    library = Path(isthmus.__file__).parent / "libisthmus"
    with tempfile.TemporaryDirectory() as folder:
        program, file = Path(folder, "collectives"), Path(folder, "rows")
        command = [f"mpicc.{mpi}", "-std=gnu11", "-O3", "-w", "-o", program, HERE / "pgas_collectives.c"]
        command += [f"-I{library}/include", f"-L{library}/lib", f"-Wl,-rpath,{library}/lib", "-listhmus"]
        subprocess.run(command, check=True)
        file.write_text("".join(f"{' '.join(map(str, row))}\n" for row in rows(sizes)))
        text = mpirun(mpi, ranks, program, file, str(rounds))
    found: dict[Row, float] = {}
    for line in text.splitlines():
        kind, size, name, mode, flight, us = line.split()
        found[kind, int(size), name, mode, int(flight)] = float(us)
    return found


def simulated(machine: str, ranks: int, sizes: Sequence[int]) -> dict[Row, float]:
    calls = 8
    found: dict[Row, float] = {}
    for kind in (*KINDS, "reduce"):
        for size, mode, choice in product(sizes, MODES, choices(kind)):
            name, _, radix = choice.partition(",radix=")
            options = {"radix": int(radix)} if radix else {}
            made = isthmus.collective(
                kind, ranks=ranks, bytes=size, algorithm=(name, options), access="put", count=calls,
                sync="all" if mode == "strict" else "none",
            )  # fmt: skip
            found[kind, size, choice, mode, 1] = 1e6 * isthmus.simulate(made, machine).makespan / calls
    return found


def table(found: dict[Row, float], kind: str, sizes: Iterable[int]) -> None:
    """A row for each algorithm, two columns for each size."""
    sizes = list(sizes)
    print(f"\n{kind + ', us':34}" + "".join(f"{f'{size} B':>13}{'loose':>12}" for size in sizes))
    for name in dict.fromkeys(row[2] for row in found if row[0] == kind):
        cells = [found.get((kind, size, name, mode, 1)) for size in sizes for mode in MODES]
        widths = [13, 12] * len(sizes)
        shown = [f"{'' if us is None else f'{us:.3f}':>{width}}" for us, width in zip(cells, widths, strict=True)]
        print(f"{name:34}" + "".join(shown))


def crossovers(found: dict[Row, float], kind: str, sizes: Iterable[int], mode: str) -> str:
    """The fastest algorithm of each size, where it changes."""
    changes: list[str] = []
    last = ""
    for size in sizes:
        named = {row[2]: us for row, us in found.items() if row[:2] == (kind, size) and row[3:] == (mode, 1)}
        best = min((name for name in named if name not in ("-", "MPI")), key=named.__getitem__)
        if best != last:
            changes.append(f"{best} from {size} B")
            last = best
    return ", ".join(changes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", default="openmpi", help="openmpi (default) or mpich")
    parser.add_argument("--ranks", type=int, default=2, help="default: 2")
    parser.add_argument("--rounds", type=int, default=5, help="times that all rows are measured (default: 5)")
    parser.add_argument("--sizes", type=int, nargs="+", default=[8, 512, 8192, 65536], metavar="BYTES")
    parser.add_argument("--machine", help="simulate on a machine of the catalogue")
    args = parser.parse_args()
    if args.machine is None:
        found = measured(args.mpi, args.ranks, args.rounds, args.sizes)
    else:
        found = simulated(args.machine, args.ranks, args.sizes)
    for kind in dict.fromkeys(row[0] for row in found if row[0] != "barrier"):
        table(found, kind, args.sizes)
        if kind != "reduce" or args.machine is not None:
            for mode in MODES:
                print(f"  fastest, {mode}: {crossovers(found, kind, args.sizes, mode)}")
    if args.machine is None:
        barriers = [found["barrier", 0, name, "strict", 1] for name in ("-", "MPI")]
        print(f"\nbarrier, us: {barriers[0]:.3f}, MPI {barriers[1]:.3f}")
        print(f"\n{'broadcasts under way':34}" + "".join(f"{flight:>10}" for flight in FLIGHTS))
        for size, name in product(args.sizes, ("-", "MPI")):
            cells = [found["bcast", size, name, "loose", flight] for flight in FLIGHTS]
            print(
                f"{f'{size} B, ' + ('libisthmus' if name == '-' else 'MPI'):34}"
                + "".join(f"{us:10.3f}" for us in cells)
            )


if __name__ == "__main__":
    main()
