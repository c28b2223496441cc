"""Proofs of one collective on many ranks: by rank 0 alone where all ranks do the same, and by looking at every rank.

    python bench/prove.py [--line alltoall:bytes=8,algorithm=bruck] [--ranks 512,2048,16384] [--slow 2048]

Processor seconds of generating the schedule, of both proofs, and the largest memory of the process so far. `--slow`:
up to so many ranks every rank is looked at as well, and both must find the same.
"""

from __future__ import annotations

import argparse
import resource
import time

import isthmus
from isthmus import _core
from isthmus.one_line import collective_arguments
from isthmus.proof.prove import contract_of_line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--line", default="alltoall:bytes=8,algorithm=bruck")
    parser.add_argument("--ranks", default="512,2048,16384")
    parser.add_argument("--slow", type=int, default=2048)
    given = parser.parse_args()
    print(
        f"{'ranks':>7} {'operations':>11} {'generated':>10} {'rank 0':>8} {'memory':>8} {'all ranks':>10} {'memory':>8}"
    )
    for ranks in map(int, given.ranks.split(",")):
        line = f"{given.line},ranks={ranks}"
        start = time.process_time()
        schedule = isthmus.collective(**collective_arguments(line), buffers=True)
        generated = time.process_time() - start
        contract = contract_of_line(line)
        row = f"{ranks:7} {len(schedule):11} {generated:8.2f} s"
        found = []
        for symmetry in (True, False):
            if not symmetry and ranks > given.slow:
                continue
            start = time.process_time()
            *proof, alone = _core.prove(schedule.arrays, contract.core, 10, symmetry)
            seconds = time.process_time() - start
            found.append(proof)
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
            row += f" {seconds:{6 if symmetry else 8}.2f} s {memory:5.2f} GB"
            if symmetry and not alone:
                row += " (no symmetry)"
        if any(proof != found[0] for proof in found):
            raise SystemExit(f"{line}: the two proofs differ: {found}")
        print(row + ("" if found[0][1] == 0 else f"  {found[0][1]} defects"), flush=True)


if __name__ == "__main__":
    main()
