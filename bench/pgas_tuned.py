"""A decision table of spaces beside the library's default, case by case in turns in one program.

    python bench/pgas_tuned.py TABLE [--launch 'isthmus run -n 2 --'] [--hosts 4 --mpi openmpi|mpich] [--sizes BYTES...]
                               [--modes SYNC...] [--launches N] [--batch S]

TABLE is what `isthmus tune --measured --spaces` wrote. Every collective in every mode and size is carried out with it
and without it (probes/spaces.c). Printed are the least microseconds of both, the median over launches of their ratio
with its interval, and at the end how many of the cases that the table decides are slower by more than the interval.
``--hosts`` runs on emulated hosts of one rank each (tests/py/emulated_hosts.py, needs root).
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from host import HERE, environment

from isthmus.measuring.programs import spaces_program
from isthmus.mpi.detection import probe
from isthmus.tuning.choice import LIBRARY
from isthmus.tuning.measured.gain import gain
from isthmus.tuning.measured.spaces import KINDS
from isthmus.tuning.table import DecisionTable

sys.path.insert(0, str(HERE.parent / "tests" / "py"))
import emulated_hosts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("--launch", default="isthmus run -n 2 --")
    parser.add_argument("--hosts", type=int, help="emulated hosts, in place of --launch")
    parser.add_argument("--mpi", default="openmpi", help="of --hosts: openmpi (default) or mpich")
    parser.add_argument("--rate", default="200mbit", help="of each link and direction (default: 200mbit)")
    parser.add_argument("--sizes", type=int, nargs="+", default=[8, 512, 4096, 65536])
    parser.add_argument("--modes", nargs="+", default=["all", "my", "none"])
    parser.add_argument("--launches", type=int, default=5)
    parser.add_argument("--batch", type=float, default=1e-3, help="seconds between two readings of the clock")
    args = parser.parse_args()
    cases = [(kind, mode, size) for kind in KINDS for mode in args.modes for size in args.sizes]
    table = DecisionTable.load(args.table)
    times: dict[tuple[str, str, int], tuple[list[float], list[float]]] = {case: ([], []) for case in cases}
    ranks = args.hosts or 2
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        Path(folder).chmod(0o755)
        words = args.launch.split()
        program = spaces_program(None)
        if args.hosts:
            there = stack.enter_context(emulated_hosts.hosts(args.hosts, args.rate))
            launcher = there.openmpi(1) if args.mpi == "openmpi" else there.mpich(1)
            words = [*there.inside(), *map(str, launcher)]
            mpi = probe(shutil.which(f"mpicc.{args.mpi}") or f"mpicc.{args.mpi}")
            program = spaces_program(mpi)
        plan, journal, read = Path(folder, "plan"), Path(folder, "journal"), Path(folder, "table.txt")
        table.save(read)
        lines = ["rounds 4", f"batch {args.batch}", f"table {read}"]
        for kind, mode, size in cases:
            enter, _, leave = mode.partition("-")
            lines.append(f"case {kind} {enter} {leave or enter} {size} - =")
        plan.write_text("\n".join(lines) + "\n")
        for _ in range(args.launches):
            done = subprocess.run(
                [*words, program, plan, journal], env=environment(), capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise SystemExit(done.stderr[-1000:])
            head, *rows, _end = journal.read_text().splitlines()
            ranks = int(head.split()[1])
            for row in rows:
                case, which, *seconds = row.split()
                times[cases[int(case)]][int(which)].append(min(map(float, seconds)))
    slower = decided = 0
    print(f"{ranks} ranks{'':26}default us  table us  table / default")
    for (kind, mode, size), (default, tuned) in times.items():
        found = gain(tuned, default)
        choice = table.of_mode(mode).lookup(kind, ranks, size) if kind in table.of_mode(mode).collectives else LIBRARY
        decided += choice != LIBRARY
        slower += choice != LIBRARY and found.low > 1
        print(
            f"{kind:10}{mode:8}{size:8}{'':8}{1e6 * min(default):10.2f}{1e6 * min(tuned):10.2f}  "
            f"{found.ratio:.2f} ({found.low:.2f} to {found.high:.2f})  {choice}"
        )
    print(f"{decided} of {len(cases)} cases are decided by the table, {slower} of them slower than its interval")


if __name__ == "__main__":
    main()
