"""How much of four nonblocking collectives hides behind computation on a node without a free core.

    python bench/overlap_node.py [--mpi openmpi,mpich,...] [--nbc FOLDER] [--batches N] [--json FILE]

Ibcast, Iallreduce, Ialltoall and Ineighbor_alltoall of two ranks on two cores, 1 KiB to 1 MiB, 0, 4 and 16 tests;
libisthmus by its own interface and under MPI, and its peers, take turns (bench/contest.h, bench/overlap_node.c).
Printed for every cell in microseconds: the time that stays exposed beside a computation that takes as long as the
collective alone, that time, and how ours compares with the best peer's; `work` is what the processor copies and adds
itself, which nothing can hide.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from pathlib import Path

from contest import UNDER, add_options, contest

OURS = ("isthmus-nonblocking", f"{UNDER}-nonblocking")


def verdict(ours: dict[str, float], best: dict[str, float]) -> str:
    """Beside the peer whose median is least."""
    if ours["exposed_us"] < best["exposed_us"]:
        return "below"
    return "worse" if ours["low_us"] > best["high_us"] else "equal"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    options = parser.parse_args()
    cells: dict[tuple[str, int, int], dict[str, dict[str, float]]] = {}
    work: dict[tuple[str, int], float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for words in contest("overlap_node.c", ["work"], options, Path(folder)):
            if words[0] == "work":
                work[words[1], int(words[2])] = float(words[3])
            elif len(words) == 8 and not words[0].endswith("-persistent"):
                times = dict(zip(("pure_us", "exposed_us", "low_us", "high_us"), map(float, words[4:]), strict=True))
                cells.setdefault((words[1], int(words[2]), int(words[3])), {})[words[0]] = times
    print(f"{'collective':10} {'bytes':>8} {'tests':>5} {'work':>8} ", end="")
    print(" ".join(f"{name:>30}" for name in (*OURS, "best peer")))
    verdicts: dict[str, Counter[str]] = {name: Counter() for name in OURS}
    for (what, size, tests), row in cells.items():
        peer = min((name for name in row if name not in OURS), key=lambda name: row[name]["exposed_us"])
        shown = []
        for name in (*OURS, peer):
            cell = row[name]
            said = verdict(cell, row[peer]) if name in OURS else peer.removesuffix("-nonblocking")
            shown.append(f"{cell['exposed_us']:8.2f} of {cell['pure_us']:7.2f} {said:>10}")
            if name in OURS:
                verdicts[name][said] += 1
        print(f"{what:10} {size:8} {tests:5} {work[what, size]:8.2f} " + " ".join(f"{text:>30}" for text in shown))
    for name, counted in verdicts.items():
        print(f"{name}: " + ", ".join(f"{word} {n} of {counted.total()}" for word, n in counted.items()))
    if options.json:
        rows = [
            {"collective": what, "bytes": size, "tests": tests, "work_us": work[what, size], "times": row}
            for (what, size, tests), row in cells.items()
        ]
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
