"""Tuning files and real MPI libraries: every rule of a wide table, and what the libraries decide by themselves.

Arguments: launchers with their options, each in quotes. Exit status 1 if one of the libraries does not follow. UCC is
tried with the first launcher where its ucc_info is in PATH.
"""

from __future__ import annotations

import shlex
import shutil
import sys

from isthmus.mpi.command import take_apart
from isthmus.mpi.detection import OPEN_MPI, find
from isthmus.tuning.choice import Choice
from isthmus.tuning.defaults import defaults
from isthmus.tuning.table import DecisionTable, Point, Row
from isthmus.tuning.verify import verify

SIZES = (0, 64, 4096, 65536)
#: Four algorithms of each collective; what a library does not have it is left to decide.
ALGORITHMS = {
    "barrier": ["linear"],
    "bcast": ["linear", "binary,segment=0", "scatter_allgather_ring", "chain,radix=1,segment=8192"],
    "reduce": ["linear", "binomial", "rabenseifner", "chain,radix=1,segment=8192"],
    "allreduce": ["recursive_doubling", "ring", "rabenseifner", "recursive_doubling"],
    "gather": ["linear"],
    "scatter": ["linear"],
    "allgather": ["ring", "bruck,radix=2", "neighbor_exchange", "ring"],
    "alltoall": ["bruck,radix=2", "pairwise", "linear,window=0", "pairwise"],
    "reduce_scatter": ["recursive_halving", "ring", "butterfly", "pairwise"],
    "scan": ["recursive_doubling"],
    "exscan": ["recursive_doubling"],
}


def table() -> DecisionTable:
    rows = {}
    for kind, names in ALGORITHMS.items():
        points = [Point(size, Choice.of(name)) for size, name in zip(SIZES, names, strict=False)]
        rows[kind] = [Row(4, tuple(points), tuned=False)]
    return DecisionTable(rows)


def main(launchers: list[str]) -> int:
    wrong = 0
    for launcher in launchers:
        words = shlex.split(launcher)
        mpi = find(take_apart([*words, "-n", "2", "true"]))
        model = defaults("openmpi" if mpi.family == OPEN_MPI else "mpich")
        for ranks in (6, 8):
            for what, name in ((table(), "a table"), (model, "its own decisions")):
                report = verify(what, words, ranks=ranks)
                print(f"{name}: {report}", flush=True)
                for v in report.verdicts:
                    if v.says in ("ignored", "something else"):
                        print(f"  {v.collective} of {v.bytes} bytes, {v.algorithm}: {v.says}")
                    if v.as_schedule is False:
                        print(f"  {v.collective} of {v.bytes} bytes, {v.algorithm}: {v.forced}")
                        print(f"    where Isthmus sends {v.schedule}")
                wrong += not report.ok
    if launchers and shutil.which("ucc_info"):
        report = verify(table(), shlex.split(launchers[0]), ucc="auto")
        print(f"a table: {report}")
        wrong += not report.ok
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
